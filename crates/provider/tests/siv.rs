//! AES-SIV and AES-GCM-SIV against OpenSSL's own, against the vectors of their RFCs, and in orders of calls that must fail.
#![allow(unsafe_code)]

#[path = "support/mod.rs"]
mod support;

use millstream_testkit::{Random, hex};
use support::{CipherContext, Library, Param, Refused, version};

const TAG: usize = 16;

/// Bytes of key, and bytes of nonce, which is a vector where there is one.
const CIPHERS: [(&str, usize, usize); 5] = [
    ("AES-128-SIV", 32, 0),
    ("AES-192-SIV", 48, 0),
    ("AES-256-SIV", 64, 0),
    ("AES-128-GCM-SIV", 16, 12),
    ("AES-256-GCM-SIV", 32, 12),
];

/// One message.
struct Message {
    key: Vec<u8>,
    nonce: Vec<u8>,
    associated: Vec<Vec<u8>>,
    text: Vec<u8>,
}

impl Message {
    fn begin(&self, library: &Library, name: &str, encrypt: bool) -> CipherContext {
        let cipher = library.cipher(name).unwrap_or_else(|| panic!("{name} is missing"));
        let mut context = CipherContext::new();
        let nonce = Some(&*self.nonce).filter(|nonce| !nonce.is_empty());
        context.init(Some(&cipher), encrypt, Some(&self.key), nonce, &[]).unwrap();
        context
    }

    /// The ciphertext and the tag.
    fn seal(&self, library: &Library, name: &str) -> (Vec<u8>, Vec<u8>) {
        let mut context = self.begin(library, name, true);
        self.associated.iter().for_each(|data| context.associate(data).unwrap());
        let text = context.update(&self.text).unwrap();
        assert_eq!(context.finish().unwrap(), []);
        (text, context.octets(c"tag", TAG).unwrap())
    }

    /// The message behind a ciphertext and a tag.
    fn open(&self, library: &Library, name: &str, text: &[u8], tag: &[u8]) -> Result<Vec<u8>, Refused> {
        let mut context = self.begin(library, name, false);
        context.set(&[Param::octets(c"tag", &mut tag.to_vec())])?;
        self.associated.iter().for_each(|data| context.associate(data).unwrap());
        let text = context.update(text)?;
        context.finish()?;
        Ok(text)
    }
}

#[test]
fn messages_are_those_of_openssl_and_open_on_both_sides() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(28);
    for (name, key, nonce) in CIPHERS {
        if theirs.cipher(name).is_none() {
            let (major, minor) = version();
            println!(
                "SKIPPED {name}: OpenSSL {major}.{minor} has none; name a newer libcrypto in MILLSTREAM_TEST_LIBCRYPTO"
            );
            continue;
        }
        for len in [1, 15, 16, 17, 31, 32, 64, 100, 1000, 5000] {
            for pieces in [0, 1, 2, 5] {
                let message = Message {
                    key: random.bytes(key),
                    nonce: random.bytes(nonce),
                    associated: (0..pieces).map(|piece| random.bytes(1 + 13 * piece)).collect(),
                    text: random.bytes(len),
                };
                let (text, tag) = message.seal(&ours, name);
                assert_eq!(
                    (&text, &tag),
                    (&message.seal(&theirs, name).0, &message.seal(&theirs, name).1),
                    "{name} {len}"
                );
                for library in [&ours, &theirs] {
                    assert_eq!(
                        message.open(library, name, &text, &tag).unwrap(),
                        message.text,
                        "{name} {len}"
                    );
                    let mut forged = tag.clone();
                    forged[len % TAG] ^= 1;
                    message.open(library, name, &text, &forged).unwrap_err();
                }
            }
        }
    }
}

#[test]
fn published_vectors() {
    let ours = Library::millstream();
    // RFC 5297 §A.2: two components, and the nonce as the third.
    let message = Message {
        key: hex("7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f"),
        nonce: Vec::new(),
        associated: vec![
            hex("00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100"),
            hex("102030405060708090a0"),
            hex("09f911029d74e35bd84156c5635688c0"),
        ],
        text: hex(
            "7468697320697320736f6d6520706c61696e7465787420746f20656e6372797074207573696e67205349562d414553",
        ),
    };
    let (text, tag) = message.seal(&ours, "AES-128-SIV");
    assert_eq!(tag, hex("7bdb6e3b432667eb06f4d14bff2fbd0f"));
    assert_eq!(
        text,
        hex("cb900f2fddbe404326601965c889bf17dba77ceb094fa663b7a3f748ba8af829ea64ad544a272e9c485b62a3fd5c0d")
    );
    // RFC 8452 §C.1: one byte of associated data and eight bytes of text.
    let message = Message {
        key: hex("01000000000000000000000000000000"),
        nonce: hex("030000000000000000000000"),
        associated: vec![hex("01")],
        text: hex("0200000000000000"),
    };
    let (text, tag) = message.seal(&ours, "AES-128-GCM-SIV");
    assert_eq!((text, tag), (hex("1e6daba35669f427"), hex("3b0a1a2560969cdf790d99759abd1508")));
}

#[test]
fn an_empty_component_counts_and_so_does_an_empty_message() {
    let ours = Library::millstream();
    let mut random = Random::new(29);
    for (name, key, nonce) in CIPHERS {
        let mut message = Message {
            key: random.bytes(key),
            nonce: random.bytes(nonce),
            associated: vec![],
            text: random.bytes(9),
        };
        let without = message.seal(&ours, name);
        message.associated.push(Vec::new());
        assert_eq!(message.seal(&ours, name) == without, name.contains("GCM"), "{name}");
        // A message without data has a tag at its end.
        let mut context = message.begin(&ours, name, true);
        context.associate(b"head").unwrap();
        context.finish().unwrap();
        let mut tag = context.octets(c"tag", TAG).unwrap();
        let mut context = message.begin(&ours, name, false);
        context.set(&[Param::octets(c"tag", &mut tag)]).unwrap();
        context.associate(b"head").unwrap();
        context.finish().unwrap();
    }
}

#[test]
fn a_forged_message_is_not_handed_out_and_stays_one() {
    let ours = Library::millstream();
    let mut random = Random::new(30);
    for (name, key, nonce) in CIPHERS {
        let message = Message {
            key: random.bytes(key),
            nonce: random.bytes(nonce),
            associated: vec![random.bytes(20)],
            text: random.bytes(200),
        };
        let (text, mut tag) = message.seal(&ours, name);
        tag[3] ^= 0x40;
        let mut context = message.begin(&ours, name, false);
        context.set(&[Param::octets(c"tag", &mut tag)]).unwrap();
        context.associate(&message.associated[0]).unwrap();
        let mut out = vec![0xaa; text.len() + 64];
        context.update_into(&mut out, &text).unwrap_err();
        assert_eq!(out[..text.len()], vec![0; text.len()], "{name}");
        context.finish().unwrap_err();
    }
}

#[test]
fn calls_out_of_order_are_refused_with_the_reason() {
    let ours = Library::millstream();
    for (name, key, nonce) in CIPHERS {
        let message =
            Message { key: vec![7; key], nonce: vec![1; nonce], associated: vec![], text: b"text".to_vec() };
        let mut context = message.begin(&ours, name, true);
        context.update(b"one").unwrap();
        assert!(context.update(b"two").unwrap_err().detail.contains("one update"), "{name}");
        assert!(context.associate(b"late").unwrap_err().detail.contains("before the message"), "{name}");
        context.set(&[Param::octets(c"tag", &mut [0; TAG])]).unwrap_err();

        let mut context = message.begin(&ours, name, false);
        context.update(b"no tag yet").unwrap_err();
        context.set(&[Param::octets(c"tag", &mut [0; TAG - 1])]).unwrap_err();
        context.octets(c"tag", TAG).unwrap_err();

        // A nonce is for one message.
        if nonce > 0 {
            let mut context = message.begin(&ours, name, true);
            context.update(b"one").unwrap();
            context.init(None, true, None, None, &[]).unwrap();
            assert!(context.update(b"two").unwrap_err().detail.contains("nonce"), "{name}");
        }
        assert_eq!(context.number(c"taglen").unwrap(), TAG);
        // A copy goes its own way.
        let mut context = message.begin(&ours, name, true);
        context.associate(b"head").unwrap();
        let mut copy = context.copy().unwrap();
        assert_eq!(context.update(b"text").unwrap(), copy.update(b"text").unwrap());
        assert_eq!(context.octets(c"tag", TAG).unwrap(), copy.octets(c"tag", TAG).unwrap());
    }
}
