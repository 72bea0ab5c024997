//! Key pairs of EC, RSA and ML-DSA in a service, through OpenSSL's functions: each operation beside the default provider's with the same
//! key, or, for ML-DSA, which OpenSSL 3.0 lacks, beside the library's own.
//!
//! libcrypto is loaded into this process, so the test runs itself again for other versions.

#[path = "../crates/provider/tests/support/pkeys.rs"]
mod pkeys;
#[path = "../crates/provider/tests/support/mod.rs"]
mod support;
mod under;

use std::ffi::{CStr, c_int};
use std::process::Command;

use millstream::publickey::mldsa::{PrivateKey, Scheme, Set};
use millstream_tests::OpenSsl;
use pkeys::{Key, Operation, PAIR, Signing};
use support::{Library, Param};
use under::Under;

const MESSAGE: &[u8] = b"a message that is signed";
const CURVES: [&CStr; 3] = [c"P-256", c"P-384", c"P-521"];
/// OpenSSL's names of paddings.
const PKCS1: &CStr = c"pkcs1";
const OAEP: &CStr = c"oaep";

/// The same key in the service, and at the default provider.
struct Pair<'a> {
    ours: &'a Library,
    theirs: &'a Library,
    mine: Key,
    other: Key,
}

impl<'a> Pair<'a> {
    /// Makes a key at the default provider, and loads it from DER.
    #[track_caller]
    fn load(under: &'a Under, theirs: &'a Library, name: &CStr, params: &[Param]) -> Self {
        let other = Key::generate(theirs, name, params).unwrap();
        let mine = Key::decode(&under.library, true, &other.encode(true).unwrap()).unwrap();
        assert_eq!(mine.provider(), "millstream", "{name:?}");
        Pair { ours: &under.library, theirs, mine, other }
    }

    /// Requires that the service's signature is verified by the default provider's key.
    #[track_caller]
    fn signs(&self, digest: &CStr, params: &[Param]) {
        let signature = self.mine.sign(self.ours, Some(digest), params, MESSAGE);
        let signature = signature.unwrap_or_else(|why| panic!("{digest:?}: {why:?}"));
        for (key, library) in [(&self.mine, self.ours), (&self.other, self.theirs)] {
            assert!(key.verify(library, Some(digest), params, MESSAGE, &signature).unwrap(), "{digest:?}");
            assert!(!key.verify(library, Some(digest), params, b"another", &signature).unwrap());
        }
    }

    /// Requires that nobody gets the private part.
    #[track_caller]
    fn keeps(&self, numbers: &[&'static CStr]) {
        let refused = self.mine.encode(true).unwrap_err();
        assert!(refused.detail.contains("does not give it out"), "{refused:?}");
        for name in numbers {
            let told = self.mine.big(name, 1024).unwrap_or_default();
            assert!(told.iter().all(|byte| *byte == 0), "{name:?}");
        }
        assert_eq!(self.mine.encode(false).unwrap(), self.other.encode(false).unwrap());
    }
}

/// Runs the test of this program again, under the newest libcrypto of a series.
fn again(series: u32) {
    let libraries = OpenSsl::newest(series).libraries().expect("it was built");
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["with_the_systems", "--exact", "--nocapture"])
        .env("MILLSTREAM_TEST_LIBCRYPTO", libraries.join(format!("libcrypto.so.{series}")))
        .env("OPENSSL_MODULES", libraries.join("ossl-modules"))
        .output()
        .expect("this program");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "OpenSSL {series}: {said}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(said.contains("1 passed") && !said.contains("SKIPPED"), "OpenSSL {series}: {said}");
}

#[test]
fn long_newest_3() {
    again(3);
}

#[test]
fn with_the_newest_4() {
    again(4);
}

#[test]
fn with_the_systems() {
    let (under, theirs) = (Under::policy(""), Library::openssl());
    for curve in CURVES {
        curves(&under, &theirs, curve);
    }
    for bits in [1024, 2048, 3072] {
        rsa(&under, &theirs, bits);
    }
    imported(&under, &theirs);
    made(&under, &theirs);
    lacking(&under, &theirs);
    for set in
        [(Set::MlDsa44, c"ML-DSA-44", 17), (Set::MlDsa65, c"ML-DSA-65", 18), (Set::MlDsa87, c"ML-DSA-87", 19)]
    {
        ml_dsa(&under, set);
    }
}

fn curves(under: &Under, theirs: &Library, curve: &'static CStr) {
    let group = [Param::text(c"group", curve)];
    let pair = Pair::load(under, theirs, c"EC", &group);
    for digest in [c"SHA256", c"SHA384", c"SHA512", c"SHA1"] {
        pair.signs(digest, &[]);
    }
    pair.keeps(&[c"priv"]);
    // What is signed as it is.
    let digest = [7; 32];
    let signature = pair.mine.transform(pair.ours, Operation::Sign, &[], &digest).unwrap();
    assert_eq!(pair.other.verify_directly(theirs, &[], &digest, &signature).0, 1);
    let peer = Key::generate(theirs, c"EC", &group).unwrap();
    let public = Key::decode(pair.ours, false, &peer.encode(false).unwrap()).unwrap();
    let expected = pair.other.agree(theirs, &peer).unwrap();
    assert_eq!(pair.mine.agree(pair.ours, &public).unwrap(), expected);
    // The cofactor of these curves is one: with it the secret is the same. A derivation from the secret would be another.
    for mut mode in [-1, 0, 1] {
        let cofactor = [Param::int(c"ecdh-cofactor-mode", &mut mode)];
        assert_eq!(pair.mine.agree_with(pair.ours, &public, &cofactor, 256).unwrap(), expected);
    }
    let mut unknown = 2;
    let refused = [Param::int(c"ecdh-cofactor-mode", &mut unknown)];
    assert!(pair.mine.agree_with(pair.ours, &public, &refused, 256).is_err(), "there is no such mode");
    let derives = [Param::text(c"kdf-type", c"X963KDF"), Param::text(c"kdf-digest", c"SHA256")];
    assert!(pair.mine.agree_with(pair.ours, &public, &derives, 256).is_err());
    // A digest of another provider's can't be signed in the service.
    let refused = pair.mine.sign(pair.ours, Some(c"BLAKE2B-512"), &[], MESSAGE).unwrap_err();
    assert!(refused.detail.contains("millstream.isolated=no"), "{refused:?}");
}

fn rsa(under: &Under, theirs: &Library, mut bits: usize) {
    let pair = Pair::load(under, theirs, c"RSA", &[Param::size(c"bits", &mut bits)]);
    for digest in [c"SHA256", c"SHA384", c"SHA1"] {
        pair.signs(digest, &[]);
        pair.signs(digest, &[Param::text(c"pad-mode", c"pss"), Param::text(c"saltlen", c"digest")]);
        pair.signs(digest, &[Param::text(c"pad-mode", c"pss"), Param::text(c"saltlen", c"max")]);
    }
    pair.keeps(&[c"d", c"rsa-factor1", c"rsa-factor2", c"rsa-exponent1", c"rsa-coefficient1"]);
    let size = bits / 8;
    let input: Vec<u8> = (0..size).map(|i| if i == 0 { 0 } else { (i * 7 + 1) as u8 }).collect();
    for params in [vec![Param::text(c"pad-mode", PKCS1)], vec![Param::text(c"pad-mode", OAEP)]] {
        let sealed = pair.other.transform(theirs, Operation::Encrypt, &params, MESSAGE).unwrap();
        assert_eq!(pair.mine.transform(pair.ours, Operation::Decrypt, &params, &sealed).unwrap(), MESSAGE);
    }
    let bare = [Param::text(c"pad-mode", c"none")];
    for operation in [Operation::Sign, Operation::Decrypt] {
        let expected = pair.other.transform(theirs, operation, &bare, &input).unwrap();
        assert_eq!(pair.mine.transform(pair.ours, operation, &bare, &input).unwrap(), expected);
    }
    // Signatures of PKCS#1 v1.5 have nothing random.
    let signed = |key: &Key, library| key.sign(library, Some(c"SHA256"), &[], MESSAGE).unwrap();
    assert_eq!(signed(&pair.mine, pair.ours), signed(&pair.other, theirs));
    let oaep = [Param::text(c"pad-mode", OAEP)];
    let refused = pair.mine.transform(pair.ours, Operation::Decrypt, &oaep, &input);
    assert!(refused.is_err(), "no padding");
}

/// Keys that a program makes of numbers.
fn imported(under: &Under, theirs: &Library) {
    let group = [Param::text(c"group", c"P-256")];
    let other = Key::generate(theirs, c"EC", &group).unwrap();
    let mut private = other.big(c"priv", 32).unwrap();
    private.reverse();
    let mut public = other.octets(c"pub").unwrap();
    for with_public in [true, false] {
        let mut params = vec![Param::text(c"group", c"P-256"), Param::number(c"priv", &mut private)];
        if with_public {
            params.push(Param::octets(c"pub", &mut public));
        }
        let mine = Key::import(&under.library, c"EC", PAIR, &params).unwrap();
        let pair = Pair {
            ours: &under.library,
            theirs,
            mine,
            other: Key::decode(theirs, true, &other.encode(true).unwrap()).unwrap(),
        };
        pair.signs(c"SHA256", &[]);
        pair.keeps(&[c"priv"]);
    }
}

/// Keys that the service makes.
fn made(under: &Under, theirs: &Library) {
    let ours = &under.library;
    for curve in CURVES {
        let group = [Param::text(c"group", curve)];
        let keys = [(); 2].map(|()| Key::generate(ours, c"EC", &group).unwrap());
        let [one, other] = &keys;
        assert_ne!(one.encode(false).unwrap(), other.encode(false).unwrap());
        assert!(one.encode(true).is_err());
        assert_eq!(one.agree(ours, other).unwrap(), other.agree(ours, one).unwrap());
        let like = one.generate_like(ours).unwrap();
        assert_eq!(like.agree(ours, other).unwrap(), other.agree(ours, &like).unwrap());
    }
    let mut bits = 2048;
    let key = Key::generate(ours, c"RSA", &[Param::size(c"bits", &mut bits)]).unwrap();
    let public = Key::decode(theirs, false, &key.encode(false).unwrap()).unwrap();
    assert_eq!(key.number(c"bits"), Ok(2048));
    let signature = key.sign(ours, Some(c"SHA256"), &[], MESSAGE).unwrap();
    assert!(public.verify(theirs, Some(c"SHA256"), &[], MESSAGE, &signature).unwrap());
    assert!(key.encode(true).is_err());
}

/// Keys of kinds that the service lacks work as if it were not there.
fn lacking(under: &Under, theirs: &Library) {
    let ours = &under.library;
    let mut bits = 512;
    let mut primes = 3;
    let mut many = 2048;
    let params = [
        (c"EC", vec![Param::text(c"group", c"secp256k1")]),
        (c"RSA", vec![Param::size(c"bits", &mut bits)]),
        (c"RSA", vec![Param::size(c"bits", &mut many), Param::size(c"primes", &mut primes)]),
    ];
    for (name, params) in params {
        let other = Key::generate(theirs, name, &params).unwrap();
        let der = other.encode(true).unwrap();
        let mine = Key::decode(ours, true, &der).unwrap();
        let signature = mine.sign(ours, Some(c"SHA256"), &[], MESSAGE).unwrap();
        assert!(other.verify(theirs, Some(c"SHA256"), &[], MESSAGE, &signature).unwrap(), "{name:?}");
        assert_eq!(mine.encode(true).unwrap(), der, "{name:?}");
        let made = Key::generate(ours, name, &params).unwrap();
        let signature = made.sign(ours, Some(c"SHA256"), &[], MESSAGE).unwrap();
        assert!(made.verify(ours, Some(c"SHA256"), &[], MESSAGE, &signature).unwrap(), "{name:?}");
    }
}

/// Returns the bytes of a value of DER, behind its tag and length.
fn der(tag: u8, value: &[u8]) -> Vec<u8> {
    let len = match value.len() {
        len @ ..0x80 => vec![len as u8],
        len => vec![0x82, (len >> 8) as u8, len as u8],
    };
    [&[tag], &len[..], value].concat()
}

/// Keys of ML-DSA in each form that files have (RFC 9881 §6), which the service takes, and what it signs with them.
fn ml_dsa(under: &Under, (set, name, number): (Set, &'static CStr, u8)) {
    let ours = &under.library;
    let features = millstream::features().unwrap();
    let known = PrivateKey::new(features, set, &[7; 32]).unwrap();
    let expanded = known.to_expanded();
    let algorithm = der(0x30, &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, number]);
    let file = |choice: &[u8]| der(0x30, &[&[2, 1, 0], &algorithm[..], &der(4, choice)].concat());
    let both = |expanded: &[u8]| der(0x30, &[der(4, &[7; 32]), der(4, expanded)].concat());
    for form in [der(0x80, &[7; 32]), der(4, &expanded), both(&expanded)] {
        let key = Key::decode(ours, true, &file(&form)).unwrap();
        assert_eq!(key.provider(), "millstream", "{name:?}");
        assert_eq!(key.octets(c"pub").unwrap(), known.public_key().as_bytes(), "{name:?}");
        assert!(under.keys().iter().sum::<u64>() >= 1, "{name:?}: the key is in the service");
        signs_as_the_library(ours, &key, &known);
        // The private part does not come out.
        let refused = key.encode(true).unwrap_err();
        assert!(refused.detail.contains("does not give it out"), "{refused:?}");
        assert!(
            key.octets(c"priv").unwrap_or_default().is_empty()
                && key.octets(c"seed").unwrap_or_default().is_empty()
        );
        assert_eq!(key.checks(ours).map(|said| said == 1)[..3], [true; 3], "{name:?}");
    }
    // A seed and an expanded key that are not the same key, one that is broken, and lengths that no key has.
    let other = PrivateKey::new(features, set, &[8; 32]).unwrap().to_expanded();
    let mut broken = expanded.clone();
    broken[200] ^= 1;
    for form in [both(&other), both(&broken), der(4, &broken), der(0x80, &[7; 31]), der(4, &[7; 32])] {
        assert!(Key::decode(ours, true, &file(&form)).is_err(), "{name:?}");
    }
    // Keys of numbers that a program has, and keys that the service makes.
    let (mut seed, mut private) = ([7; 32].to_vec(), expanded.to_vec());
    for given in [Param::octets(c"seed", &mut seed), Param::octets(c"priv", &mut private)] {
        let key = Key::import(ours, name, PAIR, &[given]).unwrap();
        signs_as_the_library(ours, &key, &known);
    }
    let made = Key::generate(ours, name, &[]).unwrap();
    assert!(made.encode(true).is_err(), "{name:?}");
    let public = Key::public(ours, name, &made.octets(c"pub").unwrap()).unwrap();
    let signature = made.sign(ours, None, &[], MESSAGE).unwrap();
    assert!(public.verify(ours, None, &[], MESSAGE, &signature).unwrap(), "{name:?}");
    let made = Key::generate(ours, name, &[Param::octets(c"seed", &mut seed)]).unwrap();
    signs_as_the_library(ours, &made, &known);
}

/// Requires that the signatures of a key in the service are those of the library: of short and of long messages, within a context, in
/// pieces, of encoded messages and of representatives.
#[track_caller]
fn signs_as_the_library(ours: &Library, key: &Key, known: &PrivateKey) {
    let (mut one, mut zero): (c_int, c_int) = (1, 0);
    let mut context = b"a context".to_vec();
    let public = known.public_key();
    for message in [MESSAGE, &[], &vec![9; 100_000][..]] {
        let params = [Param::octets(c"context-string", &mut context), Param::int(c"deterministic", &mut one)];
        let expected = known.sign_deterministic(Scheme::Pure(b"a context"), message).unwrap();
        assert_eq!(key.sign(ours, None, &params, message).unwrap(), expected);
        let signer = Signing::new(key, ours, None).unwrap();
        signer.set(&params).unwrap();
        for piece in message.chunks(3000) {
            signer.update(piece).unwrap();
        }
        assert_eq!(signer.finish(expected.len()).unwrap(), expected, "in pieces");
        // Without a choice random bytes hedge signatures.
        let signatures = [(); 2].map(|()| key.sign(ours, None, &[], message).unwrap());
        assert_ne!(signatures[0], signatures[1]);
        for signature in signatures {
            public.verify(message, &signature).unwrap();
            assert!(key.verify(ours, None, &[], message, &signature).unwrap());
            assert!(!key.verify(ours, None, &[], b"another", &signature).unwrap());
        }
    }
    let expected = known.sign_deterministic(Scheme::Pure(&[]), MESSAGE).unwrap();
    let encoded = [&[0, 0], MESSAGE].concat();
    let params = [Param::int(c"deterministic", &mut one), Param::int(c"message-encoding", &mut zero)];
    assert_eq!(key.sign(ours, None, &params, &encoded).unwrap(), expected);
    let mu = public.representative(Scheme::Pure(&[]), MESSAGE).unwrap();
    let mut is_mu: c_int = 1;
    let params = [Param::int(c"deterministic", &mut one), Param::int(c"mu", &mut is_mu)];
    assert_eq!(key.sign(ours, None, &params, &mu).unwrap(), expected);
    assert!(key.sign(ours, None, &params, &mu[1..]).is_err(), "a representative has 64 bytes");
    // The service draws the random bytes itself.
    let refused = key.sign(ours, None, &[Param::octets(c"test-entropy", &mut [7; 32])], MESSAGE).unwrap_err();
    assert!(refused.detail.contains("millstream.isolated=no"), "{refused:?}");
}
