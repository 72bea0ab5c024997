//! Random bytes for what this process computes itself: the kernel's, so that neither a fork nor a restored snapshot of the
//! machine repeats any.

use millstream_publickey::{Error, Random};

use crate::key::fill_with_random;

/// Fills bytes for an accelerator of this process.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    fill_with_random(bytes).map_err(|_| Error::Random)
}

/// The same as a source.
pub(crate) struct Kernel;

impl Random for Kernel {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        fill(bytes)
    }
}
