//! HMAC with any of the hashes.
//!
//! A key is folded once into the two chaining values with which every message begins, so that a
//! message costs two compressions more than its own bytes at most.
//!
//! Ref. RFC 2104 §2 and §4 (the precomputed key); FIPS 198-1 §4 and §6.

pub(crate) mod lanes;
mod prefix;

use std::{fmt, io};

use millstream_cpu::Features;
use zeroize::optimization_barrier;

use crate::compare::begins;
use crate::hash::{
    Chain, Chaining, CompressOps, Digest, Family, Hash, HashKernel, Kind, MidState, Stream, compress, each,
    load, map, wipe,
};
use crate::{Bound, Error, Kernel, md5, sha1, sha256, sha512};

pub use lanes::{HmacJob, HmacLanes};

/// SP 800-107 §5.3.3: no tag is shorter, in bytes.
pub const MIN_TAG: usize = 4;

/// Both hashes after the block of the key.
#[derive(Clone)]
pub(crate) struct Pair<S: Chaining, const BLOCK: usize> {
    inner: Chain<S, BLOCK>,
    outer: S,
}

impl<S: Chaining, const BLOCK: usize> Pair<S, BLOCK> {
    /// FIPS 198-1 §4, steps 1 to 4 and 7, with the compressions of §6.
    #[inline(always)]
    pub(crate) fn new(hash: Hash, start: Chain<S, BLOCK>, key: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        match block.get_mut(..key.len()) {
            Some(front) => front.copy_from_slice(key),
            None => start.digest(0, key).write(&mut block[..hash.output_len()]),
        }
        let (mut inner, mut outer) = (start, start);
        xor(&mut block, 0x36);
        inner.absorb(std::slice::from_ref(&block));
        xor(&mut block, 0x36 ^ 0x5c);
        outer.absorb(std::slice::from_ref(&block));
        wipe(std::slice::from_mut(&mut block));
        Pair { inner, outer: outer.state }
    }

    #[inline(always)]
    pub(crate) fn sign(&self, hash: Hash, data: &[u8]) -> S {
        let mut outer = Outer::padded::<S>(hash);
        let digest = self.inner.digest(BLOCK as u64, data);
        outer.finish(self.inner.kernel, self.outer, &digest)
    }

    #[inline(always)]
    pub(crate) fn start(&self) -> Keyed<S, BLOCK> {
        Keyed { stream: Stream::new(self.inner, BLOCK as u64), outer: self.outer }
    }
}

impl<S: Chaining, const BLOCK: usize> Drop for Pair<S, BLOCK> {
    fn drop(&mut self) {
        (self.inner.state, self.outer) = (S::default(), S::default());
        // Keeps the stores above from being dropped as dead.
        optimization_barrier(self);
    }
}

fn xor<const N: usize>(block: &mut [u8; N], pad: u8) {
    for byte in block {
        *byte ^= pad;
    }
}

/// FIPS 198-1 §4, steps 8 and 9: the hash of the inner digest, which always fits in one block.
///
/// The padding is written before the inner hash ends: a processor forwards what was stored a moment
/// ago only to loads that one store covers, and waits where bytes and words lie side by side.
struct Outer<const BLOCK: usize> {
    block: [u8; BLOCK],
    len: usize,
}

impl<const BLOCK: usize> Outer<BLOCK> {
    #[inline(always)]
    fn padded<S: Chaining>(hash: Hash) -> Self {
        let len = hash.output_len();
        let mut block = [0; BLOCK];
        block[len] = 0x80;
        S::write_length(&mut block, (BLOCK + len) as u64);
        Outer { block, len }
    }

    #[inline(always)]
    fn finish<S: Chaining>(&mut self, kernel: Bound<CompressOps<S, BLOCK>>, mut outer: S, inner: &S) -> S {
        if self.len == S::LEN {
            inner.write(&mut self.block[..S::LEN]);
        } else {
            inner.write(&mut self.block[..self.len]);
        }
        compress(kernel, &mut outer, &[], std::slice::from_ref(&self.block));
        wipe(std::slice::from_mut(&mut self.block));
        outer
    }
}

pub(crate) type Pairs = Family<
    Pair<md5::State, { md5::BLOCK }>,
    Pair<sha1::State, { sha1::BLOCK }>,
    Pair<sha256::State, { sha256::BLOCK }>,
    Pair<sha512::State, { sha512::BLOCK }>,
>;

/// A key, ready for any number of messages. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::Hash;
/// use millstream_engines::hmac::HmacKey;
///
/// let key = HmacKey::new(Features::hardware(), Hash::Sha256, b"Jefe");
/// let tag = key.sign(b"what do ya want for nothing?");
/// assert_eq!(tag[..4], [0x5b, 0xdc, 0xc1, 0x46]);
/// key.verify(b"what do ya want for nothing?", &tag[..16])?;
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone)]
pub struct HmacKey {
    pub(crate) hash: Hash,
    pub(crate) pair: Pairs,
}

impl HmacKey {
    /// A key of any length. Fewer bytes than the digest has weaken it; more than a block are
    /// hashed first.
    pub fn new(features: Features, hash: Hash, key: &[u8]) -> Self {
        HmacKey::with_kernel(HashKernel::best(features, hash), key)
    }

    /// As [`HmacKey::new`], with a given kernel.
    pub fn with_kernel(kernel: HashKernel, key: &[u8]) -> Self {
        let hash = kernel.hash();
        HmacKey { hash, pair: map!(*kernel.start(), chain => Pair::new(hash, chain, key)) }
    }

    /// The hash.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        each!(&self.pair, pair => pair.inner.kernel.kernel())
    }

    /// The tag of a message; a protocol that truncates takes its first bytes.
    #[inline]
    pub fn sign(&self, data: &[u8]) -> Digest {
        each!(&self.pair, pair => Digest::new(self.hash, &pair.sign(self.hash, data)))
    }

    /// Compares the tag of a message, or as much of it as is given, in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs; [`Error::TagLength`] when `tag` has less than
    /// [`MIN_TAG`] bytes or more than the digest. RFC 2104 §5 advises half the digest at least.
    pub fn verify(&self, data: &[u8], tag: &[u8]) -> Result<(), Error> {
        check_length(self.hash, tag)?;
        compare(&self.sign(data), tag)
    }

    /// Begins a message that comes in pieces.
    #[inline]
    pub fn start(&self) -> Hmac {
        let stream = map!(&self.pair, pair => pair.start());
        Hmac { hash: self.hash, stream }
    }

    /// Takes up a message that was left off under this key: see [`Hmac::export_message`].
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` is not such a message of an HMAC with this hash.
    pub fn resume(&self, saved: &[u8]) -> Result<Hmac, Error> {
        let stream = map!(&self.pair, pair => {
            let (stream, _) = load(self.hash, Kind::Message, pair.inner, saved)?;
            Keyed { stream, outer: pair.outer }
        });
        Ok(Hmac { hash: self.hash, stream })
    }
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HMAC key, {} on {}", self.hash, self.kernel().name)
    }
}

fn check_length(hash: Hash, tag: &[u8]) -> Result<(), Error> {
    if (MIN_TAG..=hash.output_len()).contains(&tag.len()) {
        return Ok(());
    }
    Err(Error::TagLength {
        algorithm: hash.name(),
        given: tag.len(),
        takes: "4 bytes to the length of the digest",
    })
}

fn compare(right: &Digest, tag: &[u8]) -> Result<(), Error> {
    if bool::from(begins(right, tag)) { Ok(()) } else { Err(Error::Authentication) }
}

/// The inner hash under way, and the outer one after the block of the key.
#[derive(Clone)]
pub(crate) struct Keyed<S: Chaining, const BLOCK: usize> {
    stream: Stream<S, BLOCK>,
    outer: S,
}

impl<S: Chaining, const BLOCK: usize> Keyed<S, BLOCK> {
    #[inline(always)]
    pub(crate) fn update(&mut self, data: &[u8]) {
        self.stream.update(data);
    }

    #[inline(always)]
    pub(crate) fn finish(&mut self, hash: Hash) -> S {
        let mut outer = Outer::padded::<S>(hash);
        let digest = self.stream.finish();
        outer.finish(self.stream.chain.kernel, self.outer, &digest)
    }

    #[inline(always)]
    fn restart(&mut self, pair: &Pair<S, BLOCK>) {
        self.stream.chain.kernel = pair.inner.kernel;
        self.stream.restart(pair.inner.state, BLOCK as u64);
        self.outer = pair.outer;
    }
}

impl<S: Chaining, const BLOCK: usize> Drop for Keyed<S, BLOCK> {
    #[inline(always)]
    fn drop(&mut self) {
        self.outer = S::default();
        optimization_barrier(&self.outer);
    }
}

type KeyedStreams = Family<
    Keyed<md5::State, { md5::BLOCK }>,
    Keyed<sha1::State, { sha1::BLOCK }>,
    Keyed<sha256::State, { sha256::BLOCK }>,
    Keyed<sha512::State, { sha512::BLOCK }>,
>;

/// A message that comes in pieces, under a key.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::Hash;
/// use millstream_engines::hmac::HmacKey;
///
/// let key = HmacKey::new(Features::hardware(), Hash::Sha256, b"Jefe");
/// let mut hmac = key.start();
/// hmac.update(b"what do ya want ");
/// hmac.update(b"for nothing?");
/// assert_eq!(hmac.finish(), key.sign(b"what do ya want for nothing?"));
/// ```
#[derive(Clone)]
pub struct Hmac {
    hash: Hash,
    stream: KeyedStreams,
}

impl Hmac {
    /// Takes up a message that was left off: see [`MidState`].
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` is not a mid-state of an HMAC with this hash.
    pub fn import(features: Features, hash: Hash, saved: &[u8]) -> Result<Self, Error> {
        Hmac::import_with_kernel(HashKernel::best(features, hash), saved)
    }

    /// As [`Hmac::import`], with a given kernel.
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` is not a mid-state of an HMAC with this hash.
    pub fn import_with_kernel(kernel: HashKernel, saved: &[u8]) -> Result<Self, Error> {
        let hash = kernel.hash();
        let stream = map!(*kernel.start(), chain => {
            let (stream, outer) = load(hash, Kind::Hmac, chain, saved)?;
            Keyed { stream, outer: outer.ok_or(Error::MidState)? }
        });
        Ok(Hmac { hash, stream })
    }

    /// The state of the message so far, in bytes to store, which are as good as the key.
    pub fn export(&self) -> MidState {
        each!(&self.stream, keyed => MidState::save(self.hash, Kind::Hmac, &keyed.stream, Some(&keyed.outer)))
    }

    /// The same without what comes from the key alone: [`HmacKey::resume`] takes it up.
    pub fn export_message(&self) -> MidState {
        each!(&self.stream, keyed => MidState::save(self.hash, Kind::Message, &keyed.stream, None))
    }

    /// The hash.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        each!(&self.stream, keyed => keyed.stream.chain.kernel.kernel())
    }

    /// Takes in the next piece, of any length.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        each!(&mut self.stream, keyed => keyed.update(data));
    }

    /// The chaining value of SHA-256 or SHA-224, for somebody else to fold the next `bytes` bytes in,
    /// which are whole blocks behind whole blocks.
    pub(crate) fn sha256_state(&mut self, bytes: usize) -> Option<&mut sha256::State> {
        if let Family::Sha256(keyed) = &mut self.stream { Some(keyed.stream.lend(bytes)) } else { None }
    }

    /// The same for SHA-1.
    pub(crate) fn sha1_state(&mut self, bytes: usize) -> Option<&mut sha1::State> {
        if let Family::Sha1(keyed) = &mut self.stream { Some(keyed.stream.lend(bytes)) } else { None }
    }

    /// The tag over all that was taken in.
    #[inline]
    pub fn finish(mut self) -> Digest {
        each!(&mut self.stream, keyed => Digest::new(self.hash, &keyed.finish(self.hash)))
    }

    /// The tag over all that was taken in; a new message begins, under `key`.
    #[inline]
    pub fn finish_reset(&mut self, key: &HmacKey) -> Digest {
        let tag = each!(&mut self.stream, keyed => Digest::new(self.hash, &keyed.finish(self.hash)));
        self.restart(key);
        tag
    }

    /// Forgets what was taken in and begins a new message, under `key`: cheaper than
    /// [`HmacKey::start`], because it all stays where it is.
    #[inline]
    pub fn restart(&mut self, key: &HmacKey) {
        self.hash = key.hash;
        match (&mut self.stream, &key.pair) {
            (Family::Md5(keyed), Family::Md5(pair)) => keyed.restart(pair),
            (Family::Sha1(keyed), Family::Sha1(pair)) => keyed.restart(pair),
            (Family::Sha256(keyed), Family::Sha256(pair)) => keyed.restart(pair),
            (Family::Sha512(keyed), Family::Sha512(pair)) => keyed.restart(pair),
            _ => *self = key.start(),
        }
    }

    /// Compares the tag, or as much of it as is given, in constant time.
    ///
    /// # Errors
    /// As [`HmacKey::verify`].
    pub fn verify(self, tag: &[u8]) -> Result<(), Error> {
        check_length(self.hash, tag)?;
        compare(&self.finish(), tag)
    }
}

impl fmt::Debug for Hmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HMAC, {} on {}", self.hash, self.kernel().name)
    }
}

impl io::Write for Hmac {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.update(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
