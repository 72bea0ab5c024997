//! Limits the rate of an account's requests with a bucket of tokens that fills with time.

use std::collections::BTreeMap;
use std::time::Instant;

use super::account::Account;

/// The speed at which a bucket fills, and its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    /// Tokens a second; 0 means no limit.
    pub(crate) per_second: u32,
    /// The most tokens.
    pub(crate) burst: u32,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
    rate: Rate,
}

impl Bucket {
    fn fill(&mut self, now: Instant) {
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        let most = f64::from(self.rate.burst.max(1));
        self.tokens = (self.tokens + seconds * f64::from(self.rate.per_second)).min(most);
        self.at = now;
    }

    fn is_full(&self) -> bool {
        self.tokens >= f64::from(self.rate.burst)
    }
}

/// The buckets that are not full. A full one need not be kept.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    buckets: BTreeMap<Account, Bucket>,
    /// The number of buckets at which the full ones are looked for.
    sweep_at: usize,
}

/// The number of buckets that are always kept without a sweep.
const FEW: usize = 64;

impl Buckets {
    /// Takes tokens out of an account's bucket. Returns false when there were not enough. A full bucket lets
    /// anything pass once, so that a request that costs more than a bucket holds is not refused for ever.
    pub(super) fn take(&mut self, account: Account, cost: u32, rate: Rate, now: Instant) -> bool {
        if rate.per_second == 0 {
            return true;
        }
        self.sweep(now);
        let full = Bucket { tokens: f64::from(rate.burst.max(1)), at: now, rate };
        let bucket = self.buckets.entry(account).or_insert(full);
        bucket.rate = rate;
        bucket.fill(now);
        let may = bucket.tokens >= f64::from(cost) || bucket.is_full();
        if may {
            bucket.tokens -= f64::from(cost);
        }
        may
    }

    /// Forgets full buckets whenever the number of buckets has doubled.
    fn sweep(&mut self, now: Instant) {
        if self.buckets.len() < self.sweep_at.max(FEW) {
            return;
        }
        self.buckets.retain(|_, bucket| {
            bucket.fill(now);
            !bucket.is_full()
        });
        self.sweep_at = 2 * self.buckets.len();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RATE: Rate = Rate { per_second: 10, burst: 5 };

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let (mut buckets, begin) = (Buckets::default(), Instant::now());
        let mut passed = |at: Duration| buckets.take(Account(7), 1, RATE, begin + at);
        assert_eq!((0..20).filter(|_| passed(Duration::ZERO)).count(), 5);
        assert!(!passed(Duration::from_millis(50)), "half a token");
        assert!(passed(Duration::from_millis(150)));
        let late = (0..200).filter(|i| passed(Duration::from_millis(1000 + 10 * i))).count();
        assert!((20..=26).contains(&late), "{late} in two seconds");
    }

    #[test]
    fn one_account_does_not_spend_anothers_tokens() {
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        while buckets.take(Account(1), 1, RATE, now) {}
        assert!(buckets.take(Account(2), 1, RATE, now));
        assert!(buckets.take(Account(1), 1, Rate { per_second: 0, burst: 0 }, now), "no limit");
    }

    #[test]
    fn what_costs_more_than_a_bucket_holds_passes_when_it_is_full() {
        let (mut buckets, begin) = (Buckets::default(), Instant::now());
        assert!(buckets.take(Account(1), 50, RATE, begin));
        assert!(!buckets.take(Account(1), 1, RATE, begin + Duration::from_secs(4)), "it is still paid for");
        assert!(buckets.take(Account(1), 1, RATE, begin + Duration::from_secs(6)));
    }

    #[test]
    fn buckets_that_are_full_are_forgotten() {
        let (mut buckets, begin) = (Buckets::default(), Instant::now());
        for uid in 0..100_000 {
            buckets.take(Account(uid), 1, RATE, begin + Duration::from_millis(u64::from(uid)));
        }
        assert!(buckets.buckets.len() < 1000, "{}", buckets.buckets.len());
    }
}
