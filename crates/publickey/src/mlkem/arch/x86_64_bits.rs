//! Numbers of `D` bits in the 128-bit parts of registers: eight numbers in `D` bytes of each.
//!
//! # Safety
//! The caller has SSE4.1, which whoever has AVX2 has. Pointers lead to `D` bytes.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

/// The places of bytes in each part, for the instruction that shuffles them. The highest bit makes a byte zero.
pub(super) type Places = [u8; 16];

/// Puts the low `4 * D` bits of both halves of a part together, where these are whole bytes.
pub(super) const fn joined(d: usize) -> Places {
    let (mut places, mut at) = ([0x80; 16], 0);
    while d.is_multiple_of(2) && at < d {
        places[at] = if at < d / 2 { at as u8 } else { (8 + at - d / 2) as u8 };
        at += 1;
    }
    places
}

/// The place of a byte of `D` in a part that [`read`] has filled.
const fn place(d: usize, byte: usize) -> u8 {
    if byte >= d {
        0x80
    } else if d < 8 || byte < 8 {
        byte as u8
    } else {
        (byte + 16 - d) as u8
    }
}

/// The two bytes in which each number begins, and the factors that move the numbers to the top of these.
pub(super) const fn in_halves(d: usize) -> (Places, [i16; 8]) {
    let (mut places, mut factors, mut i) = ([0; 16], [0; 8], 0);
    while i < 8 {
        let (byte, bit) = (d * i / 8, d * i % 8);
        // Numbers of 11 bits lie in up to three bytes: see `in_words`.
        if bit + d <= 16 {
            places[2 * i] = place(d, byte);
            places[2 * i + 1] = place(d, byte + 1);
            factors[i] = (1_u16 << (16 - d - bit)) as i16;
        }
        i += 1;
    }
    (places, factors)
}

/// The four bytes in which each of four numbers from `first` on begins, and the bits before it there.
pub(super) const fn in_words(d: usize, first: usize) -> (Places, [i32; 4]) {
    let (mut places, mut shifts, mut i) = ([0; 16], [0; 4], 0);
    while i < 4 {
        let (byte, bit) = (d * (first + i) / 8, d * (first + i) % 8);
        let mut j = 0;
        while j < 4 {
            places[4 * i + j] = place(d, byte + j);
            j += 1;
        }
        shifts[i] = bit as i32;
        i += 1;
    }
    (places, shifts)
}

/// Writes the low `D` bytes.
#[inline(always)]
pub(super) unsafe fn write<const D: usize>(part: __m128i, out: *mut u8) {
    // SAFETY: the caller's: each store ends within `D` bytes.
    unsafe {
        let low = _mm_cvtsi128_si64(part);
        match D {
            1 => out.write(low as u8),
            4 => out.cast::<u32>().write_unaligned(low as u32),
            5 => {
                out.cast::<u32>().write_unaligned(low as u32);
                out.add(4).write((low >> 32) as u8);
            }
            _ => {
                let last = match D {
                    10 => _mm_bsrli_si128::<2>(part),
                    11 => _mm_bsrli_si128::<3>(part),
                    _ => _mm_bsrli_si128::<4>(part),
                };
                _mm_storel_epi64(out.cast(), part);
                _mm_storel_epi64(out.add(D - 8).cast(), last);
            }
        }
    }
}

/// Reads `D` bytes: up to eight at the front, and the last eight of more behind them.
#[inline(always)]
pub(super) unsafe fn read<const D: usize>(from: *const u8) -> __m128i {
    // SAFETY: the caller's: each load ends within `D` bytes.
    unsafe {
        match D {
            1 => _mm_cvtsi32_si128(i32::from(from.read())),
            4 => _mm_cvtsi32_si128(from.cast::<i32>().read_unaligned()),
            5 => {
                let low = i64::from(from.cast::<u32>().read_unaligned());
                _mm_cvtsi64_si128(low | i64::from(from.add(4).read()) << 32)
            }
            _ => _mm_unpacklo_epi64(_mm_loadl_epi64(from.cast()), _mm_loadl_epi64(from.add(D - 8).cast())),
        }
    }
}
