//! Refusals of lengths that do not fit the modulus or the hash.

use crate::Error;

pub(super) const AS_MODULUS: &str = "as many bytes as the modulus has";
pub(super) const FOR_MODULUS: &str = "at least as many bytes as the modulus has";
pub(super) const AS_DIGEST: &str = "as many bytes as the hash gives";

/// The error of a length.
pub(super) fn length(what: &'static str, given: usize, takes: &'static str) -> Error {
    Error::Length { algorithm: "rsa", what, given, takes }
}

/// The first `len` bytes of an output.
pub(super) fn room(out: &mut [u8], len: usize) -> Result<&mut [u8], Error> {
    let given = out.len();
    out.get_mut(..len).ok_or(length("output", given, "at least as many bytes as the result has"))
}
