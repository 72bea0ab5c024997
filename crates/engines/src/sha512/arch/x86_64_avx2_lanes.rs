//! SHA-512 of many messages with AVX2.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::Crossover;
use crate::Row;
use crate::hash::arch::x86_64_avx2::W64x4;
use crate::hash::fold::{self, fold_lanes};
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{self, lane_kernel, lanes_row};
use crate::hash::words::Words;
use crate::hash::{HashJob, LaneBlocks, LaneStates};
use crate::hmac::HmacJob;
use crate::sha512::arch::x86_64_avx2::compress;
use crate::sha512::lanes::fold;
use crate::sha512::{BLOCK, FOLD_LANES, FoldOps, LanesOps, State};

const WORDS: usize = 8;

lane_kernel!(X4: W64x4, 4 lanes, "avx2", little endian false, fewest 3, live 3);

pub(crate) const ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx2-x4",
    "avx2",
    [X4 4],
    Crossover(&[(usize::MAX, 3)]),
    Crossover(&[(usize::MAX, 3)]),
    "four lanes"
);

pub(crate) const FOLD_ROW: Row<FoldOps> = fold::row(
    "x86_64-avx2-x4",
    millstream_cpu::FeatureSet::parse("avx2,bmi1,bmi2"),
    fold_blocks,
    "four messages in a pass, two passes for eight",
);

fold_lanes!(fold_x4: W64x4 4 of 8, u64, "avx2");

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn fold_blocks(states: &mut LaneStates<u64, FOLD_LANES>, blocks: &LaneBlocks<u64, FOLD_LANES>, live: usize) {
    if live == 1 {
        fold::one_by_one(states, blocks, 0, 1, |state, block| compress(state, &[*block], &[]));
        return;
    }
    for at in (0..live).step_by(4) {
        fold_x4(states, blocks, at);
    }
}
