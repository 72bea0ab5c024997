//! SHA-3 of many messages with AVX2.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::hash::arch::x86_64_avx2::W64x4;
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{in_step, longest_first};
use crate::hash::{HashJob, LanesOps, job};
use crate::hmac::HmacJob;
use crate::sha3::State;
use crate::sha3::side_by_side::{lanes_row, permutation, run};
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
