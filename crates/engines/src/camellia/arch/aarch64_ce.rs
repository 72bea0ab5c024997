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
use crate::blocks::by16::{by16, map};
use crate::blocks::field::{Map, UNSHIFT};
use crate::blocks::planes::plane_neon;

pub(in super::super) const REQUIRES: FeatureSet = FeatureSet::parse("neon,aes");

// This function is not `inline(always)`, because AESE can only be inlined into a function that has
// its feature.
#[inline]
#[target_feature(enable = "neon,aes")]
fn s_box(x: uint8x16_t, before: &'static Map, after: &'static Map) -> Plane16 {
    // SAFETY: this function has the features; a table of sixteen bytes.
    unsafe {
        let x = vaeseq_u8(map(before, x), vdupq_n_u8(0));
        Plane16(map(after, vqtbl1q_u8(x, vld1q_u8(UNSHIFT.as_ptr()))))
    }
}

plane_neon!(Plane16);

impl CamelliaPlane for Plane16 {
    #[inline(always)]
    unsafe fn double(self, next: Self) -> Self {
        // SAFETY: the caller's features.
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

// The direct kernel takes a whole pass for a block too.
by16!(Camellia, Plane16, "neon,aes", fewest 1);
