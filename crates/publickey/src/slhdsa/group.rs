//! Hashes that run side by side: each has a lane.

use super::address::{Address, Kind};
use super::set::{Family, MAX_N, Set};
use crate::lattice::wipe;

/// The most hashes that run side by side.
pub(super) const LANES: usize = 16;

/// A node of the trees, as many bytes as the set says.
pub(super) type Node = [u8; MAX_N];

/// The steps of a chain, from its secret to its end.
pub(super) const STEPS: u32 = 15;

/// The public seed of a key, and the chaining values of SHA-2 behind it. Every hash of a set of SHA-2 begins with a block of the seed.
#[derive(Clone)]
pub(super) struct Seed {
    pub(super) family: Family,
    pub(super) n: usize,
    bytes: Node,
    pub(super) behind_256: [u32; 8],
    pub(super) behind_512: [u64; 8],
}

impl Seed {
    /// A seed, and the chaining values that it gives.
    pub(super) fn new(set: Set, bytes: &[u8], behind_256: [u32; 8], behind_512: [u64; 8]) -> Self {
        let mut seed =
            Seed { family: set.family(), n: bytes.len(), bytes: [0; MAX_N], behind_256, behind_512 };
        seed.bytes[..bytes.len()].copy_from_slice(bytes);
        seed
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.n]
    }
}

/// A hash to compute, or a chain of hashes.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) seed: &'a Seed,
    pub(super) address: Address,
    /// The bytes to hash: one node for a chain, two for a node of a tree, all for a public key.
    pub(super) input: &'a [u8],
    /// The steps of a chain that are done already.
    pub(super) done: u32,
}

/// The tasks in the lanes. Lanes without one repeat the first.
pub(super) struct Group<'a> {
    pub(super) count: usize,
    pub(super) tasks: [Task<'a>; LANES],
    /// The results.
    pub(super) nodes: [Node; LANES],
}

impl<'a> Group<'a> {
    /// Takes `count` tasks, one at least.
    #[inline(always)]
    pub(super) fn new(count: usize, task: impl Fn(usize) -> Task<'a>) -> Self {
        let mut tasks = [task(0); LANES];
        for lane in 1..count {
            tasks[lane] = task(lane);
        }
        Group { count, tasks, nodes: [[0; MAX_N]; LANES] }
    }

    /// Returns true if all tasks belong to the same key.
    #[inline(always)]
    pub(super) fn of_one_key(&self) -> bool {
        let mut same = true;
        for lane in 1..self.count {
            same &= std::ptr::eq(self.tasks[lane].seed, self.tasks[0].seed);
        }
        same
    }

    /// Returns the steps that are done in the lane that is the least far.
    #[inline(always)]
    pub(super) fn first_step(&self) -> u32 {
        let mut first = self.tasks[0].done;
        for lane in 1..self.count {
            first = first.min(self.tasks[lane].done);
        }
        first
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        wipe(&mut self.nodes, [0; MAX_N]);
    }
}

/// The chains of a group: a secret is made at their beginning, or they go on where they are.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// The kind of the hash that makes the secret of the input.
    pub(super) secret: Option<Kind>,
    /// The kind of the steps.
    pub(super) kind: Kind,
    /// The number of steps at which the chains end.
    pub(super) end: u32,
}

/// The nodes of the lanes of a chain at one step. A word has the byte order of the hash.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Snapshot {
    pub(super) words: [[u32; LANES]; MAX_N / 4],
}

impl Snapshot {
    pub(super) const ZERO: Self = Snapshot { words: [[0; LANES]; MAX_N / 4] };

    /// Writes the node of a lane.
    pub(super) fn copy(&self, family: Family, lane: usize, out: &mut [u8]) {
        for (i, bytes) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let word = self.words[i][lane];
            *bytes = if family == Family::Shake { word.to_le_bytes() } else { word.to_be_bytes() };
        }
    }
}

/// The snapshots of a group: one at each number of steps from zero on.
pub(super) const SNAPSHOTS: usize = STEPS as usize + 1;
