//! SM4 with each byte of the block in a vector of its own, one block a byte: see [`planes`](crate::blocks::planes).
//!
//! Ref. GB/T 32907-2016 §6 and §7.
//!
//! # Safety
//! The methods of a [`Plane`] need its features; every function here passes that duty to its
//! caller, which is compiled for those features and reached through a `Bound`.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the head of this file says it for all")]

use super::Sm4;
use crate::blocks::planes::{Computes, Keys, Plane};

/// Planes with SM4's S-box.
pub(super) trait Sm4Plane: Plane {
    /// Returns P and Q of the S-box of every byte: see `sbox.rs`.
    unsafe fn boxes(self) -> [Self; 2];
}

/// §7.1 on as many blocks as a plane has bytes.
impl<P: Sm4Plane> Computes<Sm4> for P {
    #[inline(always)]
    unsafe fn pass<K: Keys<P>>(keys: &K, mut x: [P; 16]) -> [P; 16] {
        for row in 0..keys.used() {
            for i in 0..4 {
                // SAFETY: see the head of this file.
                unsafe { round(keys, row, i, &mut x) };
            }
        }
        // The output is the last four words in reverse.
        let old = x;
        for i in 0..16 {
            x[i] = old[12 - i / 4 * 4 + i % 4];
        }
        x
    }
}

/// Round `4 * row + i`, which adds T of the three words behind word `i` to it.
#[inline(always)]
unsafe fn round<P: Sm4Plane, K: Keys<P>>(keys: &K, row: usize, i: usize, x: &mut [P; 16]) {
    let word = |ahead: usize| (i + ahead) % 4 * 4;
    let (mut p, mut q) = ([x[0]; 4], [x[0]; 4]);
    // SAFETY: see the head of this file.
    unsafe {
        for byte in 0..4 {
            let sum = x[word(1) + byte].xor3(x[word(2) + byte], x[word(3) + byte]);
            [p[byte], q[byte]] = sum.xor(keys.byte(row, 4 * i + byte)).boxes();
        }
        let all = q[0].xor3(q[1], q[2]).xor(q[3]);
        for byte in 0..4 {
            let own = x[word(0) + byte].xor3(p[byte], p[(byte + 3) % 4]);
            x[word(0) + byte] = own.xor3(all, q[byte]);
        }
    }
}
