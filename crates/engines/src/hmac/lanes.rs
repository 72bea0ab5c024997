//! Many messages signed side by side, with one key or with a key each.
//!
//! Ref. RFC 2104 §2 and §4.
//!
//! # Safety
//! The promise of the hashes' lanes holds here too: a row's functions are called through the
//! [`Bound`](crate::Bound) that proves that their features are there.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::Features;

use super::job::HmacJob;
use crate::hash::job::{Job, Length, Side, pays};
use crate::hash::lanes::Sides;
use crate::hash::{Chain, Digest, Family, Hash, each};
use crate::{Crossover, Kernel, md5, sha1, sha3, sha256, sha512};

/// Signs many messages at once.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::Hash;
/// use millstream_engines::hmac::{HmacJob, HmacKey, HmacLanes};
///
/// let features = Features::hardware();
/// let key = HmacKey::new(features, Hash::Sha256, b"Jefe");
/// let mut jobs = [HmacJob::new(&key, b"what do ya want for nothing?"), HmacJob::new(&key, b"")];
/// HmacLanes::new(features, Hash::Sha256).sign(&mut jobs.each_mut());
/// assert_eq!(jobs[0].tag[..4], [0x5b, 0xdc, 0xc1, 0x46]);
/// // What was received is compared with what it should be.
/// jobs[0].verify(&[0x5b, 0xdc, 0xc1, 0x46])?;
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct HmacLanes {
    sides: Sides,
}

impl HmacLanes {
    /// Makes a manager with the fastest kernel that `features` allow.
    pub fn new(features: Features, hash: Hash) -> Self {
        HmacLanes { sides: Sides::best(features, hash) }
    }

    /// Returns a manager for every lane kernel that `features` allow, best first.
    pub fn available(features: Features, hash: Hash) -> Vec<Self> {
        Sides::available(features, hash).into_iter().map(|sides| HmacLanes { sides }).collect()
    }

    /// Returns a manager with the lane kernel of that name, if `features` allow it.
    pub fn named(features: Features, hash: Hash, name: &str) -> Option<Self> {
        Sides::named(features, hash, name).map(|sides| HmacLanes { sides })
    }

    /// The hash.
    pub fn hash(&self) -> Hash {
        self.sides.hash()
    }

    /// The lane kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.sides.kernel()
    }

    /// Returns the least number of messages for which the lanes are used.
    pub fn crossover(&self) -> Crossover {
        each!(&self.sides, side => side.lanes.ops().hmac_crossover)
    }

    /// Writes every job's tag, and may reorder the references.
    ///
    /// # Panics
    /// When a key is of another hash.
    #[inline]
    pub fn sign(&self, jobs: &mut [&mut HmacJob<'_>]) {
        let hash = self.hash();
        assert!(jobs.iter().all(|job| job.key.hash == hash), "a key of another hash");
        each!(&self.sides, side => {
            let ops = side.lanes.ops();
            if pays(&ops.hmac_crossover, jobs) {
                // SAFETY: `side.lanes` is the proof that the features of its functions are there.
                unsafe { (ops.sign)(side, jobs) }
            } else {
                sign_direct(side, jobs);
            }
        });
    }
}

impl fmt::Debug for HmacLanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HMAC, {} on {}", self.hash(), self.kernel().name)
    }
}

impl Length for HmacJob<'_> {
    #[inline(always)]
    fn bytes(&self) -> usize {
        self.data.len()
    }
}

/// Signs one message after another, each with its key's own kernel.
pub(crate) fn sign_direct<S, const BLOCK: usize>(_: &Side<S, BLOCK>, jobs: &mut [&mut HmacJob<'_>]) {
    for job in jobs {
        job.tag = job.key.sign(job.data);
    }
}

/// A job of the lanes, for each of the compression functions.
macro_rules! job {
    ($family:ident $state:ty, $block:expr) => {
        impl Job<$state, { $block }> for HmacJob<'_> {
            const KEYED: bool = true;

            #[inline(always)]
            fn data(&self) -> &[u8] {
                self.data
            }

            #[inline(always)]
            fn inner<'a>(&'a self, _: &'a Side<$state, { $block }>) -> &'a Chain<$state, { $block }> {
                &pair!(self, $family).inner
            }

            #[inline(always)]
            fn outer<'a>(&'a self, _: &'a Side<$state, { $block }>) -> &'a $state {
                &pair!(self, $family).outer
            }

            #[inline(always)]
            fn answer(&mut self) -> &mut Digest {
                &mut self.tag
            }

            fn one_by_one(side: &Side<$state, { $block }>, jobs: &mut [&mut Self]) {
                sign_direct(side, jobs);
            }
        }
    };
}

macro_rules! pair {
    ($job:ident, $family:ident) => {
        match &$job.key.pair {
            Family::$family(pair) => pair,
            _ => unreachable!("the lanes are entered with keys of their hash"),
        }
    };
}

job!(Md5 md5::State, md5::BLOCK);
job!(Sha1 sha1::State, sha1::BLOCK);
job!(Sha256 sha256::State, sha256::BLOCK);
job!(Sha512 sha512::State, sha512::BLOCK);
job!(Sha3_224 sha3::State, sha3::RATE_224);
job!(Sha3_256 sha3::State, sha3::RATE_256);
job!(Sha3_384 sha3::State, sha3::RATE_384);
job!(Sha3_512 sha3::State, sha3::RATE_512);
