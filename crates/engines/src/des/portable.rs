//! The kernel for any processor: constant-time, without tables in memory.
//!
//! Ref. FIPS 46-3, "Enciphering" and appendix 1.
//!
//! One block: each output bit of an S-box is a truth table of 64 bits, that is, one word. The word
//! is rotated by the S-box's input, so that the entry arrives at its place in P, and masked.
//!
//! # Safety
//! Nothing here needs a feature; the functions are `unsafe` because every kernel's are.
#![allow(unsafe_code)]

use millstream_cpu::FeatureSet;

use super::job::{CbcJob, Job, LanesOps, lane_entry_points};
use super::modes::Cipher;
use super::ops::{Ops, entry_points};
use super::schedule::Schedule;
use super::side_by_side::{self, Decipher, Progress, Sliced, Words, sliced};
use super::slices::{OneKey, Slice};
use super::tables::{EXPANSION, PLACE, TRUTH};
use super::wiring::Groups;
use super::{circuits, serial};
use crate::kernel::{Kernel, Row, Timing};
use crate::lanes::Crossover;
use crate::modes::Direction;

pub(super) const ROW: Row<Ops> = Row {
    kernel: Kernel {
        name: "portable",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "S-boxes as truth tables in one word, rotated; bitsliced across 64 blocks",
    },
    ops: entry_points!(Portable),
};

pub(super) const LANES: Row<LanesOps> = Row {
    kernel: Kernel {
        name: "portable-x64",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "bitsliced across 64 messages",
    },
    ops: lane_entry_points!(Crossover(&[(usize::MAX, FEWEST)]), run, decrypt),
};

/// The least number of messages, or of blocks to decipher, for which lanes pay.
const FEWEST: usize = 7;

sliced!(u64, 64, Words);

unsafe fn run<'k, J: Job<'k>>(jobs: &mut [&mut J]) {
    for wave in jobs.chunks_mut(64) {
        let mut progress = Progress::new(wave);
        // SAFETY: no feature is needed.
        unsafe { side_by_side::in_slices::<u64, J, 64>(wave, &mut progress, FEWEST) };
        progress.finish(wave);
    }
}

unsafe fn decrypt(jobs: &mut [&mut CbcJob<'_>]) {
    // SAFETY: no feature is needed.
    unsafe { side_by_side::cbc_decrypt::<Portable, 64>(jobs, FEWEST) }
}

impl Decipher<64> for Portable {
    unsafe fn decipher(
        schedules: &[&Schedule; 64],
        one_key: bool,
        blocks: &mut side_by_side::Row<64>,
        _: usize,
    ) {
        // SAFETY: no feature is needed.
        unsafe { side_by_side::decipher_sliced::<u64, 64>(schedules, one_key, blocks) }
    }
}

/// The tables of [`TRUTH`], each rotated so that entry 0 stands at its place in P.
const PLACED: [[u64; 4]; 8] = {
    let mut placed = [[0; 4]; 8];
    let mut i = 0;
    while i < 32 {
        placed[i / 4][i % 4] = TRUTH[i / 4][i % 4].rotate_left(PLACE[i / 4][i % 4]);
        i += 1;
    }
    placed
};

/// The function f of the standard.
#[inline(always)]
fn f(right: u32, key: Groups) -> u32 {
    let key = key.to_ne_bytes();
    let mut out = 0;
    for s in 0..8 {
        let input = right.rotate_right(EXPANSION[s]) ^ u32::from(key[s]);
        for q in 0..4 {
            out |= PLACED[s][q].rotate_right(input & 63) as u32 & 1 << PLACE[s][q];
        }
    }
    out
}

enum Portable {}

impl Cipher for Portable {
    type Wide = side_by_side::Row<64>;
    const WORTH: usize = 16;

    #[inline(always)]
    unsafe fn one(keys: &[Groups], block: u64) -> u64 {
        let (mut l, mut r) = serial::initial(block);
        for sixteen in keys.chunks_exact(16) {
            for &key in sixteen {
                (l, r) = (r, l ^ f(r, key));
            }
            (l, r) = (r, l);
        }
        serial::last((l, r))
    }

    #[inline(always)]
    unsafe fn wide(schedule: &Schedule, direction: Direction, blocks: &mut side_by_side::Row<64>, _: usize) {
        // SAFETY: words need no feature.
        unsafe { u64::one_key(OneKey { schedule, direction }, blocks) }
    }
}

/// Slices of 64 blocks.
impl Slice for u64 {
    #[inline(always)]
    unsafe fn splat(mask: u32) -> Self {
        u64::from(mask) << 32 | u64::from(mask)
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        self & other
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        self | other
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    unsafe fn without(self, other: Self) -> Self {
        self & !other
    }

    #[inline(always)]
    unsafe fn not(self) -> Self {
        !self
    }

    #[inline(always)]
    unsafe fn exchange<const SHIFT: u32>(a: Self, b: Self, mask: u64) -> (Self, Self) {
        let t = (a >> SHIFT ^ b) & mask;
        (a ^ t << SHIFT, b ^ t)
    }

    #[inline(always)]
    unsafe fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4] {
        // SAFETY: words need no feature.
        unsafe { circuits::binary::substitute::<BOX, Self>(input) }
    }
}
