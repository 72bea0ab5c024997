//! Keys of modes without authentication, wherever they are: in this process or in the service.

use millstream::modes::{Direction, MAX_BLOCK};
use millstream::tally::Place;
use millstream::{CipherKey, InOut};

use crate::error::Result;

/// A key of a mode that works on whole blocks, wherever it is.
pub trait BlockKey: Send + Sync {
    /// Encrypts or decrypts whole blocks. `chain` holds the vector before the call, and the state for the next call
    /// after it.
    fn blocks(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()>;

    /// Returns the engine's key, if it is in this process, to compute several messages at once.
    fn engine(&self) -> Option<CipherKey<'_>> {
        None
    }

    /// Returns the place of the key.
    fn place(&self) -> Place;

    /// Returns the name of the kernel that computes.
    fn kernel(&self) -> &'static str;
}

/// A key of a mode that takes any number of bytes, wherever it is.
pub trait StreamKey: Send + Sync {
    /// Encrypts or decrypts whole blocks. `chain` holds the counter, or the last ciphertext, before the call and after
    /// it.
    fn blocks(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()>;

    /// Writes the keystream of the next block, and moves a counter on.
    fn pad(&self, chain: &mut [u8; MAX_BLOCK], pad: &mut [u8; MAX_BLOCK]) -> Result<()>;

    /// Returns the engine's key, if it is in this process, to compute several messages at once.
    fn engine(&self) -> Option<CipherKey<'_>> {
        None
    }

    /// Returns the place of the key.
    fn place(&self) -> Place;

    /// Returns the name of the kernel that computes.
    fn kernel(&self) -> &'static str;
}
