//! CMAC: a MAC from a block cipher in CBC mode, with a subkey in the last block.
//!
//! What is here serves every cipher. AES has kernels of its own for it: [`aes::Cmac`](crate::aes::Cmac).
//!
//! Ref. NIST SP 800-38B §5.3, §6.1 and §6.2.

mod state;

pub use state::{State, Stream};

use subtle::ConstantTimeEq;

use crate::Error;

/// The shortest tag that is verified, in bytes. SP 800-38B appendix A.2 wants 64 bits unless the
/// number of failed verifications is limited, and never fewer than 32.
pub const MIN_TAG: usize = 4;

/// A key for CMAC with blocks of `N` bytes: what a [`State`] asks for.
pub trait Key<const N: usize> {
    /// The name, as in `aes-cmac`.
    const NAME: &'static str;

    /// Passes whole blocks and one more through CBC, of which only the chaining value is kept.
    fn absorb(&self, chain: &mut [u8; N], blocks: &[u8], last: &[u8; N]);

    /// At most `N` bytes as the last block: padded where they are fewer, with the subkey.
    fn last_block(&self, bytes: &[u8]) -> [u8; N];
}

/// Compares a tag, or as much of it as is given, in constant time.
pub(crate) fn compare(algorithm: &'static str, computed: &[u8], tag: &[u8]) -> Result<(), Error> {
    if !(MIN_TAG..=computed.len()).contains(&tag.len()) {
        let takes = if computed.len() == 8 { "4 to 8 bytes" } else { "4 to 16 bytes" };
        return Err(Error::TagLength { algorithm, given: tag.len(), takes });
    }
    if computed[..tag.len()].ct_eq(tag).into() { Ok(()) } else { Err(Error::Authentication) }
}
