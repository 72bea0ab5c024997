//! Camellia bitsliced over eight blocks, in constant time.
//!
//! The blocks lie in the bit planes of `round.rs`.
//!
//! Ref. RFC 3713 §2.3 and §2.4.

use super::passes::{Cipher, MAX_WIDTH, passes};
use super::round::{Planes, key_planes, round, transpose};
use super::schedule::Order;
use super::{Block, Ops};

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
fn crypt(order: &Order, left: &mut Planes, right: &mut Planes) {
    let last = 8 * order.groups;
    whiten(left, order.keys[0]);
    whiten(right, order.keys[1]);
    for group in 0..order.groups {
        let at = 8 * group + 2;
        if group > 0 {
            let (fl, inverse) = (key_planes(order.keys[at - 2]), key_planes(order.keys[at - 1]));
            fl_right(left, &fl);
            fl_left(left, &fl);
            fl_left(right, &inverse);
            fl_right(right, &inverse);
        }
        for i in (at..at + 6).step_by(2) {
            round(left, right, order.keys[i]);
            round(right, left, order.keys[i + 1]);
        }
    }
    whiten(right, order.keys[last]);
    whiten(left, order.keys[last + 1]);
}

#[inline(always)]
fn whiten(x: &mut Planes, key: [u8; 8]) {
    let key = key_planes(key);
    for bit in 0..8 {
        x[bit] ^= key[bit];
    }
}

struct Bitsliced;

impl Cipher for Bitsliced {
    const WIDTH: usize = 8;

    #[inline(always)]
    unsafe fn batch(order: &Order, blocks: &mut [Block; MAX_WIDTH], _count: usize) {
        let (mut left, mut right) = ([0; 8], [0; 8]);
        for i in 0..8 {
            let block = u128::from_le_bytes(blocks[i]);
            (left[i], right[i]) = (block as u64, (block >> 64) as u64);
        }
        transpose(&mut left);
        transpose(&mut right);
        crypt(order, &mut left, &mut right);
        transpose(&mut left);
        transpose(&mut right);
        for i in 0..8 {
            blocks[i] = ((left[i] as u128) << 64 | right[i] as u128).to_le_bytes();
        }
    }

    #[inline(always)]
    unsafe fn one(order: &Order, block: Block) -> Block {
        let mut blocks = [[0; 16]; MAX_WIDTH];
        blocks[0] = block;
        // SAFETY: needs no feature.
        unsafe { Self::batch(order, &mut blocks, 1) };
        blocks[0]
    }
}

pub(super) const OPS: Ops = passes!(Bitsliced);
