//! Camellia with each byte of the block in a vector of its own, one block a byte: see [`planes`](crate::blocks::planes).
//!
//! Ref. RFC 3713 §2.3 and §2.4.
//!
//! # Safety
//! The methods of a [`Plane`] need its features; every function here passes that duty to its
//! caller, which is compiled for those features and reached through a `Bound`.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the head of this file says it for all")]

use super::Camellia;
use super::schedule::groups;
use crate::blocks::planes::{Computes, Keys, Plane};

/// Planes with Camellia's S-boxes.
pub(super) trait CamelliaPlane: Plane {
    /// Each byte doubled, with the top bit of `next` below.
    unsafe fn double(self, next: Self) -> Self;
    /// The S-boxes of a half: s1, s2, s3, s4, s2, s3, s4, s1.
    unsafe fn boxes(x: [Self; 8]) -> [Self; 8];
}

/// RFC 3713 §2.3 on as many blocks as a plane has bytes.
impl<P: CamelliaPlane> Computes<Camellia> for P {
    #[inline(always)]
    unsafe fn pass<K: Keys<P>>(keys: &K, mut x: [P; 16]) -> [P; 16] {
        let mut left = [x[0]; 8];
        let mut right = [x[0]; 8];
        for i in 0..8 {
            (left[i], right[i]) = (x[i], x[i + 8]);
        }
        // SAFETY: see the head of this file.
        unsafe { rounds(keys, &mut left, &mut right) };
        for i in 0..8 {
            (x[i], x[i + 8]) = (right[i], left[i]);
        }
        x
    }
}

#[inline(always)]
unsafe fn rounds<P: CamelliaPlane, K: Keys<P>>(keys: &K, left: &mut [P; 8], right: &mut [P; 8]) {
    let groups = groups(keys.used());
    let last = 8 * groups;
    // SAFETY: see the head of this file.
    unsafe {
        whiten(left, keys, 0);
        whiten(right, keys, 1);
        for group in 0..groups {
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

/// `y += F(x, key)` with the subkey of that number, RFC 3713 §2.4.1. With `a` the S-boxes' first four bytes and `b` the last, P
/// sums all of `a` and `b` for the first half of its output and all of `b` for the last, less or
/// plus a few.
#[inline(always)]
unsafe fn round<P: CamelliaPlane, K: Keys<P>>(x: &[P; 8], y: &mut [P; 8], keys: &K, subkey: usize) {
    let mut s = *x;
    // SAFETY: see the head of this file.
    unsafe {
        for i in 0..8 {
            s[i] = s[i].xor(byte(keys, subkey, i));
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
unsafe fn fl_right<P: CamelliaPlane, K: Keys<P>>(x: &mut [P; 8], keys: &K, subkey: usize) {
    // SAFETY: see the head of this file.
    unsafe {
        let mut product = [x[0]; 4];
        for i in 0..4 {
            product[i] = x[i].and(byte(keys, subkey, i));
        }
        for i in 0..4 {
            x[i + 4] = x[i + 4].xor(product[i].double(product[(i + 1) % 4]));
        }
    }
}

/// Adds the second half of `x`, ORed with the key, to the first.
#[inline(always)]
unsafe fn fl_left<P: CamelliaPlane, K: Keys<P>>(x: &mut [P; 8], keys: &K, subkey: usize) {
    for i in 0..4 {
        // SAFETY: see the head of this file.
        unsafe { x[i] = x[i].xor(x[i + 4].or(byte(keys, subkey, i + 4))) }
    }
}

#[inline(always)]
unsafe fn whiten<P: CamelliaPlane, K: Keys<P>>(x: &mut [P; 8], keys: &K, subkey: usize) {
    for i in 0..8 {
        // SAFETY: see the head of this file.
        unsafe { x[i] = x[i].xor(byte(keys, subkey, i)) }
    }
}

/// One byte of a subkey, of which a row has two.
#[inline(always)]
unsafe fn byte<P: Plane, K: Keys<P>>(keys: &K, subkey: usize, byte: usize) -> P {
    // SAFETY: see the head of this file.
    unsafe { keys.byte(subkey / 2, 8 * (subkey % 2) + byte) }
}
