//! Many messages through f8 or f9 at once, each under a key of its own.
//!
//! Both modes are chains, so one message alone keeps a processor waiting, and many side by side do
//! not.
//!
//! Ref. TS 35.201 §3 (f8), §4 (f9).
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists only
//! where they do.
#![allow(unsafe_code)]

use millstream_cpu::{FeatureSet, Features};

#[cfg(target_arch = "x86_64")]
use super::arch;
use super::job::{F8Job, F8LanesOps, F9Job, F9LanesOps};
use super::{F8, F9, SELF_TEST_KEY, check_f8, check_f9};
use crate::{AlgorithmInfo, Bound, Crossover, InOut, Kernel, Row, Standing, Table, Timing};

#[cfg(target_arch = "x86_64")]
const AVX512: Kernel = Kernel {
    name: "x86_64-avx512vbmi-x64",
    requires: arch::x86_64_vbmi::REQUIRES,
    timing: Timing::Constant,
    note: "each byte of 64 blocks in one register; S7 and S9 by byte permutes of 128 entries and GFNI",
};

#[cfg(target_arch = "x86_64")]
const AVX2: Kernel = Kernel {
    name: "x86_64-avx2-x32",
    requires: arch::x86_64_lanes256::REQUIRES,
    timing: Timing::Constant,
    note: "each byte of 32 blocks in one register; S7 and S9 by byte shuffles, sixteen entries at a time",
};

/// The crossover of the AVX2 row. A processor for which it is picked has the portable direct kernel.
#[cfg(target_arch = "x86_64")]
const CROSSOVER_256: Crossover = Crossover(&[(usize::MAX, 2)]);

/// The crossover as measured on Zen 4: two messages take as long as one after another, at 16 bytes
/// and at 1,024.
#[cfg(target_arch = "x86_64")]
const CROSSOVER_512: Crossover = Crossover(&[(usize::MAX, 3)]);

/// The row without lanes, which both tables end with.
const DIRECT: Kernel = Kernel {
    name: "direct-x1",
    requires: FeatureSet::EMPTY,
    timing: Timing::Constant,
    note: "one after another, each on its key's own kernel",
};

/// The kernels of f8 over many messages.
pub static UEA1_LANES: Table<F8LanesOps> = Table::new(
    AlgorithmInfo {
        name: "kasumi-f8-lanes",
        standing: Standing::Telecom,
        standard: "TS 35.201 §3",
        key_bits: &[128],
    },
    &[
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: AVX512,
            ops: F8LanesOps { crossover: CROSSOVER_512, apply: arch::x86_64_lanes512::f8 },
        },
        #[cfg(target_arch = "x86_64")]
        Row { kernel: AVX2, ops: F8LanesOps { crossover: CROSSOVER_256, apply: arch::x86_64_lanes256::f8 } },
        Row { kernel: DIRECT, ops: F8LanesOps { crossover: Crossover::NEVER, apply: apply_each } },
    ],
    |kernel| {
        // TS 35.203 §3.4, the first twelve bytes of test set 1, in every lane and some more.
        let mut buffers = [[0x7e, 0xc6, 0x12, 0x72, 0x74, 0x3b, 0xf1, 0x61, 0x47, 0x26, 0x44, 0x6a]; 67];
        let key = F8::new(Features::hardware(), &SELF_TEST_KEY).expect("sixteen bytes");
        let mut jobs = buffers
            .each_mut()
            .map(|buffer| F8Job::new(&key, 0x72a4_f20f, 0x0c, 1, InOut::in_place(buffer), 8 * 12));
        F8Lanes::with_kernel(kernel).apply(&mut jobs.each_mut());
        jobs.iter().all(|job| job.result.is_ok())
            && buffers == [[0xd1, 0xe2, 0xde, 0x70, 0xee, 0xf8, 0x6c, 0x69, 0x64, 0xfb, 0x54, 0x2b]; 67]
    },
);

/// The kernels of f9 over many messages.
pub static UIA1_LANES: Table<F9LanesOps> = Table::new(
    AlgorithmInfo {
        name: "kasumi-f9-lanes",
        standing: Standing::Telecom,
        standard: "TS 35.201 §4",
        key_bits: &[128],
    },
    &[
        #[cfg(target_arch = "x86_64")]
        Row { kernel: AVX512, ops: F9LanesOps { crossover: CROSSOVER_512, mac: arch::x86_64_lanes512::f9 } },
        #[cfg(target_arch = "x86_64")]
        Row { kernel: AVX2, ops: F9LanesOps { crossover: CROSSOVER_256, mac: arch::x86_64_lanes256::f9 } },
        Row { kernel: DIRECT, ops: F9LanesOps { crossover: Crossover::NEVER, mac: mac_each } },
    ],
    |kernel| {
        // TS 35.203 §4.4, test set 1, in every lane and some more.
        let message = [
            0x6b, 0x22, 0x77, 0x37, 0x29, 0x6f, 0x39, 0x3c, 0x80, 0x79, 0x35, 0x3e, 0xdc, 0x87, 0xe2, 0xe8,
            0x05, 0xd2, 0xec, 0x49, 0xa4, 0xf2, 0xd8, 0xe0,
        ];
        let key = F9::new(Features::hardware(), &SELF_TEST_KEY).expect("sixteen bytes");
        let mut jobs = [(); 67].map(|()| F9Job::new(&key, 0x38a6_f056, 0x05d2_ec49, 0, &message, 189));
        F9Lanes::with_kernel(kernel).mac(&mut jobs.each_mut());
        jobs.iter().all(|job| job.result == Ok([0xf6, 0x3b, 0xd7, 0x2c]))
    },
);

fn apply_each(jobs: &mut [&mut F8Job<'_>]) {
    for job in jobs {
        job.result = job.key.apply_iv(job.first_block(), job.data.reborrow(), job.bits);
    }
}

fn mac_each(jobs: &mut [&mut F9Job<'_>]) {
    for job in jobs {
        job.result = job.key.mac(job.count, job.fresh, job.direction, job.message, job.bits);
    }
}

/// Returns the jobs that `check` finds good, put first and sorted by `length` with the longest first.
/// The jobs that end last begin first, and neighbours end together.
fn sort_out<'j, 'm, J>(
    jobs: &'j mut [&'m mut J],
    check: impl Fn(&mut J) -> bool,
    length: impl Fn(&J) -> usize,
) -> &'j mut [&'m mut J] {
    let (mut good, mut sorted, mut before) = (0, true, usize::MAX);
    for i in 0..jobs.len() {
        if check(jobs[i]) {
            let length = length(jobs[i]);
            sorted &= length <= before;
            before = length;
            jobs.swap(good, i);
            good += 1;
        }
    }
    let jobs = &mut jobs[..good];
    if !sorted {
        jobs.sort_unstable_by_key(|job| std::cmp::Reverse(length(job)));
    }
    jobs
}

/// f8 over many messages at once.
#[derive(Clone, Copy, Debug)]
pub struct F8Lanes {
    kernel: Bound<F8LanesOps>,
}

impl F8Lanes {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        F8Lanes::with_kernel(UEA1_LANES.best(features))
    }

    /// The kernel given.
    pub fn with_kernel(kernel: Bound<F8LanesOps>) -> Self {
        F8Lanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of messages for which lanes are used, by their length.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Enciphers or deciphers every message, as [`F8::apply`] does. An error in one message is in its
    /// result and does not touch the others. The call may reorder the jobs.
    pub fn apply(&self, jobs: &mut [&mut F8Job<'_>]) {
        let check = |job: &mut F8Job<'_>| {
            job.result = check_f8(job.bearer, job.direction, job.data.len(), job.bits);
            job.result.is_ok()
        };
        let jobs = sort_out(jobs, check, |job| job.bits);
        match jobs.first() {
            None => (),
            Some(longest) if jobs.len() >= self.crossover().objects(longest.data.len()) => {
                // SAFETY: `kernel` is a `Bound`.
                unsafe { (self.kernel.ops().apply)(jobs) }
            }
            Some(_) => apply_each(jobs),
        }
    }
}

/// f9 over many messages at once.
#[derive(Clone, Copy, Debug)]
pub struct F9Lanes {
    kernel: Bound<F9LanesOps>,
}

impl F9Lanes {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        F9Lanes::with_kernel(UIA1_LANES.best(features))
    }

    /// The kernel given.
    pub fn with_kernel(kernel: Bound<F9LanesOps>) -> Self {
        F9Lanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of messages for which lanes are used, by their length.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Computes the code of every message, as [`F9::mac`] does. An error in one message is in its
    /// result and does not touch the others. The call may reorder the jobs.
    pub fn mac(&self, jobs: &mut [&mut F9Job<'_>]) {
        let check = |job: &mut F9Job<'_>| {
            job.result = check_f9(job.direction, job.message.len(), job.bits).map(|()| [0; 4]);
            job.result.is_ok()
        };
        let jobs = sort_out(jobs, check, |job| job.bits);
        match jobs.first() {
            None => (),
            Some(longest) if jobs.len() >= self.crossover().objects(longest.message.len()) => {
                // SAFETY: `kernel` is a `Bound`.
                unsafe { (self.kernel.ops().mac)(jobs) }
            }
            Some(_) => mac_each(jobs),
        }
    }
}
