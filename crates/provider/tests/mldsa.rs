//! ML-DSA beside the default provider's, where that has it (from OpenSSL 3.5 on), and by published values.
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::{CStr, c_int};
use std::ptr;

use millstream::Features;
use millstream::sha3::{Shake, Xof};
use pkeys::{Key, PAIR, Signing, are_the_same, preferred, theirs};
use support::{Library, Param, libcrypto, refused, version};

/// The parameter sets: names, the bytes of public keys, private keys and signatures, bits of security, and NIST's category.
const SETS: [(&CStr, [usize; 3], [i32; 2]); 3] = [
    (c"ML-DSA-44", [1312, 2560, 2420], [128, 2]),
    (c"ML-DSA-65", [1952, 4032, 3309], [192, 3]),
    (c"ML-DSA-87", [2592, 4896, 4627], [256, 5]),
];

/// Tells whether the default provider has ML-DSA.
fn default_has_it() -> bool {
    version() >= (3, 5)
}

/// The libraries of both sides: the default provider's is there where it has ML-DSA.
fn sides() -> Vec<Library> {
    if default_has_it() { vec![preferred(), theirs()] } else { vec![preferred()] }
}

fn bytes(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(37).wrapping_add(seed)).collect()
}

fn of_seed(library: &Library, name: &CStr, seed: &[u8]) -> Key {
    let mut seed = seed.to_vec();
    Key::import(library, name, PAIR, &[Param::octets(c"seed", &mut seed)]).unwrap()
}

/// The parameters of a signature, which refer to values.
#[derive(Default)]
struct Values {
    context: Option<Vec<u8>>,
    entropy: Option<Vec<u8>>,
    deterministic: Option<c_int>,
    encoding: Option<c_int>,
    mu: Option<c_int>,
}

impl Values {
    fn deterministic() -> Self {
        Values { deterministic: Some(1), ..Values::default() }
    }

    fn params(&mut self) -> Vec<Param> {
        let context = self.context.as_mut().map(|bytes| Param::octets(c"context-string", bytes));
        let entropy = self.entropy.as_mut().map(|bytes| Param::octets(c"test-entropy", bytes));
        let deterministic = self.deterministic.as_mut().map(|value| Param::int(c"deterministic", value));
        let encoding = self.encoding.as_mut().map(|value| Param::int(c"message-encoding", value));
        let mu = self.mu.as_mut().map(|value| Param::int(c"mu", value));
        [context, entropy, deterministic, encoding, mu].into_iter().flatten().collect()
    }
}

#[test]
fn keys_tell_what_the_default_providers_tell() {
    let (ours, theirs) = (preferred(), theirs());
    for (name, [public, private, signature], [security, category]) in SETS {
        let mine = of_seed(&ours, name, &bytes(3, 32));
        assert_eq!(mine.provider(), "millstream");
        let lengths = [c"pub", c"priv", c"seed"].map(|part| mine.octets(part).unwrap().len());
        assert_eq!(lengths, [public, private, 32], "{name:?}");
        let numbers =
            [c"bits", c"security-bits", c"security-category", c"max-size"].map(|of| mine.number(of).unwrap());
        assert_eq!(numbers, [8 * public as i32, security, category, signature as i32], "{name:?}");
        assert_eq!(mine.text(c"mandatory-digest").unwrap(), "");
        if !default_has_it() {
            continue;
        }
        let other = of_seed(&theirs, name, &bytes(3, 32));
        are_the_same(&ours, &mine, &other, name, &[c"pub", c"priv", c"seed"]);
    }
}

#[test]
fn keys_are_made_copied_compared_and_checked() {
    let library = preferred();
    for (name, [public_len, private_len, _], _) in SETS {
        let (one, other) =
            (Key::generate(&library, name, &[]).unwrap(), Key::generate(&library, name, &[]).unwrap());
        let (public, private) = (one.octets(c"pub").unwrap(), one.octets(c"priv").unwrap());
        assert_eq!((public.len(), private.len()), (public_len, private_len), "{name:?}");
        assert_ne!(private, other.octets(c"priv").unwrap());
        let again = Key::private(&library, name, &private).unwrap();
        assert!(again.octets(c"seed").unwrap().is_empty(), "an expanded key has no seed");
        let only = Key::public(&library, name, &public).unwrap();
        let mut seed = one.octets(c"seed").unwrap();
        let made = Key::generate(&library, name, &[Param::octets(c"seed", &mut seed)]).unwrap();
        // SAFETY: keys that live.
        unsafe {
            let eq = libcrypto().EVP_PKEY_eq;
            assert_eq!((eq(one.0, again.0), eq(one.0, only.0), eq(one.0, other.0)), (1, 1, 0), "{name:?}");
            assert_eq!(eq(one.0, made.0), 1, "{name:?}");
            let copy = Key((libcrypto().EVP_PKEY_dup)(one.0));
            assert_eq!(copy.octets(c"priv").unwrap(), private);
        }
        refused();
        let check = |key: &Key| key.checks(&library).map(|said| said == 1);
        assert_eq!(check(&one)[..3], [true; 3], "{name:?}");
        assert_eq!(check(&only)[..3], [false, true, false], "{name:?}");
    }
}

/// Each side verifies what the other one has signed, of keys that it has made.
#[test]
fn signatures_are_the_default_providers() {
    let sides = sides();
    for (name, [_, _, signature_len], _) in SETS {
        for signer in &sides {
            let key = Key::generate(signer, name, &[]).unwrap();
            for (context_len, message_len) in [(0, 0), (0, 1000), (1, 32), (255, 33)] {
                let mut values = Values { context: Some(bytes(5, context_len)), ..Values::default() };
                let (params, message) = (values.params(), bytes(7, message_len));
                let signature = key.sign(signer, None, &params, &message).unwrap();
                assert_eq!(signature.len(), signature_len);
                assert_ne!(signature, key.sign(signer, None, &params, &message).unwrap(), "random bytes");
                for verifier in &sides {
                    let public = Key::public(verifier, name, &key.octets(c"pub").unwrap()).unwrap();
                    let verify = |params: &[Param], message: &[u8], signature: &[u8]| {
                        public.verify(verifier, None, params, message, signature).unwrap()
                    };
                    assert!(verify(&params, &message, &signature), "{name:?}");
                    let mut changed = signature.clone();
                    changed[signature_len / 2] ^= 1;
                    assert!(!verify(&params, &message, &changed), "{name:?}: another signature");
                    assert!(!verify(&params, &[&message[..], &[0]].concat(), &signature), "{name:?}");
                    let mut other = Values { context: Some(bytes(6, context_len + 1)), ..Values::default() };
                    let shorter = other.context.as_ref().is_some_and(|context| context.len() < 256);
                    assert!(!shorter || !verify(&other.params(), &message, &signature), "another context");
                }
            }
        }
    }
}

/// The same parameters give the same signatures on both sides, by every way in.
#[test]
fn everything_is_determined_by_what_is_given() {
    let sides = sides();
    for (name, _, _) in SETS {
        let message = bytes(9, 300);
        let made: Vec<_> = sides
            .iter()
            .map(|library| {
                let key = of_seed(library, name, &bytes(7, 32));
                let sign = |mut values: Values, message: &[u8]| {
                    key.sign(library, None, &values.params(), message).unwrap()
                };
                let context = || Some(bytes(1, 20));
                let whole = sign(Values { context: context(), ..Values::deterministic() }, &message);
                let given = Values { entropy: Some(vec![0; 32]), context: context(), ..Values::default() };
                assert_eq!(sign(given, &message), whole, "no random bytes are zeros");
                // The standard encodes the message so before it is signed.
                let encoded = [&[0, 20][..], &bytes(1, 20), &message].concat();
                let raw = Values { encoding: Some(0), ..Values::deterministic() };
                assert_eq!(sign(raw, &encoded), whole, "{name:?}: encoded");
                let mu = shake256(&[&shake256(&key.octets(c"pub").unwrap()), &encoded[..]].concat());
                let of_mu = Values { mu: Some(1), ..Values::deterministic() };
                assert_eq!(sign(of_mu, &mu), whole, "{name:?}: mu");
                let other = Values { entropy: Some(bytes(2, 32)), context: context(), ..Values::default() };
                let other = sign(other, &message);
                assert_ne!(other, whole);
                let mut verified = Values { mu: Some(1), ..Values::default() };
                assert!(key.verify(library, None, &verified.params(), &mu, &other).unwrap());
                verified = Values { encoding: Some(0), ..Values::default() };
                assert!(key.verify(library, None, &verified.params(), &encoded, &other).unwrap());
                (whole, other)
            })
            .collect();
        assert!(made.iter().all(|signatures| *signatures == made[0]), "{name:?}");
    }
}

fn shake256(bytes: &[u8]) -> [u8; 64] {
    let mut shake = Shake::new(Features::hardware(), Xof::Shake256);
    shake.update(bytes);
    let mut out = [0; 64];
    shake.finish().squeeze(&mut out);
    out
}

/// A message that comes in pieces, which the default provider takes only by functions that OpenSSL has from version 3.4 on.
#[test]
fn pieces_are_the_message() {
    let library = preferred();
    for (name, ..) in SETS {
        let key = of_seed(&library, name, &bytes(7, 32));
        let message = bytes(4, 1000);
        let mut values = Values { context: Some(bytes(1, 9)), ..Values::deterministic() };
        let params = values.params();
        let whole = key.sign(&library, None, &params, &message).unwrap();
        let half = key.sign(&library, None, &params, &message[..400]).unwrap();
        let pieces: Vec<&[u8]> = message.chunks(100).collect();
        assert_eq!(key.sign_pieces(&library, None, &params, &pieces, 4).unwrap(), [half, whole.clone()]);
        let signing = Signing::new(&key, &library, None).unwrap();
        signing.set(&params).unwrap();
        assert!(signing.finish(8192).unwrap() == key.sign(&library, None, &params, &[]).unwrap());
        assert_eq!(verify_pieces(&library, &key, &params, &pieces, &whole), 1);
        assert_eq!(verify_pieces(&library, &key, &params, &pieces[1..], &whole), 0);
        // A representative is no message that could come in pieces.
        let signing = Signing::new(&key, &library, None).unwrap();
        let mut mu = Values { mu: Some(1), ..Values::default() };
        signing.set(&mu.params()).unwrap();
        assert!(signing.update(&[0; 32]).is_err());
    }
}

fn verify_pieces(
    library: &Library,
    key: &Key,
    params: &[Param],
    pieces: &[&[u8]],
    signature: &[u8],
) -> c_int {
    let (libcrypto, none) = (libcrypto(), ptr::null());
    // SAFETY: a context that lives, pieces as long as they say, and parameters with an end.
    let said = unsafe {
        let context = (libcrypto.EVP_MD_CTX_new)();
        let (no_context, params) = (ptr::null_mut(), support::ended(params));
        let begun = (libcrypto.EVP_DigestVerifyInit_ex)(
            context,
            no_context,
            none,
            library.context,
            none,
            key.0,
            params.as_ptr(),
        );
        assert_eq!(begun, 1);
        for piece in pieces {
            assert_eq!((libcrypto.EVP_DigestVerifyUpdate)(context, piece.as_ptr(), piece.len()), 1);
        }
        let said = (libcrypto.EVP_DigestVerifyFinal)(context, signature.as_ptr(), signature.len());
        (libcrypto.EVP_MD_CTX_free)(context);
        said
    };
    refused();
    said
}

#[test]
fn algorithms_have_their_identifiers() {
    for (library, i) in sides().iter().flat_map(|library| [(library, 0), (library, 1), (library, 2)]) {
        let key = of_seed(library, SETS[i].0, &bytes(1, 32));
        let identifier = Signing::new(&key, library, None).unwrap().octets(c"algorithm-id").unwrap();
        // 2.16.840.1.101.3.4.3.17 and the two behind it, without parameters (RFC 9881 §2).
        assert_eq!(identifier, [0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 17 + i as u8]);
    }
}

#[test]
fn what_is_wrong_is_refused() {
    for library in sides() {
        for (name, [public_len, private_len, signature_len], _) in SETS {
            let key = of_seed(&library, name, &bytes(1, 32));
            let (public, private) =
                (key.octets(c"pub").unwrap().repeat(2), key.octets(c"priv").unwrap().repeat(2));
            for len in [1, 32, public_len - 1, public_len + 1] {
                assert!(Key::public(&library, name, &public[..len]).is_err(), "{name:?} {len}");
            }
            for len in [1, 32, private_len - 1, private_len + 1] {
                assert!(Key::private(&library, name, &private[..len]).is_err(), "{name:?} {len}");
            }
            for len in [1, 31, 33] {
                let mut seed = bytes(1, len);
                let params = [Param::octets(c"seed", &mut seed)];
                assert!(Key::import(&library, name, PAIR, &params).is_err(), "a seed of {len} bytes");
                assert!(Key::generate(&library, name, &params).is_err(), "a seed of {len} bytes");
            }
            let sign =
                |mut values: Values, message: &[u8]| key.sign(&library, None, &values.params(), message);
            assert!(sign(Values { context: Some(vec![1; 256]), ..Values::default() }, b"").is_err());
            for len in [1, 31, 33] {
                assert!(sign(Values { entropy: Some(vec![1; len]), ..Values::default() }, b"").is_err());
            }
            for len in [0, 32, 63, 65] {
                let values = Values { mu: Some(1), ..Values::default() };
                assert!(sign(values, &vec![1; len]).is_err(), "mu of {len} bytes");
            }
            assert!(key.sign(&library, Some(c"SHA256"), &[], b"message").is_err(), "a digest");
            let signature = sign(Values::default(), b"message").unwrap().repeat(2);
            for len in [0, 1, signature_len - 1, signature_len + 1] {
                let verified = key.verify(&library, None, &[], b"message", &signature[..len]);
                assert!(!verified.unwrap_or(false), "{name:?} {len}");
            }
            let only = Key::public(&library, name, &public[..public_len]).unwrap();
            assert!(only.sign(&library, None, &[], b"message").is_err(), "there is no private part");
            let signing = Signing::new(&key, &library, None).unwrap();
            assert!(signing.finish(signature_len - 1).is_err(), "there is no room");
        }
    }
}

/// An expanded key in which a part does not fit the others.
#[test]
fn keys_that_are_wrong_inside_are_refused() {
    let library = preferred();
    for (name, [_, private_len, _], _) in SETS {
        let [one, other] = [1, 2].map(|seed| of_seed(&library, name, &bytes(seed, 32)));
        let [ours, theirs] = [&one, &other].map(|key| key.octets(c"priv").unwrap());
        // The hash of the public key, a coefficient of s1 beyond its bound, and the low bits of t (FIPS 204 §7.2, algorithm 24).
        for at in [64, 128, private_len - 1] {
            let mut wrong = ours.clone();
            wrong[at] ^= 0xff;
            assert!(Key::private(&library, name, &wrong).is_err(), "{name:?}, byte {at}");
        }
        let (mut seed, mut private, mut public) =
            (bytes(1, 32), theirs.clone(), other.octets(c"pub").unwrap());
        let seeded = Param::octets(c"seed", &mut seed);
        let (private, public) = (Param::octets(c"priv", &mut private), Param::octets(c"pub", &mut public));
        assert!(Key::import(&library, name, PAIR, &[seeded, private]).is_err(), "{name:?}");
        assert!(Key::import(&library, name, PAIR, &[seeded, public]).is_err(), "{name:?}");
        assert!(Key::import(&library, name, PAIR, &[private, public]).is_ok(), "{name:?}");
        assert!(Key::import(&library, name, PAIR, &[]).is_err(), "{name:?}");
    }
}

/// The accumulated vectors of C2SP CCTV, a hundred rounds, whose digests Go's library has published.
#[test]
fn accumulated_vectors() {
    const DIGESTS: [&str; 3] = [
        "d51148e1f9f4fa1a723a6cf42e25f2a99eb5c1b378b3d2dbbd561b1203beeae4",
        "8358a1843220194417cadbc2651295cd8fc65125b5a5c1a239a16dc8b57ca199",
        "8c3ad714777622b8f21ce31bb35f71394f23bc0fcf3c78ace5d608990f3b061b",
    ];
    let library = preferred();
    for ((name, ..), expected) in SETS.into_iter().zip(DIGESTS) {
        let features = Features::hardware();
        let mut source = Shake::new(features, Xof::Shake128).finish();
        let mut sum = Shake::new(features, Xof::Shake128);
        for _ in 0..100 {
            let mut seed = [0; 32];
            source.squeeze(&mut seed);
            let key = of_seed(&library, name, &seed);
            let signature = key.sign(&library, None, &Values::deterministic().params(), b"").unwrap();
            assert!(key.verify(&library, None, &[], b"", &signature).unwrap());
            [key.octets(c"pub").unwrap(), signature].iter().for_each(|part| sum.update(part));
        }
        let mut digest = [0; 32];
        sum.finish().squeeze(&mut digest);
        assert_eq!(digest.map(|byte| format!("{byte:02x}")).concat(), expected, "{name:?}");
    }
}

/// The tally of a run of a test above tells that these keys were used.
#[test]
fn the_engines_are_used() {
    let counts = pkeys::counted(&["accumulated_vectors"]);
    for name in ["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] {
        assert_eq!(counts(name), 200, "{name}");
    }
}
