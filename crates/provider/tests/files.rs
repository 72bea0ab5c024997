//! Files of ML-KEM, ML-DSA and SLH-DSA keys: Millstream's encoders and decoders where OpenSSL has none (before 3.5), by what OpenSSL 4.0.3 writes.
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::CStr;

use millstream::Features;
use millstream::sha3::{Shake, Xof};
use millstream_testkit::hex;
use pkeys::{Key, PAIR, preferred};
use support::{Library, Param, refused, version};

/// A type of keys: name, the last bytes of its object identifier, the bytes of a seed, of a private key and of a public key, and the digests
/// of what OpenSSL 4.0.3 writes of the key whose seed counts from 0 on: of its `PrivateKeyInfo`, and of its `SubjectPublicKeyInfo`.
type Kind = (&'static CStr, [u8; 2], [usize; 3], [&'static str; 2]);
const KINDS: [Kind; 6] = [
    (
        c"ML-KEM-512",
        [4, 1],
        [64, 1632, 800],
        ["d637b518e2b98b058f8c7d35e31669ea", "6f9be20c210d810b6040384dfde0a775"],
    ),
    (
        c"ML-KEM-768",
        [4, 2],
        [64, 2400, 1184],
        ["df09ac9e5fc2dbd6d0db72f7c20de084", "37ee9b23bb872e3a11138f3a244a7527"],
    ),
    (
        c"ML-KEM-1024",
        [4, 3],
        [64, 3168, 1568],
        ["557403092ffa4f60ffd3e5d477fcef8a", "44d254e4fad7c8d2b98d693814733150"],
    ),
    (
        c"ML-DSA-44",
        [3, 17],
        [32, 2560, 1312],
        ["b4b312ca84081198da4144217200258e", "5bcad0b9fd49a4570ae171157cfc96fc"],
    ),
    (
        c"ML-DSA-65",
        [3, 18],
        [32, 4032, 1952],
        ["747d5f23ef26ada62f96ca6d1b373b0c", "758e7f694026bca9ed4cc09e53410e3b"],
    ),
    (
        c"ML-DSA-87",
        [3, 19],
        [32, 4896, 2592],
        ["9edee293658eef6cdce7555700f20de2", "0f31cfcf5f3f7395d10de6aa3e74bd8e"],
    ),
];

fn seed(len: usize) -> Vec<u8> {
    (0..len as u8).collect()
}

fn key(library: &Library, name: &CStr, seed_len: usize) -> Key {
    let mut seed = seed(seed_len);
    Key::import(library, name, PAIR, &[Param::octets(c"seed", &mut seed)]).unwrap()
}

fn digest(bytes: &[u8]) -> String {
    let mut shake = Shake::new(Features::hardware(), Xof::Shake256);
    shake.update(bytes);
    let mut out = [0; 16];
    shake.finish().squeeze(&mut out);
    out.map(|byte| format!("{byte:02x}")).concat()
}

/// Encodes a value of DER.
fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let len = body.len();
    let head = match len {
        0..0x80 => vec![tag, len as u8],
        0x80..0x100 => vec![tag, 0x81, len as u8],
        _ => vec![tag, 0x82, (len >> 8) as u8, len as u8],
    };
    [head, body].concat()
}

/// Wraps an encoded private key as PKCS#8 does.
fn private_key_info(object: [u8; 2], key: &[u8]) -> Vec<u8> {
    let algorithm = tlv(0x30, &[&[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4], &object]);
    tlv(0x30, &[&[2, 1, 0], &algorithm, &tlv(4, &[key])])
}

/// The encodings are OpenSSL's own, in every version: with the seed, and where there is none, without it.
#[test]
fn keys_are_written_as_openssl_writes_them() {
    let library = preferred();
    for (name, object, [seed_len, private_len, public_len], digests) in KINDS {
        let key = key(&library, name, seed_len);
        let encoded = [true, false].map(|private| key.encode(private).unwrap());
        let expanded = key.octets(c"priv").unwrap();
        assert_eq!((expanded.len(), key.octets(c"pub").unwrap().len()), (private_len, public_len));
        let both = tlv(0x30, &[&tlv(4, &[&seed(seed_len)]), &tlv(4, &[&expanded])]);
        assert!(encoded[0] == private_key_info(object, &both), "{name:?}");
        assert_eq!(encoded.each_ref().map(|der| digest(der)), digests, "{name:?}");
        let without = Key::private(&library, name, &expanded).unwrap();
        assert!(without.encode(true).unwrap() == private_key_info(object, &tlv(4, &[&expanded])), "{name:?}");
        let only = Key::public(&library, name, &key.octets(c"pub").unwrap()).unwrap();
        assert_eq!(only.encode(false).unwrap(), encoded[1]);
        if version() < (3, 5) {
            assert!(only.encode(true).is_err(), "there is no private part");
        }
        refused();
    }
}

/// A seed alone, an expanded key alone, and both (RFC 9881 §6, RFC 9935 §6).
#[test]
fn every_form_is_read() {
    let library = preferred();
    for (name, object, [seed_len, ..], _) in KINDS {
        let key = key(&library, name, seed_len);
        let (seed, expanded) = (seed(seed_len), key.octets(c"priv").unwrap());
        let forms = [
            tlv(0x80, &[&seed]),
            tlv(4, &[&expanded]),
            tlv(0x30, &[&tlv(4, &[&seed]), &tlv(4, &[&expanded])]),
        ];
        for (i, form) in forms.iter().enumerate() {
            let read = Key::decode(&library, true, &private_key_info(object, form)).unwrap();
            assert_eq!(read.provider(), if version() < (3, 5) { "millstream" } else { "default" });
            assert_eq!(read.octets(c"priv").unwrap(), expanded, "{name:?} {i}");
            assert_eq!(read.octets(c"seed").unwrap(), if i == 1 { vec![] } else { seed.clone() });
        }
        let read = Key::decode(&library, false, &key.encode(false).unwrap()).unwrap();
        assert_eq!(read.octets(c"pub"), key.octets(c"pub"));
    }
}

/// Keys of wrong forms and lengths are refused, and keys that were cut off.
#[test]
fn broken_files_are_refused() {
    let library = preferred();
    for (name, object, [seed_len, ..], _) in KINDS {
        let key = key(&library, name, seed_len);
        let (seed, expanded) = (seed(seed_len), key.octets(c"priv").unwrap());
        let mut another = seed.clone();
        another[0] ^= 1;
        let wrong = [
            tlv(0x80, &[&seed[1..]]),
            tlv(0x81, &[&seed]),
            tlv(4, &[&expanded[1..]]),
            tlv(4, &[&seed]),
            tlv(0x30, &[&tlv(4, &[&expanded]), &tlv(4, &[&seed])]),
            tlv(0x30, &[&tlv(4, &[&seed])]),
            [tlv(0x80, &[&seed]), vec![0]].concat(),
        ];
        for (i, wrong) in wrong.iter().enumerate() {
            assert!(Key::decode(&library, true, &private_key_info(object, wrong)).is_err(), "{name:?} {i}");
        }
        // OpenSSL itself takes the seed, and leaves the other part.
        if version() < (3, 5) {
            let both = tlv(0x30, &[&tlv(4, &[&another]), &tlv(4, &[&expanded])]);
            assert!(Key::decode(&library, true, &private_key_info(object, &both)).is_err(), "{name:?}");
        }
        for private in [true, false] {
            let whole = key.encode(private).unwrap();
            for len in [0, 1, 4, 20, whole.len() / 2, whole.len() - 1] {
                assert!(Key::decode(&library, private, &whole[..len]).is_err(), "{name:?} {len}");
            }
        }
    }
}

/// The key of RFC 9909 appendix C.2, whose second half is the public key of C.1.
const OF_HASHES: &str = "a2263bca45860836523160049523d621677fad90d51eb6067a327e0d1e64a501\
                         2b8109ec777caa4e1f024ccfcf9497d99180509280f4256af2b07af80289b494";

/// A key of SLH-DSA stands in PKCS#8 as it is (RFC 9909 §6).
#[test]
fn keys_on_hashes_are_read_and_written() {
    let library = preferred();
    let (whole, object) = (hex(OF_HASHES), [3, 20]);
    let file = private_key_info(object, &whole);
    assert_eq!(file.len(), 84);
    let read = Key::decode(&library, true, &file).unwrap();
    assert_eq!(read.provider(), if version() < (3, 5) { "millstream" } else { "default" });
    assert_eq!(read.octets(c"priv").unwrap(), whole);
    assert_eq!(read.encode(true).unwrap(), file);
    let algorithm = tlv(0x30, &[&[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4], &object]);
    let public = tlv(0x30, &[&algorithm, &tlv(3, &[&[0], &whole[32..]])]);
    assert_eq!(read.encode(false).unwrap(), public);
    let mine = Key::private(&library, c"SLH-DSA-SHA2-128s", &whole).unwrap();
    assert_eq!([true, false].map(|private| mine.encode(private).unwrap()), [file.clone(), public.clone()]);
    let only = Key::decode(&library, false, &public).unwrap();
    assert_eq!(only.octets(c"pub").unwrap(), whole[32..]);
    let with_parameters =
        tlv(0x30, &[&[2, 1, 0], &tlv(0x30, &[&algorithm[2..], &[5, 0]]), &tlv(4, &[&whole])]);
    for wrong in [
        private_key_info(object, &whole[1..]),
        private_key_info(object, &whole[..48]),
        private_key_info(object, &tlv(4, &[&whole])),
        private_key_info([3, 22], &whole),
        with_parameters,
    ] {
        assert!(Key::decode(&library, true, &wrong).is_err(), "{wrong:02x?}");
    }
    refused();
}
