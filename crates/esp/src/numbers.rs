//! The sequence numbers of a sender, none of which is ever given out twice under one key.
//!
//! A number that repeats is fatal for AES-GCM, ChaCha20-Poly1305 and counter mode, whose vectors are made of it. So numbers are *reserved*
//! before they are used: a store that outlives the process has the first number that was not reserved, and a sender that is started
//! again begins there. What was reserved and not used is lost, which a receiver doesn't mind.
//!
//! A store takes its time, some milliseconds on most disks. So another thread reserves the next block while half of the present one is left, and the sender
//! waits for the store only if that thread comes too late.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// All numbers below this one are reserved. The store may have more.
    reserved: u64,
    /// The number at which the next block is asked for.
    asks_at: u64,
    last: u64,
    store: Arc<Store>,
}

impl Numbers {
    /// Makes numbers that begin with `first`, of 64 bits if they are extended.
    pub fn new(first: u64, extended: bool, keeps: Box<dyn Reserve>) -> Self {
        let last = if extended { u64::MAX - 1 } else { u32::MAX.into() };
        let first = first.max(1);
        let store =
            Store { is_asked: AtomicBool::new(true), stored: Mutex::new(Stored { end: first, keeps }) };
        Numbers { next: first, reserved: first, asks_at: first, last, store: Arc::new(store) }
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
            self.reserved = self.store.end_above(self.next).map_err(|_| Fate::Numbers)?;
            self.asks_at = self.reserved - (self.reserved - self.next) / 2;
        }
        if self.next == self.asks_at {
            self.store.is_asked.store(true, Ordering::Relaxed);
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Stores that no more numbers than those given out were used, when a sender ends in order. What was asked for ahead is not reserved any more.
    ///
    /// # Errors
    /// The system's; the next start leaves out what was reserved.
    pub fn settle(&mut self) -> io::Result<()> {
        self.store.settle(self.next)?;
        self.reserved = self.next;
        Ok(())
    }

    /// Returns the means to reserve numbers ahead on another thread.
    pub(crate) fn ahead(&self) -> Ahead {
        Ahead(self.store.clone())
    }
}

/// Reserves a sender's numbers before it needs them, on another thread.
pub(crate) struct Ahead(Arc<Store>);

impl Ahead {
    /// Returns true if the sender has asked for the next block.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::Relaxed)
    }

    /// Reserves the next block, if the sender has asked for it. The sender goes on meanwhile.
    ///
    /// # Errors
    /// The system's; it may be tried again.
    pub(crate) fn reserve(&self) -> io::Result<()> {
        let mut stored = self.0.lock();
        // Only under the lock does this say that the sender has not ended, after which somebody else may have the store.
        if self.is_asked() {
            let end = stored.end.saturating_add(BLOCK);
            stored.reserve(end)?;
            self.0.is_asked.store(false, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The store of a sender's numbers, which the sender and another thread share.
struct Store {
    /// True while the sender wants another block.
    is_asked: AtomicBool,
    stored: Mutex<Stored>,
}

struct Stored {
    /// The first number that is not reserved, as the store has it.
    end: u64,
    keeps: Box<dyn Reserve>,
}

impl Stored {
    fn reserve(&mut self, end: u64) -> io::Result<()> {
        self.keeps.reserve(end)?;
        self.end = end;
        Ok(())
    }
}

impl Store {
    /// Returns the first number that is not reserved, which is above `next`: one that was reserved ahead, if that was in time.
    fn end_above(&self, next: u64) -> io::Result<u64> {
        let mut stored = self.lock();
        if stored.end <= next {
            stored.reserve(next.saturating_add(BLOCK))?;
            self.is_asked.store(false, Ordering::Relaxed);
        }
        Ok(stored.end)
    }

    fn settle(&self, next: u64) -> io::Result<()> {
        let mut stored = self.lock();
        self.is_asked.store(false, Ordering::Relaxed);
        if stored.end > next { stored.reserve(next) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

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
            for round in 0..life {
                if round % 7 == life % 5 {
                    numbers.ahead().reserve().unwrap();
                }
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

    /// A store of which each reservation waits until the test lets it go on.
    struct Slow {
        began: mpsc::Sender<u64>,
        ends: mpsc::Receiver<()>,
    }

    impl Reserve for Slow {
        fn reserve(&mut self, end: u64) -> io::Result<()> {
            self.began.send(end).unwrap();
            self.ends.recv().map_err(io::Error::other)
        }
    }

    #[test]
    fn a_sender_goes_on_while_another_thread_reserves() {
        let (began, begun) = mpsc::channel();
        let (end, ends) = mpsc::channel();
        let mut numbers = Numbers::new(1, true, Box::new(Slow { began, ends }));
        let ahead = numbers.ahead();
        end.send(()).unwrap();
        ahead.reserve().unwrap();
        assert_eq!((begun.recv().unwrap(), ahead.is_asked()), (1 + BLOCK, false));
        let mut expected = 1;
        let mut take_below = |numbers: &mut Numbers, end| {
            while expected < end {
                assert_eq!(numbers.take(), Ok(expected));
                expected += 1;
            }
        };
        take_below(&mut numbers, BLOCK / 2);
        assert!(!ahead.is_asked());
        take_below(&mut numbers, BLOCK / 2 + 2);
        assert!(ahead.is_asked(), "half of the block is used");
        thread::scope(|scope| {
            let reserving = scope.spawn(|| ahead.reserve());
            assert_eq!(begun.recv().unwrap(), 1 + 2 * BLOCK);
            // The store has not ended, and nothing waits for it up to the end of the block.
            take_below(&mut numbers, 1 + BLOCK);
            end.send(()).unwrap();
            reserving.join().unwrap().unwrap();
            take_below(&mut numbers, 1 + BLOCK + BLOCK / 4);
            assert!(!ahead.is_asked());
            take_below(&mut numbers, 1 + BLOCK + BLOCK / 2 + 1);

            // If it comes too late, the sender waits for it.
            let reserving = scope.spawn(|| ahead.reserve());
            assert_eq!(begun.recv().unwrap(), 1 + 3 * BLOCK);
            take_below(&mut numbers, 1 + 2 * BLOCK);
            let late = scope.spawn(move || numbers.take());
            thread::sleep(Duration::from_millis(20));
            assert!(!late.is_finished());
            end.send(()).unwrap();
            assert_eq!(late.join().unwrap(), Ok(1 + 2 * BLOCK));
            reserving.join().unwrap().unwrap();
        });
        assert!(begun.try_recv().is_err(), "nothing was stored twice");
    }

    /// After a sender has ended, another one may have its key, and its store.
    #[test]
    fn nothing_is_reserved_for_a_sender_that_has_ended() {
        let kept = Arc::new(Mutex::new(Ok(1)));
        let mut numbers = Numbers::new(1, true, Box::new(Kept(kept.clone())));
        let ahead = numbers.ahead();
        for _ in 0..BLOCK / 2 + 2 {
            numbers.take().unwrap();
        }
        assert!(ahead.is_asked());
        numbers.settle().unwrap();
        assert_eq!(*kept.lock().unwrap(), Ok(numbers.next()));
        let other = 7 * BLOCK;
        *kept.lock().unwrap() = Ok(other);
        ahead.reserve().unwrap();
        assert_eq!(*kept.lock().unwrap(), Ok(other));
    }

    #[test]
    fn a_reservation_that_failed_is_tried_again() {
        let kept = Arc::new(Mutex::new(Err(())));
        let mut numbers = Numbers::new(1, true, Box::new(Kept(kept.clone())));
        let ahead = numbers.ahead();
        assert!(ahead.reserve().is_err() && ahead.is_asked());
        *kept.lock().unwrap() = Ok(0);
        ahead.reserve().unwrap();
        assert_eq!((numbers.take(), *kept.lock().unwrap(), ahead.is_asked()), (Ok(1), Ok(1 + BLOCK), false));
    }
}
