//! The ways in which S-boxes are laid out in registers: one S-box of 64 blocks to a register, or two of 32.
//!
//! # Safety
//! Inlined into entry points that have the features of [`super::LANES`].

use core::arch::x86_64::*;

use super::eights::splat;
use crate::des::arch::x86_64_avx512::transpose;
use crate::des::planes::{ONE, PAIRS, Routes, TWO};
use crate::des::wiring::Tables;

/// The registers that hold a half of all blocks.
pub(super) type Half<const P: usize> = [__m512i; P];

/// A way to lay S-boxes out in `P` registers, for `8 * P` blocks.
pub(super) trait Layout<const P: usize> {
    const ROUTES: Routes<P>;

    /// A key that is the same for all blocks, in a short form.
    type OneKey: Copy + Default;

    /// Turns registers of eight blocks each into registers of S-boxes.
    ///
    /// # Safety
    /// The kernel's features exist; so in the others.
    unsafe fn gather(blocks: Half<P>) -> Half<P>;

    /// Undoes [`Layout::gather`].
    unsafe fn scatter(half: Half<P>) -> Half<P>;

    /// Takes a key that has a byte for each S-box.
    unsafe fn one_key(bytes: u64) -> Self::OneKey;

    /// Returns a key for all blocks.
    unsafe fn for_all(key: &Self::OneKey) -> Half<P>;

    /// Looks each byte up in its S-box's table.
    unsafe fn look_up(tables: &'static Tables, half: Half<P>) -> Half<P>;

    /// Returns the registers that feed others, in the order of the routes.
    unsafe fn feeders(half: Half<P>) -> [__m512i; 8];
}

/// One S-box to a register.
pub(super) enum Singles {}

/// Two S-boxes to a register, 16 bytes of either in turn.
pub(super) enum Pairs {}

/// Byte numbers that transpose 8 by 8 bytes.
const BYTES: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 64 {
        bytes[i] = (i % 8 * 8 + i / 8) as u8;
        i += 1;
    }
    bytes
};

/// The S-box whose byte is in each place when each has four.
const FOURS: [u8; 32] = {
    let mut fours = [0; 32];
    let mut i = 0;
    while i < 32 {
        fours[i] = (i / 4) as u8;
        i += 1;
    }
    fours
};

impl Layout<8> for Singles {
    const ROUTES: Routes<8> = ONE;

    type OneKey = [u32; 8];

    #[inline(always)]
    unsafe fn gather(mut blocks: Half<8>) -> Half<8> {
        // SAFETY: as the caller says; so in the others.
        unsafe {
            for register in &mut blocks {
                *register = _mm512_permutexvar_epi8(load(&BYTES), *register);
            }
            transpose(&mut blocks);
        }
        blocks
    }

    #[inline(always)]
    unsafe fn scatter(mut half: Half<8>) -> Half<8> {
        // SAFETY: as above.
        unsafe {
            transpose(&mut half);
            for register in &mut half {
                *register = _mm512_permutexvar_epi8(load(&BYTES), *register);
            }
        }
        half
    }

    #[inline(always)]
    unsafe fn one_key(bytes: u64) -> [u32; 8] {
        // SAFETY: as above; of any bits words can be made.
        unsafe {
            let order = _mm256_loadu_si256(FOURS.as_ptr().cast());
            std::mem::transmute(_mm256_shuffle_epi8(_mm256_set1_epi64x(bytes as i64), order))
        }
    }

    #[inline(always)]
    unsafe fn for_all(key: &[u32; 8]) -> Half<8> {
        // SAFETY: as above.
        unsafe {
            let mut half = [_mm512_setzero_si512(); 8];
            for s in 0..8 {
                half[s] = _mm512_set1_epi32(key[s] as i32);
            }
            half
        }
    }

    #[inline(always)]
    unsafe fn look_up(tables: &'static Tables, mut half: Half<8>) -> Half<8> {
        for s in 0..8 {
            // SAFETY: as above.
            half[s] = unsafe { _mm512_permutexvar_epi8(half[s], load(&tables[s])) };
        }
        half
    }

    #[inline(always)]
    unsafe fn feeders(half: Half<8>) -> [__m512i; 8] {
        half
    }
}

/// The S-box of which a register of eight blocks has the bytes in each of its words before the words are gathered.
const SEATS: [usize; 8] = {
    let mut seats = [0; 8];
    let mut i = 0;
    while i < 8 {
        seats[i] = PAIRS[i % 2 * 2 + i / 4][i / 2 % 2];
        i += 1;
    }
    seats
};

const TO_SEATS: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 64 {
        bytes[i] = (i % 8 * 8 + SEATS[i / 8]) as u8;
        i += 1;
    }
    bytes
};

const FROM_SEATS: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 64 {
        bytes[TO_SEATS[i] as usize] = i as u8;
        i += 1;
    }
    bytes
};

/// The S-box whose byte is in each place of the lower halves of two registers.
const SPREAD: [[u8; 64]; 2] = {
    let mut spread = [[0; 64]; 2];
    let mut i = 0;
    while i < 2 * 64 {
        spread[i / 64][i % 64] = PAIRS[i / 32][i / 16 % 2] as u8;
        i += 1;
    }
    spread
};

impl Layout<4> for Pairs {
    const ROUTES: Routes<4> = TWO;

    type OneKey = [[u64; 4]; 4];

    #[inline(always)]
    unsafe fn gather(blocks: Half<4>) -> Half<4> {
        // SAFETY: as above.
        unsafe {
            let mut x = blocks;
            for n in 0..4 {
                x[n] = _mm512_permutexvar_epi8(load(&TO_SEATS), x[n]);
            }
            let (even, odd) = (_mm512_unpacklo_epi64(x[0], x[1]), _mm512_unpackhi_epi64(x[0], x[1]));
            let (even_too, odd_too) = (_mm512_unpacklo_epi64(x[2], x[3]), _mm512_unpackhi_epi64(x[2], x[3]));
            let ([a, b], [c, d]) = (halves(even, even_too), halves(odd, odd_too));
            [a, b, c, d]
        }
    }

    #[inline(always)]
    unsafe fn scatter(half: Half<4>) -> Half<4> {
        // SAFETY: as above.
        unsafe {
            let ([even, even_too], [odd, odd_too]) = (halves(half[0], half[1]), halves(half[2], half[3]));
            let mut x = [
                _mm512_unpacklo_epi64(even, odd),
                _mm512_unpackhi_epi64(even, odd),
                _mm512_unpacklo_epi64(even_too, odd_too),
                _mm512_unpackhi_epi64(even_too, odd_too),
            ];
            for n in 0..4 {
                x[n] = _mm512_permutexvar_epi8(load(&FROM_SEATS), x[n]);
            }
            x
        }
    }

    #[inline(always)]
    unsafe fn one_key(bytes: u64) -> [[u64; 4]; 4] {
        // SAFETY: as above; of any bits words can be made.
        unsafe {
            let [a, b] = &SPREAD;
            std::mem::transmute([
                _mm512_permutexvar_epi8(load(a), splat(bytes)),
                _mm512_permutexvar_epi8(load(b), splat(bytes)),
            ])
        }
    }

    #[inline(always)]
    unsafe fn for_all(key: &[[u64; 4]; 4]) -> Half<4> {
        // SAFETY: as above; a half of a register is four words.
        unsafe {
            let mut half = [_mm512_setzero_si512(); 4];
            for p in 0..4 {
                half[p] = _mm512_broadcast_i64x4(_mm256_loadu_si256(key[p].as_ptr().cast()));
            }
            half
        }
    }

    #[inline(always)]
    unsafe fn look_up(tables: &'static Tables, mut half: Half<4>) -> Half<4> {
        for p in 0..4 {
            let [first, second] = PAIRS[p];
            // SAFETY: as above.
            half[p] =
                unsafe { _mm512_permutex2var_epi8(load(&tables[first]), half[p], load(&tables[second])) };
        }
        half
    }

    #[inline(always)]
    unsafe fn feeders([a, b, c, d]: Half<4>) -> [__m512i; 8] {
        // SAFETY: as above.
        let exchanged = |register| unsafe { _mm512_permutex_epi64::<0b01_00_11_10>(register) };
        [a, b, c, d, exchanged(a), exchanged(b), exchanged(c), exchanged(d)]
    }
}

/// Returns the lower halves of two registers in one, and the upper ones.
#[inline(always)]
unsafe fn halves(a: __m512i, b: __m512i) -> [__m512i; 2] {
    // SAFETY: as above.
    unsafe { [_mm512_shuffle_i64x2::<0b01_00_01_00>(a, b), _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b)] }
}

#[inline(always)]
unsafe fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: as above.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}
