//! A security association: its keys, its sequence numbers or its replay window, its lifetime and its counters.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use zeroize::Zeroizing;

use crate::description::{Description, Direction, KeyMaterial};
use crate::fate::{Counters, Fate};
use crate::ip::Flow;
use crate::keys::Keys;
use crate::numbers::{Ahead, Numbers};
use crate::suite::Suite;
use crate::window::Window;

/// The part of an association that has a direction.
pub enum Side {
    /// The association opens packets. The number is the highest that was accepted before.
    In {
        /// The highest number that was accepted.
        top: u64,
    },
    /// The association seals packets.
    Out {
        /// The numbers of its packets.
        numbers: Numbers,
        /// A random number that is added to sequence numbers where vectors must not repeat. It stays with the key as the sequence
        /// numbers do. If the store of both is lost, another one keeps the vectors apart all the same, but for a chance of one in
        /// some 2^31 for 2^32 packets.
        vectors: u64,
    },
}

enum State {
    In(Mutex<Window>),
    Out { numbers: Mutex<Numbers>, ahead: Ahead, vectors: u64 },
}

/// A security association.
pub struct Sa {
    facts: Description,
    fingerprint: [u8; 16],
    /// The state says it, too, from a line that changes with each packet.
    direction: Direction,
    begun: Instant,
    keys: RwLock<Option<Arc<Keys>>>,
    begins: Apart<Begins>,
    counters: Apart<Counters>,
}

/// The parts that change when a packet begins.
struct Begins {
    state: State,
    carried_packets: AtomicU64,
    carried_bytes: AtomicU64,
    is_soft: AtomicBool,
    is_over: AtomicBool,
}

/// A value that shares no line of a cache with others, nor a pair of lines. Some threads begin packets, others end them, and both change the association
/// with each.
#[repr(align(128))]
struct Apart<T>(T);

impl<T> std::ops::Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Sa {
    /// Makes an association. Its keys are bound already, and what the description has of them is zeroised.
    pub fn new(mut description: Description, keys: Keys, side: Side) -> Result<Self, millstream::Error> {
        let fingerprint = description.keys.fingerprint(description.suite)?;
        description.keys = KeyMaterial {
            cipher: Zeroizing::default(),
            salt: Zeroizing::default(),
            auth: Zeroizing::default(),
        };
        let (direction, state) = match side {
            Side::In { top } => {
                let top = top.max(description.last_accepted);
                let window = Window::new(description.window, description.extended, top);
                (Direction::In, State::In(Mutex::new(window)))
            }
            Side::Out { numbers, vectors } => {
                let ahead = numbers.ahead();
                (Direction::Out, State::Out { numbers: Mutex::new(numbers), ahead, vectors })
            }
        };
        Ok(Sa {
            facts: description,
            fingerprint,
            direction,
            begun: Instant::now(),
            keys: RwLock::new(Some(Arc::new(keys))),
            begins: Apart(Begins {
                state,
                carried_packets: AtomicU64::new(0),
                carried_bytes: AtomicU64::new(0),
                is_soft: AtomicBool::new(false),
                is_over: AtomicBool::new(false),
            }),
            counters: Apart(Counters::default()),
        })
    }

    /// Returns the description, without its keys.
    pub fn facts(&self) -> &Description {
        &self.facts
    }

    /// Returns a number that tells this key from others, and nothing else of it.
    pub fn fingerprint(&self) -> [u8; 16] {
        self.fingerprint
    }

    /// Returns the direction.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the highest sequence number that was accepted, or the last one that was given out.
    pub fn highest(&self) -> u64 {
        match &self.begins.state {
            State::In(window) => lock(window).top(),
            State::Out { numbers, .. } => lock(numbers).next() - 1,
        }
    }

    /// Returns true behind the soft limit, or the hard one.
    pub fn is_soft(&self) -> bool {
        self.begins.is_soft.load(Ordering::Relaxed) || self.is_over()
    }

    /// Returns true behind the hard limit: the association carries nothing any more.
    pub fn is_over(&self) -> bool {
        self.begins.is_over.load(Ordering::Relaxed)
    }

    /// Notes that a soft limit was reached somewhere else.
    pub fn soften(self: &Arc<Self>) {
        self.begins.is_soft.store(true, Ordering::Relaxed);
    }

    /// Looks whether a lifetime in seconds has ended. Somebody has to call this now and then.
    pub fn look_at_clock(&self) {
        let age = self.begun.elapsed().as_secs();
        let limits = &self.facts.limits;
        if limits.soft.seconds.is_some_and(|limit| age >= limit) {
            self.begins.is_soft.store(true, Ordering::Relaxed);
        }
        if limits.hard.seconds.is_some_and(|limit| age >= limit) {
            self.begins.is_over.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true while it is time for [`Sa::reserve_ahead`].
    pub fn wants_numbers(&self) -> bool {
        matches!(&self.begins.state, State::Out { ahead, .. } if ahead.is_asked())
    }

    /// Reserves sequence numbers before they are needed, if it is time for that. Packets go on meanwhile. Somebody has to call this several times a second,
    /// or else the sender waits for its store each time that it has used a [`BLOCK`](crate::BLOCK).
    ///
    /// # Errors
    /// The store's; it may be tried again.
    pub fn reserve_ahead(&self) -> std::io::Result<()> {
        match &self.begins.state {
            State::In(_) => Ok(()),
            State::Out { ahead, .. } => ahead.reserve(),
        }
    }

    /// Stores that no more sequence numbers than those given out were used, when the program ends in order.
    ///
    /// # Errors
    /// The store's.
    pub fn settle(&self) -> std::io::Result<()> {
        match &self.begins.state {
            State::In(_) => Ok(()),
            State::Out { numbers, .. } => lock(numbers).settle(),
        }
    }

    /// Puts keys in the place of others that a service has lost. They must be the same keys.
    pub fn rebind(&self, keys: Keys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(keys));
    }

    /// Forgets keys that a service has lost.
    pub fn unbind(&self) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns true if the association has its keys.
    pub fn is_bound(&self) -> bool {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns true if the association itself admits the inner packet.
    pub fn admits(&self, flow: &Flow) -> bool {
        self.facts.selector.is_none_or(|selector| selector.contains(flow))
    }

    pub(crate) fn keys(&self) -> Result<Arc<Keys>, Fate> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Fate::NoKey)
    }

    pub(crate) fn suite(&self) -> Suite {
        self.facts.suite
    }

    /// Counts a packet against the limits, before it is sealed or after it proved authentic.
    pub(crate) fn charge(&self, bytes: usize) -> Result<(), Fate> {
        if self.is_over() {
            return Err(Fate::Expired);
        }
        let packets = self.begins.carried_packets.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.begins.carried_bytes.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        let limits = &self.facts.limits;
        let reached = |limit: Option<u64>, now: u64| limit.is_some_and(|limit| now > limit);
        if reached(limits.soft.packets, packets) || reached(limits.soft.bytes, bytes) {
            self.begins.is_soft.store(true, Ordering::Relaxed);
        }
        if reached(limits.hard.packets, packets) || reached(limits.hard.bytes, bytes) {
            self.begins.is_over.store(true, Ordering::Relaxed);
            return Err(Fate::Expired);
        }
        Ok(())
    }

    /// Takes the next number to send under, and the vector that belongs to it.
    pub(crate) fn take_number(&self) -> Result<(u64, u64), Fate> {
        let State::Out { numbers, vectors, .. } = &self.begins.state else { return Err(Fate::NoSa) };
        let number = lock(numbers).take()?;
        Ok((number, vectors.wrapping_add(number)))
    }

    /// Finds the whole number of a packet that has arrived.
    pub(crate) fn number_of(&self, low: u32) -> Result<u64, Fate> {
        let State::In(window) = &self.begins.state else { return Err(Fate::NoSa) };
        lock(window).number_of(low)
    }

    /// Takes the number of an authentic packet.
    pub(crate) fn accept(&self, number: u64) -> Result<(), Fate> {
        let State::In(window) = &self.begins.state else { return Err(Fate::NoSa) };
        lock(window).take(number)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says which association, and nothing of its keys.
impl fmt::Debug for Sa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sa({:?} {:#010x})", self.direction(), self.facts.spi)
    }
}

impl KeyMaterial {
    /// Computes a number that tells this key, with its salt and its algorithm, from others, and nothing else of it: a key is random, so
    /// its HMAC gives nothing away.
    ///
    /// # Errors
    /// When `MILLSTREAM_HWCAP` can't be understood.
    pub fn fingerprint(&self, suite: Suite) -> Result<[u8; 16], millstream::Error> {
        let key = Zeroizing::new([&self.cipher[..], &self.salt[..suite.salt_len()]].concat());
        let key =
            millstream::hmac::HmacKey::new(millstream::features()?, millstream::hash::Hash::Sha256, &key);
        let digest = key.sign(format!("millstream esp sequence numbers {:?}", suite.cipher()).as_bytes());
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&digest.as_ref()[..16]);
        Ok(fingerprint)
    }
}
