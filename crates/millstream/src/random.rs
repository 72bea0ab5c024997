//! Random bytes for what this process computes itself: the kernel's, so that neither a fork nor a restored snapshot of the
//! machine repeats any.

use millstream_publickey::{Error as PublicKeyError, Random};

use crate::key::fill_with_random;
use crate::{EngineError, Error};

/// Fills `bytes` with random ones that are fit for keys, from the kernel (`getrandom(2)`). It waits while the kernel has no
/// entropy yet, early in the machine's start.
///
/// A [`Request::random`](crate::queue::Request::random) to a service is filled by a worker's generator, with no system call. A
/// program that wants a generator of its own has [`Generator`](crate::Generator).
///
/// ```
/// let (mut one, mut other) = ([0; 32], [0; 32]);
/// millstream::random(&mut one)?;
/// millstream::random(&mut other)?;
/// assert_ne!(one, other);
/// # Ok::<(), millstream::Error>(())
/// ```
///
/// # Errors
/// [`EngineError::Random`] when the kernel has no such system call, or a sandbox forbids it.
pub fn random(bytes: &mut [u8]) -> Result<(), Error> {
    fill_with_random(bytes).map_err(|_| Error::Engine(EngineError::Random))
}

/// Fills bytes for an accelerator of this process.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), PublicKeyError> {
    fill_with_random(bytes).map_err(|_| PublicKeyError::Random)
}

/// The same bytes as [`random`] gives, as a source for keys and signatures of [`publickey`](crate::publickey).
///
/// ```
/// use millstream::publickey::ecdsa::{Curve, PrivateKey};
///
/// let key = PrivateKey::generate(millstream::features()?, Curve::P256, &mut millstream::SystemRandom)?;
/// assert_eq!(key.curve(), Curve::P256);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), PublicKeyError> {
        fill(bytes)
    }
}
