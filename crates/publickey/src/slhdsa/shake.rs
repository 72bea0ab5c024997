//! The hashes of the sets of SHAKE, in lanes of Keccak.
//!
//! Everything here is inlined into the functions of a row, and compiled for its features.
//!
//! Ref. FIPS 205 §11.1; FIPS 202 §4 and §6.2.

use millstream_engines::sha3::{Keccak, RATE_256, States};

use super::address::Kind;
use super::group::{Group, Run, Snapshot};
use crate::lattice::side_by_side::{LAST, Permute, SHAKE, in_groups, task, word};
use crate::lattice::wipe;

/// Words of a block.
const RATE: usize = RATE_256 / 8;

/// Runs chains.
#[inline(always)]
pub(super) fn chains(keccak: Keccak, group: &mut Group<'_>, run: Run, snapshots: &mut [Snapshot]) {
    in_groups!(keccak, group.count, chains_in(keccak, group, run, snapshots));
}

#[inline(always)]
fn chains_in<const L: usize>(
    keccak: Keccak,
    group: &mut Group<'_>,
    run: Run,
    snapshots: &mut [Snapshot],
    lanes: std::ops::Range<usize>,
) where
    States<L>: Permute,
{
    let words = group.tasks[0].seed.n / 8;
    let mut chain = Chain::<L> {
        states: States::ZERO,
        seeds: [[0; L]; 4],
        addresses: [[0; L]; 4],
        value: [[0; L]; 4],
        words,
    };
    for lane in 0..L {
        let task = &group.tasks[task(&lanes, lane)];
        let address = task.address.whole();
        for i in 0..4 {
            chain.addresses[i][lane] = address[i];
        }
        for i in 0..words {
            chain.seeds[i][lane] = word(task.seed.bytes(), i);
            chain.value[i][lane] = word(task.input, i);
        }
    }
    if let Some(kind) = run.secret {
        chain.set_kind(kind);
        chain.step(keccak, 0);
        chain.take([u64::MAX; L]);
    }
    chain.set_kind(run.kind);
    for step in group.first_step()..run.end {
        if let Some(snapshot) = snapshots.get_mut(step as usize) {
            chain.keep(snapshot, lanes.start);
        }
        chain.step(keccak, step);
        let mut goes_on = [0; L];
        for lane in 0..L {
            goes_on[lane] = if group.tasks[task(&lanes, lane)].done <= step { u64::MAX } else { 0 };
        }
        chain.take(goes_on);
    }
    if let Some(snapshot) = snapshots.get_mut(run.end as usize) {
        chain.keep(snapshot, lanes.start);
    }
    for lane in 0..lanes.len() {
        let out = group.nodes[lanes.start + lane].as_chunks_mut::<8>().0;
        for i in 0..words {
            out[i] = chain.value[i][lane].to_le_bytes();
        }
    }
    wipe(&mut chain.states.words, [0; L]);
    wipe(&mut chain.value, [0; L]);
}

/// Chains in the lanes.
struct Chain<const L: usize> {
    states: States<L>,
    seeds: [[u64; L]; 4],
    addresses: [[u64; L]; 4],
    value: [[u64; L]; 4],
    /// Words of a node.
    words: usize,
}

impl<const L: usize> Chain<L>
where
    States<L>: Permute,
{
    /// Sets the kind in the addresses.
    #[inline(always)]
    fn set_kind(&mut self, kind: Kind) {
        for word in &mut self.addresses[2] {
            *word = *word >> 32 << 32 | u64::from((kind as u32).swap_bytes());
        }
    }

    /// Hashes the values, with the number of the step added to the last word of the address. That word is zero in a chain that has more
    /// than one step.
    #[inline(always)]
    fn step(&mut self, keccak: Keccak, step: u32) {
        let words = self.words;
        self.states.words = [[0; L]; 25];
        self.states.words[..words].copy_from_slice(&self.seeds[..words]);
        self.states.words[words..words + 4].copy_from_slice(&self.addresses);
        for lane in 0..L {
            self.states.words[words + 3][lane] |= u64::from(step.swap_bytes()) << 32;
        }
        self.states.words[words + 4..2 * words + 4].copy_from_slice(&self.value[..words]);
        self.states.words[2 * words + 4] = [SHAKE; L];
        self.states.words[RATE - 1] = [LAST; L];
        self.states.permute(keccak);
    }

    /// Takes what was hashed in the lanes whose mask is set.
    #[inline(always)]
    fn take(&mut self, mask: [u64; L]) {
        for i in 0..4 {
            for lane in 0..L {
                let (new, old) = (self.states.words[i][lane], self.value[i][lane]);
                self.value[i][lane] = old ^ (old ^ new) & mask[lane];
            }
        }
    }

    /// Writes the values into a snapshot, from the lane `first` on.
    #[inline(always)]
    fn keep(&self, snapshot: &mut Snapshot, first: usize) {
        for i in 0..self.words {
            for lane in 0..L {
                if let Some(word) = snapshot.words[2 * i].get_mut(first + lane) {
                    *word = self.value[i][lane] as u32;
                }
                if let Some(word) = snapshot.words[2 * i + 1].get_mut(first + lane) {
                    *word = (self.value[i][lane] >> 32) as u32;
                }
            }
        }
    }
}

/// Hashes inputs of one length.
#[inline(always)]
pub(super) fn hash(keccak: Keccak, group: &mut Group<'_>) {
    in_groups!(keccak, group.count, hash_in(keccak, group));
}

#[inline(always)]
fn hash_in<const L: usize>(keccak: Keccak, group: &mut Group<'_>, lanes: std::ops::Range<usize>)
where
    States<L>: Permute,
{
    let words = group.tasks[0].seed.n / 8;
    let len = words + 4 + group.tasks[0].input.len() / 8;
    let mut states = States::<L>::ZERO;
    for block in 0..=len / RATE {
        for i in 0..RATE {
            let at = RATE * block + i;
            for lane in 0..L {
                let task = &group.tasks[task(&lanes, lane)];
                states.words[i][lane] ^= if at < words {
                    word(task.seed.bytes(), at)
                } else if at < words + 4 {
                    task.address.whole()[at - words]
                } else if at < len {
                    word(task.input, at - words - 4)
                } else if at == len {
                    SHAKE
                } else {
                    0
                };
            }
        }
        if block == len / RATE {
            for lane in 0..L {
                states.words[RATE - 1][lane] ^= LAST;
            }
        }
        states.permute(keccak);
    }
    for lane in 0..lanes.len() {
        let out = group.nodes[lanes.start + lane].as_chunks_mut::<8>().0;
        for i in 0..4 {
            out[i] = states.words[i][lane].to_le_bytes();
        }
    }
    wipe(&mut states.words, [0; L]);
}
