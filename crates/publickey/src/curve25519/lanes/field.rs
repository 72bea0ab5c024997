//! Eight numbers modulo p = 2^255 - 19, in five limbs of 52 bits.
//!
//! The multiply-add of AVX-512 IFMA splits a product at 2^52. With limbs of just that size the upper half weighs as much as
//! the next column, and the lower 52 bits of an operand are taken without a mask.
//!
//! A product ([`Product8`]) is not carried, and neither is a sum of products. Both are carried once, where they become an
//! operand of the next multiplication ([`Factor8`]). The two types keep that apart.
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

/// Eight numbers of which no limb is carried. Each limb is below 12 times 2^52.
#[derive(Clone, Copy)]
pub(crate) struct Product8([__m512i; 5]);

/// Eight numbers to be multiplied. The lower four limbs are the lower 52 bits of their words: what is above has been carried
/// to the next. The fifth is below 2^47 + 2^11.
#[derive(Clone, Copy)]
pub(crate) struct Factor8([__m512i; 5]);

impl Product8 {
    /// Takes limbs below 12 times 2^52.
    #[cfg(test)]
    pub(super) fn new(limbs: [__m512i; 5]) -> Product8 {
        Product8(limbs)
    }

    /// The limbs.
    #[cfg(test)]
    pub(super) fn limbs(&self) -> [__m512i; 5] {
        self.0
    }

    /// A small number, the same in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn small(number: u32) -> Product8 {
        let zero = _mm512_setzero_si512();
        Product8([splat(u64::from(number)), zero, zero, zero, zero])
    }

    /// The numbers, carried.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn factor(self) -> Factor8 {
        carry(self.0)
    }

    /// The sums.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add(self, other: Product8) -> Factor8 {
        carry(sum(self.0, other.0))
    }

    /// The differences.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn sub(self, other: Product8) -> Factor8 {
        carry(sum(self.0, negative(other.0)))
    }

    /// Returns `self` - `b` - `c`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn sub_both(self, b: Product8, c: Product8) -> Factor8 {
        let mut limbs = sum(self.0, negative(b.0));
        for i in 0..5 {
            limbs[i] = _mm512_sub_epi64(limbs[i], c.0[i]);
        }
        carry(limbs)
    }

    /// Returns 2 `self` + `other`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn twice_plus(self, other: Product8) -> Factor8 {
        carry(sum(sum(self.0, self.0), other.0))
    }

    /// Returns 2 `self` - `other`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn twice_less(self, other: Product8) -> Factor8 {
        carry(sum(sum(self.0, self.0), negative(other.0)))
    }

    /// Returns 2 `self` + `b` - `c`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn twice_plus_less(self, b: Product8, c: Product8) -> Factor8 {
        carry(sum(sum(sum(self.0, self.0), b.0), negative(c.0)))
    }

    /// Returns `self` + `number` `other`, for a number below 2^17.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add_times_small(self, other: Factor8, number: u32) -> Factor8 {
        let number = splat(u64::from(number));
        let mut limbs = self.0;
        for i in 0..5 {
            limbs[i] = _mm512_madd52lo_epu64(limbs[i], other.0[i], number);
        }
        for i in 0..4 {
            limbs[i + 1] = _mm512_madd52hi_epu64(limbs[i + 1], other.0[i], number);
        }
        let top = _mm512_madd52hi_epu64(_mm512_setzero_si512(), other.0[4], number);
        limbs[0] = _mm512_madd52lo_epu64(limbs[0], top, splat(FOLD));
        carry(limbs)
    }

    /// Returns `set` in the lanes of the mask, and `self` in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn select(self, mask: __mmask8, set: Product8) -> Product8 {
        Product8(select(self.0, mask, set.0))
    }
}

impl Factor8 {
    /// Takes limbs that were those of factors.
    #[inline(always)]
    pub(crate) fn new(limbs: [__m512i; 5]) -> Factor8 {
        Factor8(limbs)
    }

    /// The limbs, to be stored.
    #[inline(always)]
    pub(crate) fn limbs(&self) -> &[__m512i; 5] {
        &self.0
    }

    /// The same number in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn all(number: &Fe) -> Factor8 {
        Factor8::from_words(&Words::all(&number.to_words()))
    }

    /// Takes 255 bits in four words. The top bit is ignored.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn from_words(words: &Words) -> Factor8 {
        let Words([w0, w1, w2, w3]) = *words;
        let top = _mm512_and_si512(_mm512_srli_epi64::<16>(w3), splat((1 << TOP) - 1));
        // The bits above 52 of a limb are part of the next here, too.
        Factor8([
            w0,
            _mm512_or_si512(_mm512_srli_epi64::<52>(w0), _mm512_slli_epi64::<12>(w1)),
            _mm512_or_si512(_mm512_srli_epi64::<40>(w1), _mm512_slli_epi64::<24>(w2)),
            _mm512_or_si512(_mm512_srli_epi64::<28>(w2), _mm512_slli_epi64::<36>(w3)),
            top,
        ])
    }

    /// Returns the numbers below p in four words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn to_words(self) -> Words {
        // Carried once more, the numbers are below 2^255.
        let limbs = carry(self.number().0).number().0;
        // The quotient by p is 0 or 1 then: it is the carry out of the number + 19.
        let mut quotient = splat(19);
        for i in 0..4 {
            quotient = _mm512_srli_epi64::<BITS>(_mm512_add_epi64(limbs[i], quotient));
        }
        quotient = _mm512_srli_epi64::<TOP>(_mm512_add_epi64(limbs[4], quotient));
        let mut limbs = limbs;
        limbs[0] = _mm512_madd52lo_epu64(limbs[0], quotient, splat(19));
        // Adding 19 and taking 2^255 off subtracts p.
        limbs[4] = _mm512_sub_epi64(limbs[4], _mm512_slli_epi64::<TOP>(quotient));
        let [l0, l1, l2, l3, l4] = ripple(limbs).number().0;
        Words([
            _mm512_or_si512(l0, _mm512_slli_epi64::<52>(l1)),
            _mm512_or_si512(_mm512_srli_epi64::<12>(l1), _mm512_slli_epi64::<40>(l2)),
            _mm512_or_si512(_mm512_srli_epi64::<24>(l2), _mm512_slli_epi64::<28>(l3)),
            _mm512_or_si512(_mm512_srli_epi64::<36>(l3), _mm512_slli_epi64::<16>(l4)),
        ])
    }

    /// The numbers with nothing above their limbs, to be added to others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn number(self) -> Product8 {
        let Factor8([l0, l1, l2, l3, l4]) = self;
        let mask = splat((1 << BITS) - 1);
        Product8([
            _mm512_and_si512(l0, mask),
            _mm512_and_si512(l1, mask),
            _mm512_and_si512(l2, mask),
            _mm512_and_si512(l3, mask),
            l4,
        ])
    }

    /// The products.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn mul(self, other: Factor8) -> Product8 {
        let (a, b) = (self.0, other.0);
        let mut columns = [_mm512_setzero_si512(); 10];
        for i in 0..5 {
            for j in 0..5 {
                columns[i + j] = _mm512_madd52lo_epu64(columns[i + j], a[i], b[j]);
                columns[i + j + 1] = _mm512_madd52hi_epu64(columns[i + j + 1], a[i], b[j]);
            }
        }
        fold(columns)
    }

    /// The squares.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn square(self) -> Product8 {
        let a = self.0;
        let mut columns = [_mm512_setzero_si512(); 10];
        for i in 0..5 {
            for j in i + 1..5 {
                columns[i + j] = _mm512_madd52lo_epu64(columns[i + j], a[i], a[j]);
                columns[i + j + 1] = _mm512_madd52hi_epu64(columns[i + j + 1], a[i], a[j]);
            }
        }
        // A product of two different limbs counts twice.
        for i in 1..9 {
            columns[i] = _mm512_add_epi64(columns[i], columns[i]);
        }
        for i in 0..5 {
            columns[2 * i] = _mm512_madd52lo_epu64(columns[2 * i], a[i], a[i]);
            columns[2 * i + 1] = _mm512_madd52hi_epu64(columns[2 * i + 1], a[i], a[i]);
        }
        fold(columns)
    }

    /// Squares `times` times.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn square_times(self, times: u32) -> Factor8 {
        let mut square = self;
        for _ in 0..times {
            square = square.square().factor();
        }
        square
    }

    /// The inverses of numbers of which none is zero.
    ///
    /// One inversion serves all lanes: each gets the inverse of the product of all eight, times the product of the other
    /// seven (Montgomery's trick, as a tree).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn invert(self) -> Factor8 {
        let (mut neighbour, mut pair, mut four) = (self, self, self);
        for i in 0..5 {
            neighbour.0[i] = _mm512_permutex_epi64::<0b10_11_00_01>(self.0[i]);
        }
        let pairs = self.mul(neighbour).factor();
        for i in 0..5 {
            pair.0[i] = _mm512_permutex_epi64::<0b01_00_11_10>(pairs.0[i]);
        }
        let fours = pairs.mul(pair).factor();
        for i in 0..5 {
            four.0[i] = _mm512_shuffle_i64x2::<0b01_00_11_10>(fours.0[i], fours.0[i]);
        }
        let others = neighbour.mul(pair).factor().mul(four).factor();
        let all = fours.mul(four).factor().to_words().first();
        Factor8::all(&Fe::from_words(all).invert()).mul(others).factor()
    }

    /// The power of (p - 5) / 8 = 2^252 - 3 (RFC 8032 §5.1.3, step 2).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn power_for_root(self) -> Factor8 {
        let z2 = self.square().factor();
        let z9 = z2.square_times(2).mul(self).factor();
        let z11 = z9.mul(z2).factor();
        // The exponents 2^5 - 1, 2^10 - 1, and so on.
        let ones5 = z11.square().factor().mul(z9).factor();
        let ones10 = ones5.square_times(5).mul(ones5).factor();
        let ones20 = ones10.square_times(10).mul(ones10).factor();
        let ones40 = ones20.square_times(20).mul(ones20).factor();
        let ones50 = ones40.square_times(10).mul(ones10).factor();
        let ones100 = ones50.square_times(50).mul(ones50).factor();
        let ones200 = ones100.square_times(100).mul(ones100).factor();
        let ones250 = ones200.square_times(50).mul(ones50).factor();
        ones250.square_times(2).mul(self).factor()
    }

    /// Returns `set` in the lanes of the mask, and `self` in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn select(self, mask: __mmask8, set: Factor8) -> Factor8 {
        Factor8(select(self.0, mask, set.0))
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

/// Adds the upper five columns of a product to the lower five.
///
/// A column has at most nine halves of products, and gets two more here, so that it stays below 12 times 2^52. The last has a
/// single upper half, of two fifth limbs: it is below 2^42 + 2^8, and 608 times that fits in the lower half of its multiply-add.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn fold(columns: [__m512i; 10]) -> Product8 {
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
    Product8([c0, c1, c2, c3, c4])
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sum(a: [__m512i; 5], b: [__m512i; 5]) -> [__m512i; 5] {
    let mut limbs = a;
    for i in 0..5 {
        limbs[i] = _mm512_add_epi64(a[i], b[i]);
    }
    limbs
}

/// Returns 1024 p - a. Its limbs are above 12 times 2^52, so that another number can be subtracted.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn negative(a: [__m512i; 5]) -> [__m512i; 5] {
    let (low, high, top) = (splat((1 << 60) - (19 << 10)), splat((1 << 60) - 256), splat((1 << 57) - 256));
    let multiple = [low, high, high, high, top];
    let mut limbs = a;
    for i in 0..5 {
        limbs[i] = _mm512_sub_epi64(multiple[i], a[i]);
    }
    limbs
}

/// Carries limbs below 2^62. What is above 2^255 comes back times 19.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carry([l0, l1, l2, l3, l4]: [__m512i; 5]) -> Factor8 {
    let l0 = _mm512_madd52lo_epu64(l0, _mm512_srli_epi64::<TOP>(l4), splat(19));
    ripple([l0, l1, l2, l3, _mm512_and_si512(l4, splat((1 << TOP) - 1))])
}

/// Carries from the lowest limb to the fifth, which keeps what it gets.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn ripple([l0, l1, l2, l3, l4]: [__m512i; 5]) -> Factor8 {
    let l1 = _mm512_add_epi64(l1, _mm512_srli_epi64::<BITS>(l0));
    let l2 = _mm512_add_epi64(l2, _mm512_srli_epi64::<BITS>(l1));
    let l3 = _mm512_add_epi64(l3, _mm512_srli_epi64::<BITS>(l2));
    let l4 = _mm512_add_epi64(l4, _mm512_srli_epi64::<BITS>(l3));
    Factor8([l0, l1, l2, l3, l4])
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn select(clear: [__m512i; 5], mask: __mmask8, set: [__m512i; 5]) -> [__m512i; 5] {
    let mut limbs = clear;
    for i in 0..5 {
        limbs[i] = _mm512_mask_mov_epi64(limbs[i], mask, set[i]);
    }
    limbs
}
