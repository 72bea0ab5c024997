//! The trees of one-time keys, of all layers and of several messages at once.
//!
//! Only the message of a layer's one-time signature depends on the layer below. So the trees of all layers are computed side by side. The
//! chains of the one-time keys that sign are snapshot at each step, and the signatures are taken from there when the messages are known.
//!
//! Ref. FIPS 205 §5 to §7.

use super::address::{Address, Kind};
use super::group::{Run, SNAPSHOTS, STEPS, Seed, Snapshot, Task};
use super::message::digits;
use super::ops::Engine;
use super::secret::Secret;
use super::set::{MAX_CHAINS, Set, Shape};
use super::tree::{Path, Trees, follow};
use super::work::{Sign, Verify};
use crate::lattice::Work;

/// The chains of one-time keys, from the secret to the end.
const CHAINS: Run = Run { secret: Some(Kind::WotsSecret), kind: Kind::WotsHash, end: STEPS };

/// Leaves whose chains are computed at a time.
const LEAVES: usize = 64;

/// A tree to compute.
#[derive(Clone, Copy)]
struct Tree<'a> {
    seed: &'a Seed,
    secret: &'a Secret,
    layer: u32,
    number: u64,
    /// The leaf that is known already.
    known: Option<usize>,
}

impl Tree<'_> {
    /// The address of a chain, or of the public key, of a leaf.
    fn leaf(&self, kind: Kind, leaf: usize, chain: usize) -> Address {
        Address { layer: self.layer, tree: self.number, kind, words: [leaf as u32, chain as u32, 0] }
    }

    /// The address of a node.
    fn node(&self, height: usize, node: usize) -> Address {
        let words = [0, height as u32, node as u32];
        Address { layer: self.layer, tree: self.number, kind: Kind::Tree, words }
    }
}

/// Computes the leaves of trees, but for those that are known: FIPS 205 §5.1, algorithm 6.
fn leaves(engine: &Engine, shape: &Shape, trees: &[Tree<'_>], level: &mut [u8]) {
    let (n, height, chains) = (shape.n, shape.height, shape.chains());
    let split = |leaf: usize| (&trees[leaf >> height], leaf & ((1 << height) - 1));
    let mut unknown = Vec::with_capacity(trees.len() << height);
    for leaf in 0..trees.len() << height {
        let (tree, number) = split(leaf);
        // The number of a known leaf is public.
        if tree.known != Some(number) {
            unknown.push(leaf);
        }
    }
    let mut ends = Work::new(0, LEAVES * chains * n);
    for now in unknown.chunks(LEAVES) {
        engine.chains(
            CHAINS,
            now.len() * chains,
            &mut [],
            |i| {
                let (tree, leaf) = split(now[i / chains]);
                let address = tree.leaf(Kind::WotsHash, leaf, i % chains);
                Task { seed: tree.seed, address, input: tree.secret.seed(), done: 0 }
            },
            |i, node| ends[n * i..n * (i + 1)].copy_from_slice(&node[..n]),
        );
        let key = |i: usize| {
            let (tree, leaf) = split(now[i]);
            (tree.seed, tree.leaf(Kind::WotsKey, leaf, 0))
        };
        let ends = &ends[..now.len() * chains * n];
        public_keys(engine, shape, ends, key, |i, node| {
            level[n * now[i]..n * (now[i] + 1)].copy_from_slice(node);
        });
    }
}

/// Hashes the ends of chains to the public keys of one-time signatures.
fn public_keys<'a>(
    engine: &Engine,
    shape: &Shape,
    ends: &[u8],
    key: impl Fn(usize) -> (&'a Seed, Address),
    mut done: impl FnMut(usize, &[u8]),
) {
    let len = shape.chains() * shape.n;
    engine.hash(
        ends.len() / len,
        |i| {
            let (seed, address) = key(i);
            Task { seed, address, input: &ends[len * i..len * (i + 1)], done: 0 }
        },
        |i, node| done(i, &node[..shape.n]),
    );
}

/// Computes the uppermost trees of keys, level by level from the leaves to the root.
pub(super) fn uppermost(engine: &Engine, set: Set, keys: &[(&Seed, &Secret)]) -> Vec<Box<[u8]>> {
    let shape = set.shape();
    let (n, height) = (shape.n, shape.height);
    let trees: Vec<_> = keys
        .iter()
        .map(|(seed, secret)| Tree { seed, secret, layer: shape.layers as u32 - 1, number: 0, known: None })
        .collect();
    let mut level = Work::new(0, (keys.len() << height) * n);
    leaves(engine, &shape, &trees, &mut level);
    let mut kept = vec![Vec::with_capacity(set.kept_private_len()); keys.len()];
    Trees { height, count: keys.len(), n }.climb(
        engine,
        level,
        |tree, up, node| (trees[tree].seed, trees[tree].node(up, node)),
        |up, level| {
            for (kept, part) in kept.iter_mut().zip(level.chunks(n << (height - up))) {
                kept.extend_from_slice(part);
            }
        },
    );
    kept.into_iter().map(Vec::into_boxed_slice).collect()
}

/// The one-time keys that sign: those of all layers of each message.
struct Chosen {
    /// The snapshots of the chains, by groups.
    snapshots: Work<Snapshot>,
    ends: Work<u8>,
}

impl Chosen {
    fn new(engine: &Engine, shape: &Shape, trees: &[Tree<'_>], leaves: &[usize]) -> Self {
        let (n, chains) = (shape.n, shape.chains());
        let count = trees.len() * chains;
        let groups = count.div_ceil(Engine::chains_abreast(trees[0].seed.family));
        let mut chosen = Chosen {
            snapshots: Work::new(Snapshot::ZERO, groups * SNAPSHOTS),
            ends: Work::new(0, count * n),
        };
        engine.chains(
            CHAINS,
            count,
            &mut chosen.snapshots,
            |i| {
                let tree = &trees[i / chains];
                let address = tree.leaf(Kind::WotsHash, leaves[i / chains], i % chains);
                Task { seed: tree.seed, address, input: tree.secret.seed(), done: 0 }
            },
            |i, node| chosen.ends[n * i..n * (i + 1)].copy_from_slice(&node[..n]),
        );
        chosen
    }

    /// Writes the signature of a message: FIPS 205 §5.2, algorithm 7. The digits of the message are public: whoever has the signature
    /// computes them.
    fn sign(&self, engine_width: usize, seed: &Seed, which: usize, message: &[u8], out: &mut [u8]) {
        let chains = 2 * seed.n + 3;
        let mut steps = [0; MAX_CHAINS];
        digits(message, &mut steps[..chains]);
        for (chain, out) in out.chunks_mut(seed.n).enumerate() {
            let task = which * chains + chain;
            let (group, lane) = (task / engine_width, task % engine_width);
            self.snapshots[group * SNAPSHOTS + steps[chain] as usize].copy(seed.family, lane, out);
        }
    }
}

/// Signs public keys of FORS: FIPS 205 §7.1, algorithm 12.
pub(super) fn sign(engine: &Engine, set: Set, jobs: &mut [Sign<'_>], messages: &[u8]) {
    let shape = set.shape();
    let (n, height, layers) = (shape.n, shape.height, shape.layers);
    let (all, leaves_of): (Vec<_>, Vec<_>) = jobs
        .iter()
        .flat_map(|job| {
            (0..layers).map(|layer| {
                let (number, leaf) = job.choice.place(set, layer);
                let (seed, secret) = (job.seed, job.secret);
                (Tree { seed, secret, layer: layer as u32, number, known: Some(leaf) }, leaf)
            })
        })
        .unzip();
    let chosen = Chosen::new(engine, &shape, &all, &leaves_of);
    // The uppermost tree of a key is kept. A tree among those that are computed, and the same among all.
    let among_all = |tree: usize| tree / (layers - 1) * layers + tree % (layers - 1);
    let trees: Vec<_> = (0..jobs.len() * (layers - 1)).map(|tree| all[among_all(tree)]).collect();
    let mut level = Work::new(0, (trees.len() << height) * n);
    leaves(engine, &shape, &trees, &mut level);
    let key = |i: usize| (all[i].seed, all[i].leaf(Kind::WotsKey, leaves_of[i], 0));
    public_keys(engine, &shape, &chosen.ends, key, |i, node| {
        let (job, layer) = (i / layers, i % layers);
        if layer < layers - 1 {
            let leaf = ((job * (layers - 1) + layer) << height) + leaves_of[i];
            level[n * leaf..n * (leaf + 1)].copy_from_slice(node);
        }
    });
    let paths = Trees { height, count: trees.len(), n };
    let roots = paths.climb(
        engine,
        level,
        |tree, up, node| (trees[tree].seed, trees[tree].node(up, node)),
        |up, level| {
            for tree in 0..if up < height { trees.len() } else { 0 } {
                let i = among_all(tree);
                let out = jobs[i / layers].neighbour(&shape, i % layers, up);
                paths.copy_neighbour(level, tree, up, leaves_of[i], out);
            }
        },
    );
    let width = Engine::chains_abreast(set.family());
    for (number, job) in jobs.iter_mut().enumerate() {
        job.keep_path(&shape, leaves_of[number * layers + layers - 1]);
        for layer in 0..layers {
            let message = match layer {
                0 => &messages[n * number..][..n],
                _ => &roots[n * (number * (layers - 1) + layer - 1)..][..n],
            };
            let (seed, out) = (job.seed, job.one_time(&shape, layer));
            chosen.sign(width, seed, number * layers + layer, message, out);
        }
    }
}

/// Replaces the public keys of FORS by the roots that signatures give: FIPS 205 §7.2, algorithm 13.
pub(super) fn roots_vartime(engine: &Engine, set: Set, jobs: &[Verify<'_>], nodes: &mut [u8]) {
    let shape = set.shape();
    let (n, chains) = (shape.n, shape.chains());
    let len = chains * n;
    let mut ends = Work::new(0, jobs.len() * len);
    let mut steps = vec![0; jobs.len() * chains];
    let mut order: Vec<usize> = (0..steps.len()).collect();
    for layer in 0..shape.layers {
        // The part of a layer: the one-time signature, and the path of its leaf.
        let part = |job: usize| {
            let at = n + shape.fors_len() + layer * shape.layer_len();
            jobs[job].signature[at..at + shape.layer_len()].split_at(len)
        };
        let address = |job: usize, kind, words| {
            let (tree, _) = jobs[job].choice.place(set, layer);
            Address { layer: layer as u32, tree, kind, words }
        };
        let leaf = |job: usize| jobs[job].choice.place(set, layer).1;
        for (node, steps) in nodes.chunks(n).zip(steps.chunks_mut(chains)) {
            digits(node, steps);
        }
        // Chains that have as many steps to go share a group.
        order.sort_unstable_by_key(|i| steps[*i]);
        engine.chains(
            Run { secret: None, kind: Kind::WotsHash, end: STEPS },
            order.len(),
            &mut [],
            |i| {
                let (job, chain) = (order[i] / chains, order[i] % chains);
                let address = address(job, Kind::WotsHash, [leaf(job) as u32, chain as u32, 0]);
                let input = &part(job).0[n * chain..n * (chain + 1)];
                Task { seed: jobs[job].seed, address, input, done: steps[order[i]] }
            },
            |i, node| ends[n * order[i]..n * (order[i] + 1)].copy_from_slice(&node[..n]),
        );
        let key = |job: usize| (jobs[job].seed, address(job, Kind::WotsKey, [leaf(job) as u32, 0, 0]));
        public_keys(engine, &shape, &ends, key, |job, node| {
            nodes[n * job..n * (job + 1)].copy_from_slice(node);
        });
        let path = |job: usize| Path { leaf: leaf(job), neighbours: part(job).1 };
        follow(engine, n, nodes, path, |job, up| {
            let node = leaf(job) as u32 >> up;
            (jobs[job].seed, address(job, Kind::Tree, [0, up as u32, node]))
        });
    }
}
