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
use crate::blocks::field::{Map, UNSHIFT};
use crate::blocks::passes::{Batch, MAX_WIDTH, passes};
use crate::blocks::planes::{self, plane_128};
use crate::blocks::{Block, CbcJob, CtrJob, Ops, Subkeys, side_by_side};

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

/// The halves of each byte.
#[inline(always)]
unsafe fn halves(x: __m128i) -> [__m128i; 2] {
    // SAFETY: the caller's features; so below.
    unsafe {
        let low = _mm_set1_epi8(0x0f);
        [_mm_and_si128(x, low), _mm_and_si128(_mm_srli_epi16::<4>(x), low)]
    }
}

#[inline(always)]
unsafe fn map(map: &'static Map, [low, high]: [__m128i; 2]) -> __m128i {
    // SAFETY: as above; tables of sixteen bytes.
    unsafe {
        let tables = map.as_ptr().cast();
        let low = _mm_shuffle_epi8(_mm_loadu_si128(tables), low);
        _mm_xor_si128(low, _mm_shuffle_epi8(_mm_loadu_si128(tables.add(1)), high))
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

struct By16;

impl Batch for By16 {
    type Cipher = Sm4;

    const WIDTH: usize = 16;

    #[inline(always)]
    unsafe fn batch(subkeys: &Subkeys<Sm4>, blocks: &mut [Block; MAX_WIDTH], count: usize) {
        // SAFETY: the caller's features.
        unsafe {
            if count == 1 {
                blocks[0] = Self::one(subkeys, blocks[0]);
            } else {
                many(subkeys, blocks);
            }
        }
    }

    #[inline(always)]
    unsafe fn one(subkeys: &Subkeys<Sm4>, block: Block) -> Block {
        // SAFETY: the caller's features.
        unsafe { serial::crypt::<Plane16>(subkeys, block) }
    }
}

#[target_feature(enable = "avx,aes")]
fn many(subkeys: &Subkeys<Sm4>, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { planes::crypt::<Sm4, Plane16, _>(subkeys, blocks.as_flattened_mut()) }
}

pub(in super::super) const OPS: Ops<Sm4> = passes!(By16, "avx,aes");

/// The fewest live lanes that are run here and not by the direct kernel, as for Camellia.
const FEWEST: usize = 3;

#[target_feature(enable = "avx,aes")]
pub(in super::super) fn cbc_lanes(jobs: &mut [&mut CbcJob<'_, Sm4>]) {
    // SAFETY: this function has the features.
    unsafe { side_by_side::cbc::<Sm4, Plane16, 16>(jobs, FEWEST) }
}

#[target_feature(enable = "avx,aes")]
pub(in super::super) fn ctr_lanes(jobs: &mut [&mut CtrJob<'_, Sm4>]) {
    // SAFETY: this function has the features.
    unsafe { side_by_side::ctr::<Sm4, Plane16, 16>(jobs) }
}
