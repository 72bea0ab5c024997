//! The Armv8 Cryptographic Extension: AESE and PMULL, one block a register.
//!
//! AESE adds its key first, while a round here adds it last. A round is therefore written as AESE
//! with a key of zeros, AESMC and an addition, and the compiler moves each addition into the next
//! AESE.
//!
//! Ref. Arm ARM, AESE, AESMC, PMULL.
//!
//! # Safety
//! A [`Block128`] is made only inside functions that have `aes` and `neon` ([`Vector`]'s
//! contract; the compiler's `aes` includes PMULL), so one at hand is the witness that they may be
//! used.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use crate::aes::arch::aarch64_ce::expand as expand_key;
use crate::gcm::blocks::{self, Vector};
use crate::gcm::polyval::polyval_row;
use crate::gcm::vector::{self, row};

row!(Block128, 4, 128, "aes,neon", expand_key);
polyval_row!(Block128, "aes,neon");

#[derive(Clone, Copy)]
pub(super) struct Block128(uint8x16_t);

/// The round's end adds the key: see the head of this file.
#[inline]
#[target_feature(enable = "aes,neon")]
fn round(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    veorq_u8(vaesmcq_u8(vaeseq_u8(state, vdupq_n_u8(0))), key)
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn last_round(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    veorq_u8(vaeseq_u8(state, vdupq_n_u8(0)), key)
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn product(a: u64, b: u64) -> uint8x16_t {
    vreinterpretq_u8_p128(vmull_p64(a, b))
}

#[inline]
#[target_feature(enable = "neon")]
fn halves(block: uint8x16_t) -> [u64; 2] {
    let block = vreinterpretq_u64_u8(block);
    [vgetq_lane_u64::<0>(block), vgetq_lane_u64::<1>(block)]
}

#[inline]
#[target_feature(enable = "neon")]
fn from_halves(low: u64, high: u64) -> uint8x16_t {
    vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)))
}

impl Vector for Block128 {
    const BLOCKS: usize = 1;
    type One = Block128;

    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: an array of 16 bytes.
        unsafe { Block128(vld1q_u8(block.as_ptr())) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as the caller.
        unsafe { Block128(vld1q_u8(from)) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, n: usize) -> Self {
        // SAFETY: as the caller.
        unsafe { Self::one(blocks::read_part(from, n)) }
    }

    #[inline(always)]
    unsafe fn load_block(from: *const u8, n: usize) -> Self {
        // SAFETY: as the caller.
        unsafe { Self::load_part(from, n) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as the caller.
        unsafe { vst1q_u8(to, self.0) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, n: usize) {
        // SAFETY: as the caller.
        unsafe { blocks::write_part(Self::value(self), to, n) }
    }

    #[inline(always)]
    unsafe fn load_above(_: *const u8, _: usize) -> Self {
        // SAFETY: as the caller; there is no place above the first.
        unsafe { Self::one(0) }
    }

    #[inline(always)]
    unsafe fn store_above(self, _: *mut u8, _: usize) {}

    #[inline(always)]
    fn keep(self, n: usize) -> Self {
        debug_assert!(n <= 16);
        // SAFETY: 32 - n..48 - n is inside the mask.
        unsafe { Block128(vandq_u8(self.0, vld1q_u8(blocks::KEEP.as_ptr().add(32 - n)))) }
    }

    #[inline(always)]
    fn keep_above(self, _: usize) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Self::one(0) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block128(veorq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b.xor(c))
    }

    #[inline(always)]
    fn round(self, key: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block128(round(self.0, key.0)) }
    }

    #[inline(always)]
    fn last_round(self, key: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block128(last_round(self.0, key.0)) }
    }

    #[inline(always)]
    fn multiply<const A: i32, const B: i32>(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block128(product(halves(self.0)[A as usize], halves(other.0)[B as usize])) }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block128(vrev64q_u8(self.0)).swap() }
    }

    #[inline(always)]
    fn swap(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block128(vextq_u8::<8>(self.0, self.0)) }
    }

    #[inline(always)]
    fn add32(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe {
            let sum = vaddq_u32(vreinterpretq_u32_u8(self.0), vreinterpretq_u32_u8(other.0));
            Block128(vreinterpretq_u8_u32(sum))
        }
    }

    #[inline(always)]
    fn sum(self) -> Self {
        self
    }

    #[inline(always)]
    fn first(self) -> Self {
        self
    }

    #[inline(always)]
    fn from_first(first: Self) -> Self {
        first
    }

    #[inline(always)]
    fn with_first(self, first: Self) -> Self {
        first
    }

    #[inline(always)]
    fn repeat(one: Self) -> Self {
        one
    }

    #[inline(always)]
    fn join(blocks: &[Self]) -> Self {
        blocks[0]
    }

    #[inline(always)]
    unsafe fn one(value: u128) -> Self {
        // SAFETY: as the caller.
        unsafe { Block128(from_halves(value as u64, (value >> 64) as u64)) }
    }

    #[inline(always)]
    fn value(one: Self) -> u128 {
        // SAFETY: `one` is the witness.
        let [low, high] = unsafe { halves(one.0) };
        u128::from(high) << 64 | u128::from(low)
    }

    #[inline(always)]
    unsafe fn indices() -> Self {
        // SAFETY: as the caller.
        unsafe { Self::one(0) }
    }
}
