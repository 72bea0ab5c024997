//! SHA-256 with the AArch64 cryptographic extension, four rounds at a time.
//!
//! Ref. FIPS 180-4 §6.2.2; Arm ARM, SHA256H, SHA256H2, SHA256SU0, SHA256SU1.
//!
//! # Safety
//! Loads and stores are of 16 bytes inside arrays: the state (32 bytes), a block (64), and `K` (256).
#![allow(unsafe_code)]

use core::arch::aarch64::*;

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::{LaneBlocks, LaneStates, chain, fold};
use crate::sha256::{BLOCK, CompressOps, FOLD_LANES, FoldOps, K, State};

pub(crate) const ROW: Row<CompressOps> =
    chain::row("aarch64-ce", FeatureSet::parse("neon,sha2"), compress, "bound by the latency of sha256h");

#[target_feature(enable = "neon,sha2")]
fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    // SAFETY: the state is 32 bytes.
    let (mut abcd, mut efgh) = unsafe { (vld1q_u32(state.as_ptr()), vld1q_u32(state.as_ptr().add(4))) };
    for block in blocks.iter().chain(last) {
        let before = (abcd, efgh);
        let mut w = [abcd; 4];
        for i in 0..4 {
            // SAFETY: `16 * i + 16 <= 64`.
            let bytes = unsafe { vld1q_u8(block.as_ptr().add(16 * i)) };
            w[i] = vreinterpretq_u32_u8(vrev32q_u8(bytes));
        }
        for i in 0..16 {
            // Words 4i..4i + 4 of the schedule take the place of those sixteen before.
            if i >= 4 {
                let x = vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]);
                w[i % 4] = vsha256su1q_u32(x, w[(i + 2) % 4], w[(i + 3) % 4]);
            }
            // SAFETY: `4 * i + 4 <= 64`.
            let wk = vaddq_u32(w[i % 4], unsafe { vld1q_u32(K.as_ptr().add(4 * i)) });
            let old = abcd;
            abcd = vsha256hq_u32(abcd, efgh, wk);
            efgh = vsha256h2q_u32(efgh, old, wk);
        }
        abcd = vaddq_u32(abcd, before.0);
        efgh = vaddq_u32(efgh, before.1);
    }
    // SAFETY: as above.
    unsafe {
        vst1q_u32(state.as_mut_ptr(), abcd);
        vst1q_u32(state.as_mut_ptr().add(4), efgh);
    }
}

pub(crate) const FOLD_ROW: Row<FoldOps> = fold::row(
    "aarch64-ce",
    FeatureSet::parse("neon,sha2"),
    fold_blocks,
    "one message after another with the processor's own rounds",
);

#[target_feature(enable = "neon,sha2")]
fn fold_blocks(states: &mut LaneStates<u32, FOLD_LANES>, blocks: &LaneBlocks<u32, FOLD_LANES>, live: usize) {
    fold::one_by_one(states, blocks, 0, live, |state, block| compress(state, &[*block], &[]));
}
