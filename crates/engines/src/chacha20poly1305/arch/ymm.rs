//! ChaCha20 in 256-bit registers, for AVX2 and for AVX-512 (which rotates in one instruction).
//!
//! Ref. RFC 8439 §2.3.
//!
//! # Safety
//! Whoever names a type that implements [`Ymm`] calls from a function that has its features, which
//! include AVX2.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::object::CHACHA_BLOCK;
use super::super::vector::{Rows, SIGMA, double_round_across, double_round_down};
use super::super::{Key, Nonce};

/// Blocks that [`down`] makes at once.
pub(super) const WIDE: usize = 8;
/// Blocks of one set of rows.
const SET: usize = 2;

/// 256 bits with the operations of one processor tier.
pub(super) trait Ymm: Rows {
    /// The plain vector as this type.
    fn of(vector: __m256i) -> Self;
    /// Returns this as a plain vector.
    fn vector(self) -> __m256i;
}

/// Moves the words of every row down by `N` places.
///
/// # Safety
/// As the file's head says.
#[inline(always)]
pub(super) unsafe fn turn<const N: usize>(row: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        match N {
            1 => _mm256_shuffle_epi32::<0b00_11_10_01>(row),
            2 => _mm256_shuffle_epi32::<0b01_00_11_10>(row),
            _ => _mm256_shuffle_epi32::<0b10_01_00_11>(row),
        }
    }
}

/// Four words, for both blocks of a set.
///
/// # Safety
/// They can be read; and as the file's head says.
#[inline(always)]
unsafe fn row<V: Ymm>(words: *const __m128i) -> V {
    // SAFETY: the caller's.
    V::of(unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(words)) })
}

/// Writes the keystream of `SETS` sets of two blocks, and returns its length.
///
/// # Safety
/// `out` has room for it; and as the file's head says.
#[inline(always)]
pub(super) unsafe fn across<V: Ymm, const SETS: usize>(
    key: &Key,
    nonce: &Nonce,
    counter: u32,
    out: *mut u8,
) -> usize {
    let [n0, n1, n2] = nonce.map(|word| word as i32);
    // SAFETY: four constants and eight words of key; the caller's room.
    unsafe {
        let words = key.0.as_ptr().cast::<__m128i>();
        let mut start = [[row::<V>(SIGMA.as_ptr().cast()), row(words), row(words.add(1)), row(words)]; SETS];
        for s in 0..SETS {
            let first = counter.wrapping_add((SET * s) as u32) as i32;
            let second = first.wrapping_add(1);
            start[s][3] = V::of(_mm256_set_epi32(n2, n1, n0, second, n2, n1, n0, first));
        }
        let mut x = start;
        for _ in 0..10 {
            double_round_across(&mut x);
        }
        for s in 0..SETS {
            for i in 0..4 {
                x[s][i] = x[s][i].add(start[s][i]);
            }
            let out = out.add(s * SET * CHACHA_BLOCK).cast::<__m256i>();
            let [a, b, c, d] = [x[s][0].vector(), x[s][1].vector(), x[s][2].vector(), x[s][3].vector()];
            _mm256_storeu_si256(out, _mm256_permute2x128_si256::<0x20>(a, b));
            _mm256_storeu_si256(out.add(1), _mm256_permute2x128_si256::<0x20>(c, d));
            _mm256_storeu_si256(out.add(2), _mm256_permute2x128_si256::<0x31>(a, b));
            _mm256_storeu_si256(out.add(3), _mm256_permute2x128_si256::<0x31>(c, d));
        }
    }
    SETS * SET * CHACHA_BLOCK
}

/// The state of eight blocks, a word a vector.
///
/// # Safety
/// As the file's head says.
#[inline(always)]
unsafe fn columns<V: Ymm>(key: &Key, nonce: &Nonce, counter: u32) -> [V; 16] {
    // SAFETY: the caller's.
    unsafe {
        let mut x = [V::of(_mm256_setzero_si256()); 16];
        for i in 0..4 {
            x[i] = V::of(_mm256_set1_epi32(SIGMA[i] as i32));
        }
        for i in 0..8 {
            x[4 + i] = V::of(_mm256_set1_epi32(key.0[i] as i32));
        }
        let counters = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
        x[12] = V::of(_mm256_add_epi32(_mm256_set1_epi32(counter as i32), counters));
        for i in 0..3 {
            x[13 + i] = V::of(_mm256_set1_epi32(nonce[i] as i32));
        }
        x
    }
}

/// The keystream of eight blocks, half a block a vector.
///
/// # Safety
/// As the file's head says.
#[inline(always)]
pub(super) unsafe fn down<V: Ymm>(key: &Key, nonce: &Nonce, counter: u32) -> [__m256i; 2 * WIDE] {
    // SAFETY: the caller's. What the rounds began with is made again: it would not fit in registers.
    unsafe { finish(rounds(columns::<V>(key, nonce, counter)), columns(key, nonce, counter)) }
}

/// The keystream of eight blocks from their states, a word a vector.
///
/// # Safety
/// As the file's head says.
#[inline(always)]
pub(super) unsafe fn from_columns<V: Ymm>(start: [V; 16]) -> [__m256i; 2 * WIDE] {
    // SAFETY: the caller's.
    unsafe { finish(rounds(start), start) }
}

#[inline(always)]
unsafe fn rounds<V: Ymm>(mut x: [V; 16]) -> [V; 16] {
    for _ in 0..10 {
        // SAFETY: the caller's.
        unsafe { double_round_down(&mut x) };
    }
    x
}

/// Adds the state to the rounds' result, and turns words into blocks.
#[inline(always)]
unsafe fn finish<V: Ymm>(mut x: [V; 16], start: [V; 16]) -> [__m256i; 2 * WIDE] {
    // SAFETY: the caller's.
    unsafe {
        for i in 0..16 {
            x[i] = x[i].add(start[i]);
        }
        let mut out = [_mm256_setzero_si256(); 2 * WIDE];
        for half in 0..2 {
            let low = quads([x[8 * half], x[8 * half + 1], x[8 * half + 2], x[8 * half + 3]]);
            let high = quads([x[8 * half + 4], x[8 * half + 5], x[8 * half + 6], x[8 * half + 7]]);
            for k in 0..4 {
                // The two lanes hold blocks k and 4 + k.
                out[2 * k + half] = _mm256_permute2x128_si256::<0x20>(low[k], high[k]);
                out[2 * (4 + k) + half] = _mm256_permute2x128_si256::<0x31>(low[k], high[k]);
            }
        }
        out
    }
}

/// Four words of eight blocks: of block `4 l + k` in part `l` of vector `k`.
///
/// # Safety
/// As the file's head says.
#[inline(always)]
pub(super) unsafe fn quads<V: Ymm>(x: [V; 4]) -> [__m256i; 4] {
    let [a, b, c, d] = [x[0].vector(), x[1].vector(), x[2].vector(), x[3].vector()];
    // SAFETY: the caller's.
    unsafe {
        let (ab_low, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (cd_low, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
        [
            _mm256_unpacklo_epi64(ab_low, cd_low),
            _mm256_unpackhi_epi64(ab_low, cd_low),
            _mm256_unpacklo_epi64(ab_high, cd_high),
            _mm256_unpackhi_epi64(ab_high, cd_high),
        ]
    }
}
