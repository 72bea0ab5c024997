//! Queues: many operations in flight, executed side by side.
//!
//! A [`Queue`] has an arena. Its [`Buffer`]s hold input and output; a [`Request`] takes buffers with it and a
//! [`Done`] brings them back. In between they can't be reached, so nothing can go wrong with them. An
//! accelerator behind the queue takes requests by the lanefull: either *inline*, on the thread that polls, or
//! on a thread of its own ([`AcceleratorThread`]), or in another process
//! ([`isolated`](crate::isolated)). [`SharedQueue`] is for many threads and for `async` code.
//!
//! ```
//! use millstream::cwq::Algorithm;
//! use millstream::hash::Hash;
//! use millstream::queue::{Config, Queue, Request};
//!
//! let mut queue = Queue::inline(millstream::features()?, Config::default())?;
//! let key = queue.import_key(Algorithm::AesCbc, &[7; 16])?;
//!
//! for i in 0..16 {
//!     let mut packet = queue.buffer(64)?;
//!     packet.fill(i);
//!     let output = queue.buffer(64)?;
//!     queue.submit(Request::encrypt(key, &[9; 16], packet, output))?;
//! }
//! while let Some(done) = queue.wait() {
//!     done.result?;
//!     println!("{:?}", done.buffers.destination);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When it is full
//! [`Queue::submit`] never blocks. When as many operations are in flight as the queue is deep it gives the
//! buffers back with [`Refusal::Full`]: take what has come back, then submit again. [`SharedQueue::submit_async`] and
//! [`SharedQueue::run`] wait for room.
//!
//! # Many at a time
//! A loop around [`Queue::submit`] and a loop around [`Queue::poll`] are the fast way. The queue publishes requests by the handful,
//! or all at once where the accelerator is inline, and `poll` hands on the completions that one look has found. Guards
//! that hold the producer's or the consumer's side for many calls were built and measured in turns with these calls, 64 in flight
//! inline and 32 isolated, on an Intel Xeon with AVX-512. A guard that submits saved 1 ns of the 12 of a null request, about 1 % of
//! AES-GCM, AES-CBC and HMAC-SHA256 of 64 bytes, and 2 % at most in an isolated queue. One that drains, too, saved nothing more inline. One that
//! holds the lock of a [`SharedQueue`] saved 3 % at most. So there is no second set of calls.

mod buffers;
mod cancel;
mod completions;
mod config;
mod done;
mod driver;
mod isolated;
mod leave;
mod line;
mod parts;
mod request;
mod shared;
mod sleeper;
mod slot;
mod submit;
mod submitting;
mod thread;
mod ticket;
mod trace;

use std::fmt;
use std::sync::Arc;

use millstream_accelerator::{Accelerator, FlushPolicy, Way};
use millstream_cpu::Features;
use millstream_cwq::ring::{Consumer, Producer};
use millstream_cwq::{Algorithm, Completion, ControlWord};

pub use buffers::{Buffers, Refused};
pub use config::{Config, ThreadConfig};
pub use done::Done;
pub use request::{Piece, Request, RequestKey};
pub use shared::{Pending, SharedQueue};
pub use submitting::Submitting;
pub use thread::AcceleratorThread;
pub(crate) use thread::ThreadGrant;
pub use ticket::Ticket;

use crate::Error;
pub use crate::heap::Buffer;
use crate::heap::{Exclusive, Heap};
pub use crate::key::{Exportable, KeyHandle, KeyOptions, Nonces};
use crate::random;
pub use crate::refusal::Refusal;
use driver::Driver;
use parts::{Parts, Places, RingMemory};
use slot::Slot;

/// A queue of one client. It can be sent to another thread; for several at once there is [`SharedQueue`].
pub struct Queue {
    driver: Driver,
    heap: Arc<Heap>,
    submissions: Producer<RingMemory, { ControlWord::WORDS }>,
    completions: Consumer<RingMemory, { Completion::WORDS }>,
    places: Places,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// True when a slot stays taken until whoever waits for its operation has been told.
    shared: bool,
    /// True when the accelerator works on another core.
    on_other_core: bool,
    /// The fewest bytes of input that are handed over though there is output too.
    hand_over_from: usize,
    /// The completion up to which the lines of operations were prefetched.
    prefetched_to: u64,
    /// An end that was found on a rare way, which the frequent way hands on.
    stash: Option<Done>,
    /// The number of cancels whose own completions are to come.
    cancels: usize,
    /// The grant's number, for tracepoints.
    label: u64,
    /// The number of forks there had been when an accelerator on this thread got the first key for which it makes nonces.
    counts_since: Option<u64>,
}

impl Queue {
    /// Makes a queue over memory that somebody serves.
    fn over(parts: Parts, driver: Driver) -> Queue {
        const FRESH: &str = "the memory was made for a ring";
        let (label, hand_over_from) = match &driver {
            Driver::Isolated(isolated) => (isolated.link().grant().id, isolated.hand_over_from()),
            _ => (0, usize::MAX),
        };
        Queue {
            label,
            on_other_core: !matches!(driver, Driver::Inline(..)),
            hand_over_from,
            driver,
            prefetched_to: 0,
            submissions: Producer::resume(parts.submissions, parts.position.0).expect(FRESH),
            completions: Consumer::resume(parts.completions, parts.position.1).expect(FRESH),
            heap: parts.heap,
            places: parts.places,
            slots: (0..parts.depth as u32).map(Slot::numbered).collect(),
            stash: None,
            // The first to be taken is the last.
            free: (0..parts.depth as u32).rev().collect(),
            shared: false,
            cancels: 0,
            counts_since: None,
        }
    }

    /// Makes a queue whose accelerator works on the thread that calls [`Queue::poll`] or [`Queue::wait`].
    ///
    /// # Errors
    /// [`Refusal::ArenaFull`] when arena and depth together are more than 4 GiB; [`Error::Memory`]; [`Error::Way`] when
    /// `MILLSTREAM_QUEUE` can't be understood.
    pub fn inline(features: Features, config: Config) -> Result<Self, Error> {
        let parts = Parts::new(&config)?;
        let mut accelerator = Box::new(Accelerator::new(features, FlushPolicy::default()));
        accelerator.set_way(Way::active()?);
        accelerator.set_random(random::fill);
        let grant = accelerator.add_grant(Exclusive(parts.heap.clone()), config.key_slots);
        accelerator
            .add_queue(grant, parts.submissions.clone(), parts.completions.clone(), config.weight)
            .map_err(|_| Refusal::Gone)?;
        Ok(Queue::over(parts, Driver::Inline(accelerator, grant)))
    }

    /// Returns the number of operations that may be in flight.
    pub fn depth(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of operations in flight.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Lends a buffer of zeros in the queue's arena.
    ///
    /// # Errors
    /// [`Refusal::ArenaFull`]; [`Refusal::BufferLength`] for more than 2^32 - 129 bytes; [`Refusal::Revoked`],
    /// [`Refusal::Gone`] and [`Refusal::Forked`] after a grant's end.
    #[inline]
    pub fn buffer(&self, len: usize) -> Result<Buffer, Refusal> {
        match &self.driver {
            Driver::Isolated(isolated) => {
                if let Some(why) = isolated.refusal() {
                    return Err(why);
                }
            }
            // In a forked child the heap's lock may be held for ever.
            Driver::Thread(client) if client.is_parents() => return Err(Refusal::Forked),
            _ => {}
        }
        self.heap.buffer(len)
    }

    /// Expands a key into a slot of the accelerator; the key of a hash is an HMAC's. The caller's bytes are not
    /// needed afterwards.
    ///
    /// # Errors
    /// As the engine's own `new`; [`Error::KeySlots`] when all are taken.
    pub fn import_key(&mut self, algorithm: Algorithm, key: &[u8]) -> Result<KeyHandle, Error> {
        self.import_key_with(algorithm, key, KeyOptions::default())
    }

    /// Expands a key as [`Queue::import_key`] does, for some of the algorithm's uses only, or with nonces that the
    /// accelerator makes: see [`KeyOptions`].
    ///
    /// # Errors
    /// As [`Queue::import_key`]; [`Error::Key`] where the key can't have that purpose, or a service's policy does not allow it.
    pub fn import_key_with(
        &mut self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        let handle = match &mut self.driver {
            Driver::Inline(accelerator, grant) => {
                let key = options.prepared(accelerator.features(), algorithm, key, false)?;
                if options.nonces == Nonces::Made && self.counts_since.is_none() {
                    millstream_shm::watch_forks().map_err(|error| Error::Memory(error.kind()))?;
                    self.counts_since = Some(millstream_shm::forks());
                }
                accelerator.insert_prepared(*grant, key).map_err(|_| Error::KeySlots)?
            }
            Driver::Thread(client) => client.insert_key(algorithm, key, options)?,
            Driver::Isolated(isolated) => return isolated.link().import_key(algorithm, key, options),
        };
        Ok(KeyHandle { handle, algorithm })
    }

    /// Zeroises a key. Returns false when there was none. Operations under it that have not begun end with
    /// [`Status::Key`](crate::cwq::Status::Key). Where the grant has several queues it is gone for all of them.
    pub fn remove_key(&mut self, key: KeyHandle) -> bool {
        match &mut self.driver {
            Driver::Inline(accelerator, grant) => accelerator.remove_key(*grant, key.handle),
            Driver::Thread(client) => client.remove_key(key.handle),
            Driver::Isolated(isolated) => isolated.link().destroy_key(key).is_ok(),
        }
    }

    /// Returns the reason why no request is taken any more, if there is one.
    #[inline(always)]
    fn refusal(&self) -> Option<Refusal> {
        match &self.driver {
            Driver::Inline(..) => self.would_repeat_nonces().then_some(Refusal::Forked),
            Driver::Thread(client) => client.has_ended().then(|| client.why()),
            Driver::Isolated(isolated) => isolated.refusal(),
        }
    }

    /// Returns true in a forked child of the process whose accelerator makes nonces: the child has a copy of its counters.
    #[inline(always)]
    fn would_repeat_nonces(&self) -> bool {
        self.counts_since.is_some_and(|forks| forks != millstream_shm::forks())
    }
}

impl Drop for Queue {
    /// Takes operations in flight back, or lets them end, before their buffers go.
    fn drop(&mut self) {
        match &self.driver {
            Driver::Inline(..) => {}
            Driver::Thread(client) => client.leave(),
            Driver::Isolated(_) => self.leave_worker(),
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let driver = match &self.driver {
            Driver::Inline(..) => "inline",
            Driver::Thread(_) => "on a thread",
            Driver::Isolated(_) => "isolated",
        };
        write!(f, "Queue({driver}, {} of {} in flight)", self.in_flight(), self.depth())
    }
}
