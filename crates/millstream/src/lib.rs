//! Cryptographic acceleration for Linux: the public Rust API.
//!
//! An *engine* computes one algorithm. It has a table of *kernels*, one for each processor tier, and
//! a key or state is bound to the best kernel that the process's [`features`] allow when it is made.
//! This crate supplies those features and re-exports the engines.
//!
//! # One object, one call
//! ```
//! # fn main() -> Result<(), millstream::Error> {
//! use millstream::aead::Aead;
//! use millstream::{InOut, gcm::Gcm};
//!
//! let key = Gcm::new(millstream::features()?, &[7; 32])?;
//! let mut data = *b"one small object";
//! let mut tag = [0; 16];
//! key.seal(&[1; 12], b"header", InOut::in_place(&mut data), &mut tag)?;
//! assert_ne!(&data, b"one small object");
//!
//! key.open(&[1; 12], b"header", InOut::in_place(&mut data), &tag)?;
//! assert_eq!(&data, b"one small object");
//! println!("computed by {}", key.kernel().name);
//! # Ok(()) }
//! ```
//!
//! # Many objects
//! [`batch`] executes any number of [`Operation`]s side by side in vector lanes. Where many objects of one
//! algorithm are at hand, its lane manager ([`aes::CbcLanes`], [`hash::HashLanes`] ...) takes them without the
//! detour. A [`queue`] keeps operations in flight while the application does something else.
//!
//! # Keys out of reach
//! [`isolated`] gets such queues from the service `millstream serve`, whose workers hold the keys: operations pass
//! through shared memory with no system call on the way. No bug in this process can give away a key that a worker
//! generated and may not export, for it never was in this process. An imported key was, before it was handed over: what a bug
//! can't reach is the worker's copy, and whether another one is left here is up to the application. Whoever takes this process over can
//! *use* its keys as long as its grant lasts. Workers keep nothing: keys end with their grant.
//!
//! # Turning hardware off
//! `MILLSTREAM_HWCAP="-aes -sha"` takes instructions away from every program that uses this crate, so that
//! their worth can be measured. An unknown name is an error that lists the known ones:
//! [`features`] returns it, and nothing falls back in silence.
//!
//! `MILLSTREAM_QUEUE=general` sends every word of a queue the general way, so that the worth of the fast one can be
//! measured: see [`Way`]. A worker's queues take the way that its service was started with.
//!
//! # Safety of keys
//! Keys and states are zeroised when dropped. Kernels that are picked by default do not branch on, or
//! index memory by, keys or data; [`Kernel::timing`](kernel::Kernel::timing) tells.
#![deny(unsafe_code)]

mod grant;
mod heap;
pub mod isolated;
mod key;
mod link;
pub mod nonce;
pub mod queue;
mod random;
mod refusal;
pub mod srtp;

use std::fmt;
use std::sync::OnceLock;

pub use millstream_accelerator::{
    AeadKey, Checksum, CipherKey, DecryptionScheme, Generator, Key, MacKey, MlDsaInput, Operation,
    PrivateKey, SignatureScheme, Unit, VerifyingKey, VerifyingKeyRef, Way, WayError, algorithm_of,
    algorithm_of_slh_dsa, given_by, is_long_result,
};
pub use millstream_cpu::{Feature, FeatureSet, Features, Mask, MaskError, processor_name};
pub use millstream_cwq as cwq;
#[cfg(feature = "ff1")]
pub use millstream_engines::ff1;
pub use millstream_engines::{
    AlgorithmInfo, Bound, Engine, Error as EngineError, InOut, Kernel, Standing, Timing, aead, aes, camellia,
    chacha20poly1305, cmac, compare, crc, des, fernet, gcm, gcm_siv, hash, hkdf, hmac, ipsum, kasumi, kernel,
    keywrap, md5, modes, rc4, sha1, sha3, sha256, sha512, siv, sm4, tls, xaes,
};
pub use millstream_publickey as publickey;
pub use millstream_shm::tally;
#[doc(hidden)]
pub use millstream_shm::without_signals;
pub use random::{SystemRandom, random};

/// Returns every engine, in the order in which reports list them: the cipher and hash engines, and then those for public keys.
///
/// ```
/// let features = millstream::features()?;
/// for engine in millstream::engines() {
///     println!("{} is computed by {}", engine.algorithm().name, engine.chosen(features).name);
/// }
/// # Ok::<(), millstream::Error>(())
/// ```
pub fn engines() -> impl Iterator<Item = &'static dyn Engine> {
    millstream_engines::engines().iter().chain(millstream_publickey::engines()).copied()
}

/// The instructions this process may use: the processor's, less those that `MILLSTREAM_HWCAP` takes away.
///
/// # Errors
/// When the variable names an unknown feature.
pub fn features() -> Result<Features, Error> {
    Ok(Features::active()?)
}

/// Executes all operations; those of one kind go side by side wherever that pays. All are done on return, with
/// results and errors in place; no operation allocates.
///
/// ```
/// use millstream::{InOut, Operation, gcm::Gcm};
///
/// let key = Gcm::new(millstream::features()?, &[7; 32])?;
/// let nonces: Vec<[u8; 12]> = (0..32).map(|i| [i; 12]).collect();
/// let mut records = [[0; 100]; 32];
/// let mut operations: Vec<_> = std::iter::zip(&nonces, &mut records)
///     .map(|(nonce, record)| Operation::seal(&key, nonce, b"header", InOut::in_place(record)))
///     .collect();
/// millstream::batch(&mut operations)?;
/// for operation in &operations {
///     operation.result()?;
///     assert_eq!(operation.tag().len(), 16);
/// }
/// # Ok::<(), millstream::Error>(())
/// ```
///
/// # Errors
/// When `MILLSTREAM_HWCAP` names an unknown feature; nothing has been executed then. What is wrong with one
/// operation is that operation's result.
pub fn batch(operations: &mut [Operation<'_>]) -> Result<(), Error> {
    unit()?.run(operations);
    Ok(())
}

/// Returns the engines that [`batch`] uses. They are made apart from it, so that it needs no stack for that.
#[inline(never)]
fn unit() -> Result<&'static Unit, Error> {
    // In a box, as each move of so large a value takes stack again.
    static UNIT: OnceLock<Box<Unit>> = OnceLock::new();
    if let Some(unit) = UNIT.get() {
        return Ok(unit);
    }
    let mut unit = Box::new(Unit::new(features()?));
    unit.set_random(random::fill);
    Ok(UNIT.get_or_init(|| unit))
}

/// An error, of the environment, an engine, a queue or a service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// `MILLSTREAM_HWCAP` can't be understood.
    Mask(MaskError),
    /// `MILLSTREAM_QUEUE` can't be understood.
    Way(WayError),
    /// An engine refused or failed.
    Engine(EngineError),
    /// A packet of SRTP was not protected, or is not accepted; or a session can't be had.
    Srtp(srtp::Error),
    /// A queue refused a request, or could not be made.
    Queue(queue::Refusal),
    /// Every key slot is taken: remove a key first.
    KeySlots,
    /// An operation of a queue failed.
    Operation(cwq::Status),
    /// The thread of an accelerator could not be started, or not be pinned to its processor.
    Thread(std::io::ErrorKind),
    /// Memory for a queue can't be had.
    Memory(std::io::ErrorKind),
    /// No grant: see [`isolated`].
    Attach(isolated::AttachError),
    /// No nonce is given out.
    Nonce(nonce::NonceError),
    /// The service refused what was asked about a key, or about a token.
    Key(isolated::KeyRefusal),
    /// The PIN of a token was wrong.
    WrongPin {
        /// The tries that are left.
        left: u8,
    },
    /// The service did not answer within the limit.
    NoAnswer(std::time::Duration),
    /// Every queue of the grant is taken.
    QueuesTaken,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Mask(error) => error.fmt(f),
            Error::Way(error) => error.fmt(f),
            Error::Engine(error) => error.fmt(f),
            Error::Srtp(error) => error.fmt(f),
            Error::Queue(refusal) => refusal.fmt(f),
            Error::KeySlots => {
                f.write_str("every key slot is taken: remove a key first, or configure more key_slots")
            }
            Error::Operation(status) => status.fmt(f),
            Error::Memory(kind) => {
                write!(f, "no memory for a queue: {kind}; configure less arena_bytes or depth")
            }
            Error::Attach(error) => error.fmt(f),
            Error::Nonce(error) => error.fmt(f),
            Error::Key(refusal) if refusal.is_about_tokens() => refusal.fmt(f),
            Error::WrongPin { left: 0 } => {
                f.write_str("wrong PIN, and the last try: the security officer sets another user PIN")
            }
            Error::WrongPin { left: 1 } => f.write_str("wrong PIN; 1 try is left"),
            Error::WrongPin { left } => write!(f, "wrong PIN; {left} tries are left"),
            Error::Key(refusal) => write!(f, "the key was refused: {refusal}"),
            Error::NoAnswer(limit) => write!(
                f,
                "the service did not answer within {limit:?}: see whether it is stopped or overloaded (millstream status), or allow a longer limit"
            ),
            Error::QueuesTaken => {
                f.write_str("every queue of the grant is taken: drop one, or attach with more queues")
            }
            Error::Thread(kind) => {
                write!(
                    f,
                    "the accelerator's thread could not be started or pinned: {kind}; choose another cpu"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    /// Returns the cause behind what this wraps. The message repeats all that the wrapped error itself says, so that error is
    /// no source: a report of sources would say it twice.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Mask(error) => error.source(),
            Error::Way(error) => error.source(),
            Error::Engine(error) => error.source(),
            Error::Srtp(error) => error.source(),
            Error::Queue(refusal) => refusal.source(),
            Error::Operation(status) => status.source(),
            Error::Attach(error) => error.source(),
            Error::Nonce(error) => error.source(),
            Error::Key(refusal) => refusal.source(),
            Error::KeySlots
            | Error::WrongPin { .. }
            | Error::Thread(_)
            | Error::Memory(_)
            | Error::NoAnswer(_)
            | Error::QueuesTaken => None,
        }
    }
}

impl From<MaskError> for Error {
    fn from(error: MaskError) -> Self {
        Error::Mask(error)
    }
}

impl From<WayError> for Error {
    fn from(error: WayError) -> Self {
        Error::Way(error)
    }
}

impl From<isolated::AttachError> for Error {
    fn from(error: isolated::AttachError) -> Self {
        Error::Attach(error)
    }
}

impl From<nonce::NonceError> for Error {
    fn from(error: nonce::NonceError) -> Self {
        Error::Nonce(error)
    }
}

impl From<queue::Refusal> for Error {
    fn from(refusal: queue::Refusal) -> Self {
        Error::Queue(refusal)
    }
}

impl From<queue::Refused> for Error {
    fn from(refused: queue::Refused) -> Self {
        Error::Queue(refused.why)
    }
}

impl From<cwq::Status> for Error {
    fn from(status: cwq::Status) -> Self {
        Error::Operation(status)
    }
}

impl From<srtp::Error> for Error {
    fn from(error: srtp::Error) -> Self {
        Error::Srtp(error)
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        Error::Engine(error)
    }
}
