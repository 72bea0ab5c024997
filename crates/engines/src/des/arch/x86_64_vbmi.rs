//! AVX-512 with byte permutations and affine transforms: eight blocks to a register, and each S-box a
//! table in one register. This form serves some dozens of messages at a time.
//!
//! Ref. FIPS 46-3, "Enciphering"; Intel SDM volume 2, VPERMI2B, GF2P8AFFINEQB.
//!
//! # Safety
//! Inlined into entry points that have the features of [`LANES`].
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use millstream_cpu::FeatureSet;

use super::x86_64_avx512::{Avx512, Lines, Ymm, transpose};
use crate::des::job::{CbcJob, Job, LanesOps, lane_entry_points};
use crate::des::modes::Cipher;
use crate::des::ops::{Ops, row};
use crate::des::schedule::{MAX_ROUNDS, Schedule};
use crate::des::side_by_side::{self, Decipher, Form, Progress, Row};
use crate::des::wiring::{COPIES, ENTER, Groups, LEAVE, SECOND, SUBSTITUTE, Tables};
use crate::kernel::{self, Kernel, Timing};
use crate::lanes::Crossover;
use crate::modes::Direction;

const REQUIRES: FeatureSet = FeatureSet::parse("avx512f,avx512bw,avx512vl,avx512vbmi,gfni");

pub(in crate::des) const ROW: kernel::Row<Ops> = row!(
    "x86_64-vbmi-by512",
    "avx512f,avx512bw,avx512vl,avx512vbmi,gfni",
    Vbmi,
    "S-boxes in registers for up to 110 blocks, beyond that and for one as avx512"
);

pub(in crate::des) const LANES: kernel::Row<LanesOps> = kernel::Row {
    kernel: Kernel {
        name: "x86_64-vbmi-x256",
        requires: REQUIRES,
        timing: Timing::Constant,
        note: "S-boxes in registers for up to 110 messages, ternary-logic circuits across 256",
    },
    ops: lane_entry_points!(Crossover(&[(16, 3), (usize::MAX, 2)]), run, decrypt),
};

/// The least number of messages, or of blocks to decipher, for which slices are faster.
const SLICES: usize = 110;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
unsafe fn run<'k, J: Job<'k>>(jobs: &mut [&mut J]) {
    for wave in jobs.chunks_mut(256) {
        let mut progress = Progress::new(wave);
        // SAFETY: the caller vouches for the kernel's features, which this function has.
        unsafe {
            side_by_side::in_slices::<Ymm, J, 256>(wave, &mut progress, SLICES);
            for few in wave[..progress.live].chunks_mut(32) {
                bytes(few, progress.done);
            }
        }
    }
}

/// Runs up to 32 jobs to their end.
#[inline(always)]
unsafe fn bytes<'k, J: Job<'k>>(jobs: &mut [&mut J], done: usize) {
    let mut progress = Progress { live: jobs.len(), done };
    let direction = Direction::Encrypt;
    // SAFETY: as the caller says.
    unsafe {
        if side_by_side::one_key(jobs) {
            let key = OneKey { keys: jobs[0].keyed().schedule().ordered(), direction };
            side_by_side::chain(&key, jobs, &mut progress, 1);
        } else {
            let mut keys = ManyKeys::new(jobs[0].keyed().schedule().rounds());
            keys.set(&side_by_side::schedules(jobs), jobs.len(), direction);
            side_by_side::chain(&keys, jobs, &mut progress, 1);
            keys.wipe();
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
unsafe fn decrypt(jobs: &mut [&mut CbcJob<'_>]) {
    // SAFETY: as above.
    unsafe { side_by_side::cbc_decrypt::<Vbmi, 256>(jobs, 3) }
}

enum Vbmi {}

impl Cipher for Vbmi {
    type Wide = Row<512>;
    const WORTH: usize = 3;

    #[inline(always)]
    unsafe fn one(keys: &[Groups], block: u64) -> u64 {
        // SAFETY: as the caller says.
        unsafe { Avx512::one(keys, block) }
    }

    #[inline(always)]
    unsafe fn two(keys: &[Groups], blocks: [u64; 2]) -> [u64; 2] {
        // SAFETY: as the caller says.
        unsafe { Avx512::two(keys, blocks) }
    }

    #[inline(always)]
    unsafe fn wide(schedule: &Schedule, direction: Direction, blocks: &mut Row<512>, used: usize) {
        if used >= SLICES {
            // SAFETY: as the caller says.
            return unsafe { Avx512::wide(schedule, direction, blocks, used) };
        }
        let key = OneKey { keys: schedule.ordered(), direction };
        for at in (0..used).step_by(32) {
            // SAFETY: as the caller says.
            unsafe { crypt_some(&key, blocks.part(at), 32.min(used - at)) }
        }
    }
}

impl Decipher<256> for Vbmi {
    #[inline(always)]
    unsafe fn decipher(schedules: &[&Schedule; 256], one_key: bool, blocks: &mut Row<256>, used: usize) {
        // SAFETY: as the caller says.
        unsafe {
            if used >= SLICES {
                side_by_side::decipher_sliced::<Ymm, 256>(schedules, one_key, blocks);
            } else {
                for at in (0..used).step_by(32) {
                    let schedules = schedules[at..].first_chunk().expect("whole rows");
                    decipher_bytes(schedules, one_key, blocks.part(at), 32.min(used - at));
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn decipher_bytes(schedules: &[&Schedule; 32], one_key: bool, blocks: &mut Row<32>, used: usize) {
    let direction = Direction::Decrypt;
    // SAFETY: as the caller says.
    unsafe {
        if one_key {
            OneKey { keys: schedules[0].ordered(), direction }.crypt(blocks, used);
        } else {
            let mut keys = ManyKeys::new(schedules[0].rounds());
            keys.set(schedules, used, direction);
            keys.crypt(blocks, used);
            keys.wipe();
        }
    }
}

impl Form<32> for OneKey<'_> {
    type Transfer = Lines;

    #[inline(always)]
    unsafe fn crypt(&self, blocks: &mut Row<32>, live: usize) {
        // SAFETY: as the caller says.
        unsafe { crypt_some(self, blocks, live) }
    }
}

impl Form<32> for ManyKeys {
    type Transfer = Lines;

    #[inline(always)]
    unsafe fn crypt(&self, blocks: &mut Row<32>, live: usize) {
        // SAFETY: as the caller says.
        unsafe { crypt_some(self, blocks, live) }
    }
}

/// Ciphers the first `live` of 32 blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
unsafe fn crypt_some<K: Keys>(keys: &K, blocks: &mut Row<32>, live: usize) {
    // SAFETY: as above.
    unsafe {
        match live {
            0..=8 => crypt::<1, K>(keys, blocks),
            9..=16 => crypt::<2, K>(keys, blocks),
            17..=24 => crypt::<3, K>(keys, blocks),
            _ => crypt::<4, K>(keys, blocks),
        }
    }
}

/// The keys of eight blocks in a register, round by round.
trait Keys {
    /// 16 or 48.
    fn rounds(&self) -> usize;

    /// # Safety
    /// The kernel's features exist.
    unsafe fn key(&self, eight: usize, round: usize) -> __m512i;
}

/// One key for all blocks.
struct OneKey<'a> {
    /// The round keys in the order of encryption.
    keys: &'a [u64],
    direction: Direction,
}

impl Keys for OneKey<'_> {
    #[inline(always)]
    fn rounds(&self) -> usize {
        self.keys.len()
    }

    #[inline(always)]
    unsafe fn key(&self, _: usize, round: usize) -> __m512i {
        let round = match self.direction {
            Direction::Encrypt => round,
            Direction::Decrypt => self.keys.len() - 1 - round,
        };
        // SAFETY: as the caller says.
        unsafe { _mm512_set1_epi64(self.keys[round] as i64) }
    }
}

/// A key for each of 32 blocks. The keys of blocks that are not in use are not set.
struct ManyKeys {
    keys: [[MaybeUninit<__m512i>; MAX_ROUNDS]; 4],
    rounds: usize,
    eights: usize,
}

impl ManyKeys {
    /// Returns room for the keys of that many rounds.
    #[inline(always)]
    fn new(rounds: usize) -> Self {
        ManyKeys { keys: [[MaybeUninit::uninit(); MAX_ROUNDS]; 4], rounds, eights: 0 }
    }

    /// Takes the keys of the first `used` of 32 blocks.
    #[inline(always)]
    unsafe fn set(&mut self, schedules: &[&Schedule; 32], used: usize, direction: Direction) {
        self.eights = used.div_ceil(8);
        for eight in 0..self.eights {
            for at in (0..self.rounds).step_by(8) {
                // SAFETY: as the caller says; eight rounds are a line.
                unsafe {
                    let mut x = [_mm512_setzero_si512(); 8];
                    for n in 0..8 {
                        let keys: &[u64] = &schedules[8 * eight + n].ordered()[at..at + 8];
                        x[n] = _mm512_loadu_si512(keys.as_ptr().cast());
                    }
                    transpose(&mut x);
                    for i in 0..8 {
                        let round = match direction {
                            Direction::Encrypt => at + i,
                            Direction::Decrypt => self.rounds - 1 - at - i,
                        };
                        self.keys[eight][round].write(x[i]);
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn wipe(&mut self) {
        for eight in 0..self.eights {
            for round in 0..self.rounds {
                // SAFETY: as the caller says.
                unsafe { self.keys[eight][round].as_mut_ptr().write_volatile(_mm512_setzero_si512()) }
            }
        }
    }
}

impl Keys for ManyKeys {
    #[inline(always)]
    fn rounds(&self) -> usize {
        self.rounds
    }

    #[inline(always)]
    unsafe fn key(&self, eight: usize, round: usize) -> __m512i {
        debug_assert!(eight < self.eights && round < self.rounds);
        // SAFETY: only blocks in use are ciphered, in groups of eight whose keys are all set.
        unsafe { self.keys.get_unchecked(eight).get_unchecked(round).assume_init() }
    }
}

/// Ciphers the first `8 * N` blocks.
#[inline(always)]
unsafe fn crypt<const N: usize, K: Keys>(keys: &K, blocks: &mut Row<32>) {
    let rows = blocks.0.as_mut_ptr().cast::<__m512i>();
    // SAFETY: as the caller says; a row of 32 words is four aligned registers.
    unsafe {
        let mut l = [_mm512_setzero_si512(); N];
        let mut r = l;
        for n in 0..N {
            (l[n], r[n]) = enter(*rows.add(n));
        }
        for sixteen in (0..keys.rounds()).step_by(16) {
            for i in (sixteen..sixteen + 16).step_by(2) {
                for n in 0..N {
                    l[n] = _mm512_xor_si512(l[n], f(r[n], keys.key(n, i)));
                }
                for n in 0..N {
                    r[n] = _mm512_xor_si512(r[n], f(l[n], keys.key(n, i + 1)));
                }
            }
            (l, r) = (r, l);
        }
        for n in 0..N {
            *rows.add(n) = leave(l[n], r[n]);
        }
    }
}

/// The lowest six bits of each byte, which are an index, and the ternary functions `a & mask ^ c` and
/// `a & mask | c` that take this mask in the middle.
const SIX: u64 = u64::from_ne_bytes([0x3f; 8]);
const AND_XOR: i32 = 0x6a;
const AND_OR: i32 = 0xea;
/// `a | b & c`.
const OR_AND: i32 = 0xf8;

#[inline(always)]
unsafe fn splat(word: u64) -> __m512i {
    // SAFETY: as above.
    unsafe { _mm512_set1_epi64(word as i64) }
}

/// Byte j has bit j set. As the vector of an affine transform it turns the matrix into its transpose.
const DIAGONAL: u64 = u64::from_ne_bytes([1, 2, 4, 8, 16, 32, 64, 128]);

/// The function f of the standard, wired as [`crate::des::wiring`] says. The look-ups follow one
/// another, S1 and S2 first because their outputs are copied.
#[inline(always)]
unsafe fn f(half: __m512i, key: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let index = _mm512_ternarylogic_epi32::<AND_XOR>(half, splat(SIX), key);
        let out = look_up_pairs(&SUBSTITUTE, index);
        let first = _mm512_shuffle_epi8(out[0], eights(0));
        let second = _mm512_shuffle_epi8(out[0], eights(u64::from_ne_bytes([1; 8])));
        let x = _mm512_and_si512(out[0], bytes_of(0));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, out[1], bytes_of(1));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, first, splat(u64::from_ne_bytes(COPIES[0])));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, out[2], bytes_of(2));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, second, splat(u64::from_ne_bytes(COPIES[1])));
        let matrix = _mm512_ternarylogic_epi32::<OR_AND>(x, out[3], bytes_of(3));
        _mm512_gf2p8affine_epi64_epi8::<0>(splat(DIAGONAL), matrix)
    }
}

/// Turns byte numbers within eight bytes into byte numbers within sixteen.
#[inline(always)]
unsafe fn eights(bytes: u64) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let upper = bytes | u64::from_ne_bytes([8; 8]);
        _mm512_broadcast_i32x4(_mm_set_epi64x(upper as i64, bytes as i64))
    }
}

/// Looks every byte up in the tables of each pair of S-boxes. Only the bytes of that pair are of use
/// in each result. Bit 6 of an index is as in [`SECOND`].
#[inline(always)]
unsafe fn look_up_pairs(tables: &'static Tables, index: __m512i) -> [__m512i; 4] {
    // SAFETY: as above; a table is 64 bytes.
    unsafe {
        let mut out = [index; 4];
        for pair in 0..4 {
            let first = _mm512_loadu_si512(tables[2 * pair].as_ptr().cast());
            let second = _mm512_loadu_si512(tables[2 * pair + 1].as_ptr().cast());
            out[pair] = _mm512_permutex2var_epi8(first, index, second);
        }
        out
    }
}

/// Returns a mask of the bytes of one pair.
#[inline(always)]
unsafe fn bytes_of(pair: usize) -> __m512i {
    // SAFETY: as above.
    unsafe { splat(0xffff << (16 * pair)) }
}

/// Looks every byte up in its S-box's table.
#[inline(always)]
unsafe fn look_up(tables: &'static Tables, index: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let out = look_up_pairs(tables, index);
        let x = _mm512_and_si512(out[0], bytes_of(0));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, out[1], bytes_of(1));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, out[2], bytes_of(2));
        _mm512_ternarylogic_epi32::<OR_AND>(x, out[3], bytes_of(3))
    }
}

/// Applies IP and E: returns the left and the right half as indices.
#[inline(always)]
unsafe fn enter(block: __m512i) -> (__m512i, __m512i) {
    // SAFETY: as above.
    unsafe {
        let reversed = _mm512_shuffle_epi8(block, eights(u64::from_ne_bytes([7, 6, 5, 4, 3, 2, 1, 0])));
        (expand(reversed, COLUMNS[0]), expand(reversed, COLUMNS[1]))
    }
}

/// The bits of a block's bytes that IP collects into each byte of a half, for either half. The half
/// stands there twice, as two little-endian words.
const COLUMNS: [u64; 2] = [
    u64::from_ne_bytes([0x01, 0x04, 0x10, 0x40, 0x01, 0x04, 0x10, 0x40]),
    u64::from_ne_bytes([0x02, 0x08, 0x20, 0x80, 0x02, 0x08, 0x20, 0x80]),
];

/// Returns one half of a block, which is given with its bytes reversed.
#[inline(always)]
unsafe fn expand(reversed: __m512i, columns: u64) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let half = _mm512_gf2p8affine_epi64_epi8::<0>(splat(columns), reversed);
        let rotated = _mm512_rorv_epi32(half, splat(7 << 32 | 3));
        let inputs = _mm512_shuffle_epi8(rotated, eights(INPUTS));
        look_up(&ENTER, _mm512_ternarylogic_epi32::<AND_OR>(inputs, splat(SIX), splat(SECOND)))
    }
}

/// The byte in which each S-box finds its input (E), in the low six bits, when the half stands there
/// twice, rotated by 3 and by 7.
const INPUTS: u64 = u64::from_ne_bytes([3, 6, 2, 5, 1, 4, 0, 7]);

/// Turns the indices back into blocks with the inverse of IP.
#[inline(always)]
unsafe fn leave(l: __m512i, r: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let l = look_up(&LEAVE, _mm512_ternarylogic_epi32::<AND_OR>(l, splat(SIX), splat(SECOND)));
        let r = look_up(&LEAVE, _mm512_ternarylogic_epi32::<AND_OR>(r, splat(SIX), splat(SECOND)));
        // The bytes of the halves alternate, beginning with the right half's.
        let r = _mm512_or_si512(r, _mm512_srli_epi64::<8>(r));
        let l = _mm512_or_si512(l, _mm512_slli_epi64::<8>(l));
        let even = splat(u64::from_ne_bytes([0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0]));
        let halves = _mm512_ternarylogic_epi32::<0xca>(even, r, l);
        _mm512_gf2p8affine_epi64_epi8::<0>(splat(DIAGONAL), halves)
    }
}
