//! Kernels whose S-box is AES's between two affine maps, and which pass sixteen blocks side by side: AESENCLAST and AESE
//! work on sixteen bytes.
//!
//! # Safety
//! All functions need the features of the kernel that they are inlined into: AVX, or NEON. The functions of [`by16`]'s
//! kernel are compiled for the features named, and the kernel's `Bound` is the witness.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::field::Map;

/// The halves of each byte.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn halves(x: __m128i) -> [__m128i; 2] {
    // SAFETY: the caller's features; so below.
    unsafe {
        let low = _mm_set1_epi8(0x0f);
        [_mm_and_si128(x, low), _mm_and_si128(_mm_srli_epi16::<4>(x), low)]
    }
}

/// A linear map of each byte, whose halves are given.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn map(map: &'static Map, [low, high]: [__m128i; 2]) -> __m128i {
    // SAFETY: as above; tables of sixteen bytes.
    unsafe {
        let tables = map.as_ptr().cast();
        let low = _mm_shuffle_epi8(_mm_loadu_si128(tables), low);
        _mm_xor_si128(low, _mm_shuffle_epi8(_mm_loadu_si128(tables.add(1)), high))
    }
}

/// A linear map of each byte.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) unsafe fn map(map: &'static Map, x: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller's features; tables of sixteen bytes.
    unsafe {
        let low = vqtbl1q_u8(vld1q_u8(map[0].as_ptr()), vandq_u8(x, vdupq_n_u8(0x0f)));
        veorq_u8(low, vqtbl1q_u8(vld1q_u8(map[1].as_ptr()), vshrq_n_u8::<4>(x)))
    }
}

/// Defines the functions of a kernel, for one message and in lanes: `OPS`, `cbc_lanes` and `ctr_lanes`. `$fewest` is the
/// fewest live lanes for which the lanes are as fast as the direct kernel. Where a function for one block is given, a
/// block that is alone goes there; otherwise it takes a whole pass.
macro_rules! by16 {
    ($cipher:ty, $plane:ty, $features:literal, fewest $fewest:expr, one $one:expr) => {
        $crate::blocks::by16::by16! { @kernel $cipher, $plane, $features, $fewest }

        impl Batch for By16 {
            type Cipher = $cipher;

            const WIDTH: usize = 16;

            #[inline(always)]
            unsafe fn batch(subkeys: &Subkeys<$cipher>, blocks: &mut [Block; MAX_WIDTH], count: usize) {
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
            unsafe fn one(subkeys: &Subkeys<$cipher>, block: Block) -> Block {
                // SAFETY: the caller's features.
                unsafe { $one(subkeys, block) }
            }
        }
    };
    ($cipher:ty, $plane:ty, $features:literal, fewest $fewest:expr) => {
        $crate::blocks::by16::by16! { @kernel $cipher, $plane, $features, $fewest }

        impl Batch for By16 {
            type Cipher = $cipher;

            const WIDTH: usize = 16;

            #[inline(always)]
            unsafe fn batch(subkeys: &Subkeys<$cipher>, blocks: &mut [Block; MAX_WIDTH], _count: usize) {
                // SAFETY: the caller's features.
                unsafe { many(subkeys, blocks) }
            }

            #[inline(always)]
            unsafe fn one(subkeys: &Subkeys<$cipher>, block: Block) -> Block {
                let mut blocks = [[0; 16]; MAX_WIDTH];
                blocks[0] = block;
                // SAFETY: the caller's features.
                unsafe { many(subkeys, &mut blocks) };
                blocks[0]
            }
        }
    };
    (@kernel $cipher:ty, $plane:ty, $features:literal, $fewest:expr) => {
        use $crate::blocks::passes::{Batch, MAX_WIDTH, passes};
        use $crate::blocks::{Block, CbcJob, CtrJob, Ops, Subkeys, planes, side_by_side};

        struct By16;

        #[target_feature(enable = $features)]
        fn many(subkeys: &Subkeys<$cipher>, blocks: &mut [Block; MAX_WIDTH]) {
            // SAFETY: this function has the features.
            unsafe { planes::crypt::<$cipher, $plane, _>(subkeys, blocks.as_flattened_mut()) }
        }

        pub(in super::super) const OPS: Ops<$cipher> = passes!(By16, $features);

        #[target_feature(enable = $features)]
        pub(in super::super) fn cbc_lanes(jobs: &mut [&mut CbcJob<'_, $cipher>]) {
            // SAFETY: this function has the features.
            unsafe { side_by_side::cbc::<$cipher, $plane, 16>(jobs, $fewest) }
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn ctr_lanes(jobs: &mut [&mut CtrJob<'_, $cipher>]) {
            // SAFETY: this function has the features.
            unsafe { side_by_side::ctr::<$cipher, $plane, 16>(jobs) }
        }
    };
}
pub(crate) use by16;
