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

use super::chain::{Chain, Chaining};
use super::family::{Family, Hash, each, family};
use super::job::{HashJob, Side, digest_direct, pays};
use crate::md5::{MD5, MD5_LANES};
use crate::sha1::{SHA1, SHA1_LANES};
use crate::sha3::{
    SHA3_224, SHA3_224_LANES, SHA3_256, SHA3_256_LANES, SHA3_384, SHA3_384_LANES, SHA3_512, SHA3_512_LANES,
};
use crate::sha256::{SHA256, SHA256_LANES};
use crate::sha512::{SHA512, SHA512_LANES};
use crate::{Crossover, Kernel};

/// The lane kernels of a hash's family.
pub(crate) type Sides = family!(Side, Side);

impl Sides {
    /// Returns the sides of every lane kernel that `features` allow, best first.
    pub(crate) fn available(features: Features, hash: Hash) -> Vec<Self> {
        Sides::pick(features, hash, |sides| sides.collect())
    }

    /// Returns the side of the best lane kernel.
    ///
    /// No list is made of the others: a side that is moved to the heap takes along, in the bytes that its family does not use,
    /// what lay on the stack, which may be a key that the caller has just expanded.
    pub(crate) fn best(features: Features, hash: Hash) -> Self {
        Sides::pick(features, hash, |sides| sides.next()).expect("a kernel that needs no features")
    }

    /// Returns the side of the lane kernel of that name.
    pub(crate) fn named(features: Features, hash: Hash, name: &str) -> Option<Self> {
        Sides::pick(features, hash, |mut sides| Iterator::find(&mut sides, |side| side.kernel().name == name))
    }

    /// Hands the sides of every lane kernel that `features` allow, best first, to `pick`.
    fn pick<R>(features: Features, hash: Hash, pick: impl FnOnce(&mut dyn Iterator<Item = Self>) -> R) -> R {
        macro_rules! of {
            ($direct:ident, $lanes:ident, $family:ident) => {{
                let start = Chain { kernel: $direct.best(features), state: Chaining::initial(hash) };
                pick(
                    &mut $lanes.available(features).map(|lanes| Family::$family(Side { hash, lanes, start })),
                )
            }};
        }
        match hash {
            Hash::Md5 => of!(MD5, MD5_LANES, Md5),
            Hash::Sha1 => of!(SHA1, SHA1_LANES, Sha1),
            Hash::Sha224 | Hash::Sha256 => of!(SHA256, SHA256_LANES, Sha256),
            Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => of!(SHA512, SHA512_LANES, Sha512),
            Hash::Sha3_224 => of!(SHA3_224, SHA3_224_LANES, Sha3_224),
            Hash::Sha3_256 => of!(SHA3_256, SHA3_256_LANES, Sha3_256),
            Hash::Sha3_384 => of!(SHA3_384, SHA3_384_LANES, Sha3_384),
            Hash::Sha3_512 => of!(SHA3_512, SHA3_512_LANES, Sha3_512),
        }
    }

    pub(crate) fn kernel(&self) -> &'static Kernel {
        each!(self, side => side.lanes.kernel())
    }

    pub(crate) fn hash(&self) -> Hash {
        each!(self, side => side.hash)
    }
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
