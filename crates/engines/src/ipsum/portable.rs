//! 64-bit words in a 128-bit sum: an add and an add with carry for eight bytes.
//!
//! Ref. RFC 1071 §2 (C): parallel summation.

use super::Ops;
use crate::InOut;

/// Bytes copied at a time, so that the sum finds them in the first-level cache.
const PIECE: usize = 4096;

pub(super) const OPS: Ops = Ops { sum, copy };

/// Returns the sum that [`Ops`] describes.
pub(super) fn sum(data: &[u8]) -> u64 {
    let (words, rest) = data.as_chunks::<8>();
    let mut total = 0u128;
    for word in words {
        total += u128::from(u64::from_le_bytes(*word));
    }
    total += u128::from(last_bytes(rest));
    fold128(total)
}

/// Fewer than eight bytes as a little-endian number. (A copy of so few bytes would cost a call.)
#[inline(always)]
fn last_bytes(mut rest: &[u8]) -> u64 {
    let (mut number, mut bits) = (0, 0);
    if let Some((word, after)) = rest.split_first_chunk() {
        number = u64::from(u32::from_le_bytes(*word));
        bits = 32;
        rest = after;
    }
    if let Some((word, after)) = rest.split_first_chunk() {
        number |= u64::from(u16::from_le_bytes(*word)) << bits;
        bits += 16;
        rest = after;
    }
    if let [byte] = rest {
        number |= u64::from(*byte) << bits;
    }
    number
}

/// Adds the upper half to the lower: 2^64 is 1 modulo 2^16 - 1.
#[inline(always)]
fn fold128(total: u128) -> u64 {
    let (sum, carry) = (total as u64).overflowing_add((total >> 64) as u64);
    sum + u64::from(carry)
}

pub(super) fn copy(mut data: InOut<'_>) -> u64 {
    let mut total = 0u128;
    while !data.is_empty() {
        let mut piece = data.take(data.len().min(PIECE));
        piece.copy();
        total += u128::from(sum(piece.input()));
    }
    fold128(total)
}
