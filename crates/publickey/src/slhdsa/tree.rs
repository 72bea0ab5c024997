//! Trees of hashes, several at once.
//!
//! Ref. FIPS 205 §6.1 (algorithm 9) and §8.2 (algorithm 15).

use super::address::Address;
use super::group::{Seed, Task};
use super::ops::Engine;
use crate::lattice::Work;

/// Trees of one height, with their leaves one behind the other.
pub(super) struct Trees {
    pub(super) height: usize,
    pub(super) count: usize,
    /// Bytes of a node.
    pub(super) n: usize,
}

impl Trees {
    /// Hashes leaves up to the roots, and returns those. Every level is shown to `seen` with its height, the leaves first and the roots
    /// last. `place` returns the seed and the address of a node by the tree, the height and the number in the tree.
    pub(super) fn climb<'a>(
        &self,
        engine: &Engine,
        leaves: Work<u8>,
        place: impl Fn(usize, usize, usize) -> (&'a Seed, Address),
        mut seen: impl FnMut(usize, &[u8]),
    ) -> Work<u8> {
        let n = self.n;
        let mut level = leaves;
        seen(0, &level);
        for height in 1..=self.height {
            let each = self.height - height;
            let mut next = Work::new(0, (self.count << each) * n);
            engine.hash(
                self.count << each,
                |node| {
                    let (seed, address) = place(node >> each, height, node & ((1 << each) - 1));
                    Task { seed, address, input: &level[2 * n * node..2 * n * (node + 1)], done: 0 }
                },
                |node, value| next[n * node..n * (node + 1)].copy_from_slice(&value[..n]),
            );
            level = next;
            seen(height, &level);
        }
        level
    }

    /// Copies the neighbour of a leaf's forefather from a level: the node that an authentication path has there.
    pub(super) fn copy_neighbour(
        &self,
        level: &[u8],
        tree: usize,
        height: usize,
        leaf: usize,
        out: &mut [u8],
    ) {
        let node = (tree << (self.height - height)) + ((leaf >> height) ^ 1);
        // A leaf's number is public.
        out.copy_from_slice(&level[self.n * node..self.n * (node + 1)]);
    }
}

/// A path from a leaf to its root.
pub(super) struct Path<'a> {
    pub(super) leaf: usize,
    /// The neighbours on the way, the lowest first.
    pub(super) neighbours: &'a [u8],
}

/// Hashes nodes up to the roots along their paths. `place` returns the seed and the address of a node by the path and the height.
pub(super) fn follow<'a>(
    engine: &Engine,
    n: usize,
    nodes: &mut [u8],
    path: impl Fn(usize) -> Path<'a>,
    place: impl Fn(usize, usize) -> (&'a Seed, Address),
) {
    let count = nodes.len() / n;
    let heights = path(0).neighbours.len() / n;
    let mut pairs = Work::new(0, 2 * nodes.len());
    for height in 0..heights {
        for i in 0..count {
            let Path { leaf, neighbours } = path(i);
            let (node, neighbour) = (&nodes[n * i..n * (i + 1)], &neighbours[n * height..n * (height + 1)]);
            let (left, right) = pairs[2 * n * i..2 * n * (i + 1)].split_at_mut(n);
            // A leaf's number is public.
            if leaf >> height & 1 == 0 {
                left.copy_from_slice(node);
                right.copy_from_slice(neighbour);
            } else {
                left.copy_from_slice(neighbour);
                right.copy_from_slice(node);
            }
        }
        engine.hash(
            count,
            |i| {
                let (seed, address) = place(i, height + 1);
                Task { seed, address, input: &pairs[2 * n * i..2 * n * (i + 1)], done: 0 }
            },
            |i, value| nodes[n * i..n * (i + 1)].copy_from_slice(&value[..n]),
        );
    }
}
