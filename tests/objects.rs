//! Keys of the service as OpenSSL objects (`EVP_SKEY`, from 3.5 on). The process has no bytes of them.
//!
//! libcrypto is loaded into this process, so each test runs itself again for every version that has such
//! objects.

#[path = "../crates/provider/tests/support/objects.rs"]
mod objects;
#[path = "../crates/provider/tests/support/mod.rs"]
mod support;
mod under;

use std::ffi::CStr;
use std::process::Command;

use millstream::aes::Cmac;
use millstream::hash::Hash;
use millstream::hmac::HmacKey;
use millstream_tests::OpenSsl;
use objects::{Functions, Key, functions};
use support::{CipherContext, Library, Param, Refused};
use under::Under;

const ISOLATED: &CStr = c"millstream.isolated=yes";
const BYTES: [u8; 32] = *b"0123456789abcdefghijklmnopqrstuv";
const DATA: &[u8] = b"sixteen and more bytes, and then some";

/// Imports a key into the service for an algorithm.
fn import(
    of: Functions,
    library: &Library,
    kind: &CStr,
    algorithm: &'static CStr,
    bytes: &[u8],
) -> Result<Key, Refused> {
    let mut bytes = bytes.to_vec();
    let params = [Param::octets(c"raw-bytes", &mut bytes), Param::text(c"millstream.algorithm", algorithm)];
    Key::make(of, library, kind, ISOLATED, &params)
}

/// Runs a test of this program again, under the newest libcrypto of a series.
fn again(test: &str, series: u32) {
    let libraries = OpenSsl::newest(series).libraries().expect("it was built");
    let libcrypto = libraries.join(format!("libcrypto.so.{series}"));
    let ended = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("MILLSTREAM_TEST_LIBCRYPTO", &libcrypto)
        .env("OPENSSL_MODULES", libraries.join("ossl-modules"))
        .output()
        .expect("this program");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "OpenSSL {series}: {said}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(said.contains("1 passed") && !said.contains("SKIPPED"), "OpenSSL {series}: {said}");
}

/// Encrypts or decrypts with a key that is an object.
fn pass(isolated: &Under, name: &str, key: &Key, encrypt: bool, data: &[u8]) -> Vec<u8> {
    let cipher = isolated.library.cipher_with(name, ISOLATED).unwrap();
    let mut context = CipherContext::new();
    let iv = vec![9; cipher.iv_len()];
    key.begin(&mut context, cipher.0, encrypt, &iv).unwrap_or_else(|why| panic!("{name}: {why:?}"));
    let mut out = context.update(data).unwrap();
    // An AEAD ends with a tag, which is not checked here.
    if !matches!(name, "AES-256-GCM" | "ChaCha20-Poly1305") || encrypt {
        out.extend(context.finish().unwrap());
    }
    out
}

#[test]
fn they_work_as_bytes_do_and_are_not_given_out() {
    again("with_objects", 4);
}

#[test]
fn long_newest_3_works_with_them() {
    again("with_objects", 3);
}

#[test]
#[ignore = "is run by the two tests before it"]
fn with_objects() {
    let of = functions().expect("a libcrypto that has them");
    let (isolated, theirs) = (Under::policy(""), Library::openssl());
    for (name, kind, algorithm) in [
        ("AES-128-ECB", c"AES", c"aes-ecb"),
        ("AES-256-CBC", c"AES", c"aes-cbc"),
        ("AES-192-CTR", c"AES", c"aes-ctr"),
        ("AES-128-CFB", c"GENERIC-SECRET", c"aes-cfb"),
        ("AES-256-GCM", c"AES", c"aes-gcm"),
        ("AES-128-XTS", c"GENERIC-SECRET", c"aes-xts"),
        ("ChaCha20-Poly1305", c"GENERIC-SECRET", c"chacha20-poly1305"),
        ("CAMELLIA-256-CBC", c"GENERIC-SECRET", c"camellia-cbc"),
        ("DES-EDE3-CBC", c"GENERIC-SECRET", c"des-cbc"),
    ] {
        let expected = theirs.cipher(name).unwrap();
        let bytes = &BYTES[..expected.key_len()];
        let mut context = expected.context(true, bytes, &vec![9; expected.iv_len()]).unwrap();
        let mut sealed = context.update(DATA).unwrap();
        sealed.extend(context.finish().unwrap());
        let key = import(of, &isolated.library, kind, algorithm, bytes)
            .unwrap_or_else(|why| panic!("{name}: {why:?}"));
        assert_eq!(key.provider(), "millstream");
        assert_eq!(key.id(), algorithm.to_str().unwrap());
        assert!(key.bytes().is_err(), "{name}: it is in the service");
        assert!(pass(&isolated, name, &key, true, DATA) == sealed, "{name}");
        assert!(pass(&isolated, name, &key, false, &sealed) == DATA, "{name}");
        // Another context under the same algorithm works, but none under another one.
        assert!(pass(&isolated, name, &key, true, DATA) == sealed, "{name}");
        let other = if name == "AES-256-CBC" { "AES-256-GCM" } else { "AES-256-CBC" };
        let other = isolated.library.cipher_with(other, ISOLATED).unwrap();
        let refused = key.begin(&mut CipherContext::new(), other.0, true, &[9; 16]).unwrap_err();
        assert!(refused.detail.contains("make or import another with millstream.algorithm="), "{refused:?}");
    }
    assert_eq!(isolated.keys().iter().sum::<u64>(), 0, "each ended with its object");
    let hmac = import(of, &isolated.library, c"GENERIC-SECRET", c"hmac-sha256", &BYTES[..20]).unwrap();
    let cmac = import(of, &isolated.library, c"AES", c"aes-cmac", &BYTES[..16]).unwrap();
    assert_eq!(isolated.keys().iter().sum::<u64>(), 2);
    let features = millstream::features().unwrap();
    let expected = [
        HmacKey::new(features, Hash::Sha256, &BYTES[..20]).sign(DATA).to_vec(),
        Cmac::new(features, &BYTES[..16]).unwrap().mac(DATA).to_vec(),
    ];
    let cases = [
        (&hmac, c"HMAC", Param::text(c"digest", c"SHA256")),
        (&cmac, c"CMAC", Param::text(c"cipher", c"AES-128-CBC")),
    ];
    for ((key, name, param), expected) in cases.into_iter().zip(expected) {
        assert_eq!(key.mac(&isolated.library, (name, ISOLATED), param, DATA).unwrap(), expected, "{name:?}");
    }
    let other = hmac.mac(&isolated.library, (c"HMAC", ISOLATED), Param::text(c"digest", c"SHA512"), DATA);
    assert!(other.unwrap_err().detail.contains("millstream.algorithm=sha512"));
    // A key that is made in the service has bytes that nobody ever had. Two of them differ.
    let made: Vec<_> = (0..2)
        .map(|_| {
            let mut len = 32;
            let params =
                [Param::size(c"key-length", &mut len), Param::text(c"millstream.algorithm", c"aes-gcm")];
            Key::generate(of, &isolated.library, c"AES", ISOLATED, &params).unwrap()
        })
        .collect();
    let sealed: Vec<_> = made.iter().map(|key| pass(&isolated, "AES-256-GCM", key, true, DATA)).collect();
    assert_ne!(sealed[0], sealed[1]);
    for (key, sealed) in made.iter().zip(&sealed) {
        assert!(pass(&isolated, "AES-256-GCM", key, false, sealed) == DATA && key.bytes().is_err());
    }
    // Without `millstream.algorithm`, the provider behaves like any other, and has the key's bytes in the
    // process.
    let mut bytes = BYTES[..16].to_vec();
    let here = Key::make(of, &isolated.library, c"AES", ISOLATED, &[Param::octets(c"raw-bytes", &mut bytes)]);
    assert_eq!(here.unwrap().bytes().unwrap(), BYTES[..16]);
    for unknown in [c"rot13", c"crc32"] {
        let refused = import(of, &isolated.library, c"AES", unknown, &BYTES[..16]).err().unwrap();
        assert!(refused.detail.contains("names no algorithm"), "{refused:?}");
    }
    let local = isolated.library.cipher_with("RC4", c"?millstream.isolated=yes").unwrap();
    let refused = cmac.begin(&mut CipherContext::new(), local.0, true, &[]).unwrap_err();
    assert!(refused.detail.contains("does not have this algorithm"), "{refused:?}");
}

#[test]
fn a_policy_says_what_they_are_for() {
    again("under_a_policy", 4);
}

#[test]
fn long_newest_3_obeys_a_policy() {
    again("under_a_policy", 3);
}

#[test]
#[ignore = "is run by the two tests before it"]
fn under_a_policy() {
    let of = functions().expect("a libcrypto that has them");
    let isolated = Under::policy("algorithms = [\"aes-gcm\", \"sha256\"]\nusages = [\"decrypt\", \"sign\"]");
    let refused = import(of, &isolated.library, c"AES", c"aes-cbc", &BYTES[..16]).err().unwrap();
    assert!(refused.detail.contains("`algorithms`"), "{refused:?}");
    // The policy leaves the key some of its uses.
    let opens = import(of, &isolated.library, c"AES", c"aes-gcm", &BYTES).unwrap();
    let cipher = isolated.library.cipher_with("AES-256-GCM", ISOLATED).unwrap();
    let mut context = CipherContext::new();
    opens.begin(&mut context, cipher.0, true, &[9; 12]).unwrap();
    assert!(context.update(DATA).unwrap_err().detail.contains("only open"), "it may not seal");
    let signs = import(of, &isolated.library, c"GENERIC-SECRET", c"sha256", b"Jefe").unwrap();
    let digest = Param::text(c"digest", c"SHA256");
    let mac = signs.mac(&isolated.library, (c"HMAC", ISOLATED), digest, b"what do ya want for nothing?");
    // The tag is that of RFC 4231 section 4.3.
    assert_eq!(mac.unwrap()[..4], [0x5b, 0xdc, 0xc1, 0x46]);
}
