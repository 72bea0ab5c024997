//! MD5, SHA-1 and SHA-2, chosen at run time.
//!
//! [`digest`] hashes a message that is there as a whole, [`Hasher`] one that comes in pieces.
//!
//! Ref. RFC 1321; FIPS 180-4.

#[cfg(target_arch = "x86_64")]
pub(crate) mod arch;
pub(crate) mod chain;
pub(crate) mod lanes;
mod midstate;
#[cfg(target_arch = "x86_64")]
pub(crate) mod sha2_lanes;
#[cfg(target_arch = "x86_64")]
pub(crate) mod side_by_side;
mod stream;
#[cfg(target_arch = "x86_64")]
pub(crate) mod words;

use std::fmt;
use std::io;
use std::ops::Deref;

use millstream_cpu::Features;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

pub use chain::CompressOps;
pub(crate) use chain::{Chain, Chaining, compress, wipe};
pub use lanes::{HashJob, HashLanes, LanesOps};
pub use midstate::MidState;
pub(crate) use midstate::{Kind, Saved, load};
pub(crate) use stream::Stream;

use crate::md5::{self, MD5};
use crate::sha1::{self, SHA1};
use crate::sha256::{self, SHA256};
use crate::sha512::{self, SHA512};
use crate::{Error, Kernel, Table};

/// The longest digest of any hash here, in bytes.
pub const MAX_DIGEST: usize = 64;

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hash {
    /// MD5: legacy, and broken where collisions matter.
    Md5,
    /// SHA-1: legacy, and broken where collisions matter.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// SHA-512/256.
    Sha512_256,
}

impl Hash {
    /// Every hash, weakest first.
    pub const ALL: [Hash; 7] =
        [Hash::Md5, Hash::Sha1, Hash::Sha224, Hash::Sha256, Hash::Sha384, Hash::Sha512, Hash::Sha512_256];

    /// Its name, as in `sha512-256`.
    pub const fn name(self) -> &'static str {
        match self {
            Hash::Md5 => "md5",
            Hash::Sha1 => "sha1",
            Hash::Sha224 => "sha224",
            Hash::Sha256 => "sha256",
            Hash::Sha384 => "sha384",
            Hash::Sha512 => "sha512",
            Hash::Sha512_256 => "sha512-256",
        }
    }

    /// The hash of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Hash::ALL.into_iter().find(|hash| hash.name() == name)
    }

    /// Bytes in a digest.
    #[inline]
    pub const fn output_len(self) -> usize {
        // From a `match` the compiler makes a version of each caller for every length.
        const LEN: [usize; 7] = [
            md5::LEN,
            sha1::LEN,
            sha256::LEN_224,
            sha256::LEN,
            sha512::LEN_384,
            sha512::LEN,
            sha512::LEN_256,
        ];
        LEN[self as usize]
    }

    /// Bytes in a block.
    #[inline]
    pub const fn block_len(self) -> usize {
        match self {
            Hash::Md5 | Hash::Sha1 | Hash::Sha224 | Hash::Sha256 => 64,
            Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => 128,
        }
    }

    /// The longest message in bytes, as far as this crate counts: FIPS 180-4 §1 gives SHA-1 and
    /// SHA-256 less than 2^64 bits, and MD5 and SHA-512 more than can be counted here.
    const fn max_bytes(self) -> u64 {
        match self {
            Hash::Sha1 | Hash::Sha224 | Hash::Sha256 => u64::MAX >> 3,
            _ => u64::MAX,
        }
    }

    /// Its number in saved mid-states.
    const fn code(self) -> u8 {
        match self {
            Hash::Md5 => 1,
            Hash::Sha1 => 2,
            Hash::Sha224 => 3,
            Hash::Sha256 => 4,
            Hash::Sha384 => 5,
            Hash::Sha512 => 6,
            Hash::Sha512_256 => 7,
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A digest, or the tag of an HMAC. Two are compared in constant time.
#[derive(Clone, Copy)]
pub struct Digest {
    bytes: [u8; MAX_DIGEST],
    len: u8,
}

impl Digest {
    /// No digest yet.
    pub const EMPTY: Digest = Digest { bytes: [0; MAX_DIGEST], len: 0 };

    /// The first bytes of a chaining value, as many as the hash gives out.
    #[inline(always)]
    pub(crate) fn new<S: Chaining>(hash: Hash, state: &S) -> Self {
        let mut bytes = [0; MAX_DIGEST];
        state.write(&mut bytes[..S::LEN]);
        // What is cut off is nobody's business: of an HMAC it says more than its tag.
        bytes[hash.output_len()..S::LEN].fill(0);
        Digest { bytes, len: hash.output_len() as u8 }
    }
}

impl Deref for Digest {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for Digest {}

impl Zeroize for Digest {
    fn zeroize(&mut self) {
        chain::wipe(std::slice::from_mut(&mut self.bytes));
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The same thing for each of the four compression functions.
#[derive(Clone, Copy)]
pub(crate) enum Family<A, B, C, D> {
    Md5(A),
    Sha1(B),
    Sha256(C),
    Sha512(D),
}

/// Evaluates one expression for whichever it is.
macro_rules! each {
    ($family:expr, $x:pat => $body:expr) => {
        match $family {
            $crate::hash::Family::Md5($x) => $body,
            $crate::hash::Family::Sha1($x) => $body,
            $crate::hash::Family::Sha256($x) => $body,
            $crate::hash::Family::Sha512($x) => $body,
        }
    };
}
/// Makes from one family another.
macro_rules! map {
    ($family:expr, $x:pat => $body:expr) => {{
        use $crate::hash::Family;
        match $family {
            Family::Md5($x) => Family::Md5($body),
            Family::Sha1($x) => Family::Sha1($body),
            Family::Sha256($x) => Family::Sha256($body),
            Family::Sha512($x) => Family::Sha512($body),
        }
    }};
}
pub(crate) use {each, map};

type Chains = Family<
    Chain<md5::State, { md5::BLOCK }>,
    Chain<sha1::State, { sha1::BLOCK }>,
    Chain<sha256::State, { sha256::BLOCK }>,
    Chain<sha512::State, { sha512::BLOCK }>,
>;
type Streams = Family<
    Stream<md5::State, { md5::BLOCK }>,
    Stream<sha1::State, { sha1::BLOCK }>,
    Stream<sha256::State, { sha256::BLOCK }>,
    Stream<sha512::State, { sha512::BLOCK }>,
>;

/// A hash bound to a kernel: what [`Hasher`], [`HmacKey`](crate::hmac::HmacKey) and
/// [`Hkdf`](crate::hkdf::Hkdf) are made from.
#[derive(Clone, Copy)]
pub struct HashKernel {
    hash: Hash,
    /// The kernel and the initial chaining value.
    start: Chains,
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
        };
        HashKernel { hash, start }
    }

    /// Every kernel that `features` allow, best first.
    pub fn available(features: Features, hash: Hash) -> Vec<Self> {
        fn all<S: Chaining, const BLOCK: usize>(
            table: &'static Table<CompressOps<S, BLOCK>>,
            features: Features,
            hash: Hash,
            family: fn(Chain<S, BLOCK>) -> Chains,
        ) -> Vec<HashKernel> {
            let chains = table.available(features).map(|kernel| Chain { kernel, state: S::initial(hash) });
            chains.map(|chain| HashKernel { hash, start: family(chain) }).collect()
        }
        match hash {
            Hash::Md5 => all(&MD5, features, hash, Family::Md5),
            Hash::Sha1 => all(&SHA1, features, hash, Family::Sha1),
            Hash::Sha224 | Hash::Sha256 => all(&SHA256, features, hash, Family::Sha256),
            Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => all(&SHA512, features, hash, Family::Sha512),
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
        each!(&self.start, chain => chain.kernel.kernel())
    }

    /// The digest of a message.
    #[inline]
    pub fn digest(&self, data: &[u8]) -> Digest {
        each!(&self.start, chain => Digest::new(self.hash, &chain.digest(0, data)))
    }

    #[inline(always)]
    pub(crate) fn start(&self) -> &Chains {
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
    each!(HashKernel::best(features, hash).start(), chain => chain.digest(0, data).write(out));
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
        Hasher { hash: kernel.hash, stream: map!(kernel.start, chain => Stream::new(chain, 0)) }
    }

    /// Takes up a message that was left off: see [`MidState`].
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` is not a mid-state of this hash.
    pub fn import(features: Features, hash: Hash, saved: &[u8]) -> Result<Self, Error> {
        Hasher::import_with_kernel(HashKernel::best(features, hash), saved)
    }

    /// As [`Hasher::import`], with a given kernel.
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` is not a mid-state of this hash.
    pub fn import_with_kernel(kernel: HashKernel, saved: &[u8]) -> Result<Self, Error> {
        let hash = kernel.hash;
        let stream = map!(kernel.start, chain => load(hash, Kind::Hash, chain, saved)?.0);
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

    /// The digest of all that was taken in.
    #[inline]
    pub fn finish(mut self) -> Digest {
        each!(&mut self.stream, stream => Digest::new(self.hash, &stream.finish()))
    }

    /// Forgets what was taken in, clears it, and begins a new message: cheaper than another hasher.
    #[inline]
    pub fn reset(&mut self) {
        each!(&mut self.stream, stream => {
            stream.forget();
            stream.restart(Chaining::initial(self.hash), 0);
        });
    }

    /// The digest of all that was taken in; a new message begins.
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
