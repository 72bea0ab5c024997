//! MD5, SHA-1, SHA-2 and SHA-3, chosen at run time.
//!
//! [`digest()`] hashes a whole message, and [`Hasher`] one that comes in pieces.
//!
//! Ref. RFC 1321; FIPS 180-4; FIPS 202.

#[cfg(target_arch = "x86_64")]
pub(crate) mod arch;
pub(crate) mod chain;
mod digest;
pub(crate) mod family;
pub(crate) mod fold;
pub(crate) mod job;
pub(crate) mod lanes;
mod midstate;
#[cfg(target_arch = "x86_64")]
pub(crate) mod sha2_lanes;
#[cfg(target_arch = "x86_64")]
pub(crate) mod side_by_side;
mod stream;
#[cfg(target_arch = "x86_64")]
pub(crate) mod words;

use std::{fmt, io};

use millstream_cpu::Features;

pub(crate) use chain::{Begin, Chain, Chaining, compress, length_len, wipe};
pub use chain::{CompressOps, fold};
pub use digest::{Digest, MAX_DIGEST};
pub use family::Hash;
pub(crate) use family::{Family, each, family, map};
pub use fold::{FoldOps, FoldWord, LaneBlocks, LaneFold, LaneStates, LaneWords};
pub use job::{HashJob, LanesOps};
pub use lanes::HashLanes;
pub use midstate::MidState;
pub(crate) use midstate::{Kind, Saved, load};
pub(crate) use stream::Stream;

use crate::md5::MD5;
use crate::sha1::SHA1;
use crate::sha3::{SHA3_224, SHA3_256, SHA3_384, SHA3_512};
use crate::sha256::SHA256;
use crate::sha512::SHA512;
use crate::{Error, Kernel, Table};

type Starts = family!(Chain, Begin);
type Streams = family!(Stream);

/// A hash bound to a kernel, from which [`Hasher`], [`HmacKey`](crate::hmac::HmacKey) and
/// [`Hkdf`](crate::hkdf::Hkdf) are made.
#[derive(Clone, Copy)]
pub struct HashKernel {
    hash: Hash,
    /// The kernel and the initial chaining value.
    start: Starts,
}

impl HashKernel {
    /// The fastest kernel that `features` allow.
    #[inline]
    pub fn best(features: Features, hash: Hash) -> Self {
        #[inline(always)]
        fn best<S: Chaining, const BLOCK: usize>(
            table: &'static Table<CompressOps<S, BLOCK>>,
            features: Features,
            hash: Hash,
        ) -> Chain<S, BLOCK> {
            Chain { kernel: table.best(features), state: S::initial(hash) }
        }
        let start = match hash {
            Hash::Md5 => Family::Md5(best(&MD5, features, hash)),
            Hash::Sha1 => Family::Sha1(best(&SHA1, features, hash)),
            Hash::Sha224 | Hash::Sha256 => Family::Sha256(best(&SHA256, features, hash)),
            Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => Family::Sha512(best(&SHA512, features, hash)),
            Hash::Sha3_224 => Family::Sha3_224(Begin::new(SHA3_224.best(features))),
            Hash::Sha3_256 => Family::Sha3_256(Begin::new(SHA3_256.best(features))),
            Hash::Sha3_384 => Family::Sha3_384(Begin::new(SHA3_384.best(features))),
            Hash::Sha3_512 => Family::Sha3_512(Begin::new(SHA3_512.best(features))),
        };
        HashKernel { hash, start }
    }

    /// Every kernel that `features` allow, best first.
    pub fn available(features: Features, hash: Hash) -> Vec<Self> {
        fn all<S: Chaining, const BLOCK: usize>(
            table: &'static Table<CompressOps<S, BLOCK>>,
            features: Features,
            hash: Hash,
            family: fn(Chain<S, BLOCK>) -> Starts,
        ) -> Vec<HashKernel> {
            let chains = table.available(features).map(|kernel| Chain { kernel, state: S::initial(hash) });
            chains.map(|chain| HashKernel { hash, start: family(chain) }).collect()
        }
        match hash {
            Hash::Md5 => all(&MD5, features, hash, Family::Md5),
            Hash::Sha1 => all(&SHA1, features, hash, Family::Sha1),
            Hash::Sha224 | Hash::Sha256 => all(&SHA256, features, hash, Family::Sha256),
            Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => all(&SHA512, features, hash, Family::Sha512),
            Hash::Sha3_224 => {
                all(&SHA3_224, features, hash, |chain| Family::Sha3_224(Begin::new(chain.kernel)))
            }
            Hash::Sha3_256 => {
                all(&SHA3_256, features, hash, |chain| Family::Sha3_256(Begin::new(chain.kernel)))
            }
            Hash::Sha3_384 => {
                all(&SHA3_384, features, hash, |chain| Family::Sha3_384(Begin::new(chain.kernel)))
            }
            Hash::Sha3_512 => {
                all(&SHA3_512, features, hash, |chain| Family::Sha3_512(Begin::new(chain.kernel)))
            }
        }
    }

    /// The kernel of that name, if `features` allow it.
    pub fn named(features: Features, hash: Hash, name: &str) -> Option<Self> {
        HashKernel::available(features, hash).into_iter().find(|found| found.kernel().name == name)
    }

    /// The hash.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The kernel's description.
    pub fn kernel(&self) -> &'static Kernel {
        each!(&self.start, start => start.kernel.kernel())
    }

    /// The digest of a message.
    #[inline]
    pub fn digest(&self, data: &[u8]) -> Digest {
        each!(&self.start, start => Digest::new(self.hash, &start.chain().digest(0, data)))
    }

    #[inline(always)]
    pub(crate) fn start(&self) -> &Starts {
        &self.start
    }
}

impl fmt::Debug for HashKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.hash, self.kernel().name)
    }
}

/// The digest of a message, written to the front of `out`; returns its length in bytes.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::{self, Hash};
///
/// let mut out = [0; 32];
/// hash::digest(Features::hardware(), Hash::Sha256, b"abc", &mut out)?;
/// assert_eq!(out[..4], [0xba, 0x78, 0x16, 0xbf]);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutputLength`] when `out` is shorter than a digest.
#[inline]
pub fn digest(features: Features, hash: Hash, data: &[u8], out: &mut [u8]) -> Result<usize, Error> {
    let len = hash.output_len();
    let given = out.len();
    let out = out.get_mut(..len).ok_or(Error::OutputLength { given, needed: len })?;
    each!(HashKernel::best(features, hash).start(), start => start.chain().digest(0, data).write(out));
    Ok(len)
}

/// A message that comes in pieces.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::{Hash, Hasher};
///
/// let mut hasher = Hasher::new(Features::hardware(), Hash::Sha512);
/// hasher.update(b"a");
/// // Left off here, and taken up elsewhere.
/// let mid = hasher.export();
/// let mut hasher = Hasher::import(Features::none(), Hash::Sha512, &mid)?;
/// hasher.update(b"bc");
/// assert_eq!(hasher.finish()[..4], [0xdd, 0xaf, 0x35, 0xa1]);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone)]
pub struct Hasher {
    hash: Hash,
    stream: Streams,
}

impl Hasher {
    /// Begins a message with the fastest kernel.
    #[inline]
    pub fn new(features: Features, hash: Hash) -> Self {
        Hasher::with_kernel(HashKernel::best(features, hash))
    }

    /// Begins a message with a given kernel.
    #[inline]
    pub fn with_kernel(kernel: HashKernel) -> Self {
        Hasher { hash: kernel.hash, stream: map!(&kernel.start, start => Stream::new(start.chain(), 0)) }
    }

    /// Takes up a message that was left off: see [`MidState`].
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` is not a mid-state of this hash.
    pub fn import(features: Features, hash: Hash, saved: &[u8]) -> Result<Self, Error> {
        Hasher::import_with_kernel(HashKernel::best(features, hash), saved)
    }

    /// Does the same as [`Hasher::import`], with a given kernel.
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` is not a mid-state of this hash.
    pub fn import_with_kernel(kernel: HashKernel, saved: &[u8]) -> Result<Self, Error> {
        let hash = kernel.hash;
        let stream = map!(kernel.start, start => load(hash, Kind::Hash, start.chain(), saved)?.0);
        Ok(Hasher { hash, stream })
    }

    /// The state of the message so far, in bytes to store.
    pub fn export(&self) -> MidState {
        each!(&self.stream, stream => MidState::save(self.hash, Kind::Hash, stream, None))
    }

    /// The hash.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        each!(&self.stream, stream => stream.chain.kernel.kernel())
    }

    /// Takes in the next piece, of any length.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        each!(&mut self.stream, stream => stream.update(data));
    }

    /// Returns the digest of all pieces.
    #[inline]
    pub fn finish(mut self) -> Digest {
        each!(&mut self.stream, stream => Digest::new(self.hash, &stream.finish()))
    }

    /// Forgets the pieces so far, clears them, and begins a new message. This is cheaper than
    /// another hasher.
    #[inline]
    pub fn reset(&mut self) {
        each!(&mut self.stream, stream => {
            stream.forget();
            stream.restart(Chaining::initial(self.hash), 0);
        });
    }

    /// Returns the digest of all pieces, and begins a new message.
    #[inline]
    pub fn finish_reset(&mut self) -> Digest {
        each!(&mut self.stream, stream => {
            let digest = Digest::new(self.hash, &stream.finish());
            stream.restart(Chaining::initial(self.hash), 0);
            digest
        })
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.hash, self.kernel().name)
    }
}

impl io::Write for Hasher {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.update(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
