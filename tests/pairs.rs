//! Key pairs of EC and RSA in a service, through OpenSSL's functions: each operation beside the default provider's with the same key.
//!
//! libcrypto is loaded into this process, so the test runs itself again for other versions.

#[path = "../crates/provider/tests/support/pkeys.rs"]
mod pkeys;
#[path = "../crates/provider/tests/support/mod.rs"]
mod support;
mod under;

use std::ffi::CStr;
use std::process::Command;

use millstream_tests::OpenSsl;
use pkeys::{Key, Operation, PAIR};
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
