//! AVX-512: bitsliced with ternary logic across 512 or 256 blocks; one block by rotating truth
//! tables, 32 of them in eight registers.
//!
//! Ref. FIPS 46-3, "Enciphering"; Intel SDM volume 2, VPTERNLOG, VPRORVQ.
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
use crate::des::side_by_side::{self, Batch, Decipher, Progress, Sliced, Transfer, sliced};
use crate::des::slices::{OneKey, Slice, Ternary};
use crate::des::tables::{EXPANSION, PLACE, TRUTH};
use crate::des::wiring::Groups;
use crate::kernel::{Kernel, Row, Timing};
use crate::lanes::Crossover;
use crate::masked::readable;
use crate::modes::Direction;

pub(in crate::des) const ROW: Row<Ops> = row!(
    "x86_64-avx512-by512",
    "avx512f,avx512vl",
    Avx512,
    "ternary-logic circuits across 512 or 256 blocks; truth tables rotated for one or two"
);

pub(in crate::des) const LANES: Row<LanesOps> = Row {
    kernel: Kernel {
        name: "x86_64-avx512-x256",
        requires: FeatureSet::parse("avx512f,avx512bw,avx512vl"),
        timing: Timing::Constant,
        note: "ternary-logic circuits across 256 messages",
    },
    ops: lane_entry_points!(Crossover(&[(16, 12), (64, 8), (usize::MAX, FEWEST)]), run, decrypt),
};

/// The least number of messages, and of blocks to decipher, for which lanes pay.
const FEWEST: usize = 7;
const FEWEST_BLOCKS: usize = 18;

sliced!(__m512i, 512, Lines, "avx512f,avx512vl");
sliced!(Ymm, 256, Lines, "avx512f,avx512vl");

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn run<'k, J: Job<'k>>(jobs: &mut [&mut J]) {
    for wave in jobs.chunks_mut(256) {
        let mut progress = Progress::new(wave);
        // SAFETY: the caller vouches for the kernel's features, which this function has.
        unsafe { side_by_side::in_slices::<Ymm, J, 256>(wave, &mut progress, FEWEST) };
        progress.finish(wave);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn decrypt(jobs: &mut [&mut CbcJob<'_>]) {
    // SAFETY: as above.
    unsafe { side_by_side::cbc_decrypt::<Avx512, 256>(jobs, FEWEST_BLOCKS) }
}

impl Decipher<256> for Avx512 {
    #[inline(always)]
    unsafe fn decipher(
        schedules: &[&Schedule; 256],
        one_key: bool,
        blocks: &mut side_by_side::Row<256>,
        _: usize,
    ) {
        // SAFETY: as the caller says.
        unsafe { side_by_side::decipher_sliced::<Ymm, 256>(schedules, one_key, blocks) }
    }
}

/// A transfer of batches by lines of 64 bytes.
pub(in crate::des) struct Lines;

impl Transfer for Lines {
    #[inline(always)]
    unsafe fn load<const W: usize>(batch: &mut Batch<W>, at: usize, lanes: &[(*const u8, usize); 8]) {
        // SAFETY: a masked load reads only what is inside the message, as the caller says; eight
        // lanes are inside a row.
        unsafe {
            let mut x = [_mm512_setzero_si512(); 8];
            for n in 0..8 {
                let (message, len) = lanes[n];
                x[n] = _mm512_maskz_loadu_epi8(first(len), readable(message, len).cast());
            }
            transpose(&mut x);
            for i in 0..8 {
                _mm512_storeu_si512(batch.0[i].0[at..at + 8].as_mut_ptr().cast(), x[i]);
            }
        }
    }

    #[inline(always)]
    unsafe fn store<const W: usize>(batch: &Batch<W>, at: usize, lanes: &[(*mut u8, usize); 8]) {
        // SAFETY: as above.
        unsafe {
            let mut x = [_mm512_setzero_si512(); 8];
            for i in 0..8 {
                x[i] = _mm512_loadu_si512(batch.0[i].0[at..at + 8].as_ptr().cast());
            }
            transpose(&mut x);
            for n in 0..8 {
                let (message, len) = lanes[n];
                // A store of nothing takes as long as a load of nothing where no memory is, and lanes without output have none.
                if len > 0 {
                    _mm512_mask_storeu_epi8(message.cast(), first(len), x[n]);
                }
            }
        }
    }
}

/// Returns the mask of the first `n` bytes of a line; of all if there are more.
#[inline(always)]
fn first(n: usize) -> u64 {
    if n < 64 { (1 << n) - 1 } else { u64::MAX }
}

/// Transposes 8 by 8 words.
#[inline(always)]
pub(in crate::des) unsafe fn transpose(x: &mut [__m512i; 8]) {
    // SAFETY: as the caller says.
    unsafe {
        let mut y = *x;
        for i in 0..4 {
            y[2 * i] = _mm512_unpacklo_epi64(x[2 * i], x[2 * i + 1]);
            y[2 * i + 1] = _mm512_unpackhi_epi64(x[2 * i], x[2 * i + 1]);
        }
        // y[2i + p] has words p, p + 2, p + 4, p + 6 of rows 2i and 2i + 1.
        let mut z = y;
        for i in 0..2 {
            for p in 0..2 {
                z[4 * i + p] = _mm512_shuffle_i64x2::<0b10_00_10_00>(y[4 * i + p], y[4 * i + p + 2]);
                z[4 * i + p + 2] = _mm512_shuffle_i64x2::<0b11_01_11_01>(y[4 * i + p], y[4 * i + p + 2]);
            }
        }
        // z[4i + p + 2v] has words p + 2v and p + 2v + 4 of rows 4i to 4i + 3.
        for p in 0..4 {
            x[p] = _mm512_shuffle_i64x2::<0b10_00_10_00>(z[p], z[4 + p]);
            x[p + 4] = _mm512_shuffle_i64x2::<0b11_01_11_01>(z[p], z[4 + p]);
        }
    }
}

pub(in crate::des) enum Avx512 {}

impl Cipher for Avx512 {
    type Wide = side_by_side::Row<512>;
    const WORTH: usize = 16;

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
    unsafe fn wide(
        schedule: &Schedule,
        direction: Direction,
        blocks: &mut side_by_side::Row<512>,
        used: usize,
    ) {
        let key = OneKey { schedule, direction };
        // SAFETY: as the caller says.
        unsafe {
            if used > 256 {
                __m512i::one_key(key, blocks);
            } else {
                Ymm::one_key(key, blocks.first_half());
            }
        }
    }
}

/// The ternary function `a ? b : c`.
const SELECT: i32 = 0xca;

/// Slices of 512 blocks.
impl Slice for __m512i {
    #[inline(always)]
    unsafe fn splat(mask: u32) -> Self {
        // SAFETY: as the caller says; so in all functions below.
        unsafe { _mm512_set1_epi32(mask as i32) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_and_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_or_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn without(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_andnot_si512(other, self) }
    }

    #[inline(always)]
    unsafe fn not(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_ternarylogic_epi32::<0x0f>(self, self, self) }
    }

    #[inline(always)]
    unsafe fn exchange<const SHIFT: u32>(a: Self, b: Self, mask: u64) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let mask = _mm512_set1_epi64(mask as i64);
            let (up, down) = (_mm512_slli_epi64::<SHIFT>(b), _mm512_srli_epi64::<SHIFT>(a));
            (
                _mm512_ternarylogic_epi32::<SELECT>(mask, a, up),
                _mm512_ternarylogic_epi32::<SELECT>(mask, down, b),
            )
        }
    }

    #[inline(always)]
    unsafe fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4] {
        // SAFETY: as above.
        unsafe { circuits::ternary::substitute::<BOX, Self>(input) }
    }
}

impl Ternary for __m512i {
    #[inline(always)]
    unsafe fn lut<const F: i32>(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_ternarylogic_epi32::<F>(a, b, c) }
    }
}

/// Slices of 256 blocks with ternary logic, which plain `__m256i` does without.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::des) struct Ymm(__m256i);

impl Slice for Ymm {
    #[inline(always)]
    unsafe fn splat(mask: u32) -> Self {
        // SAFETY: as above.
        unsafe { Ymm(_mm256_set1_epi32(mask as i32)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm(_mm256_and_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm(_mm256_or_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn without(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm(_mm256_andnot_si256(other.0, self.0)) }
    }

    #[inline(always)]
    unsafe fn not(self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm(_mm256_ternarylogic_epi32::<0x0f>(self.0, self.0, self.0)) }
    }

    #[inline(always)]
    unsafe fn exchange<const SHIFT: u32>(a: Self, b: Self, mask: u64) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let mask = _mm256_set1_epi64x(mask as i64);
            let count = _mm_cvtsi32_si128(SHIFT as i32);
            let (up, down) = (_mm256_sll_epi64(b.0, count), _mm256_srl_epi64(a.0, count));
            (Ymm(select(mask, a.0, up)), Ymm(select(mask, down, b.0)))
        }
    }

    #[inline(always)]
    unsafe fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4] {
        // SAFETY: as above.
        unsafe { circuits::ternary::substitute::<BOX, Self>(input) }
    }
}

impl Ternary for Ymm {
    #[inline(always)]
    unsafe fn lut<const F: i32>(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm(_mm256_ternarylogic_epi32::<F>(a.0, b.0, c.0)) }
    }
}

/// `mask ? a : b`, bit by bit.
#[inline(always)]
unsafe fn select(mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: as above.
    unsafe { _mm256_ternarylogic_epi32::<SELECT>(mask, a, b) }
}

/// Truth tables for S1 to S4 and for S5 to S8, by output bit, with entry 0 at the bit's place.
const TABLES: [[Lanes; 4]; 2] = {
    let mut tables = [[[0; 4]; 4]; 2];
    let mut i = 0;
    while i < 32 {
        let (s, q) = (i / 4, i % 4);
        tables[s / 4][q][s % 4] = TRUTH[s][q].rotate_left(PLACE[s][q]);
        i += 1;
    }
    tables
};

/// Returns the places of those output bits of S-box `s + 1` that the bits of `q` choose.
const fn places(s: usize, q: u8) -> u64 {
    let mut places = 0;
    let mut i = 0;
    while i < 4 {
        places |= (q as u64 >> i & 1) << PLACE[s][i];
        i += 1;
    }
    places
}

/// The masks for one half: the places of the first, of the third, and of the first two output
/// bits.
const MASKS: [[Lanes; 3]; 2] = {
    let mut masks = [[[0; 4]; 3]; 2];
    let mut s = 0;
    while s < 8 {
        masks[s / 4][0][s % 4] = places(s, 0b0001);
        masks[s / 4][1][s % 4] = places(s, 0b0100);
        masks[s / 4][2][s % 4] = places(s, 0b0011);
        s += 1;
    }
    masks
};

/// The masks that join the lanes: the output of a lane's first S-box, of both its S-boxes, and of
/// its own and its neighbour's.
const JOIN: [Lanes; 3] = {
    let mut join = [[0; 4]; 3];
    let mut lane = 0;
    while lane < 4 {
        let other = lane ^ 1;
        join[0][lane] = places(lane, 0b1111);
        join[1][lane] = places(lane, 0b1111) | places(lane + 4, 0b1111);
        join[2][lane] = join[1][lane] | places(other, 0b1111) | places(other + 4, 0b1111);
        lane += 1;
    }
    join
};

/// The rotation counts of a half block for the four S-boxes of each half.
const ROTATIONS: [Lanes; 2] = {
    let mut rotations = [[0; 4]; 2];
    let mut s = 0;
    while s < 8 {
        rotations[s / 4][s % 4] = EXPANSION[s] as u64;
        s += 1;
    }
    rotations
};

/// One block or two, by truth tables in registers.
impl Sboxes for Avx512 {
    /// Applies E: rotates a half block, given in the low 32 bits of every lane, for each S-box. The low six bits of a lane are
    /// the S-box's input; the bits above them don't matter, because a rotation counts modulo 64.
    #[inline(always)]
    unsafe fn expand(half: __m256i) -> Expanded {
        // SAFETY: as above.
        unsafe {
            [_mm256_rorv_epi32(half, register(ROTATIONS[0])), _mm256_rorv_epi32(half, register(ROTATIONS[1]))]
        }
    }

    /// Turns the S-boxes' inputs back into the half block.
    #[inline(always)]
    unsafe fn contract(half: Expanded) -> u32 {
        // SAFETY: as above.
        unsafe { (_mm256_cvtsi256_si32(half[0]) as u32).rotate_left(EXPANSION[0]) }
    }

    /// Applies the S-boxes and P. The result stands in the low 32 bits of every lane.
    #[inline(always)]
    unsafe fn f(input: Expanded) -> __m256i {
        // SAFETY: as above.
        unsafe {
            let first = half(input[0], &TABLES[0], &MASKS[0]);
            let second = half(input[1], &TABLES[1], &MASKS[1]);
            let two = select(register(JOIN[0]), first, second);
            // Lanes 0 and 1 are joined, and lanes 2 and 3; then the two pairs.
            let four = select(register(JOIN[1]), two, _mm256_shuffle_epi32::<0b01_00_11_10>(two));
            select(register(JOIN[2]), four, _mm256_permute4x64_epi64::<0b01_00_11_10>(four))
        }
    }
}

/// Looks up four S-boxes' output bits, each at its place.
#[inline(always)]
unsafe fn half(input: __m256i, tables: &[Lanes; 4], masks: &[Lanes; 3]) -> __m256i {
    // SAFETY: as above.
    unsafe {
        let mut bits = [input; 4];
        for q in 0..4 {
            bits[q] = _mm256_rorv_epi64(register(tables[q]), input);
        }
        let low = select(register(masks[0]), bits[0], bits[1]);
        let high = select(register(masks[1]), bits[2], bits[3]);
        select(register(masks[2]), low, high)
    }
}
