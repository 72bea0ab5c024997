//! SHA-256 with the processor's own rounds, two at a time.
//!
//! The state lies in two registers as ABEF and CDGH, as `sha256rnds2` takes it. The chain of these
//! instructions bounds the speed, and the schedule fits beside it.
//!
//! Ref. FIPS 180-4 §6.2.2; Intel SDM volume 2, SHA256RNDS2, SHA256MSG1, SHA256MSG2.
//!
//! # Safety
//! Loads and stores are of 16 bytes inside arrays: the state (32 bytes), a block (64), and `K` (256).
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{self, FoldPair, PairKernel, lanes_row};
use crate::hash::{HashJob, LaneBlocks, LaneStates, chain, fold};
use crate::hmac::HmacJob;
use crate::sha256::{BLOCK, CompressOps, FOLD_LANES, FoldOps, K, LanesOps, State};
use crate::{Crossover, Row};

pub(crate) const ROW: Row<CompressOps> = chain::row(
    "x86_64-shani",
    FeatureSet::parse("sha,sse4.1"),
    compress,
    "bound by the latency of sha256rnds2",
);

/// Rounds 4i to 4i + 3, on the words `$w`.
macro_rules! four_rounds {
    ($i:expr, $w:ident, $abef:ident $cdgh:ident) => {
        // SAFETY: `4 * i + 4 <= 64`.
        let k = unsafe { _mm_loadu_si128(K.as_ptr().add(4 * $i).cast()) };
        let wk = _mm_add_epi32($w, k);
        $cdgh = _mm_sha256rnds2_epu32($cdgh, $abef, wk);
        $abef = _mm_sha256rnds2_epu32($abef, $cdgh, _mm_shuffle_epi32::<0b00_00_11_10>(wk));
    };
}

pub(crate) use four_rounds;

#[target_feature(enable = "sha,sse4.1")]
fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    let (mut abef, mut cdgh) = load_state(state);
    for block in blocks.iter().chain(last) {
        let before = (abef, cdgh);
        let [mut w0, mut w1, mut w2, mut w3] = load_block(block);
        four_rounds!(0, w0, abef cdgh);
        four_rounds!(1, w1, abef cdgh);
        four_rounds!(2, w2, abef cdgh);
        four_rounds!(3, w3, abef cdgh);
        for i in [4, 8, 12] {
            w0 = schedule(w0, w1, w2, w3);
            four_rounds!(i, w0, abef cdgh);
            w1 = schedule(w1, w2, w3, w0);
            four_rounds!(i + 1, w1, abef cdgh);
            w2 = schedule(w2, w3, w0, w1);
            four_rounds!(i + 2, w2, abef cdgh);
            w3 = schedule(w3, w0, w1, w2);
            four_rounds!(i + 3, w3, abef cdgh);
        }
        abef = _mm_add_epi32(abef, before.0);
        cdgh = _mm_add_epi32(cdgh, before.1);
    }
    store_state(state, abef, cdgh);
}

pub(crate) const PAIRS_ROW: Row<LanesOps> = lanes_row!(
    "x86_64-shani-x2",
    "sha,sse4.1",
    [; Pair],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "two messages interleaved, as one waits for sha256rnds2"
);

/// Two messages at once: while one waits for its rounds, the rounds of the other run.
pub(crate) struct Pair;

impl PairKernel<State, BLOCK> for Pair {
    const FOLD: FoldPair<State, BLOCK> = compress_pair;
}

#[target_feature(enable = "sha,sse4.1")]
fn compress_pair(states: &mut [State; 2], blocks: [&[[u8; BLOCK]]; 2], last: [&[[u8; BLOCK]]; 2]) {
    let (mut abef, mut cdgh) = load_state(&states[0]);
    let (mut abef_2, mut cdgh_2) = load_state(&states[1]);
    let ours = blocks[0].iter().chain(last[0]);
    for (block, block_2) in ours.zip(blocks[1].iter().chain(last[1])) {
        let words = [load_block(block), load_block(block_2)];
        pair_rounds(words, &mut abef, &mut cdgh, &mut abef_2, &mut cdgh_2);
    }
    store_state(&mut states[0], abef, cdgh);
    store_state(&mut states[1], abef_2, cdgh_2);
}

/// Folds a block of each of two messages, given as words.
#[inline]
#[target_feature(enable = "sha,sse4.1")]
fn pair_rounds(
    words: [[__m128i; 4]; 2],
    abef: &mut __m128i,
    cdgh: &mut __m128i,
    abef_2: &mut __m128i,
    cdgh_2: &mut __m128i,
) {
    let before = (*abef, *cdgh, *abef_2, *cdgh_2);
    let (mut a, mut c, mut a_2, mut c_2) = before;
    let [[mut w0, mut w1, mut w2, mut w3], [mut x0, mut x1, mut x2, mut x3]] = words;
    four_rounds!(0, w0, a c);
    four_rounds!(0, x0, a_2 c_2);
    four_rounds!(1, w1, a c);
    four_rounds!(1, x1, a_2 c_2);
    four_rounds!(2, w2, a c);
    four_rounds!(2, x2, a_2 c_2);
    four_rounds!(3, w3, a c);
    four_rounds!(3, x3, a_2 c_2);
    for i in [4, 8, 12] {
        (w0, x0) = (schedule(w0, w1, w2, w3), schedule(x0, x1, x2, x3));
        four_rounds!(i, w0, a c);
        four_rounds!(i, x0, a_2 c_2);
        (w1, x1) = (schedule(w1, w2, w3, w0), schedule(x1, x2, x3, x0));
        four_rounds!(i + 1, w1, a c);
        four_rounds!(i + 1, x1, a_2 c_2);
        (w2, x2) = (schedule(w2, w3, w0, w1), schedule(x2, x3, x0, x1));
        four_rounds!(i + 2, w2, a c);
        four_rounds!(i + 2, x2, a_2 c_2);
        (w3, x3) = (schedule(w3, w0, w1, w2), schedule(x3, x0, x1, x2));
        four_rounds!(i + 3, w3, a c);
        four_rounds!(i + 3, x3, a_2 c_2);
    }
    *abef = _mm_add_epi32(a, before.0);
    *cdgh = _mm_add_epi32(c, before.1);
    *abef_2 = _mm_add_epi32(a_2, before.2);
    *cdgh_2 = _mm_add_epi32(c_2, before.3);
}

pub(crate) const FOLD_ROW: Row<FoldOps> = fold::row(
    "x86_64-shani-x2",
    FeatureSet::parse("sha,sse4.1"),
    fold_blocks,
    "two messages interleaved, as one waits for sha256rnds2",
);

#[target_feature(enable = "sha,sse4.1")]
fn fold_blocks(states: &mut LaneStates<u32, FOLD_LANES>, blocks: &LaneBlocks<u32, FOLD_LANES>, live: usize) {
    fold_pairs(states, blocks, 0, live);
}

/// Folds the blocks of the lanes from `first`, a multiple of four, to `end`. Four lanes are transposed at a time.
#[target_feature(enable = "sha,sse4.1")]
pub(crate) fn fold_pairs(
    states: &mut LaneStates<u32, FOLD_LANES>,
    blocks: &LaneBlocks<u32, FOLD_LANES>,
    first: usize,
    end: usize,
) {
    for at in (first..end).step_by(4) {
        let mut state = [[_mm_setzero_si128(); 4]; 2];
        let mut words = [[_mm_setzero_si128(); 4]; 4];
        for part in 0..2 {
            state[part] = transposed(rows(&states.words, part, at));
        }
        for part in 0..4 {
            let columns = transposed(rows(&blocks.words, part, at));
            for lane in 0..4 {
                words[lane][part] = columns[lane];
            }
        }
        for lane in (0..end.min(at + 4) - at).step_by(2) {
            let (mut abef, mut cdgh) = to_rounds(state[0][lane], state[1][lane]);
            let (mut abef_2, mut cdgh_2) = to_rounds(state[0][lane + 1], state[1][lane + 1]);
            pair_rounds([words[lane], words[lane + 1]], &mut abef, &mut cdgh, &mut abef_2, &mut cdgh_2);
            (state[0][lane], state[1][lane]) = from_rounds(abef, cdgh);
            (state[0][lane + 1], state[1][lane + 1]) = from_rounds(abef_2, cdgh_2);
        }
        for part in 0..2 {
            let columns = transposed(state[part]);
            for i in 0..4 {
                if let Some(words) = states.words[4 * part + i][at..].first_chunk_mut::<4>() {
                    // SAFETY: the words are 16 bytes.
                    unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), columns[i]) };
                }
            }
        }
    }
}

/// Loads the words `4 * part` to `4 * part + 3` of four lanes.
#[inline]
#[target_feature(enable = "sse4.1")]
fn rows<const COUNT: usize>(words: &[[u32; FOLD_LANES]; COUNT], part: usize, at: usize) -> [__m128i; 4] {
    let mut rows = [_mm_setzero_si128(); 4];
    for i in 0..4 {
        if let Some(words) = words[4 * part + i][at..].first_chunk::<4>() {
            // SAFETY: the words are 16 bytes.
            rows[i] = unsafe { _mm_loadu_si128(words.as_ptr().cast()) };
        }
    }
    rows
}

/// Transposes four rows of four words.
#[inline]
#[target_feature(enable = "sse4.1")]
fn transposed(r: [__m128i; 4]) -> [__m128i; 4] {
    let low = [_mm_unpacklo_epi32(r[0], r[1]), _mm_unpacklo_epi32(r[2], r[3])];
    let high = [_mm_unpackhi_epi32(r[0], r[1]), _mm_unpackhi_epi32(r[2], r[3])];
    [
        _mm_unpacklo_epi64(low[0], low[1]),
        _mm_unpackhi_epi64(low[0], low[1]),
        _mm_unpacklo_epi64(high[0], high[1]),
        _mm_unpackhi_epi64(high[0], high[1]),
    ]
}

/// Returns the four words that follow these sixteen: FIPS 180-4 §6.2.2 step 1.
#[target_feature(enable = "sha,sse4.1")]
pub(crate) fn schedule(w0: __m128i, w4: __m128i, w8: __m128i, w12: __m128i) -> __m128i {
    let w9 = _mm_alignr_epi8::<4>(w12, w8);
    _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), w9), w12)
}

#[target_feature(enable = "sse4.1")]
pub(crate) fn load_block(block: &[u8; BLOCK]) -> [__m128i; 4] {
    let swap = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
    let mut w = [swap; 4];
    for i in 0..4 {
        // SAFETY: `16 * i + 16 <= 64`.
        w[i] = _mm_shuffle_epi8(unsafe { _mm_loadu_si128(block.as_ptr().add(16 * i).cast()) }, swap);
    }
    w
}

/// Returns ABEF and CDGH, with the first letter in the highest lane.
#[target_feature(enable = "sse4.1")]
pub(crate) fn load_state(state: &State) -> (__m128i, __m128i) {
    let words = state.as_ptr().cast::<__m128i>();
    // SAFETY: the state is 32 bytes.
    let (abcd, efgh) = unsafe { (_mm_loadu_si128(words), _mm_loadu_si128(words.add(1))) };
    to_rounds(abcd, efgh)
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn to_rounds(abcd: __m128i, efgh: __m128i) -> (__m128i, __m128i) {
    let cdab = _mm_shuffle_epi32::<0b10_11_00_01>(abcd);
    let efgh = _mm_shuffle_epi32::<0b00_01_10_11>(efgh);
    (_mm_alignr_epi8::<8>(cdab, efgh), _mm_blend_epi16::<0xf0>(efgh, cdab))
}

#[target_feature(enable = "sse4.1")]
pub(crate) fn store_state(state: &mut State, abef: __m128i, cdgh: __m128i) {
    let (abcd, efgh) = from_rounds(abef, cdgh);
    let words = state.as_mut_ptr().cast::<__m128i>();
    // SAFETY: the state is 32 bytes.
    unsafe {
        _mm_storeu_si128(words, abcd);
        _mm_storeu_si128(words.add(1), efgh);
    }
}

/// Returns the words in their order.
#[inline]
#[target_feature(enable = "sse4.1")]
fn from_rounds(abef: __m128i, cdgh: __m128i) -> (__m128i, __m128i) {
    let feba = _mm_shuffle_epi32::<0b00_01_10_11>(abef);
    let dchg = _mm_shuffle_epi32::<0b10_11_00_01>(cdgh);
    (_mm_blend_epi16::<0xf0>(feba, dchg), _mm_alignr_epi8::<8>(dchg, feba))
}
