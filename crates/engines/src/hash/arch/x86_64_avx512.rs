//! Words of lanes in the registers of AVX-512, with its rotation, ternary logic and masked loads.
//!
//! # Safety
//! The promise of [`Words`] holds here too: the caller has AVX-512F, BW and VL, and BMI2. Memory is
//! read and written as the functions' own headings allow, and a masked load reads no byte outside
//! its mask.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::x86_64_avx2::{swap_32, swap_32_256, swap_64, swap_64_256, transpose_32_256, transpose_64_256};
use crate::hash::words::Words;
use crate::masked::readable;

/// Sixteen words of 32 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct W32x16(__m512i);

/// Eight words of 32 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct W32x8(__m256i);

/// Eight words of 64 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct W64x8(__m512i);

/// Four words of 64 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct W64x4(__m256i);

// Truth tables of three bits x, y, z: bit 4x + 2y + z.
const XOR3: i32 = 0x96;
const CHOOSE: i32 = 0xca;
const MAJORITY: i32 = 0xe8;
/// y ^ (x | !z).
const MD5_I: i32 = 0x39;
/// x ^ (!y & z).
const CHI: i32 = 0xd2;

macro_rules! words {
    ($name:ident $vector:ident $register:ident $word:ident as $signed:ident $lanes:literal: $splat:ident $add:ident $xor:ident
     $rotate:ident $shift:ident $ternary:ident $load:ident $store:ident $or:ident $zero:ident
     $load_part:ident $swap:ident $transpose:ident) => {
        impl Words<$lanes> for $name {
            type Word = $word;

            #[inline(always)]
            unsafe fn splat(word: $word) -> Self {
                // SAFETY: the caller's, as in every function here.
                unsafe { $name($splat(word as $signed)) }
            }

            #[inline(always)]
            unsafe fn from_array(words: &[$word; $lanes]) -> Self {
                // SAFETY: the array is as long as the vector.
                unsafe { $name($load(words.as_ptr().cast())) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($add(self.0, other.0)) }
            }

            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($xor(self.0, other.0)) }
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512vl")]
            unsafe fn settled(self) -> Self {
                #[allow(unused_mut)]
                let mut words = self.0;
                // SAFETY: no instruction at all.
                #[cfg(not(miri))]
                unsafe {
                    core::arch::asm!("/* {0} */", inout($register) words, options(pure, nomem, nostack, preserves_flags));
                }
                $name(words)
            }

            #[inline(always)]
            unsafe fn rotate_right<const BITS: i32>(self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($rotate::<BITS>(self.0)) }
            }

            #[inline(always)]
            unsafe fn shift_right<const BITS: i32>(self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($shift(self.0, $splat(BITS as $signed))) }
            }

            #[inline(always)]
            unsafe fn xor3(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($ternary::<XOR3>(self.0, y.0, z.0)) }
            }

            #[inline(always)]
            unsafe fn choose(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($ternary::<CHOOSE>(self.0, y.0, z.0)) }
            }

            #[inline(always)]
            unsafe fn majority(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($ternary::<MAJORITY>(self.0, y.0, z.0)) }
            }

            #[inline(always)]
            unsafe fn md5_i(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($ternary::<MD5_I>(self.0, y.0, z.0)) }
            }

            #[inline(always)]
            unsafe fn chi(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($ternary::<CHI>(self.0, y.0, z.0)) }
            }

            #[inline(always)]
            unsafe fn swap_bytes(self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($swap(self.0)) }
            }

            #[inline(always)]
            unsafe fn load_block(from: &[*const u8; $lanes]) -> [Self; 16] {
                // SAFETY: the caller's; a block has `16 / $lanes` vectors.
                unsafe {
                    let mut words = [$name($zero()); 16];
                    for part in 0..16 / $lanes {
                        let mut rows = [$zero(); $lanes];
                        for lane in 0..$lanes {
                            rows[lane] = $load(from[lane].cast::<$vector>().add(part));
                        }
                        let columns = $transpose(rows);
                        for i in 0..$lanes {
                            words[part * $lanes + i] = $name(columns[i]);
                        }
                    }
                    words
                }
            }

            #[inline(always)]
            unsafe fn load_part(
                from: &[*const u8; $lanes],
                len: &[usize; $lanes],
                pad: &[*const u8; $lanes],
            ) -> [Self; 16] {
                // SAFETY: the caller's; a part that begins behind the bytes of its lane is not read.
                unsafe {
                    let mut words = [$name($zero()); 16];
                    for part in 0..16 / $lanes {
                        let mut rows = [$zero(); $lanes];
                        for lane in 0..$lanes {
                            let left = len[lane].saturating_sub(part * size_of::<$vector>());
                            let bytes = $load_part(from[lane].cast::<$vector>().wrapping_add(part), left);
                            rows[lane] = $or(bytes, $load(pad[lane].cast::<$vector>().add(part)));
                        }
                        let columns = $transpose(rows);
                        for i in 0..$lanes {
                            words[part * $lanes + i] = $name(columns[i]);
                        }
                    }
                    words
                }
            }

            #[inline(always)]
            unsafe fn store_rows(words: &[Self; 8], to: &[*mut u8; $lanes]) {
                // SAFETY: the caller's; 64 bytes have `64 / size_of` vectors.
                unsafe {
                    for part in 0..64 / size_of::<$vector>() {
                        let mut columns = [$zero(); $lanes];
                        for i in 0..$lanes {
                            if part * $lanes + i < 8 {
                                columns[i] = words[part * $lanes + i].0;
                            }
                        }
                        let rows = $transpose(columns);
                        for lane in 0..$lanes {
                            $store(to[lane].cast::<$vector>().add(part), rows[lane]);
                        }
                    }
                }
            }
        }
    };
}

words!(W32x16 __m512i zmm_reg u32 as i32 16: _mm512_set1_epi32 _mm512_add_epi32 _mm512_xor_si512 _mm512_ror_epi32 _mm512_srlv_epi32
       _mm512_ternarylogic_epi32 _mm512_loadu_si512 _mm512_storeu_si512 _mm512_or_si512 _mm512_setzero_si512
       load_part_512 swap_32_512 transpose_32_512);
words!(W32x8 __m256i ymm_reg u32 as i32 8: _mm256_set1_epi32 _mm256_add_epi32 _mm256_xor_si256 _mm256_ror_epi32 _mm256_srlv_epi32
       _mm256_ternarylogic_epi32 _mm256_loadu_si256 _mm256_storeu_si256 _mm256_or_si256 _mm256_setzero_si256
       load_part_256 swap_32_256 transpose_32_256);
words!(W64x8 __m512i zmm_reg u64 as i64 8: _mm512_set1_epi64 _mm512_add_epi64 _mm512_xor_si512 _mm512_ror_epi64 _mm512_srlv_epi64
       _mm512_ternarylogic_epi32 _mm512_loadu_si512 _mm512_storeu_si512 _mm512_or_si512 _mm512_setzero_si512
       load_part_512 swap_64_512 transpose_64_512);
words!(W64x4 __m256i ymm_reg u64 as i64 4: _mm256_set1_epi64x _mm256_add_epi64 _mm256_xor_si256 _mm256_ror_epi64 _mm256_srlv_epi64
       _mm256_ternarylogic_epi32 _mm256_loadu_si256 _mm256_storeu_si256 _mm256_or_si256 _mm256_setzero_si256
       load_part_256 swap_64_256 transpose_64_256);

/// Loads the first `len` bytes, less than 256, or the whole vector, and fills up with zeros.
#[inline(always)]
unsafe fn load_part_512(from: *const __m512i, len: usize) -> __m512i {
    // SAFETY: the caller's; the mask has a bit for each byte there is.
    unsafe { _mm512_maskz_loadu_epi8(_bzhi_u64(u64::MAX, len as u32), readable(from, len).cast()) }
}

/// Does the same as [`load_part_512`] for 256 bits.
#[inline(always)]
unsafe fn load_part_256(from: *const __m256i, len: usize) -> __m256i {
    // SAFETY: as there.
    unsafe { _mm256_maskz_loadu_epi8(_bzhi_u32(u32::MAX, len as u32), readable(from, len).cast()) }
}

#[inline(always)]
unsafe fn swap_32_512(x: __m512i) -> __m512i {
    // SAFETY: the caller's.
    unsafe { _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(swap_32())) }
}

#[inline(always)]
unsafe fn swap_64_512(x: __m512i) -> __m512i {
    // SAFETY: the caller's.
    unsafe { _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(swap_64())) }
}

/// Transposes sixteen rows of sixteen words: first 4 by 4 words in each row of 128-bit parts, then
/// the parts.
#[inline(always)]
unsafe fn transpose_32_512(r: [__m512i; 16]) -> [__m512i; 16] {
    // SAFETY: the caller's.
    unsafe {
        let (mut t, mut u) = (r, r);
        for i in 0..8 {
            t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        // `u[4 * i + j]`: words j, j + 4, j + 8, j + 12 of rows 4i to 4i + 3.
        for i in 0..4 {
            u[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        for j in 0..4 {
            let x = transpose_parts([u[j], u[4 + j], u[8 + j], u[12 + j]]);
            for i in 0..4 {
                t[4 * i + j] = x[i];
            }
        }
        t
    }
}

/// Transposes four rows of four 128-bit parts.
#[inline(always)]
unsafe fn transpose_parts(r: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller's.
    unsafe {
        let low = _mm512_shuffle_i32x4::<0b01_00_01_00>(r[0], r[1]);
        let high = _mm512_shuffle_i32x4::<0b11_10_11_10>(r[0], r[1]);
        let low_2 = _mm512_shuffle_i32x4::<0b01_00_01_00>(r[2], r[3]);
        let high_2 = _mm512_shuffle_i32x4::<0b11_10_11_10>(r[2], r[3]);
        [
            _mm512_shuffle_i32x4::<0b10_00_10_00>(low, low_2),
            _mm512_shuffle_i32x4::<0b11_01_11_01>(low, low_2),
            _mm512_shuffle_i32x4::<0b10_00_10_00>(high, high_2),
            _mm512_shuffle_i32x4::<0b11_01_11_01>(high, high_2),
        ]
    }
}

/// Transposes eight rows of eight words of 64 bits.
#[inline(always)]
unsafe fn transpose_64_512(r: [__m512i; 8]) -> [__m512i; 8] {
    // SAFETY: the caller's.
    unsafe {
        let mut t = r;
        for i in 0..4 {
            t[2 * i] = _mm512_unpacklo_epi64(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_epi64(r[2 * i], r[2 * i + 1]);
        }
        let even = transpose_parts([t[0], t[2], t[4], t[6]]);
        let odd = transpose_parts([t[1], t[3], t[5], t[7]]);
        [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]
    }
}
