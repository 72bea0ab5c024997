//! Eight numbers modulo p = 2^255 - 19, in five limbs of 52 bits.
//!
//! The multiply-add of AVX-512 IFMA splits a product at 2^52. With limbs of just that size the upper half weighs as much as
//! the next column, and the lower 52 bits of an operand are taken without a mask. The price is that sums have to be carried
//! at once, which takes less than what multiplications save.
//!
//! The lower four limbs are always below 2^52. The fifth says how much a number has grown: a product is *tight*, with a fifth
//! limb below 2^47 + 2^6, and each function says what it takes. A multiplication takes any number whose fifth limb is below
//! 2^52.
//!
//! Ref. RFC 7748 §4.1; Gueron and Krasnov, "Software implementation of modular exponentiation, using advanced vector
//! instructions architectures" (2012), for operands in lanes.

use std::arch::x86_64::*;

use super::super::field::Fe;
use super::words::{Words, splat};

const BITS: u32 = 52;
/// The bits of p in the fifth limb.
const TOP: u32 = 47;
/// 2^260 modulo p.
const FOLD: u64 = 19 << 5;

/// Eight numbers modulo p.
#[derive(Clone, Copy)]
pub(crate) struct Fe8([__m512i; 5]);

impl Fe8 {
    /// Takes limbs that were those of numbers.
    #[inline(always)]
    pub(crate) fn new(limbs: [__m512i; 5]) -> Fe8 {
        Fe8(limbs)
    }

    /// One of the five limbs of each number.
    #[inline(always)]
    pub(crate) fn limb(&self, limb: usize) -> __m512i {
        self.0[limb]
    }

    /// The same number in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn all(number: &Fe) -> Fe8 {
        Fe8::from_words(&Words::all(&number.to_words()))
    }

    /// Small numbers, the same in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn small(number: u32) -> Fe8 {
        let zero = _mm512_setzero_si512();
        Fe8([splat(u64::from(number)), zero, zero, zero, zero])
    }

    /// Takes 255 bits in four words. The top bit is ignored. The numbers are tight.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn from_words(words: &Words) -> Fe8 {
        let Words([w0, w1, w2, w3]) = *words;
        let mask = splat((1 << BITS) - 1);
        let between_1 = _mm512_or_si512(_mm512_srli_epi64::<52>(w0), _mm512_slli_epi64::<12>(w1));
        let between_2 = _mm512_or_si512(_mm512_srli_epi64::<40>(w1), _mm512_slli_epi64::<24>(w2));
        let between_3 = _mm512_or_si512(_mm512_srli_epi64::<28>(w2), _mm512_slli_epi64::<36>(w3));
        Fe8([
            _mm512_and_si512(w0, mask),
            _mm512_and_si512(between_1, mask),
            _mm512_and_si512(between_2, mask),
            _mm512_and_si512(between_3, mask),
            _mm512_and_si512(_mm512_srli_epi64::<16>(w3), splat((1 << TOP) - 1)),
        ])
    }

    /// Returns the numbers below p in four words. The fifth limb is below 2^52.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn to_words(self) -> Words {
        // Twice, because the first pass can carry into the top.
        let Fe8(limbs) = Fe8(fold_top(fold_top(self.0)));
        // The quotient by p is 0 or 1 now: it is the carry out of the number + 19.
        let mut quotient = splat(19);
        for i in 0..4 {
            quotient = _mm512_srli_epi64::<BITS>(_mm512_add_epi64(limbs[i], quotient));
        }
        quotient = _mm512_srli_epi64::<TOP>(_mm512_add_epi64(limbs[4], quotient));
        let mut limbs = limbs;
        limbs[0] = _mm512_madd52lo_epu64(limbs[0], quotient, splat(19));
        let [l0, l1, l2, l3, l4] = carried(limbs);
        let l4 = _mm512_and_si512(l4, splat((1 << TOP) - 1));
        Words([
            _mm512_or_si512(l0, _mm512_slli_epi64::<52>(l1)),
            _mm512_or_si512(_mm512_srli_epi64::<12>(l1), _mm512_slli_epi64::<40>(l2)),
            _mm512_or_si512(_mm512_srli_epi64::<24>(l2), _mm512_slli_epi64::<28>(l3)),
            _mm512_or_si512(_mm512_srli_epi64::<36>(l3), _mm512_slli_epi64::<16>(l4)),
        ])
    }

    /// The sums. The fifth limbs add up.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add(self, other: Fe8) -> Fe8 {
        let mut limbs = self.0;
        for i in 0..5 {
            limbs[i] = _mm512_add_epi64(limbs[i], other.0[i]);
        }
        Fe8(carried(limbs))
    }

    /// The differences. The fifth limb of `other` is below 2^50 - 2, and that of the result up to 2^50 more than that of
    /// `self`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn sub(self, other: Fe8) -> Fe8 {
        // 8 p, so that no limb falls below zero.
        let (low, high, top) = (splat((1 << 53) - 152), splat((1 << 53) - 2), splat((1 << 50) - 2));
        let multiple = [low, high, high, high, top];
        let mut limbs = self.0;
        for i in 0..5 {
            limbs[i] = _mm512_add_epi64(limbs[i], _mm512_sub_epi64(multiple[i], other.0[i]));
        }
        Fe8(carried(limbs))
    }

    /// The products, tight.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn mul(&self, other: &Fe8) -> Fe8 {
        let (a, b) = (self.0, other.0);
        let mut columns = [_mm512_setzero_si512(); 10];
        for i in 0..5 {
            for j in 0..5 {
                columns[i + j] = _mm512_madd52lo_epu64(columns[i + j], a[i], b[j]);
                columns[i + j + 1] = _mm512_madd52hi_epu64(columns[i + j + 1], a[i], b[j]);
            }
        }
        Fe8(reduce(columns))
    }

    /// The squares, tight.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn square(&self) -> Fe8 {
        let a = self.0;
        let mut columns = [_mm512_setzero_si512(); 10];
        for i in 0..5 {
            for j in i + 1..5 {
                columns[i + j] = _mm512_madd52lo_epu64(columns[i + j], a[i], a[j]);
                columns[i + j + 1] = _mm512_madd52hi_epu64(columns[i + j + 1], a[i], a[j]);
            }
        }
        // What is multiplied by another limb counts twice.
        for i in 1..9 {
            columns[i] = _mm512_add_epi64(columns[i], columns[i]);
        }
        for i in 0..5 {
            columns[2 * i] = _mm512_madd52lo_epu64(columns[2 * i], a[i], a[i]);
            columns[2 * i + 1] = _mm512_madd52hi_epu64(columns[2 * i + 1], a[i], a[i]);
        }
        Fe8(reduce(columns))
    }

    /// Squares `times` times.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn square_times(&self, times: u32) -> Fe8 {
        let mut square = *self;
        for _ in 0..times {
            square = square.square();
        }
        square
    }

    /// Returns `self` + `number` `other`, tight. `number` is below 2^17, the fifth limb of `self` is below 2^51.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add_times_small(&self, other: &Fe8, number: u32) -> Fe8 {
        let (number, zero) = (splat(u64::from(number)), _mm512_setzero_si512());
        let mut limbs = self.0;
        for i in 0..5 {
            limbs[i] = _mm512_madd52lo_epu64(limbs[i], other.0[i], number);
        }
        for i in 0..4 {
            limbs[i + 1] = _mm512_madd52hi_epu64(limbs[i + 1], other.0[i], number);
        }
        let top = _mm512_madd52hi_epu64(zero, other.0[4], number);
        limbs[0] = _mm512_madd52lo_epu64(limbs[0], top, splat(FOLD));
        Fe8(fold_top(limbs))
    }

    /// Returns the numbers to the power of 2^250 - 1, and to that of 11: the beginning of both long powers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn power_of_ones(&self) -> (Fe8, Fe8) {
        let z2 = self.square();
        let z9 = z2.square_times(2).mul(self);
        let z11 = z9.mul(&z2);
        // The exponents 2^5 - 1, 2^10 - 1, and so on.
        let ones5 = z11.square().mul(&z9);
        let ones10 = ones5.square_times(5).mul(&ones5);
        let ones20 = ones10.square_times(10).mul(&ones10);
        let ones40 = ones20.square_times(20).mul(&ones20);
        let ones50 = ones40.square_times(10).mul(&ones10);
        let ones100 = ones50.square_times(50).mul(&ones50);
        let ones200 = ones100.square_times(100).mul(&ones100);
        (ones200.square_times(50).mul(&ones50), z11)
    }

    /// The inverses, and zero for zero: the power of p - 2 = 2^255 - 21.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn invert(&self) -> Fe8 {
        let (ones250, z11) = self.power_of_ones();
        ones250.square_times(5).mul(&z11)
    }

    /// The power of (p - 5) / 8 = 2^252 - 3 (RFC 8032 §5.1.3, step 2).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn power_for_root(&self) -> Fe8 {
        let (ones250, _) = self.power_of_ones();
        ones250.square_times(2).mul(self)
    }

    /// Returns `set` in the lanes of the mask, and `self` in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn select(&self, mask: __mmask8, set: &Fe8) -> Fe8 {
        let mut limbs = self.0;
        for i in 0..5 {
            limbs[i] = _mm512_mask_mov_epi64(limbs[i], mask, set.0[i]);
        }
        Fe8(limbs)
    }

    /// The mask of the lanes in which the number is zero modulo p.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn zeros(self) -> __mmask8 {
        let Words([w0, w1, w2, w3]) = self.to_words();
        let any = _mm512_or_si512(_mm512_or_si512(w0, w1), _mm512_or_si512(w2, w3));
        _mm512_testn_epi64_mask(any, any)
    }

    /// The mask of the lanes whose sign is set: RFC 8032 §5.1.2 has it in the least bit of the number below p.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn signs(self) -> __mmask8 {
        _mm512_test_epi64_mask(self.to_words().0[0], splat(1))
    }
}

/// Adds up what the ten columns of a product are modulo p. A column is below 2^56.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce(columns: [__m512i; 10]) -> [__m512i; 5] {
    let [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9] = columns;
    // The multiply-adds below take 52 bits of each upper column. What is above goes to the next.
    let c6 = _mm512_add_epi64(c6, _mm512_srli_epi64::<BITS>(c5));
    let c7 = _mm512_add_epi64(c7, _mm512_srli_epi64::<BITS>(c6));
    let c8 = _mm512_add_epi64(c8, _mm512_srli_epi64::<BITS>(c7));
    let c9 = _mm512_add_epi64(c9, _mm512_srli_epi64::<BITS>(c8));
    let fold = splat(FOLD);
    let c0 = _mm512_madd52lo_epu64(c0, c5, fold);
    let c1 = _mm512_madd52hi_epu64(c1, c5, fold);
    let c1 = _mm512_madd52lo_epu64(c1, c6, fold);
    let c2 = _mm512_madd52hi_epu64(c2, c6, fold);
    let c2 = _mm512_madd52lo_epu64(c2, c7, fold);
    let c3 = _mm512_madd52hi_epu64(c3, c7, fold);
    let c3 = _mm512_madd52lo_epu64(c3, c8, fold);
    let c4 = _mm512_madd52hi_epu64(c4, c8, fold);
    let c4 = _mm512_madd52lo_epu64(c4, c9, fold);
    let top = _mm512_madd52hi_epu64(_mm512_setzero_si512(), c9, fold);
    let c0 = _mm512_madd52lo_epu64(c0, top, fold);
    fold_top([c0, c1, c2, c3, c4])
}

/// Makes limbs below 2^58 tight: what is above 2^255 comes back times 19.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn fold_top([l0, l1, l2, l3, l4]: [__m512i; 5]) -> [__m512i; 5] {
    let l0 = _mm512_madd52lo_epu64(l0, _mm512_srli_epi64::<TOP>(l4), splat(19));
    let l4 = _mm512_and_si512(l4, splat((1 << TOP) - 1));
    carried([l0, l1, l2, l3, l4])
}

/// Carries from the lowest limb to the fifth, which keeps what it gets.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carried([l0, l1, l2, l3, l4]: [__m512i; 5]) -> [__m512i; 5] {
    let mask = splat((1 << BITS) - 1);
    let l1 = _mm512_add_epi64(l1, _mm512_srli_epi64::<BITS>(l0));
    let l2 = _mm512_add_epi64(l2, _mm512_srli_epi64::<BITS>(l1));
    let l3 = _mm512_add_epi64(l3, _mm512_srli_epi64::<BITS>(l2));
    let l4 = _mm512_add_epi64(l4, _mm512_srli_epi64::<BITS>(l3));
    [
        _mm512_and_si512(l0, mask),
        _mm512_and_si512(l1, mask),
        _mm512_and_si512(l2, mask),
        _mm512_and_si512(l3, mask),
        l4,
    ]
}
