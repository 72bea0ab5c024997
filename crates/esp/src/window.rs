//! The window against replays, with numbers of 32 or 64 bits of which packets carry 32.
//!
//! Ref. RFC 4303 §3.4.3 and appendix A.

use crate::fate::Fate;

/// The most packets that a window covers, as in the kernel.
pub const MOST_WINDOW: u32 = 4096;

/// The numbers that a receiver has seen.
///
/// ```
/// use millstream_esp::{Fate, Window};
///
/// let mut window = Window::new(64, false, 0);
/// let number = window.number_of(7).expect("it is new");
/// assert_eq!(window.take(number), Ok(()));
/// assert_eq!(window.number_of(7), Err(Fate::Replayed));
/// ```
#[derive(Clone, Debug)]
pub struct Window {
    /// The highest number that was taken.
    top: u64,
    /// A bit for each of the last numbers, as a ring: number `n` is bit `n % bits`.
    seen: Vec<u64>,
    size: u64,
    extended: bool,
}

impl Window {
    /// Makes a window of so many packets, at most [`MOST_WINDOW`]; none are checked if it is 0. All numbers up to `top` count as
    /// seen: what a receiver has accepted before it was started again.
    pub fn new(size: u32, extended: bool, top: u64) -> Self {
        let size = size.min(MOST_WINDOW);
        // A ring with room to spare, so that moving the window clears whole words ahead of it.
        let words = (size as usize).div_ceil(64) + 1;
        Window { top, seen: vec![u64::MAX; words], size: size.into(), extended }
    }

    /// Returns the highest number that was taken.
    pub fn top(&self) -> u64 {
        self.top
    }

    /// Finds the whole number of a packet that carries these 32 bits of it, as far as that can be known before it is authentic.
    ///
    /// # Errors
    /// [`Fate::Replayed`], [`Fate::Old`], or [`Fate::Malformed`] for the number 0, which nobody sends.
    pub fn number_of(&self, low: u32) -> Result<u64, Fate> {
        let number = if self.extended { self.infer(low) } else { low.into() };
        self.check(number)?;
        Ok(number)
    }

    /// Takes the number of an authentic packet.
    ///
    /// # Errors
    /// As for [`Window::number_of`]: another packet of this number may have come in between.
    pub fn take(&mut self, number: u64) -> Result<(), Fate> {
        self.check(number)?;
        if number > self.top {
            self.advance(number);
        }
        let (word, bit) = self.place(number);
        self.seen[word] |= bit;
        Ok(())
    }

    /// RFC 4303 appendix A2.1.
    fn infer(&self, low: u32) -> u64 {
        let (top_low, top_high) = (self.top as u32, self.top >> 32);
        let size = self.size.max(1) as u32;
        let bottom = top_low.wrapping_sub(size - 1);
        let high = if top_low >= size - 1 {
            // Case A: the window is within one subspace of numbers.
            if low >= bottom { top_high } else { top_high.wrapping_add(1) }
        } else if low >= bottom {
            // Case B: the window spans two, unless it begins before all numbers.
            top_high.saturating_sub(1)
        } else {
            top_high
        };
        high << 32 | u64::from(low)
    }

    fn check(&self, number: u64) -> Result<(), Fate> {
        if number == 0 {
            return Err(Fate::Malformed);
        }
        if self.size == 0 || number > self.top {
            return Ok(());
        }
        if self.top - number >= self.size {
            return Err(Fate::Old);
        }
        let (word, bit) = self.place(number);
        if self.seen[word] & bit != 0 { Err(Fate::Replayed) } else { Ok(()) }
    }

    fn advance(&mut self, number: u64) {
        let (from, to) = (self.top / 64, number / 64);
        let words = self.seen.len() as u64;
        if to - from >= words {
            self.seen.fill(0);
        } else {
            for word in from + 1..=to {
                self.seen[(word % words) as usize] = 0;
            }
            // The numbers above the old top in its own word are new, too.
            let above = u64::MAX.checked_shl((self.top % 64) as u32 + 1).unwrap_or(0);
            self.seen[(from % words) as usize] &= !above;
        }
        self.top = number;
    }

    fn place(&self, number: u64) -> (usize, u64) {
        ((number / 64 % self.seen.len() as u64) as usize, 1 << (number % 64))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use millstream_testkit::Random;

    use super::*;

    /// Says by a set of all numbers what a window has to say.
    fn model(seen: &BTreeSet<u64>, size: u64, number: u64) -> Result<(), Fate> {
        let top = seen.last().copied().unwrap_or(0);
        match number {
            0 => Err(Fate::Malformed),
            _ if number > top => Ok(()),
            _ if top - number >= size => Err(Fate::Old),
            _ if seen.contains(&number) => Err(Fate::Replayed),
            _ => Ok(()),
        }
    }

    #[test]
    fn it_agrees_with_a_set_of_all_numbers() {
        let mut random = Random::new(7);
        for size in [1, 31, 32, 63, 64, 65, 128, 1000, 4096] {
            for extended in [false, true] {
                let mut window = Window::new(size, extended, 0);
                let mut seen = BTreeSet::new();
                let mut at: u64 = if extended { u64::from(u32::MAX) - 3000 } else { 1 };
                for _ in 0..4000 {
                    let step = random.below(3 * size as usize + 2) as u64;
                    let number = (at + step).saturating_sub(u64::from(size) + u64::from(size) / 2);
                    let expected = model(&seen, size.into(), number);
                    if number > 0 && (expected.is_ok() || expected == Err(Fate::Replayed)) {
                        let inferred = window.number_of(number as u32);
                        if extended && number as u32 == 0 {
                            assert!(number >> 32 > 0);
                        }
                        assert_eq!(
                            inferred,
                            expected.map(|()| number),
                            "{size} {number} top {}",
                            window.top()
                        );
                    }
                    assert_eq!(window.take(number), expected, "{size} {number} top {}", window.top());
                    if expected.is_ok() {
                        seen.insert(number);
                        at = at.max(number);
                    }
                }
                assert!(!extended || window.top() > 1 << 32, "the subspace was left");
            }
        }
    }

    #[test]
    fn what_was_seen_before_a_start_is_not_taken_again() {
        let mut window = Window::new(64, false, 1000);
        assert_eq!(window.number_of(1000), Err(Fate::Replayed));
        assert_eq!(window.number_of(990), Err(Fate::Replayed));
        assert_eq!(window.number_of(900), Err(Fate::Old));
        assert_eq!(window.take(1010), Ok(()));
        assert_eq!(window.take(1005), Ok(()));
        assert_eq!(window.take(1000), Err(Fate::Replayed));
    }

    #[test]
    fn without_a_window_all_but_zero_is_taken() {
        let mut window = Window::new(0, false, 0);
        assert_eq!((window.take(5), window.take(5), window.take(1)), (Ok(()), Ok(()), Ok(())));
        assert_eq!(window.number_of(0), Err(Fate::Malformed));
    }
}
