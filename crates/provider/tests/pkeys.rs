//! X25519 and Ed25519 beside the default provider's: keys, agreements, signatures, encodings and refusals.
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::CStr;

use pkeys::{Key, PAIR, preferred, theirs};
use support::{Library, Param, libcrypto, version};

fn bytes(seed: u8) -> [u8; 32] {
    std::array::from_fn(|i| (i as u8).wrapping_mul(37).wrapping_add(seed))
}

#[test]
fn keys_are_ours_and_tell_what_the_default_providers_tell() {
    let (ours, theirs) = (preferred(), theirs());
    for name in [c"X25519", c"ED25519"] {
        let mine = Key::private(&ours, name, &bytes(3)).unwrap();
        let other = Key::private(&theirs, name, &bytes(3)).unwrap();
        assert_eq!((mine.provider(), other.provider()), ("millstream".to_owned(), "default".to_owned()));
        for octets in [c"pub", c"priv"] {
            assert_eq!(mine.octets(octets), other.octets(octets), "{name:?} {octets:?}");
        }
        for number in [c"bits", c"security-bits", c"max-size"] {
            assert_eq!(mine.number(number).unwrap(), other.number(number).unwrap(), "{name:?} {number:?}");
        }
        // SAFETY: keys that live.
        unsafe { assert_eq!((libcrypto().EVP_PKEY_eq)(mine.0, other.0), 1) };
    }
    let mine = Key::private(&ours, c"X25519", &bytes(3)).unwrap();
    assert_eq!(mine.octets(c"encoded-pub-key"), mine.octets(c"pub"));
}

#[test]
fn made_keys_are_pairs_and_no_two_are_the_same() {
    let library = preferred();
    for name in [c"X25519", c"ED25519"] {
        let (one, other) =
            (Key::generate(&library, name, &[]).unwrap(), Key::generate(&library, name, &[]).unwrap());
        assert_ne!(one.octets(c"priv").unwrap(), other.octets(c"priv").unwrap());
        let context = pkeys::Context::of(&library, &one).unwrap();
        // SAFETY: a context and keys that live.
        unsafe {
            assert_eq!((libcrypto().EVP_PKEY_pairwise_check)(context.0), 1);
            assert_eq!((libcrypto().EVP_PKEY_eq)(one.0, other.0), 0);
            let copy = Key((libcrypto().EVP_PKEY_dup)(one.0));
            assert_eq!(copy.octets(c"priv"), one.octets(c"priv"));
        }
        // A pair whose parts do not belong together is found.
        let (mut private, mut public) = (bytes(1).to_vec(), other.octets(c"pub").unwrap());
        let params = [Param::octets(c"priv", &mut private), Param::octets(c"pub", &mut public)];
        let mixed = Key::import(&library, name, PAIR, &params).unwrap();
        let context = pkeys::Context::of(&library, &mixed).unwrap();
        // SAFETY: a context that lives.
        assert_ne!(unsafe { (libcrypto().EVP_PKEY_pairwise_check)(context.0) }, 1);
        support::refused();
    }
}

#[test]
fn both_sides_agree() {
    let (ours, theirs) = (preferred(), theirs());
    for seed in 0..20 {
        let mine = Key::private(&ours, c"X25519", &bytes(seed)).unwrap();
        let other = Key::generate(&theirs, c"X25519", &[]).unwrap();
        let public =
            |library, key: &Key| Key::public(library, c"X25519", &key.octets(c"pub").unwrap()).unwrap();
        let here = mine.agree(&ours, &public(&ours, &other)).unwrap();
        assert_eq!(here, other.agree(&theirs, &public(&theirs, &mine)).unwrap());
        assert_eq!(here.len(), 32);
    }
}

#[test]
fn a_peer_of_small_order_and_keys_that_lack_a_part_are_refused() {
    for library in [preferred(), theirs()] {
        let key = Key::private(&library, c"X25519", &bytes(9)).unwrap();
        for small in [[0; 32], std::array::from_fn(|i| u8::from(i == 0))] {
            let peer = Key::public(&library, c"X25519", &small).unwrap();
            assert!(key.agree(&library, &peer).is_err());
        }
        let public = Key::public(&library, c"X25519", &key.octets(c"pub").unwrap()).unwrap();
        assert!(public.agree(&library, &key).is_err(), "there is no private part");
        for len in [0, 31, 33] {
            assert!(Key::private(&library, c"X25519", &vec![1; len]).is_err(), "{len} bytes");
            assert!(Key::public(&library, c"ED25519", &vec![1; len]).is_err(), "{len} bytes");
        }
        let group = [Param::text(c"group", c"x448")];
        assert!(Key::generate(&library, c"X25519", &group).is_err());
        let group = [Param::text(c"group", c"x25519")];
        assert!(Key::generate(&library, c"X25519", &group).is_ok());
        let key = Key::private(&library, c"ED25519", &bytes(9)).unwrap();
        let public = Key::public(&library, c"ED25519", &key.octets(c"pub").unwrap()).unwrap();
        assert!(public.sign(&library, None, &[], b"message").is_err());
        assert!(key.sign(&library, Some(c"SHA256"), &[], b"message").is_err());
    }
}

#[test]
fn signatures_are_the_default_providers() {
    let (ours, theirs) = (preferred(), theirs());
    let mine = Key::private(&ours, c"ED25519", &bytes(5)).unwrap();
    let other = Key::private(&theirs, c"ED25519", &bytes(5)).unwrap();
    for len in [0, 1, 31, 32, 63, 64, 65, 111, 112, 127, 128, 129, 255, 256, 1000, 10_000] {
        let message: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        let mut signature = mine.sign(&ours, None, &[], &message).unwrap();
        assert_eq!(signature, other.sign(&theirs, None, &[], &message).unwrap(), "{len} bytes");
        assert!(mine.verify(&ours, None, &[], &message, &signature).unwrap());
        assert!(other.verify(&theirs, None, &[], &message, &signature).unwrap());
        assert!(!mine.verify(&ours, None, &[], &message, &signature[..63]).unwrap());
        signature[len % 64] ^= 1 << (len % 8);
        assert!(!mine.verify(&ours, None, &[], &message, &signature).unwrap(), "{len} bytes");
    }
}

/// The instances and contexts, which OpenSSL has from 3.2 on.
#[test]
fn instances_and_contexts_are_the_default_providers() {
    let (ours, theirs) = (preferred(), theirs());
    let mine = Key::private(&ours, c"ED25519", &bytes(6)).unwrap();
    let other = Key::private(&theirs, c"ED25519", &bytes(6)).unwrap();
    let message = bytes(77);
    let plain = mine.sign(&ours, None, &[], &message).unwrap();
    for instance in [c"Ed25519", c"Ed25519ctx", c"Ed25519ph"] {
        for context in [0, 1, 255] {
            let mut context = vec![7; context];
            let of = |context: &mut Vec<u8>| {
                vec![Param::text(c"instance", instance), Param::octets(c"context-string", context)]
            };
            let params = of(&mut context);
            let signature = mine.sign(&ours, None, &params, &message);
            if version() >= (3, 2) {
                let expected = other.sign(&theirs, None, &params, &message);
                assert_eq!(signature.as_ref().ok(), expected.as_ref().ok(), "{instance:?} {}", context.len());
            }
            if let Ok(signature) = signature {
                assert!(mine.verify(&ours, None, &params, &message, &signature).unwrap());
                assert_eq!(signature == plain, instance == c"Ed25519");
                let mut changed = context.clone();
                changed.push(1);
                let wrong = mine.verify(&ours, None, &of(&mut changed), &message, &signature);
                assert_ne!(wrong.ok(), Some(true), "{instance:?} {}", context.len());
            }
        }
    }
    let unknown = [Param::text(c"instance", c"Ed448")];
    assert!(mine.sign(&ours, None, &unknown, &message).is_err());
    let mut long = vec![7; 256];
    let long = [Param::text(c"instance", c"Ed25519ctx"), Param::octets(c"context-string", &mut long)];
    assert!(mine.sign(&ours, None, &long, &message).is_err());
}

/// Keys that OpenSSL reads and writes are used here all the same: they come by export and import.
#[test]
fn encodings_are_the_default_providers_and_go_both_ways() {
    let (ours, theirs) = (preferred(), theirs());
    for name in [c"X25519", c"ED25519"] {
        let mine = Key::private(&ours, name, &bytes(8)).unwrap();
        let other = Key::private(&theirs, name, &bytes(8)).unwrap();
        for private in [true, false] {
            let der = mine.encode(private).unwrap();
            assert_eq!(der, other.encode(private).unwrap(), "{name:?}");
            let read = Key::decode(&ours, private, &der).unwrap();
            assert_eq!(read.octets(c"pub"), mine.octets(c"pub"));
        }
        let read = Key::decode(&ours, true, &mine.encode(true).unwrap()).unwrap();
        use_it(&ours, name, &read, &mine);
    }
}

fn use_it(library: &Library, name: &CStr, read: &Key, same: &Key) {
    if name == c"X25519" {
        let peer = Key::generate(library, name, &[]).unwrap();
        assert_eq!(read.agree(library, &peer).unwrap(), same.agree(library, &peer).unwrap());
    } else {
        let signature = read.sign(library, None, &[], b"message").unwrap();
        assert_eq!(signature, same.sign(library, None, &[], b"message").unwrap());
    }
}

/// HPKE's derivation of keys, which OpenSSL has from 3.2 on. Ref. RFC 9180 §7.1.3.
#[test]
fn keys_are_derived_from_a_secret_as_the_default_provider_derives_them() {
    let (ours, theirs) = (preferred(), theirs());
    for len in [32, 33, 64, 200] {
        let mut secret: Vec<u8> = (0..len).map(|i| (i * 3) as u8).collect();
        let params = [Param::octets(c"dhkem-ikm", &mut secret)];
        let mine = Key::generate(&ours, c"X25519", &params).unwrap();
        let again = Key::generate(&ours, c"X25519", &params).unwrap();
        assert_eq!(mine.octets(c"priv"), again.octets(c"priv"));
        if version() >= (3, 2) {
            let other = Key::generate(&theirs, c"X25519", &params).unwrap();
            // From 3.6 on the private part is clamped before it is kept, which makes no difference to the key.
            assert_eq!(mine.octets(c"pub"), other.octets(c"pub"), "{len} bytes");
        }
    }
    // RFC 9180 §A.1.1: ikmR, and skRm that is derived from it.
    let mut secret = hex("6db9df30aa07dd42ee5e8181afdb977e538f5e1fec8a06223f33f7013e525037");
    let key = Key::generate(&ours, c"X25519", &[Param::octets(c"dhkem-ikm", &mut secret)]).unwrap();
    let expected = hex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8");
    assert_eq!(key.octets(c"priv").unwrap(), expected);
    let mut short = vec![1; 31];
    assert!(Key::generate(&ours, c"X25519", &[Param::octets(c"dhkem-ikm", &mut short)]).is_err());
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}
