//! ML-KEM, ML-DSA and SLH-DSA in every lane beside the default provider's, where that has them (from OpenSSL 3.5 on).
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/kems.rs"]
mod encapsulation;
#[path = "../../publickey/tests/lattices/mod.rs"]
mod lattices;
#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::CString;

use lattices::{COUNT, Dsa, Kem, array, bytes, to_verify};
use millstream::Features;
use millstream::publickey::slhdsa::{Lanes, SLH_DSA, Scheme, Set};
use millstream::publickey::{self, mldsa, mlkem, slhdsa};
use millstream_testkit::{Random, skip};
use pkeys::{Key, PAIR, theirs};
use support::{Library, Param, version};

/// Returns the library with the default provider alone, if that has the algorithms.
fn peer() -> Option<Library> {
    let (major, minor) = version();
    if (major, minor) < (3, 5) {
        skip(&format!(
            "lanes beside OpenSSL {major}.{minor}: it has no ML-KEM; name a newer libcrypto in MILLSTREAM_TEST_LIBCRYPTO"
        ));
        return None;
    }
    Some(theirs())
}

/// Returns the name of a parameter set. OpenSSL does not care for capital letters.
fn name(set: &str) -> CString {
    CString::new(set).unwrap()
}

/// Makes the private and the public key of a seed.
fn pair(library: &Library, set: &str, seed: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut seed = seed.to_vec();
    let key = Key::import(library, &name(set), PAIR, &[Param::octets(c"seed", &mut seed)]).unwrap();
    (key.octets(c"priv").unwrap(), key.octets(c"pub").unwrap())
}

/// Signs a message within a context, with random bytes.
fn sign(library: &Library, key: &Key, message: &[u8], context: &[u8], randomness: &[u8]) -> Vec<u8> {
    let (mut context, mut randomness) = (context.to_vec(), randomness.to_vec());
    let params =
        [Param::octets(c"context-string", &mut context), Param::octets(c"test-entropy", &mut randomness)];
    key.sign(library, None, &params, message).unwrap()
}

/// Verifies the signature of a message within a context.
fn verify(library: &Library, key: &Key, message: &[u8], context: &[u8], signature: &[u8]) -> bool {
    let mut context = context.to_vec();
    let params = [Param::octets(c"context-string", &mut context)];
    key.verify(library, None, &params, message, signature).unwrap_or(false)
}

#[test]
fn ml_kem_in_every_lane() {
    let Some(library) = peer() else { return };
    for set in mlkem::Set::ALL {
        let name = name(set.name());
        Kem {
            set,
            generate: &|seed| pair(&library, set.name(), &seed),
            encapsulate: &|public, mut message| {
                let key = Key::public(&library, &name, public).ok()?;
                let sent = key.encapsulate(&library, &[Param::octets(c"ikme", &mut message)]).unwrap();
                Some((sent.0, array(&sent.1)))
            },
            decapsulate: &|private, sent| {
                let key = Key::private(&library, &name, private).unwrap();
                array(&key.decapsulate(&library, sent).unwrap())
            },
        }
        .compare_in_every_lane();
    }
}

#[test]
fn ml_dsa_in_every_lane() {
    let Some(library) = peer() else { return };
    for set in mldsa::Set::ALL {
        let name = name(set.name());
        Dsa {
            set,
            generate: &|seed| pair(&library, set.name(), &seed),
            sign: &|private, message, context, randomness| {
                let key = Key::private(&library, &name, private).unwrap();
                sign(&library, &key, message, context, &randomness)
            },
            verify: &|public, message, context, signature| {
                let key = Key::public(&library, &name, public).unwrap();
                verify(&library, &key, message, context, signature)
            },
        }
        .compare_in_every_lane();
    }
}

/// The lanes of SLH-DSA have the hashes of one signature when it is made, and of sixteen when they are verified.
#[test]
fn slh_dsa_in_every_lane() {
    let Some(library) = peer() else { return };
    let mut random = Random::new(26);
    for set in [Set::Sha2_128f, Set::Sha2_192f, Set::Shake128f] {
        let (name, n) = (name(set.name()), set.node_len());
        let seeds: Vec<_> = (0..COUNT).map(|i| bytes(&mut random, i, 3 * n)).collect();
        let theirs: Vec<_> = seeds
            .iter()
            .map(|seeds| {
                Key::generate(&library, &name, &[Param::octets(c"seed", &mut seeds.clone())]).unwrap()
            })
            .collect();
        let messages: Vec<_> = (0..COUNT).map(|i| bytes(&mut random, i / 4, 1 + 17 * i)).collect();
        let contexts: Vec<_> =
            (0..COUNT).map(|i| bytes(&mut random, i, 255 * (i % 3) / 2 + 1)[1..].to_vec()).collect();
        let randomness: Vec<_> = (0..COUNT).map(|i| bytes(&mut random, i / 3, n)).collect();
        let signatures: Vec<_> = (0..COUNT)
            .map(|i| sign(&library, &theirs[i], &messages[i], &contexts[i], &randomness[i]))
            .collect();
        let given = to_verify(&mut random, 0, &signatures);
        let verdicts: Vec<_> =
            (0..COUNT).map(|i| verify(&library, &theirs[i], &messages[i], &contexts[i], &given[i])).collect();
        assert_eq!(verdicts.iter().filter(|verdict| **verdict).count(), 8, "{set}");
        for (row, kernel) in SLH_DSA.available(Features::hardware()).enumerate() {
            let lanes = Lanes::with_kernel(kernel, Features::hardware());
            let mut jobs: Vec<_> = seeds.iter().map(|seeds| slhdsa::KeyJob::new(set, seeds)).collect();
            lanes.keys(&mut jobs);
            let keys: Vec<_> = jobs.into_iter().map(|job| job.key.unwrap().unwrap()).collect();
            for (i, key) in keys.iter().enumerate() {
                assert!(
                    key.to_bytes()[..] == theirs[i].octets(c"priv").unwrap(),
                    "{set} in {lanes:?}: key {i}"
                );
            }
            // A slow row has few lanes, which one signature fills.
            let signed = if row == 0 { COUNT } else { 2 };
            let mut jobs: Vec<_> = (0..signed)
                .map(|i| {
                    let scheme = Scheme::Pure(&contexts[i]);
                    slhdsa::SignJob::new(&keys[i], scheme, &messages[i], Some(&randomness[i]))
                })
                .collect();
            lanes.sign(&mut jobs);
            for (i, job) in jobs.into_iter().enumerate() {
                let signature = job.signature.unwrap().unwrap();
                assert!(signature == signatures[i], "{set} in {lanes:?}: signature {i}");
            }
            let mut jobs: Vec<_> = (0..COUNT)
                .map(|i| {
                    let scheme = Scheme::Pure(&contexts[i]);
                    slhdsa::VerifyJob::new(keys[i].public_key(), scheme, &messages[i], &given[i])
                })
                .collect();
            lanes.verify(&mut jobs);
            for (i, job) in jobs.into_iter().enumerate() {
                assert_eq!(job.verdict.unwrap().is_ok(), verdicts[i], "{set} in {lanes:?}: verdict {i}");
            }
        }
    }
}
