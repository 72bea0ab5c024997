//! Camellia with the AES instructions of Armv8, 16 blocks at a time: AESE inverts in the AES field.
//!
//! An S-box is an affine map, the AES S-box and another affine map, as in the kernel for AES-NI. A
//! single block takes a whole pass.
//!
//! Ref. RFC 3713 §2.4.1; Arm ARM, AESE.
//!
//! # Safety
//! [`REQUIRES`] names the features of everything here; the kernel's `Bound` is the witness.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use millstream_cpu::FeatureSet;

use super::super::job::{CbcJob, CtrJob};
use super::super::passes::{Cipher, MAX_WIDTH, passes};
use super::super::schedule::Order;
use super::super::side_by_side;
use super::super::sliced::{self, Plane};
use super::super::{Block, Ops};
use super::halves::{IN, IN_4, Map, OUT, OUT_2, OUT_3, UNSHIFT};

pub(in super::super) const REQUIRES: FeatureSet = FeatureSet::parse("neon,aes");

#[inline(always)]
unsafe fn map(map: &'static Map, x: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller's features, so below; tables of sixteen bytes.
    unsafe {
        let low = vqtbl1q_u8(vld1q_u8(map[0].as_ptr()), vandq_u8(x, vdupq_n_u8(0x0f)));
        veorq_u8(low, vqtbl1q_u8(vld1q_u8(map[1].as_ptr()), vshrq_n_u8::<4>(x)))
    }
}

// This function is not `inline(always)`, because AESE can only be inlined into a function that has
// its feature.
#[inline]
#[target_feature(enable = "neon,aes")]
fn s_box(x: uint8x16_t, before: &'static Map, after: &'static Map) -> Plane16 {
    // SAFETY: as above.
    unsafe {
        let x = vaeseq_u8(map(before, x), vdupq_n_u8(0));
        Plane16(map(after, vqtbl1q_u8(x, vld1q_u8(UNSHIFT.as_ptr()))))
    }
}

#[derive(Clone, Copy)]
struct Plane16(uint8x16_t);

impl Plane for Plane16 {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's.
        unsafe { Plane16(vld1q_u8(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { vst1q_u8(to, self.0) }
    }

    #[inline(always)]
    unsafe fn splat(byte: u32) -> Self {
        // SAFETY: the caller's features; so below.
        unsafe { Plane16(vreinterpretq_u8_u32(vdupq_n_u32(byte))) }
    }

    #[inline(always)]
    unsafe fn xor(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane16(veorq_u8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        unsafe { self.xor(b).xor(c) }
    }

    #[inline(always)]
    unsafe fn and(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane16(vandq_u8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane16(vorrq_u8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn interleave_low(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane16(vzip1q_u8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn interleave_high(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane16(vzip2q_u8(self.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn double(self, next: Self) -> Self {
        // SAFETY: as above.
        unsafe { Plane16(vorrq_u8(vshlq_n_u8::<1>(self.0), vshrq_n_u8::<7>(next.0))) }
    }

    #[inline(always)]
    unsafe fn boxes(x: [Self; 8]) -> [Self; 8] {
        // SAFETY: as above.
        unsafe {
            [
                s_box(x[0].0, &IN, &OUT),
                s_box(x[1].0, &IN, &OUT_2),
                s_box(x[2].0, &IN, &OUT_3),
                s_box(x[3].0, &IN_4, &OUT),
                s_box(x[4].0, &IN, &OUT_2),
                s_box(x[5].0, &IN, &OUT_3),
                s_box(x[6].0, &IN_4, &OUT),
                s_box(x[7].0, &IN, &OUT),
            ]
        }
    }
}

struct By16;

impl Cipher for By16 {
    const WIDTH: usize = 16;

    #[inline(always)]
    unsafe fn batch(order: &Order, blocks: &mut [Block; MAX_WIDTH], _count: usize) {
        // SAFETY: the caller's features.
        unsafe { many(order, blocks) }
    }

    #[inline(always)]
    unsafe fn one(order: &Order, block: Block) -> Block {
        let mut blocks = [[0; 16]; MAX_WIDTH];
        blocks[0] = block;
        // SAFETY: the caller's features.
        unsafe { many(order, &mut blocks) };
        blocks[0]
    }
}

#[target_feature(enable = "neon,aes")]
fn many(order: &Order, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { sliced::crypt::<Plane16, Order>(order, blocks.as_flattened_mut()) }
}

pub(in super::super) const OPS: Ops = passes!(By16, "neon,aes");

#[target_feature(enable = "neon,aes")]
pub(in super::super) fn cbc_lanes(jobs: &mut [&mut CbcJob<'_>]) {
    // SAFETY: this function has the features. The direct kernel takes a whole pass for a block too.
    unsafe { side_by_side::cbc::<Plane16, 16>(jobs, 1) }
}

#[target_feature(enable = "neon,aes")]
pub(in super::super) fn ctr_lanes(jobs: &mut [&mut CtrJob<'_>]) {
    // SAFETY: this function has the features.
    unsafe { side_by_side::ctr::<Plane16, 16>(jobs) }
}
