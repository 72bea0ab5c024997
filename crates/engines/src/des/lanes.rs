//! Many messages at a time, each under its own key. CBC, CFB encryption and the MAC are chains, and
//! many chains fill the lanes that a single one leaves empty.
//!
//! Ref. FIPS 81 and NIST SP 800-38A §6.2 (CBC), §6.3 (CFB with 64-bit segments); FIPS 113 (the MAC).
//!
//! The messages are sorted with the longest first, and go in waves as wide as the kernel, see
//! `side_by_side.rs`. Triple DES and DES go separately.
//!
//! # Safety
//! The entry points need their kernel's features; the managers hold a [`Bound`], the proof that
//! they exist, and are the only callers.
#![allow(unsafe_code)]

use millstream_cpu::{FeatureSet, Features};

use super::job::{CbcJob, CfbJob, Job, LanesOps, MacJob, direct, direct_decrypt};
use super::ops::BLOCK;
use super::{CBC_LANES, CFB_LANES, MAC_LANES};
use crate::kernel::{Bound, Kernel, Row, Timing};
use crate::lanes::Crossover;

/// The kernel without lanes.
pub(super) const DIRECT: Row<LanesOps> = Row {
    kernel: Kernel {
        name: "direct-x1",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "one message after another on its key's own kernel",
    },
    ops: LanesOps {
        crossover: Crossover::NEVER,
        cbc: |jobs| direct(jobs),
        cfb: |jobs| direct(jobs),
        mac: |jobs| direct(jobs),
        cbc_decrypt: direct_decrypt,
    },
};

/// Puts the jobs into the order that the kernels take, and calls `run` for those of triple DES and
/// for those of DES.
fn in_order<'k, J: Job<'k>>(jobs: &mut [&mut J], mut run: impl FnMut(&mut [&mut J])) {
    let order = |job: &&mut J| (job.keyed().schedule().rounds(), job.len());
    if !jobs.is_sorted_by(|a, b| order(a) >= order(b)) {
        jobs.sort_unstable_by_key(|job| std::cmp::Reverse(order(job)));
    }
    let triple = match jobs {
        [first, .., last] if order(first).0 != order(last).0 => {
            jobs.partition_point(|job| order(job).0 == order(&jobs[0]).0)
        }
        _ => jobs.len(),
    };
    let (triple, single) = jobs.split_at_mut(triple);
    run(triple);
    if !single.is_empty() {
        run(single);
    }
}

macro_rules! manager {
    ($(#[$doc:meta])* $lanes:ident $job:ident, $table:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $lanes {
            kernel: Bound<LanesOps>,
        }

        impl $lanes {
            /// The best kernel that `features` allow.
            pub fn new(features: Features) -> Self {
                Self::with_kernel($table.best(features))
            }

            /// A kernel of choice.
            pub fn with_kernel(kernel: Bound<LanesOps>) -> Self {
                $lanes { kernel }
            }

            /// The kernel in use.
            pub fn kernel(&self) -> &'static Kernel {
                self.kernel.kernel()
            }

            /// Returns the least number of messages for which lanes take less time than the direct
            /// kernel for chains.
            pub fn crossover(&self) -> Crossover {
                self.kernel.ops().crossover
            }

            /// Returns true if there are so few jobs that one after another is faster.
            fn few(&self, jobs: &[&mut $job<'_>]) -> bool {
                let longest = jobs.iter().map(|job| job.len()).max().unwrap_or(0);
                jobs.len() < self.crossover().objects(longest)
            }
        }
    };
}

manager! {
    /// CBC of many messages at a time, under one key or many, of DES and triple DES.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::{InOut, des};
    ///
    /// let key = des::Cbc::new(Features::hardware(), b"K1 of 8.K2 of 8.K3 of 8.")?;
    /// let mut data = [*b"two blocks of 8."; 40];
    /// let mut jobs: Vec<_> = data
    ///     .iter_mut()
    ///     .map(|data| des::CbcJob { key: &key, iv: [0; 8], data: InOut::in_place(data) })
    ///     .collect();
    /// let mut jobs: Vec<_> = jobs.iter_mut().collect();
    /// des::CbcLanes::new(Features::hardware()).encrypt(&mut jobs);
    /// assert_ne!(&data[0], b"two blocks of 8.");
    /// assert_eq!(data[0], data[39]);
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    CbcLanes CbcJob, CBC_LANES
}
manager! {
    /// CFB encryption, with 64-bit feedback, of many messages at a time, as [`CbcLanes`].
    CfbLanes CfbJob, CFB_LANES
}
manager! {
    /// The DES MAC of many messages at a time, as [`CbcLanes`].
    MacLanes MacJob, MAC_LANES
}

impl CbcLanes {
    /// Encrypts every message, and may reorder the references.
    ///
    /// # Panics
    /// When a job's data is not whole blocks.
    pub fn encrypt(&self, jobs: &mut [&mut CbcJob<'_>]) {
        check_blocks(jobs);
        if self.few(jobs) {
            return direct(jobs);
        }
        // SAFETY: `kernel` is the proof of its features.
        in_order(jobs, |jobs| unsafe { (self.kernel.ops().cbc)(jobs) });
    }

    /// Decrypts every message, and may reorder the references.
    ///
    /// # Panics
    /// When a job's data is not whole blocks.
    pub fn decrypt(&self, jobs: &mut [&mut CbcJob<'_>]) {
        check_blocks(jobs);
        // SAFETY: `kernel` is the proof of its features.
        in_order(jobs, |jobs| unsafe { (self.kernel.ops().cbc_decrypt)(jobs) });
    }
}

impl CfbLanes {
    /// Encrypts every message, and may reorder the references.
    pub fn encrypt(&self, jobs: &mut [&mut CfbJob<'_>]) {
        if self.few(jobs) {
            return direct(jobs);
        }
        // SAFETY: `kernel` is the proof of its features.
        in_order(jobs, |jobs| unsafe { (self.kernel.ops().cfb)(jobs) });
    }
}

impl MacLanes {
    /// Writes each job's MAC, and may reorder the references.
    pub fn mac(&self, jobs: &mut [&mut MacJob<'_>]) {
        for job in jobs.iter_mut() {
            job.mac = [0; BLOCK];
        }
        if self.few(jobs) {
            return direct(jobs);
        }
        // SAFETY: `kernel` is the proof of its features.
        in_order(jobs, |jobs| unsafe { (self.kernel.ops().mac)(jobs) });
    }
}

fn check_blocks(jobs: &[&mut CbcJob<'_>]) {
    assert!(jobs.iter().all(|job| job.data.len().is_multiple_of(BLOCK)), "not whole blocks");
}
