//! SM4 with GFNI, whose one instruction inverts in the AES field and applies an affine map: 32 blocks in AVX2 registers.
//!
//! Ref. GB/T 32907-2016 §6.2; Intel SDM, GF2P8AFFINEINVQB.
//!
//! # Safety
//! [`REQUIRES`] names the features of everything here; the kernel's `Bound` is the witness.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use super::super::Sm4;
use super::super::sbox::*;
use super::super::sliced::Sm4Plane;
use super::serial::{self, Register};
use crate::blocks::passes::{Batch, MAX_WIDTH, passes};
use crate::blocks::planes::{self, plane_128, plane_256};
use crate::blocks::{Block, CbcJob, CtrJob, Ops, Subkeys, side_by_side};

pub(in super::super) const REQUIRES: FeatureSet = FeatureSet::parse("avx2,gfni");

/// The greatest number of blocks that go in 128-bit registers.
const SOME: usize = 16;

/// The affine maps as operands, and the constants that are added after them.
const M_BEFORE: i64 = BEFORE.matrix() as i64;
const M_AFTER_P: i64 = AFTER_P.matrix() as i64;
const M_AFTER_Q: i64 = AFTER_Q.matrix() as i64;
const IN: i32 = BEFORE_CONSTANT as i32;
const OUT_P: i32 = AFTER_P_CONSTANT as i32;
const OUT_Q: i32 = AFTER_Q_CONSTANT as i32;

/// Implements [`Sm4Plane`] by the instructions of one width.
macro_rules! sm4_plane {
    ($plane:ident: $set1_64:ident, $affine:ident, $affine_inverse:ident) => {
        impl Sm4Plane for $plane {
            #[inline(always)]
            unsafe fn boxes(self) -> [Self; 2] {
                // SAFETY: the caller's features.
                unsafe {
                    let x = $affine::<IN>(self.0, $set1_64(M_BEFORE));
                    [
                        $plane($affine_inverse::<OUT_P>(x, $set1_64(M_AFTER_P))),
                        $plane($affine_inverse::<OUT_Q>(x, $set1_64(M_AFTER_Q))),
                    ]
                }
            }
        }
    };
}

plane_128!(Plane128);
plane_256!(Plane256);
sm4_plane!(Plane128: _mm_set1_epi64x, _mm_gf2p8affine_epi64_epi8, _mm_gf2p8affineinv_epi64_epi8);
sm4_plane!(Plane256: _mm256_set1_epi64x, _mm256_gf2p8affine_epi64_epi8, _mm256_gf2p8affineinv_epi64_epi8);

impl From<__m128i> for Plane128 {
    #[inline(always)]
    fn from(x: __m128i) -> Self {
        Plane128(x)
    }
}

impl From<Plane128> for __m128i {
    #[inline(always)]
    fn from(x: Plane128) -> Self {
        x.0
    }
}

impl Register for Plane128 {}

struct By32;

impl Batch for By32 {
    type Cipher = Sm4;

    const WIDTH: usize = 32;

    #[inline(always)]
    unsafe fn batch(subkeys: &Subkeys<Sm4>, blocks: &mut [Block; MAX_WIDTH], count: usize) {
        // SAFETY: the caller's features.
        unsafe {
            if count == 1 {
                blocks[0] = Self::one(subkeys, blocks[0]);
            } else if count <= SOME {
                some(subkeys, blocks);
            } else {
                many(subkeys, blocks);
            }
        }
    }

    #[inline(always)]
    unsafe fn one(subkeys: &Subkeys<Sm4>, block: Block) -> Block {
        // SAFETY: the caller's features.
        unsafe { serial::crypt::<Plane128>(subkeys, block) }
    }
}

#[target_feature(enable = "avx2,gfni")]
fn some(subkeys: &Subkeys<Sm4>, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { planes::crypt::<Sm4, Plane128, _>(subkeys, blocks.as_flattened_mut()) }
}

#[target_feature(enable = "avx2,gfni")]
fn many(subkeys: &Subkeys<Sm4>, blocks: &mut [Block; MAX_WIDTH]) {
    // SAFETY: this function has the features.
    unsafe { planes::crypt::<Sm4, Plane256, _>(subkeys, blocks.as_flattened_mut()) }
}

pub(in super::super) const OPS: Ops<Sm4> = passes!(By32, "avx2,gfni");

/// The fewest live lanes, of 16 and of 32, that are run here and not by the direct kernel, as for Camellia.
const FEWEST: usize = 2;
const FEWEST_OF_32: usize = 3;

#[target_feature(enable = "avx2,gfni")]
pub(in super::super) fn cbc_lanes(jobs: &mut [&mut CbcJob<'_, Sm4>]) {
    // SAFETY: this function has the features.
    unsafe {
        if jobs.len() <= SOME {
            side_by_side::cbc::<Sm4, Plane128, 16>(jobs, FEWEST);
        } else {
            side_by_side::cbc::<Sm4, Plane256, 32>(jobs, FEWEST_OF_32);
        }
    }
}

#[target_feature(enable = "avx2,gfni")]
pub(in super::super) fn ctr_lanes(jobs: &mut [&mut CtrJob<'_, Sm4>]) {
    // SAFETY: this function has the features.
    unsafe {
        if jobs.len() <= SOME {
            side_by_side::ctr::<Sm4, Plane128, 16>(jobs);
        } else {
            side_by_side::ctr::<Sm4, Plane256, 32>(jobs);
        }
    }
}
