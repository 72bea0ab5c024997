//! NIST's vectors for keys, signatures and shared secrets of the curves, on every row; and in lanes.
//!
//! Ref. NIST CAVP, "The FIPS 186-4 Elliptic Curve Digital Signature Algorithm Validation System", §6; "The Key Agreement
//! Schemes Validation System", §6.2.

mod cavp_common;

use std::collections::BTreeMap;

use cavp_common::section;
use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_publickey::Engine;
use millstream_publickey::ecdh;
use millstream_publickey::ecdsa::{Curve, Lanes, Message, PrivateKey, PublicKey, VerifyJob};
use millstream_testkit::cavp::{self, Case, number, passes};
use millstream_testkit::{Ran, hex};

/// The folder of each edition of the standard.
const EDITIONS: [&str; 2] = ["asymmetric/ECDSA/FIPS_186-2", "asymmetric/ECDSA/FIPS_186-3"];

/// Returns the cases of a file that belong to our curves, with the curve and, where the file names one, the hash.
/// Editions before 186-3 have SHA-1 alone, and do not name it.
fn cases(file: &str) -> Vec<(Curve, Hash, Case)> {
    let mut found = Vec::new();
    for case in cavp::cases(file) {
        for curve in Curve::ALL {
            if let Some(hash) = section(&case, &format!("P-{}", curve.bits())) {
                found.push((curve, hash, case.clone()));
            }
        }
    }
    found
}

/// The uncompressed point of two coordinates. A coordinate that is too long stays so.
fn point(curve: Curve, case: &Case, x: &str, y: &str) -> Vec<u8> {
    [&[4][..], &number(&case[x], curve.bytes()), &number(&case[y], curve.bytes())].concat()
}

fn all_rows(ran: &Ran) {
    for curve in Curve::ALL {
        ran.missing(curve.table().kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
    }
}

#[test]
fn key_pairs() {
    let mut ran = Ran::new("cavp ecdsa key pairs");
    for edition in EDITIONS {
        let mut count = 0;
        for (curve, _, case) in cases(&format!("{edition}/KeyPair.rsp")) {
            let Some(d) = case.get("d") else { continue };
            let scalar = number(d, curve.bytes());
            for kernel in curve.table().available(Features::hardware()) {
                let key = PrivateKey::with_kernel(Features::hardware(), kernel, &scalar).unwrap();
                assert_eq!(*key.public().to_bytes(), point(curve, &case, "Qx", "Qy"), "{curve} {d}");
                ran.kernel(&format!("{curve} {}", kernel.kernel().name));
            }
            count += 1;
        }
        assert_eq!(count, 30, "{edition}");
    }
    all_rows(&ran);
    ran.at_least(3);
}

#[test]
fn validation_of_public_keys() {
    let mut ran = Ran::new("cavp ecdsa public keys");
    for edition in EDITIONS {
        let (mut accepted, mut refused) = (0, 0);
        for (curve, _, case) in cases(&format!("{edition}/PKV.rsp")) {
            let bytes = point(curve, &case, "Qx", "Qy");
            for kernel in curve.table().available(Features::hardware()) {
                let key = PublicKey::with_kernel(kernel, &bytes);
                assert_eq!(key.is_ok(), passes(&case), "{curve} {case:?} {key:?}");
                ran.kernel(&format!("{curve} {}", kernel.kernel().name));
            }
            *if passes(&case) { &mut accepted } else { &mut refused } += 1;
        }
        assert_eq!((accepted, refused), (12, 24), "{edition}");
    }
    all_rows(&ran);
    ran.at_least(3);
}

/// A case of a signature, ready to be verified.
struct Signed {
    curve: Curve,
    public: Vec<u8>,
    message: Message<'static>,
    signature: Vec<u8>,
    right: bool,
}

impl Signed {
    fn new(curve: Curve, hash: Hash, case: &Case) -> Self {
        let numbers = ["R", "S"].map(|name| number(&case[name], curve.bytes()));
        Signed {
            curve,
            public: point(curve, case, "Qx", "Qy"),
            message: Message::hashed(Features::hardware(), hash, &hex(&case["Msg"])),
            signature: numbers.concat(),
            right: !case.contains_key("Result") || passes(case),
        }
    }
}

/// Verifies all on each row and in the lanes, where keys are mixed. Returns how many are right, and how many are wrong.
fn verify(all: &[Signed], ran: &mut Ran) -> (usize, usize) {
    for signed in all {
        for kernel in signed.curve.table().available(Features::hardware()) {
            let verdict = PublicKey::with_kernel(kernel, &signed.public)
                .and_then(|key| key.verify(&signed.message, &signed.signature));
            assert_eq!(verdict.is_ok(), signed.right, "{} {verdict:?}", signed.curve);
            ran.kernel(&format!("{} {}", signed.curve, kernel.kernel().name));
        }
    }
    for curve in Curve::ALL {
        let ours = all.iter().filter(|signed| signed.curve == curve);
        let keys: Vec<_> = ours
            .filter_map(|signed| {
                let key = PublicKey::new(Features::hardware(), curve, &signed.public);
                assert!(key.is_ok() || !signed.right);
                Some((key.ok()?, signed))
            })
            .collect();
        for kernel in curve.lanes().available(Features::hardware()) {
            for first in 0..keys.len().min(if curve == Curve::P256 { 8 } else { 2 }) {
                let jobs = keys[first..].iter();
                let mut jobs: Vec<_> = jobs
                    .map(|(key, signed)| VerifyJob::new(key, &signed.message, &signed.signature))
                    .collect();
                Lanes::with_kernel(kernel).verify(&mut jobs);
                for (job, (_, signed)) in jobs.iter().zip(&keys[first..]) {
                    assert_eq!(job.result.is_ok(), signed.right, "{curve} {:?}", job.result);
                }
            }
            ran.kernel(&format!("{curve} {}", kernel.kernel().name));
        }
    }
    let right = all.iter().filter(|signed| signed.right).count();
    (right, all.len() - right)
}

#[test]
fn signatures_verify() {
    let mut ran = Ran::new("cavp ecdsa verify");
    for (edition, counts) in EDITIONS.into_iter().zip([(9, 36), (45, 180)]) {
        let all: Vec<_> = cases(&format!("{edition}/SigVer.rsp"))
            .iter()
            .map(|(curve, hash, case)| Signed::new(*curve, *hash, case))
            .collect();
        assert_eq!(verify(&all, &mut ran), counts, "{edition}");
    }
    for curve in Curve::ALL {
        ran.missing(curve.lanes().kernels().into_iter().map(|kernel| (kernel.name, kernel.requires)));
    }
    all_rows(&ran);
    ran.at_least(4);
}

/// Signatures with a given nonce are made in the crate's own tests, where a nonce can be given. These are the keys that belong to
/// them.
#[test]
fn generated_signatures_verify() {
    let mut ran = Ran::new("cavp ecdsa generated");
    for (edition, count) in EDITIONS.into_iter().zip([45, 225]) {
        let mut all = Vec::new();
        for (curve, hash, case) in cases(&format!("{edition}/SigGen.txt")) {
            if !case.contains_key("R") {
                continue;
            }
            let signed = Signed::new(curve, hash, &case);
            for kernel in curve.table().available(Features::hardware()) {
                let scalar = number(&case["d"], curve.bytes());
                let key = PrivateKey::with_kernel(Features::hardware(), kernel, &scalar).unwrap();
                assert_eq!(*key.public().to_bytes(), signed.public, "{curve} {case:?}");
            }
            all.push(signed);
        }
        assert_eq!(verify(&all, &mut ran), (count, 0), "{edition}");
    }
    ran.at_least(4);
}

/// The curve of each parameter set.
const SETS: [(&str, Curve); 3] = [("EC", Curve::P256), ("ED", Curve::P384), ("EE", Curve::P521)];

#[test]
fn shared_secrets() {
    let mut ran = Ran::new("cavp ecdh");
    for role in ["init", "resp"] {
        let file = format!("asymmetric/ECDH/KASValidityTest_ECCStaticUnified_NOKC_ZZOnly_{role}.fax");
        let mut results = BTreeMap::new();
        for case in cavp::cases(&file) {
            let set = case.keys().find_map(|key| key.split_once(" - ")).map(|(set, _)| set.to_owned());
            let Some(&(_, curve)) = SETS.iter().find(|(name, _)| set.as_deref() == Some(name)) else {
                continue;
            };
            if !case.contains_key("Result") {
                continue;
            }
            for kernel in curve.table().available(Features::hardware()) {
                let scalar = number(&case["dsIUT"], curve.bytes());
                let key = ecdh::PrivateKey::with_kernel(Features::hardware(), kernel, &scalar);
                let peer = ecdh::PublicKey::with_kernel(kernel, &point(curve, &case, "QsCAVSx", "QsCAVSy"));
                // Our own public key must belong to the private one: a case damages it.
                let right = key.and_then(|key| {
                    let own = *key.public().to_bytes() == point(curve, &case, "QsIUTx", "QsIUTy");
                    Ok(own && *key.agree(&peer?)? == number(&case["Z"], curve.bytes()))
                });
                assert_eq!(right.unwrap_or(false), passes(&case), "{curve} {case:?}");
                ran.kernel(&format!("{curve} {}", kernel.kernel().name));
            }
            *results.entry(passes(&case)).or_insert(0) += 1;
        }
        assert_eq!((results[&true], results[&false]), (54, 36), "{role}");
    }
    all_rows(&ran);
    ran.at_least(3);
}
