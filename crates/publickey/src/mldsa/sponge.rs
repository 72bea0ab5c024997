//! The hashes of several operations, in as many lanes of Keccak as there are: H and G of the standard, and what is drawn from them.
//!
//! Ref. FIPS 204 §3.7 and §7.3; FIPS 202 §4 and §6.

use std::ops::Range;

use millstream_engines::sha3::{Keccak, RATE_256, RATE_SHAKE128, States};
use zeroize::Zeroize;

use super::coding::Draw;
use super::ops::Engine;
use super::poly::{N, Poly};
use super::set::Set;
use crate::lattice::side_by_side::{LAST, Permute, SHAKE, in_groups, squeeze, task, word};
use crate::lattice::wipe;

/// A matrix to expand.
pub(super) struct Expansion<'a> {
    pub(super) seed: &'a [u8; 32],
    /// The rows, each with room for one more polynomial behind it.
    pub(super) rows: &'a mut [Poly],
}

/// Expands matrices, row by row, in the transform's layout: FIPS 204 §7.3, algorithm 32.
pub(super) fn expand(engine: Engine, set: Set, expansions: &mut [Expansion<'_>]) {
    let count = set.rows() * set.columns() * expansions.len();
    in_groups!(engine.keccak, count, expand_group(engine, set, expansions));
    for expansion in expansions {
        for row in expansion.rows.chunks_mut(set.columns() + 1) {
            engine.arrange(&mut row[..set.columns()]);
        }
    }
}

/// Blocks that are squeezed at once, which nearly always are enough for a polynomial of a matrix.
const UNIFORM: usize = 5;

fn expand_group<const L: usize>(
    engine: Engine,
    set: Set,
    expansions: &mut [Expansion<'_>],
    tasks: Range<usize>,
) where
    States<L>: Permute,
{
    let (columns, each) = (set.columns(), set.rows() * set.columns());
    let mut states = States::<L>::ZERO;
    for lane in 0..L {
        let task = task(&tasks, lane);
        let (seed, entry) = (expansions[task / each].seed, task % each);
        for i in 0..4 {
            states.words[i][lane] = word(seed, i);
        }
        // The column comes first.
        states.words[4][lane] = (entry % columns) as u64 | ((entry / columns) as u64) << 8 | SHAKE << 16;
        states.words[RATE_SHAKE128 / 8 - 1][lane] = LAST;
    }
    let mut bytes = [[0; UNIFORM * RATE_SHAKE128]; L];
    let mut have = [0; L];
    let mut blocks = UNIFORM;
    loop {
        for block in 0..blocks {
            states.permute(engine.keccak);
            squeeze::<L, RATE_SHAKE128, _>(&states, &mut bytes, block * RATE_SHAKE128);
        }
        let mut least = N;
        for lane in 0..tasks.len() {
            let task = tasks.start + lane;
            let (row, column) = (task % each / columns, task % each % columns);
            let poly = &mut expansions[task / each].rows[row * (columns + 1) + column];
            have[lane] = engine.sample_vartime(&bytes[lane][..blocks * RATE_SHAKE128], poly, have[lane]);
            least = least.min(have[lane]);
        }
        if least == N {
            return;
        }
        blocks = 1;
    }
}

/// Begins a stream of SHAKE256 in a lane: 64 bytes of a seed, and a number of 16 bits behind them.
#[inline(always)]
fn begin<const L: usize>(states: &mut States<L>, lane: usize, seed: &[u8; 64], number: u16) {
    for i in 0..8 {
        states.words[i][lane] = word(seed, i);
    }
    states.words[8][lane] = u64::from(number) | SHAKE << 16;
    states.words[RATE_256 / 8 - 1][lane] = LAST;
}

/// Makes the vectors s1 and s2 for each seed, one behind the other: FIPS 204 §7.3, algorithm 33.
pub(super) fn small(engine: Engine, set: Set, seeds: &[[u8; 64]], polys: &mut [Poly]) {
    assert_eq!(polys.len(), (set.rows() + set.columns()) * seeds.len());
    in_groups!(engine.keccak, polys.len(), small_group(engine, set, seeds, polys));
}

/// Blocks that are squeezed at once, which nearly always are enough for a small polynomial.
const SMALL: usize = 2;

fn small_group<const L: usize>(
    engine: Engine,
    set: Set,
    seeds: &[[u8; 64]],
    polys: &mut [Poly],
    tasks: Range<usize>,
) where
    States<L>: Permute,
{
    let each = set.rows() + set.columns();
    let mut states = States::<L>::ZERO;
    for lane in 0..L {
        let task = task(&tasks, lane);
        begin(&mut states, lane, &seeds[task / each], (task % each) as u16);
    }
    let mut bytes = [[0; SMALL * RATE_256]; L];
    let mut have = [0; L];
    let mut blocks = SMALL;
    loop {
        for block in 0..blocks {
            states.permute(engine.keccak);
            squeeze::<L, RATE_256, _>(&states, &mut bytes, block * RATE_256);
        }
        let mut least = N;
        for lane in 0..tasks.len() {
            let (bytes, poly) = (&bytes[lane][..blocks * RATE_256], &mut polys[tasks.start + lane]);
            have[lane] = engine.sample_small(bytes, set.eta(), poly, have[lane]);
            least = least.min(have[lane]);
        }
        if least == N {
            break;
        }
        blocks = 1;
    }
    states.zeroize();
    wipe(bytes.as_flattened_mut(), 0);
}

/// A vector y to make.
#[derive(Clone, Copy)]
pub(super) struct Mask<'a> {
    /// The standard's rho''.
    pub(super) seed: &'a [u8; 64],
    /// The standard's kappa.
    pub(super) first: u16,
}

/// Makes the vectors y, one behind the other: FIPS 204 §7.3, algorithm 34.
pub(super) fn masks(engine: Engine, set: Set, masks: &[Mask<'_>], polys: &mut [Poly]) {
    assert_eq!(polys.len(), set.columns() * masks.len());
    in_groups!(engine.keccak, polys.len(), masks_group(engine, set, masks, polys));
}

fn masks_group<const L: usize>(
    engine: Engine,
    set: Set,
    masks: &[Mask<'_>],
    polys: &mut [Poly],
    tasks: Range<usize>,
) where
    States<L>: Permute,
{
    /// Blocks of a polynomial, of either size.
    const BLOCKS: usize = 5;
    let each = set.columns();
    let mut states = States::<L>::ZERO;
    for lane in 0..L {
        let task = task(&tasks, lane);
        let mask = &masks[task / each];
        begin(&mut states, lane, mask.seed, mask.first + (task % each) as u16);
    }
    let mut bytes = [[0; BLOCKS * RATE_256]; L];
    for block in 0..BLOCKS {
        states.permute(engine.keccak);
        squeeze::<L, RATE_256, _>(&states, &mut bytes, block * RATE_256);
    }
    for lane in 0..tasks.len() {
        let poly = &mut polys[tasks.start + lane];
        engine.decode(&bytes[lane][..set.z_len()], set.z_bits(), Some(set.gamma1()), poly);
    }
    states.zeroize();
    wipe(bytes.as_flattened_mut(), 0);
}

/// Makes the challenges of hashes, which are as long as the set says: FIPS 204 §7.3, algorithm 29. The time depends on the hashes, which are
/// public.
pub(super) fn challenges_vartime(keccak: Keccak, set: Set, hashes: &[&[u8]], polys: &mut [Poly]) {
    assert_eq!(hashes.len(), polys.len());
    in_groups!(keccak, polys.len(), challenges_group(keccak, set, hashes, polys));
}

fn challenges_group<const L: usize>(
    keccak: Keccak,
    set: Set,
    hashes: &[&[u8]],
    polys: &mut [Poly],
    tasks: Range<usize>,
) where
    States<L>: Permute,
{
    let mut states = States::<L>::ZERO;
    for lane in 0..L {
        let hash = hashes[task(&tasks, lane)];
        for i in 0..set.hash_len() / 8 {
            states.words[i][lane] = word(hash, i);
        }
        states.words[set.hash_len() / 8][lane] = SHAKE;
        states.words[RATE_256 / 8 - 1][lane] = LAST;
    }
    let mut bytes = [[0; RATE_256]; L];
    states.permute(keccak);
    squeeze::<L, RATE_256, _>(&states, &mut bytes, 0);
    let mut draws = [Draw::new(set, 0); L];
    for lane in 0..tasks.len() {
        draws[lane] = Draw::new(set, states.words[0][lane]);
        polys[tasks.start + lane] = Poly::ZERO;
    }
    let mut used = 8;
    loop {
        let mut complete = true;
        for lane in 0..tasks.len() {
            complete &= draws[lane].draw_vartime(&bytes[lane][used..], &mut polys[tasks.start + lane]);
        }
        if complete {
            return;
        }
        states.permute(keccak);
        squeeze::<L, RATE_256, _>(&states, &mut bytes, 0);
        used = 0;
    }
}

/// The most parts of a message.
pub(super) const PARTS: usize = 4;

/// A message, whose parts lie one behind the other. The lengths are public.
#[derive(Clone, Copy, Default)]
pub(super) struct Message<'a>(pub(super) [&'a [u8]; PARTS]);

impl Message<'_> {
    fn len(&self) -> usize {
        self.0.iter().map(|part| part.len()).sum()
    }

    /// Copies what is from `at` on to a block, as much as there is or as fits.
    #[inline(always)]
    fn copy_to(&self, at: usize, block: &mut [u8; RATE_256]) {
        let (mut skip, mut have) = (at, 0);
        for part in &self.0 {
            let from = skip.min(part.len());
            skip -= from;
            let part = &part[from..];
            let now = part.len().min(RATE_256 - have);
            block[have..have + now].copy_from_slice(&part[..now]);
            have += now;
        }
    }
}

/// H: the first `OUT` bytes of SHAKE256 of each message, at most a block. Messages of different lengths cost as much as the longest of the
/// group.
pub(super) fn h<const OUT: usize>(keccak: Keccak, messages: &[Message<'_>], digests: &mut [[u8; OUT]]) {
    in_groups!(keccak, messages.len(), h_group(keccak, messages, digests.as_flattened_mut(), OUT));
}

fn h_group<const L: usize>(
    keccak: Keccak,
    messages: &[Message<'_>],
    digests: &mut [u8],
    digest_len: usize,
    tasks: Range<usize>,
) where
    States<L>: Permute,
{
    let mut states = States::<L>::ZERO;
    let mut last = [0; L];
    let mut most = 0;
    for lane in 0..tasks.len() {
        last[lane] = messages[tasks.start + lane].len() / RATE_256;
        most = most.max(last[lane]);
    }
    let mut bytes = [0; RATE_256];
    for block in 0..=most {
        for lane in 0..tasks.len() {
            if block > last[lane] {
                continue;
            }
            let message = &messages[tasks.start + lane];
            bytes = [0; RATE_256];
            message.copy_to(block * RATE_256, &mut bytes);
            if block == last[lane] {
                bytes[message.len() % RATE_256] = SHAKE as u8;
                bytes[RATE_256 - 1] |= 0x80;
            }
            for i in 0..RATE_256 / 8 {
                states.words[i][lane] ^= word(&bytes, i);
            }
        }
        states.permute(keccak);
        for lane in 0..tasks.len() {
            if block == last[lane] {
                let digest = &mut digests[digest_len * (tasks.start + lane)..][..digest_len];
                for (i, out) in digest.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    *out = states.words[i][lane].to_le_bytes();
                }
            }
        }
    }
    states.zeroize();
    bytes.zeroize();
}
