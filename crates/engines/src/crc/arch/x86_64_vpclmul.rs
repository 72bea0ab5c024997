//! CRC by carry-less multiplication of 512 bits: four registers, each folded over 2048.
//!
//! # Safety
//! The functions have the features in their `target_feature` attribute, for which the table's row
//! asks. Each load is covered by a comparison with what is left.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::{Castagnoli, Ops, Polynomial};
use super::fold::{self, Constants, Cursor};
use super::x86_64_sse42;
use crate::InOut;

pub(in super::super) const fn ops<P: Polynomial>() -> Ops<P> {
    Ops { update: update::<P>, copy: copy::<P>, polynomial: PhantomData }
}

/// The functions of CRC32c, whose own instruction serves short data.
pub(in super::super) const CASTAGNOLI: Ops<Castagnoli> =
    Ops { update: update_castagnoli, copy: copy::<Castagnoli>, polynomial: PhantomData };

/// The length in bytes below which the instruction is faster.
const FOLDED: usize = 192;

#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq")]
fn update_castagnoli(crc: u32, data: &[u8]) -> u32 {
    if data.len() < FOLDED { x86_64_sse42::one(crc, data) } else { update::<Castagnoli>(crc, data) }
}

#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq")]
fn update<P: Polynomial>(crc: u32, data: &[u8]) -> u32 {
    // SAFETY: the cursor is over `data`.
    unsafe { message::<P, false>(crc, Cursor::<false>::new(data)) }
}

#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq")]
fn copy<P: Polynomial>(crc: u32, data: InOut<'_>) -> u32 {
    // SAFETY: the cursor is over `data`.
    unsafe { message::<P, true>(crc, Cursor::<true>::new(data)) }
}

/// The distances between the registers of a step, and between a register's parts of 128 bits.
struct Wide<P>(PhantomData<P>);

impl<P: Polynomial> Wide<P> {
    const OVER_512: [u64; 2] = Constants::<P>::over(512);
    const OVER_1024: [u64; 2] = Constants::<P>::over(1024);
    const OVER_1536: [u64; 2] = Constants::<P>::over(1536);
    const OVER_2048: [u64; 2] = Constants::<P>::over(2048);
    /// The distances of each part to the last one, which stays.
    const ONTO_LAST: [[u64; 2]; 4] =
        [Constants::<P>::over(384), Constants::<P>::over(256), Constants::<P>::over(128), [0; 2]];
}

/// The CRC of a whole message.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq")]
unsafe fn message<P: Polynomial, const COPY: bool>(crc: u32, mut data: Cursor<'_, COPY>) -> u32 {
    // SAFETY: lengths are compared before each load.
    unsafe {
        if data.left() < 128 {
            return fold::message::<P, COPY>(crc, data);
        }
        let begin = _mm512_zextsi128_si512(_mm_cvtsi32_si128(crc as i32));
        let mut x = _mm512_xor_si512(data.zmm(), begin);
        if data.left() >= 192 {
            x = steps::<P, COPY>([x, data.zmm(), data.zmm(), data.zmm()], &mut data);
        }
        let over_512 = all(Wide::<P>::OVER_512);
        while data.left() >= 64 {
            x = fold(x, over_512, data.zmm());
        }
        fold::finish::<P, COPY>(narrow::<P>(x), data)
    }
}

/// Folds in steps of 256 bytes, then the four registers into one.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq")]
unsafe fn steps<P: Polynomial, const COPY: bool>(
    mut x: [__m512i; 4],
    data: &mut Cursor<'_, COPY>,
) -> __m512i {
    let over_2048 = all(Wide::<P>::OVER_2048);
    while data.left() >= 256 {
        for i in 0..4 {
            // SAFETY: four times 64 bytes are left.
            x[i] = fold(x[i], over_2048, unsafe { data.zmm() });
        }
    }
    let last = fold(x[2], all(Wide::<P>::OVER_512), x[3]);
    let last = fold(x[1], all(Wide::<P>::OVER_1024), last);
    fold(x[0], all(Wide::<P>::OVER_1536), last)
}

/// Moves `x` up by the distance that `constants` are for, onto `next`.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold(x: __m512i, constants: __m512i, next: __m512i) -> __m512i {
    let low = _mm512_clmulepi64_epi128::<0x00>(x, constants);
    let high = _mm512_clmulepi64_epi128::<0x11>(x, constants);
    // 0x96 is the exclusive or of three.
    _mm512_ternarylogic_epi32::<0x96>(low, high, next)
}

/// Folds four parts of 128 bits into one.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn narrow<P: Polynomial>(x: __m512i) -> __m128i {
    // SAFETY: eight words of a constant.
    let constants = unsafe { _mm512_loadu_si512(Wide::<P>::ONTO_LAST.as_ptr().cast()) };
    let last = _mm512_maskz_mov_epi64(0b1100_0000, x);
    let parts = fold(x, constants, last);
    let halves = _mm256_xor_si256(_mm512_castsi512_si256(parts), _mm512_extracti64x4_epi64::<1>(parts));
    _mm_xor_si128(_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all([low, high]: [u64; 2]) -> __m512i {
    _mm512_broadcast_i32x4(_mm_set_epi64x(high as i64, low as i64))
}
