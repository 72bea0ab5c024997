//! Eight scalars times eight points.
//!
//! Every lane chooses from a table by a mask or by a permutation of registers, and every table is read whole, so no address
//! depends on a scalar.
//!
//! # Safety
//! The functions of a [`Field`] need AVX-512F and IFMA, which every function that calls them has.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::super::curve::Params;
use super::super::digits;
use super::element::{Field, LANES};
use super::field::load;
use super::point::{Affine, Jacobian, Projective};

/// The bits of a digit where the point is any.
const WINDOW: usize = 5;
/// The multiples of the point that such a digit chooses from.
const MULTIPLES: usize = 1 << (WINDOW - 1);
/// Eight scalars, limb by limb.
struct Scalars<const N: usize>([__m512i; N]);

/// The digits of one place of eight scalars.
#[derive(Clone, Copy)]
struct Digits {
    sizes: __m512i,
    negative: __mmask8,
    zero: __mmask8,
}

impl<const N: usize> Scalars<N> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn new(scalars: &[[u64; N]; LANES]) -> Self {
        let mut limbs = [[0; LANES]; N];
        for (lane, scalar) in scalars.iter().enumerate() {
            for (row, limb) in limbs.iter_mut().zip(scalar) {
                row[lane] = *limb;
            }
        }
        let mut vectors = [_mm512_setzero_si512(); N];
        for i in 0..N {
            vectors[i] = load(&limbs[i]);
        }
        limbs.zeroize();
        Scalars(vectors)
    }

    /// Returns the digits at `index`, as [`digits::digit`] does.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn digits_at(&self, window: usize, index: usize) -> Digits {
        let bits = if index == 0 { _mm512_slli_epi64::<1>(self.0[0]) } else { self.from(index * window - 1) };
        let ones = _mm512_set1_epi64((2 << window) - 1);
        let bits = _mm512_and_si512(bits, ones);
        let negative = _mm512_test_epi64_mask(bits, _mm512_set1_epi64(1 << window));
        let distance = _mm512_mask_sub_epi64(bits, negative, ones, bits);
        let sizes = _mm512_srli_epi64::<1>(_mm512_add_epi64(distance, _mm512_set1_epi64(1)));
        Digits { sizes, negative, zero: _mm512_testn_epi64_mask(sizes, sizes) }
    }

    /// Returns the 64 bits of each scalar from a bit on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn from(&self, bit: usize) -> __m512i {
        let (limb, shift) = (bit / 64, (bit % 64) as i64);
        let low = _mm512_srlv_epi64(self.0[limb], _mm512_set1_epi64(shift));
        // A shift by all bits leaves nothing.
        let high = self.0.get(limb + 1).map_or(_mm512_setzero_si512(), |next| *next);
        _mm512_or_si512(low, _mm512_sllv_epi64(high, _mm512_set1_epi64(64 - shift)))
    }
}

/// Returns each scalar times the base point, for scalars above zero and below the order.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn base<C: Params<N>, F: Field<Number = [u64; N]>, const N: usize>(
    scalars: &[[u64; N]; LANES],
) -> Projective<F> {
    if C::BASE.groups == 1 { base_at_once::<C, F, N>(scalars) } else { base_in_groups::<C, F, N>(scalars) }
}

/// Does this where each digit has a block of its own.
///
/// The sum of the multiples before one of them is less than that multiple, so they are never equal, nor is one the other's negative. Modulo
/// the order that holds as well: the highest digit is at most 16, and what is below it less than 2^252 in size, which leaves no scalar
/// below the order with which the two would differ by the order.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn base_at_once<C: Params<N>, F: Field<Number = [u64; N]>, const N: usize>(
    scalars: &[[u64; N]; LANES],
) -> Projective<F> {
    let scalars = Scalars::new(scalars);
    let mut sums = Jacobian::identity();
    // The lanes in which every digit was zero.
    let mut identity = 0xff;
    for index in 0..digits::count(C::BITS, C::BASE.window) {
        let digits = scalars.digits_at(C::BASE.window, index);
        let points = look_up_base::<C, F, N>(index, digits);
        let added = sums.add_affine(&points).select(&Jacobian::new(&points), identity);
        sums = added.select(&sums, digits.zero);
        identity &= digits.zero;
    }
    sums.projective()
}

/// Does this where blocks serve several digits, with doublings between them, by the complete formulas.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn base_in_groups<C: Params<N>, F: Field<Number = [u64; N]>, const N: usize>(
    scalars: &[[u64; N]; LANES],
) -> Projective<F> {
    let scalars = Scalars::new(scalars);
    let mut sums = Projective::identity();
    for group in (0..C::BASE.groups).rev() {
        if group + 1 < C::BASE.groups {
            sums = sums.double_times(C::BASE.window);
        }
        for (block, index) in
            (group..digits::count(C::BITS, C::BASE.window)).step_by(C::BASE.groups).enumerate()
        {
            let digits = scalars.digits_at(C::BASE.window, index);
            let points = look_up_base::<C, F, N>(block, digits);
            sums = sums.add_affine(&points).select(&sums, digits.zero);
        }
    }
    sums
}

/// Returns the sum of each point and any scalar times the base point.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn add_base<C: Params<N>, F: Field<Number = [u64; N]>, const N: usize>(
    points: &Projective<F>,
    scalars: &[[u64; N]; LANES],
) -> Projective<F> {
    if C::BASE.groups > 1 {
        return points.add(&base_in_groups::<C, F, N>(scalars));
    }
    let scalars = Scalars::new(scalars);
    let mut sums = *points;
    for index in 0..digits::count(C::BITS, C::BASE.window) {
        let digits = scalars.digits_at(C::BASE.window, index);
        sums = sums.add_affine(&look_up_base::<C, F, N>(index, digits)).select(&sums, digits.zero);
    }
    sums
}

/// Returns a point of a block for each lane; any, if the digit is zero.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn look_up_base<C: Params<N>, F: Field<Number = [u64; N]>, const N: usize>(
    block: usize,
    digits: Digits,
) -> Affine<F> {
    // A row has a limb of all points: two vectors where the digits have five bits, and four where they have six.
    let vectors = const { (1 << (C::BASE.window - 1)) / LANES };
    const { assert!(matches!(C::BASE.window, 5 | 6)) };
    let index = _mm512_sub_epi64(digits.sizes, _mm512_set1_epi64(1));
    let upper = _mm512_test_epi64_mask(index, _mm512_set1_epi64(16));
    let words = C::BASE.bytes.as_chunks::<64>().0;
    let words = &words[2 * N * vectors * block..][..2 * N * vectors];
    let mut limbs = [[_mm512_setzero_si512(); N]; 2];
    for (i, limb) in limbs.as_flattened_mut().iter_mut().enumerate() {
        let row = &words[vectors * i..][..vectors];
        *limb = _mm512_permutex2var_epi64(load_bytes(&row[0]), index, load_bytes(&row[1]));
        if let [_, _, third, fourth] = row {
            let high = _mm512_permutex2var_epi64(load_bytes(third), index, load_bytes(fourth));
            *limb = _mm512_mask_mov_epi64(*limb, upper, high);
        }
    }
    // SAFETY: the features are this function's own.
    let mut points = unsafe { Affine { x: F::of_table(&limbs[0]), y: F::of_table(&limbs[1]) } };
    points.negate_if(digits.negative);
    points
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn load_bytes(bytes: &[u8; 64]) -> __m512i {
    load(
        &bytes
            .as_chunks::<8>()
            .0
            .first_chunk::<LANES>()
            .map_or([0; LANES], |words| words.map(u64::from_le_bytes)),
    )
}

/// Returns each scalar times a point.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn point<C: Params<N>, F: Field<Number = [u64; N]>, const N: usize>(
    scalars: &[[u64; N]; LANES],
    points: &Affine<F>,
) -> Projective<F> {
    let count = const { digits::count(C::BITS, WINDOW) };
    // SAFETY: the features are this function's own.
    let first = Projective { x: points.x, y: points.y, z: unsafe { F::one() } };
    let mut multiples = [first; MULTIPLES];
    for i in 1..MULTIPLES {
        multiples[i] = multiples[i - 1].add_affine(points);
    }
    let scalars = Scalars::new(scalars);
    let mut sums = look_up(&multiples, scalars.digits_at(WINDOW, count - 1));
    for index in (0..count - 1).rev() {
        sums = sums.double_times(WINDOW);
        sums = sums.add(&look_up(&multiples, scalars.digits_at(WINDOW, index)));
    }
    sums
}

/// Returns a digit times the point for each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn look_up<F: Field>(multiples: &[Projective<F>; MULTIPLES], digits: Digits) -> Projective<F> {
    let mut chosen = Projective::identity();
    for (i, multiple) in multiples.iter().enumerate() {
        let mask = _mm512_cmpeq_epi64_mask(digits.sizes, _mm512_set1_epi64(i as i64 + 1));
        chosen = chosen.select(multiple, mask);
    }
    // SAFETY: the features are this function's own.
    chosen.y = unsafe { chosen.y.select(&F::zero().minus(&chosen.y).fold(), digits.negative) };
    chosen
}
