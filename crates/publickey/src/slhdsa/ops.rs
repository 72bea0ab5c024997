//! The functions that a kernel has for hashes side by side, and the kernels of an operation.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`] from which the [`Engine`] was made.
#![allow(unsafe_code)]

use millstream_cpu::Features;
use millstream_engines::hash::LaneFold;
use millstream_engines::sha3::Keccak;
use millstream_engines::sha256::SHA256_FOLD;
use millstream_engines::sha512::SHA512_FOLD;

use super::group::{Group, LANES, Node, Run, SNAPSHOTS, Seed, Snapshot, Task};
use super::set::{Family, Set};
use super::sha2::{Fold256, Fold512, WIDE};
use crate::Bound;

/// The functions of a kernel. They put the blocks of the lanes together; the hashes have kernels of their own.
#[derive(Clone, Copy, Debug)]
pub struct Ops {
    pub(super) chains_sha2: unsafe fn(Fold256, &mut Group<'_>, Run, &mut [Snapshot]),
    pub(super) chains_shake: unsafe fn(Keccak, &mut Group<'_>, Run, &mut [Snapshot]),
    pub(super) hash_256: unsafe fn(Fold256, &mut Group<'_>),
    pub(super) hash_512: unsafe fn(Fold512, &mut Group<'_>),
    pub(super) hash_shake: unsafe fn(Keccak, &mut Group<'_>),
}

/// The kernels of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Engine {
    ops: &'static Ops,
    sha256: Fold256,
    sha512: Fold512,
    keccak: Keccak,
}

impl Engine {
    pub(super) fn new(kernel: Bound<Ops>, features: Features) -> Self {
        Engine {
            ops: kernel.ops(),
            sha256: LaneFold::new(SHA256_FOLD.best(features)),
            sha512: LaneFold::new(SHA512_FOLD.best(features)),
            keccak: Keccak::new(features),
        }
    }

    /// Returns a public seed with what is computed of it once.
    pub(super) fn seed(&self, set: Set, bytes: &[u8]) -> Seed {
        super::sha2::seed(self.sha256, self.sha512, set, bytes)
    }

    /// Runs `count` chains, and gives each end to `done` with its number. If there are snapshots, there are [`SNAPSHOTS`] for each
    /// [`Engine::chains_abreast`] of the chains.
    pub(super) fn chains<'a>(
        &self,
        run: Run,
        count: usize,
        snapshots: &mut [Snapshot],
        task: impl Fn(usize) -> Task<'a>,
        mut done: impl FnMut(usize, &Node),
    ) {
        if count == 0 {
            return;
        }
        let family = task(0).seed.family;
        let width = Self::chains_abreast(family);
        let mut snapshots = snapshots.chunks_mut(SNAPSHOTS);
        for first in (0..count).step_by(width) {
            let mut group = Group::new(width.min(count - first), |lane| task(first + lane));
            let snapshots = snapshots.next().unwrap_or_default();
            // SAFETY: the kernel was bound.
            unsafe {
                match family {
                    Family::Shake => (self.ops.chains_shake)(self.keccak, &mut group, run, snapshots),
                    _ => (self.ops.chains_sha2)(self.sha256, &mut group, run, snapshots),
                }
            }
            for lane in 0..group.count {
                done(first + lane, &group.nodes[lane]);
            }
        }
    }

    /// Returns the chains that run side by side.
    pub(super) fn chains_abreast(family: Family) -> usize {
        if family == Family::Shake { WIDE } else { LANES }
    }

    /// Hashes `count` inputs of one length, and gives each result to `done` with its number.
    pub(super) fn hash<'a>(
        &self,
        count: usize,
        task: impl Fn(usize) -> Task<'a>,
        mut done: impl FnMut(usize, &Node),
    ) {
        if count == 0 {
            return;
        }
        let family = task(0).seed.family;
        let width = if family == Family::Sha256 { LANES } else { WIDE };
        for first in (0..count).step_by(width) {
            let mut group = Group::new(width.min(count - first), |lane| task(first + lane));
            // SAFETY: the kernel was bound.
            unsafe {
                match family {
                    Family::Sha256 => (self.ops.hash_256)(self.sha256, &mut group),
                    Family::Sha512 => (self.ops.hash_512)(self.sha512, &mut group),
                    Family::Shake => (self.ops.hash_shake)(self.keccak, &mut group),
                }
            }
            for lane in 0..group.count {
                done(first + lane, &group.nodes[lane]);
            }
        }
    }
}
