//! The sequence numbers of a sender, none of which is ever given out twice under one key.
//!
//! A number that repeats is fatal for AES-GCM, ChaCha20-Poly1305 and counter mode, whose vectors are made of it. So numbers are *reserved*
//! before they are used: a store that outlives the process has the first number that was not reserved, and a sender that is started
//! again begins there. What was reserved and not used is lost, which a receiver doesn't mind.

use std::io;

use crate::fate::Fate;

/// The numbers that are reserved at a time.
pub const BLOCK: u64 = 1 << 20;

/// A store of a sender's numbers, which outlives the process.
pub trait Reserve: Send {
    /// Stores durably that all numbers below `end` may have been used.
    ///
    /// # Errors
    /// The system's; no number is given out then.
    fn reserve(&mut self, end: u64) -> io::Result<()>;
}

/// A store that keeps nothing: for keys that never have a second sender, as those that a daemon has just agreed on.
#[derive(Clone, Copy, Debug)]
pub struct FreshKey;

impl Reserve for FreshKey {
    fn reserve(&mut self, _end: u64) -> io::Result<()> {
        Ok(())
    }
}

/// The numbers of a sender.
///
/// ```
/// use millstream_esp::{FreshKey, Numbers};
///
/// let mut numbers = Numbers::new(1, false, Box::new(FreshKey));
/// assert_eq!((numbers.take(), numbers.take()), (Ok(1), Ok(2)));
/// ```
pub struct Numbers {
    next: u64,
    reserved: u64,
    last: u64,
    store: Box<dyn Reserve>,
}

impl Numbers {
    /// Makes numbers that begin with `first`, of 64 bits if they are extended.
    pub fn new(first: u64, extended: bool, store: Box<dyn Reserve>) -> Self {
        let last = if extended { u64::MAX - 1 } else { u32::MAX.into() };
        let first = first.max(1);
        Numbers { next: first, reserved: first, last, store }
    }

    /// Returns the number that is given out next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Takes a number.
    ///
    /// # Errors
    /// [`Fate::Numbers`] when none is left (RFC 4303 §3.3.3: it never cycles), or none can be reserved.
    pub fn take(&mut self) -> Result<u64, Fate> {
        if self.next > self.last {
            return Err(Fate::Numbers);
        }
        if self.next >= self.reserved {
            let end = self.next.saturating_add(BLOCK);
            self.store.reserve(end).map_err(|_| Fate::Numbers)?;
            self.reserved = end;
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Stores that no more numbers than those given out were used, when a sender ends in order.
    ///
    /// # Errors
    /// The system's; the next start leaves out what was reserved.
    pub fn settle(&mut self) -> io::Result<()> {
        if self.reserved > self.next {
            self.store.reserve(self.next)?;
            self.reserved = self.next;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    struct Kept(Arc<Mutex<Result<u64, ()>>>);

    impl Reserve for Kept {
        fn reserve(&mut self, end: u64) -> io::Result<()> {
            let mut kept = self.0.lock().unwrap();
            if kept.is_err() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            *kept = Ok(end);
            Ok(())
        }
    }

    #[test]
    fn a_sender_that_dies_at_any_moment_never_repeats_a_number() {
        let kept = Arc::new(Mutex::new(Ok(1)));
        let mut last = 0;
        for life in 0..20 {
            let mut numbers = Numbers::new(kept.lock().unwrap().unwrap(), true, Box::new(Kept(kept.clone())));
            for _ in 0..life {
                let number = numbers.take().unwrap();
                assert!(number > last && kept.lock().unwrap().unwrap() > number);
                last = number;
            }
            if life % 3 == 0 {
                numbers.settle().unwrap();
                assert_eq!(kept.lock().unwrap().unwrap(), numbers.next());
            }
        }
    }

    #[test]
    fn without_a_reservation_there_is_no_number() {
        let kept = Arc::new(Mutex::new(Err(())));
        let mut numbers = Numbers::new(5, false, Box::new(Kept(kept.clone())));
        assert_eq!(numbers.take(), Err(Fate::Numbers));
        *kept.lock().unwrap() = Ok(0);
        assert_eq!(numbers.take(), Ok(5));
    }

    #[test]
    fn numbers_never_cycle() {
        let mut numbers = Numbers::new(u32::MAX.into(), false, Box::new(FreshKey));
        assert_eq!((numbers.take(), numbers.take()), (Ok(u32::MAX.into()), Err(Fate::Numbers)));
        let mut numbers = Numbers::new(u32::MAX.into(), true, Box::new(FreshKey));
        numbers.take().unwrap();
        assert_eq!(numbers.take(), Ok(1 << 32));
    }
}
