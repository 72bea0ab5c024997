//! SHA-1 with the processor's own rounds, four at a time.
//!
//! Ref. FIPS 180-4 §6.1.2; Intel SDM volume 2, SHA1RNDS4, SHA1NEXTE, SHA1MSG1, SHA1MSG2.
//!
//! # Safety
//! Loads and stores are of 16 bytes inside arrays: the first four words of the state, and a block.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::chain;
use crate::hash::side_by_side::{FoldPair, PairKernel};
use crate::sha1::{BLOCK, CompressOps, State};

pub(crate) const ROW: Row<CompressOps> = chain::row(
    "x86_64-shani",
    FeatureSet::parse("sha,sse4.1"),
    compress,
    "bound by the latency of sha1rnds4",
);

/// Twenty rounds of one function, in groups of four. `$e` holds A of four rounds before, from which
/// `sha1nexte` makes E.
macro_rules! twenty {
    ($function:literal $abcd:ident $e:ident $w:ident) => {
        for i in 5 * $function..5 * $function + 5 {
            // Words 4i..4i + 4 of the schedule take the place of those sixteen before.
            if i >= 4 {
                $w[i % 4] = $crate::sha1::arch::x86_64_shani::schedule(
                    $w[i % 4],
                    $w[(i + 1) % 4],
                    $w[(i + 2) % 4],
                    $w[(i + 3) % 4],
                );
            }
            let x = if i == 0 { _mm_add_epi32($e, $w[0]) } else { _mm_sha1nexte_epu32($e, $w[i % 4]) };
            $e = $abcd;
            $abcd = _mm_sha1rnds4_epu32::<$function>($abcd, x);
        }
    };
}

pub(crate) use twenty;

#[target_feature(enable = "sha,sse4.1")]
fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    let (mut abcd, mut e) = load_state(state);
    for block in blocks.iter().chain(last) {
        let before = (abcd, e);
        let mut w = load_block(block);
        twenty!(0 abcd e w);
        twenty!(1 abcd e w);
        twenty!(2 abcd e w);
        twenty!(3 abcd e w);
        e = _mm_sha1nexte_epu32(e, before.1);
        abcd = _mm_add_epi32(abcd, before.0);
    }
    store_state(state, abcd, e);
}

/// Two messages at once: while one waits for its rounds, the rounds of the other run.
pub(crate) struct Pair;

impl PairKernel<State, BLOCK> for Pair {
    const FOLD: FoldPair<State, BLOCK> = compress_pair;
}

/// The same as [`twenty`], for two messages in turn.
macro_rules! twenty_of_two {
    ($function:literal $abcd:ident $e:ident $w:ident $abcd_2:ident $e_2:ident $w_2:ident) => {
        for i in 5 * $function..5 * $function + 5 {
            if i >= 4 {
                $w[i % 4] = schedule($w[i % 4], $w[(i + 1) % 4], $w[(i + 2) % 4], $w[(i + 3) % 4]);
                $w_2[i % 4] = schedule($w_2[i % 4], $w_2[(i + 1) % 4], $w_2[(i + 2) % 4], $w_2[(i + 3) % 4]);
            }
            let x = if i == 0 { _mm_add_epi32($e, $w[0]) } else { _mm_sha1nexte_epu32($e, $w[i % 4]) };
            let y =
                if i == 0 { _mm_add_epi32($e_2, $w_2[0]) } else { _mm_sha1nexte_epu32($e_2, $w_2[i % 4]) };
            ($e, $e_2) = ($abcd, $abcd_2);
            $abcd = _mm_sha1rnds4_epu32::<$function>($abcd, x);
            $abcd_2 = _mm_sha1rnds4_epu32::<$function>($abcd_2, y);
        }
    };
}

#[target_feature(enable = "sha,sse4.1")]
fn compress_pair(states: &mut [State; 2], blocks: [&[[u8; BLOCK]]; 2], last: [&[[u8; BLOCK]]; 2]) {
    let (mut abcd, mut e) = load_state(&states[0]);
    let (mut abcd_2, mut e_2) = load_state(&states[1]);
    let ours = blocks[0].iter().chain(last[0]);
    for (block, block_2) in ours.zip(blocks[1].iter().chain(last[1])) {
        let before = (abcd, e, abcd_2, e_2);
        let mut w = load_block(block);
        let mut w_2 = load_block(block_2);
        twenty_of_two!(0 abcd e w abcd_2 e_2 w_2);
        twenty_of_two!(1 abcd e w abcd_2 e_2 w_2);
        twenty_of_two!(2 abcd e w abcd_2 e_2 w_2);
        twenty_of_two!(3 abcd e w abcd_2 e_2 w_2);
        e = _mm_sha1nexte_epu32(e, before.1);
        abcd = _mm_add_epi32(abcd, before.0);
        e_2 = _mm_sha1nexte_epu32(e_2, before.3);
        abcd_2 = _mm_add_epi32(abcd_2, before.2);
    }
    store_state(&mut states[0], abcd, e);
    store_state(&mut states[1], abcd_2, e_2);
}

/// Returns ABCD, with the first letter in the highest lane, and E in the highest lane.
#[target_feature(enable = "sse4.1")]
pub(crate) fn load_state(state: &State) -> (__m128i, __m128i) {
    // SAFETY: the first 16 of the state's 20 bytes.
    let abcd = _mm_shuffle_epi32::<0b00_01_10_11>(unsafe { _mm_loadu_si128(state.as_ptr().cast()) });
    (abcd, _mm_set_epi32(state[4] as i32, 0, 0, 0))
}

#[target_feature(enable = "sse4.1")]
pub(crate) fn store_state(state: &mut State, abcd: __m128i, e: __m128i) {
    let abcd = _mm_shuffle_epi32::<0b00_01_10_11>(abcd);
    // SAFETY: as in `load_state`.
    unsafe { _mm_storeu_si128(state.as_mut_ptr().cast(), abcd) };
    state[4] = _mm_extract_epi32::<3>(e) as u32;
}

/// FIPS 180-4 §6.1.2 step 1, four words.
#[target_feature(enable = "sha,sse4.1")]
pub(crate) fn schedule(w0: __m128i, w4: __m128i, w8: __m128i, w12: __m128i) -> __m128i {
    _mm_sha1msg2_epu32(_mm_xor_si128(_mm_sha1msg1_epu32(w0, w4), w8), w12)
}

/// Returns the words of a block, the first in the highest lane.
#[target_feature(enable = "sse4.1")]
pub(crate) fn load_block(block: &[u8; BLOCK]) -> [__m128i; 4] {
    let reverse = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
    let mut w = [reverse; 4];
    for i in 0..4 {
        // SAFETY: `16 * i + 16 <= 64`.
        w[i] = _mm_shuffle_epi8(unsafe { _mm_loadu_si128(block.as_ptr().add(16 * i).cast()) }, reverse);
    }
    w
}
