//! The work that was done for each user and by each worker since the service started, of grants that have ended
//! included. A counter never goes back.
//!
//! A worker reports what a grant's queues have counted when it is surveyed and when the grant ends. Each report
//! adds what is new in it, so a client that comes and goes between two surveys is counted too. The work of a
//! grant whose worker dies is known as of the last survey.

use std::collections::BTreeMap;

use millstream_cwq::Status;
use millstream_protocol::{Failures, QueueCounts};

/// The most users that are counted separately; the rest are counted together. A user with a range of uids
/// could make up any number.
const MOST_USERS: usize = 1024;

/// Counts of queues that only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) failures: u64,
    /// The operations that were refused because their keys had been used as often as the policy allows.
    pub(crate) uses_refused: u64,
    pub(crate) doorbells: u64,
}

/// The work of a worker, for all grants.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfWorker {
    pub(crate) work: Work,
    /// The goes in which it executed operations.
    pub(crate) batches: u64,
    /// The operations that these goes executed together.
    pub(crate) batched: u64,
    /// Both as of the last report.
    reported: (u64, u64),
}

/// The totals of all users and workers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// The totals by uid; none stands for users that are not counted separately.
    users: BTreeMap<Option<u32>, Work>,
    workers: BTreeMap<u32, OfWorker>,
}

impl Work {
    pub(crate) fn of(counts: &QueueCounts) -> Self {
        Work {
            operations: counts.operations,
            bytes: counts.bytes,
            failures: counts.failures.iter().map(|(_, count)| count).sum(),
            uses_refused: uses_refused(&counts.failures),
            doorbells: counts.doorbells,
        }
    }

    /// Returns what is new since `before`.
    fn since(&self, before: &Work) -> Work {
        Work {
            operations: new(self.operations, before.operations),
            bytes: new(self.bytes, before.bytes),
            failures: new(self.failures, before.failures),
            uses_refused: new(self.uses_refused, before.uses_refused),
            doorbells: new(self.doorbells, before.doorbells),
        }
    }

    fn add(&mut self, more: &Work) {
        let counters = [
            (&mut self.operations, more.operations),
            (&mut self.bytes, more.bytes),
            (&mut self.failures, more.failures),
            (&mut self.uses_refused, more.uses_refused),
            (&mut self.doorbells, more.doorbells),
        ];
        // A worker may report anything.
        for (sum, more) in counters {
            *sum = sum.wrapping_add(more);
        }
    }
}

/// Returns how many operations the limits on the use of keys have refused.
fn uses_refused(failures: &Failures) -> u64 {
    let by_limits = [Status::UsesPerSecond, Status::UsesSpent].map(|status| status as u16);
    failures.iter().filter(|(status, _)| by_limits.contains(status)).map(|(_, count)| count).sum()
}

/// Returns what a counter has counted since it was at `before`. One that is lower has begun again from zero.
fn new(now: u64, before: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

impl Totals {
    /// Adds a worker's report about a grant of `uid`. `counted` holds what was counted of that grant before.
    pub(crate) fn count(&mut self, uid: u32, worker: u32, report: &QueueCounts, counted: &mut Work) {
        let now = Work::of(report);
        let more = now.since(counted);
        *counted = now;
        let is_known = self.users.contains_key(&Some(uid)) || self.users.len() < MOST_USERS;
        self.users.entry(is_known.then_some(uid)).or_default().add(&more);
        let of = self.workers.entry(worker).or_default();
        of.work.add(&more);
        of.batches = of.batches.wrapping_add(new(report.batches, of.reported.0));
        of.batched = of.batched.wrapping_add(new(report.batched, of.reported.1));
        of.reported = (report.batches, report.batched);
    }

    pub(crate) fn users(&self) -> impl Iterator<Item = (Option<u32>, Work)> {
        self.users.iter().map(|(uid, work)| (*uid, *work))
    }

    /// Returns the totals of a worker, which are zero until it has served somebody.
    pub(crate) fn of_worker(&self, worker: u32) -> OfWorker {
        self.workers.get(&worker).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(operations: u64, batches: u64) -> QueueCounts {
        QueueCounts { operations, batches, batched: 4 * batches, ..QueueCounts::default() }
    }

    fn operations(totals: &Totals, uid: Option<u32>) -> u64 {
        totals.users().find(|(of, _)| *of == uid).map(|(_, work)| work.operations).unwrap()
    }

    #[test]
    fn counters_only_grow() {
        let mut totals = Totals::default();
        let (mut first, mut second) = (Work::default(), Work::default());
        totals.count(7, 0, &report(10, 3), &mut first);
        totals.count(7, 0, &report(5, 3), &mut second);
        totals.count(7, 0, &report(12, 4), &mut first);
        assert_eq!(operations(&totals, Some(7)), 17);
        // The first grant has moved, with its counts, to a younger worker.
        totals.count(7, 1, &report(13, 1), &mut first);
        assert_eq!(operations(&totals, Some(7)), 18);
        let of = [0, 1].map(|worker| totals.of_worker(worker));
        assert_eq!(of.map(|of| of.work.operations), [17, 1]);
        assert_eq!(of.map(|of| (of.batches, of.batched)), [(4, 16), (1, 4)]);
        // A worker that was started again counts from zero.
        totals.count(8, 0, &report(1, 1), &mut Work::default());
        assert_eq!((totals.of_worker(0).batches, operations(&totals, Some(8))), (5, 1));
    }

    #[test]
    fn users_beyond_a_bound_are_counted_together() {
        let mut totals = Totals::default();
        for uid in 0..5000 {
            totals.count(uid, 0, &report(1, 0), &mut Work::default());
        }
        assert_eq!(totals.users().count(), MOST_USERS + 1);
        assert_eq!(totals.users().map(|(_, work)| work.operations).sum::<u64>(), 5000);
        assert_eq!(operations(&totals, None), 5000 - MOST_USERS as u64);
    }
}
