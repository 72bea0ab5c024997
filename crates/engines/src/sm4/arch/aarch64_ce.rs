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
use crate::blocks::by16::{by16, map};
use crate::blocks::field::UNSHIFT;
use crate::blocks::planes::plane_neon;

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

// The direct kernel takes a whole pass for a block too.
by16!(Sm4, Plane16, "neon,aes", fewest 1);
