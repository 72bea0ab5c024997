//! SHA-512 of many messages, one in each lane.
//!
//! Ref. FIPS 180-4 §6.4.2, §4.1.3.
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
pub(super) unsafe fn fold<V: Words<N, Word = u64>, const N: usize>(state: &mut [V; 8], w: &mut [V; 16]) {
    // SAFETY: the caller's.
    unsafe {
        let mut w = *w;
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        let (last, before) = (K.len() / 16 - 1, K.as_chunks::<16>().0);
        for k in &before[..last] {
            sixteen_rounds!(next_word w k ([28 34 39] [14 18 41] [1 8 7] [19 61 6]) a b c d e f g h);
        }
        let k = &before[last];
        sixteen_rounds!(no_word w k ([28 34 39] [14 18 41] [1 8 7] [19 61 6]) a b c d e f g h);
        let end = [a, b, c, d, e, f, g, h];
        for i in 0..8 {
            state[i] = state[i].add(end[i]);
        }
    }
}
