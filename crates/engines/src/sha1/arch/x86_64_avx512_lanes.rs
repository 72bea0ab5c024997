//! SHA-1 of many messages with AVX-512.
//!
//! # Safety
//! The rows' functions are entered with their features.
#![allow(unsafe_code)]

use crate::Crossover;
use crate::Row;
use crate::hash::HashJob;
use crate::hash::arch::x86_64_avx512::{W32x8, W32x16};
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{self, lane_kernel, lanes_row};
use crate::hash::words::Words;
use crate::hmac::HmacJob;
use crate::sha1::arch::x86_64_shani::Pair;
use crate::sha1::lanes::fold;
use crate::sha1::{BLOCK, LanesOps, State};

const WORDS: usize = 5;

lane_kernel!(X16: W32x16, 16 lanes, "avx512f,avx512bw,avx512vl,bmi2", little endian false, fewest 12, live 5);
lane_kernel!(X8: W32x8, 8 lanes, "avx512f,avx512bw,avx512vl,bmi2", little endian false, fewest 4, live 3);

pub(crate) const SHANI_ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx512-shani-x16",
    "avx512f,avx512bw,avx512vl,bmi2,sha",
    [X16 16, X8 8; Pair],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "lanes for many messages, the rounds of SHA-NI in pairs for few"
);

pub(crate) const ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx512-x16",
    "avx512f,avx512bw,avx512vl,bmi2",
    [X16 16, X8 8],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "sixteen lanes, eight for fewer messages"
);
