//! SM4 with the AES instructions of Armv8, 16 blocks at a time: AESE inverts in the AES field.
//!
//! The S-box is an affine map, the AES S-box and another affine map, as in the kernel for AES-NI. A
//! single block takes a whole pass.
//!
//! Ref. GB/T 32907-2016 §6.2; Arm ARM, AESE.
//!
//! # Safety
//! [`REQUIRES`] names the features of everything here; the kernel's `Bound` is the witness.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use millstream_cpu::FeatureSet;

use super::super::Sm4;
use super::super::sliced::Sm4Plane;
use super::halves::{IN, OUT_P, OUT_Q};
use crate::blocks::field::{Map, UNSHIFT};
use crate::blocks::passes::{Batch, MAX_WIDTH, passes};
use crate::blocks::planes::{self, plane_neon};
use crate::blocks::{Block, CbcJob, CtrJob, Ops, Subkeys, side_by_side};

pub(in super::super) const REQUIRES: FeatureSet = FeatureSet::parse("neon,aes");

plane_neon!(Plane16);

impl Sm4Plane for Plane16 {
    #[inline(always)]
    unsafe fn boxes(self) -> [Self; 2] {
        // SAFETY: the caller's features.
        unsafe { boxes(self.0) }
    }
}

// This function is not `inline(always)`, because AESE can only be inlined into a function that has
// its feature.
#[inline]
#[target_feature(enable = "neon,aes")]
fn boxes(x: uint8x16_t) -> [Plane16; 2] {
    // SAFETY: this function has the features; a table of sixteen bytes.
    unsafe {
        let x = vaeseq_u8(map(&IN, x), vdupq_n_u8(0));
        let x = vqtbl1q_u8(x, vld1q_u8(UNSHIFT.as_ptr()));
        [Plane16(map(&OUT_P, x)), Plane16(map(&OUT_Q, x))]
    }
}

#[inline(always)]
unsafe fn map(map: &'static Map, x: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller's features; tables of sixteen bytes.
    unsafe {
        let low = vqtbl1q_u8(vld1q_u8(map[0].as_ptr()), vandq_u8(x, vdupq_n_u8(0x0f)));
        veorq_u8(low, vqtbl1q_u8(vld1q_u8(map[1].as_ptr()), vshrq_n_u8::<4>(x)))
    }
}

struct By16;

impl Batch for By16 {
    type Cipher = Sm4;

    const WIDTH: usize = 16;

    #[inline(always)]
    unsafe fn batch(subkeys: &Subkeys<Sm4>, blocks: &mut [Block; MAX_WIDTH], _count: usize) {
        // SAFETY: the caller's features.
        unsafe { many(subkeys, blocks) }
    }

    #[inline(always)]
    unsafe fn one(subkeys: &Subkeys<Sm4>, block: Block) -> Block {
        let mut blocks = [[0; 16]; MAX_WIDTH];
        blocks[0] = block;
        // SAFETY: the caller's features.
        unsafe { many(subkeys, &mut blocks) };
        blocks[0]
    }
}

#[target_feature(enable = "neon,aes")]
fn many(subkeys: &Subkeys<Sm4>, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { planes::crypt::<Sm4, Plane16, _>(subkeys, blocks.as_flattened_mut()) }
}

pub(in super::super) const OPS: Ops<Sm4> = passes!(By16, "neon,aes");

#[target_feature(enable = "neon,aes")]
pub(in super::super) fn cbc_lanes(jobs: &mut [&mut CbcJob<'_, Sm4>]) {
    // SAFETY: this function has the features. The direct kernel takes a whole pass for a block too.
    unsafe { side_by_side::cbc::<Sm4, Plane16, 16>(jobs, 1) }
}

#[target_feature(enable = "neon,aes")]
pub(in super::super) fn ctr_lanes(jobs: &mut [&mut CtrJob<'_, Sm4>]) {
    // SAFETY: this function has the features.
    unsafe { side_by_side::ctr::<Sm4, Plane16, 16>(jobs) }
}
