//! The hashes of several operations, in as many lanes of Keccak as there are: XOF, PRF, H, G and J.
//!
//! Ref. FIPS 203 §4.1; FIPS 202 §4 and §6.

use std::ops::Range;

use millstream_engines::sha3::{Keccak, RATE_256, RATE_512, RATE_SHAKE128, States};
use zeroize::Zeroize;

use super::coding;
use super::ops::Engine;
use super::poly::{N, Poly};
use crate::lattice::side_by_side::{LAST, Permute, SHAKE, in_groups, squeeze, task, word};
use crate::lattice::wipe;

/// The bits behind a message of SHA-3.
const SHA3: u64 = 0x06;

/// A matrix to expand.
pub(super) struct Expansion<'a> {
    pub(super) seed: &'a [u8; 32],
    pub(super) matrix: &'a mut [Poly],
}

/// Expands the matrices of `rank * rank` polynomials, row by row, in the transform's layout: FIPS 203 §5.1, algorithm 13, lines 3 to 7.
pub(super) fn expand(engine: Engine, rank: usize, expansions: &mut [Expansion<'_>]) {
    let count = rank * rank * expansions.len();
    in_groups!(engine.keccak, count, expand_group(engine, rank, expansions));
    for expansion in expansions {
        engine.arrange(expansion.matrix);
    }
}

/// Bytes that are squeezed at once: three blocks, which nearly always are enough.
const SQUEEZED: usize = 3 * RATE_SHAKE128;

fn expand_group<const L: usize>(
    engine: Engine,
    rank: usize,
    expansions: &mut [Expansion<'_>],
    tasks: Range<usize>,
) where
    States<L>: Permute,
{
    let each = rank * rank;
    let mut states = States::<L>::ZERO;
    for lane in 0..L {
        let task = task(&tasks, lane);
        let (seed, entry) = (expansions[task / each].seed, task % each);
        for i in 0..4 {
            states.words[i][lane] = word(seed, i);
        }
        // The column comes first.
        states.words[4][lane] = (entry % rank) as u64 | ((entry / rank) as u64) << 8 | SHAKE << 16;
        states.words[RATE_SHAKE128 / 8 - 1][lane] = LAST;
    }
    let mut bytes = [[0; SQUEEZED]; L];
    let mut have = [0; L];
    let mut blocks = 3;
    loop {
        for block in 0..blocks {
            states.permute(engine.keccak);
            squeeze::<L, RATE_SHAKE128, SQUEEZED>(&states, &mut bytes, block * RATE_SHAKE128);
        }
        let mut least = N;
        for lane in 0..tasks.len() {
            let task = tasks.start + lane;
            let poly = &mut expansions[task / each].matrix[task % each];
            have[lane] = engine.sample_vartime(&bytes[lane][..blocks * RATE_SHAKE128], poly, have[lane]);
            least = least.min(have[lane]);
        }
        if least == N {
            return;
        }
        blocks = 1;
    }
}

/// Makes `each` small polynomials for each seed, one behind the other, the first `rank` of them for `eta1`: PRF and
/// SamplePolyCBD of FIPS 203.
pub(super) fn noise(engine: Engine, [each, rank, eta1]: [usize; 3], seeds: &[[u8; 32]], polys: &mut [Poly]) {
    assert_eq!(polys.len(), each * seeds.len());
    let shape = [each, rank, eta1];
    in_groups!(engine.keccak, polys.len(), noise_group(engine, shape, seeds, polys));
}

fn noise_group<const L: usize>(
    engine: Engine,
    [each, rank, eta1]: [usize; 3],
    seeds: &[[u8; 32]],
    polys: &mut [Poly],
    tasks: Range<usize>,
) where
    States<L>: Permute,
{
    let mut states = States::<L>::ZERO;
    for lane in 0..L {
        let task = task(&tasks, lane);
        for i in 0..4 {
            states.words[i][lane] = word(&seeds[task / each], i);
        }
        states.words[4][lane] = (task % each) as u64 | SHAKE << 8;
        states.words[RATE_256 / 8 - 1][lane] = LAST;
    }
    states.permute(engine.keccak);
    let mut bytes = [[0; SQUEEZED]; L];
    squeeze::<L, RATE_256, SQUEEZED>(&states, &mut bytes, 0);
    let large = |task: usize| eta1 == 3 && task % each < rank;
    if tasks.clone().any(large) {
        states.permute(engine.keccak);
        squeeze::<L, 56, SQUEEZED>(&states, &mut bytes, RATE_256);
    }
    for lane in 0..tasks.len() {
        let task = tasks.start + lane;
        let bytes = &bytes[lane];
        if large(task) {
            coding::noise3(bytes.first_chunk().expect("longer"), &mut polys[task]);
        } else {
            engine.noise2(bytes.first_chunk().expect("longer"), &mut polys[task]);
        }
    }
    states.zeroize();
    wipe(bytes.as_flattened_mut(), 0);
}

/// A message in two parts, of which each is a multiple of 8 bytes, and a byte behind them, or none.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) head: &'a [u8],
    pub(super) body: &'a [u8],
    pub(super) byte: Option<u8>,
}

impl Message<'_> {
    fn words(&self) -> usize {
        (self.head.len() + self.body.len()) / 8
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        let head = self.head.len() / 8;
        if at < head { word(self.head, at) } else { word(self.body, at - head) }
    }
}

/// H: SHA3-256, of messages that are equally long.
pub(super) fn h(keccak: Keccak, messages: &[Message<'_>], digests: &mut [[u8; 64]]) {
    in_groups!(keccak, messages.len(), absorb_group(keccak, RATE_256 / 8, SHA3, messages, digests));
}

/// G: SHA3-512, whose digest is two values of 32 bytes.
pub(super) fn g(keccak: Keccak, messages: &[Message<'_>], digests: &mut [[u8; 64]]) {
    in_groups!(keccak, messages.len(), absorb_group(keccak, RATE_512 / 8, SHA3, messages, digests));
}

/// J: SHAKE256.
pub(super) fn j(keccak: Keccak, messages: &[Message<'_>], digests: &mut [[u8; 64]]) {
    in_groups!(keccak, messages.len(), absorb_group(keccak, RATE_256 / 8, SHAKE, messages, digests));
}

fn absorb_group<const L: usize>(
    keccak: Keccak,
    rate: usize,
    end: u64,
    messages: &[Message<'_>],
    digests: &mut [[u8; 64]],
    tasks: Range<usize>,
) where
    States<L>: Permute,
{
    let words = messages[tasks.start].words();
    let mut states = States::<L>::ZERO;
    for block in 0..=words / rate {
        let first = block * rate;
        let count = rate.min(words - first);
        for lane in 0..L {
            let message = &messages[task(&tasks, lane)];
            for i in 0..count {
                states.words[i][lane] ^= message.word(first + i);
            }
            if count < rate {
                let end = message.byte.map_or(end, |byte| u64::from(byte) | end << 8);
                states.words[count][lane] ^= end;
                states.words[rate - 1][lane] ^= LAST;
            }
        }
        states.permute(keccak);
    }
    for lane in 0..tasks.len() {
        for (i, bytes) in digests[tasks.start + lane].as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *bytes = states.words[i][lane].to_le_bytes();
        }
    }
    states.zeroize();
}
