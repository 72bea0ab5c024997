//! Many ChaCha20-Poly1305 messages at once, with equal or different keys.
//!
//! Ref. RFC 8439 §2.8.
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists
//! only where they do.
#![allow(unsafe_code)]

use millstream_cpu::{FeatureSet, Features};

use super::job::{ChaCha20Poly1305Job, ChaCha20Poly1305LanesOps};
use super::{ChaCha20Poly1305, example};
use crate::{AlgorithmInfo, Bound, Crossover, InOut, Kernel, Row, Standing, Table, Timing};

/// The kernels of ChaCha20-Poly1305 over many messages.
pub static CHACHA20_POLY1305_LANES: Table<ChaCha20Poly1305LanesOps> = Table::new(
    AlgorithmInfo {
        name: "chacha20-poly1305-lanes",
        standing: Standing::Current,
        standard: "RFC 8439 §2.8",
        key_bits: &[256],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<ChaCha20Poly1305LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512ifma-x16",
            requires: super::arch::x16::LANES_REQUIRES,
            timing: Timing::Constant,
            note: "16 blocks of any messages; two times 8 MACs, a message a lane",
        },
        ops: super::arch::x16::LANES,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx2-x8",
            requires: super::arch::x8::LANES_REQUIRES,
            timing: Timing::Constant,
            note: "8 blocks of any messages; two times 4 MACs, a message a lane",
        },
        ops: super::arch::x8::LANES,
    },
    Row {
        kernel: Kernel {
            name: "direct-x1",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "one after another, each on its key's own kernel",
        },
        ops: ChaCha20Poly1305LanesOps {
            width: 1,
            crossover: Crossover::NEVER,
            seal: direct::<false>,
            open: direct::<true>,
        },
    },
];

/// Works on one message after another, each on its key's own kernel.
fn direct<const OPEN: bool>(jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
    for job in jobs {
        job.direct::<OPEN>();
    }
}

/// Seals and opens many messages at once.
#[derive(Clone, Copy, Debug)]
pub struct ChaCha20Poly1305Lanes {
    kernel: Bound<ChaCha20Poly1305LanesOps>,
}

impl ChaCha20Poly1305Lanes {
    /// The best kernel that `features` allow.
    #[inline]
    pub fn new(features: Features) -> Self {
        ChaCha20Poly1305Lanes::with_kernel(CHACHA20_POLY1305_LANES.best(features))
    }

    /// The kernel given.
    #[inline]
    pub fn with_kernel(kernel: Bound<ChaCha20Poly1305LanesOps>) -> Self {
        ChaCha20Poly1305Lanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of messages for which lanes are used, by their length.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Encrypts every message and computes its tag. An error in one message does not touch the
    /// others. The call may reorder the references.
    pub fn seal(&self, jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
        self.all::<false>(jobs);
    }

    /// Decrypts every message whose tag is right. An error in one message does not touch the
    /// others. The call may reorder the references.
    pub fn open(&self, jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
        self.all::<true>(jobs);
    }

    fn all<const OPEN: bool>(&self, jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
        let ops = self.kernel.ops();
        if jobs.len() < ops.crossover.objects(0) {
            return direct::<OPEN>(jobs);
        }
        let (first, mut equal) = (jobs[0].data.len(), true);
        for job in jobs.iter() {
            equal &= job.fits() && job.data.len() == first;
        }
        let mut fitting = jobs.len();
        if !equal {
            // The MACs of a group take as many steps as its longest message, so messages of
            // similar length go together.
            jobs.sort_unstable_by_key(|job| if job.fits() { job.data.len() } else { usize::MAX });
            fitting = jobs.partition_point(|job| job.fits());
        }
        let (jobs, alone) = jobs.split_at_mut(fitting);
        let work = if OPEN { ops.open } else { ops.seal };
        for group in jobs.chunks_mut(ops.width) {
            let longest = group.last().map_or(0, |job| job.data.len());
            if group.len() < ops.crossover.objects(longest) {
                direct::<OPEN>(group);
            } else {
                // SAFETY: `kernel` is bound.
                unsafe { work(group) };
            }
        }
        direct::<OPEN>(alone);
    }
}

/// The example of RFC 8439 §2.8.2, in every lane and some more.
fn known_answer(kernel: Bound<ChaCha20Poly1305LanesOps>) -> bool {
    let lanes = ChaCha20Poly1305Lanes::with_kernel(kernel);
    let Ok(key) = ChaCha20Poly1305::new(Features::hardware(), &example::KEY) else { return false };
    let mut buffers = [example::PLAIN; 19];
    let mut jobs = buffers.each_mut().map(|buffer| {
        ChaCha20Poly1305Job::new(&key, &example::NONCE, &example::AAD, InOut::in_place(buffer))
    });
    lanes.seal(&mut jobs.each_mut());
    let sealed = jobs.iter_mut().all(|job| job.result.is_ok() && job.tag == example::TAG);
    lanes.open(&mut jobs.each_mut());
    sealed && jobs.iter().all(|job| job.result.is_ok() && *job.data.input() == example::PLAIN)
}
