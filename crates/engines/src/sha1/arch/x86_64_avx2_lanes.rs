//! SHA-1 of many messages with AVX2.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::Crossover;
use crate::Row;
use crate::hash::HashJob;
use crate::hash::arch::x86_64_avx2::W32x8;
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{self, lane_kernel, lanes_row};
use crate::hash::words::Words;
use crate::hmac::HmacJob;
use crate::sha1::arch::x86_64_shani::Pair;
use crate::sha1::lanes::fold;
use crate::sha1::{BLOCK, LanesOps, State};

const WORDS: usize = 5;

lane_kernel!(X8: W32x8, 8 lanes, "avx2", little endian false, fewest 5, live 3);

pub(crate) const SHANI_ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx2-shani-x8",
    "avx2,sha",
    [X8 8; Pair],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "lanes for many messages, the rounds of SHA-NI in pairs for few"
);

pub(crate) const ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx2-x8",
    "avx2",
    [X8 8],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "eight lanes"
);
