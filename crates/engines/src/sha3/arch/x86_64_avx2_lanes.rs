//! SHA-3 of many messages with AVX2.
//!
//! # Safety
//! The rows' functions are entered with their features. [`States`] are aligned for the vectors that they are taken for.
#![allow(unsafe_code)]

use millstream_cpu::FeatureSet;

use crate::hash::arch::x86_64_avx2::W64x4;
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{in_step, longest_first};
use crate::hash::{HashJob, LanesOps, job};
use crate::hmac::HmacJob;
use crate::sha3::State;
use crate::sha3::arch::x86_64_bmi;
use crate::sha3::side_by_side::{lanes_row, permutation, run};
use crate::sha3::states::{self, KeccakOps, States};
use crate::{Crossover, Row};

permutation!(
    /// Permutes the states of four messages.
    X4 keccak_x4: W64x4, 4 lanes, "avx2", fewest 2, live 2
);

lanes_row!(
    "x86_64-avx2-x4",
    "avx2",
    [X4 4],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "four lanes"
);

pub(crate) const fn states_row() -> Row<KeccakOps> {
    states::row(
        "x86_64-avx2-x4",
        FeatureSet::parse("avx2,bmi1,bmi2"),
        KeccakOps { width: 4, one: x86_64_bmi::one, four, eight },
        "four states, one in each lane",
    )
}

#[target_feature(enable = "avx2")]
fn four(states: &mut States<4>) {
    // SAFETY: the feature is this function's own, and a row of four words is a vector in memory.
    unsafe { keccak_x4(&mut *std::ptr::from_mut(states).cast()) }
}

#[target_feature(enable = "avx2")]
fn eight(states: &mut States<8>) {
    let mut half = States::<4>::ZERO;
    for at in [0, 4] {
        for i in 0..states::WORDS {
            half.words[i].copy_from_slice(&states.words[i][at..at + 4]);
        }
        four(&mut half);
        for i in 0..states::WORDS {
            states.words[i][at..at + 4].copy_from_slice(&half.words[i]);
        }
    }
    zeroize::Zeroize::zeroize(&mut half);
}
