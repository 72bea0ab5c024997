//! SM4 bitsliced over sixteen blocks, in constant time.
//!
//! Each word of the blocks is eight planes: bit `8q + i` of a plane belongs to byte `q / 2` of the word, counted from the
//! most significant, in block `i`, or `i + 8` where `q` is odd. A rotation of all words by eight bits is then a rotation
//! of each plane.
//!
//! Ref. GB/T 32907-2016 §6 and §7.
//!
//! # Safety
//! A [`Batch`] may need features, so its methods are unsafe. This one needs none.
#![allow(unsafe_code)]

use super::Sm4;
use super::sbox::{AFTER_TOWER, AFTER_TOWER_CONSTANT, BEFORE_TOWER, BEFORE_TOWER_CONSTANT};
use crate::blocks::bits::{Planes, add_constant, invert_8, linear, same_planes, transpose};
use crate::blocks::passes::{Batch, MAX_WIDTH, passes};
use crate::blocks::{Block, Ops, Subkeys};

pub(super) const OPS: Ops<Sm4> = passes!(Bitsliced);

struct Bitsliced;

impl Batch for Bitsliced {
    type Cipher = Sm4;

    const WIDTH: usize = 16;

    #[inline(always)]
    unsafe fn batch(subkeys: &Subkeys<Sm4>, blocks: &mut [Block; MAX_WIDTH], _count: usize) {
        crypt(subkeys, blocks);
    }

    #[inline(always)]
    unsafe fn one(subkeys: &Subkeys<Sm4>, block: Block) -> Block {
        let mut blocks = [[0; 16]; MAX_WIDTH];
        blocks[0] = block;
        crypt(subkeys, &mut blocks);
        blocks[0]
    }
}

/// GB/T 32907-2016 §7.1 on the first sixteen blocks.
fn crypt(subkeys: &Subkeys<Sm4>, blocks: &mut [Block; MAX_WIDTH]) {
    let mut x = [[0; 8]; 4];
    for word in 0..4 {
        for i in 0..8 {
            x[word][i] = spread(blocks[i], word) | spread(blocks[i + 8], word) << 8;
        }
        transpose(&mut x[word]);
    }
    for row in subkeys.rows() {
        for (i, &key) in row.as_chunks().0.iter().enumerate() {
            let [x0, x1, x2, x3] = [0, 1, 2, 3].map(|word| (word + i) % 4);
            let mut sum = round_key(key);
            for bit in 0..8 {
                sum[bit] ^= x[x1][bit] ^ x[x2][bit] ^ x[x3][bit];
            }
            let t = diffuse(substitute(sum));
            for bit in 0..8 {
                x[x0][bit] ^= t[bit];
            }
        }
    }
    // The output is the last four words in reverse.
    x.reverse();
    for word in 0..4 {
        transpose(&mut x[word]);
        for i in 0..8 {
            gather(x[word][i], &mut blocks[i], word);
            gather(x[word][i] >> 8, &mut blocks[i + 8], word);
        }
    }
}

/// A word's four bytes, with room for another byte after each.
#[inline(always)]
fn spread(block: Block, word: usize) -> u64 {
    let bytes = u64::from(u32::from_le_bytes(block.as_chunks().0[word]));
    let pairs = (bytes | bytes << 16) & 0x0000_ffff_0000_ffff;
    (pairs | pairs << 8) & 0x00ff_00ff_00ff_00ff
}

/// Takes back [`spread`].
#[inline(always)]
fn gather(spread: u64, block: &mut Block, word: usize) {
    let bytes = spread & 0x00ff_00ff_00ff_00ff;
    let pairs = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
    block.as_chunks_mut().0[word] = ((pairs | pairs >> 16) as u32).to_le_bytes();
}

/// The planes of a round key, the same in all blocks.
#[inline(always)]
fn round_key([a, b, c, d]: [u8; 4]) -> Planes {
    same_planes([a, a, b, b, c, c, d, d])
}

/// The S-box of each byte, §6.2.
#[inline(always)]
fn substitute(x: Planes) -> Planes {
    let y = add_constant(BEFORE_TOWER_CONSTANT, linear(BEFORE_TOWER, x));
    add_constant(AFTER_TOWER_CONSTANT, linear(AFTER_TOWER, invert_8(y)))
}

/// L(B) = B + (B <<< 2) + (B <<< 10) + (B <<< 18) + (B <<< 24), §6.2.
#[inline(always)]
fn diffuse(x: Planes) -> Planes {
    let (mut sum, mut y) = ([0; 8], [0; 8]);
    for bit in 0..8 {
        sum[bit] = x[bit] ^ x[bit].rotate_right(16) ^ x[bit].rotate_right(32);
        y[bit] = x[bit] ^ x[bit].rotate_right(48);
    }
    for bit in 0..8 {
        // A rotation by two bits; the two upper bits of a byte go to the byte before.
        y[bit] ^= if bit < 2 { sum[bit + 6].rotate_right(16) } else { sum[bit - 2] };
    }
    y
}

/// The S-box of each byte of one word, for the key schedule.
pub(super) fn substitute_word(word: u32) -> u32 {
    let mut planes = [u64::from(word), 0, 0, 0, 0, 0, 0, 0];
    transpose(&mut planes);
    planes = substitute(planes);
    transpose(&mut planes);
    planes[0] as u32
}
