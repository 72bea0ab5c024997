//! AVX-512 with byte permutations and affine transforms: S-boxes are tables in registers. Up to 16 blocks go eight to a register
//! (`eights.rs`), more of them with one S-box or two to a register (`planes.rs`), and still more in slices as with AVX-512 alone.
//!
//! Ref. FIPS 46-3, "Enciphering"; Intel SDM volume 2, VPERMB, VPERMI2B, VPTERNLOG, GF2P8AFFINEQB.
//!
//! # Safety
//! Inlined into entry points that have the features of [`LANES`].
#![allow(unsafe_code)]

mod eights;
mod layouts;
mod planes;

use millstream_cpu::FeatureSet;

use super::x86_64_avx512::{Avx512, Ymm};
use crate::des::job::{CbcJob, Job, LanesOps, lane_entry_points};
use crate::des::modes::Cipher;
use crate::des::ops::{BLOCK, Ops, row};
use crate::des::schedule::Schedule;
use crate::des::side_by_side::{self, Decipher, Form, Progress, Row};
use crate::des::wiring::Groups;
use crate::kernel::{self, Kernel, Timing};
use crate::lanes::Crossover;
use crate::modes::Direction;
use eights::{ManyKeys, OneKey, crypt_some};
use layouts::{Layout, Pairs, Singles};

const REQUIRES: FeatureSet = FeatureSet::parse("avx512f,avx512bw,avx512vl,avx512vbmi,gfni");

pub(in crate::des) const ROW: kernel::Row<Ops> = row!(
    "x86_64-vbmi-by512",
    "avx512f,avx512bw,avx512vl,avx512vbmi,gfni",
    Vbmi,
    "S-boxes in registers for up to 192 blocks, beyond that and for one as avx512"
);

pub(in crate::des) const LANES: kernel::Row<LanesOps> = kernel::Row {
    kernel: Kernel {
        name: "x86_64-vbmi-x256",
        requires: REQUIRES,
        timing: Timing::Constant,
        note: "S-boxes in registers for up to 192 messages, ternary-logic circuits across 256",
    },
    ops: lane_entry_points!(Crossover(&[(16, 3), (usize::MAX, 2)]), run, decrypt),
};

/// The least number of messages or blocks under one key for which slices are faster.
const SLICES: usize = 193;

/// The same where each has a key of its own: keys cost more to lay out in planes than in slices.
const SLICES_OF_KEYS: usize = 160;

/// The same of blocks that have nothing behind them, for which planes don't pay.
const SLICES_AT_ONCE: usize = 110;

/// The least number of messages or blocks for which planes of 64 and of 32 are faster.
const PLANES_OF_64: usize = 33;
const PLANES_OF_32: usize = 17;

/// The least number of bytes that messages under keys of their own have before them when planes are faster.
const PLANES_OF_KEYS: usize = 4 * BLOCK;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
unsafe fn run<'k, J: Job<'k>>(jobs: &mut [&mut J]) {
    for wave in jobs.chunks_mut(256) {
        let mut progress = Progress::new(wave);
        // SAFETY: the caller vouches for the kernel's features, which this function has.
        unsafe {
            let slices = if side_by_side::one_key(wave) { SLICES } else { SLICES_OF_KEYS };
            side_by_side::in_slices::<Ymm, J, 256>(wave, &mut progress, slices);
            for some in wave[..progress.live].chunks_mut(64) {
                let mut progress = Progress { live: some.len(), done: progress.done };
                in_planes::<Singles, J, 8, 64>(some, &mut progress, PLANES_OF_64);
                for few in some[..progress.live].chunks_mut(32) {
                    let mut progress = Progress { live: few.len(), done: progress.done };
                    in_planes::<Pairs, J, 4, 32>(few, &mut progress, PLANES_OF_32);
                    bytes(&mut few[..progress.live], progress.done);
                }
            }
        }
    }
}

/// Runs up to `W` jobs in planes until fewer than `fewest` of them are live.
#[inline(always)]
unsafe fn in_planes<'k, L: Layout<P>, J: Job<'k>, const P: usize, const W: usize>(
    jobs: &mut [&mut J],
    progress: &mut Progress,
    fewest: usize,
) {
    let live = &jobs[..progress.live];
    if live.len() < fewest {
        return;
    }
    let one_key = side_by_side::one_key(live);
    if !one_key && live[fewest - 1].len() < progress.done + PLANES_OF_KEYS {
        return;
    }
    let direction = Direction::Encrypt;
    // SAFETY: as the caller says.
    unsafe {
        if one_key {
            let mut key = planes::OneKey::<L, P>::new(live[0].keyed().schedule(), direction);
            side_by_side::chain::<_, J, W>(&key, jobs, progress, fewest);
            key.wipe();
        } else {
            let schedules = side_by_side::schedules::<J, W>(live);
            let mut keys = planes::ManyKeys::<L, P>::new(&schedules, live.len(), direction);
            side_by_side::chain::<_, J, W>(&keys, jobs, progress, fewest);
            keys.wipe();
        }
    }
}

/// Runs up to 32 jobs to their end, eight to a register.
#[inline(always)]
unsafe fn bytes<'k, J: Job<'k>>(jobs: &mut [&mut J], done: usize) {
    if jobs.is_empty() {
        return;
    }
    let mut progress = Progress { live: jobs.len(), done };
    let direction = Direction::Encrypt;
    // SAFETY: as the caller says.
    unsafe {
        if side_by_side::one_key(jobs) {
            let key = OneKey { keys: jobs[0].keyed().schedule().ordered(), direction };
            side_by_side::chain(&key, jobs, &mut progress, 1);
        } else {
            let mut keys = ManyKeys::new(jobs[0].keyed().schedule().rounds());
            keys.set(&side_by_side::schedules::<J, 32>(jobs), jobs.len(), direction);
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
        // SAFETY: as the caller says.
        unsafe { crypt_blocks(schedule, direction, blocks, used) }
    }
}

impl Decipher<256> for Vbmi {
    #[inline(always)]
    unsafe fn decipher(schedules: &[&Schedule; 256], one_key: bool, blocks: &mut Row<256>, used: usize) {
        let slices = if one_key { SLICES } else { SLICES_AT_ONCE };
        // SAFETY: as the caller says.
        unsafe {
            if used >= slices {
                return side_by_side::decipher_sliced::<Ymm, 256>(schedules, one_key, blocks);
            }
            if one_key {
                return crypt_blocks(schedules[0], Direction::Decrypt, blocks, used);
            }
            let mut keys = ManyKeys::new(schedules[0].rounds());
            for at in (0..used).step_by(32) {
                let used = 32.min(used - at);
                keys.set(&schedules[at..], used, Direction::Decrypt);
                crypt_some(&keys, blocks.part(at), used);
            }
            keys.wipe();
        }
    }
}

/// Ciphers the first `used` blocks under one key.
#[inline(always)]
unsafe fn crypt_blocks<const W: usize>(
    schedule: &Schedule,
    direction: Direction,
    blocks: &mut Row<W>,
    used: usize,
) {
    let mut at = 0;
    // SAFETY: as the caller says.
    unsafe {
        if used >= PLANES_OF_64 {
            at = rows::<Singles, 8, 64, W>(schedule, direction, blocks, 0, used, PLANES_OF_64);
        }
        if used - at >= PLANES_OF_32 {
            rows::<Pairs, 4, 32, W>(schedule, direction, blocks, at, used, PLANES_OF_32);
        } else if at < used {
            let key = OneKey { keys: schedule.ordered(), direction };
            key.crypt(blocks.part(at), used - at);
        }
    }
}

/// Ciphers blocks from `at` on in planes until fewer than `fewest` of the `used` ones are left. Returns how many were ciphered in all. It is a function of
/// its own, because its caller may have a small stack.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
#[inline(never)]
unsafe fn rows<L: Layout<P>, const P: usize, const N: usize, const W: usize>(
    schedule: &Schedule,
    direction: Direction,
    blocks: &mut Row<W>,
    mut at: usize,
    used: usize,
    fewest: usize,
) -> usize {
    // SAFETY: as the caller says, whose features this function has.
    unsafe {
        let mut key = planes::OneKey::<L, P>::new(schedule, direction);
        while used - at >= fewest {
            let some = N.min(used - at);
            key.crypt(blocks.part::<N>(at), some);
            at += some;
        }
        key.wipe();
    }
    at
}
