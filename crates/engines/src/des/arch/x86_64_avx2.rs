//! AVX2: bitsliced across 256 blocks; one block by shifting truth tables, four to a register.
//!
//! Ref. FIPS 46-3, "Enciphering"; Intel SDM volume 2, VPSRLVQ.
//!
//! # Safety
//! Inlined into entry points that have the features of [`ROW`].
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use millstream_cpu::FeatureSet;

use super::x86_64_sboxes::{self, Expanded, Lanes, Sboxes, register};
use crate::des::circuits;
use crate::des::job::{CbcJob, Job, LanesOps, lane_entry_points};
use crate::des::modes::Cipher;
use crate::des::ops::{Ops, row};
use crate::des::schedule::Schedule;
use crate::des::side_by_side::{self, Decipher, Progress, Sliced, Words, sliced};
use crate::des::slices::{OneKey, Slice};
use crate::des::tables::{EXPANSION, PLACE, TRUTH};
use crate::des::wiring::Groups;
use crate::kernel::{Kernel, Row, Timing};
use crate::lanes::Crossover;
use crate::modes::Direction;

pub(in crate::des) const ROW: Row<Ops> = row!(
    "x86_64-avx2-by256",
    "avx2",
    Avx2,
    "circuits across 256 blocks; truth tables shifted for one or two"
);

pub(in crate::des) const LANES: Row<LanesOps> = Row {
    kernel: Kernel {
        name: "x86_64-avx2-x256",
        requires: FeatureSet::parse("avx2"),
        timing: Timing::Constant,
        note: "bitsliced across 256 messages",
    },
    ops: lane_entry_points!(Crossover(&[(16, 10), (64, 8), (usize::MAX, FEWEST)]), run, decrypt),
};

/// The least number of messages, and of blocks to decipher, for which lanes pay.
const FEWEST: usize = 7;
const FEWEST_BLOCKS: usize = 14;

sliced!(__m256i, 256, Words, "avx2");

#[target_feature(enable = "avx2")]
unsafe fn run<'k, J: Job<'k>>(jobs: &mut [&mut J]) {
    for wave in jobs.chunks_mut(256) {
        let mut progress = Progress::new(wave);
        // SAFETY: the caller vouches for the kernel's features, which this function has.
        unsafe { side_by_side::in_slices::<__m256i, J, 256>(wave, &mut progress, FEWEST) };
        progress.finish(wave);
    }
}

#[target_feature(enable = "avx2")]
unsafe fn decrypt(jobs: &mut [&mut CbcJob<'_>]) {
    // SAFETY: as above.
    unsafe { side_by_side::cbc_decrypt::<Avx2, 256>(jobs, FEWEST_BLOCKS) }
}

impl Decipher<256> for Avx2 {
    #[inline(always)]
    unsafe fn decipher(
        schedules: &[&Schedule; 256],
        one_key: bool,
        blocks: &mut side_by_side::Row<256>,
        _: usize,
    ) {
        // SAFETY: as the caller says.
        unsafe { side_by_side::decipher_sliced::<__m256i, 256>(schedules, one_key, blocks) }
    }
}

enum Avx2 {}

impl Cipher for Avx2 {
    type Wide = side_by_side::Row<256>;
    const WORTH: usize = 20;

    #[inline(always)]
    unsafe fn one(keys: &[Groups], block: u64) -> u64 {
        // SAFETY: as the caller says.
        let [block] = unsafe { x86_64_sboxes::several::<Self, _>(keys, [block]) };
        block
    }

    #[inline(always)]
    unsafe fn two(keys: &[Groups], blocks: [u64; 2]) -> [u64; 2] {
        // SAFETY: as the caller says.
        unsafe { x86_64_sboxes::several::<Self, _>(keys, blocks) }
    }

    #[inline(always)]
    unsafe fn wide(schedule: &Schedule, direction: Direction, blocks: &mut side_by_side::Row<256>, _: usize) {
        // SAFETY: as the caller says.
        unsafe { __m256i::one_key(OneKey { schedule, direction }, blocks) }
    }
}

/// Slices of 256 blocks.
impl Slice for __m256i {
    #[inline(always)]
    unsafe fn splat(mask: u32) -> Self {
        // SAFETY: as the caller says; so in all functions below.
        unsafe { _mm256_set1_epi32(mask as i32) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_and_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_or_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn without(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_andnot_si256(other, self) }
    }

    #[inline(always)]
    unsafe fn not(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_xor_si256(self, _mm256_set1_epi32(-1)) }
    }

    #[inline(always)]
    unsafe fn exchange<const SHIFT: u32>(a: Self, b: Self, mask: u64) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let mask = _mm256_set1_epi64x(mask as i64);
            let count = _mm_cvtsi32_si128(SHIFT as i32);
            let t = _mm256_and_si256(_mm256_xor_si256(_mm256_srl_epi64(a, count), b), mask);
            (_mm256_xor_si256(a, _mm256_sll_epi64(t, count)), _mm256_xor_si256(b, t))
        }
    }

    #[inline(always)]
    unsafe fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4] {
        // SAFETY: as above.
        unsafe { circuits::binary::substitute::<BOX, Self>(input) }
    }
}

/// Truth tables for S1 to S4 and for S5 to S8, by output bit.
const TABLES: [[Lanes; 4]; 2] = {
    let mut tables = [[[0; 4]; 4]; 2];
    let mut i = 0;
    while i < 32 {
        tables[i / 16][i % 4][i / 4 % 4] = TRUTH[i / 4][i % 4];
        i += 1;
    }
    tables
};

/// The places to which P moves these bits.
const PLACES: [[Lanes; 4]; 2] = {
    let mut places = [[[0; 4]; 4]; 2];
    let mut i = 0;
    while i < 32 {
        places[i / 16][i % 4][i / 4 % 4] = PLACE[i / 4][i % 4] as u64;
        i += 1;
    }
    places
};

/// The shift counts of a half block, given twice, for the four S-boxes of each half.
const SHIFTS: [Lanes; 2] = {
    let mut shifts = [[0; 4]; 2];
    let mut s = 0;
    while s < 8 {
        shifts[s / 4][s % 4] = EXPANSION[s] as u64;
        s += 1;
    }
    shifts
};

/// One block or two, by truth tables in registers.
impl Sboxes for Avx2 {
    /// Applies E: turns a half block, given twice in every lane, into the S-boxes' inputs.
    #[inline(always)]
    unsafe fn expand(half: __m256i) -> Expanded {
        // SAFETY: as above.
        unsafe {
            let six = _mm256_set1_epi64x(63);
            [
                _mm256_and_si256(_mm256_srlv_epi64(half, register(SHIFTS[0])), six),
                _mm256_and_si256(_mm256_srlv_epi64(half, register(SHIFTS[1])), six),
            ]
        }
    }

    /// Turns the S-boxes' inputs back into the half block, which is the middle four bits of each.
    #[inline(always)]
    unsafe fn contract(half: Expanded) -> u32 {
        let mut out = 0;
        for lanes in half {
            // SAFETY: as above; a register is four words of any bits.
            let lanes: Lanes = unsafe { core::mem::transmute(lanes) };
            for six in lanes {
                out = out << 4 | (six >> 1 & 15) as u32;
            }
        }
        out
    }

    /// Applies the S-boxes and P. The result stands twice in every lane.
    #[inline(always)]
    unsafe fn f(input: Expanded) -> __m256i {
        // SAFETY: as above.
        unsafe {
            let two = _mm256_or_si256(
                half(input[0], &TABLES[0], &PLACES[0]),
                half(input[1], &TABLES[1], &PLACES[1]),
            );
            // Lanes 0 and 1 are joined, and lanes 2 and 3; then the two pairs.
            let four = _mm256_or_si256(two, _mm256_shuffle_epi32::<0b01_00_11_10>(two));
            let all = _mm256_or_si256(four, _mm256_permute4x64_epi64::<0b01_00_11_10>(four));
            _mm256_shuffle_epi32::<0b10_10_00_00>(all)
        }
    }
}

/// Looks up four S-boxes' output bits, each at its place.
#[inline(always)]
unsafe fn half(input: __m256i, tables: &[Lanes; 4], places: &[Lanes; 4]) -> __m256i {
    // SAFETY: as above.
    unsafe {
        let mut bits = [input; 4];
        for q in 0..4 {
            let bit = _mm256_and_si256(_mm256_srlv_epi64(register(tables[q]), input), _mm256_set1_epi64x(1));
            bits[q] = _mm256_sllv_epi64(bit, register(places[q]));
        }
        _mm256_or_si256(_mm256_or_si256(bits[0], bits[1]), _mm256_or_si256(bits[2], bits[3]))
    }
}
