//! The totals of each user's grants, ended ones included, because a counter must never go back.

use std::collections::{BTreeMap, HashMap};

use millstream_protocol::GrantStatus;

/// The most users that are counted separately; the rest are counted together. A user with a range of uids
/// could make up any number.
const MOST_USERS: usize = 1024;

/// Counts of queues, and their current use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub operations: u64,
    pub bytes: u64,
    pub failures: u64,
    pub batches: u64,
    pub doorbells: u64,
    pub in_flight: i64,
    pub keys: i64,
}

impl Sums {
    pub fn of(status: &GrantStatus) -> Self {
        let counts = &status.counts;
        Sums {
            operations: counts.operations,
            bytes: counts.bytes,
            failures: counts.failures.iter().map(|(_, count)| count).sum(),
            batches: counts.batches,
            doorbells: counts.doorbells,
            in_flight: i64::from(counts.in_flight),
            keys: i64::from(counts.keys),
        }
    }

    /// Returns what was counted since `before`. A worker that a grant has moved to starts from zero.
    fn since(&self, before: &Sums) -> Sums {
        let more = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        Sums {
            operations: more(self.operations, before.operations),
            bytes: more(self.bytes, before.bytes),
            failures: more(self.failures, before.failures),
            batches: more(self.batches, before.batches),
            doorbells: more(self.doorbells, before.doorbells),
            ..*self
        }
    }

    fn add(&mut self, other: &Sums) {
        let counters = [
            (&mut self.operations, other.operations),
            (&mut self.bytes, other.bytes),
            (&mut self.failures, other.failures),
            (&mut self.batches, other.batches),
            (&mut self.doorbells, other.doorbells),
        ];
        for (sum, more) in counters {
            *sum = sum.wrapping_add(more);
        }
        self.in_flight += other.in_flight;
        self.keys += other.keys;
    }
}

/// The totals of all users until the last snapshot. The work of a grant between that and its end is lost.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// The totals by uid; none stands for users that are not counted separately.
    users: BTreeMap<Option<u32>, Sums>,
    /// The grants of the last snapshot.
    grants: HashMap<u64, Sums>,
}

impl Totals {
    /// Adds the grants of the next snapshot.
    pub fn count(&mut self, grants: &[GrantStatus]) {
        for sums in self.users.values_mut() {
            (sums.in_flight, sums.keys) = (0, 0);
        }
        let before = std::mem::take(&mut self.grants);
        for status in grants {
            let (grant, now) = (status.grant.id, Sums::of(status));
            let more = now.since(&before.get(&grant).copied().unwrap_or_default());
            let known = self.users.contains_key(&Some(status.uid)) || self.users.len() < MOST_USERS;
            self.users.entry(known.then_some(status.uid)).or_default().add(&more);
            self.grants.insert(grant, now);
        }
    }

    pub fn users(&self) -> impl Iterator<Item = (Option<u32>, Sums)> {
        self.users.iter().map(|(uid, sums)| (*uid, *sums))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(grant: u64, uid: u32, operations: u64, keys: u32) -> GrantStatus {
        let mut status = GrantStatus { uid, ..GrantStatus::default() };
        status.grant.id = grant;
        (status.counts.operations, status.counts.keys) = (operations, keys);
        status
    }

    fn of(totals: &Totals, uid: Option<u32>) -> (u64, i64) {
        totals.users().find(|(of, _)| *of == uid).map(|(_, sums)| (sums.operations, sums.keys)).unwrap()
    }

    #[test]
    fn counters_only_grow_and_gauges_tell_of_now() {
        let mut totals = Totals::default();
        totals.count(&[status(1, 7, 10, 2), status(2, 7, 5, 1)]);
        assert_eq!(of(&totals, Some(7)), (15, 3));
        totals.count(&[status(1, 7, 12, 2)]);
        assert_eq!(of(&totals, Some(7)), (17, 2), "one has ended");
        totals.count(&[status(1, 7, 4, 2)]);
        assert_eq!(of(&totals, Some(7)), (21, 2), "it has moved");
        totals.count(&[]);
        assert_eq!(of(&totals, Some(7)), (21, 0));
    }

    #[test]
    fn users_beyond_a_bound_are_counted_together() {
        let mut totals = Totals::default();
        let many: Vec<GrantStatus> = (0..5000).map(|uid| status(uid.into(), uid, 1, 0)).collect();
        totals.count(&many);
        assert!(totals.users().count() <= MOST_USERS + 1);
        assert_eq!(totals.users().map(|(_, sums)| sums.operations).sum::<u64>(), 5000);
        assert_eq!(of(&totals, None).0, 5000 - MOST_USERS as u64);
    }
}
