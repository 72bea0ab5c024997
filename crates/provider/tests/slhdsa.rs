//! SLH-DSA beside the default provider's, where that has it (from OpenSSL 3.5 on).
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::{CStr, c_int};

use pkeys::{Key, PAIR, Signing, are_the_same, preferred, theirs};
use support::{Library, Param, libcrypto, refused, version};

/// The parameter sets, in the order of their object identifiers: names, the standard's n, the bytes of signatures, and NIST's category.
const SETS: [(&CStr, usize, usize, i32); 12] = [
    (c"SLH-DSA-SHA2-128s", 16, 7856, 1),
    (c"SLH-DSA-SHA2-128f", 16, 17_088, 1),
    (c"SLH-DSA-SHA2-192s", 24, 16_224, 3),
    (c"SLH-DSA-SHA2-192f", 24, 35_664, 3),
    (c"SLH-DSA-SHA2-256s", 32, 29_792, 5),
    (c"SLH-DSA-SHA2-256f", 32, 49_856, 5),
    (c"SLH-DSA-SHAKE-128s", 16, 7856, 1),
    (c"SLH-DSA-SHAKE-128f", 16, 17_088, 1),
    (c"SLH-DSA-SHAKE-192s", 24, 16_224, 3),
    (c"SLH-DSA-SHAKE-192f", 24, 35_664, 3),
    (c"SLH-DSA-SHAKE-256s", 32, 29_792, 5),
    (c"SLH-DSA-SHAKE-256f", 32, 49_856, 5),
];

/// The sets that are signed with: of each hash and each level one, of which one is slow.
const SIGNED: [usize; 4] = [0, 3, 7, 11];

/// Tells whether the default provider has SLH-DSA.
fn default_has_it() -> bool {
    version() >= (3, 5)
}

/// The libraries of both sides: the default provider's is there where it has SLH-DSA.
fn sides() -> Vec<Library> {
    if default_has_it() { vec![preferred(), theirs()] } else { vec![preferred()] }
}

fn bytes(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(37).wrapping_add(seed)).collect()
}

/// Makes a key of its three seeds.
fn of_seeds(library: &Library, name: &CStr, n: usize, seed: u8) -> Key {
    Key::generate(library, name, &[Param::octets(c"seed", &mut bytes(seed, 3 * n))]).unwrap()
}

/// The parameters of a signature, which refer to values.
#[derive(Default)]
struct Values {
    context: Option<Vec<u8>>,
    entropy: Option<Vec<u8>>,
    deterministic: Option<c_int>,
    encoding: Option<c_int>,
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
        [context, entropy, deterministic, encoding].into_iter().flatten().collect()
    }
}

#[test]
fn keys_tell_what_the_default_providers_tell() {
    let (ours, theirs) = (preferred(), theirs());
    for (name, n, signature, category) in SETS {
        let mine = of_seeds(&ours, name, n, 3);
        assert_eq!(mine.provider(), "millstream");
        assert_eq!(
            [c"pub", c"priv"].map(|part| mine.octets(part).unwrap().len()),
            [2 * n, 4 * n],
            "{name:?}"
        );
        let numbers =
            [c"bits", c"security-bits", c"security-category", c"max-size"].map(|of| mine.number(of).unwrap());
        assert_eq!(numbers, [16 * n as i32, 8 * n as i32, category, signature as i32], "{name:?}");
        assert_eq!(mine.text(c"mandatory-digest").unwrap(), "");
        if !default_has_it() {
            continue;
        }
        let other = of_seeds(&theirs, name, n, 3);
        are_the_same(&ours, &mine, &other, name, &[c"pub", c"priv"]);
    }
}

#[test]
fn keys_are_made_copied_compared_and_checked() {
    let library = preferred();
    for i in [1, 9] {
        let (name, n, ..) = SETS[i];
        let (one, other) =
            (Key::generate(&library, name, &[]).unwrap(), Key::generate(&library, name, &[]).unwrap());
        let (public, private) = (one.octets(c"pub").unwrap(), one.octets(c"priv").unwrap());
        assert_ne!(private, other.octets(c"priv").unwrap());
        let again = Key::private(&library, name, &private).unwrap();
        let only = Key::public(&library, name, &public).unwrap();
        // The two secret seeds, beside the public key.
        let (mut half, mut rest) = (private[..2 * n].to_vec(), public.clone());
        let params = [Param::octets(c"priv", &mut half), Param::octets(c"pub", &mut rest)];
        let joined = Key::import(&library, name, PAIR, &params).unwrap();
        // SAFETY: keys that live.
        unsafe {
            let eq = libcrypto().EVP_PKEY_eq;
            assert_eq!((eq(one.0, again.0), eq(one.0, only.0), eq(one.0, other.0)), (1, 1, 0), "{name:?}");
            assert_eq!(eq(one.0, joined.0), 1, "{name:?}");
            let copy = Key((libcrypto().EVP_PKEY_dup)(one.0));
            assert_eq!(copy.octets(c"priv").unwrap(), private);
        }
        refused();
        let check = |key: &Key| key.checks(&library).map(|said| said == 1);
        assert_eq!(check(&one)[..3], [true; 3], "{name:?}");
        assert_eq!(check(&only)[..3], [false, true, false], "{name:?}");
    }
}

/// The same parameters give the same signatures on both sides, and each side verifies what the other one has signed.
#[test]
fn signatures_are_the_default_providers() {
    let sides = sides();
    for (name, n, signature_len, _) in SIGNED.map(|i| SETS[i]) {
        let message = bytes(9, 300);
        let context = || Some(bytes(1, 20));
        let mut made = vec![];
        for library in &sides {
            let key = of_seeds(library, name, n, 7);
            let mut values = Values { context: context(), ..Values::deterministic() };
            made.push(key.sign(library, None, &values.params(), &message).unwrap());
        }
        assert!(made.iter().all(|signature| *signature == made[0]), "{name:?}");
        assert_eq!(made[0].len(), signature_len);
        for library in &sides {
            let key = of_seeds(library, name, n, 7);
            let only = Key::public(library, name, &key.octets(c"pub").unwrap()).unwrap();
            let verify = |mut values: Values, message: &[u8], signature: &[u8]| {
                only.verify(library, None, &values.params(), message, signature).unwrap()
            };
            let within = || Values { context: context(), ..Values::default() };
            assert!(verify(within(), &message, &made[0]), "{name:?}");
            let mut changed = made[0].clone();
            changed[signature_len / 2] ^= 1;
            assert!(!verify(within(), &message, &changed), "{name:?}: another signature");
            assert!(!verify(within(), &message[1..], &made[0]), "{name:?}: another message");
            assert!(!verify(Values::default(), &message, &made[0]), "{name:?}: no context");
            // The standard encodes the message so before it is signed.
            let encoded = [&[0, 20][..], &bytes(1, 20), &message].concat();
            assert!(
                verify(Values { encoding: Some(0), ..Values::default() }, &encoded, &made[0]),
                "{name:?}"
            );
        }
    }
}

/// Random bytes hedge, those of a caller decide, and there is no other difference between what is signed in a context or encoded before.
#[test]
fn everything_is_determined_by_what_is_given() {
    let library = preferred();
    let (name, n, ..) = SETS[1];
    let key = of_seeds(&library, name, n, 7);
    let sign =
        |mut values: Values, message: &[u8]| key.sign(&library, None, &values.params(), message).unwrap();
    let whole = sign(Values { context: Some(bytes(1, 20)), ..Values::deterministic() }, b"a message");
    // Without random bytes the seed of the public key stands in their place: FIPS 205 §9.2, algorithm 19, line 2.
    let of_public = Some(key.octets(c"pub").unwrap()[..n].to_vec());
    let given = Values { entropy: of_public, context: Some(bytes(1, 20)), ..Values::default() };
    assert!(sign(given, b"a message") == whole);
    let encoded = [&[0, 20][..], &bytes(1, 20), b"a message"].concat();
    assert!(sign(Values { encoding: Some(0), ..Values::deterministic() }, &encoded) == whole);
    let hedged = [(); 2].map(|()| sign(Values::default(), b"a message"));
    assert!(hedged[0] != hedged[1] && key.verify(&library, None, &[], b"a message", &hedged[1]).unwrap());
}

/// A message that comes in pieces, which the default provider does not take.
#[test]
fn pieces_are_the_message() {
    let library = preferred();
    let (name, n, ..) = SETS[7];
    let key = of_seeds(&library, name, n, 7);
    let message = bytes(4, 1000);
    let mut values = Values { context: Some(bytes(1, 9)), ..Values::deterministic() };
    let params = values.params();
    let [half, whole] =
        [&message[..400], &message].map(|part| key.sign(&library, None, &params, part).unwrap());
    let pieces: Vec<&[u8]> = message.chunks(100).collect();
    assert!(key.sign_pieces(&library, None, &params, &pieces, 4).unwrap() == [half, whole]);
}

#[test]
fn algorithms_have_their_identifiers() {
    for library in sides() {
        for (i, (name, n, ..)) in (20..).zip(SETS).filter(|(_, (name, ..))| name.to_bytes().ends_with(b"f")) {
            let key = of_seeds(&library, name, n, 1);
            let identifier = Signing::new(&key, &library, None).unwrap().octets(c"algorithm-id").unwrap();
            // 2.16.840.1.101.3.4.3.20 and the eleven behind it, without parameters (RFC 9909 §3).
            assert_eq!(identifier, [0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, i], "{name:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_refused() {
    for library in sides() {
        let (name, n, signature_len, _) = SETS[1];
        let key = of_seeds(&library, name, n, 1);
        let (public, private) =
            (key.octets(c"pub").unwrap().repeat(2), key.octets(c"priv").unwrap().repeat(2));
        for len in [1, n, 2 * n - 1, 2 * n + 1] {
            assert!(Key::public(&library, name, &public[..len]).is_err(), "{len}");
        }
        for len in [1, n, 2 * n, 4 * n - 1, 4 * n + 1] {
            assert!(Key::private(&library, name, &private[..len]).is_err(), "{len}");
        }
        for len in [1, 3 * n - 1, 3 * n + 1] {
            let mut seed = bytes(1, len);
            let params = [Param::octets(c"seed", &mut seed)];
            assert!(Key::generate(&library, name, &params).is_err(), "a seed of {len} bytes");
        }
        let mut seed = bytes(1, 3 * n);
        assert!(Key::import(&library, name, PAIR, &[Param::octets(c"seed", &mut seed)]).is_err());
        let sign = |mut values: Values| key.sign(&library, None, &values.params(), b"message");
        assert!(sign(Values { context: Some(vec![1; 256]), ..Values::default() }).is_err());
        for len in [1, n - 1, n + 1] {
            assert!(sign(Values { entropy: Some(vec![1; len]), ..Values::default() }).is_err(), "{len}");
        }
        assert!(key.sign(&library, Some(c"SHA256"), &[], b"message").is_err(), "a digest");
        let signature = sign(Values::default()).unwrap().repeat(2);
        for len in [0, 1, signature_len - 1, signature_len + 1] {
            let verified = key.verify(&library, None, &[], b"message", &signature[..len]);
            assert!(!verified.unwrap_or(false), "{len}");
        }
        let only = Key::public(&library, name, &public[..2 * n]).unwrap();
        assert!(only.sign(&library, None, &[], b"message").is_err(), "there is no private part");
    }
    // A root that the seeds do not give, which the default provider finds when a key is checked.
    let (library, (name, n, ..)) = (preferred(), SETS[7]);
    let mut wrong = of_seeds(&library, name, n, 1).octets(c"priv").unwrap();
    *wrong.last_mut().unwrap() ^= 1;
    assert!(Key::private(&library, name, &wrong).is_err());
}

/// The tally of a run of a test above tells that these keys were used: by two signatures and a verification.
#[test]
fn the_engines_are_used() {
    let counts = pkeys::counted(&["everything_is_determined_by_what_is_given"]);
    assert_eq!(counts("slh-dsa-sha2-128f"), 6);
}
