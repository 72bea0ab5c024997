//! HMAC with any of the hashes.
//!
//! A key is folded once into the two chaining values with which every message begins, so that a
//! message costs two compressions more than its own bytes at most.
//!
//! Ref. RFC 2104 §2 and §4 (the precomputed key); FIPS 198-1 §4 and §6.

mod job;
mod key;
mod lanes;
mod prefix;

use std::{fmt, io};

use millstream_cpu::Features;

use crate::hash::{Digest, Family, Hash, HashKernel, Kind, MidState, each, family, load, map};
use crate::{Error, Kernel, sha1, sha256};
use key::{Keyed, check_length, compare};

pub use job::HmacJob;
pub(crate) use key::Pair;
pub use key::{HmacKey, MIN_TAG};
pub use lanes::HmacLanes;
pub(crate) use lanes::sign_direct;

impl HmacKey {
    /// Makes a key of any length. A key shorter than the digest is weaker; a key longer than a block
    /// is hashed first.
    pub fn new(features: Features, hash: Hash, key: &[u8]) -> Self {
        HmacKey::with_kernel(HashKernel::best(features, hash), key)
    }

    /// Does the same as [`HmacKey::new`], with a given kernel.
    pub fn with_kernel(kernel: HashKernel, key: &[u8]) -> Self {
        let hash = kernel.hash();
        let pair = map!(kernel.start(), start => Pair::new(hash, start.chain(), key), std::convert::identity);
        HmacKey { hash, pair }
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
    stream: family!(Keyed),
}

impl Hmac {
    /// Takes up a message that was left off: see [`MidState`].
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` is not a mid-state of an HMAC with this hash.
    pub fn import(features: Features, hash: Hash, saved: &[u8]) -> Result<Self, Error> {
        Hmac::import_with_kernel(HashKernel::best(features, hash), saved)
    }

    /// Does the same as [`Hmac::import`], with a given kernel.
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` is not a mid-state of an HMAC with this hash.
    pub fn import_with_kernel(kernel: HashKernel, saved: &[u8]) -> Result<Self, Error> {
        let hash = kernel.hash();
        let stream = map!(kernel.start(), start => {
            let (stream, outer) = load(hash, Kind::Hmac, start.chain(), saved)?;
            Keyed { stream, outer: outer.ok_or(Error::MidState)? }
        });
        Ok(Hmac { hash, stream })
    }

    /// The state of the message so far, in bytes to store, which are as good as the key.
    pub fn export(&self) -> MidState {
        each!(&self.stream, keyed => MidState::save(self.hash, Kind::Hmac, &keyed.stream, Some(&keyed.outer)))
    }

    /// Returns the same without the part that comes from the key alone. [`HmacKey::resume`] takes it
    /// up.
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

    /// Lends the chaining value of SHA-256 or SHA-224 to a caller who folds the next `bytes` bytes
    /// in. Those are whole blocks behind whole blocks.
    pub(crate) fn sha256_state(&mut self, bytes: usize) -> Option<&mut sha256::State> {
        if let Family::Sha256(keyed) = &mut self.stream { Some(keyed.stream.lend(bytes)) } else { None }
    }

    /// Lends the chaining value of SHA-1 in the same way.
    pub(crate) fn sha1_state(&mut self, bytes: usize) -> Option<&mut sha1::State> {
        if let Family::Sha1(keyed) = &mut self.stream { Some(keyed.stream.lend(bytes)) } else { None }
    }

    /// Returns the tag over all pieces.
    #[inline]
    pub fn finish(mut self) -> Digest {
        each!(&mut self.stream, keyed => Digest::new(self.hash, &keyed.finish(self.hash)))
    }

    /// Returns the tag over all pieces, and begins a new message under `key`.
    #[inline]
    pub fn finish_reset(&mut self, key: &HmacKey) -> Digest {
        let tag = each!(&mut self.stream, keyed => Digest::new(self.hash, &keyed.finish(self.hash)));
        self.restart(key);
        tag
    }

    /// Forgets the pieces so far and begins a new message, under `key`. This is cheaper than
    /// [`HmacKey::start`], because nothing is moved.
    #[inline]
    pub fn restart(&mut self, key: &HmacKey) {
        self.hash = key.hash;
        match (&mut self.stream, &key.pair) {
            (Family::Md5(keyed), Family::Md5(pair)) => keyed.restart(pair),
            (Family::Sha1(keyed), Family::Sha1(pair)) => keyed.restart(pair),
            (Family::Sha256(keyed), Family::Sha256(pair)) => keyed.restart(pair),
            (Family::Sha512(keyed), Family::Sha512(pair)) => keyed.restart(pair),
            (Family::Sha3_224(keyed), Family::Sha3_224(pair)) => keyed.restart(pair),
            (Family::Sha3_256(keyed), Family::Sha3_256(pair)) => keyed.restart(pair),
            (Family::Sha3_384(keyed), Family::Sha3_384(pair)) => keyed.restart(pair),
            (Family::Sha3_512(keyed), Family::Sha3_512(pair)) => keyed.restart(pair),
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
