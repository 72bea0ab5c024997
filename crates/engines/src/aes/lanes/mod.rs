//! Many objects at once, in lanes: the chaining modes, where one object alone leaves the processor
//! waiting for each block, and CTR for objects too short to fill it.

mod cbc;
mod cfb;
mod cmac;
mod ctr;

pub use cbc::{CBC_LANES, CbcLanes};
pub use cfb::{CFB_LANES, CfbLanes};
pub use cmac::{CMAC_LANES, CmacLanes};
pub use ctr::{CTR_LANES, CtrLanes};

use std::cmp::Reverse;
use std::ptr;

use millstream_cpu::{FeatureSet, Features};

use super::Schedule;
use super::job::Job;
use crate::{Crossover, Kernel, Timing};

/// The row that every table of lanes ends with.
pub(crate) const DIRECT: Kernel = Kernel {
    name: "direct-x1",
    requires: FeatureSet::EMPTY,
    timing: Timing::Constant,
    note: "one object after another, each on its own key's kernel",
};

/// Where lanes begin to pay in CBC and CFB, alike on every tier. For short objects the processor
/// finds by itself that the next call need not wait for the last.
pub(crate) const CHAINS: Crossover =
    Crossover(&[(16, usize::MAX), (32, 16), (48, 9), (64, 7), (128, 4), (usize::MAX, 2)]);

/// Where they begin to pay in CMAC, whose direct call waits for its tag.
pub(crate) const MACS: Crossover = Crossover(&[(32, 8), (64, 7), (128, 4), (usize::MAX, 2)]);

/// Where one call for many objects begins to pay in CTR.
pub(crate) const INDEPENDENT: Crossover = Crossover(&[(usize::MAX, 2)]);

/// What the lanes of a tier can't mix: the number of rounds, and bitsliced round keys, which they don't
/// take at all.
fn kind(schedule: &Schedule) -> (bool, usize) {
    (schedule.sliced, schedule.rounds)
}

/// Gives jobs of one kind at a time, the longest first, to `lanes`, with whether all have one key; and to
/// `direct` those that are too few or not fit for lanes.
#[inline]
fn distribute<'k, J: Job<'k>>(
    jobs: &mut [&mut J],
    crossover: Crossover,
    lanes: impl Fn(&mut [&mut J], bool),
    direct: impl Fn(&mut [&mut J]),
) {
    let [first, rest @ ..] = &*jobs else { return };
    let (schedule, bytes) = (first.schedule(), first.bytes());
    let (mut one_key, mut one_kind, mut one_length) = (true, true, true);
    for job in rest {
        if !ptr::eq(job.schedule(), schedule) {
            one_key = false;
            one_kind &= kind(job.schedule()) == kind(schedule);
        }
        one_length &= job.bytes() == bytes;
    }
    if !one_kind {
        jobs.sort_unstable_by_key(|job| kind(job.schedule()));
        for jobs in jobs.chunk_by_mut(|a, b| kind(a.schedule()) == kind(b.schedule())) {
            distribute(
                jobs,
                crossover,
                &lanes as &dyn Fn(&mut [&mut J], bool),
                &direct as &dyn Fn(&mut [&mut J]),
            );
        }
        return;
    }
    if !one_length {
        jobs.sort_unstable_by_key(|job| Reverse(job.bytes()));
    }
    if schedule.sliced || jobs.len() < crossover.objects(jobs[0].bytes()) {
        direct(jobs);
    } else {
        lanes(jobs, one_key);
    }
}

/// As many objects as fill the lanes of every kernel, and some more.
const EVERY_LANE: usize = 33;

/// Just the features that a bound kernel requires: what its known answer may use.
fn features_of(kernel: &Kernel) -> Features {
    let all = Features::hardware();
    all.without(all.set().difference(kernel.requires))
}
