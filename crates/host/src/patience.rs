//! The time for which looking pays, before who waits goes to sleep.

use std::time::{Duration, Instant};

/// The time for which looking pays. Looking for as long as a sleep costs is never worse than twice the best. But after
/// several looks in vain, as where client and accelerator share a processor and each keeps the other from it, looks are kept
/// short, and a long one is tried now and then.
#[derive(Debug)]
pub struct Patience {
    most: Duration,
    /// Looks in vain, in a row.
    failed: u32,
}

impl Patience {
    /// The number of looks in vain, in a row, after which looks become short.
    const ENOUGH: u32 = 8;
    /// One look in this many is long all the same.
    const ANEW: u32 = 64;
    /// The divisor of a short look.
    const SHORTER: u32 = 16;

    /// A patience that looks for so long at most.
    pub const fn new(most: Duration) -> Self {
        Patience { most, failed: 0 }
    }

    /// Returns the length of the next look.
    pub fn time(&self) -> Duration {
        let short = self.failed >= Patience::ENOUGH && !self.failed.is_multiple_of(Patience::ANEW);
        if short { self.most / Patience::SHORTER } else { self.most }
    }

    /// Does the same with another longest time from now on.
    pub fn time_within(&mut self, most: Duration) -> Duration {
        self.most = most;
        self.time()
    }

    /// Notes that a look saw what it was for.
    pub fn paid(&mut self) {
        self.failed = 0;
    }

    /// Notes that a look ended in sleep.
    pub fn was_in_vain(&mut self) {
        self.failed = self.failed.saturating_add(1);
    }

    /// Looks for a while. Returns true as soon as `seen` does.
    pub fn look(&mut self, mut seen: impl FnMut() -> bool) -> bool {
        // A clock is asked once for many looks.
        const LOOKS: u32 = 32;
        let time = self.time();
        let began = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if seen() {
                    self.paid();
                    return true;
                }
                std::hint::spin_loop();
            }
            if began.elapsed() >= time {
                self.was_in_vain();
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_in_vain_become_short_and_one_that_pays_makes_them_long_again() {
        let most = Duration::from_micros(50);
        let mut patience = Patience::new(most);
        let mut short = 0;
        for _ in 0..200 {
            short += u32::from(patience.time() < most);
            patience.was_in_vain();
        }
        // The first eight are long, and then each of the 64th, 128th and 192nd.
        assert_eq!(short, 200 - 8 - 3);
        assert_eq!(patience.time(), most / 16);
        patience.paid();
        assert_eq!(patience.time(), most);
        assert_eq!(patience.time_within(2 * most), 2 * most);
    }
}
