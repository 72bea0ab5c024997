//! Folding by carry-less multiplication: 128 bits at a time, and the rest of a message after wider
//! steps.
//!
//! Registers hold reflected polynomials: bit 127 - i is the coefficient of x^i, so the low half
//! has the higher powers. The product of two reflected 64-bit numbers is x times their product;
//! constants make up for that.
//!
//! Ref. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction".
//!
//! # Safety
//! A [`Cursor`] is made from slices or an `InOut`; its loads and stores check against what is left
//! in debug builds, and each call is covered by the caller's comparison with [`Cursor::left`].
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::Polynomial;
use super::super::polynomial::x_to_the;
use crate::InOut;

/// The position of a pass in its input and, if it copies, in its output.
pub(super) struct Cursor<'a, const COPY: bool> {
    input: *const u8,
    output: *mut u8,
    /// Bytes passed.
    passed: usize,
    /// Bytes left to pass.
    left: usize,
    borrows: PhantomData<&'a mut [u8]>,
}

impl<'a> Cursor<'a, false> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        let (input, output) = (data.as_ptr(), std::ptr::null_mut());
        Cursor { input, output, passed: 0, left: data.len(), borrows: PhantomData }
    }
}

impl<'a> Cursor<'a, true> {
    pub(super) fn new(mut data: InOut<'a>) -> Self {
        let (input, output) = (data.input_ptr(), data.output_ptr());
        Cursor { input, output, passed: 0, left: data.len(), borrows: PhantomData }
    }
}

impl<const COPY: bool> Cursor<'_, COPY> {
    /// Returns the number of bytes left.
    #[inline(always)]
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The next `N` bytes.
    ///
    /// # Safety
    /// There are so many left.
    #[inline(always)]
    pub(super) unsafe fn take<const N: usize>(&mut self) -> [u8; N] {
        debug_assert!(N <= self.left);
        // SAFETY: the caller's.
        unsafe {
            let bytes = self.input.add(self.passed).cast::<[u8; N]>().read_unaligned();
            if COPY {
                self.output.add(self.passed).cast::<[u8; N]>().write_unaligned(bytes);
            }
            self.passed += N;
            self.left -= N;
            bytes
        }
    }

    /// The next 16 bytes.
    ///
    /// # Safety
    /// There are so many left.
    #[inline(always)]
    pub(super) unsafe fn xmm(&mut self) -> __m128i {
        // SAFETY: the caller's; any bytes are a vector.
        unsafe { std::mem::transmute(self.take::<16>()) }
    }

    /// The next 64 bytes.
    ///
    /// # Safety
    /// There are so many left, and the processor has AVX-512.
    #[inline(always)]
    pub(super) unsafe fn zmm(&mut self) -> __m512i {
        debug_assert!(64 <= self.left);
        // SAFETY: the caller's.
        unsafe {
            let vector = _mm512_loadu_si512(self.input.add(self.passed).cast());
            if COPY {
                _mm512_storeu_si512(self.output.add(self.passed).cast(), vector);
            }
            self.passed += 64;
            self.left -= 64;
            vector
        }
    }

    /// The last 16 bytes, of which `left` are new.
    ///
    /// # Safety
    /// At least 16 bytes were passed and fewer than 16 are left.
    #[inline(always)]
    unsafe fn last(&mut self) -> __m128i {
        let back = 16 - self.left;
        debug_assert!(back <= self.passed);
        self.passed -= back;
        self.left = 16;
        // SAFETY: the caller's; what is copied a second time is what was there.
        unsafe { self.xmm() }
    }

    /// Returns all bytes that are left, fewer than 16, as a little-endian number.
    ///
    /// # Safety
    /// Fewer than 16 bytes are left.
    #[inline(always)]
    unsafe fn rest(&mut self) -> u128 {
        debug_assert!(self.left < 16);
        let (mut number, mut bits) = (0, 0);
        // SAFETY: each is taken where the bit of the length says that it is there.
        unsafe {
            if self.left & 8 != 0 {
                number |= u128::from(u64::from_le_bytes(self.take()));
                bits += 64;
            }
            if self.left & 4 != 0 {
                number |= u128::from(u32::from_le_bytes(self.take())) << bits;
                bits += 32;
            }
            if self.left & 2 != 0 {
                number |= u128::from(u16::from_le_bytes(self.take())) << bits;
                bits += 16;
            }
            if self.left & 1 != 0 {
                number |= u128::from(u8::from_le_bytes(self.take())) << bits;
            }
        }
        number
    }
}

/// Returns the constant that multiplies by x^n. It makes up for the product's extra x, and for the
/// extra x^32 of a remainder in the low half of 64 bits.
const fn multiplier(p: u32, n: u64) -> u64 {
    x_to_the(p, n - 33) as u64
}

/// Does the same as [`multiplier`], with the remainder in the upper half, so that products stay
/// short.
const fn short_multiplier(p: u32, n: u64) -> u64 {
    (x_to_the(p, n - 1) as u64) << 32
}

/// x^64 divided by the polynomial, reflected in 33 bits.
const fn quotient(p: u32) -> u64 {
    // Long division, from the highest power down. `remainder` holds 32 coefficients below the one
    // in hand; the quotient's bit for x^(32 - i) is bit i.
    let (mut quotient, mut remainder, mut i) = (1, p, 1);
    while i <= 32 {
        // The coefficient of x^31 is the lowest bit: it becomes x^32 and is divided away.
        if remainder & 1 == 1 {
            quotient |= 1 << i;
        }
        remainder = remainder >> 1 ^ if remainder & 1 == 1 { p } else { 0 };
        i += 1;
    }
    quotient
}

/// Folding constants of a polynomial.
pub(super) struct Constants<P>(PhantomData<P>);

impl<P: Polynomial> Constants<P> {
    /// Returns the constants that fold 128 bits over a distance in bits: for the low half, which
    /// is 64 bits further away, and for the high half.
    pub(super) const fn over(distance: u64) -> [u64; 2] {
        [multiplier(P::REFLECTED, distance + 64), multiplier(P::REFLECTED, distance)]
    }

    const OVER_128: [u64; 2] = Self::over(128);
    const OVER_256: [u64; 2] = Self::over(256);
    const OVER_384: [u64; 2] = Self::over(384);
    const OVER_512: [u64; 2] = Self::over(512);
    /// The constants for a multiplication by x^96 and by x^64.
    const SHORT: [u64; 2] = [short_multiplier(P::REFLECTED, 96), short_multiplier(P::REFLECTED, 64)];
    /// The quotient and the polynomial itself, reflected in 33 bits.
    const BARRETT: [u64; 2] = [quotient(P::REFLECTED), (P::REFLECTED as u64) << 1 | 1];
}

#[inline(always)]
fn pair(words: [u64; 2]) -> __m128i {
    // SAFETY: any two words are a vector.
    unsafe { std::mem::transmute(words) }
}

/// Moves `x` up by the distance that `constants` are for.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn fold(x: __m128i, constants: [u64; 2]) -> __m128i {
    let k = pair(constants);
    _mm_xor_si128(_mm_clmulepi64_si128::<0x00>(x, k), _mm_clmulepi64_si128::<0x11>(x, k))
}

/// The CRC of a whole message, 64 bytes a step.
///
/// # Safety
/// The cursor's memory is as it says.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) unsafe fn message<P: Polynomial, const COPY: bool>(crc: u32, mut data: Cursor<'_, COPY>) -> u32 {
    // SAFETY: lengths are compared before each load.
    unsafe {
        if data.left() < 16 {
            return short::<P, COPY>(crc, data);
        }
        let begin = _mm_cvtsi32_si128(crc as i32);
        if data.left() < 64 {
            let x = _mm_xor_si128(data.xmm(), begin);
            return finish::<P, COPY>(x, data);
        }
        let mut x = [_mm_xor_si128(data.xmm(), begin), data.xmm(), data.xmm(), data.xmm()];
        while data.left() >= 64 {
            for i in 0..4 {
                x[i] = _mm_xor_si128(fold(x[i], Constants::<P>::OVER_512), data.xmm());
            }
        }
        let near = _mm_xor_si128(fold(x[2], Constants::<P>::OVER_128), x[3]);
        let far = _mm_xor_si128(fold(x[0], Constants::<P>::OVER_384), fold(x[1], Constants::<P>::OVER_256));
        finish::<P, COPY>(_mm_xor_si128(near, far), data)
    }
}

/// The CRC of fewer than 16 bytes.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
unsafe fn short<P: Polynomial, const COPY: bool>(crc: u32, mut data: Cursor<'_, COPY>) -> u32 {
    let len = data.left();
    if len == 0 {
        return crc;
    }
    // SAFETY: fewer than 16 bytes, says the caller.
    let bytes = unsafe { data.rest() } ^ u128::from(crc);
    // The bytes stand at the end of 128 bits. Bytes of the CRC that no byte of the message has met
    // yet are kept back.
    let x = bytes << (128 - 8 * len);
    let kept = if len < 4 { crc >> (8 * len) } else { 0 };
    reduce::<P>(pair([x as u64, (x >> 64) as u64])) ^ kept
}

/// Returns the CRC of the data that was folded into `x`, at least 16 bytes, followed by the rest.
///
/// # Safety
/// The cursor has passed 16 bytes.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) unsafe fn finish<P: Polynomial, const COPY: bool>(
    mut x: __m128i,
    mut data: Cursor<'_, COPY>,
) -> u32 {
    // SAFETY: lengths are compared before each load; table indices are at most 31.
    unsafe {
        while data.left() >= 16 {
            x = _mm_xor_si128(fold(x, Constants::<P>::OVER_128), data.xmm());
        }
        let left = data.left();
        if left > 0 {
            // `x` and the tail are 16 + `left` bytes: the first `left` of them, at the end of a
            // register, are folded onto the other 16.
            let to_end = _mm_loadu_si128(SHIFTS.as_ptr().add(left).cast());
            let to_start = _mm_loadu_si128(SHIFTS.as_ptr().add(16 + left).cast());
            let first = _mm_shuffle_epi8(x, to_end);
            let rest = _mm_blendv_epi8(data.last(), _mm_shuffle_epi8(x, to_start), to_end);
            x = _mm_xor_si128(fold(first, Constants::<P>::OVER_128), rest);
        }
        reduce::<P>(x)
    }
}

/// Shuffles that move bytes up (loaded from 0 to 16) or down (16 to 32).
const SHIFTS: [u8; 48] = {
    let mut table = [0x80; 48];
    let mut i = 0;
    while i < 16 {
        table[16 + i] = i as u8;
        i += 1;
    }
    table
};

/// `x` times x^32 modulo the polynomial: the CRC of the 16 bytes.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn reduce<P: Polynomial>(x: __m128i) -> u32 {
    let short = pair(Constants::<P>::SHORT);
    let barrett = pair(Constants::<P>::BARRETT);
    // Reduces to 96 bits: the low half times x^96, the high one times x^32.
    let high = _mm_slli_si128::<4>(_mm_srli_si128::<8>(x));
    let x = _mm_xor_si128(_mm_clmulepi64_si128::<0x00>(x, short), high);
    // Reduces to 64 bits, in the high half.
    let x = _mm_xor_si128(_mm_clmulepi64_si128::<0x10>(x, short), x);
    let x = _mm_srli_si128::<8>(x);
    // Reduces to 32 bits by Barrett: the quotient of the upper powers, and the remainder without
    // its multiple.
    let upper = _mm_and_si128(x, _mm_cvtsi32_si128(-1));
    let q = _mm_and_si128(_mm_clmulepi64_si128::<0x00>(upper, barrett), _mm_cvtsi32_si128(-1));
    let x = _mm_xor_si128(_mm_clmulepi64_si128::<0x10>(q, barrett), x);
    _mm_extract_epi32::<1>(x) as u32
}
