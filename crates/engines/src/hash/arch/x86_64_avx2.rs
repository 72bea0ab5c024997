//! Words of lanes in the registers of AVX2.
//!
//! # Safety
//! The promise of [`Words`] holds here too: the caller has AVX2. Memory is read and written as the
//! functions' own headings allow, and a masked load reads no word outside its mask.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use crate::hash::words::Words;
use crate::masked::readable;

/// Eight words of 32 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct W32x8(__m256i);

/// Four words of 64 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct W64x4(__m256i);

macro_rules! words {
    ($name:ident $word:ident as $signed:ident $lanes:literal: $splat:ident $add:ident
     $left:ident $right:ident $load_part:ident $swap:ident $transpose:ident) => {
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
                unsafe { $name(_mm256_loadu_si256(words.as_ptr().cast())) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($add(self.0, other.0)) }
            }

            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name(_mm256_xor_si256(self.0, other.0)) }
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            unsafe fn settled(self) -> Self {
                #[allow(unused_mut)]
                let mut words = self.0;
                // SAFETY: no instruction at all.
                #[cfg(not(miri))]
                unsafe {
                    core::arch::asm!("/* {0} */", inout(ymm_reg) words, options(pure, nomem, nostack, preserves_flags));
                }
                $name(words)
            }

            #[inline(always)]
            unsafe fn rotate_right<const BITS: i32>(self) -> Self {
                // SAFETY: the caller's.
                unsafe { let bits = <$word>::BITS as i64;
                    let left = $left(self.0, _mm_cvtsi64_si128(bits - BITS as i64));
                    $name(_mm256_or_si256(left, $right(self.0, _mm_cvtsi64_si128(BITS as i64)))) }
            }

            #[inline(always)]
            unsafe fn shift_right<const BITS: i32>(self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name($right(self.0, _mm_cvtsi64_si128(BITS as i64))) }
            }

            #[inline(always)]
            unsafe fn xor3(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name(_mm256_xor_si256(_mm256_xor_si256(self.0, y.0), z.0)) }
            }

            #[inline(always)]
            unsafe fn choose(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name(_mm256_xor_si256(z.0, _mm256_and_si256(self.0, _mm256_xor_si256(y.0, z.0)))) }
            }

            #[inline(always)]
            unsafe fn majority(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe {
                    // The result is x if x and y agree, and z otherwise.
                    let differ = _mm256_xor_si256(self.0, y.0);
                    $name(_mm256_xor_si256(self.0, _mm256_and_si256(differ, _mm256_xor_si256(self.0, z.0))))
                }
            }

            #[inline(always)]
            unsafe fn md5_i(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name(_mm256_xor_si256(y.0, _mm256_or_si256(self.0, _mm256_xor_si256(z.0, _mm256_set1_epi32(-1))))) }
            }

            #[inline(always)]
            unsafe fn chi(self, y: Self, z: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { $name(_mm256_xor_si256(self.0, _mm256_andnot_si256(y.0, z.0))) }
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
                    let mut words = [$name(_mm256_setzero_si256()); 16];
                    for part in 0..16 / $lanes {
                        let mut rows = [_mm256_setzero_si256(); $lanes];
                        for lane in 0..$lanes {
                            rows[lane] = _mm256_loadu_si256(from[lane].cast::<__m256i>().add(part));
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
                    let mut words = [$name(_mm256_setzero_si256()); 16];
                    for part in 0..16 / $lanes {
                        let mut rows = [_mm256_setzero_si256(); $lanes];
                        for lane in 0..$lanes {
                            let left = len[lane].saturating_sub(part * size_of::<__m256i>());
                            let bytes = $load_part(from[lane].cast::<__m256i>().wrapping_add(part), left);
                            rows[lane] = _mm256_or_si256(bytes, _mm256_loadu_si256(pad[lane].cast::<__m256i>().add(part)));
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
                    for part in 0..64 / size_of::<__m256i>() {
                        let mut columns = [_mm256_setzero_si256(); $lanes];
                        for i in 0..$lanes {
                            if part * $lanes + i < 8 {
                                columns[i] = words[part * $lanes + i].0;
                            }
                        }
                        let rows = $transpose(columns);
                        for lane in 0..$lanes {
                            _mm256_storeu_si256(to[lane].cast::<__m256i>().add(part), rows[lane]);
                        }
                    }
                }
            }
        }
    };
}

words!(W32x8 u32 as i32 8: _mm256_set1_epi32 _mm256_add_epi32 _mm256_sll_epi32 _mm256_srl_epi32
       load_part swap_32_256 transpose_32_256);
words!(W64x4 u64 as i64 4: _mm256_set1_epi64x _mm256_add_epi64 _mm256_sll_epi64 _mm256_srl_epi64
       load_part swap_64_256 transpose_64_256);

/// Loads the first `len` bytes, or the whole vector, and fills up with zeros. Whole words are loaded
/// under a mask, and the last one, of up to three bytes, by itself.
#[inline(always)]
unsafe fn load_part(from: *const __m256i, len: usize) -> __m256i {
    let len = len.min(size_of::<__m256i>());
    let bytes = from.cast::<u8>();
    let words = len / 4;
    // SAFETY: the caller's; nothing is read from `bytes + len` on.
    unsafe {
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let whole = _mm256_cmpgt_epi32(_mm256_set1_epi32(words as i32), lanes);
        let vector = _mm256_maskload_epi32(readable(bytes, words).cast(), whole);
        if len.is_multiple_of(4) {
            return vector;
        }
        let mut rest = 0;
        for i in (4 * words..len).rev() {
            rest = rest << 8 | i32::from(bytes.add(i).read());
        }
        let place = _mm256_cmpeq_epi32(_mm256_set1_epi32(words as i32), lanes);
        _mm256_or_si256(vector, _mm256_and_si256(place, _mm256_set1_epi32(rest)))
    }
}

#[inline(always)]
pub(super) unsafe fn swap_32_256(x: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(swap_32())) }
}

#[inline(always)]
pub(super) unsafe fn swap_64_256(x: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(swap_64())) }
}

#[inline(always)]
pub(super) unsafe fn swap_32() -> __m128i {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203) }
}

#[inline(always)]
pub(super) unsafe fn swap_64() -> __m128i {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607) }
}

/// Transposes eight rows of eight words of 32 bits.
#[inline(always)]
pub(super) unsafe fn transpose_32_256(r: [__m256i; 8]) -> [__m256i; 8] {
    // SAFETY: the caller's.
    unsafe {
        let (mut t, mut u) = (r, r);
        for i in 0..4 {
            t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        for i in 0..2 {
            u[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        for j in 0..4 {
            t[j] = _mm256_permute2x128_si256::<0x20>(u[j], u[4 + j]);
            t[4 + j] = _mm256_permute2x128_si256::<0x31>(u[j], u[4 + j]);
        }
        t
    }
}

/// Transposes four rows of four words of 64 bits.
#[inline(always)]
pub(super) unsafe fn transpose_64_256(r: [__m256i; 4]) -> [__m256i; 4] {
    // SAFETY: the caller's.
    unsafe {
        let low = [_mm256_unpacklo_epi64(r[0], r[1]), _mm256_unpacklo_epi64(r[2], r[3])];
        let high = [_mm256_unpackhi_epi64(r[0], r[1]), _mm256_unpackhi_epi64(r[2], r[3])];
        [
            _mm256_permute2x128_si256::<0x20>(low[0], low[1]),
            _mm256_permute2x128_si256::<0x20>(high[0], high[1]),
            _mm256_permute2x128_si256::<0x31>(low[0], low[1]),
            _mm256_permute2x128_si256::<0x31>(high[0], high[1]),
        ]
    }
}
