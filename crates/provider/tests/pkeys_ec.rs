//! EC keys, ECDSA and ECDH beside the default provider's: the three curves of the engine's, and others that are handed over.
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::{CStr, c_int, c_void};

use pkeys::{Context, Key, Operation, PAIR, PUBLIC, preferred, theirs};
use support::{Library, Param, done, libcrypto, version};

const OURS: [&CStr; 3] = [c"P-256", c"P-384", c"P-521"];
const CURVES: [&CStr; 5] = [c"P-256", c"P-384", c"P-521", c"secp256k1", c"brainpoolP384r1"];
const DIGESTS: [&CStr; 8] =
    [c"SHA1", c"SHA224", c"SHA256", c"SHA2-384", c"SHA512", c"SHA3-256", c"RIPEMD160", c"BLAKE2S-256"];

fn message(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + 1) as u8).collect()
}

fn generate(library: &Library, curve: &'static CStr) -> Key {
    Key::generate(library, c"EC", &[Param::text(c"group", curve)]).unwrap()
}

/// The same key in both libraries, as ours and as the default provider's.
fn both(ours: &Library, theirs: &Library, curve: &'static CStr) -> (Key, Key) {
    let mine = generate(ours, curve);
    let other = Key::decode(theirs, true, &mine.encode(true).unwrap()).unwrap();
    assert_eq!((mine.provider(), other.provider()), ("millstream".to_owned(), "default".to_owned()));
    (mine, other)
}

#[test]
fn keys_tell_what_the_default_providers_tell() {
    let (ours, theirs) = (preferred(), theirs());
    for curve in CURVES {
        let (mine, other) = both(&ours, &theirs, curve);
        for name in [c"bits", c"security-bits", c"max-size", c"use-cofactor-flag"] {
            assert_eq!(mine.number(name), other.number(name), "{curve:?} {name:?}");
        }
        for name in [c"pub", c"encoded-pub-key", c"generator"] {
            assert_eq!(mine.octets(name), other.octets(name), "{curve:?} {name:?}");
        }
        for name in [c"group", c"encoding", c"point-format", c"field-type", c"default-digest"] {
            assert_eq!(mine.text(name), other.text(name), "{curve:?} {name:?}");
        }
        for name in [c"priv", c"qx", c"qy", c"p", c"order"] {
            assert_eq!(mine.big(name, 70), other.big(name, 70), "{curve:?} {name:?}");
        }
        assert_eq!(mine.checks(&ours), other.checks(&theirs), "{curve:?}");
        assert_eq!(mine.checks(&ours), [1; 4], "{curve:?}");
        for private in [true, false] {
            let der = mine.encode(private).unwrap();
            assert_eq!(der, other.encode(private).unwrap(), "{curve:?}");
            let read = Key::decode(&ours, private, &der).unwrap();
            assert_eq!(read.encode(private), mine.encode(private));
            // SAFETY: keys that live.
            unsafe {
                assert_eq!((libcrypto().EVP_PKEY_eq)(read.0, mine.0), 1);
                assert_eq!((libcrypto().EVP_PKEY_parameters_eq)(read.0, mine.0), 1);
                assert_eq!((libcrypto().EVP_PKEY_eq)(read.0, generate(&ours, curve).0), 0);
                let copy = Key((libcrypto().EVP_PKEY_dup)(read.0));
                assert_eq!(copy.encode(private), mine.encode(private));
            }
        }
    }
}

#[test]
fn keys_are_made_as_the_parameters_say() {
    let (ours, theirs) = (preferred(), theirs());
    for curve in CURVES {
        let group = Param::text(c"group", curve);
        let forms = [
            [group, Param::text(c"encoding", c"explicit")],
            [group, Param::text(c"point-format", c"compressed")],
        ];
        for params in forms {
            let (mine, made) = (Key::generate(&ours, c"EC", &params), Key::generate(&theirs, c"EC", &params));
            let (mine, made) = (mine.unwrap(), made.unwrap());
            assert_eq!(mine.text(c"encoding"), made.text(c"encoding"));
            assert_eq!(mine.text(c"point-format"), made.text(c"point-format"));
            let der = mine.encode(true).unwrap();
            // The form of points is one thing in a key that was made and another in one that was imported.
            if made.text(c"encoding").unwrap() == "explicit" {
                assert_eq!(made.encode(true).unwrap().len(), der.len(), "{curve:?}");
            }
            let other = Key::decode(&theirs, true, &der).unwrap();
            let signature = mine.sign(&ours, Some(c"SHA256"), &[], b"message").unwrap();
            assert!(other.verify(&theirs, Some(c"SHA256"), &[], b"message", &signature).unwrap());
        }
    }
    let unknown = [Param::text(c"group", c"no such curve")];
    let (mine, other) = (Key::generate(&ours, c"EC", &unknown), Key::generate(&theirs, c"EC", &unknown));
    assert_eq!(mine.map(drop), other.map(drop));
    assert!(Key::generate(&ours, c"EC", &[]).is_err());
}

#[test]
fn parts_are_imported_and_wrong_ones_refused() {
    let (ours, theirs) = (preferred(), theirs());
    for curve in OURS {
        let key = generate(&theirs, curve);
        let (mut point, mut scalar) = (key.octets(c"pub").unwrap(), key.big(c"priv", 66).unwrap());
        scalar.reverse();
        let group = Param::text(c"group", curve);
        for library in [&ours, &theirs] {
            let public = [group, Param::octets(c"pub", &mut point)];
            let public = Key::import(library, c"EC", PUBLIC, &public).unwrap();
            assert!(public.sign(library, Some(c"SHA256"), &[], b"message").is_err());
            assert_eq!(public.checks(library)[1], 1);
            let pair = [group, Param::number(c"priv", &mut scalar), Param::octets(c"pub", &mut point)];
            let pair = Key::import(library, c"EC", PAIR, &pair).unwrap();
            let signature = pair.sign(library, Some(c"SHA256"), &[], b"message").unwrap();
            assert!(public.verify(library, Some(c"SHA256"), &[], b"message", &signature).unwrap());
            // A private part alone signs.
            let alone = [group, Param::number(c"priv", &mut scalar)];
            let alone = Key::import(library, c"EC", PAIR, &alone).unwrap();
            let signature = alone.sign(library, Some(c"SHA384"), &[], b"message").unwrap();
            assert!(public.verify(library, Some(c"SHA384"), &[], b"message", &signature).unwrap());
            assert_eq!(alone.verify(library, Some(c"SHA384"), &[], b"message", &signature).ok(), {
                let other = [group, Param::number(c"priv", &mut scalar)];
                let other = Key::import(&theirs, c"EC", PAIR, &other).unwrap();
                other.verify(&theirs, Some(c"SHA384"), &[], b"message", &signature).ok()
            });
        }
        let mut wrong = point.clone();
        *wrong.last_mut().unwrap() ^= 1;
        for bad in [&mut wrong[..], &mut point.clone()[1..], &mut [4; 3], &mut []] {
            let params = [group, Param::octets(c"pub", bad)];
            let mine = Key::import(&ours, c"EC", PUBLIC, &params).map(drop);
            assert_eq!(mine, Key::import(&theirs, c"EC", PUBLIC, &params).map(drop), "{curve:?} {bad:?}");
        }
        for mut bad in [vec![0xff; 66], vec![0; 32], vec![0xff; 80]] {
            let params = [group, Param::number(c"priv", &mut bad)];
            let mine = Key::import(&ours, c"EC", PAIR, &params);
            let other = Key::import(&theirs, c"EC", PAIR, &params);
            assert_eq!(mine.as_ref().map(|_| ()), other.as_ref().map(|_| ()), "{curve:?}");
        }
    }
}

/// A public key is replaced as TLS does it, and the key of the engine with it.
#[test]
fn public_keys_are_replaced() {
    let ours = preferred();
    for curve in CURVES {
        let (one, other) = (generate(&ours, curve), generate(&ours, curve));
        let mut point = one.octets(c"pub").unwrap();
        let params = [Param::text(c"group", curve), Param::octets(c"pub", &mut point)];
        let peer = Key::import(&ours, c"EC", PUBLIC, &params).unwrap();
        let before = other.agree(&ours, &peer).unwrap();
        let encoded = generate(&ours, curve).octets(c"encoded-pub-key").unwrap();
        // SAFETY: a key that lives, and bytes.
        let set = unsafe {
            (libcrypto().EVP_PKEY_set1_encoded_public_key)(peer.0, encoded.as_ptr(), encoded.len())
        };
        assert_eq!(set, 1);
        assert_ne!(other.agree(&ours, &peer).unwrap(), before, "{curve:?}");
        assert_eq!(other.agree(&ours, &one).unwrap(), before);
    }
}

#[test]
fn signatures_verify_on_both_sides() {
    let (ours, theirs) = (preferred(), theirs());
    for curve in CURVES {
        let (mine, other) = both(&ours, &theirs, curve);
        for digest in DIGESTS {
            for len in [0, 1, 64, 1000] {
                let message = message(len);
                let mut signature = mine.sign(&ours, Some(digest), &[], &message).unwrap();
                assert!(other.verify(&theirs, Some(digest), &[], &message, &signature).unwrap());
                assert!(mine.verify(&ours, Some(digest), &[], &message, &signature).unwrap());
                let last = signature.len() - 1;
                signature[last] ^= 1;
                assert!(!mine.verify(&ours, Some(digest), &[], &message, &signature).unwrap());
                let signature = other.sign(&theirs, Some(digest), &[], &message).unwrap();
                assert!(mine.verify(&ours, Some(digest), &[], &message, &signature).unwrap());
                let wrong = mine.verify(&ours, Some(digest), &[], b"another", &signature).unwrap();
                assert!(!wrong, "{curve:?} {digest:?} {len}");
            }
        }
    }
}

/// The encoding, and what both say of everything that is not quite a signature.
#[test]
fn wrong_signatures_are_refused_in_the_same_words() {
    let (ours, theirs) = (preferred(), theirs());
    for curve in [c"P-256", c"P-521"] {
        let (mine, other) = both(&ours, &theirs, curve);
        let digest = message(32);
        let good = other.transform(&theirs, Operation::Sign, &[], &digest).unwrap();
        let mut all = vec![
            vec![],
            good[..good.len() - 1].to_vec(),
            [&good[..], &[0]].concat(),
            vec![0x30, 6, 2, 1, 1, 2, 1, 1],
            vec![0x30, 6, 2, 1, 0, 2, 1, 1],
            vec![0x30, 6, 2, 1, 1, 2, 1, 0],
            vec![0x30, 6, 2, 1, 0x80, 2, 1, 1],
            vec![0x30, 7, 2, 2, 0, 1, 2, 1, 1],
            vec![0x30, 0x81, 6, 2, 1, 1, 2, 1, 1],
            vec![0x31, 6, 2, 1, 1, 2, 1, 1],
            [&[0x30, 103, 2, 97][..], &[1; 97], &[2, 2, 1, 1]].concat(),
            [&[0x30, 75, 2, 70][..], &[0x7f; 70], &[2, 1, 1]].concat(),
        ];
        all.extend((0..good.len()).step_by(5).map(|i| {
            let mut changed = good.clone();
            changed[i] ^= 0x11;
            changed
        }));
        for signature in all {
            let said = mine.verify_directly(&ours, &[], &digest, &signature);
            assert_eq!(said, other.verify_directly(&theirs, &[], &digest, &signature), "{signature:x?}");
            assert_ne!(said.0, 1);
        }
        assert_eq!(mine.verify_directly(&ours, &[], &digest, &good).0, 1);
    }
}

#[test]
fn ready_digests_are_signed() {
    let (ours, theirs) = (preferred(), theirs());
    for curve in CURVES {
        let (mine, other) = both(&ours, &theirs, curve);
        for len in [0, 1, 20, 31, 32, 33, 48, 64, 65, 66, 67, 100] {
            let digest = message(len);
            let signature = mine.transform(&ours, Operation::Sign, &[], &digest).unwrap();
            assert_eq!(other.verify_directly(&theirs, &[], &digest, &signature).0, 1, "{curve:?} {len}");
            let signature = other.transform(&theirs, Operation::Sign, &[], &digest).unwrap();
            assert_eq!(mine.verify_directly(&ours, &[], &digest, &signature).0, 1, "{curve:?} {len}");
        }
        // A digest that is named has its length.
        for name in [c"SHA256", c"RIPEMD160"] {
            let named = [Param::text(c"digest", name)];
            for len in [20, 32, 33] {
                let digest = message(len);
                let signed = mine.transform(&ours, Operation::Sign, &named, &digest);
                let expected = other.transform(&theirs, Operation::Sign, &named, &digest);
                assert_eq!(signed.as_ref().map(|_| ()), expected.as_ref().map(|_| ()), "{name:?} {len}");
                if let Ok(signature) = signed {
                    assert_eq!(other.verify_directly(&theirs, &named, &digest, &signature).0, 1);
                }
            }
        }
    }
}

/// Nonces of RFC 6979, which OpenSSL has from 3.2 on. The vectors are those of its appendix A.2.
#[test]
fn deterministic_signatures_are_the_same() {
    if version() < (3, 2) {
        return;
    }
    let (ours, theirs) = (preferred(), theirs());
    for curve in CURVES {
        let (mine, other) = both(&ours, &theirs, curve);
        for digest in DIGESTS {
            let mut one = 1;
            let params = [Param::uint(c"nonce-type", &mut one)];
            let signature = mine.sign(&ours, Some(digest), &params, b"sample");
            assert_eq!(
                signature,
                other.sign(&theirs, Some(digest), &params, b"sample"),
                "{curve:?} {digest:?}"
            );
            let plain = mine.sign(&ours, Some(digest), &[], b"sample").unwrap();
            assert_ne!(plain, mine.sign(&ours, Some(digest), &[], b"sample").unwrap());
        }
    }
}

#[test]
fn messages_come_in_pieces_and_contexts_are_copied() {
    let (ours, theirs) = (preferred(), theirs());
    for curve in [c"P-256", c"P-384", c"secp256k1"] {
        let (mine, other) = both(&ours, &theirs, curve);
        for digest in [c"SHA256", c"RIPEMD160"] {
            let whole = message(1000);
            let pieces: Vec<&[u8]> = whole.chunks(77).collect();
            let [first, all] = mine.sign_pieces(&ours, digest, &[], &pieces, 5).unwrap();
            let verified = |message: &[u8], signature: &[u8]| {
                other.verify(&theirs, Some(digest), &[], message, signature).unwrap()
            };
            assert!(verified(&whole[..5 * 77], &first), "{curve:?} {digest:?}");
            assert!(verified(&whole, &all), "{curve:?} {digest:?}");
        }
    }
}

#[test]
fn contexts_tell_what_the_default_providers_tell() {
    let (ours, theirs) = (preferred(), theirs());
    let (mine, other) = both(&ours, &theirs, c"P-256");
    for digest in [c"SHA256", c"SHA3-512"] {
        let told = [(&mine, &ours), (&other, &theirs)].map(|(key, library)| {
            let context = pkeys::Signing::new(key, library, digest).unwrap();
            [c"algorithm-id"].map(|name| context.octets(name))
        });
        assert_eq!(told[0], told[1]);
        assert!(told[0][0].as_ref().is_ok_and(|id| id.len() > 8));
    }
    for digest in [c"SHAKE128", c"no such digest"] {
        let refused = [(&mine, &ours), (&other, &theirs)]
            .map(|(key, library)| pkeys::Signing::new(key, library, digest).map(drop));
        assert_eq!(refused[0], refused[1], "{digest:?}");
    }
}

#[test]
fn agreements_are_the_default_providers() {
    let (ours, theirs) = (preferred(), theirs());
    for curve in CURVES {
        let ((mine, other), (peer, their_peer)) = (both(&ours, &theirs, curve), both(&ours, &theirs, curve));
        let secret = mine.agree(&ours, &peer).unwrap();
        assert_eq!(secret, other.agree(&theirs, &their_peer).unwrap(), "{curve:?}");
        assert_eq!(secret, peer.agree(&ours, &mine).unwrap());
        let mut len = 40usize;
        let mut more = *b"user keying material";
        let params = [
            Param::text(c"kdf-type", c"X963KDF"),
            Param::text(c"kdf-digest", c"SHA256"),
            Param::size(c"kdf-outlen", &mut len),
            Param::octets(c"kdf-ukm", &mut more),
        ];
        let derived = mine.agree_with(&ours, &peer, &params, 64).unwrap();
        assert_eq!(derived.len(), 40);
        assert_eq!(derived, other.agree_with(&theirs, &their_peer, &params, 64).unwrap(), "{curve:?}");
        // The cofactor is one, so its mode changes nothing.
        for mut mode in [0, 1] {
            let cofactor = [Param::int(c"ecdh-cofactor-mode", &mut mode)];
            let agreed = mine.agree_with(&ours, &peer, &cofactor, 256).unwrap();
            assert_eq!(agreed, mine.agree(&ours, &peer).unwrap(), "{curve:?}");
        }
        // A short place has the front of the secret.
        let short = mine.agree_with(&ours, &peer, &[], 20);
        assert_eq!(short, other.agree_with(&theirs, &their_peer, &[], 20), "{curve:?}");
        // A peer of another curve.
        let (foreign, their_foreign) =
            both(&ours, &theirs, if curve == c"P-256" { c"P-384" } else { c"P-256" });
        let refused = mine.agree(&ours, &foreign);
        assert_eq!(refused, other.agree(&theirs, &their_foreign));
        assert!(refused.is_err());
    }
}

/// Encapsulation is the default provider's alone, and OpenSSL brings our keys to it.
#[test]
fn keys_encapsulate_there() {
    let ours = preferred();
    let mut bits = 1024usize;
    let rsa = Key::generate(&ours, c"RSA", &[Param::size(c"bits", &mut bits)]).unwrap();
    let mut keys = vec![(rsa, c"RSASVE")];
    if version() >= (3, 2) {
        keys.push((generate(&ours, c"P-256"), c"DHKEM"));
    }
    for (key, operation) in keys {
        let libcrypto = libcrypto();
        let (seal, open) = (Context::of(&ours, &key).unwrap(), Context::of(&ours, &key).unwrap());
        let (mut sealed, mut sealed_len, mut secret, mut len) = ([0; 256], 256, [0; 256], 256);
        let (mut opened, mut opened_len) = ([0; 256], 256);
        // SAFETY: contexts that live, and places as long as they say.
        unsafe {
            done((libcrypto.EVP_PKEY_encapsulate_init)(seal.0, std::ptr::null())).unwrap();
            done((libcrypto.EVP_PKEY_CTX_set_kem_op)(seal.0, operation.as_ptr())).unwrap();
            let (at, secret_at) = (sealed.as_mut_ptr(), secret.as_mut_ptr());
            done((libcrypto.EVP_PKEY_encapsulate)(seal.0, at, &mut sealed_len, secret_at, &mut len)).unwrap();
            done((libcrypto.EVP_PKEY_decapsulate_init)(open.0, std::ptr::null())).unwrap();
            done((libcrypto.EVP_PKEY_CTX_set_kem_op)(open.0, operation.as_ptr())).unwrap();
            let (at, sealed_at) = (opened.as_mut_ptr(), sealed.as_ptr());
            done((libcrypto.EVP_PKEY_decapsulate)(open.0, at, &mut opened_len, sealed_at, sealed_len))
                .unwrap();
        }
        assert_eq!((&opened[..opened_len], opened_len > 0), (&secret[..len], true), "{operation:?}");
    }
}

/// A key that is made takes its group from another one, and RSA, which has none, ignores it.
#[test]
fn keys_are_made_like_others() {
    let ours = preferred();
    for curve in [c"P-384", c"secp256k1"] {
        let key = generate(&ours, curve);
        let made = key.generate_like(&ours).unwrap();
        assert_eq!(made.text(c"group"), key.text(c"group"));
        assert_eq!(made.provider(), "millstream");
        assert_ne!(made.octets(c"pub"), key.octets(c"pub"));
    }
    let mut bits = 1024usize;
    let rsa = Key::generate(&ours, c"RSA", &[Param::size(c"bits", &mut bits)]).unwrap();
    assert_eq!(rsa.generate_like(&ours).unwrap().number(c"bits"), Ok(2048));
}

/// libssl has the groups of which the provider tells that it gets the keys from: all that the default provider has with these keys.
#[test]
fn groups_of_tls_are_told() {
    unsafe extern "C" fn collect(params: *const Param, all: *mut c_void) -> c_int {
        // SAFETY: a terminated array whose values are texts and numbers, and the list that the caller gave.
        unsafe {
            let (mut name, mut keys, mut at) = (String::new(), String::new(), params);
            while !(*at).key.is_null() {
                let place = match CStr::from_ptr((*at).key).to_bytes() {
                    b"tls-group-name" => &mut name,
                    b"tls-group-alg" => &mut keys,
                    _ => &mut String::new(),
                };
                if (*at).data_type == 4 {
                    *place = CStr::from_ptr((*at).data.cast()).to_string_lossy().into_owned();
                }
                at = at.add(1);
            }
            (*all.cast::<Vec<(String, String)>>()).push((name, keys));
        }
        1
    }
    let library = preferred();
    let [mut default, mut ours] = [library.providers[0], library.providers[1]].map(|provider| {
        let mut all: Vec<(String, String)> = Vec::new();
        let (name, list) = (c"TLS-GROUP".as_ptr(), (&raw mut all).cast());
        // SAFETY: a provider that is loaded, and a function that goes with its argument.
        done(unsafe { (libcrypto().OSSL_PROVIDER_get_capabilities)(provider, name, collect, list) }).unwrap();
        all
    });
    default.retain(|(_, keys)| ["EC", "X25519"].contains(&&**keys));
    let kems = ours.split_off(default.len());
    assert_eq!(ours, default);
    let named = |name: &str, keys: &str| (name.to_owned(), keys.to_owned());
    let hybrids = ["X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"].map(|name| named(name, name));
    let alone = ["512", "768", "1024"].map(|set| named(&format!("MLKEM{set}"), &format!("ML-KEM-{set}")));
    assert_eq!(kems, [hybrids, alone].concat());
    assert!(
        ours.iter().any(|(name, _)| name == "secp256r1") && ours.iter().any(|(name, _)| name == "x25519")
    );
}

/// The engines do what is theirs: the tally of a run of the tests above tells.
#[test]
fn the_engines_are_used() {
    let counts = pkeys::counted(&["signatures_verify_on_both_sides", "agreements_are_the_default_providers"]);
    // A signature and two that verify, each with six digests of ours and four lengths.
    for name in ["ecdsa-p256", "ecdsa-p384", "ecdsa-p521"] {
        assert_eq!(counts(name), 3 * 6 * 4, "{name}");
    }
    // One agreement on the other curves is quicker in OpenSSL where the engine has no AVX-512 IFMA. Two pairs of keys agree, and
    // each twice more in both modes of the cofactor.
    const AGREEMENTS: u64 = 6;
    let ifma = millstream::FeatureSet::parse("adx,avx512vl,avx512ifma");
    let others = if millstream::features().unwrap().contains(ifma) { AGREEMENTS } else { 0 };
    assert_eq!((counts("ecdh-p256"), counts("ecdh-p384"), counts("ecdh-p521")), (others, AGREEMENTS, others));
}
