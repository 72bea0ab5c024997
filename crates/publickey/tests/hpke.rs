//! HPKE: the vectors of RFC 9180 and of its post-quantum encapsulations, and what is refused. X-Wing and its kin are tested through it.

use millstream_cpu::Features;
use millstream_publickey::hpke::{Aead, Kdf, Kem, PrivateKey, Psk, PublicKey, Setup, Suite};
use millstream_publickey::hybrid::{self, Hybrid};
use millstream_publickey::{Error, Random};
use millstream_testkit::{cavp, hex};
use serde_json::Value;

/// A source that gives out certain bytes, all of them at once. Behind them are zeros: the vectors of the hybrid on P-256 have bytes for three
/// attempts at a scalar, where four are drawn, and the first is the one.
struct Given(Vec<u8>);

impl Random for Given {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let rest = bytes.len().checked_sub(self.0.len()).expect("no more bytes are given than asked for");
        assert!(rest == 0 || rest == 32, "{rest} bytes are missing");
        let (given, rest) = bytes.split_at_mut(self.0.len());
        given.copy_from_slice(&self.0);
        rest.fill(0);
        Ok(())
    }
}

/// A source of bytes that are the same every time.
struct Counting(u8);

impl Random for Counting {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.fill_with(|| {
            self.0 = self.0.wrapping_mul(5).wrapping_add(1);
            self.0
        });
        Ok(())
    }
}

fn vectors(file: &str) -> Vec<Value> {
    serde_json::from_str(&cavp::text(&format!("HPKE/{file}"))).expect("a list of vectors")
}

/// Returns the bytes of a field; none without it.
fn bytes(vector: &Value, field: &str) -> Option<Vec<u8>> {
    vector.get(field).map(|value| hex(value.as_str().expect("a text")))
}

fn number(vector: &Value, field: &str) -> u16 {
    u16::try_from(vector[field].as_u64().expect("a number")).expect("16 bits")
}

/// Returns the suite of a vector; none where one of its algorithms is not offered.
fn suite(vector: &Value) -> Option<Suite> {
    let kem = Kem::from_id(number(vector, "kem_id"))?;
    Some(Suite::new(
        kem,
        Kdf::from_id(number(vector, "kdf_id"))?,
        Aead::from_id(number(vector, "aead_id")).expect("every cipher is offered"),
    ))
}

/// Checks a vector in both directions, and returns the messages and exports in it.
fn check(vector: &Value, suite: Suite) -> (usize, usize) {
    let features = Features::hardware();
    let field = |name| bytes(vector, name).unwrap_or_else(|| panic!("no {name}"));
    let key = PrivateKey::new(features, suite.kem, &field("skRm")).expect("a private key");
    let derived = PrivateKey::derive(features, suite.kem, &field("ikmR")).expect("keying material");
    assert_eq!(*derived.to_bytes(), field("skRm"));
    assert_eq!(key.public_key().as_bytes(), field("pkRm"));
    let peer = PublicKey::new(features, suite.kem, &field("pkRm")).expect("a public key");

    let (psk_key, psk_id) = (bytes(vector, "psk"), bytes(vector, "psk_id"));
    let psk = psk_key.as_ref().zip(psk_id.as_ref()).map(|(key, id)| Psk { key, id });
    let sender_key = bytes(vector, "skSm").map(|key| PrivateKey::new(features, suite.kem, &key).unwrap());
    let sender_public = sender_key.as_ref().map(PrivateKey::public_key);
    assert_eq!(sender_public.map(|key| key.as_bytes().to_vec()), bytes(vector, "pkSm"));
    assert_eq!(number(vector, "mode") & 1, u16::from(psk.is_some()));
    assert_eq!(number(vector, "mode") >> 1, u16::from(sender_key.is_some()));

    let info = field("info");
    let sending = Setup { info: &info, psk, sender: sender_key.as_ref() };
    let receiving = Setup { info: &info, psk, sender: sender_public };
    let (encapsulated, mut sender) = suite.sender(&peer, &sending, &mut Given(field("ikmE"))).expect("sent");
    assert_eq!(encapsulated, field("enc"));
    let mut receiver = suite.receiver(&encapsulated, &key, &receiving).expect("received");
    let messages = vector["encryptions"].as_array().expect("a list");
    for message in messages {
        let field = |name| bytes(message, name).unwrap();
        let sealed = sender.seal(&field("aad"), &field("pt")).expect("sealed");
        assert_eq!(sealed, field("ct"));
        assert_eq!(*receiver.open(&field("aad"), &sealed).expect("opened"), field("pt"));
        assert_eq!(receiver.open(&field("aad"), &sealed), Err(Error::Authentication), "a second time");
    }
    let exports = vector["exports"].as_array().expect("a list");
    for export in exports {
        let (context, wanted) =
            (bytes(export, "exporter_context").unwrap(), bytes(export, "exported_value").unwrap());
        let (mut ours, mut theirs) = (vec![0; wanted.len()], vec![0; wanted.len()]);
        sender.export(&context, &mut ours).expect("exported");
        receiver.export(&context, &mut theirs).expect("exported");
        assert_eq!((&ours, &theirs), (&wanted, &wanted));
    }
    (messages.len(), exports.len())
}

#[test]
fn vectors_of_the_rfc() {
    let (mut passed, mut messages, mut exports) = (0, 0, 0);
    let all = vectors("test-vectors.json");
    for vector in &all {
        let suite = suite(vector).expect("every suite of the RFC's vectors is offered");
        let (sealed, exported) = check(vector, suite);
        (passed, messages, exports) = (passed + 1, messages + sealed, exports + exported);
    }
    // Every suite but those that only export has 257 messages.
    assert_eq!((all.len(), passed, messages, exports), (128, 128, 96 * 257, 3 * 128));
}

#[test]
fn vectors_after_quantum() {
    let all = vectors("hpke-pq-test-vectors.json");
    let offered = all.iter().filter_map(|vector| suite(vector).map(|suite| check(vector, suite)));
    let passed = offered.count();
    // The others have TurboSHAKE.
    let turbo = all.iter().filter(|vector| matches!(number(vector, "kdf_id"), 0x12 | 0x13));
    assert_eq!((all.len(), passed, turbo.count()), (13, 10, 3));
}

#[test]
fn every_suite_seals_and_opens() {
    let features = Features::hardware();
    for kem in Kem::ALL {
        let key = PrivateKey::generate(features, kem, &mut Counting(1)).expect("a key");
        let again = PrivateKey::new(features, kem, &key.to_bytes()).expect("its bytes");
        assert_eq!(again.public_key().as_bytes(), key.public_key().as_bytes());
        assert_eq!(Kem::from_id(kem.id()), Some(kem));
        for kdf in Kdf::ALL {
            for aead in Aead::ALL {
                let suite = Suite::new(kem, kdf, aead);
                let setup = Setup::base(b"info");
                let (encapsulated, mut sender) =
                    suite.sender(key.public_key(), &setup, &mut Counting(2)).expect("sent");
                assert_eq!(encapsulated.len(), kem.encapsulated_len());
                let mut receiver =
                    suite.receiver(&encapsulated, &key, &Setup::base(b"info")).expect("received");
                if aead == Aead::ExportOnly {
                    assert!(matches!(sender.seal(b"", b""), Err(Error::Encoding { .. })));
                    assert!(matches!(receiver.open(b"", &[0; 16]), Err(Error::Encoding { .. })));
                    continue;
                }
                for len in [0, 1, 100] {
                    let text = vec![7; len];
                    let sealed = sender.seal(b"aad", &text).expect("sealed");
                    assert_eq!(sealed.len(), len + 16);
                    // A message that does not open leaves the context where it was.
                    let mut changed = sealed.clone();
                    changed[len] ^= 1;
                    assert_eq!(receiver.open(b"aad", &changed), Err(Error::Authentication));
                    assert_eq!(receiver.open(b"other", &sealed), Err(Error::Authentication));
                    assert_eq!(receiver.open(b"aad", &sealed[..15.min(len)]), Err(Error::Authentication));
                    assert_eq!(*receiver.open(b"aad", &sealed).expect("opened"), text);
                }
                let mut other =
                    suite.receiver(&encapsulated, &key, &Setup::base(b"other")).expect("received");
                let first =
                    suite.seal(key.public_key(), &setup, b"", b"x", &mut Counting(2)).expect("sealed").1;
                assert_eq!(other.open(b"", &first), Err(Error::Authentication), "another purpose");
            }
        }
    }
}

#[test]
fn wrong_keys_and_setups_are_refused() {
    let features = Features::hardware();
    let key = |kem| PrivateKey::generate(features, kem, &mut Counting(3)).expect("a key");
    let (x25519, xwing) = (key(Kem::X25519), key(Kem::Hybrid(Hybrid::MlKem768X25519)));
    let suite = |kem| Suite::new(kem, Kdf::HkdfSha256, Aead::Aes128Gcm);
    let begun = |suite: Suite, peer: &PrivateKey, setup: &Setup<'_, PrivateKey>| {
        suite.sender(peer.public_key(), setup, &mut Counting(4)).map(|_| ()).expect_err("refused")
    };
    assert!(matches!(
        begun(suite(Kem::X25519), &xwing, &Setup::base(b"")),
        Error::Encoding { algorithm: "hpke", .. }
    ));
    // A hybrid proves no sender.
    let by_sender = Setup { info: b"", psk: None, sender: Some(&xwing) };
    assert!(matches!(begun(suite(xwing.kem()), &xwing, &by_sender), Error::Encoding { .. }));
    let other_sender = Setup { info: b"", psk: None, sender: Some(&xwing) };
    assert!(matches!(begun(suite(Kem::X25519), &x25519, &other_sender), Error::Encoding { .. }));
    for psk in [Psk { key: &[1; 31], id: b"id" }, Psk { key: &[1; 32], id: b"" }] {
        let setup = Setup { info: b"", psk: Some(psk), sender: None };
        assert!(matches!(begun(suite(Kem::X25519), &x25519, &setup), Error::Length { .. }));
    }
    // A sender who authenticates himself is not another one.
    let (ours, other) =
        (key(Kem::X25519), PrivateKey::generate(features, Kem::X25519, &mut Counting(9)).unwrap());
    let setup = Setup { info: b"", psk: None, sender: Some(&ours) };
    let suite = suite(Kem::X25519);
    let (enc, sealed) = suite.seal(x25519.public_key(), &setup, b"", b"text", &mut Counting(4)).unwrap();
    let open = |sender: &PrivateKey| {
        let setup = Setup { info: b"", psk: None, sender: Some(sender.public_key()) };
        suite.open(&enc, &x25519, &setup, b"", &sealed)
    };
    assert_eq!(*open(&ours).expect("opened"), b"text");
    assert_eq!(open(&other), Err(Error::Authentication));
    assert_eq!(suite.open(&enc, &x25519, &Setup::base(b""), b"", &sealed), Err(Error::Authentication));
}

#[test]
fn encapsulated_keys_of_every_other_length_are_refused() {
    let features = Features::hardware();
    for kem in Kem::ALL {
        let key = PrivateKey::generate(features, kem, &mut Counting(5)).expect("a key");
        let suite = Suite::new(kem, Kdf::HkdfSha256, Aead::Aes128Gcm);
        let len = kem.encapsulated_len();
        let (whole, _) = suite.sender(key.public_key(), &Setup::base(b""), &mut Counting(6)).expect("sent");
        for wrong in [0, 1, len - 1, len + 1, 2 * len] {
            let bytes: Vec<u8> = whole.iter().copied().cycle().take(wrong).collect();
            assert!(suite.receiver(&bytes, &key, &Setup::base(b"")).is_err(), "{kem:?}: {wrong} bytes");
            assert!(PublicKey::new(features, kem, &bytes[..wrong.min(len - 1)]).is_err(), "{kem:?}");
        }
        assert!(PrivateKey::new(features, kem, &vec![1; kem.private_key_len() + 1]).is_err(), "{kem:?}");
    }
    // A point of small order gives everybody the same secret.
    let key = PrivateKey::generate(features, Kem::X25519, &mut Counting(5)).unwrap();
    let suite = Suite::new(Kem::X25519, Kdf::HkdfSha256, Aead::Aes128Gcm);
    assert!(matches!(suite.receiver(&[0; 32], &key, &Setup::base(b"")), Err(Error::Point { .. })));
}

#[test]
fn either_part_of_a_hybrid_s_ciphertext_decides() {
    let features = Features::hardware();
    for hybrid in Hybrid::ALL {
        let key = hybrid::PrivateKey::generate(features, hybrid, &mut Counting(7)).expect("a key");
        let public =
            hybrid::PublicKey::new(features, hybrid, key.public_key().as_bytes()).expect("its bytes");
        assert_eq!(&public, key.public_key());
        let (ciphertext, secret) = public.encapsulate(&mut Counting(8)).expect("encapsulated");
        assert_eq!(ciphertext.len(), hybrid.ciphertext_len());
        assert_eq!(key.decapsulate(&ciphertext).expect("decapsulated"), secret);
        for at in [0, ciphertext.len() - 1] {
            let mut changed = ciphertext.clone();
            changed[at] ^= 1;
            // A point that was changed may be none.
            assert_ne!(key.decapsulate(&changed).ok(), Some(secret.clone()), "{hybrid}: byte {at}");
        }
        let long = [&ciphertext[..], &[0]].concat();
        assert!(matches!(key.decapsulate(&long), Err(Error::Length { .. })));
    }
}
