//! Random bytes for a whole column.

use millstream::Generator;
use zeroize::Zeroizing;

use crate::error::Error;

/// Fills `bytes` from a generator that the kernel has seeded for this call: one system call for a column, not one for each value,
/// and nothing is left that a fork or a restored snapshot could repeat.
///
/// # Errors
/// [`Error::Engine`] when the kernel has no random bytes.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), Error> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut seed = Zeroizing::new([0; 32]);
    millstream::random(&mut *seed)?;
    Generator::new(millstream::features()?, &seed)
        .fill(bytes)
        .map_err(|_| millstream::EngineError::Random)?;
    Ok(())
}
