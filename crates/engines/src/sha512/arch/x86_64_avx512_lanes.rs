//! SHA-512 of many messages with AVX-512.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::Crossover;
use crate::Row;
use crate::hash::arch::x86_64_avx512::{W64x4, W64x8};
use crate::hash::fold::{self, fold_lanes};
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{self, lane_kernel, lanes_row};
use crate::hash::words::Words;
use crate::hash::{HashJob, LaneBlocks, LaneStates};
use crate::hmac::HmacJob;
use crate::sha512::arch::x86_64_avx512::compress;
use crate::sha512::lanes::fold;
use crate::sha512::{BLOCK, FOLD_LANES, FoldOps, LanesOps, State};

const WORDS: usize = 8;

lane_kernel!(X8: W64x8, 8 lanes, "avx512f,avx512bw,avx512vl,bmi2", little endian false, fewest 6, live 5);
lane_kernel!(X4: W64x4, 4 lanes, "avx512f,avx512bw,avx512vl,bmi2", little endian false, fewest 2, live 3);

pub(crate) const ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx512-x8",
    "avx512f,avx512bw,avx512vl,bmi2",
    [X8 8, X4 4],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "eight lanes, four for fewer messages"
);

pub(crate) const FOLD_ROW: Row<FoldOps> = fold::row(
    "x86_64-avx512-x8",
    millstream_cpu::FeatureSet::parse("avx512f,avx512bw,avx512vl,bmi1,bmi2"),
    fold_blocks,
    "eight messages in a pass, four for fewer",
);

fold_lanes!(fold_x8: W64x8 8 of 8, u64, "avx512f,avx512bw,avx512vl,bmi2");
fold_lanes!(fold_x4: W64x4 4 of 8, u64, "avx512f,avx512bw,avx512vl,bmi2");

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
fn fold_blocks(states: &mut LaneStates<u64, FOLD_LANES>, blocks: &LaneBlocks<u64, FOLD_LANES>, live: usize) {
    if live > 4 {
        fold_x8(states, blocks, 0);
    } else if live > 1 {
        fold_x4(states, blocks, 0);
    } else {
        fold::one_by_one(states, blocks, 0, live, |state, block| compress(state, &[*block], &[]));
    }
}
