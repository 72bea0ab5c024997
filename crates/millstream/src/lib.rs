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
//! # Turning hardware off
//! `MILLSTREAM_HWCAP="-aes -sha"` takes instructions away from every program that uses this crate, so that
//! their worth can be measured. An unknown name is an error that lists the known ones:
//! [`features`] returns it, and nothing falls back in silence.
//!
//! # Safety of keys
//! Keys and states are zeroised when dropped. Kernels that are picked by default do not branch on, or
//! index memory by, keys or data; [`Kernel::timing`](kernel::Kernel::timing) tells.
#![forbid(unsafe_code)]

use std::fmt;

pub use millstream_cpu::{Feature, FeatureSet, Features, Mask, MaskError, processor_name};
pub use millstream_engines::{
    Algorithm, Bound, Engine, Error as EngineError, InOut, Kernel, Standing, Timing, aead, aes, camellia,
    chacha20poly1305, crc, des, engines, gcm, hash, hkdf, hmac, ipsum, kasumi, kernel, md5, modes, rc4, sha1,
    sha256, sha512,
};

/// The instructions this process may use: the processor's, less those that `MILLSTREAM_HWCAP` takes away.
///
/// # Errors
/// When the variable names an unknown feature.
pub fn features() -> Result<Features, Error> {
    Ok(Features::active()?)
}

/// What can go wrong, from the environment or in an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// `MILLSTREAM_HWCAP` can't be understood.
    Mask(MaskError),
    /// An engine refused or failed.
    Engine(EngineError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Mask(error) => error.fmt(f),
            Error::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<MaskError> for Error {
    fn from(error: MaskError) -> Self {
        Error::Mask(error)
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        Error::Engine(error)
    }
}
