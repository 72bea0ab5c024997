//! SHA-512 with the AArch64 cryptographic extension, two rounds at a time.
//!
//! Ref. FIPS 180-4 §6.4.2; Arm ARM, SHA512H, SHA512H2, SHA512SU0, SHA512SU1.
//!
//! # Safety
//! Loads and stores are of 16 bytes inside arrays: the state (64 bytes), a block (128), and `K` (640).
#![allow(unsafe_code)]

use core::arch::aarch64::*;

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::chain;
use crate::sha512::{BLOCK, CompressOps, K, State};

pub(crate) const ROW: Row<CompressOps> =
    chain::row("aarch64-ce", FeatureSet::parse("neon,sha3"), compress, "bound by the latency of sha512h");

#[target_feature(enable = "neon,sha3")]
fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    let mut s = [vdupq_n_u64(0); 4];
    for i in 0..4 {
        // SAFETY: `16 * i + 16 <= 64`.
        s[i] = unsafe { vld1q_u64(state.as_ptr().add(2 * i)) };
    }
    for block in blocks.iter().chain(last) {
        let [mut ab, mut cd, mut ef, mut gh] = s;
        let mut w = load_block(block);
        for i in 0..40 {
            // Words 2i and 2i + 1 of the schedule take the place of those sixteen before.
            if i >= 8 {
                let w9 = vextq_u64::<1>(w[(i + 4) % 8], w[(i + 5) % 8]);
                w[i % 8] = vsha512su1q_u64(vsha512su0q_u64(w[i % 8], w[(i + 1) % 8]), w[(i + 7) % 8], w9);
            }
            // SAFETY: `2 * i + 2 <= 80`.
            let wk = vaddq_u64(w[i % 8], unsafe { vld1q_u64(K.as_ptr().add(2 * i)) });
            let sum = vaddq_u64(vextq_u64::<1>(wk, wk), gh);
            let t = vsha512hq_u64(sum, vextq_u64::<1>(ef, gh), vextq_u64::<1>(cd, ef));
            // The pairs move down by one place.
            let new = vsha512h2q_u64(t, cd, ab);
            (ab, cd, ef, gh) = (new, ab, vaddq_u64(cd, t), ef);
        }
        s = [vaddq_u64(s[0], ab), vaddq_u64(s[1], cd), vaddq_u64(s[2], ef), vaddq_u64(s[3], gh)];
    }
    for i in 0..4 {
        // SAFETY: as above.
        unsafe { vst1q_u64(state.as_mut_ptr().add(2 * i), s[i]) };
    }
}

#[target_feature(enable = "neon")]
fn load_block(block: &[u8; BLOCK]) -> [uint64x2_t; 8] {
    let mut w = [vdupq_n_u64(0); 8];
    for i in 0..8 {
        // SAFETY: `16 * i + 16 <= 128`.
        w[i] = vreinterpretq_u64_u8(vrev64q_u8(unsafe { vld1q_u8(block.as_ptr().add(16 * i)) }));
    }
    w
}
