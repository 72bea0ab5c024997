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
use super::schedule::Form;
use crate::{Crossover, Kernel, Timing};

/// The row that every table of lanes ends with.
pub(crate) const DIRECT: Kernel = Kernel {
    name: "direct-x1",
    requires: FeatureSet::EMPTY,
    timing: Timing::Constant,
    note: "one object after another, each on its own key's kernel",
};

/// The point from which lanes pay in CBC and CFB, alike on every tier. The direct kernel keeps up for
/// short objects, because the processor finds by itself that the next call need not wait for the last.
pub(crate) const CHAINS: Crossover =
    Crossover(&[(16, usize::MAX), (32, 16), (48, 9), (64, 7), (128, 4), (usize::MAX, 2)]);

/// The point from which lanes pay in CMAC, whose direct call waits for its tag.
pub(crate) const MACS: Crossover = Crossover(&[(32, 8), (64, 7), (128, 4), (usize::MAX, 2)]);

/// The point from which one call for many objects pays in CTR.
pub(crate) const INDEPENDENT: Crossover = Crossover(&[(usize::MAX, 2)]);

/// Returns the properties in which all lanes of a call must agree: the round keys' form and the number of
/// rounds.
fn kind(schedule: &Schedule) -> (Form, usize) {
    (schedule.form, schedule.rounds)
}

/// Sorts the jobs by kind and length, and gives those of one kind to `lanes`, the longest first, with a
/// flag that is true if all have one key. Jobs that are too few, or whose round keys are not of `form`, go to `direct`.
#[inline]
fn distribute<'k, J: Job<'k>>(
    jobs: &mut [&mut J],
    (form, crossover): (Form, Crossover),
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
            // Without trait objects, the recursion would be instantiated without end.
            distribute(
                jobs,
                (form, crossover),
                &lanes as &dyn Fn(&mut [&mut J], bool),
                &direct as &dyn Fn(&mut [&mut J]),
            );
        }
        return;
    }
    if !one_length {
        jobs.sort_unstable_by_key(|job| Reverse(job.bytes()));
    }
    if schedule.form != form || jobs.len() < crossover.objects(jobs[0].bytes()) {
        direct(jobs);
    } else {
        lanes(jobs, one_key);
    }
}

/// A number of objects that fills the lanes of every kernel and leaves some over.
const EVERY_LANE: usize = 33;

/// Returns just the features that a bound kernel requires, which are those that its known answer may use.
pub(crate) fn features_of(kernel: &Kernel) -> Features {
    let all = Features::hardware();
    all.without(all.set().difference(kernel.requires))
}
