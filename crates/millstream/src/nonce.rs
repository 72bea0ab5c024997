//! Nonces for AEADs, none of which comes twice.
//!
//! AES-GCM and ChaCha20-Poly1305 lose their protection when one nonce is used for two messages under one key. The two types
//! here are the two constructions of the standard, and refuse rather than repeat:
//!
//! | type | for |
//! | --- | --- |
//! | [`CounterNonces`] | a key of which every user has a number of his own, or that only one process uses and that it made itself |
//! | [`RandomNonces`] | a key that several use without knowing of each other, or that outlives the process: 2^32 messages in all |
//!
//! Make nonces together with their key, and let both end together. A key in a queue's slot, or in the service, can
//! [make its own](crate::queue::Nonces::Made).
//!
//! ```
//! use millstream::aead::Aead;
//! use millstream::nonce::RandomNonces;
//! use millstream::{InOut, gcm::Gcm};
//!
//! let key = Gcm::new(millstream::features()?, &[7; 32])?;
//! let nonces = RandomNonces::new()?;
//! for message in ["first", "second"] {
//!     let (nonce, mut tag) = (nonces.next()?, [0; 16]);
//!     let mut data = message.as_bytes().to_vec();
//!     key.seal(&nonce, b"", InOut::in_place(&mut data), &mut tag)?;
//!     // The peer needs the nonce, the data and the tag.
//! }
//! # Ok::<(), millstream::Error>(())
//! ```
//!
//! Ref. NIST SP 800-38D §8.2: constructions of initialisation vectors; §8.3: how often a key may be used with them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::key::fill_with_random;

/// Bytes of a nonce.
pub const BYTES: usize = 12;

/// The reason why no nonce is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NonceError {
    /// All that the key may be used with were given out.
    Spent,
    /// This is a forked child of the process that made the nonces: both would give out the same, or count apart.
    Forked,
}

impl fmt::Display for NonceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NonceError::Spent => "the key has been used with all of its nonces: take another key",
            NonceError::Forked => {
                "these nonces are the parent's, and a forked child would repeat them: make a key and nonces of its own in the child"
            }
        })
    }
}

impl std::error::Error for NonceError {}

/// Nonces that are counted: a fixed field of 32 bits, then a counter of 64 bits (SP 800-38D §8.2.1).
///
/// The fixed field tells apart those who use one key at the same time; two of them with the same field repeat each other's
/// nonces. Threads share one by reference. There is no `clone`.
///
/// ```
/// use millstream::nonce::CounterNonces;
///
/// // Two devices have one key. This is the second one.
/// let nonces = CounterNonces::new([0, 0, 0, 2])?;
/// assert_eq!(nonces.next()?, [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
/// assert_eq!(nonces.next()?, [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
/// # Ok::<(), millstream::Error>(())
/// ```
#[derive(Debug)]
pub struct CounterNonces {
    fixed: [u8; 4],
    next: AtomicU64,
    forks: u64,
}

impl CounterNonces {
    /// Counts from zero, for a key that is new.
    ///
    /// # Errors
    /// [`Error::Memory`] when the system can't tell of forks.
    pub fn new(fixed: [u8; 4]) -> Result<Self, Error> {
        CounterNonces::starting_at(fixed, 0)
    }

    /// Goes on at a position, for a key that outlives the process. Keep the position where it survives a crash, and always ahead
    /// of what is in use: store `position() + 1000`, give out 1000 nonces, store again. What was stored and not used is lost,
    /// and nothing repeats.
    ///
    /// # Errors
    /// As [`CounterNonces::new`].
    pub fn starting_at(fixed: [u8; 4], position: u64) -> Result<Self, Error> {
        Ok(CounterNonces { fixed, next: AtomicU64::new(position), forks: watched_forks()? })
    }

    /// Gives out the next nonce.
    ///
    /// # Errors
    /// [`NonceError::Spent`] after 2^64 - 1 nonces; [`NonceError::Forked`].
    pub fn next(&self) -> Result<[u8; BYTES], Error> {
        let count = take(&self.next, u64::MAX, self.forks)?;
        let mut nonce = [0; BYTES];
        nonce[..4].copy_from_slice(&self.fixed);
        nonce[4..].copy_from_slice(&count.to_be_bytes());
        Ok(nonce)
    }

    /// Returns the position: the counter of the next nonce.
    pub fn position(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }
}

/// Nonces of 96 random bits (SP 800-38D §8.2.2), 2^32 for a key (§8.3): with so many, two are the same with a probability below
/// 2^-32. Threads share one by reference.
#[derive(Debug)]
pub struct RandomNonces {
    given: AtomicU64,
    limit: u64,
    forks: u64,
}

impl RandomNonces {
    /// The most random nonces that a key may be used with.
    pub const MOST: u64 = 1 << 32;

    /// Draws as many as a key may be used with.
    ///
    /// # Errors
    /// [`Error::Memory`] when the system can't tell of forks.
    pub fn new() -> Result<Self, Error> {
        RandomNonces::limited(RandomNonces::MOST)
    }

    /// Draws so many at most, and never more than [`RandomNonces::MOST`]. Where several processes use one key, or one uses it
    /// again after a restart, their limits together must not exceed that number.
    ///
    /// # Errors
    /// As [`RandomNonces::new`].
    pub fn limited(limit: u64) -> Result<Self, Error> {
        let limit = limit.min(RandomNonces::MOST);
        Ok(RandomNonces { given: AtomicU64::new(0), limit, forks: watched_forks()? })
    }

    /// Draws a nonce from the kernel.
    ///
    /// # Errors
    /// [`NonceError::Spent`] when the limit is reached; [`NonceError::Forked`]; what the kernel says.
    pub fn next(&self) -> Result<[u8; BYTES], Error> {
        take(&self.given, self.limit, self.forks)?;
        let mut nonce = [0; BYTES];
        fill_with_random(&mut nonce)?;
        Ok(nonce)
    }
}

/// Counts one more, below a limit. No number is returned twice, whichever threads ask.
fn take(counter: &AtomicU64, limit: u64, forks: u64) -> Result<u64, NonceError> {
    if forks != millstream_shm::forks() {
        return Err(NonceError::Forked);
    }
    let more = |count: u64| (count < limit).then(|| count + 1);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| NonceError::Spent)
}

fn watched_forks() -> Result<u64, Error> {
    millstream_shm::watch_forks().map_err(|error| Error::Memory(error.kind()))?;
    Ok(millstream_shm::forks())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn threads_never_get_the_same_nonce() {
        let (counted, random) = (CounterNonces::new([1, 2, 3, 4]).unwrap(), RandomNonces::new().unwrap());
        let both = |_| (counted.next().unwrap(), random.next().unwrap());
        let nonces: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..1000).map(both).collect::<Vec<_>>())).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let (counted_ones, random_ones): (HashSet<_>, HashSet<_>) = nonces.into_iter().unzip();
        assert_eq!((counted_ones.len(), random_ones.len()), (4000, 4000));
        assert!(counted_ones.iter().all(|nonce| nonce[..4] == [1, 2, 3, 4]));
        assert_eq!(counted.position(), 4000);
    }

    #[test]
    fn nothing_wraps_and_no_limit_is_passed() {
        let spent = Err(Error::Nonce(NonceError::Spent));
        let last = CounterNonces::starting_at([0; 4], u64::MAX - 1).unwrap();
        assert_eq!(last.next().unwrap()[4..], (u64::MAX - 1).to_be_bytes());
        for _ in 0..3 {
            assert_eq!(last.next(), spent);
        }
        let few = RandomNonces::limited(2).unwrap();
        assert!(few.next().is_ok() && few.next().is_ok());
        assert_eq!((few.next(), few.next()), (spent.clone(), spent));
        assert_eq!(RandomNonces::limited(u64::MAX).unwrap().limit, 1 << 32);
    }
}
