//! Many messages side by side, one in each lane: the hashes' lane managers.
//!
//! A row of `MD5_LANES`, `SHA1_LANES`, `SHA256_LANES` or `SHA512_LANES` hashes, and signs with HMAC,
//! any number of messages in one call. What it does in a lane is the same for both: an HMAC begins
//! with the chaining value of its key, and ends with one block more.
//!
//! # Safety
//! A row's functions may need processor features. They are called through the [`Bound`] that proves
//! they are there.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::{FeatureSet, Features};

use super::chain::{Chain, Chaining};
use super::{CompressOps, Digest, Family, Hash, each};
use crate::hmac::HmacJob;
use crate::kernel::{Algorithm, Standing};
use crate::md5::{self, MD5, MD5_LANES};
use crate::sha1::{self, SHA1, SHA1_LANES};
use crate::sha256::{self, SHA256, SHA256_LANES};
use crate::sha512::{self, SHA512, SHA512_LANES};
use crate::{Bound, Crossover, Kernel, Row, Table, Timing};

/// A message to hash, and its digest once that is done.
#[derive(Debug)]
pub struct HashJob<'a> {
    /// The message.
    pub data: &'a [u8],
    /// Empty before.
    pub digest: Digest,
}

impl<'a> HashJob<'a> {
    /// A message not hashed yet.
    #[inline(always)]
    pub const fn new(data: &'a [u8]) -> Self {
        HashJob { data, digest: Digest::EMPTY }
    }
}

/// What a row of a hash's lanes offers. An entry's number of messages counts for messages of a
/// length in bytes.
#[derive(Debug)]
pub struct LanesOps<S: 'static, const BLOCK: usize> {
    /// From how many messages on lanes hash faster than one message after another.
    pub(crate) crossover: Crossover,
    /// The same for signing.
    pub(crate) hmac_crossover: Crossover,
    pub(crate) digest: unsafe fn(&Side<S, BLOCK>, &mut [&mut HashJob<'_>]),
    pub(crate) sign: unsafe fn(&Side<S, BLOCK>, &mut [&mut HmacJob<'_>]),
}

/// A lane kernel, and where and with which direct kernel each message begins.
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

pub(crate) type Sides = Family<
    Side<md5::State, { md5::BLOCK }>,
    Side<sha1::State, { sha1::BLOCK }>,
    Side<sha256::State, { sha256::BLOCK }>,
    Side<sha512::State, { sha512::BLOCK }>,
>;

impl Sides {
    /// Those of every lane kernel that `features` allow, best first.
    pub(crate) fn available(features: Features, hash: Hash) -> Vec<Self> {
        fn all<S: Chaining, const BLOCK: usize>(
            tables: Tables<S, BLOCK>,
            features: Features,
            hash: Hash,
            family: fn(Side<S, BLOCK>) -> Sides,
        ) -> Vec<Sides> {
            let start = Chain { kernel: tables.direct.best(features), state: S::initial(hash) };
            tables.lanes.available(features).map(|lanes| family(Side { hash, lanes, start })).collect()
        }
        match hash {
            Hash::Md5 => all(Tables { direct: &MD5, lanes: &MD5_LANES }, features, hash, Family::Md5),
            Hash::Sha1 => all(Tables { direct: &SHA1, lanes: &SHA1_LANES }, features, hash, Family::Sha1),
            Hash::Sha224 | Hash::Sha256 => {
                all(Tables { direct: &SHA256, lanes: &SHA256_LANES }, features, hash, Family::Sha256)
            }
            Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => {
                all(Tables { direct: &SHA512, lanes: &SHA512_LANES }, features, hash, Family::Sha512)
            }
        }
    }

    /// That of the best lane kernel.
    pub(crate) fn best(features: Features, hash: Hash) -> Self {
        Sides::available(features, hash)[0]
    }

    /// That of the lane kernel of that name.
    pub(crate) fn named(features: Features, hash: Hash, name: &str) -> Option<Self> {
        Sides::available(features, hash).into_iter().find(|side| side.kernel().name == name)
    }

    pub(crate) fn kernel(&self) -> &'static Kernel {
        each!(self, side => side.lanes.kernel())
    }

    pub(crate) fn hash(&self) -> Hash {
        each!(self, side => side.hash)
    }
}

struct Tables<S: 'static, const BLOCK: usize> {
    direct: &'static Table<CompressOps<S, BLOCK>>,
    lanes: &'static Table<LanesOps<S, BLOCK>>,
}

/// Hashes many messages at once.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::{Hash, HashJob, HashLanes};
///
/// let lanes = HashLanes::new(Features::hardware(), Hash::Sha256);
/// let mut jobs = [HashJob::new(b"abc"), HashJob::new(b"")];
/// let [first, second] = &mut jobs;
/// lanes.digest(&mut [first, second]);
/// assert_eq!(jobs[0].digest[..4], [0xba, 0x78, 0x16, 0xbf]);
/// assert_eq!(jobs[1].digest[..4], [0xe3, 0xb0, 0xc4, 0x42]);
/// ```
#[derive(Clone, Copy)]
pub struct HashLanes {
    sides: Sides,
}

impl HashLanes {
    /// With the fastest kernel that `features` allow.
    pub fn new(features: Features, hash: Hash) -> Self {
        HashLanes { sides: Sides::best(features, hash) }
    }

    /// One for every lane kernel that `features` allow, best first.
    pub fn available(features: Features, hash: Hash) -> Vec<Self> {
        Sides::available(features, hash).into_iter().map(|sides| HashLanes { sides }).collect()
    }

    /// With the lane kernel of that name, if `features` allow it.
    pub fn named(features: Features, hash: Hash, name: &str) -> Option<Self> {
        Sides::named(features, hash, name).map(|sides| HashLanes { sides })
    }

    /// The hash.
    pub fn hash(&self) -> Hash {
        self.sides.hash()
    }

    /// The lane kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.sides.kernel()
    }

    /// From how many messages on it is used.
    pub fn crossover(&self) -> Crossover {
        each!(&self.sides, side => side.lanes.ops().crossover)
    }

    /// Writes every job's digest. The references may be in another order afterwards.
    #[inline]
    pub fn digest(&self, jobs: &mut [&mut HashJob<'_>]) {
        each!(&self.sides, side => {
            let ops = side.lanes.ops();
            if pays(&ops.crossover, jobs) {
                // SAFETY: `side.lanes` is the proof that the features of its functions are there.
                unsafe { (ops.digest)(side, jobs) }
            } else {
                digest_direct(side, jobs);
            }
        });
    }
}

impl fmt::Debug for HashLanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.hash(), self.kernel().name)
    }
}

/// A job of the lanes: a message, what it begins with and what comes after.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no lanes but the direct row yet
pub(crate) trait Job<S: Chaining, const BLOCK: usize> {
    /// Whether a hash of the digest follows.
    const KEYED: bool;

    fn data(&self) -> &[u8];

    /// The chaining value and direct kernel with which the message begins.
    fn inner<'a>(&'a self, side: &'a Side<S, BLOCK>) -> &'a Chain<S, BLOCK>;

    /// The chaining value of the outer hash, where there is one.
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

/// Whether lanes take less time than the direct kernel for so many jobs, of their length on average.
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

/// No row needs so many messages to pay, so that their lengths are of no interest.
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
    Table::new(Algorithm { name, standing, standard, key_bits: &[] }, rows, known_answer)
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
        $crate::hash::lanes::row(
            "direct-x1",
            millstream_cpu::FeatureSet::EMPTY,
            $crate::hash::lanes::LanesOps {
                crossover: $crate::Crossover::NEVER,
                hmac_crossover: $crate::Crossover::NEVER,
                digest: $crate::hash::lanes::digest_direct,
                sign: $crate::hmac::lanes::sign_direct,
            },
            "one message after another on the best direct kernel",
        )
    };
}
pub(crate) use direct_row;

/// Hashes so many messages "abc" that every lane of every kernel has one; whether all digests are
/// right.
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
