//! Many messages side by side, one in each lane: the hashes' lane managers.
//!
//! A row of `MD5_LANES`, `SHA1_LANES`, `SHA256_LANES`, `SHA512_LANES` or of SHA-3's tables hashes, and signs with HMAC,
//! any number of messages in one call.
//!
//! # Safety
//! A row's functions may need processor features. They are called through the [`Bound`](crate::Bound)
//! that proves they are there.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::Features;

use super::chain::{Chain, Chaining, CompressOps};
use super::family::{Family, Hash, each, family};
use super::job::{HashJob, LanesOps, Side, digest_direct, pays};
use crate::md5::{MD5, MD5_LANES};
use crate::sha1::{SHA1, SHA1_LANES};
use crate::sha3::{
    SHA3_224, SHA3_224_LANES, SHA3_256, SHA3_256_LANES, SHA3_384, SHA3_384_LANES, SHA3_512, SHA3_512_LANES,
};
use crate::sha256::{SHA256, SHA256_LANES};
use crate::sha512::{SHA512, SHA512_LANES};
use crate::{Crossover, Kernel, Table};

/// The lane kernels of a hash's family.
pub(crate) type Sides = family!(Side, Side);

impl Sides {
    /// Returns the sides of every lane kernel that `features` allow, best first.
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
            Hash::Sha3_224 => {
                all(Tables { direct: &SHA3_224, lanes: &SHA3_224_LANES }, features, hash, Family::Sha3_224)
            }
            Hash::Sha3_256 => {
                all(Tables { direct: &SHA3_256, lanes: &SHA3_256_LANES }, features, hash, Family::Sha3_256)
            }
            Hash::Sha3_384 => {
                all(Tables { direct: &SHA3_384, lanes: &SHA3_384_LANES }, features, hash, Family::Sha3_384)
            }
            Hash::Sha3_512 => {
                all(Tables { direct: &SHA3_512, lanes: &SHA3_512_LANES }, features, hash, Family::Sha3_512)
            }
        }
    }

    /// Returns the side of the best lane kernel.
    pub(crate) fn best(features: Features, hash: Hash) -> Self {
        Sides::available(features, hash)[0]
    }

    /// Returns the side of the lane kernel of that name.
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
    /// Makes a manager with the fastest kernel that `features` allow.
    pub fn new(features: Features, hash: Hash) -> Self {
        HashLanes { sides: Sides::best(features, hash) }
    }

    /// Returns a manager for every lane kernel that `features` allow, best first.
    pub fn available(features: Features, hash: Hash) -> Vec<Self> {
        Sides::available(features, hash).into_iter().map(|sides| HashLanes { sides }).collect()
    }

    /// Returns a manager with the lane kernel of that name, if `features` allow it.
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

    /// Returns the least number of messages for which the lanes are used.
    pub fn crossover(&self) -> Crossover {
        each!(&self.sides, side => side.lanes.ops().crossover)
    }

    /// Writes every job's digest, and may reorder the references.
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
