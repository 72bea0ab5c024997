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
//! buffers back with [`Refusal::Full`]: take what has come back, then submit again.

mod buffer;
mod isolated;
mod key;
mod request;
mod shared;
mod thread;
mod trace;

use std::fmt;
use std::sync::Arc;

use millstream_accelerator::{Accelerator, FlushPolicy, GrantId, MAX_PIECES};
use millstream_cpu::Features;
use millstream_cwq::ring::{Consumer, Producer};
use millstream_cwq::{Algorithm, Completion, ControlWord, Flags, Opcode, Status};
use millstream_shm::{Mapping, Rings, Words};
use millstream_shm::{buffer_bytes, prefetch_words, share};

pub use buffer::Buffer;
pub(crate) use key::fill_with_random;
pub use key::{KeyOptions, Nonces};
use request::Rare;
pub use request::{Buffers, KeyHandle, Piece, Request, RequestKey};
pub use shared::{Pending, SharedQueue};
pub use thread::{AcceleratorThread, ThreadConfig};

use crate::Error;
pub(crate) use buffer::Heap;
use buffer::{Exclusive, SMALL};
use isolated::Isolated;
use thread::Client;
pub(crate) use thread::ThreadGrant;

/// From how many bytes on input is handed over to the accelerator's core. It takes this thread longer than the accelerator
/// to fetch it would, so only where this one has time: it has no output to fetch itself.
const HANDED_OVER: usize = 512;

/// With that many operations in flight, requests are shown to the accelerator that many at a time.
const HANDFUL: usize = 8;

/// The longest initialisation vector that a control word can tell of, in bytes.
const LONGEST_IV: usize = u8::MAX as usize;

type RingMemory = Words;
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

impl Config {
    fn depth(&self) -> usize {
        self.depth.next_power_of_two().clamp(1, 1 << 16)
    }
}

/// Which of a queue's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(
    /// The slot, and above it its generation: in one, because what is written in halves and read whole waits.
    u64,
);

impl Ticket {
    #[inline(always)]
    fn new(slot: u32, generation: u32) -> Self {
        Ticket(u64::from(slot) | u64::from(generation) << 32)
    }

    #[inline(always)]
    fn slot(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// It as a number, for faces in other languages. The lower half is below the queue's depth, and no other operation
    /// in flight has it.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// It from its number; any other is that of no operation in flight.
    #[inline(always)]
    pub fn from_bits(bits: u64) -> Self {
        Ticket(bits)
    }
}

/// Why nothing was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// As many operations are in flight as the queue is deep: take what has come back, then submit again.
    Full,
    /// The arena has no room: drop buffers, or make the arena bigger.
    ArenaFull,
    /// A buffer was asked for that is longer than any arena has room for: 2^32 - 129 bytes at most.
    BufferLength,
    /// A buffer is of another queue's arena.
    ForeignBuffer,
    /// The destination is not as long as the source.
    DestinationLength,
    /// More than 255 bytes of initialisation vector, 64 of tag, 512 of a key in the request (a longer one belongs into a slot), or more than 64 buffers of input.
    TooLong,
    /// The accelerator has ended.
    Gone,
    /// The grant was revoked.
    Revoked,
    /// This is a forked child of the process that attached, or that has the accelerator's thread, or the key for which an
    /// inline accelerator makes nonces: child and parent would make the same.
    Forked,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::BufferLength => {
                const { assert!(buffer::LONGEST == 4_294_967_167) };
                "a buffer has at most 4294967167 bytes: ask for fewer, and pass longer data in pieces"
            }
            Refusal::Full => "the queue is full: take what has come back, then submit again",
            Refusal::ArenaFull => "the arena has no room: drop buffers, or configure more arena_bytes",
            Refusal::ForeignBuffer => "a buffer is of another queue: take buffers from the queue they go to",
            Refusal::DestinationLength => "the destination is not as long as the source: see Buffer::set_len",
            Refusal::TooLong => {
                "more than 255 bytes of initialisation vector, 64 of tag, 512 of key, or more than 64 buffers"
            }
            Refusal::Gone => {
                "the accelerator has ended: attach again, or spawn another, and import the keys again"
            }
            Refusal::Revoked => "the grant was revoked: attach again and import the keys again",
            Refusal::Forked => {
                "the accelerator is the parent's, and a forked child has none of it: attach or spawn one again, and import the keys again"
            }
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
    tag_len: u8,
    made_nonce: bool,
}

impl Done {
    /// The digest or tag, if it was to compute one. It lies beside the output, or the input where there is no
    /// output: once that buffer is taken out, it is not here any more.
    #[inline]
    pub fn tag(&self) -> &[u8] {
        match self.buffers.home() {
            Some(buffer) => &buffer.tag()[..usize::from(self.tag_len)],
            None => &[],
        }
    }

    /// The nonce that the accelerator made, if it was asked to: 12 bytes. It lies beside the output, as the tag does.
    #[inline]
    pub fn nonce(&self) -> &[u8] {
        match self.buffers.home() {
            Some(buffer) if self.made_nonce => &buffer.iv()[..ControlWord::MADE_NONCE_BYTES as usize],
            _ => &[],
        }
    }

    /// The mid-state after a piece of a message.
    pub fn state(&self) -> &[u8] {
        self.buffers.state()
    }
}

/// Bytes of associated data that need no buffer of their own.
const AAD: usize = millstream_shm::AAD_BYTES;
const STATE: usize = millstream_shm::STATE_PLACE_BYTES;

/// Places in the arena for associated data and for mid-states, one of each for each operation in flight. They are
/// written and read by copies only.
struct Places {
    aad: Buffer,
    state: Buffer,
}

impl Places {
    /// Leaves them to a worker that may still write to them.
    fn abandon(&mut self) {
        self.aad.abandon();
        self.state.abandon();
    }
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
    makes_nonce: bool,
    source: Option<Buffer>,
    destination: Option<Buffer>,
    rare: Option<Box<Rare>>,
}

/// Who executes.
enum Driver {
    /// The thread that polls.
    Inline(Box<LocalAccelerator>, GrantId),
    /// A thread that looks at the ring.
    Thread(Arc<Client>),
    /// A worker, which is another process.
    Isolated(Box<Isolated>),
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
    /// Whether a slot stays taken until whoever waits for its operation has been told.
    shared: bool,
    /// Whether the accelerator works on another core.
    beside: bool,
    /// From how many bytes on input that has output is handed over too.
    hand_over_from: usize,
    /// Up to which completion was looked ahead.
    looked: u64,
    /// Requests that were taken to be cancelled and whose own completions are to come.
    cancels: usize,
    /// The grant's number, for tracepoints.
    label: u64,
    /// How many forks there had been when an accelerator on this thread got the first key for which it makes nonces.
    counts_since: Option<u64>,
}

/// A queue's memory, before anybody serves it.
pub(crate) struct Parts {
    heap: Arc<Heap>,
    submissions: RingMemory,
    completions: RingMemory,
    places: Places,
    depth: usize,
    /// How many control words went through its ring before, and how many completions.
    position: (u64, u64),
}

impl Parts {
    /// Memory of this process's own.
    fn new(config: &Config) -> Result<Self, Error> {
        let depth = config.depth();
        Parts::local(Parts::heap(config, 1, false)?, depth)
    }

    /// A heap for that many queues.
    pub(crate) fn heap(config: &Config, queues: usize, served: bool) -> Result<Arc<Heap>, Error> {
        let bytes = queues * Parts::places_bytes(config.depth()) + config.arena_bytes as usize;
        let bytes = u32::try_from(bytes).map_err(|_| Refusal::ArenaFull)?;
        Heap::private(bytes, served).map_err(|error| Error::Memory(error.kind()))
    }

    /// Bytes of arena that a queue keeps for itself.
    pub(crate) fn places_bytes(depth: usize) -> usize {
        buffer_bytes(depth * AAD) + buffer_bytes(depth * STATE)
    }

    /// Rings of this process's own.
    pub(crate) fn local(heap: Arc<Heap>, depth: usize) -> Result<Self, Error> {
        let layout = Rings::new(1, depth as u32).ok_or(Refusal::Full)?;
        let rings = Mapping::private(layout.bytes()).map_err(|error| Error::Memory(error.kind()))?;
        Parts::over(heap, &rings, layout, 0, depth, (0, 0))
    }

    /// One queue's part of memory that is there.
    pub(crate) fn over(
        heap: Arc<Heap>,
        rings: &Arc<Mapping>,
        layout: Rings,
        index: u32,
        depth: usize,
        position: (u64, u64),
    ) -> Result<Self, Error> {
        let place = |size: usize| heap.buffer(depth * size);
        let places = Places { aad: place(AAD)?, state: place(STATE)? };
        let ring = |(at, words)| rings.words(at, words).ok_or(Refusal::Gone);
        // Twice as deep, so that there is always room to cancel.
        let submissions = ring(layout.submissions(index))?;
        let completions = ring(layout.completions(index))?;
        Ok(Parts { heap, submissions, completions, places, depth, position })
    }

    fn queue(self, driver: Driver) -> Queue {
        const FRESH: &str = "the memory was made for a ring";
        let label = match &driver {
            Driver::Isolated(isolated) => isolated.link().grant().id,
            _ => 0,
        };
        let hand_over_from = match &driver {
            Driver::Isolated(isolated) => isolated.hand_over_from(),
            _ => usize::MAX,
        };
        let beside = !matches!(driver, Driver::Inline(..));
        Queue {
            driver,
            label,
            beside,
            hand_over_from,
            looked: 0,
            submissions: Producer::resume(self.submissions, self.position.0).expect(FRESH),
            completions: Consumer::resume(self.completions, self.position.1).expect(FRESH),
            heap: self.heap,
            places: self.places,
            slots: (0..self.depth).map(|_| Slot::default()).collect(),
            // The first to be taken is the last.
            free: (0..self.depth as u32).rev().collect(),
            shared: false,
            cancels: 0,
            counts_since: None,
        }
    }
}

impl Queue {
    /// A queue whose accelerator works on the thread that calls [`Queue::poll`] or [`Queue::wait`].
    ///
    /// # Errors
    /// [`Refusal::ArenaFull`] when arena and depth together are more than 4 GiB; [`Error::Memory`].
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
    /// needed any more.
    ///
    /// # Errors
    /// As the engine's own `new`; [`Error::KeySlots`] when all are taken.
    pub fn import_key(&mut self, algorithm: Algorithm, key: &[u8]) -> Result<KeyHandle, Error> {
        self.import_key_with(algorithm, key, KeyOptions::default())
    }

    /// The same, for less than all that the algorithm can, or with nonces that the accelerator makes: see [`KeyOptions`].
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

    /// Zeroises a key; whether there was one. Operations under it that have not begun end with
    /// [`Status::Key`]. Where the grant has several queues it is gone for all of them.
    pub fn remove_key(&mut self, key: KeyHandle) -> bool {
        match &mut self.driver {
            Driver::Inline(accelerator, grant) => accelerator.remove_key(*grant, key.handle),
            Driver::Thread(client) => client.remove_key(key.handle),
            Driver::Isolated(isolated) => isolated.link().destroy_key(key).is_ok(),
        }
    }

    /// Puts an operation in flight. An accelerator that sleeps is woken, and the last few of many are begun, by the next
    /// [`Queue::poll`], [`Queue::wait`] or [`Queue::flush`].
    ///
    /// # Errors
    /// [`Refused`], with the buffers: see [`Refusal`].
    #[inline(always)]
    pub fn submit(&mut self, request: Request<'_>) -> Result<Ticket, Refused> {
        // The word stays in registers until the ring takes it: written to memory field by field and read back
        // by the word, it would cost more than all the rest.
        let mut word = request.word;
        let Buffers { source, destination, mut rare } = request.buffers;
        macro_rules! refuse {
            ($why:expr) => {
                return Err(Refused { why: $why, buffers: Buffers { source, destination, rare } })
            };
        }
        let Some(&slot) = self.free.last() else { refuse!(Refusal::Full) };
        if let Some(why) = self.refusal() {
            refuse!(why);
        }
        let mut total = 0;
        if let Some(source) = &source {
            total = source.len();
            (word.source, word.source_len) = (source.at(), total as u32);
            if self.beside {
                let from = if destination.is_none() { HANDED_OVER } else { self.hand_over_from };
                if total >= from {
                    share(source);
                }
            }
        }
        if let Some(rare) = &mut rare
            && !rare.more.is_empty()
        {
            match self.gather(word.source, word.source_len, rare) {
                Ok(list) => (word.source, word.source_len, total) = list,
                Err(why) => refuse!(why),
            }
            word.flags |= Flags::GATHER;
        }
        if let Some(destination) = &destination {
            word.destination = destination.at();
            if destination.len() != total {
                refuse!(Refusal::DestinationLength);
            }
        }
        let foreign = |buffer: &Buffer| !buffer.is_of(&self.heap);
        if source.as_ref().is_some_and(foreign) || destination.as_ref().is_some_and(foreign) {
            refuse!(Refusal::ForeignBuffer);
        }
        if let Some(home) = destination.as_ref().or(source.as_ref()) {
            if request.tag.len() > SMALL {
                refuse!(Refusal::TooLong);
            }
            if request.iv.len() > SMALL {
                if request.iv.len() > LONGEST_IV {
                    refuse!(Refusal::TooLong);
                }
                match self.carry(request.iv, &mut rare) {
                    Ok(at) => (word.iv, word.iv_len) = (at, request.iv.len() as u8),
                    Err(why) => refuse!(why),
                }
            } else if !request.iv.is_empty() {
                (word.iv, word.iv_len) = (home.write_iv(request.iv), request.iv.len() as u8);
            } else if word.has(Flags::MAKE_NONCE) {
                (word.iv, word.iv_len) = (home.write_iv(&[]), ControlWord::MADE_NONCE_BYTES as u8);
            }
            if word.mac_len > 0 {
                word.mac = home.tag_at();
                self.heap.write(word.mac, request.tag);
            }
        }
        if !request.aad.is_empty() {
            match self.place_aad(request.aad, slot, &mut rare) {
                Ok(at) => (word.aad, word.aad_len) = (at, request.aad.len() as u32),
                Err(why) => refuse!(why),
            }
        }
        if request.leaves_state {
            word.state = self.places.state.at() + slot * STATE as u32;
        }
        macro_rules! place_key {
            ($given:expr, $key:ident, $len:ident, $flag:expr) => {
                match $given {
                    None => {}
                    Some(RequestKey::Slot(key)) => word.$key = key.handle.to_bits(),
                    Some(RequestKey::Carried(_, bytes))
                        if bytes.len() > usize::from(ControlWord::MOST_KEY_BYTES) =>
                    {
                        refuse!(Refusal::TooLong)
                    }
                    Some(RequestKey::Carried(_, bytes)) => match self.carry(bytes, &mut rare) {
                        Ok(at) => {
                            (word.$key, word.$len) = (at, bytes.len() as u16);
                            word.flags |= $flag;
                        }
                        Err(why) => refuse!(why),
                    },
                }
            };
        }
        place_key!(request.key, key, key_len, Flags::KEY_IN_ARENA);
        place_key!(request.mac_key, mac_key, mac_key_len, Flags::MAC_KEY_IN_ARENA);
        let in_flight = self.slots.len() - self.free.len();
        let entry = &mut self.slots[slot as usize];
        let generation = entry.generation;
        word.tag = u64::from(slot) | u64::from(generation) << 32;
        trace::submit(self.label, &word, total as u32);
        if self.submissions.push(&word.to_words()).is_err() {
            refuse!(Refusal::Gone);
        }
        if self.beside {
            // That many words on, the line will have come.
            const AHEAD: u64 = 12;
            prefetch_words(self.submissions.place(AHEAD));
        }
        // Who works beside this thread has something to do while that many are in flight: it is shown more by
        // the handful, because each look at the ring that finds a little costs both sides a cache line's way.
        if in_flight < HANDFUL || self.submissions.unpublished() >= HANDFUL as u64 {
            self.submissions.publish();
        }
        self.free.pop();
        entry.live = true;
        entry.mac_len = if request.tag.is_empty() { word.mac_len } else { 0 };
        entry.has_state = word.state != 0;
        entry.makes_nonce = word.has(Flags::MAKE_NONCE);
        // A free slot has no buffers, so there is nothing to drop: the compiler can't know.
        std::mem::forget(std::mem::replace(&mut entry.source, source));
        std::mem::forget(std::mem::replace(&mut entry.destination, destination));
        std::mem::forget(std::mem::replace(&mut entry.rare, rare));
        Ok(Ticket::new(slot, generation))
    }

    /// Why nothing is taken any more, if so.
    #[inline(always)]
    fn refusal(&self) -> Option<Refusal> {
        match &self.driver {
            Driver::Inline(..) => self.would_repeat_nonces().then_some(Refusal::Forked),
            Driver::Thread(client) => client.has_ended().then(|| client.why()),
            Driver::Isolated(isolated) => isolated.refusal(),
        }
    }

    /// Whether this is a forked child of the process whose accelerator makes nonces, and has a copy of its counters.
    #[inline(always)]
    fn would_repeat_nonces(&self) -> bool {
        self.counts_since.is_some_and(|forks| forks != millstream_shm::forks())
    }

    /// Copies associated data to its place, or to a buffer that lives as long as the operation.
    #[inline(always)]
    fn place_aad(&self, aad: &[u8], slot: u32, rare: &mut Option<Box<Rare>>) -> Result<u32, Refusal> {
        if aad.len() > AAD {
            return self.carry(aad, rare);
        }
        let at = self.places.aad.at() + slot * AAD as u32;
        self.heap.write(at, aad);
        Ok(at)
    }

    /// Copies bytes to a buffer that lives as long as the operation.
    #[cold]
    fn carry(&self, bytes: &[u8], rare: &mut Option<Box<Rare>>) -> Result<u32, Refusal> {
        let mut buffer = self.buffer(bytes.len())?;
        buffer.copy_from_slice(bytes);
        let at = buffer.at();
        rare.get_or_insert_default().extra.push(buffer);
        Ok(at)
    }

    /// Writes the gather list of a request with several buffers of input: where it is, how many pieces it has, and
    /// how many bytes they have.
    #[cold]
    fn gather(&self, at: u32, len: u32, rare: &mut Rare) -> Result<(u32, u32, usize), Refusal> {
        let mut pieces = vec![(at, len)];
        for more in &rare.more {
            if !more.is_of(&self.heap) {
                return Err(Refusal::ForeignBuffer);
            }
            pieces.push((more.at(), more.len() as u32));
        }
        if pieces.len() > MAX_PIECES {
            return Err(Refusal::TooLong);
        }
        let mut list = self.buffer(8 * pieces.len())?;
        for (entry, (at, len)) in list.as_chunks_mut().0.iter_mut().zip(&pieces) {
            *entry = (u64::from(*at) | u64::from(*len) << 32).to_le_bytes();
        }
        let total = pieces.iter().map(|(_, len)| *len as usize).sum();
        let place = list.at();
        rare.extra.push(list);
        Ok((place, pieces.len() as u32, total))
    }

    /// Sees to it that all that was submitted is under way, without waiting for any of it: for a thread that submits,
    /// and then does something else for long. An accelerator that sleeps is woken; an inline one executes it now.
    pub fn flush(&mut self) {
        if self.in_flight() > 0 || self.cancels > 0 {
            self.drive();
        }
    }

    /// The next operation that has ended, if there is one. An inline accelerator executes what was submitted
    /// first; one that sleeps elsewhere is woken.
    #[inline(always)]
    pub fn poll(&mut self) -> Option<Done> {
        if !matches!(self.completions.ready(), Ok(1..)) {
            self.completions.release();
            if self.in_flight() == 0 && self.cancels == 0 {
                return None;
            }
            if self.drive() {
                return self.last();
            }
        }
        self.reap()
    }

    /// Lets an inline accelerator work, or wakes one that sleeps; whether it has ended, so that no completion will come
    /// any more.
    #[inline(never)]
    fn drive(&mut self) -> bool {
        self.submissions.publish();
        if self.would_repeat_nonces() {
            return true;
        }
        match &mut self.driver {
            Driver::Inline(accelerator, _) => {
                accelerator.step(0);
                false
            }
            Driver::Thread(client) => {
                if self.submissions.must_wake() {
                    client.ring();
                }
                client.has_ended()
            }
            Driver::Isolated(isolated) => isolated.drive(&mut self.submissions),
        }
    }

    /// The accelerator has ended: what it had posted before, then what it had not done.
    #[cold]
    fn last(&mut self) -> Option<Done> {
        self.reap().or_else(|| self.give_up())
    }

    /// Waits for the next operation to end; none when nothing is in flight.
    #[inline(always)]
    pub fn wait(&mut self) -> Option<Done> {
        let done = self.poll();
        if done.is_none() && self.in_flight() > 0 {
            return self.wait_longer();
        }
        done
    }

    #[cold]
    fn wait_longer(&mut self) -> Option<Done> {
        loop {
            if let Some(done) = self.poll() {
                return Some(done);
            }
            if self.in_flight() == 0 {
                return None;
            }
            match &mut self.driver {
                Driver::Inline(..) => {}
                Driver::Thread(client) => client.park(&mut self.completions),
                Driver::Isolated(isolated) => isolated.park(&mut self.completions),
            }
        }
    }

    /// The end of the next operation in the ring that somebody waits for.
    #[inline(always)]
    fn reap(&mut self) -> Option<Done> {
        loop {
            let words = match self.completions.pop() {
                Ok(Some(words)) => words,
                nothing => {
                    // Places go back in one store for all that were popped.
                    self.completions.release();
                    if nothing.is_err() {
                        self.lies();
                    }
                    return None;
                }
            };
            if self.beside {
                self.look_ahead();
            }
            let completion = Completion::from_words(words);
            let Some(ticket) = self.ended(completion.tag) else { continue };
            let entry = &mut self.slots[ticket.slot() as usize];
            let detached = entry.detached;
            entry.live = false;
            entry.detached = false;
            entry.generation = entry.generation.wrapping_add(1);
            if detached || !self.shared {
                self.free.push(ticket.slot());
            }
            let status = if completion.status == Status::Ok as u16 {
                None
            } else {
                Some(completion.status().unwrap_or(Status::Gone))
            };
            let (source, destination, mut rare) =
                (entry.source.take(), entry.destination.take(), entry.rare.take());
            let tag_len = if status.is_none() { entry.mac_len } else { 0 };
            let made_nonce = entry.makes_nonce && status.is_none();
            if let Some(rare) = &mut rare {
                rare.extra.clear();
            }
            if std::mem::take(&mut entry.has_state) {
                let len = if status.is_none() { completion.value } else { 0 };
                rare.get_or_insert_default().state = self.take_state(ticket.slot(), len);
            }
            if detached {
                continue;
            }
            return Some(Done {
                ticket,
                result: match status {
                    None => Ok(()),
                    Some(status) => Err(status),
                },
                value: completion.value,
                tag_len,
                made_nonce,
                buffers: Buffers { source, destination, rare },
            });
        }
    }

    /// The other side of the ring wrote what can't be: it is not believed any more.
    #[cold]
    fn lies(&self) {
        if let Driver::Isolated(isolated) = &self.driver {
            isolated.link().is_gone();
        }
    }

    /// An accelerator on another core has written what the next completions are of: it takes a while to come here, and
    /// that of several at once takes no longer.
    #[inline]
    fn look_ahead(&mut self) {
        const AHEAD: u64 = 4;
        let popped = self.completions.popped();
        let first = self.looked.saturating_sub(popped).min(AHEAD);
        for ahead in first..AHEAD {
            let Some([tag, _]) = self.completions.peek(ahead) else { break };
            self.looked = popped + ahead + 1;
            let Some(slot) = self.slots.get(tag as u32 as usize) else { continue };
            if let Some(source) = &slot.source {
                source.will_be_written();
            }
            match &slot.destination {
                Some(destination) => destination.will_be_read(),
                None => slot.source.iter().for_each(Buffer::tag_will_be_read),
            }
        }
    }

    /// The operation in flight that a completion is of.
    #[inline(always)]
    fn ended(&mut self, tag: u64) -> Option<Ticket> {
        let (slot, generation) = (tag as u32, (tag >> 32) as u32);
        if tag == CANCEL {
            self.cancels = self.cancels.saturating_sub(1);
            return None;
        }
        let entry = self.slots.get(slot as usize)?;
        (entry.live && entry.generation == generation).then_some(Ticket::new(slot, generation))
    }

    /// Takes the mid-state of an operation from its place.
    #[cold]
    fn take_state(&self, slot: u32, len: u32) -> Vec<u8> {
        let at = self.places.state.at() + slot * STATE as u32;
        let mut state = vec![0; (len as usize).min(STATE)];
        self.heap.read(at, &mut state);
        self.heap.write(at, &[0; STATE]);
        state
    }

    /// The accelerator has ended: an operation in flight ends too. Its input is intact.
    fn give_up(&mut self) -> Option<Done> {
        let (status, settled) = match &self.driver {
            Driver::Isolated(isolated) => isolated.end(),
            _ => (Status::Gone, true),
        };
        loop {
            let slot = self.slots.iter().position(|slot| slot.live)?;
            let entry = &mut self.slots[slot];
            let ticket = Ticket::new(slot as u32, entry.generation);
            let detached = std::mem::take(&mut entry.detached);
            entry.live = false;
            entry.generation = entry.generation.wrapping_add(1);
            let mut buffers = Buffers {
                source: entry.source.take(),
                destination: entry.destination.take(),
                rare: entry.rare.take(),
            };
            if !settled && let Some(mut destination) = buffers.destination.take() {
                destination.abandon();
            }
            if detached || !self.shared {
                self.free.push(ticket.slot());
            }
            if !detached {
                let result = Err(status);
                return Some(Done { ticket, result, value: 0, tag_len: 0, made_nonce: false, buffers });
            }
        }
    }

    /// Takes an operation back if it has not begun: it ends all the same, with [`Status::Cancelled`].
    pub fn cancel(&mut self, ticket: Ticket) {
        let live = self
            .slots
            .get(ticket.slot() as usize)
            .is_some_and(|slot| slot.live && slot.generation == ticket.generation());
        // More cancels than the queue is deep would take the room of operations.
        if !live || self.cancels >= self.slots.len() {
            return;
        }
        let word = ControlWord {
            opcode: Opcode::Cancel as u8,
            key: ticket.slot(),
            mac_key: ticket.generation(),
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
        if let Some(slot) = self.slots.get_mut(ticket.slot() as usize)
            && slot.live
            && slot.generation == ticket.generation()
        {
            slot.detached = true;
            self.cancel(ticket);
        }
    }
}

/// The tag of cancels: no slot has this number.
const CANCEL: u64 = u64::MAX;

impl Drop for Queue {
    /// Operations in flight are taken back, or end, before their buffers go.
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
