//! Many operations of a curve at once: the tables of kernels, and how their lanes are filled.
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists only where they do.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod element;
#[cfg(target_arch = "x86_64")]
mod field;
#[cfg(target_arch = "x86_64")]
mod multiply;
#[cfg(target_arch = "x86_64")]
mod point;
#[cfg(target_arch = "x86_64")]
mod solinas;
#[cfg(target_arch = "x86_64")]
mod x8;

use millstream_cpu::FeatureSet;
use millstream_kernel::{AlgorithmInfo, Bound, Crossover, Kernel, Row, Standing, Table, Timing};

use super::curve::{P256, P384, P521};
use super::example::Example;
use super::named::Curve;
use super::ops::{self, Ops, Pair, Point, Secret, Words};

/// The most lanes of any kernel.
pub(crate) const MOST: usize = 8;

/// Makes a public key.
pub(crate) struct PublicLane<'a> {
    pub(crate) scalar: &'a Secret,
    pub(crate) result: Point,
}

/// Multiplies a point by a scalar.
pub(crate) struct AgreeLane<'a> {
    pub(crate) scalar: &'a Secret,
    pub(crate) point: &'a Point,
    pub(crate) result: Secret,
}

/// Makes a signature.
pub(crate) struct SignLane<'a> {
    pub(crate) private: &'a Secret,
    pub(crate) message: Words,
    pub(crate) nonce: Secret,
    pub(crate) result: Pair,
}

/// Verifies a signature.
pub(crate) struct VerifyLane<'a> {
    pub(crate) public: &'a Point,
    pub(crate) message: Words,
    pub(crate) pair: Pair,
    pub(crate) result: bool,
}

/// The functions of a kernel. Each takes `width` jobs at most; what the jobs hold is in the ranges that [`Ops`] takes.
#[derive(Debug)]
pub struct LanesOps {
    pub(crate) curve: Curve,
    pub(crate) width: usize,
    /// The least number of operations for which lanes pay.
    pub(crate) crossover: Crossover,
    pub(crate) public: unsafe fn(&mut [PublicLane<'_>]),
    pub(crate) agree: unsafe fn(&mut [AgreeLane<'_>]),
    pub(crate) sign: unsafe fn(&mut [SignLane<'_>]),
    /// The time depends on the signatures.
    pub(crate) verify_vartime: unsafe fn(&mut [VerifyLane<'_>]),
}

impl Curve {
    /// Returns the curve's table of kernels for many operations.
    pub fn lanes(self) -> &'static Table<LanesOps> {
        match self {
            Curve::P256 => &P256_LANES,
            Curve::P384 => &P384_LANES,
            Curve::P521 => &P521_LANES,
        }
    }
}

/// Makes the table of a curve.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident, $curve:ident, $limbs:literal, $name:literal, $standard:literal, $bits:literal) => {
        $(#[$doc])*
        pub static $table: Table<LanesOps> = {
            /// The kernel for jobs that come without a key.
            static DIRECT: Ops = ops::ops::<$curve, $limbs>(Curve::$curve);

            fn public(jobs: &mut [PublicLane<'_>]) {
                for job in jobs {
                    // SAFETY: the portable functions need no features.
                    job.result = unsafe { (DIRECT.public)(job.scalar) };
                }
            }

            fn agree(jobs: &mut [AgreeLane<'_>]) {
                for job in jobs {
                    // SAFETY: the portable functions need no features.
                    job.result = unsafe { (DIRECT.agree)(job.scalar, job.point) };
                }
            }

            fn sign(jobs: &mut [SignLane<'_>]) {
                for job in jobs {
                    // SAFETY: the portable functions need no features.
                    job.result = unsafe { (DIRECT.sign)(job.private, &job.message, &job.nonce) };
                }
            }

            fn verify_vartime(jobs: &mut [VerifyLane<'_>]) {
                for job in jobs {
                    // SAFETY: the portable functions need no features.
                    job.result = unsafe { (DIRECT.verify_vartime)(job.public, &job.message, &job.pair) };
                }
            }

            static ROWS: &[Row<LanesOps>] = &[
                #[cfg(target_arch = "x86_64")]
                Row {
                    kernel: Kernel {
                        name: "x86_64-avx512ifma-x8",
                        requires: x8::REQUIRES,
                        timing: Timing::Constant,
                        note: "an operation a lane, in limbs of 52 or 48 bits",
                    },
                    ops: x8::ops::<$curve, $limbs>(),
                },
                Row {
                    kernel: Kernel {
                        name: "direct-x1",
                        requires: FeatureSet::EMPTY,
                        timing: Timing::Constant,
                        note: "one after another, each on its key's own kernel",
                    },
                    ops: LanesOps {
                        curve: Curve::$curve,
                        width: 1,
                        crossover: Crossover::NEVER,
                        public,
                        agree,
                        sign,
                        verify_vartime,
                    },
                },
            ];
            Table::new(
                AlgorithmInfo {
                    name: $name,
                    standing: Standing::Current,
                    standard: $standard,
                    key_bits: &[$bits],
                },
                ROWS,
                known_answer,
            )
        };
    };
}

table!(
    /// The kernels of P-256 over many operations.
    P256_LANES, P256, 4, "p256-lanes", "SP 800-186 §3.2.1.3", 256
);
table!(
    /// The kernels of P-384 over many operations.
    P384_LANES, P384, 6, "p384-lanes", "SP 800-186 §3.2.1.4", 384
);
table!(
    /// The kernels of P-521 over many operations.
    P521_LANES, P521, 9, "p521-lanes", "SP 800-186 §3.2.1.5", 521
);

/// Asks for the example of a curve in every lane, with a lane in the middle that differs.
fn known_answer(kernel: Bound<LanesOps>) -> bool {
    let (ops, example) = (kernel.ops(), Example::of(kernel.ops().curve));
    let (private, public, base, none) =
        (example.private(), example.public(), example.base(), [0; ops::LIMBS]);
    let mut wrong = *example.message();
    wrong[0] ^= 1;
    for odd in 0..ops.width {
        let message = |lane| if lane == odd { wrong } else { *example.message() };
        let mut keys: Vec<_> = (0..ops.width)
            .map(|_| PublicLane { scalar: &private, result: Point { x: none, y: none } })
            .collect();
        let mut shared: Vec<_> = (0..ops.width)
            .map(|_| AgreeLane { scalar: &private, point: &base, result: Secret(none) })
            .collect();
        let pair = Pair { r: none, s: none };
        let sign = |lane| SignLane {
            private: &private,
            message: message(lane),
            nonce: example.nonce(),
            result: pair,
        };
        let mut signed: Vec<_> = (0..ops.width).map(sign).collect();
        let pair = example.signature();
        let verify = |lane| VerifyLane { public: &public, message: message(lane), pair, result: lane == odd };
        let mut verified: Vec<_> = (0..ops.width).map(verify).collect();
        // SAFETY: `kernel` is bound.
        unsafe {
            (ops.public)(&mut keys);
            (ops.agree)(&mut shared);
            (ops.sign)(&mut signed);
            (ops.verify_vartime)(&mut verified);
        }
        let right = keys.iter().all(|lane| lane.result == public)
            && shared.iter().all(|lane| lane.result.0 == public.x)
            && signed.iter().enumerate().all(|(i, lane)| (lane.result == pair) == (i != odd))
            && verified.iter().enumerate().all(|(i, lane)| lane.result == (i != odd));
        if !right {
            return false;
        }
    }
    true
}
