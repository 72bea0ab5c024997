//! The base point times eight secret scalars.
//!
//! The 16 multiples of a window fill two vectors for each word. A permutation of the two chooses one for each lane: all of
//! the table is read, from the same places whatever the digits are, and a permutation's time does not depend on its indices.

use std::arch::x86_64::*;

use super::super::tables::{COMB, ENTRIES, WORDS};
use super::edwards::{Extended8, Niels8};
use super::field::Factor8;
use super::words::{Digit, Digits, Words, splat, vector};

/// Returns s B for scalars below 2^255, in constant time.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn multiply(scalars: &Words) -> Extended8 {
    let mut digits = Digits::new(scalars);
    let mut sum = Extended8::identity();
    for words in &COMB.0 {
        sum = sum.add_niels(&select(words, digits.next()));
    }
    sum
}

/// The multiple of each lane's digit.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn select(words: &[[u64; ENTRIES]; WORDS], digit: Digit) -> Niels8 {
    let mut chosen = [_mm512_setzero_si512(); WORDS];
    for word in 0..WORDS {
        let (halves, _) = words[word].as_chunks::<8>();
        let (low, high) = (vector(&halves[0]), vector(&halves[1]));
        chosen[word] = _mm512_maskz_permutex2var_epi64(digit.not_zero, low, digit.index, high);
    }
    niels(chosen, digit)
}

/// Makes points of a table's words, which are zero in the lanes of a digit zero: there the neutral point is meant.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn niels(words: [__m512i; WORDS], digit: Digit) -> Niels8 {
    let mut chosen = words;
    // The neutral point is (1, 1, 0).
    chosen[0] = _mm512_mask_mov_epi64(splat(1), digit.not_zero, chosen[0]);
    chosen[4] = _mm512_mask_mov_epi64(splat(1), digit.not_zero, chosen[4]);
    // A negative exchanges the first two numbers.
    for word in 0..4 {
        let (plus, minus) = (chosen[word], chosen[word + 4]);
        chosen[word] = _mm512_mask_mov_epi64(plus, digit.negative, minus);
        chosen[word + 4] = _mm512_mask_mov_epi64(minus, digit.negative, plus);
    }
    let [p0, p1, p2, p3, m0, m1, m2, m3, t0, t1, t2, t3] = chosen;
    Niels8 {
        plus: Factor8::from_words(&Words([p0, p1, p2, p3])),
        minus: Factor8::from_words(&Words([m0, m1, m2, m3])),
        xy2d: Factor8::from_words(&Words([t0, t1, t2, t3])),
        negative: digit.negative,
    }
}
