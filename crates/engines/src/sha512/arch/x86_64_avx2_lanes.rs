//! SHA-512 of many messages with AVX2.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::Crossover;
use crate::Row;
use crate::hash::HashJob;
use crate::hash::arch::x86_64_avx2::W64x4;
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{self, lane_kernel, lanes_row};
use crate::hash::words::Words;
use crate::hmac::HmacJob;
use crate::sha512::lanes::fold;
use crate::sha512::{BLOCK, LanesOps, State};

const WORDS: usize = 8;

lane_kernel!(X4: W64x4, 4 lanes, "avx2", little endian false, fewest 3, live 3);

pub(crate) const ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx2-x4",
    "avx2",
    [X4 4],
    Crossover(&[(usize::MAX, 3)]),
    Crossover(&[(usize::MAX, 3)]),
    "four lanes"
);
