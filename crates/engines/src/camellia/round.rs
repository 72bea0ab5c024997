//! One round of Camellia on the bit planes of eight blocks, in constant time.
//!
//! A half of eight blocks is eight words, one for each bit of a byte; bit `8p + j` of a word belongs
//! to byte `p` of block `j`'s half. The S-boxes are computed in Camellia's own field GF((2^4)^2),
//! and the byte mixing P is rotations of a word's halves.
//!
//! Ref. RFC 3713 §2.4.1.

use super::sbox::{F, H, IN_CONSTANT, OUT_CONSTANT};
use crate::blocks::bits::{Planes, add_constant, invert_8, linear, same_planes, transpose};

/// Bytes of a half that go through s2, s3 and s4 (the others through s1).
const S2: u64 = 0x0000_00ff_0000_ff00;
const S3: u64 = 0x0000_ff00_00ff_0000;
const S4: u64 = 0x00ff_0000_ff00_0000;

/// The S-box of each byte. Ref. RFC 3713 §2.4.1: s4 rotates the input, s2 and s3 the output of s1.
#[inline(always)]
fn substitute(x: Planes) -> Planes {
    let mut rotated = x;
    for bit in 0..8 {
        rotated[bit] = x[bit] & !S4 | x[(bit + 7) % 8] & S4;
    }
    let y = linear(F, add_constant(IN_CONSTANT, rotated));
    let y = add_constant(OUT_CONSTANT, linear(H, invert_8(y)));
    let mut rotated = y;
    for bit in 0..8 {
        rotated[bit] = y[bit] & !(S2 | S3) | y[(bit + 7) % 8] & S2 | y[(bit + 1) % 8] & S3;
    }
    rotated
}

/// P (RFC 3713 §2.4.1) on one plane: with `a` the first four bytes and `b` the last, each output
/// byte is the sum of three of `b`, and in the first half three of `a`, in the last two.
#[inline(always)]
fn mix(plane: u64) -> u64 {
    let (a, b) = (plane as u32, (plane >> 32) as u32);
    let all = |x: u32| {
        let pairs = x ^ x.rotate_right(16);
        pairs ^ pairs.rotate_right(8)
    };
    let three_of_b = all(b) ^ b;
    let next = a.rotate_right(8);
    (three_of_b ^ all(a) ^ next) as u64 | ((three_of_b ^ a ^ next) as u64) << 32
}

/// `y += F(x, key)`.
#[inline(always)]
pub(super) fn round(x: &Planes, y: &mut Planes, key: [u8; 8]) {
    let mut sum = same_planes(key);
    for bit in 0..8 {
        sum[bit] ^= x[bit];
    }
    let s = substitute(sum);
    for bit in 0..8 {
        y[bit] ^= mix(s[bit]);
    }
}

/// F on one word, for the key schedule.
pub(super) fn f(x: u64, key: u64) -> u64 {
    let mut planes = [x.swap_bytes(), 0, 0, 0, 0, 0, 0, 0];
    let mut sum = [0; 8];
    transpose(&mut planes);
    round(&planes, &mut sum, key.to_be_bytes());
    transpose(&mut sum);
    sum[0].swap_bytes()
}
