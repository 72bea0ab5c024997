//! NIST's signatures whose nonces are published, on every row, and in every lane of P-256's. Callers can't choose a nonce, so
//! these tests stand within the crate.
//!
//! Ref. NIST CAVP, "The FIPS 186-4 Elliptic Curve Digital Signature Algorithm Validation System", §6.4.
#![allow(unsafe_code)]

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel};
use millstream_kernel::Engine;
use millstream_testkit::cavp::{self, number};
use millstream_testkit::{Ran, hex};

use super::{Curve, Message};
use crate::weierstrass::lanes::SignLane;
use crate::weierstrass::limbs;
use crate::weierstrass::ops::{LIMBS, Pair, Secret};

/// The operands of a signature, and the signature.
struct Given {
    curve: Curve,
    private: Secret,
    nonce: Secret,
    digest: Vec<u8>,
    hash: Hash,
    pair: Pair,
}

fn given(file: &str) -> Vec<Given> {
    let mut all = Vec::new();
    for case in cavp::cases(file).into_iter().filter(|case| case.contains_key("k")) {
        let of = |curve: Curve| Some((curve, hash(cavp::section(&case, &format!("P-{}", curve.bits()))?)?));
        let Some((curve, hash)) = Curve::ALL.into_iter().find_map(of) else { continue };
        let read = |name: &str| limbs::from_bytes(&number(&case[name], curve.bytes()));
        all.push(Given {
            curve,
            private: Secret(read("d")),
            nonce: Secret(read("k")),
            digest: HashKernel::best(Features::hardware(), hash).digest(&hex(&case["Msg"])).to_vec(),
            hash,
            pair: Pair { r: read("R"), s: read("S") },
        });
    }
    all
}

/// Returns a hash by its name; SHA-1 where none is named, as before FIPS 186-3.
fn hash(name: &str) -> Option<Hash> {
    let name = if name.is_empty() { "SHA-1" } else { name };
    let plain = |name: &str| name.replace('-', "").to_lowercase();
    Hash::ALL.into_iter().find(|hash| plain(hash.name()) == plain(name))
}

impl Given {
    fn message(&self) -> [u64; LIMBS] {
        Message::digest(self.hash, &self.digest).number(self.curve)
    }
}

#[test]
fn signatures_with_published_nonces() {
    let mut ran = Ran::new("cavp ecdsa sign");
    for (edition, count) in [("FIPS_186-2", 45), ("FIPS_186-3", 225)] {
        let all = given(&format!("asymmetric/ECDSA/{edition}/SigGen.txt"));
        assert_eq!(all.len(), count, "{edition}");
        for given in &all {
            for kernel in given.curve.table().available(Features::hardware()) {
                // SAFETY: `kernel` is bound.
                let pair = unsafe { (kernel.ops().sign)(&given.private, &given.message(), &given.nonce) };
                assert_eq!(pair, given.pair, "{} on {}", given.curve, kernel.kernel().name);
                ran.kernel(&format!("{} {}", given.curve, kernel.kernel().name));
            }
        }
        for curve in Curve::ALL {
            for kernel in curve.lanes().available(Features::hardware()) {
                let width = kernel.ops().width;
                let all: Vec<_> = all.iter().filter(|given| given.curve == curve).collect();
                // Each window begins one further, so that each signature is made in each lane.
                for window in all.windows(width) {
                    let none = Pair { r: [0; LIMBS], s: [0; LIMBS] };
                    let mut lanes: Vec<_> = window
                        .iter()
                        .map(|given| SignLane {
                            private: &given.private,
                            message: given.message(),
                            nonce: given.nonce.clone(),
                            result: none,
                        })
                        .collect();
                    // SAFETY: `kernel` is bound, and there are as many jobs as it has lanes.
                    unsafe { (kernel.ops().sign)(&mut lanes) };
                    for (lane, given) in lanes.iter().zip(window) {
                        assert_eq!(lane.result, given.pair, "{} {}", given.curve, kernel.kernel().name);
                    }
                    ran.kernel(&format!("{curve} {}", kernel.kernel().name));
                }
            }
        }
    }
    for curve in Curve::ALL {
        ran.missing(curve.table().kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
    }
    for curve in Curve::ALL {
        ran.missing(curve.lanes().kernels().into_iter().map(|kernel| (kernel.name, kernel.requires)));
    }
    ran.at_least(4);
}
