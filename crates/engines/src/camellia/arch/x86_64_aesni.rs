//! Camellia with AES-NI and AVX, 16 blocks at a time: AESENCLAST inverts in the AES field.
//!
//! Both fields of 256 elements being isomorphic, an S-box is an affine map, the AES S-box, and
//! another affine map; a map of bytes is two shuffles used as tables of sixteen. AESENCLAST also
//! shifts the rows of its block, which a shuffle takes back.
//!
//! Ref. RFC 3713 §2.4.1; FIPS 197 §5.1.1 and §5.1.2.
//!
//! # Safety
//! [`REQUIRES`] names the features of everything here; the kernel's `Bound` is the witness.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use super::super::Camellia;
use super::super::sliced::CamelliaPlane;
use super::halves::{IN, IN_4, OUT, OUT_2, OUT_3};
use super::serial::{self, Boxes};
use crate::blocks::by16::{by16, halves, map};
use crate::blocks::field::{Map, UNSHIFT};
use crate::blocks::planes::plane_128;

pub(in super::super) const REQUIRES: FeatureSet = FeatureSet::parse("avx,aes");

/// The AES S-box of each byte.
#[inline(always)]
unsafe fn sub_bytes(x: __m128i) -> __m128i {
    // SAFETY: the caller's features; so below.
    unsafe {
        let x = _mm_aesenclast_si128(x, _mm_setzero_si128());
        _mm_shuffle_epi8(x, _mm_loadu_si128(UNSHIFT.as_ptr().cast()))
    }
}

#[inline(always)]
unsafe fn s_box(x: __m128i, before: &'static Map, after: &'static Map) -> Plane16 {
    // SAFETY: as above.
    unsafe { Plane16(map(after, halves(sub_bytes(map(before, halves(x)))))) }
}

plane_128!(Plane16);

impl CamelliaPlane for Plane16 {
    #[inline(always)]
    unsafe fn double(self, next: Self) -> Self {
        // SAFETY: as above. Less minus one where the top bit is set.
        unsafe {
            let top = _mm_cmpgt_epi8(_mm_setzero_si128(), next.0);
            Plane16(_mm_sub_epi8(_mm_add_epi8(self.0, self.0), top))
        }
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

impl Boxes for Plane16 {
    #[inline(always)]
    unsafe fn boxes(x: __m128i) -> [__m128i; 3] {
        // SAFETY: as above.
        unsafe {
            let x = halves(x);
            // The high half goes to s4, which rotates its input.
            let x = _mm_blend_epi16::<0xf0>(map(&IN, x), map(&IN_4, x));
            let x = halves(sub_bytes(x));
            [map(&OUT, x), map(&OUT_2, x), map(&OUT_3, x)]
        }
    }

    #[inline(always)]
    unsafe fn xor3(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_xor_si128(a, _mm_xor_si128(b, c)) }
    }
}

// With fewer than three live lanes the direct kernel is faster.
by16!(Camellia, Plane16, "avx,aes", fewest 3, one serial::crypt::<Plane16>);
