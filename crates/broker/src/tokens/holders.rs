//! The grants that have tokens open, as their workers tell. It is for `millstream status`: no right follows from it.

use std::collections::BTreeMap;

/// The most grants that a client is told for one token.
pub(crate) const MOST_SHOWN: usize = 64;

/// The grants that have tokens open.
#[derive(Debug, Default)]
pub(crate) struct Holders(BTreeMap<(u128, u64), Held>);

/// A token that a grant has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// The worker that said so.
    pub(crate) worker: usize,
    /// The number of times that worker had been started again: another life has nothing open.
    pub(crate) life: u64,
    /// The times that the grant has it open.
    pub(crate) sessions: u32,
}

impl Holders {
    /// Takes what a worker tells of a grant.
    pub(crate) fn note(&mut self, token: u128, grant: u64, held: Held) {
        if held.sessions > 0 {
            self.0.insert((token, grant), held);
        } else if self.0.get(&(token, grant)).is_some_and(|was| was.worker == held.worker) {
            // A grant that has moved may have opened it in its new worker before the old one tells that it is closed there.
            self.0.remove(&(token, grant));
        }
    }

    /// Forgets a grant that has ended.
    pub(crate) fn forget(&mut self, grant: u64) {
        self.0.retain(|(_, of), _| *of != grant);
    }

    /// Returns all that is said to be open: the token, the grant, and how it is held.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u128, u64, Held)> + '_ {
        self.0.iter().map(|((token, grant), held)| (*token, *grant, *held))
    }

    /// Returns the grants that were said to have a token open.
    pub(crate) fn of(&self, token: u128) -> impl Iterator<Item = (u64, Held)> + '_ {
        self.0.range((token, 0)..=(token, u64::MAX)).map(|((_, grant), held)| (*grant, *held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_closed_or_has_ended_is_forgotten() {
        let held = |sessions| Held { worker: 1, life: 2, sessions };
        let mut holders = Holders::default();
        holders.note(7, 1, held(1));
        holders.note(7, 2, held(1));
        holders.note(8, 2, held(3));
        holders.note(7, 2, held(2));
        assert_eq!(holders.of(7).collect::<Vec<_>>(), [(1, held(1)), (2, held(2))]);
        holders.note(7, 1, Held { worker: 2, ..held(0) });
        assert_eq!(holders.of(7).count(), 2, "another worker closed it");
        holders.note(7, 1, held(0));
        assert_eq!(holders.of(7).map(|(grant, _)| grant).collect::<Vec<_>>(), [2]);
        holders.forget(2);
        assert_eq!(holders.of(7).chain(holders.of(8)).count(), 0);
    }
}
