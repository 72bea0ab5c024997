//! Keys of modes without authentication, wherever they are: in this process or in the service.

use millstream::modes::{Direction, MAX_BLOCK};
use millstream::tally::Place;
use millstream::{CipherKey, InOut};

use crate::error::Result;

/// A key of a mode that works on whole blocks, wherever it is.
pub trait BlockKey: Send + Sync {
    /// Passes whole blocks; `chain` holds the vector before and what the next pass needs after.
    fn pass(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()>;

    /// The engine's key, if it is in this process: for passes of several messages at once.
    fn engine(&self) -> Option<CipherKey<'_>> {
        None
    }

    /// Where it is.
    fn place(&self) -> Place;

    /// What computes.
    fn kernel(&self) -> &'static str;
}

/// A key of a mode that takes any number of bytes, wherever it is.
pub trait StreamKey: Send + Sync {
    /// Passes whole blocks; `chain` holds the counter, or the last ciphertext, before and after.
    fn blocks(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()>;

    /// Writes what the bytes of the next block are added to, and moves a counter on.
    fn pad(&self, chain: &mut [u8; MAX_BLOCK], pad: &mut [u8; MAX_BLOCK]) -> Result<()>;

    /// The engine's key, if it is in this process: for passes of several messages at once.
    fn engine(&self) -> Option<CipherKey<'_>> {
        None
    }

    /// Where it is.
    fn place(&self) -> Place;

    /// What computes.
    fn kernel(&self) -> &'static str;
}
