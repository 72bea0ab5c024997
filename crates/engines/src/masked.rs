//! Addresses for masked loads that read nothing.

/// Returns the address of `n` bytes for a masked load of less than a vector, or for no bytes one that can be read.
///
/// A slice without bytes, such as an empty message or the associated data that most messages have none of, may have any address. The masked
/// load reads nothing there, but where no memory is the processor stops to find that out: for 40 to 300 ns on Zen 4, which is several times as
/// long as a short message takes.
#[inline(always)]
pub(crate) fn readable<T>(from: *const T, n: usize) -> *const T {
    static NOTHING: [u64; 8] = [0; 8];
    if n == 0 { NOTHING.as_ptr().cast() } else { from }
}
