//! A key of HMAC as the two chaining values that it is folded into.
//!
//! Ref. RFC 2104 §2 and §4 (the precomputed key); FIPS 198-1 §4 and §6.

use std::fmt;

use zeroize::optimization_barrier;

use crate::compare::begins;
use crate::hash::{Chain, Chaining, CompressOps, Digest, Hash, Stream, compress, each, family, wipe};
use crate::{Bound, Error, Kernel};

/// The length of the shortest tag, in bytes: SP 800-107 §5.3.3.
pub const MIN_TAG: usize = 4;

/// Both hashes after the block of the key.
#[derive(Clone)]
pub(crate) struct Pair<S: Chaining, const BLOCK: usize> {
    pub(super) inner: Chain<S, BLOCK>,
    pub(super) outer: S,
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
        // The barrier keeps the stores above from being dropped as dead.
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
/// The padding is written before the inner hash ends. A processor forwards a recent store only to a
/// load that this one store covers, and waits if bytes and words lie side by side.
pub(super) struct Outer<const BLOCK: usize> {
    block: [u8; BLOCK],
    len: usize,
}

impl<const BLOCK: usize> Outer<BLOCK> {
    #[inline(always)]
    pub(super) fn padded<S: Chaining>(hash: Hash) -> Self {
        let len = hash.output_len();
        let mut block = [0; BLOCK];
        block[len] = S::END;
        S::write_length(&mut block, (BLOCK + len) as u64);
        Outer { block, len }
    }

    #[inline(always)]
    pub(super) fn finish<S: Chaining>(
        &mut self,
        kernel: Bound<CompressOps<S, BLOCK>>,
        mut outer: S,
        inner: &S,
    ) -> S {
        if self.len == S::OUTPUT {
            inner.write(&mut self.block[..S::OUTPUT]);
        } else {
            inner.write(&mut self.block[..self.len]);
        }
        compress(kernel, &mut outer, &[], std::slice::from_ref(&self.block));
        wipe(std::slice::from_mut(&mut self.block));
        outer
    }
}

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
    /// Not in a box: a key is where its owner puts it, and nowhere else.
    pub(crate) pair: family!(Pair, Pair),
}

impl HmacKey {
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
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HMAC key, {} on {}", self.hash, self.kernel().name)
    }
}

/// Refuses a tag that is too short to protect or longer than the digest.
pub(super) fn check_length(hash: Hash, tag: &[u8]) -> Result<(), Error> {
    if (MIN_TAG..=hash.output_len()).contains(&tag.len()) {
        return Ok(());
    }
    Err(Error::TagLength {
        algorithm: hash.name(),
        given: tag.len(),
        takes: "4 bytes to the length of the digest",
    })
}

/// Compares a tag, or as much of it as is given, in constant time.
pub(super) fn compare(right: &Digest, tag: &[u8]) -> Result<(), Error> {
    if bool::from(begins(right, tag)) { Ok(()) } else { Err(Error::Authentication) }
}

/// The inner hash under way, and the outer one after the block of the key.
#[derive(Clone)]
pub(crate) struct Keyed<S: Chaining, const BLOCK: usize> {
    pub(super) stream: Stream<S, BLOCK>,
    pub(super) outer: S,
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
    pub(super) fn restart(&mut self, pair: &Pair<S, BLOCK>) {
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
