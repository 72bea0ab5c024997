//! The random bytes of signatures.

use millstream_publickey::{Error, Random};

use crate::source::UnitRandom;

/// Draws from a unit's random bytes, and fails where there are none.
pub(super) struct Draw<'s>(pub(super) Option<UnitRandom<'s>>);

impl Random for Draw<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.0.as_mut().ok_or(Error::Random)?.fill(bytes)
    }
}
