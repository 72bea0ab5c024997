//! SHA-512 of many messages with AVX-512.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::Crossover;
use crate::Row;
use crate::hash::HashJob;
use crate::hash::arch::x86_64_avx512::{W64x4, W64x8};
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{self, lane_kernel, lanes_row};
use crate::hash::words::Words;
use crate::hmac::HmacJob;
use crate::sha512::lanes::fold;
use crate::sha512::{BLOCK, LanesOps, State};

const WORDS: usize = 8;

lane_kernel!(X8: W64x8, 8 lanes, "avx512f,avx512bw,avx512vl,bmi2", little endian false, fewest 6, live 5);
lane_kernel!(X4: W64x4, 4 lanes, "avx512f,avx512bw,avx512vl,bmi2", little endian false, fewest 2, live 3);

pub(crate) const ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx512-x8",
    "avx512f,avx512bw,avx512vl,bmi2",
    [X8 8, X4 4],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "eight lanes, four for fewer messages"
);
