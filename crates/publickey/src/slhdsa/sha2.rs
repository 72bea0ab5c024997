//! The hashes of the sets of SHA-2, in lanes.
//!
//! Everything here is inlined into the functions of a row, and compiled for its features. The chaining value behind the seed's block is
//! where each hash begins, so that a step of a chain is one block.
//!
//! Ref. FIPS 205 §11.2; FIPS 180-4 §5.1.

use millstream_engines::hash::{FoldWord, LaneBlocks, LaneFold, LaneStates};
use millstream_engines::{sha256, sha512};
use zeroize::Zeroize;

use super::address::Kind;
use super::group::{Group, LANES, Run, Seed, Snapshot};
use super::set::Set;
use crate::lattice::wipe;

/// SHA-256 in lanes.
pub(super) type Fold256 = LaneFold<u32, LANES>;

/// SHA-512 in lanes.
pub(super) type Fold512 = LaneFold<u64, WIDE>;

/// The lanes of SHA-512.
pub(super) const WIDE: usize = 8;

/// Bytes of an address before the last whole word: the address has two bytes more.
const ADDRESS: usize = 22;

/// Runs chains, of SHA-256 in every set.
#[inline(always)]
pub(super) fn chains(fold: Fold256, group: &mut Group<'_>, run: Run, snapshots: &mut [Snapshot]) {
    match group.tasks[0].seed.n {
        16 => chains_of::<4>(fold, group, run, snapshots),
        24 => chains_of::<6>(fold, group, run, snapshots),
        _ => chains_of::<8>(fold, group, run, snapshots),
    }
}

#[inline(always)]
fn chains_of<const WORDS: usize>(fold: Fold256, group: &mut Group<'_>, run: Run, snapshots: &mut [Snapshot]) {
    let start = starts_256(group);
    let mut chain = Chain::<WORDS> {
        state: LaneStates::ZERO,
        block: LaneBlocks::ZERO,
        last: [0; LANES],
        value: [[0; LANES]; WORDS],
    };
    chain.block.words[15] = [8 * (64 + ADDRESS + 4 * WORDS) as u32; LANES];
    for lane in 0..LANES {
        let task = &group.tasks[lane];
        let address = task.address.compressed();
        for i in 0..5 {
            chain.block.words[i][lane] = address[i];
        }
        chain.last[lane] = address[5];
        let input = task.input.as_chunks::<4>().0;
        for i in 0..WORDS {
            chain.value[i][lane] = u32::from_be_bytes(input[i]);
        }
    }
    if let Some(kind) = run.secret {
        chain.set_kind(kind);
        chain.step(fold, &start, 0, group.count);
        chain.take([u32::MAX; LANES]);
    }
    chain.set_kind(run.kind);
    for step in group.first_step()..run.end {
        if let Some(snapshot) = snapshots.get_mut(step as usize) {
            snapshot.words[..WORDS].copy_from_slice(&chain.value);
        }
        chain.step(fold, &start, step, group.count);
        let mut goes_on = [0; LANES];
        for lane in 0..LANES {
            goes_on[lane] = if group.tasks[lane].done <= step { u32::MAX } else { 0 };
        }
        chain.take(goes_on);
    }
    if let Some(snapshot) = snapshots.get_mut(run.end as usize) {
        snapshot.words[..WORDS].copy_from_slice(&chain.value);
    }
    for lane in 0..LANES {
        let out = group.nodes[lane].as_chunks_mut::<4>().0;
        for i in 0..WORDS {
            out[i] = chain.value[i][lane].to_be_bytes();
        }
    }
    chain.state.zeroize();
    chain.block.zeroize();
    wipe(&mut chain.value, [0; LANES]);
}

/// Chains of nodes of so many words.
struct Chain<const WORDS: usize> {
    state: LaneStates<u32, LANES>,
    block: LaneBlocks<u32, LANES>,
    /// The last half word of the address, in the upper half.
    last: [u32; LANES],
    value: [[u32; LANES]; WORDS],
}

impl<const WORDS: usize> Chain<WORDS> {
    /// Sets the kind in the addresses.
    #[inline(always)]
    fn set_kind(&mut self, kind: Kind) {
        for word in &mut self.block.words[2] {
            *word = *word & 0xff00_ffff | (kind as u32) << 16;
        }
    }

    /// Hashes the values, with the number of the step added to the last word of the address. The address ends in the middle of a word,
    /// so that each word of the block has halves of two.
    #[inline(always)]
    fn step(&mut self, fold: Fold256, start: &LaneStates<u32, LANES>, step: u32, live: usize) {
        for lane in 0..LANES {
            self.block.words[5][lane] = (self.last[lane] + (step << 16)) | self.value[0][lane] >> 16;
        }
        for i in 1..WORDS {
            for lane in 0..LANES {
                self.block.words[5 + i][lane] = self.value[i - 1][lane] << 16 | self.value[i][lane] >> 16;
            }
        }
        for lane in 0..LANES {
            self.block.words[5 + WORDS][lane] = self.value[WORDS - 1][lane] << 16 | END_OF_MESSAGE;
        }
        self.state.words = start.words;
        fold.fold(&mut self.state, &self.block, live);
    }

    /// Takes what was hashed in the lanes whose mask is set.
    #[inline(always)]
    fn take(&mut self, mask: [u32; LANES]) {
        for i in 0..WORDS {
            for lane in 0..LANES {
                let (new, old) = (self.state.words[i][lane], self.value[i][lane]);
                self.value[i][lane] = old ^ (old ^ new) & mask[lane];
            }
        }
    }
}

/// The byte that ends a message, behind half a word.
const END_OF_MESSAGE: u32 = 0x8000;

/// Returns the chaining values behind the seeds.
#[inline(always)]
fn starts_256(group: &Group<'_>) -> LaneStates<u32, LANES> {
    let mut start = LaneStates::ZERO;
    if group.of_one_key() {
        for i in 0..8 {
            start.words[i] = [group.tasks[0].seed.behind_256[i]; LANES];
        }
    } else {
        for lane in 0..LANES {
            for i in 0..8 {
                start.words[i][lane] = group.tasks[lane].seed.behind_256[i];
            }
        }
    }
    start
}

/// Hashes inputs of one length by SHA-256.
#[inline(always)]
pub(super) fn hash_256(fold: Fold256, group: &mut Group<'_>) {
    let mut states = starts_256(group);
    let mut addresses = [[0; LANES]; 6];
    for lane in 0..LANES {
        let address = group.tasks[lane].address.compressed();
        for i in 0..6 {
            addresses[i][lane] = address[i];
        }
    }
    let len = group.tasks[0].input.len();
    let mut blocks = LaneBlocks::<u32, LANES>::ZERO;
    let count = (ADDRESS + len + 9).div_ceil(64);
    for block in 0..count {
        for i in 0..16 {
            let at = 16 * block + i;
            if at < 5 {
                blocks.words[i] = addresses[at];
            } else if at == 5 {
                for lane in 0..LANES {
                    let head = read::<2>(group.tasks[lane].input, 0);
                    blocks.words[i][lane] = addresses[5][lane] | head as u32;
                }
            } else {
                row(&mut blocks.words[i], group, 4 * at - ADDRESS);
            }
        }
        if block == count - 1 {
            blocks.words[15] = [8 * (64 + ADDRESS + len) as u32; LANES];
        }
        fold.fold(&mut states, &blocks, group.count);
    }
    for lane in 0..LANES {
        write(&mut group.nodes[lane], |i| states.words[i][lane]);
    }
    states.zeroize();
    blocks.zeroize();
}

/// Hashes inputs of one length by SHA-512.
#[inline(always)]
pub(super) fn hash_512(fold: Fold512, group: &mut Group<'_>) {
    let mut states = LaneStates::<u64, WIDE>::ZERO;
    let mut addresses = [[0u64; WIDE]; 3];
    for lane in 0..WIDE {
        let task = &group.tasks[lane];
        let address = task.address.compressed();
        for i in 0..3 {
            addresses[i][lane] = u64::from(address[2 * i]) << 32 | u64::from(address[2 * i + 1]);
        }
        for i in 0..8 {
            states.words[i][lane] = task.seed.behind_512[i];
        }
    }
    let len = group.tasks[0].input.len();
    let mut blocks = LaneBlocks::<u64, WIDE>::ZERO;
    let count = (ADDRESS + len + 17).div_ceil(128);
    for block in 0..count {
        for i in 0..16 {
            let at = 16 * block + i;
            if at < 2 {
                blocks.words[i] = addresses[at];
            } else if at == 2 {
                for lane in 0..WIDE {
                    blocks.words[i][lane] = addresses[2][lane] | read::<2>(group.tasks[lane].input, 0);
                }
            } else {
                row(&mut blocks.words[i], group, 8 * at - ADDRESS);
            }
        }
        if block == count - 1 {
            blocks.words[15] = [8 * (128 + ADDRESS + len) as u64; WIDE];
        }
        fold.fold(&mut states, &blocks, group.count);
    }
    for lane in 0..WIDE {
        write(&mut group.nodes[lane], |i| states.words[i][lane]);
    }
    states.zeroize();
    blocks.zeroize();
}

/// Reads a word of each input, from `at` on, and the byte that ends the message behind the input's last bytes.
#[inline(always)]
fn row<W: Word, const N: usize>(words: &mut [W; N], group: &Group<'_>, at: usize) {
    let len = group.tasks[0].input.len();
    for lane in 0..N {
        let input = group.tasks[lane].input;
        words[lane] = if at + size_of::<W>() <= len {
            W::read(input, at)
        } else if at < len {
            W::read_end(input, at)
        } else {
            W::ZERO
        };
    }
}

/// Reads so many bytes as a number, the most significant first.
#[inline(always)]
fn read<const BYTES: usize>(input: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word[8 - BYTES..].copy_from_slice(&input[at..at + BYTES]);
    u64::from_be_bytes(word)
}

/// Writes the words of a node.
#[inline(always)]
fn write<W: Word>(node: &mut [u8], word: impl Fn(usize) -> W) {
    for (i, bytes) in node.chunks_exact_mut(size_of::<W>()).enumerate() {
        word(i).write(bytes);
    }
}

/// A word that is read from an input. The inputs are whole nodes, and stand behind an address of 22 bytes: their last bytes fill a word
/// but for two bytes.
trait Word: FoldWord {
    fn read(input: &[u8], at: usize) -> Self;

    /// Reads the last bytes, and ends the message behind them.
    fn read_end(input: &[u8], at: usize) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    fn read(input: &[u8], at: usize) -> u32 {
        read::<4>(input, at) as u32
    }

    #[inline(always)]
    fn read_end(input: &[u8], at: usize) -> u32 {
        (read::<2>(input, at) as u32) << 16 | END_OF_MESSAGE
    }
}

impl Word for u64 {
    #[inline(always)]
    fn read(input: &[u8], at: usize) -> u64 {
        read::<8>(input, at)
    }

    #[inline(always)]
    fn read_end(input: &[u8], at: usize) -> u64 {
        read::<6>(input, at) << 16 | u64::from(END_OF_MESSAGE)
    }
}

/// Returns a public seed with the chaining values behind its block.
pub(super) fn seed(sha256: Fold256, sha512: Fold512, set: Set, bytes: &[u8]) -> Seed {
    let mut states = LaneStates::<u32, LANES>::ZERO;
    let mut blocks = LaneBlocks::<u32, LANES>::ZERO;
    for (i, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
        blocks.words[i][0] = u32::from_be_bytes(*word);
    }
    for i in 0..8 {
        states.words[i][0] = sha256::START[i];
    }
    sha256.fold(&mut states, &blocks, 1);
    let mut wide_states = LaneStates::<u64, WIDE>::ZERO;
    let mut wide_blocks = LaneBlocks::<u64, WIDE>::ZERO;
    for (i, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
        wide_blocks.words[i][0] = u64::from_be_bytes(*word);
    }
    for i in 0..8 {
        wide_states.words[i][0] = sha512::START[i];
    }
    sha512.fold(&mut wide_states, &wide_blocks, 1);
    Seed::new(set, bytes, states.words.map(|word| word[0]), wide_states.words.map(|word| word[0]))
}
