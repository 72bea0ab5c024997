//! One message's work for the lanes of a hash, and the parts of the rows of lane kernels.
//!
//! A row does the same work in a lane for a hash and for HMAC. An HMAC begins with the chaining value of
//! its key, and ends with one block more.
//!
//! # Safety
//! A row's functions may need processor features. They are called through the [`Bound`] that proves
//! they are there.
#![allow(unsafe_code)]

use millstream_cpu::{FeatureSet, Features};

use super::chain::{Chain, Chaining, CompressOps};
use super::digest::Digest;
use super::family::Hash;
use crate::hmac::HmacJob;
use crate::{AlgorithmInfo, Bound, Crossover, Kernel, Row, Standing, Table, Timing};

/// A message to hash, and its digest after that.
#[derive(Debug)]
pub struct HashJob<'a> {
    /// The message.
    pub data: &'a [u8],
    /// The digest, empty before.
    pub digest: Digest,
}

impl<'a> HashJob<'a> {
    /// A message not hashed yet.
    #[inline(always)]
    pub const fn new(data: &'a [u8]) -> Self {
        HashJob { data, digest: Digest::EMPTY }
    }
}

/// The functions of a row of a hash's lanes. An entry's number of messages counts for messages of a
/// length in bytes.
#[derive(Debug)]
pub struct LanesOps<S: 'static, const BLOCK: usize> {
    /// The least number of messages that lanes hash faster than one message after another.
    pub(crate) crossover: Crossover,
    /// The least number of messages that lanes sign faster.
    pub(crate) hmac_crossover: Crossover,
    pub(crate) digest: unsafe fn(&Side<S, BLOCK>, &mut [&mut HashJob<'_>]),
    pub(crate) sign: unsafe fn(&Side<S, BLOCK>, &mut [&mut HmacJob<'_>]),
}

/// A lane kernel, and the direct kernel and chaining value with which each message begins.
pub(crate) struct Side<S: 'static, const BLOCK: usize> {
    pub(crate) hash: Hash,
    pub(crate) lanes: Bound<LanesOps<S, BLOCK>>,
    pub(crate) start: Chain<S, BLOCK>,
}

impl<S: Chaining, const BLOCK: usize> Clone for Side<S, BLOCK> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Chaining, const BLOCK: usize> Copy for Side<S, BLOCK> {}

/// A job of the lanes: a message, the state that it begins with, and the steps that follow.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no lanes but the direct row yet
pub(crate) trait Job<S: Chaining, const BLOCK: usize> {
    /// True if a hash of the digest follows.
    const KEYED: bool;

    fn data(&self) -> &[u8];

    /// Returns the chaining value and direct kernel with which the message begins.
    fn inner<'a>(&'a self, side: &'a Side<S, BLOCK>) -> &'a Chain<S, BLOCK>;

    /// Returns the chaining value of the outer hash, if there is one.
    fn outer<'a>(&'a self, side: &'a Side<S, BLOCK>) -> &'a S;

    fn answer(&mut self) -> &mut Digest;

    /// Works jobs off one after another, each with its direct kernel.
    fn one_by_one(side: &Side<S, BLOCK>, jobs: &mut [&mut Self]);
}

impl<S: Chaining, const BLOCK: usize> Job<S, BLOCK> for HashJob<'_> {
    const KEYED: bool = false;

    #[inline(always)]
    fn data(&self) -> &[u8] {
        self.data
    }

    #[inline(always)]
    fn inner<'a>(&'a self, side: &'a Side<S, BLOCK>) -> &'a Chain<S, BLOCK> {
        &side.start
    }

    #[inline(always)]
    fn outer<'a>(&'a self, side: &'a Side<S, BLOCK>) -> &'a S {
        &side.start.state
    }

    #[inline(always)]
    fn answer(&mut self) -> &mut Digest {
        &mut self.digest
    }

    fn one_by_one(side: &Side<S, BLOCK>, jobs: &mut [&mut Self]) {
        digest_direct(side, jobs);
    }
}

/// Returns true if lanes take less time than the direct kernel for so many jobs of their average length.
#[inline(always)]
pub(crate) fn pays<J: Length>(crossover: &Crossover, jobs: &[&mut J]) -> bool {
    if jobs.len() < 2 {
        return false;
    }
    if jobs.len() >= FEW {
        return crossover.objects(0) != usize::MAX;
    }
    let bytes: usize = jobs.iter().map(|job| job.bytes()).sum();
    jobs.len() >= crossover.objects(bytes / jobs.len())
}

/// A number of messages for which every row with lanes pays, whatever their lengths.
const FEW: usize = 16;

/// Bytes to hash.
pub(crate) trait Length {
    fn bytes(&self) -> usize;
}

impl Length for HashJob<'_> {
    #[inline(always)]
    fn bytes(&self) -> usize {
        self.data.len()
    }
}

/// Hashes one message after another.
pub(crate) fn digest_direct<S: Chaining, const BLOCK: usize>(
    side: &Side<S, BLOCK>,
    jobs: &mut [&mut HashJob<'_>],
) {
    for job in jobs {
        job.digest = Digest::new(side.hash, &side.start.digest(0, job.data));
    }
}

/// The table of a hash's lane kernels.
pub(crate) const fn table<S, const BLOCK: usize>(
    name: &'static str,
    standing: Standing,
    standard: &'static str,
    rows: &'static [Row<LanesOps<S, BLOCK>>],
    known_answer: fn(Bound<LanesOps<S, BLOCK>>) -> bool,
) -> Table<LanesOps<S, BLOCK>> {
    Table::new(AlgorithmInfo { name, standing, standard, key_bits: &[] }, rows, known_answer)
}

/// One row of such a table.
pub(crate) const fn row<S, const BLOCK: usize>(
    name: &'static str,
    requires: FeatureSet,
    ops: LanesOps<S, BLOCK>,
    note: &'static str,
) -> Row<LanesOps<S, BLOCK>> {
    Row { kernel: Kernel { name, requires, timing: Timing::Constant, note }, ops }
}

/// The row for every processor.
macro_rules! direct_row {
    () => {
        $crate::hash::job::row(
            "direct-x1",
            millstream_cpu::FeatureSet::EMPTY,
            $crate::hash::job::LanesOps {
                crossover: $crate::Crossover::NEVER,
                hmac_crossover: $crate::Crossover::NEVER,
                digest: $crate::hash::job::digest_direct,
                sign: $crate::hmac::sign_direct,
            },
            "one message after another on the best direct kernel",
        )
    };
}
pub(crate) use direct_row;

/// Hashes so many messages "abc" that every lane of every kernel has one. Returns true if all digests
/// are right.
pub(crate) fn known_answer<S: Chaining, const BLOCK: usize>(
    lanes: Bound<LanesOps<S, BLOCK>>,
    direct: &'static Table<CompressOps<S, BLOCK>>,
    hash: Hash,
    abc: &[u8],
) -> bool {
    const MOST: usize = 32;
    let side =
        Side { hash, lanes, start: Chain { kernel: direct.best(Features::none()), state: S::initial(hash) } };
    let mut jobs = [const { HashJob::new(b"abc") }; MOST];
    // SAFETY: `lanes` is the proof that the features of its functions are there.
    unsafe { (lanes.ops().digest)(&side, &mut jobs.each_mut()) };
    jobs.iter().all(|job| *job.digest == *abc)
}
