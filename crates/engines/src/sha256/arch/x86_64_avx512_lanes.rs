//! SHA-256 of many messages with AVX-512.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::Crossover;
use crate::Row;
use crate::hash::arch::x86_64_avx512::{W32x8, W32x16};
use crate::hash::fold::{self, fold_lanes};
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{self, lane_kernel, lanes_row};
use crate::hash::words::Words;
use crate::hash::{HashJob, LaneBlocks, LaneStates};
use crate::hmac::HmacJob;
use crate::sha256::arch::x86_64_shani::{self, Pair};
use crate::sha256::lanes::fold;
use crate::sha256::{BLOCK, FOLD_LANES, FoldOps, LanesOps, State};

const WORDS: usize = 8;

lane_kernel!(X16: W32x16, 16 lanes, "avx512f,avx512bw,avx512vl,bmi2", little endian false, fewest 14, live 9);
lane_kernel!(X8: W32x8, 8 lanes, "avx512f,avx512bw,avx512vl,bmi2", little endian false, fewest 7, live 5);

pub(crate) const SHANI_ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx512-shani-x16",
    "avx512f,avx512bw,avx512vl,bmi2,sha",
    [X16 16, X8 8; Pair],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "lanes for many messages, the rounds of SHA-NI in pairs for few"
);

pub(crate) const ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx512-x16",
    "avx512f,avx512bw,avx512vl,bmi2",
    [X16 16, X8 8],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "sixteen lanes, eight for fewer messages"
);

pub(crate) const SHANI_FOLD_ROW: Row<FoldOps> = fold::row(
    "x86_64-avx512-shani-x16",
    millstream_cpu::FeatureSet::parse("avx512f,avx512bw,avx512vl,bmi2,sha"),
    fold_blocks_shani,
    "sixteen messages in a pass, eight for fewer, the rounds of SHA-NI in pairs for few",
);

pub(crate) const FOLD_ROW: Row<FoldOps> = fold::row(
    "x86_64-avx512-x16",
    millstream_cpu::FeatureSet::parse("avx512f,avx512bw,avx512vl,bmi2"),
    fold_blocks,
    "sixteen messages in a pass, eight for fewer",
);

fold_lanes!(fold_x16: W32x16 16 of 16, u32, "avx512f,avx512bw,avx512vl,bmi2");
fold_lanes!(fold_x8: W32x8 8 of 16, u32, "avx512f,avx512bw,avx512vl,bmi2");

/// The least number of messages for which sixteen lanes are faster than eight and pairs.
const FEWEST_X16: usize = 12;
/// The least number of messages for which eight lanes are faster than pairs.
const FEWEST_X8: usize = 7;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,sha")]
fn fold_blocks_shani(
    states: &mut LaneStates<u32, FOLD_LANES>,
    blocks: &LaneBlocks<u32, FOLD_LANES>,
    live: usize,
) {
    if live >= FEWEST_X16 {
        fold_x16(states, blocks, 0);
    } else if live >= FEWEST_X8 {
        fold_x8(states, blocks, 0);
        x86_64_shani::fold_pairs(states, blocks, 8, live);
    } else {
        x86_64_shani::fold_pairs(states, blocks, 0, live);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn fold_blocks(states: &mut LaneStates<u32, FOLD_LANES>, blocks: &LaneBlocks<u32, FOLD_LANES>, live: usize) {
    if live > 8 {
        fold_x16(states, blocks, 0);
    } else {
        fold_x8(states, blocks, 0);
    }
}
