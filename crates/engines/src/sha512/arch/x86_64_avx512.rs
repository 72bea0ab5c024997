//! The schedule of SHA-512 with the rotation and ternary logic of AVX-512.
//!
//! Ref. FIPS 180-4 §6.4.2.
//!
//! # Safety
//! Loads and stores go through references to arrays of their size; the rounds read inside the schedule.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::x86_64_avx2::{load, store};
use super::x86_64_rounds::{compress, round, sixteen_rounds};
use crate::Row;
use crate::hash::chain;
use crate::sha512::{BLOCK, CompressOps, K, State};

pub(crate) const ROW: Row<CompressOps> = chain::row(
    "x86_64-avx512",
    REQUIRES,
    compress,
    "scalar rounds; the schedule of two blocks in vectors, with their rotation and ternary logic",
);

compress!("avx512f,avx512vl,bmi1,bmi2", sigma0, sigma1);

/// x ^ y ^ z.
const XOR3: i32 = 0x96;

#[target_feature(enable = "avx512f,avx512vl")]
fn sigma0(w: __m256i) -> __m256i {
    let (x, y, z) = (_mm256_ror_epi64::<1>(w), _mm256_ror_epi64::<8>(w), _mm256_srli_epi64::<7>(w));
    _mm256_ternarylogic_epi32::<XOR3>(x, y, z)
}

#[target_feature(enable = "avx512f,avx512vl")]
fn sigma1(w: __m256i) -> __m256i {
    let (x, y, z) = (_mm256_ror_epi64::<19>(w), _mm256_ror_epi64::<61>(w), _mm256_srli_epi64::<6>(w));
    _mm256_ternarylogic_epi32::<XOR3>(x, y, z)
}
