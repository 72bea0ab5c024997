//! Eight scalars times eight points.
//!
//! Every lane chooses from a table by a mask or by a permutation of registers, and every table is read whole, so no address
//! depends on a scalar.

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::super::curve::P256_TABLE;
use super::super::digits;
use super::field::{BITS, Fe, LANES, load};
use super::point::{Affine, Jacobian, Projective};

/// The bits of a digit where the point is any.
const WINDOW: usize = 5;
/// The multiples of the point that such a digit chooses from.
const MULTIPLES: usize = 1 << (WINDOW - 1);
/// The bits of a digit where the point is the base point.
const BASE_WINDOW: usize = P256_TABLE.window;
/// The points of a block of the base point's table.
const BASE_MULTIPLES: usize = 1 << (BASE_WINDOW - 1);
/// The digits of scalars.
const BASE_COUNT: usize = digits::count(256, BASE_WINDOW);
const COUNT: usize = digits::count(256, WINDOW);

/// Eight scalars, limb by limb.
struct Scalars([__m512i; 4]);

/// The digits of one place of eight scalars.
#[derive(Clone, Copy)]
struct Digits {
    sizes: __m512i,
    negative: __mmask8,
    zero: __mmask8,
}

impl Scalars {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn new(scalars: &[[u64; 4]; LANES]) -> Self {
        let mut limbs = [[0; LANES]; 4];
        for (lane, scalar) in scalars.iter().enumerate() {
            for (row, limb) in limbs.iter_mut().zip(scalar) {
                row[lane] = *limb;
            }
        }
        let vectors = [load(&limbs[0]), load(&limbs[1]), load(&limbs[2]), load(&limbs[3])];
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
///
/// The sum of the multiples before one of them is less than that multiple, so they are never equal, nor is one the other's negative. Modulo
/// the order that holds as well: the highest digit is at most 16, and what is below it less than 2^252 in size, which leaves no scalar
/// below the order with which the two would differ by the order.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn base(scalars: &[[u64; 4]; LANES]) -> Projective {
    let scalars = Scalars::new(scalars);
    let mut sums = Jacobian::identity();
    // The lanes in which every digit was zero.
    let mut identity = 0xff;
    for index in 0..BASE_COUNT {
        let digits = scalars.digits_at(BASE_WINDOW, index);
        let points = look_up_base(index, digits);
        let added = sums.add_affine(&points).select(&Jacobian::new(&points), identity);
        sums = added.select(&sums, digits.zero);
        identity &= digits.zero;
    }
    sums.projective()
}

/// Returns the sum of each point and any scalar times the base point.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn add_base(points: &Projective, scalars: &[[u64; 4]; LANES]) -> Projective {
    let scalars = Scalars::new(scalars);
    let mut sums = *points;
    for index in 0..BASE_COUNT {
        let digits = scalars.digits_at(BASE_WINDOW, index);
        sums = sums.add_affine(&look_up_base(index, digits)).select(&sums, digits.zero);
    }
    sums
}

/// Returns a point of a block for each lane; any, if the digit is zero.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn look_up_base(block: usize, digits: Digits) -> Affine {
    let index = _mm512_sub_epi64(digits.sizes, _mm512_set1_epi64(1));
    let upper = _mm512_test_epi64_mask(index, _mm512_set1_epi64(16));
    let words = P256_TABLE.bytes.as_chunks::<64>().0;
    let words = &words[8 * BASE_MULTIPLES / LANES * block..][..8 * BASE_MULTIPLES / LANES];
    let mut limbs = [_mm512_setzero_si512(); 8];
    for (limb, row) in limbs.iter_mut().zip(words.as_chunks::<4>().0) {
        let low = _mm512_permutex2var_epi64(load_bytes(&row[0]), index, load_bytes(&row[1]));
        let high = _mm512_permutex2var_epi64(load_bytes(&row[2]), index, load_bytes(&row[3]));
        *limb = _mm512_mask_mov_epi64(low, upper, high);
    }
    let [a, b, c, d, e, f, g, h] = limbs;
    let mut points = Affine { x: times_16([a, b, c, d]), y: times_16([e, f, g, h]) };
    points.negate_if(digits.negative);
    points
}

/// Makes elements of numbers of four 64-bit limbs that are in Montgomery form for 2^256: 16 times such a number is in
/// the form for 2^260.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn times_16([a, b, c, d]: [__m512i; 4]) -> Fe {
    let mask = _mm512_set1_epi64((1 << BITS) - 1);
    let limbs = [
        _mm512_and_si512(_mm512_slli_epi64::<4>(a), mask),
        _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64::<48>(a), _mm512_slli_epi64::<16>(b)), mask),
        _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64::<36>(b), _mm512_slli_epi64::<28>(c)), mask),
        _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64::<24>(c), _mm512_slli_epi64::<40>(d)), mask),
        _mm512_srli_epi64::<12>(d),
    ];
    Fe(limbs).fold()
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
pub(super) fn point(scalars: &[[u64; 4]; LANES], points: &Affine) -> Projective {
    let first = Projective { x: points.x, y: points.y, z: Fe::one() };
    let mut multiples = [first; MULTIPLES];
    for i in 1..MULTIPLES {
        multiples[i] = multiples[i - 1].add_affine(points);
    }
    let scalars = Scalars::new(scalars);
    let mut sums = look_up(&multiples, scalars.digits_at(WINDOW, COUNT - 1));
    for index in (0..COUNT - 1).rev() {
        sums = sums.double_times(WINDOW);
        sums = sums.add(&look_up(&multiples, scalars.digits_at(WINDOW, index)));
    }
    sums
}

/// Returns a digit times the point for each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn look_up(multiples: &[Projective; MULTIPLES], digits: Digits) -> Projective {
    let mut chosen = Projective::identity();
    for (i, multiple) in multiples.iter().enumerate() {
        let mask = _mm512_cmpeq_epi64_mask(digits.sizes, _mm512_set1_epi64(i as i64 + 1));
        chosen = chosen.select(multiple, mask);
    }
    chosen.y = chosen.y.select(&Fe::zero().minus(&chosen.y).fold(), digits.negative);
    chosen
}
