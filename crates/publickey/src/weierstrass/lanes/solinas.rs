//! Eight elements of the fields of P-384 and P-521 side by side, in limbs of 48 bits.
//!
//! A product, and what was carried, has limbs below 2^48 + 2^14. Sums and differences have limbs of any size and sign below 2^58 until they are carried.
//!
//! # Safety
//! The functions of vectors need AVX-512F and IFMA, which every function here has.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::marker::PhantomData;

use zeroize::Zeroize;

use super::super::arch::x86_64_solinas::{
    BITS, Columns, MASK, Prime, carry, element, limb_of, limbs_of, power_of_two,
};
use super::super::curve::{P384_B, P521_B};
use super::super::primes::{P384Field, P521Field};
use super::element::{LANES, field};
use super::field::{load, store};

/// The numbers that lanes have of a field beside its prime.
pub(super) trait Solinas<const N: usize, const L: usize>: Prime<N, L> {
    /// The curve's coefficient b.
    const B: [i64; L];
    /// The number with which those of the base point's table are multiplied, nothing if that is one.
    const OF_TABLE: Option<[i64; L]>;
}

impl Solinas<6, 8> for P384Field {
    const B: [i64; 8] = limbs_of(&P384_B);
    // 1 / 2^384.
    const OF_TABLE: Option<[i64; 8]> = Some(limbs_of(&[
        0xffff_ffe1_0000_0006,
        0xffff_ffeb_ffff_ffd8,
        0xffff_fffb_ffff_fffd,
        0xffff_fffc_ffff_fffa,
        0x0000_000c_0000_0002,
        0x0000_0014_0000_0014,
    ]));
}

impl Solinas<9, 11> for P521Field {
    const B: [i64; 11] = limbs_of(&P521_B);
    const OF_TABLE: Option<[i64; 11]> = None;
}

/// Eight elements, one in each lane.
pub(super) struct Eights<M, const N: usize, const L: usize>([__m512i; L], PhantomData<M>);

impl<M, const N: usize, const L: usize> Clone for Eights<M, N, L> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, const N: usize, const L: usize> Copy for Eights<M, N, L> {}

field!([<M: Solinas<N, L>, const N: usize, const L: usize>] Eights<M, N, L>, [u64; N]);

impl<M: Solinas<N, L>, const N: usize, const L: usize> Eights<M, N, L> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn of(limbs: [__m512i; L]) -> Self {
        Eights(limbs, PhantomData)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn constant(limbs: &[i64; L]) -> Self {
        let mut constant = [_mm512_setzero_si512(); L];
        for i in 0..L {
            constant[i] = _mm512_set1_epi64(limbs[i]);
        }
        Self::of(constant)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn zero() -> Self {
        Self::of([_mm512_setzero_si512(); L])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn one() -> Self {
        Self::constant(const { &limbs_of(&power_of_two::<M, N>(0)) })
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn b() -> Self {
        Self::constant(const { &M::B })
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn new(numbers: &[[u64; N]; LANES]) -> Self {
        let mut rows = [[0; LANES]; L];
        for (i, row) in rows.iter_mut().enumerate() {
            for (limb, number) in row.iter_mut().zip(numbers) {
                *limb = limb_of(number, i) as u64;
            }
        }
        let mut elements = Self::zero();
        for i in 0..L {
            elements.0[i] = load(&rows[i]);
        }
        rows.zeroize();
        elements
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn of_table(words: &[__m512i]) -> Self {
        let mut elements = Self::zero();
        for i in 0..L {
            let (word, shift) = (i * BITS / 64, (i * BITS % 64) as i64);
            let mut limb = _mm512_srlv_epi64(words[word], _mm512_set1_epi64(shift));
            if word + 1 < N {
                // A shift by all bits leaves nothing.
                let above = _mm512_sllv_epi64(words[word + 1], _mm512_set1_epi64(64 - shift));
                limb = _mm512_or_si512(limb, above);
            }
            elements.0[i] = _mm512_and_si512(limb, _mm512_set1_epi64(MASK));
        }
        match const { &M::OF_TABLE } {
            Some(factor) => elements.mul(&Self::constant(factor)),
            None => elements,
        }
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn numbers(&self) -> [[u64; N]; LANES] {
        let mut rows = [[0; LANES]; L];
        for i in 0..L {
            rows[i] = store(self.0[i]);
        }
        let mut numbers = [[0; N]; LANES];
        for (lane, number) in numbers.iter_mut().enumerate() {
            let mut limbs = [0; L];
            for i in 0..L {
                limbs[i] = rows[i][lane];
            }
            *number = element::<M, N, L>(&limbs).number();
            limbs.zeroize();
        }
        rows.zeroize();
        numbers
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn carry(&self) -> Self {
        self.fold()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn fold(&self) -> Self {
        // SAFETY: see the head of this file.
        Self::of(unsafe { carry::<_, M, N, L>(self.0) })
    }

    /// Brings what was carried below 2^`bits`, plus a little, where `bits` are those of the prime, and compares it with zero and the prime.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn zero_mask(&self) -> __mmask8 {
        let size = const { bits(&M::MODULUS) };
        let top = (size - BITS * (L - 1)) as i64;
        let mask = _mm512_set1_epi64(MASK);
        let mut x = self.fold().0;
        for _ in 0..2 {
            for i in 0..L - 1 {
                x[i + 1] = _mm512_add_epi64(x[i + 1], _mm512_srli_epi64::<{ BITS as u32 }>(x[i]));
                x[i] = _mm512_and_si512(x[i], mask);
            }
            // The bits above count for as much as the low limbs of 2^bits modulo the prime.
            let above = _mm512_srlv_epi64(x[L - 1], _mm512_set1_epi64(top));
            x[L - 1] = _mm512_and_si512(x[L - 1], _mm512_set1_epi64((1 << top) - 1));
            let weight = const { limbs_of::<N, L>(&power_of_two::<M, N>(bits(&M::MODULUS))) };
            for i in 0..L {
                if weight[i] != 0 {
                    // `above` is one or two bits here, or the weight is one.
                    let product =
                        _mm512_madd52lo_epu64(_mm512_setzero_si512(), above, _mm512_set1_epi64(weight[i]));
                    x[i] = _mm512_add_epi64(x[i], product);
                }
            }
        }
        for i in 0..L - 1 {
            x[i + 1] = _mm512_add_epi64(x[i + 1], _mm512_srli_epi64::<{ BITS as u32 }>(x[i]));
            x[i] = _mm512_and_si512(x[i], mask);
        }
        let mut zero = 0;
        for number in [&[0; L], const { &limbs_of::<N, L>(&M::MODULUS) }] {
            let mut equal = 0xff;
            for i in 0..L {
                equal &= _mm512_cmpeq_epi64_mask(x[i], _mm512_set1_epi64(number[i]));
            }
            zero |= equal;
        }
        zero
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn mul(&self, other: &Self) -> Self {
        // SAFETY: see the head of this file.
        Self::of(unsafe { Columns::new(&self.0, &other.0).reduce::<M, N>() })
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn mul_add(&self, other: &Self, a: &Self, b: &Self) -> Self {
        // SAFETY: see the head of this file.
        unsafe {
            let first = Columns::new(&self.0, &other.0);
            Self::of(first.plus(&Columns::new(&a.0, &b.0)).reduce::<M, N>())
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn square(&self) -> Self {
        self.mul(self)
    }
}

/// Returns the bits of a number.
const fn bits<const N: usize>(number: &[u64; N]) -> usize {
    64 * N - number[N - 1].leading_zeros() as usize
}
