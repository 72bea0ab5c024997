//! Many agreements at once: the lane manager and its table of kernels.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::{FeatureSet, Features};
use zeroize::Zeroize;

use super::{KEY, NAME, PrivateKey, PublicKey, SharedSecret, VECTOR, ladder};
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

/// The lanes of every kernel.
pub const LANES: usize = 8;

/// Values of 32 bytes, one for each lane.
pub(super) type Each = [[u8; KEY]; LANES];

/// The functions of a kernel for many operations.
#[derive(Debug)]
pub struct LanesOps {
    /// The least number of operations that take less time in lanes than one after another.
    crossover: usize,
    /// The function X25519 of RFC 7748 §5: scalars and u-coordinates.
    multiply: unsafe fn(&Each, &Each) -> Each,
    /// The same for the base point, u = 9.
    multiply_base: unsafe fn(&Each) -> Each,
}

/// The kernels for many operations of X25519, best first.
pub static X25519_LANES: Table<LanesOps> = Table::new(
    AlgorithmInfo {
        name: "x25519-lanes",
        standing: Standing::Current,
        standard: "RFC 7748 §5",
        key_bits: &[256],
    },
    ROWS,
    known_answer,
);

const ROWS: &[Row<LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512ifma-x8",
            requires: FeatureSet::parse("avx512f,avx512ifma"),
            timing: Timing::Constant,
            note: "eight ladders in 52-bit limbs; multiples of the base point by permuted tables",
        },
        ops: LanesOps {
            crossover: 2,
            multiply: super::arch::x86_64_avx512_lanes::multiply,
            multiply_base: super::arch::x86_64_avx512_lanes::multiply_base,
        },
    },
    Row {
        kernel: Kernel {
            name: "direct-x1",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "one operation after another",
        },
        ops: LanesOps { crossover: usize::MAX, multiply: direct, multiply_base: direct_base },
    },
];

fn direct(scalars: &Each, points: &Each) -> Each {
    let mut products = [[0; KEY]; LANES];
    for lane in 0..LANES {
        products[lane] = ladder::ladder(&scalars[lane], &points[lane]);
    }
    products
}

fn direct_base(scalars: &Each) -> Each {
    let mut products = [[0; KEY]; LANES];
    for lane in 0..LANES {
        products[lane] = ladder::comb(&scalars[lane]);
    }
    products
}

fn known_answer(kernel: Bound<LanesOps>) -> bool {
    let [private, public, secret] = VECTOR;
    // SAFETY: `kernel` is bound.
    let secrets = unsafe { (kernel.ops().multiply)(&[*private; LANES], &[*public; LANES]) };
    secrets == [*secret; LANES]
}

/// An agreement to compute, with its result after that.
#[derive(Debug)]
pub struct Job<'a> {
    /// The private key.
    pub key: &'a PrivateKey,
    /// The peer's public key.
    pub peer: &'a PublicKey,
    /// The result, nothing before the job has run. The errors are those of [`PrivateKey::agree`].
    pub secret: Option<Result<SharedSecret, Error>>,
}

impl<'a> Job<'a> {
    /// An agreement not computed yet.
    pub const fn new(key: &'a PrivateKey, peer: &'a PublicKey) -> Self {
        Job { key, peer, secret: None }
    }
}

/// A public key to compute, with its result after that.
#[derive(Debug)]
pub struct KeyJob<'a> {
    /// The private key.
    pub key: &'a PrivateKey,
    /// The public key, nothing before the job has run.
    pub public: Option<PublicKey>,
}

impl<'a> KeyJob<'a> {
    /// A public key not computed yet.
    pub const fn new(key: &'a PrivateKey) -> Self {
        KeyJob { key, public: None }
    }
}

/// The lane manager of X25519: any number of operations in one call, each with a key of its own.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::x25519::{Job, Lanes, PrivateKey};
///
/// let features = Features::hardware();
/// let (a, b) = (PrivateKey::new(features, &[1; 32])?, PrivateKey::new(features, &[2; 32])?);
/// let (public_a, public_b) = (a.public_key(), b.public_key());
/// let mut jobs = [Job::new(&a, &public_b), Job::new(&b, &public_a)];
/// Lanes::new(features).run(&mut jobs);
/// let [first, second] = jobs.map(|job| job.secret.expect("the job has run"));
/// assert_eq!(first?, second?);
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Lanes {
    kernel: Bound<LanesOps>,
}

impl Lanes {
    /// Makes a manager with the fastest kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        Lanes { kernel: X25519_LANES.best(features) }
    }

    /// Makes a manager with the given kernel.
    pub fn with_kernel(kernel: Bound<LanesOps>) -> Self {
        Lanes { kernel }
    }

    /// The lane kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of operations for which the lanes are used.
    pub fn crossover(&self) -> usize {
        self.kernel.ops().crossover
    }

    /// Computes every agreement. An error of one touches no other.
    pub fn run(&self, jobs: &mut [Job<'_>]) {
        for jobs in jobs.chunks_mut(LANES) {
            if jobs.len() < self.crossover() {
                for job in jobs {
                    job.secret = Some(job.key.agree(job.peer));
                }
                continue;
            }
            let (mut scalars, mut points) = ([[0; KEY]; LANES], [[0; KEY]; LANES]);
            for (lane, job) in jobs.iter().enumerate() {
                scalars[lane] = *job.key.as_bytes();
                points[lane] = *job.peer.as_bytes();
            }
            // SAFETY: `self.kernel` is bound.
            let mut products = unsafe { (self.kernel.ops().multiply)(&scalars, &points) };
            for (job, product) in jobs.iter_mut().zip(&products) {
                job.secret = Some(SharedSecret::checked(*product));
            }
            products.zeroize();
            scalars.zeroize();
        }
    }

    /// Computes every public key.
    pub fn public_keys(&self, jobs: &mut [KeyJob<'_>]) {
        for jobs in jobs.chunks_mut(LANES) {
            if jobs.len() < self.crossover() {
                for job in jobs {
                    job.public = Some(job.key.public_key());
                }
                continue;
            }
            let mut scalars = [[0; KEY]; LANES];
            for (scalar, job) in scalars.iter_mut().zip(&*jobs) {
                *scalar = *job.key.as_bytes();
            }
            // SAFETY: `self.kernel` is bound.
            let products = unsafe { (self.kernel.ops().multiply_base)(&scalars) };
            for (job, product) in jobs.iter_mut().zip(products) {
                job.public = Some(PublicKey(product));
            }
            scalars.zeroize();
        }
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME} on {}", self.kernel().name)
    }
}
