//! The source of random bytes. This crate makes no system call: its caller gives a source.

use crate::Error;

/// A source of random bytes that are fit for keys.
pub trait Random {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// The source has failed; nothing may be made of what is in `bytes`.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error>;
}
