//! FORS, the few-time signature at the bottom: forests of trees, of several messages at once.
//!
//! Ref. FIPS 205 §8.

use super::address::{Address, Kind};
use super::group::{Run, Seed, Task};
use super::ops::Engine;
use super::set::{Set, Shape};
use super::tree::{Path, Trees, follow};
use super::work::{Sign, Verify};
use crate::lattice::Work;

/// Leaves that are computed at a time, at least one tree of them: few enough for a cache.
const LEAVES: usize = 4096;

/// Signs, and returns the public keys: FIPS 205 §8.3, algorithm 16, and §8.4, algorithm 17.
pub(super) fn sign(engine: &Engine, set: Set, jobs: &mut [Sign<'_>]) -> Work<u8> {
    let shape = set.shape();
    let (n, each) = (shape.n, shape.fors_trees);
    secrets(engine, set, jobs);
    let mut roots = Work::new(0, jobs.len() * each * n);
    let at_once = (LEAVES >> shape.fors_height).max(1);
    for first in (0..jobs.len() * each).step_by(at_once) {
        let count = at_once.min(jobs.len() * each - first);
        let of_forest = forest(engine, set, jobs, first, count);
        roots[n * first..n * (first + count)].copy_from_slice(&of_forest);
    }
    let keys: Vec<_> = jobs.iter().map(|job| (job.seed, job.choice.place(set, 0))).collect();
    public_keys(engine, &shape, &keys, &roots)
}

/// Returns an address of a message's forest.
fn address((tree, leaf): (u64, usize), kind: Kind, height: usize, node: usize) -> Address {
    Address { layer: 0, tree, kind, words: [leaf as u32, height as u32, node as u32] }
}

/// Computes trees, from the number `first` of those of all messages on. Their paths go into the signatures.
fn forest(engine: &Engine, set: Set, jobs: &mut [Sign<'_>], first: usize, count: usize) -> Work<u8> {
    let shape = set.shape();
    let (n, height, each) = (shape.n, shape.fors_height, shape.fors_trees);
    let trees = Trees { height, count, n };
    let mut leaves = Work::new(0, (count << height) * n);
    let run = Run { secret: Some(Kind::ForsSecret), kind: Kind::ForsTree, end: 1 };
    let (keys, choices): (Vec<_>, Vec<_>) =
        jobs.iter().map(|job| ((job.seed, job.secret), job.choice)).unzip();
    engine.chains(
        run,
        count << height,
        &mut [],
        |leaf| {
            let tree = first + (leaf >> height);
            let (job, tree) = (tree / each, tree % each);
            let node = (tree << height) + (leaf & ((1 << height) - 1));
            let place = choices[job].place(set, 0);
            let (seed, secret) = keys[job];
            let address = address(place, Kind::ForsTree, 0, node);
            Task { seed, address, input: secret.seed(), done: 0 }
        },
        |leaf, node| leaves[n * leaf..n * (leaf + 1)].copy_from_slice(&node[..n]),
    );
    trees.climb(
        engine,
        leaves,
        |tree, up, node| {
            let (job, tree) = ((first + tree) / each, (first + tree) % each);
            let node = (tree << (height - up)) + node;
            (keys[job].0, address(choices[job].place(set, 0), Kind::ForsTree, up, node))
        },
        |up, level| {
            if up == height {
                return;
            }
            for i in 0..count {
                let (job, tree) = ((first + i) / each, (first + i) % each);
                let at = n + (tree * (1 + height) + 1 + up) * n;
                let out = &mut jobs[job].signature[at..at + n];
                trees.copy_neighbour(level, i, up, choices[job].fors[tree], out);
            }
        },
    )
}

/// Writes the secrets of the leaves that were chosen into the signatures.
fn secrets(engine: &Engine, set: Set, jobs: &mut [Sign<'_>]) {
    let shape = set.shape();
    let (n, height, each) = (shape.n, shape.fors_height, shape.fors_trees);
    let run = Run { secret: Some(Kind::ForsSecret), kind: Kind::ForsTree, end: 0 };
    let (keys, choices): (Vec<_>, Vec<_>) =
        jobs.iter().map(|job| ((job.seed, job.secret), job.choice)).unzip();
    engine.chains(
        run,
        jobs.len() * each,
        &mut [],
        |i| {
            let (job, tree) = (i / each, i % each);
            let node = (tree << height) + choices[job].fors[tree];
            let place = choices[job].place(set, 0);
            let (seed, secret) = keys[job];
            let address = address(place, Kind::ForsTree, 0, node);
            Task { seed, address, input: secret.seed(), done: 0 }
        },
        |i, node| {
            let at = n + i % each * (1 + height) * n;
            jobs[i / each].signature[at..at + n].copy_from_slice(&node[..n]);
        },
    );
}

/// Hashes the roots of each message's trees.
fn public_keys(engine: &Engine, shape: &Shape, keys: &[(&Seed, (u64, usize))], roots: &[u8]) -> Work<u8> {
    let n = shape.n;
    let len = shape.fors_trees * n;
    let mut out = Work::new(0, keys.len() * n);
    engine.hash(
        keys.len(),
        |i| {
            let (seed, place) = keys[i];
            let address = address(place, Kind::ForsRoots, 0, 0);
            Task { seed, address, input: &roots[len * i..len * (i + 1)], done: 0 }
        },
        |i, node| out[n * i..n * (i + 1)].copy_from_slice(&node[..n]),
    );
    out
}

/// Returns the public keys that signatures give.
pub(super) fn public_keys_vartime(engine: &Engine, set: Set, jobs: &[Verify<'_>]) -> Work<u8> {
    let shape = set.shape();
    let (n, height, each) = (shape.n, shape.fors_height, shape.fors_trees);
    let mut nodes = Work::new(0, jobs.len() * each * n);
    // The part of a tree: a secret, and the path of its leaf.
    let part = |i: usize| {
        let len = (1 + height) * n;
        let at = n + i % each * len;
        jobs[i / each].signature[at..at + len].split_at(n)
    };
    let place = |i: usize, up: usize| {
        let job = &jobs[i / each];
        let node = ((i % each) << (height - up)) + (job.choice.fors[i % each] >> up);
        (job.seed, address(job.choice.place(set, 0), Kind::ForsTree, up, node))
    };
    engine.chains(
        Run { secret: None, kind: Kind::ForsTree, end: 1 },
        jobs.len() * each,
        &mut [],
        |i| {
            let (seed, address) = place(i, 0);
            Task { seed, address, input: part(i).0, done: 0 }
        },
        |i, node| nodes[n * i..n * (i + 1)].copy_from_slice(&node[..n]),
    );
    let path = |i: usize| Path { leaf: jobs[i / each].choice.fors[i % each], neighbours: part(i).1 };
    follow(engine, n, &mut nodes, path, place);
    let keys: Vec<_> = jobs.iter().map(|job| (job.seed, job.choice.place(set, 0))).collect();
    public_keys(engine, &shape, &keys, &nodes)
}
