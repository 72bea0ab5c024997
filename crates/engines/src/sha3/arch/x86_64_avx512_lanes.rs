//! SHA-3 of many messages with AVX-512.
//!
//! # Safety
//! The rows' functions are entered with their features. [`States`] are aligned for the vectors that they are taken for.
#![allow(unsafe_code)]

use millstream_cpu::FeatureSet;

use crate::hash::arch::x86_64_avx512::{W64x4, W64x8};
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{in_step, longest_first};
use crate::hash::{HashJob, LanesOps, job};
use crate::hmac::HmacJob;
use crate::sha3::State;
use crate::sha3::arch::x86_64_avx512;
use crate::sha3::side_by_side::{lanes_row, permutation, run};
use crate::sha3::states::{self, KeccakOps, States};
use crate::{Crossover, Row};

permutation!(
    /// Permutes the states of eight messages.
    X8 keccak_x8: W64x8, 8 lanes, "avx512f,avx512bw,avx512vl,bmi2", fewest 5, live 4
);
permutation!(
    /// Permutes the states of four messages.
    X4 keccak_x4: W64x4, 4 lanes, "avx512f,avx512bw,avx512vl,bmi2", fewest 2, live 2
);

lanes_row!(
    "x86_64-avx512-x8",
    "avx512f,avx512bw,avx512vl,bmi2",
    [X8 8, X4 4],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "eight lanes, four for fewer messages"
);

pub(crate) const fn states_row() -> Row<KeccakOps> {
    states::row(
        "x86_64-avx512-x8",
        FeatureSet::parse("avx512f,avx512bw,avx512vl,bmi2"),
        KeccakOps { width: 8, one: x86_64_avx512::one, four, eight },
        "eight states, one in each lane, four for fewer states",
    )
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn four(states: &mut States<4>) {
    // SAFETY: the features are this function's own, and a row of four words is a vector in memory.
    unsafe { keccak_x4(&mut *std::ptr::from_mut(states).cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn eight(states: &mut States<8>) {
    // SAFETY: the features are this function's own, and a row of eight words is a vector in memory.
    unsafe { keccak_x8(&mut *std::ptr::from_mut(states).cast()) }
}
