//! Limits on how often keys may be used: each key, and all keys of a grant together, in a second and in all.
//!
//! A use is one key of one operation. Whoever may use a key without limit can use it as an oracle: ask for the deterministic encryption
//! of every value that there is, and read others' values off the answers.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_cwq::Status;

/// A thousandth of a use: what a millisecond brings at one use in a second.
const PER_USE: u64 = 1000;

/// The most uses, in a second and in all. 0 stands for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UseLimit {
    /// Uses in a second, in the long run; as many may come at once after a pause.
    pub per_second: u32,
    /// Uses in all.
    pub total: u64,
}

/// The limits on the uses of a grant's keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UseLimits {
    /// The limit of each key, from when it is put into its slot.
    pub key: UseLimit,
    /// The limit of all keys together.
    pub grant: UseLimit,
}

impl UseLimits {
    /// Returns true if there is no limit.
    pub fn is_none(&self) -> bool {
        *self == UseLimits::default()
    }
}

/// Milliseconds, which the accelerator's host counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, milliseconds: u64) {
        self.0.store(milliseconds, Ordering::Relaxed);
    }
}

/// The uses so far, and what may be used now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uses {
    used: u64,
    /// Thousandths of uses, as of the time `at`.
    credit: u64,
    at: u64,
}

impl Uses {
    fn none(limit: UseLimit, now: u64) -> Self {
        Uses { used: 0, credit: u64::from(limit.per_second) * PER_USE, at: now }
    }

    /// Returns the same uses as of a pause under another limit.
    fn after_pause(self, limit: UseLimit, now: u64) -> Self {
        Uses { used: self.used, ..Uses::none(limit, now) }
    }

    /// Returns the uses with one more.
    fn one_more(self, limit: UseLimit, now: u64) -> Result<Self, Status> {
        if limit.total != 0 && self.used >= limit.total {
            return Err(Status::UsesSpent);
        }
        let mut next = Uses { used: self.used.saturating_add(1), ..self };
        if limit.per_second != 0 {
            let per_second = u64::from(limit.per_second);
            let earned = now.saturating_sub(self.at).saturating_mul(per_second);
            let credit = self.credit.saturating_add(earned).min(per_second * PER_USE);
            next.credit = credit.checked_sub(PER_USE).ok_or(Status::UsesPerSecond)?;
            next.at = now;
        }
        Ok(next)
    }
}

/// The limits of a grant whose keys are counted.
#[derive(Debug)]
pub(crate) struct Limited {
    limits: UseLimits,
    grant: Cell<Uses>,
    clock: Clock,
}

impl Limited {
    pub(crate) fn new(limits: UseLimits, clock: Clock) -> Self {
        Limited { limits, grant: Cell::new(Uses::none(limits.grant, clock.now())), clock }
    }

    /// Returns the count for a new key, or that of one whose limit has changed.
    pub(crate) fn of_key(&self, before: Option<Uses>) -> Uses {
        let (limit, now) = (self.limits.key, self.clock.now());
        before.map_or_else(|| Uses::none(limit, now), |uses| uses.after_pause(limit, now))
    }

    /// Changes the limits. What was used stays used; the counts of keys are changed by their slots.
    pub(crate) fn change(&mut self, limits: UseLimits) {
        self.limits = limits;
        self.grant.set(self.grant.get().after_pause(limits.grant, self.clock.now()));
    }

    /// Counts one use of a key. One that is refused does not count.
    pub(crate) fn count(&self, key: &Cell<Uses>) -> Result<(), Status> {
        let now = self.clock.now();
        let of_key = key.get().one_more(self.limits.key, now)?;
        let of_grant = self.grant.get().one_more(self.limits.grant, now)?;
        key.set(of_key);
        self.grant.set(of_grant);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_come_back_with_the_time_and_not_beyond_a_second_s_worth() {
        let limit = UseLimit { per_second: 2, total: 0 };
        let mut uses = Uses::none(limit, 0);
        let mut one_more = |now| uses.one_more(limit, now).map(|next| uses = next);
        assert_eq!([one_more(0), one_more(0)], [Ok(()), Ok(())]);
        assert_eq!([one_more(0), one_more(499)], [Err(Status::UsesPerSecond); 2]);
        assert_eq!([one_more(500), one_more(500)], [Ok(()), Err(Status::UsesPerSecond)]);
        assert_eq!([one_more(90_000), one_more(90_000)], [Ok(()), Ok(())]);
        assert_eq!(one_more(90_001), Err(Status::UsesPerSecond));
        // A clock that goes back brings nothing.
        assert_eq!(one_more(0), Err(Status::UsesPerSecond));
    }

    #[test]
    fn what_is_refused_for_the_grant_does_not_count_for_the_key() {
        let once = UseLimit { per_second: 0, total: 1 };
        let limits = UseLimits { key: UseLimit { per_second: 0, total: 2 }, grant: once };
        let mut limited = Limited::new(limits, Clock::default());
        let [first, second] = [limited.of_key(None), limited.of_key(None)].map(Cell::new);
        assert_eq!(limited.count(&first), Ok(()));
        assert_eq!(limited.count(&second), Err(Status::UsesSpent));
        limited.change(UseLimits { grant: UseLimit::default(), ..limits });
        assert_eq!([limited.count(&second), limited.count(&second)], [Ok(()), Ok(())]);
        assert_eq!([limited.count(&second), limited.count(&first)], [Err(Status::UsesSpent), Ok(())]);
    }
}
