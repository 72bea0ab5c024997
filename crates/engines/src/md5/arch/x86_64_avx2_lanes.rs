//! MD5 of many messages with AVX2.
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
use crate::hash::words::{Two, Words};
use crate::hmac::HmacJob;
use crate::md5::lanes::fold;
use crate::md5::{BLOCK, LanesOps, State};

const WORDS: usize = 4;

lane_kernel!(X16: Two<W32x8>, 16 lanes, "avx2", little endian true, fewest 9, live 2);
lane_kernel!(X8: W32x8, 8 lanes, "avx2", little endian true, fewest 2, live 2);

pub(crate) const ROW: Row<LanesOps> = lanes_row!(
    "x86_64-avx2-x16",
    "avx2",
    [X16 16, X8 8],
    Crossover(&[(usize::MAX, 2)]),
    Crossover(&[(usize::MAX, 2)]),
    "two vectors of eight lanes interleaved, as one waits for its chain"
);
