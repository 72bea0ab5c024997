//! SHA-256 of many messages, one in each lane.
//!
//! Ref. FIPS 180-4 §6.2.2, §4.1.2.
//!
//! # Safety
//! The promise of the vectors of words holds here too: the caller of a kernel has its processor
//! features.
#![allow(unsafe_code)]

use super::K;
use crate::hash::sha2_lanes::{next_word, no_word, round, sixteen_rounds};
use crate::hash::words::Words;

/// Folds a block of every lane in.
///
/// # Safety
/// The processor has the features of `V`.
#[inline(always)]
pub(super) unsafe fn fold<V: Words<N, Word = u32>, const N: usize>(state: &mut [V; 8], w: &mut [V; 16]) {
    // SAFETY: the caller's.
    unsafe {
        let mut w = *w;
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        let (last, before) = (K.len() / 16 - 1, K.as_chunks::<16>().0);
        for k in &before[..last] {
            sixteen_rounds!(next_word w k ([2 13 22] [6 11 25] [7 18 3] [17 19 10]) a b c d e f g h);
        }
        let k = &before[last];
        sixteen_rounds!(no_word w k ([2 13 22] [6 11 25] [7 18 3] [17 19 10]) a b c d e f g h);
        let end = [a, b, c, d, e, f, g, h];
        for i in 0..8 {
            state[i] = state[i].add(end[i]);
        }
    }
}
