//! Rate limits for log lines that others cause: one for each user and each kind of line.
//!
//! When a user causes too many lines of a kind, some are left out, and the next line that is written says how
//! many. That affects no other user, and no other kind. Lines that only the service itself causes, or that
//! are no more frequent than starts of workers, need no such limit.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The number of lines of one user and kind that are written at once.
const BURST: u32 = 20;
/// After a burst, one line is written each time this has passed.
const PACE: Duration = Duration::from_secs(1);
/// The number of users and kinds that have limits of their own.
const MOST_BUCKETS: usize = 1024;

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A client is not let in.
    TurnedAway,
    /// A client's identity can't be found out, or the system does not let it in.
    Unmet,
    Refused,
    /// An answer is not taken.
    Unanswered,
    Granted,
    Ended,
    Revoked,
    /// A grant has ended with its worker.
    Gone,
    Moved,
    /// A client that sleeps until a completion could not be woken at the end.
    Unwoken,
    /// The memory of a grant could not be given back.
    Unfreed,
    /// A worker does not answer in time.
    Late,
    /// A grant holds up its worker.
    HoldsUp,
    /// A worker could not obey an order.
    Failed,
    /// A worker wrote to its standard error.
    Said,
    /// The policy was to be read again.
    Reload,
    /// A PIN was tried.
    Tried,
    /// The store of the tokens failed.
    Store,
}

/// A limit that is used up and comes back.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The time at which a whole burst may be written again.
    full_at: Instant,
    left_out: u64,
}

impl Bucket {
    fn new(now: Instant) -> Self {
        Bucket { full_at: now, left_out: 0 }
    }

    fn is_full(&self, now: Instant) -> bool {
        self.full_at <= now
    }

    /// Takes a line from the bucket, if there is one.
    fn take(&mut self, now: Instant) -> Option<LeftOut> {
        let full_at = self.full_at.max(now) + PACE;
        if full_at > now + BURST * PACE {
            self.left_out += 1;
            return None;
        }
        self.full_at = full_at;
        Some(LeftOut(std::mem::take(&mut self.left_out)))
    }
}

/// The number of lines that were left out before one that is written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut(u64);

impl LeftOut {
    /// Returns the number, or none for zero, so that the line does not mention it.
    pub(crate) fn count(&self) -> Option<u64> {
        (self.0 > 0).then_some(self.0)
    }
}

/// Decides which lines are written.
pub(crate) struct Chatter {
    /// The limits by the user that causes the lines; none where that is nobody in particular.
    buckets: HashMap<(Option<u32>, Kind), Bucket>,
    /// The limit that all others share when there are too many.
    rest: Bucket,
}

impl Chatter {
    pub(crate) fn new() -> Self {
        Chatter { buckets: HashMap::new(), rest: Bucket::new(Instant::now()) }
    }

    /// Decides whether a line of this kind that this user has caused may be written now. If so, returns how
    /// many were left out before it.
    pub(crate) fn may_say(&mut self, uid: Option<u32>, kind: Kind) -> Option<LeftOut> {
        self.may_say_at(Instant::now(), uid, kind)
    }

    fn may_say_at(&mut self, now: Instant, uid: Option<u32>, kind: Kind) -> Option<LeftOut> {
        let key = (uid, kind);
        if !self.buckets.contains_key(&key) && !self.has_room(now) {
            return self.rest.take(now);
        }
        self.buckets.entry(key).or_insert_with(|| Bucket::new(now)).take(now)
    }

    /// Makes room for one more limit, by forgetting the full one that has been full the longest. Returns
    /// false when every limit is in use.
    fn has_room(&mut self, now: Instant) -> bool {
        if self.buckets.len() < MOST_BUCKETS {
            return true;
        }
        let full = self.buckets.iter().filter(|(_, bucket)| bucket.is_full(now));
        let Some((&oldest, _)) = full.min_by_key(|(_, bucket)| bucket.full_at) else { return false };
        if let Some(bucket) = self.buckets.remove(&oldest) {
            // The next line of the rest tells the number.
            self.rest.left_out += bucket.left_out;
        }
        true
    }
}

/// Writes a log line that a user has caused, unless the user has caused too many of its kind:
/// `say!(chatter, uid, kind, level, fields of the line…)`.
macro_rules! say {
    ($chatter:expr, $uid:expr, $kind:expr, $level:ident, $($line:tt)+) => {
        if let Some(left_out) = $chatter.may_say($uid, $kind) {
            tracing::$level!(left_out = left_out.count(), $($line)+);
        }
    };
}
pub(crate) use say;

#[cfg(test)]
mod tests {
    use super::*;

    const BURST_LINES: usize = BURST as usize;

    fn written(chatter: &mut Chatter, now: Instant, uid: u32, kind: Kind, times: usize) -> usize {
        (0..times).filter(|_| chatter.may_say_at(now, Some(uid), kind).is_some()).count()
    }

    #[test]
    fn a_flood_is_left_out_and_counted_and_hides_nothing_else() {
        let (mut chatter, now) = (Chatter::new(), Instant::now());
        assert_eq!(written(&mut chatter, now, 7, Kind::Ended, 10_000), BURST_LINES);
        assert_eq!(written(&mut chatter, now, 7, Kind::Refused, 1), 1, "another kind of line");
        assert_eq!(chatter.may_say_at(now, Some(8), Kind::Ended), Some(LeftOut(0)), "another user");
        assert_eq!(chatter.may_say_at(now, None, Kind::Ended), Some(LeftOut(0)), "nobody in particular");
        let later = now + PACE;
        let left_out = chatter.may_say_at(later, Some(7), Kind::Ended);
        assert_eq!(left_out.unwrap().count(), Some(10_000 - BURST_LINES as u64));
        assert_eq!(chatter.may_say_at(later, Some(7), Kind::Ended), None);
        assert_eq!(chatter.may_say_at(later + PACE, Some(7), Kind::Ended), Some(LeftOut(1)));
        assert_eq!(chatter.may_say_at(later + 2 * PACE, Some(7), Kind::Ended).unwrap().count(), None);
    }

    #[test]
    fn a_limit_comes_back_at_its_pace_and_no_further_than_to_the_full() {
        let (mut chatter, now) = (Chatter::new(), Instant::now());
        written(&mut chatter, now, 7, Kind::Ended, 100);
        assert_eq!(written(&mut chatter, now + 3 * PACE, 7, Kind::Ended, 100), 3);
        assert_eq!(written(&mut chatter, now + 1000 * PACE, 7, Kind::Ended, 100), BURST_LINES);
    }

    #[test]
    fn limits_are_bounded_and_the_one_that_was_not_used_for_longest_goes() {
        let (mut chatter, now) = (Chatter::new(), Instant::now());
        for uid in 0..MOST_BUCKETS as u32 {
            assert_eq!(written(&mut chatter, now, uid, Kind::Ended, 1), 1);
        }
        // All limits are in use, so everybody else shares one.
        for uid in 0..2 * BURST {
            let said = written(&mut chatter, now, 5000 + uid, Kind::Ended, 1);
            assert_eq!(said, usize::from(uid < BURST));
        }
        assert_eq!(chatter.buckets.len(), MOST_BUCKETS);
        // A user who has a limit keeps it.
        assert_eq!(written(&mut chatter, now, 3, Kind::Ended, 100), BURST_LINES - 1);
        // Some time later only that one is in use.
        let later = now + 2 * PACE;
        assert_eq!(written(&mut chatter, later, 6000, Kind::Ended, 100), BURST_LINES);
        assert_eq!(chatter.buckets.len(), MOST_BUCKETS);
        assert!(chatter.buckets.contains_key(&(Some(3), Kind::Ended)));
        assert!(chatter.buckets.contains_key(&(Some(6000), Kind::Ended)));
    }

    #[test]
    fn what_was_left_out_is_told_even_where_its_limit_is_gone() {
        let (mut chatter, now) = (Chatter::new(), Instant::now());
        written(&mut chatter, now, 0, Kind::Ended, BURST_LINES + 5);
        let later = now + 2 * BURST * PACE;
        for uid in 1..=MOST_BUCKETS as u32 {
            written(&mut chatter, later, uid, Kind::Ended, 1);
        }
        assert!(!chatter.buckets.contains_key(&(Some(0), Kind::Ended)), "the oldest");
        assert_eq!(chatter.may_say_at(later, Some(9999), Kind::Ended), Some(LeftOut(5)));
    }
}
