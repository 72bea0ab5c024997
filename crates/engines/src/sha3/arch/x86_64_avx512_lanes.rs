//! SHA-3 of many messages with AVX-512.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::hash::arch::x86_64_avx512::{W64x4, W64x8};
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{in_step, longest_first};
use crate::hash::{HashJob, LanesOps, job};
use crate::hmac::HmacJob;
use crate::sha3::State;
use crate::sha3::side_by_side::{lanes_row, permutation, run};
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
