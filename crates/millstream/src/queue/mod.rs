//! Queues: many operations in flight, executed side by side.
//!
//! A [`Queue`] has an arena. Its [`Buffer`]s hold input and output; a [`Request`] takes buffers with it and a
//! [`Done`] brings them back. In between they can't be reached, so nothing can go wrong with them. An
//! accelerator behind the queue takes requests by the lanefull: either *inline*, on the thread that polls, or
//! on a thread of its own ([`AcceleratorThread`]). [`SharedQueue`] is for many threads and for `async` code.
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
//! buffers back with [`Refusal::Full`]: take what has come back, then submit again.

mod buffer;
mod request;
mod shared;
mod thread;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrayvec::ArrayVec;
use millstream_accelerator::{Accelerator, FlushPolicy, GrantId, Key};
use millstream_cpu::Features;
use millstream_cwq::ring::{self, Consumer, Producer};
use millstream_cwq::{Algorithm, Completion, ControlWord, Flags, Opcode, Status};

pub use buffer::Buffer;
pub use request::{Buffers, KeyHandle, Request, RequestKey};
pub use shared::{Pending, SharedQueue};
pub use thread::{AcceleratorThread, ThreadConfig};

use crate::Error;
use buffer::{Exclusive, Heap};
use thread::Client;

type RingMemory = Arc<[AtomicU64]>;
type LocalAccelerator = Accelerator<Exclusive, RingMemory>;

/// How big a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many operations may be in flight; rounded up to a power of two, at most 65536.
    pub depth: usize,
    /// Bytes of arena for buffers.
    pub arena_bytes: u32,
    /// How many keys it may hold.
    pub key_slots: usize,
    /// Its share of an accelerator that serves several queues.
    pub weight: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { depth: 256, arena_bytes: 8 << 20, key_slots: 64, weight: 1 }
    }
}

/// Which of a queue's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    slot: u32,
    generation: u32,
}

/// Why nothing was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// As many operations are in flight as the queue is deep: take what has come back, then submit again.
    Full,
    /// The arena has no room: drop buffers, or make the arena bigger.
    ArenaFull,
    /// A buffer is of another queue's arena.
    ForeignBuffer,
    /// The destination is not as long as the source.
    DestinationLength,
    /// More than 64 bytes of initialisation vector or tag, or more than 64 buffers of input.
    TooLong,
    /// The accelerator has ended.
    Gone,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Full => "the queue is full: take what has come back, then submit again",
            Refusal::ArenaFull => "the arena has no room: drop buffers, or configure more arena_bytes",
            Refusal::ForeignBuffer => "a buffer is of another queue: take buffers from the queue they go to",
            Refusal::DestinationLength => "the destination is not as long as the source: see Buffer::set_len",
            Refusal::TooLong => {
                "an initialisation vector or tag of more than 64 bytes, or more than 64 buffers"
            }
            Refusal::Gone => "the accelerator has ended",
        })
    }
}

impl std::error::Error for Refusal {}

/// A request that was not taken: why, and its buffers.
#[derive(Debug)]
pub struct Refused {
    /// Why.
    pub why: Refusal,
    /// What went with the request.
    pub buffers: Buffers,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

/// The end of an operation.
#[derive(Debug)]
pub struct Done {
    /// Which it was.
    pub ticket: Ticket,
    /// What came of it.
    pub result: Result<(), Status>,
    /// The checksum, if it was to take one.
    pub value: u32,
    /// What went with the request.
    pub buffers: Buffers,
    tag: ArrayVec<u8, SMALL>,
    state: Vec<u8>,
}

impl Done {
    /// The digest or tag, if it was to compute one.
    pub fn tag(&self) -> &[u8] {
        &self.tag
    }

    /// The mid-state after a piece of a message.
    pub fn state(&self) -> &[u8] {
        &self.state
    }
}

/// Bytes of initialisation vector, and of tag, for each operation in flight.
const SMALL: usize = 64;
/// Bytes of associated data that need no buffer of their own.
const AAD: usize = 128;
const STATE: usize = ControlWord::STATE_BYTES as usize;

/// Places in the arena for what is small: an array for each kind, so that those of neighbouring operations lie
/// together. They are written and read by copies only.
struct Places {
    iv: Buffer,
    mac: Buffer,
    aad: Buffer,
    state: Buffer,
}

/// What a queue keeps of an operation in flight.
#[derive(Default)]
struct Slot {
    generation: u32,
    live: bool,
    /// Nobody waits for it: its end is not told.
    detached: bool,
    mac_len: u8,
    has_state: bool,
    buffers: Buffers,
    /// Keys that were carried, associated data that was too long for its place, a gather list.
    extra: Vec<Buffer>,
}

/// Who executes.
enum Driver {
    /// The thread that polls.
    Inline(Box<LocalAccelerator>, GrantId),
    /// A thread that looks at the ring.
    Thread(Arc<Client>),
}

/// A queue of one client. It can be sent to another thread; for several at once there is [`SharedQueue`].
pub struct Queue {
    driver: Driver,
    heap: Arc<Heap>,
    submissions: Producer<RingMemory, { ControlWord::WORDS }>,
    completions: Consumer<RingMemory, { Completion::WORDS }>,
    places: Places,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Requests that were taken to be cancelled and whose own completions are to come.
    cancels: usize,
}

/// A queue's memory, before anybody serves it.
struct Parts {
    heap: Arc<Heap>,
    submissions: RingMemory,
    completions: RingMemory,
    places: Places,
    depth: usize,
}

impl Parts {
    fn new(config: &Config) -> Result<Self, Error> {
        let depth = config.depth.next_power_of_two().clamp(1, 1 << 16);
        let places = depth * (2 * SMALL + AAD + STATE);
        let bytes = u32::try_from(places + config.arena_bytes as usize).map_err(|_| Refusal::ArenaFull)?;
        let heap = Heap::new(bytes);
        let place = |size: usize| heap.buffer(depth * size).ok_or(Refusal::ArenaFull);
        let places = Places { iv: place(SMALL)?, mac: place(SMALL)?, aad: place(AAD)?, state: place(STATE)? };
        // Twice as deep, so that there is always room to cancel.
        let submissions = ring::memory::<{ ControlWord::WORDS }>(2 * depth).into();
        let completions = ring::memory::<{ Completion::WORDS }>(2 * depth).into();
        Ok(Parts { heap, submissions, completions, places, depth })
    }

    fn queue(self, driver: Driver) -> Queue {
        const FRESH: &str = "the memory was made for a ring";
        Queue {
            driver,
            submissions: Producer::new(self.submissions).expect(FRESH),
            completions: Consumer::new(self.completions).expect(FRESH),
            heap: self.heap,
            places: self.places,
            slots: (0..self.depth).map(|_| Slot::default()).collect(),
            // The first to be taken is the last.
            free: (0..self.depth as u32).rev().collect(),
            cancels: 0,
        }
    }
}

impl Queue {
    /// A queue whose accelerator works on the thread that calls [`Queue::poll`] or [`Queue::wait`].
    ///
    /// # Errors
    /// [`Refusal::ArenaFull`] when arena and depth together are more than 4 GiB.
    pub fn inline(features: Features, config: Config) -> Result<Self, Error> {
        let parts = Parts::new(&config)?;
        let mut accelerator = Box::new(Accelerator::new(features, FlushPolicy::default()));
        let grant = accelerator.add_grant(Exclusive(parts.heap.clone()), config.key_slots);
        accelerator
            .add_queue(grant, parts.submissions.clone(), parts.completions.clone(), config.weight)
            .map_err(|_| Refusal::Gone)?;
        Ok(parts.queue(Driver::Inline(accelerator, grant)))
    }

    /// How many operations may be in flight.
    pub fn depth(&self) -> usize {
        self.slots.len()
    }

    /// How many operations are in flight.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// A buffer of zeros in the queue's arena.
    ///
    /// # Errors
    /// [`Refusal::ArenaFull`].
    pub fn buffer(&self, len: usize) -> Result<Buffer, Refusal> {
        self.heap.buffer(len).ok_or(Refusal::ArenaFull)
    }

    /// Expands a key into a slot of the accelerator; the key of a hash is an HMAC's. The caller's bytes are not
    /// needed any more.
    ///
    /// # Errors
    /// As the engine's own `new`; [`Error::KeySlots`] when all are taken.
    pub fn import_key(&mut self, algorithm: Algorithm, key: &[u8]) -> Result<KeyHandle, Error> {
        let handle = match &mut self.driver {
            Driver::Inline(accelerator, grant) => {
                let key = Key::new(accelerator.features(), algorithm, key)?;
                accelerator.insert_key(*grant, key).map_err(|_| Error::KeySlots)?
            }
            Driver::Thread(client) => client.insert_key(algorithm, key)?,
        };
        Ok(KeyHandle { handle, algorithm })
    }

    /// Zeroises a key; whether there was one. Operations under it that have not begun end with
    /// [`Status::Key`].
    pub fn remove_key(&mut self, key: KeyHandle) -> bool {
        match &mut self.driver {
            Driver::Inline(accelerator, grant) => accelerator.remove_key(*grant, key.handle),
            Driver::Thread(client) => client.remove_key(key.handle),
        }
    }

    /// Puts an operation in flight.
    ///
    /// # Errors
    /// [`Refused`], with the buffers: see [`Refusal`].
    #[inline]
    pub fn submit(&mut self, mut request: Request<'_>) -> Result<Ticket, Refused> {
        let Some(&slot) = self.free.last() else { return refused(Refusal::Full, request) };
        let mut extra = Vec::new();
        if let Err(why) = self.place(&mut request, slot, &mut extra) {
            return refused(why, request);
        }
        let generation = self.slots[slot as usize].generation;
        request.word.tag = u64::from(slot) | u64::from(generation) << 32;
        if self.submissions.push(&request.word.to_words()).is_err() {
            return refused(Refusal::Gone, request);
        }
        self.submissions.publish();
        self.free.pop();
        let entry = &mut self.slots[slot as usize];
        entry.live = true;
        entry.mac_len = if request.tag.is_empty() { request.word.mac_len } else { 0 };
        entry.has_state = request.word.state != 0;
        entry.buffers = request.buffers;
        entry.extra = extra;
        Ok(Ticket { slot, generation })
    }

    /// Copies what is small to its places in the arena, and writes where everything is into the word.
    #[inline]
    fn place(&self, request: &mut Request<'_>, slot: u32, extra: &mut Vec<Buffer>) -> Result<(), Refusal> {
        let Request { word, key, mac_key, iv, aad, tag, buffers } = request;
        if let Driver::Thread(client) = &self.driver
            && client.has_ended()
        {
            return Err(Refusal::Gone);
        }
        if let Some(source) = &buffers.source {
            (word.source, word.source_len) = (self.own(source)?, source.len() as u32);
        }
        if let Some(destination) = &buffers.destination {
            word.destination = self.own(destination)?;
            let total = buffers.more.iter().map(|more| more.len()).sum::<usize>() + word.source_len as usize;
            if destination.len() != total {
                return Err(Refusal::DestinationLength);
            }
        }
        if !buffers.more.is_empty() {
            self.gather(word, buffers, extra)?;
        }
        if !iv.is_empty() {
            word.iv = self.small(&self.places.iv, slot, iv)?;
            word.iv_len = iv.len() as u8;
        }
        if !tag.is_empty() {
            word.mac = self.small(&self.places.mac, slot, tag)?;
        } else if word.mac_len > 0 {
            word.mac = self.places.mac.at() + slot * SMALL as u32;
        }
        if !aad.is_empty() {
            word.aad_len = aad.len() as u32;
            word.aad = if aad.len() <= AAD {
                let at = self.places.aad.at() + slot * AAD as u32;
                self.heap.write(at, aad);
                at
            } else {
                self.copy(aad, extra)?
            };
        }
        if word.opcode == Opcode::PartialHash as u8 && !word.has(Flags::LAST) {
            word.state = self.places.state.at() + slot * STATE as u32;
        }
        if let Some(key) = key {
            let in_arena = self.key(*key, &mut word.key, &mut word.key_len, extra)?;
            word.flags |= if in_arena { Flags::KEY_IN_ARENA } else { 0 };
        }
        if let Some(key) = mac_key {
            let in_arena = self.key(*key, &mut word.mac_key, &mut word.mac_key_len, extra)?;
            word.flags |= if in_arena { Flags::MAC_KEY_IN_ARENA } else { 0 };
        }
        Ok(())
    }

    /// Where one of this queue's buffers is.
    #[inline(always)]
    fn own(&self, buffer: &Buffer) -> Result<u32, Refusal> {
        if buffer.is_of(&self.heap) { Ok(buffer.at()) } else { Err(Refusal::ForeignBuffer) }
    }

    #[inline(always)]
    fn small(&self, place: &Buffer, slot: u32, bytes: &[u8]) -> Result<u32, Refusal> {
        if bytes.len() > SMALL {
            return Err(Refusal::TooLong);
        }
        let at = place.at() + slot * SMALL as u32;
        self.heap.write(at, bytes);
        Ok(at)
    }

    /// Copies bytes to a buffer that lives as long as the operation.
    fn copy(&self, bytes: &[u8], extra: &mut Vec<Buffer>) -> Result<u32, Refusal> {
        let mut buffer = self.buffer(bytes.len())?;
        buffer.copy_from_slice(bytes);
        extra.push(buffer);
        Ok(extra[extra.len() - 1].at())
    }

    #[inline(always)]
    fn key(
        &self,
        key: RequestKey<'_>,
        at: &mut u32,
        len: &mut u16,
        extra: &mut Vec<Buffer>,
    ) -> Result<bool, Refusal> {
        match key {
            RequestKey::Slot(key) => *at = key.handle.to_bits(),
            RequestKey::Carried(_, bytes) => {
                *len = u16::try_from(bytes.len()).map_err(|_| Refusal::TooLong)?;
                *at = self.copy(bytes, extra)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes the gather list of a request with several buffers of input.
    fn gather(
        &self,
        word: &mut ControlWord,
        buffers: &Buffers,
        extra: &mut Vec<Buffer>,
    ) -> Result<(), Refusal> {
        let mut list = Vec::new();
        for buffer in buffers.source.iter().chain(&buffers.more) {
            list.extend_from_slice(&self.own(buffer)?.to_le_bytes());
            list.extend_from_slice(&(buffer.len() as u32).to_le_bytes());
        }
        word.source_len = (list.len() / 8) as u32;
        if word.source_len as usize > millstream_accelerator::MAX_PIECES {
            return Err(Refusal::TooLong);
        }
        word.source = self.copy(&list, extra)?;
        word.flags |= Flags::GATHER;
        Ok(())
    }

    /// The next operation that has ended, if there is one. An inline accelerator executes what was submitted
    /// first; one on a thread is woken if it sleeps.
    #[inline]
    pub fn poll(&mut self) -> Option<Done> {
        if let Some(done) = self.reap() {
            return Some(done);
        }
        if self.in_flight() == 0 && self.cancels == 0 {
            return None;
        }
        self.drive();
        self.reap()
    }

    /// Lets an inline accelerator work, or wakes one that sleeps.
    #[inline]
    fn drive(&mut self) {
        match &mut self.driver {
            Driver::Inline(accelerator, _) => {
                accelerator.step(0);
            }
            Driver::Thread(client) => {
                if self.submissions.must_wake() {
                    client.ring();
                }
            }
        }
    }

    /// Waits for the next operation to end; none when nothing is in flight.
    pub fn wait(&mut self) -> Option<Done> {
        loop {
            if let Some(done) = self.poll() {
                return Some(done);
            }
            if self.in_flight() == 0 {
                return None;
            }
            let Driver::Thread(client) = &self.driver else { continue };
            let client = client.clone();
            if client.has_ended() {
                // What it had posted before came with the poll, or does now.
                return self.reap().or_else(|| self.give_up());
            }
            client.park(&mut self.completions);
        }
    }

    /// The next completion in the ring, of an operation that somebody waits for.
    #[inline]
    fn reap(&mut self) -> Option<Done> {
        loop {
            let words = self.completions.pop().ok().flatten();
            // Places go back in one store for all that were popped.
            let Some(words) = words else {
                self.completions.release();
                return None;
            };
            if let Some(done) = self.finish(Completion::from_words(words)) {
                return Some(done);
            }
        }
    }

    #[inline]
    fn finish(&mut self, completion: Completion) -> Option<Done> {
        let (slot, generation) = (completion.tag as u32, (completion.tag >> 32) as u32);
        if completion.tag == CANCEL {
            self.cancels = self.cancels.saturating_sub(1);
            return None;
        }
        let entry = self.slots.get_mut(slot as usize)?;
        if !entry.live || entry.generation != generation {
            return None;
        }
        let status = completion.status().unwrap_or(Status::Gone);
        let buffers = std::mem::take(&mut entry.buffers);
        if !entry.extra.is_empty() {
            entry.extra.clear();
        }
        let mut tag = ArrayVec::new();
        let mut state = Vec::new();
        if status == Status::Ok {
            if entry.mac_len > 0 {
                let mut bytes = [0; SMALL];
                let bytes = &mut bytes[..usize::from(entry.mac_len).min(SMALL)];
                self.heap.read(self.places.mac.at() + slot * SMALL as u32, bytes);
                tag.extend(bytes.iter().copied());
            }
            if entry.has_state {
                state = vec![0; (completion.value as usize).min(STATE)];
                self.heap.read(self.places.state.at() + slot * STATE as u32, &mut state);
                self.heap.write(self.places.state.at() + slot * STATE as u32, &[0; STATE]);
            }
        }
        let detached = std::mem::take(&mut entry.detached);
        entry.live = false;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(slot);
        let result = if status == Status::Ok { Ok(()) } else { Err(status) };
        let done = Done {
            ticket: Ticket { slot, generation },
            result,
            value: completion.value,
            buffers,
            tag,
            state,
        };
        (!detached).then_some(done)
    }

    /// The accelerator has ended: an operation in flight ends too. Its input is intact.
    fn give_up(&mut self) -> Option<Done> {
        for slot in 0..self.slots.len() {
            let entry = &self.slots[slot];
            if entry.live {
                let tag = slot as u64 | u64::from(entry.generation) << 32;
                let gone = Completion { tag, status: Status::Gone as u16, ..Completion::default() };
                if let Some(done) = self.finish(gone) {
                    return Some(done);
                }
            }
        }
        None
    }

    /// Takes an operation back if it has not begun: it ends all the same, with [`Status::Cancelled`].
    pub fn cancel(&mut self, ticket: Ticket) {
        let live = self
            .slots
            .get(ticket.slot as usize)
            .is_some_and(|slot| slot.live && slot.generation == ticket.generation);
        // More cancels than the queue is deep would take the room of operations.
        if !live || self.cancels >= self.slots.len() {
            return;
        }
        let word = ControlWord {
            opcode: Opcode::Cancel as u8,
            key: ticket.slot,
            mac_key: ticket.generation,
            tag: CANCEL,
            ..ControlWord::default()
        };
        if self.submissions.push(&word.to_words()).is_ok() {
            self.submissions.publish();
            self.cancels += 1;
        }
    }

    /// Cancels an operation whose end nobody wants to know: its buffers are dropped then.
    fn detach(&mut self, ticket: Ticket) {
        if let Some(slot) = self.slots.get_mut(ticket.slot as usize)
            && slot.live
            && slot.generation == ticket.generation
        {
            slot.detached = true;
            self.cancel(ticket);
        }
    }
}

/// The tag of cancels: no slot has this number.
const CANCEL: u64 = u64::MAX;

#[cold]
fn refused(why: Refusal, request: Request<'_>) -> Result<Ticket, Refused> {
    Err(Refused { why, buffers: request.buffers })
}

impl Drop for Queue {
    /// Operations in flight are taken back, or end, before their buffers go.
    fn drop(&mut self) {
        if let Driver::Thread(client) = &self.driver {
            client.leave();
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let driver = match &self.driver {
            Driver::Inline(..) => "inline",
            Driver::Thread(_) => "on a thread",
        };
        write!(f, "Queue({driver}, {} of {} in flight)", self.in_flight(), self.depth())
    }
}
