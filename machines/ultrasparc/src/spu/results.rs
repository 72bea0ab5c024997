//! The results of an operation, before anything of them is in memory.

use super::diagnostics::Latches;
use super::fault::Field;

/// What an operation is going to write.
pub(crate) struct Results {
    pub writes: Vec<(Field, u64, Vec<u8>)>,
    pub latches: Latches,
}
