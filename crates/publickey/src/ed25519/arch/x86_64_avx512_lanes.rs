//! Eight signatures, one in each lane.
//!
//! Ref. RFC 8032 §5.1.7; ZIP 215; Straus, "Addition chains of vectors" (1964), for the shared doublings.
//!
//! # Safety
//! A gather reads entries of a table at indices that the table's digits give: each block says why they are in it.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::KEY;
use super::super::check::{Affine, Check, Rules};
use super::super::lanes::LANES;
use crate::curve25519::lanes::base::{self, niels};
use crate::curve25519::lanes::edwards::{Cached8, Extended8};
use crate::curve25519::lanes::field::Factor8;
use crate::curve25519::lanes::words::{Digit, Words, array, splat, vector};
use crate::curve25519::scalar::{Scalar, WINDOW};
use crate::curve25519::tables::{MULTIPLES, MULTIPLES_LEN, WORDS};

/// The bits of a digit of S.
const BASE_WINDOW: usize = 8;
/// The digits of S and of k, which are below 2^253.
const BASE_DIGITS: usize = 256 / BASE_WINDOW;
const KEY_DIGITS: usize = 255 / WINDOW;
/// The multiples of a key: 1 to 16.
const ENTRIES: usize = 1 << (WINDOW - 1);
/// The vectors of an entry: four numbers of five limbs.
const VECTORS: usize = 20;

/// The multiples of each lane's key. A vector has the same limb of all lanes.
#[repr(align(64))]
struct Multiples8([[[u64; LANES]; VECTORS]; ENTRIES]);

/// The encodings of the scalars' multiples of the base point.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn multiply_base(scalars: &[Scalar; LANES]) -> [[u8; KEY]; LANES] {
    base::multiply(&Words::load_scalars(scalars.each_ref())).encode()
}

/// Decodes points as ZIP 215 does. Nothing in lanes where the curve has no such point.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn decode_vartime(encoded: &[[u8; KEY]; LANES]) -> [Option<Affine>; LANES] {
    let (points, on_curve) = Extended8::decode_vartime(encoded);
    let (x, y) = (points.x.factor().to_words().to_array(), points.y.factor().to_words().to_array());
    let mut affine = [None; LANES];
    for lane in 0..LANES {
        if on_curve >> lane & 1 == 1 {
            affine[lane] = Some(Affine { x: x[lane], y: y[lane] });
        }
    }
    affine
}

/// Returns, for each lane, true if the equation holds under the lane's rules.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn check_vartime(checks: &[Check; LANES]) -> [bool; LANES] {
    let (mut x, mut y, mut points) = ([[0; 4]; LANES], [[0; 4]; LANES], [[0; 32]; LANES]);
    let mut zip215 = 0;
    for (lane, check) in checks.iter().enumerate() {
        (x[lane], y[lane], points[lane]) = (check.key.x, check.key.y, check.point);
        zip215 |= u8::from(check.rules == Rules::Zip215) << lane;
    }
    let key =
        Extended8::from_affine(Factor8::from_words(&Words::load(&x)), Factor8::from_words(&Words::load(&y)));
    let sum = combine_vartime(checks, &key.negate());
    // Under strict rules the encoding that is computed is canonical, so R has to be, too.
    let mut holds = 0;
    if zip215 != 0xff {
        for (lane, encoded) in sum.encode().iter().enumerate() {
            holds |= u8::from(*encoded == points[lane]) << lane;
        }
    }
    if zip215 != 0 {
        let (point, on_curve) = Extended8::decode_vartime(&points);
        let difference = sum.add(&point.negate().cached());
        let eight = difference.double::<false>().double::<false>().double::<false>();
        holds = holds & !zip215 | eight.identities() & on_curve & zip215;
    }
    let mut verdicts = [false; LANES];
    for lane in 0..LANES {
        verdicts[lane] = holds >> lane & 1 == 1;
    }
    verdicts
}

/// Returns s B + k P.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn combine_vartime(checks: &[Check; LANES], point: &Extended8) -> Extended8 {
    let multiples = multiples(point);
    let (mut s, mut k) = ([&checks[0].s; LANES], [&checks[0].k; LANES]);
    for lane in 0..LANES {
        (s[lane], k[lane]) = (&checks[lane].s, &checks[lane].k);
    }
    let s = digits::<BASE_DIGITS>(&Words::load_scalars(s), BASE_WINDOW);
    let k = digits::<KEY_DIGITS>(&Words::load_scalars(k), WINDOW);
    let mut sum = Extended8::identity();
    for at in (0..KEY_DIGITS * WINDOW).rev() {
        let (base, key) = (at % BASE_WINDOW == 0, at % WINDOW == 0);
        sum = if base || key { sum.double::<true>() } else { sum.double::<false>() };
        if key {
            sum = sum.add(&select(&multiples, Digit::new(k[at / WINDOW])));
        }
        if base {
            sum = sum.add_niels(&select_base(Digit::new(s[at / BASE_WINDOW])));
        }
    }
    sum
}

/// The signed digits of eight scalars, least first.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn digits<const N: usize>(scalars: &Words, width: usize) -> [__m512i; N] {
    let mut carry = _mm512_setzero_si512();
    let mut digits = [carry; N];
    for i in 0..N {
        (digits[i], carry) = scalars.digit(i * width, width, carry);
    }
    digits
}

/// The multiples 1 to 16 of each lane's point.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiples(point: &Extended8) -> Multiples8 {
    let mut multiples = Multiples8([[[0; LANES]; VECTORS]; ENTRIES]);
    let addend = point.cached();
    let mut multiple = *point;
    for entry in 0..ENTRIES {
        if entry == 1 {
            multiple = point.double::<true>();
        } else if entry > 1 {
            multiple = multiple.add(&addend);
        }
        let cached = if entry == 0 { addend } else { multiple.cached() };
        let numbers = [cached.plus.limbs(), cached.minus.limbs(), cached.z2.limbs(), cached.t2d.limbs()];
        for number in 0..4 {
            for limb in 0..5 {
                multiples.0[entry][5 * number + limb] = array(numbers[number][limb]);
            }
        }
    }
    multiples
}

/// Chooses each lane's multiple of its own point. The digits are public.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn select(multiples: &Multiples8, digit: Digit) -> Cached8 {
    let lanes = vector(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let entry = _mm512_and_si512(digit.index, splat(ENTRIES as u64 - 1));
    // An entry has 160 words.
    let entry = _mm512_add_epi64(_mm512_slli_epi64::<7>(entry), _mm512_slli_epi64::<5>(entry));
    let index = _mm512_add_epi64(entry, lanes);
    // The neutral point is (1, 1, 2, 0).
    let (zero, one) = (_mm512_setzero_si512(), splat(1));
    let mut limbs = [zero; VECTORS];
    (limbs[0], limbs[5], limbs[10]) = (one, one, splat(2));
    let first = multiples.0.as_ptr().cast::<i64>();
    for i in 0..VECTORS {
        // SAFETY: the index is below 16 times 160 words, with the lane's place and the vector's within an entry.
        limbs[i] = unsafe {
            let first = first.add(i * LANES);
            _mm512_mask_i64gather_epi64::<8>(limbs[i], digit.not_zero, index, first)
        };
    }
    let [p0, p1, p2, p3, p4, m0, m1, m2, m3, m4, z0, z1, z2, z3, z4, t0, t1, t2, t3, t4] = limbs;
    let (plus, minus) = (Factor8::new([p0, p1, p2, p3, p4]), Factor8::new([m0, m1, m2, m3, m4]));
    Cached8 {
        plus: plus.select(digit.negative, minus),
        minus: minus.select(digit.negative, plus),
        z2: Factor8::new([z0, z1, z2, z3, z4]),
        t2d: Factor8::new([t0, t1, t2, t3, t4]),
        negative: digit.negative,
    }
}

/// Chooses each lane's multiple of the base point. The digits are public.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn select_base(digit: Digit) -> crate::curve25519::lanes::edwards::Niels8 {
    let entry = _mm512_and_si512(digit.index, splat(MULTIPLES_LEN as u64 - 1));
    // An entry has twelve words.
    let index = _mm512_add_epi64(_mm512_slli_epi64::<3>(entry), _mm512_slli_epi64::<2>(entry));
    let zero = _mm512_setzero_si512();
    let mut words = [zero; WORDS];
    let first = MULTIPLES.0.as_ptr().cast::<i64>();
    for i in 0..WORDS {
        // SAFETY: the index is below 128 times 12 words, with the word's place within an entry.
        words[i] = unsafe { _mm512_mask_i64gather_epi64::<8>(zero, digit.not_zero, index, first.add(i)) };
    }
    niels(words, digit)
}
