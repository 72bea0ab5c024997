//! One key in the service, used as a key of this process is: one call, one operation.

mod macs;
mod pairs;

use std::fmt;
use std::sync::Arc;

use millstream_engines::modes::Direction;
use millstream_engines::{Error as EngineError, InOut};

pub use self::pairs::BegunSignature;
use super::grants::{Grant, Grants};
use super::token::Login;
use super::{Accelerator, Attach, KeyRefusal};
use crate::Error;
use crate::cwq::{Algorithm, ControlWord, Status, Usages};
use crate::queue::{Buffer, Done, KeyHandle, KeyOptions, Piece, Refusal, Request};

/// The rule by which the initialisation vector of an operation follows from the operation before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chaining {
    /// The mode has no vector.
    None,
    /// The vector is the last block of ciphertext: CBC and CFB.
    Ciphertext,
    /// The vector is a big-endian counter of blocks.
    Counter,
}

impl Chaining {
    /// Moves a counter on by the blocks that `bytes` take; does nothing to other vectors.
    pub fn count(self, counter: &mut [u8], bytes: usize) {
        if self == Chaining::Counter && !counter.is_empty() {
            add(counter, bytes.div_ceil(counter.len()));
        }
    }
}

/// Adds to a big-endian counter.
fn add(counter: &mut [u8], blocks: usize) {
    let mut carry = blocks as u64;
    for byte in counter.iter_mut().rev() {
        carry += u64::from(*byte);
        *byte = carry as u8;
        carry >>= 8;
    }
}

/// The usages that a new key should have, and the least that will do where the service's policy does not allow all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageRange {
    /// The usages that are asked for first.
    pub most: Usages,
    /// The usages that are asked for when the policy refuses the most.
    pub least: Usages,
}

/// These usages and no fewer.
impl From<Usages> for UsageRange {
    fn from(usages: Usages) -> Self {
        UsageRange { most: usages, least: usages }
    }
}

/// Why a key in the service did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceKeyError {
    /// The key was made before a fork and belongs to the parent.
    Forked,
    /// The key was not made for this.
    Usage {
        /// The key's algorithm.
        algorithm: Algorithm,
        /// The usage that it would need.
        needed: Usages,
    },
    /// A message or data unit is longer than [`ServiceKey::LONGEST`], or a message to sign longer than 64 KiB.
    TooLong {
        /// The message's or unit's bytes.
        given: usize,
    },
    /// The tag is wrong: see [`ServiceKey::open`].
    Authentication,
    /// The queue refused the operation, or it failed.
    Failed(Error),
}

impl ServiceKeyError {
    /// Returns true if the key is gone with its grant, or is the parent's: made again, it may do what it was asked.
    pub fn has_ended(&self) -> bool {
        matches!(
            self,
            ServiceKeyError::Forked
                | ServiceKeyError::Failed(
                    Error::Queue(Refusal::Gone | Refusal::Revoked | Refusal::Forked)
                        | Error::Operation(Status::Gone | Status::Revoked)
                )
        )
    }
}

impl fmt::Display for ServiceKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceKeyError::Forked => {
                f.write_str("the key was made before a fork and is the parent's: make it again in the child")
            }
            ServiceKeyError::Usage { algorithm, needed } => write!(
                f,
                "the key of {} was not made to {needed}: make one with that usage, and have the service's policy allow it",
                algorithm.name()
            ),
            ServiceKeyError::TooLong { given } => write!(
                f,
                "{given} bytes, where a key in the service takes at most {} at once, and signs at most {}: pass a message in pieces, make data \
                 units shorter, or sign a digest",
                ServiceKey::LONGEST,
                ControlWord::MOST_SIGNED_BYTES
            ),
            ServiceKeyError::Authentication => Status::Authentication.fmt(f),
            ServiceKeyError::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ServiceKeyError {
    /// Returns the cause behind an error that the message repeats.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ServiceKeyError::Failed(error) => error.source(),
            _ => None,
        }
    }
}

impl From<Error> for ServiceKeyError {
    fn from(error: Error) -> Self {
        ServiceKeyError::Failed(error)
    }
}

impl From<Refusal> for ServiceKeyError {
    fn from(refusal: Refusal) -> Self {
        ServiceKeyError::Failed(refusal.into())
    }
}

type Result<T> = std::result::Result<T, ServiceKeyError>;

/// A key in the service, for callers that want one result after the other. Dropping it destroys the key there.
///
/// Each call copies its data to the grant's arena, waits for the worker, and copies the result back. Any number of threads may
/// use one key at once. Nothing is ever computed in this process instead: after the end of the grant each call fails, and
/// in a forked child with [`ServiceKeyError::Forked`]. Callers with many operations at hand use a
/// [`Queue`](crate::queue::Queue) instead.
///
/// ```no_run
/// use millstream::InOut;
/// use millstream::cwq::{Algorithm, Usages};
/// use millstream::isolated::{Chaining, Grants, ServiceKey};
/// use millstream::modes::Direction;
///
/// static GRANTS: Grants = Grants::new();
///
/// let options = Grants::options(None);
/// // This key is made by the worker, and no other process ever has it.
/// let key = ServiceKey::generate(&GRANTS, &options, Algorithm::AesCbc, 32, Usages::ENCRYPT)?;
/// let (mut vector, mut data) = ([1; 16], [0; 4096]);
/// for piece in data.chunks_mut(1024) {
///     key.cipher(Direction::Encrypt, Chaining::Ciphertext, &mut vector, InOut::in_place(piece))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ServiceKey {
    grant: Arc<Grant>,
    handle: KeyHandle,
    usages: Usages,
    /// Bytes of the key.
    len: usize,
}

impl ServiceKey {
    /// The longest message that is sealed or opened as a whole, and the longest data unit, in bytes. The arena must have room
    /// for two of them.
    pub const LONGEST: usize = 4 << 20;

    /// The bytes that one operation takes of data that may be parted anywhere. The arena has room for many of them.
    pub const PIECE: usize = 64 << 10;

    /// Brings a key to the service. The caller's bytes are not needed any more.
    ///
    /// # Errors
    /// As [`Accelerator::import_key_with`] and [`Attach::attach`]; [`Error::KeySlots`] when eight grants are full.
    pub fn import(
        grants: &'static Grants,
        options: &Attach,
        algorithm: Algorithm,
        key: &[u8],
        usages: impl Into<UsageRange>,
    ) -> std::result::Result<Self, Error> {
        let options = options.for_key(algorithm);
        ServiceKey::make(grants, &options, key.len(), usages.into(), |accelerator, options| {
            accelerator.import_key_with(algorithm, key, options)
        })
    }

    /// Has a worker make a random key of `len` bytes, which this process never sees.
    ///
    /// # Errors
    /// As [`ServiceKey::import`].
    pub fn generate(
        grants: &'static Grants,
        options: &Attach,
        algorithm: Algorithm,
        len: usize,
        usages: impl Into<UsageRange>,
    ) -> std::result::Result<Self, Error> {
        let options = options.for_key(algorithm);
        ServiceKey::make(grants, &options, len, usages.into(), |accelerator, options| {
            accelerator.generate_key_with(algorithm, len, options)
        })
    }

    /// Makes a key from one of a token, whose bytes this process never sees.
    ///
    /// # Errors
    /// As [`ServiceKey::import`] and [`OpenToken::load`](super::token::OpenToken::load); [`Error::WrongPin`].
    pub fn load(
        grants: &'static Grants,
        options: &Attach,
        login: &Login,
        object: u128,
        algorithm: Algorithm,
        usages: impl Into<UsageRange>,
    ) -> std::result::Result<Self, Error> {
        let options = options.for_key(algorithm);
        ServiceKey::make(grants, &options, 0, usages.into(), |accelerator, options| {
            login.load(accelerator, object, algorithm, options)
        })
    }

    fn make(
        grants: &'static Grants,
        options: &Attach,
        len: usize,
        UsageRange { most, least }: UsageRange,
        make: impl Fn(&Accelerator, KeyOptions) -> std::result::Result<KeyHandle, Error>,
    ) -> std::result::Result<Self, Error> {
        let make = |usages| {
            let wanted = KeyOptions { usages: Some(usages), ..KeyOptions::default() };
            let (grant, handle) = grants.with_key(options, |accelerator| make(accelerator, wanted))?;
            Ok(ServiceKey { grant, handle, usages, len })
        };
        match make(most) {
            Err(Error::Key(KeyRefusal::PolicyUsages | KeyRefusal::PolicyNonces)) if least != most => {
                make(least)
            }
            made => made,
        }
    }

    /// Returns the algorithm that the key is for.
    pub fn algorithm(&self) -> Algorithm {
        self.handle.algorithm()
    }

    /// Returns the usages that the key has.
    pub fn usages(&self) -> Usages {
        self.usages
    }

    /// Returns the number of the key's bytes; 0 for a key of a token, whose attributes say it.
    #[expect(clippy::len_without_is_empty, reason = "no key is empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Fails unless the key is this process's own and was made for `needed`.
    fn check(&self, needed: Usages) -> Result<()> {
        if !self.grant.is_ours() {
            return Err(ServiceKeyError::Forked);
        }
        if !self.usages.contains(needed) {
            return Err(ServiceKeyError::Usage { algorithm: self.algorithm(), needed });
        }
        Ok(())
    }

    /// Executes an operation that must succeed.
    fn run(&self, request: Request<'_>) -> Result<Done> {
        let done = self.grant.run(request)?;
        match done.result {
            Ok(()) => Ok(done),
            Err(status) => Err(Error::from(status).into()),
        }
    }

    /// Encrypts or decrypts whole blocks with a cipher, in pieces of [`ServiceKey::PIECE`] bytes. `chain` is the initialisation vector, and becomes
    /// the one with which the data that follows goes on; for modes without one it is empty.
    ///
    /// # Errors
    /// [`ServiceKeyError`]. Pieces before the one that failed are in the output.
    pub fn cipher(
        &self,
        direction: Direction,
        chaining: Chaining,
        chain: &mut [u8],
        mut data: InOut<'_>,
    ) -> Result<()> {
        self.check(usage(direction))?;
        while !data.is_empty() {
            let n = data.len().min(ServiceKey::PIECE);
            let mut piece = data.take(n);
            let (source, destination) = self.buffers(&piece)?;
            let done = self.run(self.request(direction, chain, source, destination))?;
            let (source, destination) = both(&done)?;
            let ciphertext = if direction == Direction::Encrypt { destination } else { source };
            match chaining {
                Chaining::None => {}
                Chaining::Ciphertext => chain.copy_from_slice(&ciphertext[n - chain.len()..]),
                Chaining::Counter => chaining.count(chain, n),
            }
            piece.output().copy_from_slice(destination);
        }
        Ok(())
    }

    /// Encrypts or decrypts a whole data unit under a tweak (XTS).
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn data_unit(&self, direction: Direction, tweak: &[u8], mut data: InOut<'_>) -> Result<()> {
        self.check(usage(direction))?;
        let (source, destination) = self.message(&data)?;
        let done = self.run(self.request(direction, tweak, source, destination))?;
        data.output().copy_from_slice(both(&done)?.1);
        Ok(())
    }

    /// Encrypts a whole message, and returns the tag over it and `aad`.
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn seal(&self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>) -> Result<[u8; 16]> {
        self.check(Usages::ENCRYPT)?;
        let (source, destination) = self.message(&data)?;
        let done = self.run(Request::seal(self.handle, nonce, aad, source, destination))?;
        data.output().copy_from_slice(both(&done)?.1);
        whole_tag(&done)
    }

    /// Decrypts a whole message if `tag` is right.
    ///
    /// # Errors
    /// [`ServiceKeyError::Authentication`] when the tag is wrong: the output is zeros then; [`ServiceKeyError`].
    pub fn open(&self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>, tag: &[u8; 16]) -> Result<()> {
        self.check(Usages::DECRYPT)?;
        let (source, destination) = self.message(&data)?;
        let done = self.grant.run(Request::open(self.handle, nonce, aad, source, destination, tag))?;
        match done.result {
            Ok(()) => {
                data.output().copy_from_slice(both(&done)?.1);
                Ok(())
            }
            Err(Status::Authentication) => {
                data.output().fill(0);
                Err(ServiceKeyError::Authentication)
            }
            Err(status) => Err(Error::from(status).into()),
        }
    }

    /// Encrypts or decrypts a piece of a message, and returns the mid-state after it: see [`Request::partial_seal`]. What
    /// is decrypted in pieces comes out before its tag is known. That takes keystream, so the key must be one that may encrypt, too.
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn partial(
        &self,
        direction: Direction,
        piece: Piece<'_>,
        aad: &[u8],
        mut data: InOut<'_>,
    ) -> Result<Vec<u8>> {
        self.check(usage(direction))?;
        self.check(Usages::ENCRYPT)?;
        let (source, destination) = self.message(&data)?;
        let request = match direction {
            Direction::Encrypt => Request::partial_seal(self.handle, piece, aad, source, destination),
            Direction::Decrypt => Request::partial_open(self.handle, piece, aad, source, destination),
        };
        let done = self.run(request)?;
        data.output().copy_from_slice(both(&done)?.1);
        Ok(done.state().to_vec())
    }

    /// Returns the tag of a message that ends with that mid-state.
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn tag(&self, state: &[u8]) -> Result<[u8; 16]> {
        self.check(Usages::ENCRYPT)?;
        let (source, destination) = self.buffers(&InOut::in_place(&mut []))?;
        let request = Request::last_seal(self.handle, Piece::Next(state), &[], source, destination);
        whole_tag(&self.run(request)?)
    }

    fn request<'r>(
        &self,
        direction: Direction,
        iv: &'r [u8],
        source: Buffer,
        destination: Buffer,
    ) -> Request<'r> {
        match direction {
            Direction::Encrypt => Request::encrypt(self.handle, iv, source, destination),
            Direction::Decrypt => Request::decrypt(self.handle, iv, source, destination),
        }
    }

    fn to_sign(&self, piece: &[u8]) -> Result<Buffer> {
        self.check(Usages::SIGN)?;
        self.filled(piece)
    }

    /// Returns a buffer with these bytes.
    fn filled(&self, bytes: &[u8]) -> Result<Buffer> {
        let mut buffer = self.grant.buffer(bytes.len())?;
        buffer.copy_from_slice(bytes);
        Ok(buffer)
    }

    /// Returns buffers for a whole message, with its input in the first.
    fn message(&self, data: &InOut<'_>) -> Result<(Buffer, Buffer)> {
        if data.len() > ServiceKey::LONGEST {
            return Err(ServiceKeyError::TooLong { given: data.len() });
        }
        self.buffers(data)
    }

    fn buffers(&self, data: &InOut<'_>) -> Result<(Buffer, Buffer)> {
        let (mut source, destination) = (self.grant.buffer(data.len())?, self.grant.buffer(data.len())?);
        source.copy_from_slice(data.input());
        Ok((source, destination))
    }
}

impl Drop for ServiceKey {
    fn drop(&mut self) {
        self.grant.discard(self.handle);
    }
}

impl fmt::Debug for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceKey({}, {} bytes, to {})", self.algorithm().name(), self.len, self.usages)
    }
}

/// Returns the usage that one direction takes.
fn usage(direction: Direction) -> Usages {
    match direction {
        Direction::Encrypt => Usages::ENCRYPT,
        Direction::Decrypt => Usages::DECRYPT,
    }
}

/// Returns source and destination as they came back. A worker that does not let go of its grant keeps the destination.
fn both(done: &Done) -> Result<(&[u8], &[u8])> {
    match (&done.buffers.source, &done.buffers.destination) {
        (Some(source), Some(destination)) => Ok((source, destination)),
        _ => Err(Refusal::Gone.into()),
    }
}

fn whole_tag(done: &Done) -> Result<[u8; 16]> {
    let tag = done.tag();
    tag.try_into().map_err(|_| Error::from(EngineError::OutputLength { given: 16, needed: tag.len() }).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_carries_and_wraps() {
        let mut counter = [0xff; 16];
        add(&mut counter, 1);
        assert_eq!(counter, [0; 16]);
        add(&mut counter, 0x1_0000);
        assert_eq!(counter[12..], [0, 1, 0, 0]);
        let mut short = [0, 0, 0, 0, 0, 0, 0xff, 0xff];
        add(&mut short, 4096);
        assert_eq!(short, [0, 0, 0, 0, 0, 1, 0x0f, 0xff]);
    }
}
