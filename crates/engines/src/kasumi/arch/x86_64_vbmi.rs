//! KASUMI with both S-boxes in AVX-512 registers, in constant time and for low latency.
//!
//! A byte permute over two registers (VPERMI2B) looks up one of 128 entries, and GF2P8AFFINEQB computes
//! the affine maps beside it: the [`stage`](super::stage)s of FI.
//!
//! # Layout
//! Two FI run side by side. In a *split* vector byte `j` of the low half is the low byte of lane `j`'s
//! word, and byte `j` of the high half is its high byte, so each half can have its own affine map. FL
//! rotates words and works on *whole* vectors, whose first lane is a 16-bit word.
//!
//! Ref. TS 35.202 §4.
//!
//! # Safety
//! [`REQUIRES`] names the features of every function here; the kernel's `Bound` is the witness.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::hint::black_box;

use millstream_cpu::FeatureSet;

use super::super::Ops;
use super::super::cipher::{Keystream, Sums};
use super::super::schedule::{self, Schedule, WIDE};
use super::stage::{FIRST, SECOND, Stage};
use crate::InOut;

pub(in super::super) const REQUIRES: FeatureSet =
    FeatureSet::parse("avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni");

/// The masks of a split vector's low and high bytes.
#[derive(Clone, Copy)]
struct Masks {
    low: __mmask64,
    high: __mmask64,
}

/// The compiler must not know the masks: it would put a blend after a permute in their place.
fn masks() -> Masks {
    Masks { low: black_box(0x00ff), high: black_box(0xff00) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn halves(x: [u64; 2]) -> __m128i {
    _mm_set_epi64x(x[1] as i64, x[0] as i64)
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn registers(table: &'static [u8; 128]) -> [__m512i; 2] {
    // SAFETY: both halves of a table of 128 bytes.
    unsafe { [_mm512_loadu_si512(table.as_ptr().cast()), _mm512_loadu_si512(table[64..].as_ptr().cast())] }
}

/// Looks up 128 entries by the low seven bits of each byte.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn look_up(table: &'static [u8; 128], index: __m128i, keep: __mmask64) -> __m128i {
    let index = _mm512_castsi128_si512(index);
    let table = registers(table);
    _mm512_castsi512_si128(_mm512_maskz_permutex2var_epi8(keep, table[0], index, table[1]))
}

const XOR3: i32 = 0x96;

#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn xor3(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
    _mm_ternarylogic_epi32::<XOR3>(a, b, c)
}

/// Computes one stage of FI. Both halves of `t` have the bytes that hold seven bits of S9's input under
/// `u`, and both halves of `s` those with S7's input under `v`. `key` is added to the result.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn substitute(stage: &'static Stage, masks: Masks, t: __m128i, s: __m128i, key: __m128i) -> __m128i {
    // (a + b)·c and a + b·c, as truth tables over (a, b, c).
    const ADD_AND: i32 = (0xf0 ^ 0xcc) & 0xaa;
    const AND_ADD: i32 = 0xf0 ^ 0xcc & 0xaa;
    let zero = _mm_setzero_si128();
    let u = _mm_cmpgt_epi8(zero, t);
    let v = _mm_cmpgt_epi8(zero, s);
    let by_u = _mm_gf2p8affine_epi64_epi8::<0>(t, halves(stage.u));
    let by_v = _mm_gf2p8affine_epi64_epi8::<0>(t, halves(stage.v));
    let by_v = _mm_ternarylogic_epi32::<ADD_AND>(by_v, halves(stage.v_constant), v);
    let changes = _mm_ternarylogic_epi32::<AND_ADD>(by_v, by_u, u);
    let changes = _mm_xor_si128(changes, key);
    // The low byte gets the other half as it is, and the high byte the difference that S7 makes.
    let index = _mm512_castsi128_si512(s);
    let [low, high] = registers(&stage.seven_high);
    let seven = _mm512_mask2_permutex2var_epi8(low, index, masks.high, high);
    let nine_low = look_up(&stage.nine_low, t, masks.low);
    let nine_high = look_up(&stage.nine_high, t, masks.high);
    _mm_xor_si128(xor3(nine_low, nine_high, _mm512_castsi512_si128(seven)), changes)
}

/// Shuffles by constant bytes; 0x80 gives zero.
macro_rules! shuffle {
    ($x:expr, $pattern:expr) => {
        _mm_shuffle_epi8($x, halves($pattern))
    };
}

// Only lanes 0 and 1 of a split vector and lane 0 of a whole one count. Past them the patterns are in
// disorder, because the compiler takes an orderly one apart into two or three shuffles.
/// Takes one lane's word of a split vector into lanes 0 and 1.
const LANE_0: [u64; 2] = [0x0705_0306_0204_0000, 0x0a0d_0f0b_0e0c_0808];
const LANE_1: [u64; 2] = [0x0705_0306_0204_0101, 0x0a0d_0f0b_0e0c_0909];
/// Takes lane 1's word of a split vector to its place, and nothing to lane 0.
const LANE_1_IN_1: [u64; 2] = [0x8080_8080_8080_0180, 0x8080_8080_8080_0980];
/// Turns a split vector into a whole one.
const WHOLE_0: [u64; 2] = [0x0705_0306_0204_0800, 0x0a0d_0f0b_0e0c_0901];
const WHOLE_1: [u64; 2] = [0x0705_0306_0204_0901, 0x0a0d_0f0b_0e0c_0800];
/// Turns a whole vector into a split one: into lanes 0 and 1, or one of them.
const SPLIT: [u64; 2] = [0x0705_0306_0204_0000, 0x0a0d_0f0b_0e0c_0101];
const SPLIT_0: [u64; 2] = [0x8080_8080_8080_8000, 0x8080_8080_8080_8001];
const SPLIT_1: [u64; 2] = [0x8080_8080_8080_0080, 0x8080_8080_8080_0180];

/// Copy a split vector's low bytes into both halves, and its high bytes into both halves.
const LOW_BYTES: [u64; 2] = [0x0100_0100_0100_0100; 2];
const HIGH_BYTES: [u64; 2] = [0x0908_0908_0908_0908; 2];

/// Computes FI on the two lanes of a split vector.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn fi(masks: Masks, x: __m128i, ki: __m128i) -> __m128i {
    let x = substitute(&FIRST, masks, shuffle!(x, HIGH_BYTES), shuffle!(x, LOW_BYTES), ki);
    substitute(&SECOND, masks, shuffle!(x, LOW_BYTES), shuffle!(x, HIGH_BYTES), _mm_setzero_si128())
}

/// Computes FL on whole vectors.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn fl(kl: [__m128i; 2], [l, r]: [__m128i; 2]) -> [__m128i; 2] {
    // (a + b) | c, as a truth table.
    const XOR_OR: i32 = (0xf0 ^ 0xcc) | 0xaa;
    let x = _mm_and_si128(l, kl[0]);
    let x = _mm_shldi_epi16::<1>(x, x);
    let y = _mm_ternarylogic_epi32::<XOR_OR>(r, x, kl[1]);
    let y = _mm_shldi_epi16::<1>(y, y);
    [_mm_xor_si128(l, y), _mm_xor_si128(r, x)]
}

/// The halves of a block: the left as whole vectors, the right as split ones.
struct State {
    left: [__m128i; 2],
    right: [__m128i; 2],
}

/// Does the same as `two_rounds` of the portable code, with two FI in each step.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn two_rounds(masks: Masks, keys: &[[u8; 16]; WIDE], s: State) -> State {
    let key = |i: usize| {
        // SAFETY: sixteen bytes of the schedule.
        unsafe { _mm_loadu_si128(keys[i].as_ptr().cast()) }
    };
    let [a, b] = fl([key(0), key(1)], s.left);
    let b_split = shuffle!(b, SPLIT);

    let x = xor3(shuffle!(a, SPLIT_0), shuffle!(b, SPLIT_1), key(2));
    let f = fi(masks, x, key(3));

    // Lane 0: p + KO of the odd round; lane 1: right + q + KO of the even round.
    let p = _mm_xor_si128(shuffle!(f, LANE_0), b_split);
    let known = xor3(b_split, _mm_maskz_mov_epi8(0x0202, s.right[0]), key(4));
    let x = xor3(shuffle!(f, LANE_0), shuffle!(f, LANE_1_IN_1), known);
    let g = fi(masks, x, key(5));

    let q = _mm_xor_si128(shuffle!(f, LANE_1), p);
    let a = _mm_xor_si128(s.right[0], q);
    let known = _mm_xor_si128(s.right[1], q);
    let b = _mm_xor_si128(shuffle!(g, LANE_0), known);
    let x = xor3(shuffle!(g, LANE_0), shuffle!(g, LANE_1_IN_1), _mm_xor_si128(known, key(6)));
    let h = fi(masks, x, key(7));

    let p = _mm_xor_si128(shuffle!(g, WHOLE_1), shuffle!(b, WHOLE_0));
    let q = _mm_xor_si128(shuffle!(h, WHOLE_0), p);
    let r = _mm_xor_si128(shuffle!(h, WHOLE_1), q);
    let [u, v] = fl([key(8), key(9)], [q, r]);
    State { left: [_mm_xor_si128(s.left[0], u), _mm_xor_si128(s.left[1], v)], right: [a, b] }
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn kasumi(masks: Masks, schedule: &Schedule, x: u64) -> u64 {
    let whole = |shift: u32| _mm_set1_epi16((x >> shift) as i16);
    let mut state = State {
        left: [whole(48), whole(32)],
        right: [shuffle!(whole(16), SPLIT), shuffle!(whole(0), SPLIT)],
    };
    for keys in &schedule.wide {
        state = two_rounds(masks, keys, state);
    }
    let [c, d] = [shuffle!(state.right[0], WHOLE_0), shuffle!(state.right[1], WHOLE_0)];
    let low = _mm_unpacklo_epi16(d, c);
    let high = _mm_unpacklo_epi16(state.left[1], state.left[0]);
    _mm_cvtsi128_si64(_mm_unpacklo_epi32(low, high)) as u64
}

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn block(schedule: &Schedule, x: u64) -> u64 {
    kasumi(masks(), schedule, x)
}

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn f8(schedule: &Schedule, mut stream: Keystream, mut data: InOut<'_>) {
    let masks = masks();
    while !data.is_empty() {
        let pad = kasumi(masks, schedule, stream.input());
        stream.advance(pad);
        let len = data.len().min(8);
        let mut part = data.take(len);
        if len == 8 {
            part.store(0, (u64::from_be_bytes(part.load(0)) ^ pad).to_be_bytes());
        } else {
            part.xor(&pad.to_be_bytes()[..len]);
        }
    }
}

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
fn f9(schedule: &Schedule, mut sums: Sums, blocks: &[u8]) -> Sums {
    let masks = masks();
    for block in blocks.as_chunks::<8>().0 {
        sums.a = kasumi(masks, schedule, sums.a ^ u64::from_be_bytes(*block));
        sums.b ^= sums.a;
    }
    sums
}

/// Makes a split vector with one word in lane 0 and another in lane 1.
fn split([zero, one]: [u16; 2]) -> [u8; 16] {
    let mut vector = [0; 16];
    [vector[0], vector[8]] = zero.to_le_bytes();
    [vector[1], vector[9]] = one.to_le_bytes();
    vector
}

/// Does the same as [`split`], in the form between the two stages: bit 8 above the seven bits of the
/// high byte.
fn split_middle(words: [u16; 2]) -> [u8; 16] {
    split(words.map(|k| k & 0xff | (k >> 9) << 8 | (k >> 8 & 1) << 15))
}

/// Makes a whole vector of a word, which stands here in every lane.
fn whole(word: u16) -> [u8; 16] {
    let [low, high] = word.to_le_bytes();
    [low, high, low, high, low, high, low, high, low, high, low, high, low, high, low, high]
}

fn expand(key: &[u8; 16]) -> Schedule {
    let mut schedule = schedule::expand(key);
    for (keys, rounds) in schedule.wide.iter_mut().zip(schedule.rounds.as_chunks::<2>().0) {
        let [odd, even] = rounds;
        *keys = [
            whole(odd.kl[0]),
            whole(odd.kl[1]),
            split([odd.ko[0], odd.ko[1]]),
            split_middle([odd.ki[0], odd.ki[1]]),
            split([odd.ko[2], even.ko[0]]),
            split_middle([odd.ki[2], even.ki[0]]),
            split([even.ko[1], even.ko[2]]),
            split_middle([even.ki[1], even.ki[2]]),
            whole(even.kl[0]),
            whole(even.kl[1]),
        ];
    }
    schedule
}

pub(in super::super) const OPS: Ops = Ops { expand, block, f8, f9 };
