//! Many messages through Camellia in CBC or CTR at once, with equal or different keys.
//!
//! Ref. RFC 3713; NIST SP 800-38A §6.2 (CBC), §6.5 (CTR).
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists only
//! where they do.
#![allow(unsafe_code)]

use std::cmp::Reverse;

use millstream_cpu::{FeatureSet, Features};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::arch;
use super::job::{CbcJob, CbcLanesOps, CtrJob, CtrLanesOps};
use super::{ANSWER, Cbc, Ctr, KEY, algorithm};
use crate::modes::{BlockMode, ByteStream, Direction};
use crate::{Bound, Crossover, InOut, Kernel, Row, Table, Timing};

#[cfg(target_arch = "x86_64")]
const GFNI_512: Kernel = Kernel {
    name: "x86_64-avx512gfni-x32",
    requires: arch::x86_64_gfni::REQUIRES_512,
    timing: Timing::Constant,
    note: "as in AVX2 registers, with three-way additions and twice as many registers",
};

#[cfg(target_arch = "x86_64")]
const GFNI_256: Kernel = Kernel {
    name: "x86_64-avx2gfni-x32",
    requires: arch::x86_64_gfni::REQUIRES_256,
    timing: Timing::Constant,
    note: "each byte of 32 messages' blocks in one register; up to 16 messages in half of one",
};

#[cfg(target_arch = "x86_64")]
const AESNI: Kernel = Kernel {
    name: "x86_64-aesni-x16",
    requires: arch::x86_64_aesni::REQUIRES,
    timing: Timing::Constant,
    note: "each byte of 16 messages' blocks in one register; the AES S-box between affine maps",
};

#[cfg(target_arch = "aarch64")]
const AARCH64: Kernel = Kernel {
    name: "aarch64-ce-x16",
    requires: arch::aarch64_ce::REQUIRES,
    timing: Timing::Constant,
    note: "each byte of 16 messages' blocks in one register; the AES S-box between affine maps",
};

/// The row without lanes, which both tables end with.
const DIRECT: Kernel = Kernel {
    name: "direct-x1",
    requires: FeatureSet::EMPTY,
    timing: Timing::Constant,
    note: "one after another, each on its key's own kernel",
};

/// The crossovers of CBC with GFNI and with AES instructions, measured on Zen 4 with different keys.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const CBC_CROSSOVER: [Crossover; 2] =
    [Crossover(&[(16, 6), (usize::MAX, 2)]), Crossover(&[(16, 4), (usize::MAX, 3)])];

/// The crossovers of CTR, measured likewise. Longer messages fill the direct kernels' registers by
/// themselves.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const CTR_CROSSOVER: [Crossover; 2] = [
    Crossover(&[(16, 4), (64, 7), (256, 24), (usize::MAX, usize::MAX)]),
    Crossover(&[(16, 3), (64, 5), (usize::MAX, usize::MAX)]),
];

/// The kernels of CBC encryption over many messages.
pub static CBC_LANES: Table<CbcLanesOps> = Table::new(
    algorithm("camellia-cbc-lanes", "RFC 3713; SP 800-38A §6.2"),
    &[
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI_512,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER[0], encrypt: arch::x86_64_gfni::cbc_lanes_512 },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI_256,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER[0], encrypt: arch::x86_64_gfni::cbc_lanes_256 },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: AESNI,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER[1], encrypt: arch::x86_64_aesni::cbc_lanes },
        },
        #[cfg(target_arch = "aarch64")]
        Row {
            kernel: AARCH64,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER[1], encrypt: arch::aarch64_ce::cbc_lanes },
        },
        Row { kernel: DIRECT, ops: CbcLanesOps { crossover: Crossover::NEVER, encrypt: encrypt_each } },
    ],
    |kernel| {
        let key = Cbc::new(Features::hardware(), &KEY).expect("sixteen bytes");
        let mut buffers = [KEY; 67];
        let mut jobs =
            buffers.each_mut().map(|b| CbcJob { key: &key, iv: [0; 16], data: InOut::in_place(b) });
        CbcLanes::with_kernel(kernel).encrypt(&mut jobs.each_mut());
        jobs.iter().all(|job| job.iv == ANSWER) && buffers == [ANSWER; 67]
    },
);

/// The kernels of CTR over many messages.
pub static CTR_LANES: Table<CtrLanesOps> = Table::new(
    algorithm("camellia-ctr-lanes", "RFC 5528; SP 800-38A §6.5"),
    &[
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI_512,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER[0], apply: arch::x86_64_gfni::ctr_lanes_512 },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI_256,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER[0], apply: arch::x86_64_gfni::ctr_lanes_256 },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: AESNI,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER[1], apply: arch::x86_64_aesni::ctr_lanes },
        },
        #[cfg(target_arch = "aarch64")]
        Row {
            kernel: AARCH64,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER[1], apply: arch::aarch64_ce::ctr_lanes },
        },
        Row { kernel: DIRECT, ops: CtrLanesOps { crossover: Crossover::NEVER, apply: apply_each } },
    ],
    |kernel| {
        let key = Ctr::new(Features::hardware(), &KEY).expect("sixteen bytes");
        let mut buffers = [[0; 16]; 67];
        let mut jobs =
            buffers.each_mut().map(|b| CtrJob { key: &key, counter: KEY, data: InOut::in_place(b) });
        CtrLanes::with_kernel(kernel).apply(&mut jobs.each_mut());
        buffers == [ANSWER; 67]
    },
);

fn encrypt_each(jobs: &mut [&mut CbcJob<'_>]) {
    for job in jobs {
        job.key.encrypt(&mut job.iv, job.data.reborrow());
    }
}

fn apply_each(jobs: &mut [&mut CtrJob<'_>]) {
    for job in jobs {
        let mut stream =
            ByteStream::new(job.key, &job.counter, Direction::Encrypt).expect("a counter block of 16 bytes");
        stream.update(job.data.reborrow());
    }
}

/// Separates the jobs by the number of groups of rounds that their keys have, 3 or 4, and sorts each
/// part with the longest first. `what` returns the groups and the length of a job.
fn arrange<'j, 'm, J>(
    jobs: &'j mut [&'m mut J],
    what: impl Fn(&J) -> (usize, usize),
) -> [&'j mut [&'m mut J]; 2] {
    let order = |job: &&mut J| {
        let (groups, length) = what(job);
        (groups, Reverse(length))
    };
    if !jobs.is_sorted_by_key(order) {
        jobs.sort_unstable_by_key(order);
    }
    let at = jobs.partition_point(|job| what(job).0 == 3);
    jobs.split_at_mut(at).into()
}

/// CBC encryption of many messages at once. (In decryption a block does not wait for the one before,
/// so the direct kernels pass many blocks of one message side by side.)
#[derive(Clone, Copy, Debug)]
pub struct CbcLanes {
    kernel: Bound<CbcLanesOps>,
}

impl CbcLanes {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        CbcLanes::with_kernel(CBC_LANES.best(features))
    }

    /// The kernel given.
    pub fn with_kernel(kernel: Bound<CbcLanesOps>) -> Self {
        CbcLanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of messages for which lanes are used, by their length.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Encrypts every message and leaves its last ciphertext block in `iv`. The call may reorder the
    /// jobs.
    ///
    /// # Panics
    /// When a message is not whole blocks; nothing is encrypted then.
    pub fn encrypt(&self, jobs: &mut [&mut CbcJob<'_>]) {
        for job in jobs.iter() {
            super::whole_blocks(&job.data);
        }
        let crossover = self.crossover();
        for jobs in arrange(jobs, |job| (job.key.schedule.encrypt.groups, job.data.len())) {
            match jobs.first() {
                Some(longest) if jobs.len() >= crossover.objects(longest.data.len()) => {
                    // SAFETY: `kernel` is a `Bound`.
                    unsafe { (self.kernel.ops().encrypt)(jobs) }
                }
                _ => encrypt_each(jobs),
            }
        }
    }
}

/// CTR over many messages at once.
#[derive(Clone, Copy, Debug)]
pub struct CtrLanes {
    kernel: Bound<CtrLanesOps>,
}

impl CtrLanes {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        CtrLanes::with_kernel(CTR_LANES.best(features))
    }

    /// The kernel given.
    pub fn with_kernel(kernel: Bound<CtrLanesOps>) -> Self {
        CtrLanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of messages for which lanes are used, by their length.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Encrypts or decrypts every message, and may reorder the jobs.
    pub fn apply(&self, jobs: &mut [&mut CtrJob<'_>]) {
        let crossover = self.crossover();
        for jobs in arrange(jobs, |job| (job.key.schedule.encrypt.groups, job.data.len())) {
            // Long messages are faster alone. They are taken out, so that the short ones can still
            // share lanes.
            let short = jobs.partition_point(|job| crossover.objects(job.data.len()) > jobs.len());
            let (long, short) = jobs.split_at_mut(short);
            apply_each(long);
            match short.first() {
                Some(longest) if short.len() >= crossover.objects(longest.data.len()) => {
                    // SAFETY: `kernel` is a `Bound`.
                    unsafe { (self.kernel.ops().apply)(short) }
                }
                _ => apply_each(short),
            }
        }
    }
}
