//! ChaCha20 with NEON: four blocks down the vectors; Poly1305 in 64-bit limbs, whose multiplications
//! run beside the vectors.
//!
//! Ref. RFC 8439 §2.3, §2.4.
//!
//! # Safety
//! The functions of the table have the features in their `target_feature` attribute, for which the
//! table's row asks, and instantiate [`Tier`] methods under it. Loads and stores of data are inside
//! the `InOut` they belong to; those of keystream inside the pad.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::super::object::{self, CHACHA_BLOCK, Pad, Tier};
use super::super::poly1305::Poly1305;
use super::super::vector::{SIGMA, Words, double_round_down};
use super::super::{Key, Nonce, Ops};
use crate::InOut;
use crate::aead::TAG;

pub(in super::super) const OPS: Ops = Ops { seal, open, keystream, authenticate: Neon::authenticate };

#[target_feature(enable = "neon")]
unsafe fn seal(key: &Key, nonce: &Nonce, aad: &[u8], data: InOut<'_>) -> [u8; TAG] {
    // SAFETY: the features are this function's.
    unsafe { object::seal::<Neon>(key, nonce, aad, data) }
}

#[target_feature(enable = "neon")]
unsafe fn open(key: &Key, nonce: &Nonce, aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> bool {
    // SAFETY: the features are this function's.
    unsafe { object::open::<Neon>(key, nonce, aad, data, tag) }
}

/// Blocks made at once.
const WIDE: usize = 4;
/// Bytes in a vector.
const VECTOR: usize = 16;

struct Neon;

impl Tier for Neon {
    const HEAD: usize = (WIDE - 1) * CHACHA_BLOCK;

    #[inline(always)]
    unsafe fn head(key: &Key, nonce: &Nonce, _len: usize, pad: &mut Pad) -> usize {
        // SAFETY: the caller has the features; a pad has room for four blocks.
        unsafe { down(key, nonce, 0, pad.as_mut_ptr()) };
        WIDE * CHACHA_BLOCK
    }

    #[inline(always)]
    unsafe fn keystream(key: &Key, nonce: &Nonce, counter: u32, data: InOut<'_>) {
        // SAFETY: the caller has the features.
        unsafe { keystream(key, nonce, counter, data) }
    }

    #[inline(always)]
    unsafe fn xor(data: InOut<'_>, pad: &[u8]) {
        // SAFETY: the caller has the features.
        unsafe { xor(data, pad) }
    }

    #[inline(always)]
    unsafe fn xor_and_keep(mut data: InOut<'_>, pad: &mut [u8]) {
        let (kept, filler) = pad.split_at_mut(data.len());
        // SAFETY: the caller has the features.
        unsafe { xor(data.reborrow(), kept) };
        kept.copy_from_slice(data.output());
        filler.fill(0);
    }

    #[inline(always)]
    unsafe fn authenticate(mac: &mut Poly1305, blocks: &[u8]) {
        mac.blocks(blocks);
    }
}

/// Encrypts or decrypts `data` from block `counter` on.
#[target_feature(enable = "neon")]
fn keystream(key: &Key, nonce: &Nonce, mut counter: u32, mut data: InOut<'_>) {
    let mut pad = [0; WIDE * CHACHA_BLOCK];
    while !data.is_empty() {
        let n = data.len().min(WIDE * CHACHA_BLOCK);
        // SAFETY: there is room for four blocks.
        unsafe { down(key, nonce, counter, pad.as_mut_ptr()) };
        xor(data.take(n), &pad[..n]);
        counter = counter.wrapping_add(WIDE as u32);
    }
}

/// Combines `data` with as many bytes of `pad`.
#[inline]
#[target_feature(enable = "neon")]
fn xor(mut data: InOut<'_>, pad: &[u8]) {
    assert!(pad.len() == data.len());
    let whole = pad.len() / VECTOR * VECTOR;
    let (input, output) = (data.input_ptr(), data.output_ptr());
    let mut at = 0;
    while at < whole {
        // SAFETY: `at + 16 <= whole`, inside all three.
        unsafe {
            let x = veorq_u8(vld1q_u8(input.add(at)), vld1q_u8(pad.as_ptr().add(at)));
            vst1q_u8(output.add(at), x);
        }
        at += VECTOR;
    }
    data.split_at(whole).1.xor(&pad[whole..]);
}

#[derive(Clone, Copy)]
struct Vector(uint32x4_t);

impl Words for Vector {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe { vaddq_u32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe { veorq_u32(self.0, other.0) })
    }

    /// Rotates by half a word with a reversal, and by other counts with a shift and a shift that
    /// inserts.
    #[inline(always)]
    unsafe fn rotate<const LEFT: i32>(self) -> Self {
        // SAFETY: the caller has the features.
        Vector(unsafe {
            match LEFT {
                16 => vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(self.0))),
                12 => vsriq_n_u32::<20>(vshlq_n_u32::<12>(self.0), self.0),
                8 => vsriq_n_u32::<24>(vshlq_n_u32::<8>(self.0), self.0),
                7 => vsriq_n_u32::<25>(vshlq_n_u32::<7>(self.0), self.0),
                _ => unreachable!(),
            }
        })
    }
}

/// The state of four blocks, a word a vector.
#[inline]
#[target_feature(enable = "neon")]
fn columns(key: &Key, nonce: &Nonce, counter: u32) -> [Vector; 16] {
    let mut x = [Vector(vdupq_n_u32(0)); 16];
    for i in 0..4 {
        x[i] = Vector(vdupq_n_u32(SIGMA[i]));
    }
    for i in 0..8 {
        x[4 + i] = Vector(vdupq_n_u32(key.0[i]));
    }
    // SAFETY: four words of an array.
    let counters = unsafe { vld1q_u32([0, 1, 2, 3].as_ptr()) };
    x[12] = Vector(vaddq_u32(vdupq_n_u32(counter), counters));
    for i in 0..3 {
        x[13 + i] = Vector(vdupq_n_u32(nonce[i]));
    }
    x
}

/// Writes the keystream of four blocks.
///
/// # Safety
/// `out` has room for 256 bytes.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn down(key: &Key, nonce: &Nonce, counter: u32, out: *mut u8) {
    let mut x = columns(key, nonce, counter);
    // SAFETY: the features are this function's; the caller's room.
    unsafe {
        for _ in 0..10 {
            double_round_down(&mut x);
        }
        let start = columns(key, nonce, counter);
        for i in 0..16 {
            x[i] = x[i].add(start[i]);
        }
        for quad in 0..4 {
            let blocks = transpose([x[4 * quad].0, x[4 * quad + 1].0, x[4 * quad + 2].0, x[4 * quad + 3].0]);
            for block in 0..4 {
                let at = block * CHACHA_BLOCK + quad * VECTOR;
                vst1q_u8(out.add(at), vreinterpretq_u8_u32(blocks[block]));
            }
        }
    }
}

/// Transposes a 4 by 4 matrix of words.
#[inline]
#[target_feature(enable = "neon")]
fn transpose([a, b, c, d]: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    let (ab_low, ab_high) = (pairs(vzip1q_u32(a, b)), pairs(vzip2q_u32(a, b)));
    let (cd_low, cd_high) = (pairs(vzip1q_u32(c, d)), pairs(vzip2q_u32(c, d)));
    [
        vreinterpretq_u32_u64(vzip1q_u64(ab_low, cd_low)),
        vreinterpretq_u32_u64(vzip2q_u64(ab_low, cd_low)),
        vreinterpretq_u32_u64(vzip1q_u64(ab_high, cd_high)),
        vreinterpretq_u32_u64(vzip2q_u64(ab_high, cd_high)),
    ]
}

#[inline]
#[target_feature(enable = "neon")]
fn pairs(words: uint32x4_t) -> uint64x2_t {
    vreinterpretq_u64_u32(words)
}
