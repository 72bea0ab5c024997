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

use super::super::Camellia;
use super::super::sliced::CamelliaPlane;
use super::halves::{IN, IN_4, OUT, OUT_2, OUT_3};
use crate::blocks::field::{Map, UNSHIFT};
use crate::blocks::passes::{Batch, MAX_WIDTH, passes};
use crate::blocks::planes::{self, plane_neon};
use crate::blocks::{Block, CbcJob, CtrJob, Ops, Subkeys, side_by_side};

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

plane_neon!(Plane16);

impl CamelliaPlane for Plane16 {
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

impl Batch for By16 {
    type Cipher = Camellia;

    const WIDTH: usize = 16;

    #[inline(always)]
    unsafe fn batch(subkeys: &Subkeys<Camellia>, blocks: &mut [Block; MAX_WIDTH], _count: usize) {
        // SAFETY: the caller's features.
        unsafe { many(subkeys, blocks) }
    }

    #[inline(always)]
    unsafe fn one(subkeys: &Subkeys<Camellia>, block: Block) -> Block {
        let mut blocks = [[0; 16]; MAX_WIDTH];
        blocks[0] = block;
        // SAFETY: the caller's features.
        unsafe { many(subkeys, &mut blocks) };
        blocks[0]
    }
}

#[target_feature(enable = "neon,aes")]
fn many(subkeys: &Subkeys<Camellia>, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { planes::crypt::<Camellia, Plane16, _>(subkeys, blocks.as_flattened_mut()) }
}

pub(in super::super) const OPS: Ops<Camellia> = passes!(By16, "neon,aes");

#[target_feature(enable = "neon,aes")]
pub(in super::super) fn cbc_lanes(jobs: &mut [&mut CbcJob<'_, Camellia>]) {
    // SAFETY: this function has the features. The direct kernel takes a whole pass for a block too.
    unsafe { side_by_side::cbc::<Camellia, Plane16, 16>(jobs, 1) }
}

#[target_feature(enable = "neon,aes")]
pub(in super::super) fn ctr_lanes(jobs: &mut [&mut CtrJob<'_, Camellia>]) {
    // SAFETY: this function has the features.
    unsafe { side_by_side::ctr::<Camellia, Plane16, 16>(jobs) }
}
