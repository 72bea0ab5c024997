//! The results of an operation, before any of them is in memory.

use super::diagnostics::Latches;
use super::fault::Field;

/// The bytes that an operation is going to write, and where.
pub(crate) struct Results {
    pub writes: Vec<(Field, u64, Vec<u8>)>,
    pub latches: Latches,
}
