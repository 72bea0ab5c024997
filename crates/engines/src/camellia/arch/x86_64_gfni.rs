//! Camellia with GFNI, whose one instruction inverts in the AES field and applies an affine map:
//! 32 blocks in AVX2 registers, 64 in AVX-512 registers.
//!
//! Ref. RFC 3713 §2.4.1; Intel SDM, GF2P8AFFINEINVQB.
//!
//! # Safety
//! [`REQUIRES_256`] and [`REQUIRES_512`] name the features of everything here; the kernels' `Bound`
//! is the witness.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use super::super::Camellia;
use super::super::sbox::*;
use super::super::sliced::CamelliaPlane;
use super::serial::{self, Boxes};
use crate::blocks::passes::{Batch, MAX_WIDTH, passes};
use crate::blocks::planes::{self, plane_128, plane_256, plane_512};
use crate::blocks::{Block, CbcJob, CtrJob, Ops, Subkeys, side_by_side};

pub(in super::super) const REQUIRES_256: FeatureSet = FeatureSet::parse("avx2,gfni");
pub(in super::super) const REQUIRES_512: FeatureSet = FeatureSet::parse("avx512bw,avx512vl,gfni");

/// The greatest number of blocks that go in 128-bit registers.
const SOME: usize = 16;

/// The affine maps as operands, and the constants that are added after them.
const M_BEFORE: i64 = BEFORE.matrix() as i64;
const M_BEFORE_4: i64 = BEFORE_4.matrix() as i64;
const M_AFTER: i64 = AFTER.matrix() as i64;
const M_AFTER_2: i64 = AFTER_2.matrix() as i64;
const M_AFTER_3: i64 = AFTER_3.matrix() as i64;
const IN: i32 = BEFORE_CONSTANT as i32;
const OUT: i32 = AFTER_CONSTANT as i32;
const OUT_2: i32 = AFTER_2_CONSTANT as i32;
const OUT_3: i32 = AFTER_3_CONSTANT as i32;

/// Implements [`CamelliaPlane`] by the instructions of one width.
macro_rules! camellia_plane {
    ($plane:ident: $set1_64:ident, $xor:ident, $add:ident, $affine:ident, $affine_inverse:ident) => {
        impl CamelliaPlane for $plane {
            #[inline(always)]
            unsafe fn double(self, next: Self) -> Self {
                // The matrix has a row for output bit 0 only, which takes input bit 7.
                const TOP_TO_BOTTOM: i64 = i64::MIN;
                // SAFETY: as above.
                unsafe {
                    let top = $affine::<0>(next.0, $set1_64(TOP_TO_BOTTOM));
                    Self($xor($add(self.0, self.0), top))
                }
            }

            #[inline(always)]
            unsafe fn boxes(x: [Self; 8]) -> [Self; 8] {
                // SAFETY: as above.
                unsafe {
                    let before = $set1_64(M_BEFORE);
                    let before_4 = $set1_64(M_BEFORE_4);
                    let after = $set1_64(M_AFTER);
                    let after_2 = $set1_64(M_AFTER_2);
                    let after_3 = $set1_64(M_AFTER_3);
                    [
                        Self($affine_inverse::<OUT>($affine::<IN>(x[0].0, before), after)),
                        Self($affine_inverse::<OUT_2>($affine::<IN>(x[1].0, before), after_2)),
                        Self($affine_inverse::<OUT_3>($affine::<IN>(x[2].0, before), after_3)),
                        Self($affine_inverse::<OUT>($affine::<IN>(x[3].0, before_4), after)),
                        Self($affine_inverse::<OUT_2>($affine::<IN>(x[4].0, before), after_2)),
                        Self($affine_inverse::<OUT_3>($affine::<IN>(x[5].0, before), after_3)),
                        Self($affine_inverse::<OUT>($affine::<IN>(x[6].0, before_4), after)),
                        Self($affine_inverse::<OUT>($affine::<IN>(x[7].0, before), after)),
                    ]
                }
            }
        }
    };
}

plane_128!(Plane128);
plane_256!(Plane256);
plane_512!(Plane512);

camellia_plane! {
    Plane128: _mm_set1_epi64x, _mm_xor_si128, _mm_add_epi8, _mm_gf2p8affine_epi64_epi8, _mm_gf2p8affineinv_epi64_epi8
}
camellia_plane! {
    Plane256: _mm256_set1_epi64x, _mm256_xor_si256, _mm256_add_epi8, _mm256_gf2p8affine_epi64_epi8,
    _mm256_gf2p8affineinv_epi64_epi8
}
camellia_plane! {
    Plane512: _mm512_set1_epi64, _mm512_xor_si512, _mm512_add_epi8, _mm512_gf2p8affine_epi64_epi8,
    _mm512_gf2p8affineinv_epi64_epi8
}

/// The S-boxes of one block, with three-way additions where `TERNARY`.
struct Gfni<const TERNARY: bool>;

impl<const TERNARY: bool> Boxes for Gfni<TERNARY> {
    #[inline(always)]
    unsafe fn boxes(x: __m128i) -> [__m128i; 3] {
        // SAFETY: the caller's features.
        unsafe {
            let before = _mm_set_epi64x(M_BEFORE_4, M_BEFORE);
            let x = _mm_gf2p8affine_epi64_epi8::<IN>(x, before);
            [
                _mm_gf2p8affineinv_epi64_epi8::<OUT>(x, _mm_set1_epi64x(M_AFTER)),
                _mm_gf2p8affineinv_epi64_epi8::<OUT_2>(x, _mm_set1_epi64x(M_AFTER_2)),
                _mm_gf2p8affineinv_epi64_epi8::<OUT_3>(x, _mm_set1_epi64x(M_AFTER_3)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn xor3(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        // SAFETY: the caller's features; AVX-512VL where `TERNARY`.
        unsafe {
            if TERNARY {
                _mm_ternarylogic_epi32::<0x96>(a, b, c)
            } else {
                _mm_xor_si128(a, _mm_xor_si128(b, c))
            }
        }
    }
}

struct By32;

impl Batch for By32 {
    type Cipher = Camellia;

    const WIDTH: usize = 32;

    #[inline(always)]
    unsafe fn batch(subkeys: &Subkeys<Camellia>, blocks: &mut [Block; MAX_WIDTH], count: usize) {
        // SAFETY: the caller's features.
        unsafe {
            if count == 1 {
                blocks[0] = Self::one(subkeys, blocks[0]);
            } else if count <= SOME {
                some_256(subkeys, blocks);
            } else {
                many_256(subkeys, blocks);
            }
        }
    }

    #[inline(always)]
    unsafe fn one(subkeys: &Subkeys<Camellia>, block: Block) -> Block {
        // SAFETY: the caller's features.
        unsafe { serial::crypt::<Gfni<false>>(subkeys, block) }
    }
}

struct By64;

impl Batch for By64 {
    type Cipher = Camellia;

    const WIDTH: usize = 64;

    #[inline(always)]
    unsafe fn batch(subkeys: &Subkeys<Camellia>, blocks: &mut [Block; MAX_WIDTH], count: usize) {
        // SAFETY: the caller's features.
        unsafe {
            if count == 1 {
                blocks[0] = Self::one(subkeys, blocks[0]);
            } else if count <= SOME {
                some_512(subkeys, blocks);
            } else {
                many_512(subkeys, blocks);
            }
        }
    }

    #[inline(always)]
    unsafe fn one(subkeys: &Subkeys<Camellia>, block: Block) -> Block {
        // SAFETY: the caller's features.
        unsafe { serial::crypt::<Gfni<true>>(subkeys, block) }
    }
}

#[target_feature(enable = "avx2,gfni")]
fn some_256(subkeys: &Subkeys<Camellia>, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { planes::crypt::<Camellia, Plane128, _>(subkeys, blocks.as_flattened_mut()) }
}

#[target_feature(enable = "avx2,gfni")]
fn many_256(subkeys: &Subkeys<Camellia>, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { planes::crypt::<Camellia, Plane256, _>(subkeys, blocks.as_flattened_mut()) }
}

#[target_feature(enable = "avx512bw,avx512vl,gfni")]
fn some_512(subkeys: &Subkeys<Camellia>, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { planes::crypt::<Camellia, Plane128, _>(subkeys, blocks.as_flattened_mut()) }
}

#[target_feature(enable = "avx512bw,avx512vl,gfni")]
fn many_512(subkeys: &Subkeys<Camellia>, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { planes::crypt::<Camellia, Plane512, _>(subkeys, blocks.as_flattened_mut()) }
}

pub(in super::super) const OPS_256: Ops<Camellia> = passes!(By32, "avx2,gfni");
pub(in super::super) const OPS_512: Ops<Camellia> = passes!(By64, "avx512bw,avx512vl,gfni");

/// The fewest live lanes, of 16 and of 32, for which this kernel is as fast as the direct one.
const FEWEST: usize = 2;
const FEWEST_OF_32: usize = 3;

#[target_feature(enable = "avx2,gfni")]
pub(in super::super) fn cbc_lanes_256(jobs: &mut [&mut CbcJob<'_, Camellia>]) {
    // SAFETY: this function has the features.
    unsafe {
        if jobs.len() <= SOME {
            side_by_side::cbc::<Camellia, Plane128, 16>(jobs, FEWEST);
        } else {
            side_by_side::cbc::<Camellia, Plane256, 32>(jobs, FEWEST_OF_32);
        }
    }
}

#[target_feature(enable = "avx2,gfni")]
pub(in super::super) fn ctr_lanes_256(jobs: &mut [&mut CtrJob<'_, Camellia>]) {
    // SAFETY: this function has the features.
    unsafe {
        if jobs.len() <= SOME {
            side_by_side::ctr::<Camellia, Plane128, 16>(jobs);
        } else {
            side_by_side::ctr::<Camellia, Plane256, 32>(jobs);
        }
    }
}

/// Does the same as [`cbc_lanes_256`], with three-way additions and twice the registers.
#[target_feature(enable = "avx512bw,avx512vl,gfni")]
pub(in super::super) fn cbc_lanes_512(jobs: &mut [&mut CbcJob<'_, Camellia>]) {
    // SAFETY: this function has the features.
    unsafe {
        if jobs.len() <= SOME {
            side_by_side::cbc::<Camellia, Plane128, 16>(jobs, FEWEST);
        } else {
            side_by_side::cbc::<Camellia, Plane256, 32>(jobs, FEWEST_OF_32);
        }
    }
}

/// Does the same as [`ctr_lanes_256`], with three-way additions and twice the registers.
#[target_feature(enable = "avx512bw,avx512vl,gfni")]
pub(in super::super) fn ctr_lanes_512(jobs: &mut [&mut CtrJob<'_, Camellia>]) {
    // SAFETY: this function has the features.
    unsafe {
        if jobs.len() <= SOME {
            side_by_side::ctr::<Camellia, Plane128, 16>(jobs);
        } else {
            side_by_side::ctr::<Camellia, Plane256, 32>(jobs);
        }
    }
}
