//! Camellia with each byte of the block in a vector of its own, one block a byte.
//!
//! P is then additions of whole vectors, and an S-box works on one vector of bytes. This form suits many blocks, and is
//! written once over [`Plane`] for every width and every way to compute the S-boxes.
//!
//! Ref. RFC 3713 §2.3 and §2.4.
//!
//! # Safety
//! The methods of a [`Plane`] need its features; every function here passes that duty to its
//! caller, which is compiled for those features and reached through a `Bound`.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the head of this file says it for all")]

use super::schedule::{Order, SUBKEYS};

/// A vector of bytes, in lanes of sixteen.
pub(super) trait Plane: Copy {
    /// Bytes in a vector.
    const BYTES: usize;

    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    /// A byte, given four times, everywhere.
    unsafe fn splat(byte: u32) -> Self;
    unsafe fn xor(self, b: Self) -> Self;
    unsafe fn xor3(self, b: Self, c: Self) -> Self;
    unsafe fn and(self, b: Self) -> Self;
    unsafe fn or(self, b: Self) -> Self;
    /// The first halves of each lane of `self` and `b`, byte by byte in turn.
    unsafe fn interleave_low(self, b: Self) -> Self;
    /// The second halves.
    unsafe fn interleave_high(self, b: Self) -> Self;
    /// Each byte doubled, with the top bit of `next` below.
    unsafe fn double(self, next: Self) -> Self;
    /// The S-boxes of a half: s1, s2, s3, s4, s2, s3, s4, s1.
    unsafe fn boxes(x: [Self; 8]) -> [Self; 8];
}

/// The subkeys of every block.
pub(super) trait Subkeys<P> {
    /// Groups of six rounds.
    fn groups(&self) -> usize;
    /// One byte of a subkey, for every block.
    unsafe fn byte(&self, subkey: usize, byte: usize) -> P;
}

/// One key for all blocks.
impl<P: Plane> Subkeys<P> for Order {
    #[inline(always)]
    fn groups(&self) -> usize {
        self.groups
    }

    #[inline(always)]
    unsafe fn byte(&self, subkey: usize, byte: usize) -> P {
        // SAFETY: see the head of this file.
        unsafe { P::splat(self.wide[subkey][byte]) }
    }
}

/// A key for each block, with each byte of the subkeys in a vector.
pub(super) struct Planes<P> {
    pub groups: usize,
    pub bytes: [[P; 8]; SUBKEYS],
}

impl<P: Plane> Subkeys<P> for Planes<P> {
    #[inline(always)]
    fn groups(&self) -> usize {
        self.groups
    }

    #[inline(always)]
    unsafe fn byte(&self, subkey: usize, byte: usize) -> P {
        self.bytes[subkey][byte]
    }
}

/// Turns blocks in vectors into bytes in vectors, or back: in each lane, byte `j` of vector `i` becomes byte `i` of
/// vector `j`. Each step turns the eight-bit index of a byte (vector, byte) by one bit.
#[inline(always)]
pub(super) unsafe fn transpose<P: Plane>(mut x: [P; 16]) -> [P; 16] {
    for _ in 0..4 {
        let old = x;
        for i in 0..8 {
            // SAFETY: see the head of this file.
            unsafe {
                x[2 * i] = old[i].interleave_low(old[i + 8]);
                x[2 * i + 1] = old[i].interleave_high(old[i + 8]);
            }
        }
    }
    x
}

/// `y += F(x, key)` with the subkey of that number, RFC 3713 §2.4.1. With `a` the S-boxes' first four bytes and `b` the last, P
/// sums all of `a` and `b` for the first half of its output and all of `b` for the last, less or
/// plus a few.
#[inline(always)]
unsafe fn round<P: Plane, K: Subkeys<P>>(x: &[P; 8], y: &mut [P; 8], keys: &K, subkey: usize) {
    let mut s = *x;
    // SAFETY: see the head of this file.
    unsafe {
        for i in 0..8 {
            s[i] = s[i].xor(keys.byte(subkey, i));
        }
        let s = P::boxes(s);
        let all_b = s[4].xor3(s[5], s[6]).xor(s[7]);
        let all = s[0].xor3(s[1], s[2]).xor3(s[3], all_b);
        for i in 0..4 {
            let less = s[(i + 1) % 4].xor(s[i + 4]);
            y[i] = y[i].xor3(all, less);
            y[i + 4] = y[i + 4].xor3(all_b, less).xor(s[i]);
        }
    }
}

/// Adds the first half of `x`, masked by the key and rotated left by one bit as a word, to the second.
#[inline(always)]
unsafe fn fl_right<P: Plane, K: Subkeys<P>>(x: &mut [P; 8], keys: &K, subkey: usize) {
    // SAFETY: see the head of this file.
    unsafe {
        let mut product = [x[0]; 4];
        for i in 0..4 {
            product[i] = x[i].and(keys.byte(subkey, i));
        }
        for i in 0..4 {
            x[i + 4] = x[i + 4].xor(product[i].double(product[(i + 1) % 4]));
        }
    }
}

/// Adds the second half of `x`, ORed with the key, to the first.
#[inline(always)]
unsafe fn fl_left<P: Plane, K: Subkeys<P>>(x: &mut [P; 8], keys: &K, subkey: usize) {
    for i in 0..4 {
        // SAFETY: see the head of this file.
        unsafe { x[i] = x[i].xor(x[i + 4].or(keys.byte(subkey, i + 4))) }
    }
}

#[inline(always)]
unsafe fn whiten<P: Plane, K: Subkeys<P>>(x: &mut [P; 8], keys: &K, subkey: usize) {
    for i in 0..8 {
        // SAFETY: see the head of this file.
        unsafe { x[i] = x[i].xor(keys.byte(subkey, i)) }
    }
}

/// RFC 3713 §2.3 on as many blocks as a vector has bytes.
#[inline(always)]
pub(super) unsafe fn crypt<P: Plane, K: Subkeys<P>>(keys: &K, blocks: &mut [u8]) {
    assert!(blocks.len() >= 16 * P::BYTES);
    // SAFETY: sixteen vectors fit the blocks; for the features see the head of this file.
    unsafe {
        let mut x = [P::splat(0); 16];
        for i in 0..16 {
            x[i] = P::load(blocks.as_ptr().add(i * P::BYTES));
        }
        x = transpose(x);
        let mut left = [x[0]; 8];
        let mut right = [x[0]; 8];
        for i in 0..8 {
            (left[i], right[i]) = (x[i], x[i + 8]);
        }
        rounds(keys, &mut left, &mut right);
        for i in 0..8 {
            (x[i], x[i + 8]) = (right[i], left[i]);
        }
        x = transpose(x);
        for i in 0..16 {
            x[i].store(blocks.as_mut_ptr().add(i * P::BYTES));
        }
    }
}

#[inline(always)]
unsafe fn rounds<P: Plane, K: Subkeys<P>>(keys: &K, left: &mut [P; 8], right: &mut [P; 8]) {
    let last = 8 * keys.groups();
    // SAFETY: see the head of this file.
    unsafe {
        whiten(left, keys, 0);
        whiten(right, keys, 1);
        for group in 0..keys.groups() {
            let at = 8 * group + 2;
            if group > 0 {
                fl_right(left, keys, at - 2);
                fl_left(left, keys, at - 2);
                fl_left(right, keys, at - 1);
                fl_right(right, keys, at - 1);
            }
            for i in 0..3 {
                round(left, right, keys, at + 2 * i);
                round(right, left, keys, at + 2 * i + 1);
            }
        }
        whiten(right, keys, last);
        whiten(left, keys, last + 1);
    }
}
