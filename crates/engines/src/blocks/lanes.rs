//! Many messages in CBC or CTR at once, with equal or different keys.
//!
//! Ref. NIST SP 800-38A §6.2 (CBC), §6.5 (CTR).
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists only
//! where they do.
#![allow(unsafe_code)]

use std::cmp::Reverse;

use millstream_cpu::{FeatureSet, Features};

use super::job::{CbcJob, CbcLanesOps, CtrJob, CtrLanesOps};
use super::{Cipher, whole_blocks};
use crate::modes::{BlockMode, ByteStream, Direction};
use crate::{Bound, Crossover, Kernel, Row, Timing};

/// The row without lanes, which every table ends with.
const DIRECT: Kernel = Kernel {
    name: "direct-x1",
    requires: FeatureSet::EMPTY,
    timing: Timing::Constant,
    note: "one after another, each on its key's own kernel",
};

/// The last row of a table of CBC lanes.
pub(crate) const fn cbc_direct<C: Cipher>() -> Row<CbcLanesOps<C>> {
    Row { kernel: DIRECT, ops: CbcLanesOps { crossover: Crossover::NEVER, encrypt: encrypt_each } }
}

/// The last row of a table of CTR lanes.
pub(crate) const fn ctr_direct<C: Cipher>() -> Row<CtrLanesOps<C>> {
    Row { kernel: DIRECT, ops: CtrLanesOps { crossover: Crossover::NEVER, apply: apply_each } }
}

/// CBC encryption of many messages at once. (In decryption a block does not wait for the one before,
/// so the direct kernels pass many blocks of one message side by side.)
#[derive(Clone, Copy, Debug)]
pub struct CbcLanes<C: Cipher> {
    kernel: Bound<CbcLanesOps<C>>,
}

impl<C: Cipher> CbcLanes<C> {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        CbcLanes::with_kernel(C::TABLES.cbc_lanes.best(features))
    }

    /// The kernel given.
    pub fn with_kernel(kernel: Bound<CbcLanesOps<C>>) -> Self {
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
    pub fn encrypt(&self, jobs: &mut [&mut CbcJob<'_, C>]) {
        for job in jobs.iter() {
            whole_blocks(&job.data);
        }
        let crossover = self.crossover();
        arrange(jobs, |job| (job.key.schedule.encrypt.used, job.data.len()));
        for jobs in jobs.chunk_by_mut(|a, b| a.key.schedule.encrypt.used == b.key.schedule.encrypt.used) {
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
pub struct CtrLanes<C: Cipher> {
    kernel: Bound<CtrLanesOps<C>>,
}

impl<C: Cipher> CtrLanes<C> {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        CtrLanes::with_kernel(C::TABLES.ctr_lanes.best(features))
    }

    /// The kernel given.
    pub fn with_kernel(kernel: Bound<CtrLanesOps<C>>) -> Self {
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
    pub fn apply(&self, jobs: &mut [&mut CtrJob<'_, C>]) {
        let crossover = self.crossover();
        arrange(jobs, |job| (job.key.schedule.encrypt.used, job.data.len()));
        for jobs in jobs.chunk_by_mut(|a, b| a.key.schedule.encrypt.used == b.key.schedule.encrypt.used) {
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

/// Sorts the jobs by the number of subkeys that their keys have, and those of a number with the longest first. `what`
/// returns the number and the length of a job.
fn arrange<J>(jobs: &mut [&mut J], what: impl Fn(&J) -> (usize, usize)) {
    let order = |job: &&mut J| {
        let (subkeys, length) = what(job);
        (subkeys, Reverse(length))
    };
    if !jobs.is_sorted_by_key(order) {
        jobs.sort_unstable_by_key(order);
    }
}

fn encrypt_each<C: Cipher>(jobs: &mut [&mut CbcJob<'_, C>]) {
    for job in jobs {
        job.key.encrypt(&mut job.iv, job.data.reborrow());
    }
}

fn apply_each<C: Cipher>(jobs: &mut [&mut CtrJob<'_, C>]) {
    for job in jobs {
        let mut stream =
            ByteStream::new(job.key, &job.counter, Direction::Encrypt).expect("a counter block of 16 bytes");
        stream.update(job.data.reborrow());
    }
}
