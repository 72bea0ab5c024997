//! SHA-1 with the AArch64 cryptographic extension, four rounds at a time.
//!
//! Ref. FIPS 180-4 §6.1.2; Arm ARM, SHA1C, SHA1P, SHA1M, SHA1H, SHA1SU0, SHA1SU1.
//!
//! # Safety
//! Loads and stores are of 16 bytes inside arrays: the first four words of the state, and a block.
#![allow(unsafe_code)]

use core::arch::aarch64::*;

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::chain;
use crate::sha1::{BLOCK, CompressOps, K, State};

pub(crate) const ROW: Row<CompressOps> =
    chain::row("aarch64-ce", FeatureSet::parse("neon,sha2"), compress, "bound by the latency of sha1c");

/// Twenty rounds of one function, in groups of four.
macro_rules! twenty {
    ($twenty:literal $rounds:ident $abcd:ident $e:ident $w:ident) => {
        let k = vdupq_n_u32(K[$twenty]);
        for i in 5 * $twenty..5 * $twenty + 5 {
            // Words 4i..4i + 4 of the schedule take the place of those sixteen before.
            if i >= 4 {
                let x = vsha1su0q_u32($w[i % 4], $w[(i + 1) % 4], $w[(i + 2) % 4]);
                $w[i % 4] = vsha1su1q_u32(x, $w[(i + 3) % 4]);
            }
            let next = vsha1h_u32(vgetq_lane_u32::<0>($abcd));
            $abcd = $rounds($abcd, $e, vaddq_u32($w[i % 4], k));
            $e = next;
        }
    };
}

#[target_feature(enable = "neon,sha2")]
fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    // SAFETY: the first 16 of the state's 20 bytes.
    let mut abcd = unsafe { vld1q_u32(state.as_ptr()) };
    let mut e = state[4];
    for block in blocks.iter().chain(last) {
        let before = (abcd, e);
        let mut w = [abcd; 4];
        for i in 0..4 {
            // SAFETY: `16 * i + 16 <= 64`.
            let bytes = unsafe { vld1q_u8(block.as_ptr().add(16 * i)) };
            w[i] = vreinterpretq_u32_u8(vrev32q_u8(bytes));
        }
        twenty!(0 vsha1cq_u32 abcd e w);
        twenty!(1 vsha1pq_u32 abcd e w);
        twenty!(2 vsha1mq_u32 abcd e w);
        twenty!(3 vsha1pq_u32 abcd e w);
        abcd = vaddq_u32(abcd, before.0);
        e = e.wrapping_add(before.1);
    }
    // SAFETY: as above.
    unsafe { vst1q_u32(state.as_mut_ptr(), abcd) };
    state[4] = e;
}
