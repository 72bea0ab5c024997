//! Camellia bitsliced over eight blocks, in constant time.
//!
//! The blocks lie in the bit planes of `round.rs`.
//!
//! Ref. RFC 3713 §2.3 and §2.4.
//!
//! # Safety
//! A [`Batch`] may need features, so its methods are unsafe. This one needs none.
#![allow(unsafe_code)]

use super::Camellia;
use super::round::round;
use super::schedule::{groups, subkey};
use crate::blocks::bits::{Planes, same_planes, transpose};
use crate::blocks::passes::{Batch, MAX_WIDTH, passes};
use crate::blocks::{Block, Ops, Subkeys};

/// Adds the first word of a half, masked by the key and rotated left by one bit as a big-endian
/// word, to the second.
#[inline(always)]
fn fl_right(x: &mut Planes, key: &Planes) {
    let product = |bit: usize| (x[bit] & key[bit]) as u32;
    let carried = product(7).rotate_right(8);
    let sums = [carried, product(0), product(1), product(2), product(3), product(4), product(5), product(6)];
    for bit in 0..8 {
        x[bit] ^= (sums[bit] as u64) << 32;
    }
}

/// Adds the second word of a half, ORed with the key, to the first.
#[inline(always)]
fn fl_left(x: &mut Planes, key: &Planes) {
    for bit in 0..8 {
        x[bit] ^= (x[bit] | key[bit]) >> 32;
    }
}

/// RFC 3713 §2.3 on eight blocks as planes.
fn crypt(keys: &Subkeys<Camellia>, left: &mut Planes, right: &mut Planes) {
    let groups = groups(keys.used);
    let last = 8 * groups;
    whiten(left, subkey(keys, 0));
    whiten(right, subkey(keys, 1));
    for group in 0..groups {
        let at = 8 * group + 2;
        if group > 0 {
            let (fl, inverse) = (same_planes(subkey(keys, at - 2)), same_planes(subkey(keys, at - 1)));
            fl_right(left, &fl);
            fl_left(left, &fl);
            fl_left(right, &inverse);
            fl_right(right, &inverse);
        }
        for i in (at..at + 6).step_by(2) {
            round(left, right, subkey(keys, i));
            round(right, left, subkey(keys, i + 1));
        }
    }
    whiten(right, subkey(keys, last));
    whiten(left, subkey(keys, last + 1));
}

#[inline(always)]
fn whiten(x: &mut Planes, key: [u8; 8]) {
    let key = same_planes(key);
    for bit in 0..8 {
        x[bit] ^= key[bit];
    }
}

struct Bitsliced;

impl Batch for Bitsliced {
    type Cipher = Camellia;

    const WIDTH: usize = 8;

    #[inline(always)]
    unsafe fn batch(subkeys: &Subkeys<Camellia>, blocks: &mut [Block; MAX_WIDTH], _count: usize) {
        let (mut left, mut right) = ([0; 8], [0; 8]);
        for i in 0..8 {
            let block = u128::from_le_bytes(blocks[i]);
            (left[i], right[i]) = (block as u64, (block >> 64) as u64);
        }
        transpose(&mut left);
        transpose(&mut right);
        crypt(subkeys, &mut left, &mut right);
        transpose(&mut left);
        transpose(&mut right);
        for i in 0..8 {
            blocks[i] = ((left[i] as u128) << 64 | right[i] as u128).to_le_bytes();
        }
    }

    #[inline(always)]
    unsafe fn one(subkeys: &Subkeys<Camellia>, block: Block) -> Block {
        let mut blocks = [[0; 16]; MAX_WIDTH];
        blocks[0] = block;
        // SAFETY: needs no feature.
        unsafe { Self::batch(subkeys, &mut blocks, 1) };
        blocks[0]
    }
}

pub(super) const OPS: Ops<Camellia> = passes!(Bitsliced);
