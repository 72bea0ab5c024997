//! SM4 with AES-NI and AVX, 16 blocks at a time: AESENCLAST inverts in the AES field.
//!
//! The S-box is an affine map, the AES S-box, and another affine map; a map of bytes is two shuffles used as tables of
//! sixteen. AESENCLAST also shifts the rows of its block, which a shuffle takes back.
//!
//! Ref. GB/T 32907-2016 §6.2; FIPS 197 §5.1.1 and §5.1.2.
//!
//! # Safety
//! [`REQUIRES`] names the features of everything here; the kernel's `Bound` is the witness.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use super::super::Sm4;
use super::super::sliced::Sm4Plane;
use super::halves::{IN, OUT_P, OUT_Q};
use super::serial::{self, Register};
use crate::blocks::by16::{by16, halves, map};
use crate::blocks::field::UNSHIFT;
use crate::blocks::planes::plane_128;

pub(in super::super) const REQUIRES: FeatureSet = FeatureSet::parse("avx,aes");

plane_128!(Plane16);

impl Sm4Plane for Plane16 {
    #[inline(always)]
    unsafe fn boxes(self) -> [Self; 2] {
        // SAFETY: the caller's features.
        unsafe {
            let x = _mm_aesenclast_si128(map(&IN, halves(self.0)), _mm_setzero_si128());
            let x = halves(_mm_shuffle_epi8(x, _mm_loadu_si128(UNSHIFT.as_ptr().cast())));
            [Plane16(map(&OUT_P, x)), Plane16(map(&OUT_Q, x))]
        }
    }
}

impl From<__m128i> for Plane16 {
    #[inline(always)]
    fn from(x: __m128i) -> Self {
        Plane16(x)
    }
}

impl From<Plane16> for __m128i {
    #[inline(always)]
    fn from(x: Plane16) -> Self {
        x.0
    }
}

impl Register for Plane16 {}

// With fewer than three live lanes the direct kernel is faster, as Camellia's is.
by16!(Sm4, Plane16, "avx,aes", fewest 3, one serial::crypt::<Plane16>);
