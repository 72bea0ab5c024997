//! SHA-256 of many messages with AVX2.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::Crossover;
use crate::Row;
use crate::hash::arch::x86_64_avx2::W32x8;
use crate::hash::fold::{self, fold_lanes};
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{self, lane_kernel, lanes_row};
use crate::hash::words::Words;
use crate::hash::{HashJob, LaneBlocks, LaneStates};
use crate::hmac::HmacJob;
use crate::sha256::lanes::fold;
use crate::sha256::{BLOCK, FOLD_LANES, FoldOps, LanesOps, State};

const WORDS: usize = 8;

lane_kernel!(X8: W32x8, 8 lanes, "avx2", little endian false, fewest 4, live 3);

pub(crate) const ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx2-x8",
    "avx2",
    [X8 8],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "eight lanes"
);

pub(crate) const FOLD_ROW: Row<FoldOps> = fold::row(
    "x86_64-avx2-x8",
    millstream_cpu::FeatureSet::parse("avx2"),
    fold_blocks,
    "eight messages in a pass, two passes for sixteen",
);

fold_lanes!(fold_x8: W32x8 8 of 16, u32, "avx2");

#[target_feature(enable = "avx2")]
fn fold_blocks(states: &mut LaneStates<u32, FOLD_LANES>, blocks: &LaneBlocks<u32, FOLD_LANES>, live: usize) {
    for at in (0..live).step_by(8) {
        fold_x8(states, blocks, at);
    }
}
