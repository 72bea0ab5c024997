//! Eight values of 32 bytes as four vectors of words, and the digits of eight scalars.
//!
//! # Safety
//! The loads and stores are those of whole arrays.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::super::field::{bytes, words};
use super::super::scalar::{Scalar, WINDOW};

/// Four words of each of eight values, least first.
#[derive(Clone, Copy)]
pub(crate) struct Words(pub(crate) [__m512i; 4]);

impl Words {
    /// The same value in every lane.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn all(value: &[u64; 4]) -> Words {
        Words([splat(value[0]), splat(value[1]), splat(value[2]), splat(value[3])])
    }

    /// Takes the words of each lane's value.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn load(values: &[[u64; 4]; 8]) -> Words {
        let mut columns = [[0; 8]; 4];
        for lane in 0..8 {
            for word in 0..4 {
                columns[word][lane] = values[lane][word];
            }
        }
        let words =
            Words([vector(&columns[0]), vector(&columns[1]), vector(&columns[2]), vector(&columns[3])]);
        // The values may be secret scalars, of which no copy is left behind.
        columns.zeroize();
        words
    }

    /// Takes the bytes of each lane's value, least first.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn load_bytes(values: &[[u8; 32]; 8]) -> Words {
        let mut all = [[0; 4]; 8];
        for lane in 0..8 {
            all[lane] = words(&values[lane]);
        }
        let words = Words::load(&all);
        all.zeroize();
        words
    }

    /// Takes the words of eight scalars.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn load_scalars(scalars: [&Scalar; 8]) -> Words {
        let mut all = [[0; 4]; 8];
        for lane in 0..8 {
            all[lane] = *scalars[lane].words();
        }
        let words = Words::load(&all);
        all.zeroize();
        words
    }

    /// The words of each lane's value.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn to_array(self) -> [[u64; 4]; 8] {
        let mut values = [[0; 4]; 8];
        for word in 0..4 {
            let column = array(self.0[word]);
            for lane in 0..8 {
                values[lane][word] = column[lane];
            }
        }
        values
    }

    /// The bytes of each lane's value, least first.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn to_bytes(self) -> [[u8; 32]; 8] {
        let words = self.to_array();
        let mut values = [[0; 32]; 8];
        for lane in 0..8 {
            values[lane] = bytes(&words[lane]);
        }
        values
    }

    /// The first lane's value.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn first(&self) -> [u64; 4] {
        let mut value = [0; 4];
        for word in 0..4 {
            value[word] = array(self.0[word])[0];
        }
        value
    }

    /// The mask of the lanes in which this bit of the value is set.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn bit(&self, bit: usize) -> __mmask8 {
        _mm512_test_epi64_mask(self.0[bit / 64], splat(1 << (bit % 64)))
    }

    /// The digit of `width` bits from `at` on, unsigned, plus a carry; and the carry to the next digit. The digit is from
    /// -2^(width - 1) to 2^(width - 1) - 1.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn digit(&self, at: usize, width: usize, carry: __m512i) -> (__m512i, __m512i) {
        let (word, shift) = (at / 64, at % 64);
        let mut bits = _mm512_srl_epi64(self.0[word], count(shift));
        if shift + width > 64 && word < 3 {
            bits = _mm512_or_si512(bits, _mm512_sll_epi64(self.0[word + 1], count(64 - shift)));
        }
        let bits = _mm512_and_si512(bits, splat((1 << width) - 1));
        let digit = _mm512_add_epi64(bits, carry);
        let carry = _mm512_srl_epi64(_mm512_add_epi64(digit, splat(1 << (width - 1))), count(width));
        (_mm512_sub_epi64(digit, _mm512_sll_epi64(carry, count(width))), carry)
    }
}

/// The digits of eight scalars to base 32, least first.
pub(crate) struct Digits<'w> {
    words: &'w Words,
    at: usize,
    carry: __m512i,
}

impl<'w> Digits<'w> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn new(words: &'w Words) -> Self {
        Digits { words, at: 0, carry: _mm512_setzero_si512() }
    }

    /// The next digit of each scalar.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn next(&mut self) -> Digit {
        let (digit, carry) = self.words.digit(self.at, WINDOW, self.carry);
        self.at += WINDOW;
        self.carry = carry;
        Digit::new(digit)
    }
}

/// A signed digit of each scalar.
#[derive(Clone, Copy)]
pub(crate) struct Digit {
    /// The magnitude less one, as an index into the multiples of a point.
    pub(crate) index: __m512i,
    pub(crate) negative: __mmask8,
    pub(crate) not_zero: __mmask8,
}

impl Digit {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn new(digit: __m512i) -> Self {
        let zero = _mm512_setzero_si512();
        Digit {
            index: _mm512_sub_epi64(_mm512_abs_epi64(digit), splat(1)),
            negative: _mm512_cmplt_epi64_mask(digit, zero),
            not_zero: _mm512_test_epi64_mask(digit, digit),
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn count(bits: usize) -> __m128i {
    _mm_cvtsi64_si128(bits as i64)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn splat(word: u64) -> __m512i {
    _mm512_set1_epi64(word as i64)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn vector(words: &[u64; 8]) -> __m512i {
    // SAFETY: eight words of an array.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn array(vector: __m512i) -> [u64; 8] {
    let mut words = [0; 8];
    // SAFETY: eight words of an array.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}
