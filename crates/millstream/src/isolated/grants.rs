//! The grants in which a process keeps its keys.
//!
//! The first key attaches. When the slots of a grant are taken, another grant is asked for, with four times as many slots, up to
//! [`MOST_GRANTS`]. A grant without keys is given back when the others have room enough. A program whose number of keys goes
//! up and down around what one grant holds therefore does not attach each time.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::process::{PerProcess, forks};
use super::{Accelerator, Attach, AttachError, Connection, GrantState, ServiceRefusal};
use crate::Error;
use crate::cwq::Algorithm;
use crate::queue::{Buffer, Done, KeyHandle, Pending, Refusal, Request, SharedQueue};

/// The number of keys that a process's first grant usually holds.
const KEY_SLOTS: usize = 1024;
/// The most keys in a grant, and the fewest that are worth one.
const MOST_KEY_SLOTS: usize = 32768;
const FEWEST_KEY_SLOTS: usize = 16;

/// The most grants that a process has for one set of options.
const MOST_GRANTS: usize = 8;

/// The usual arena: it holds a message of the greatest length, its output, and pieces of others.
const ARENA_BYTES: u32 = 16 << 20;

/// The grants in which a library keeps the keys of whatever process it is loaded into: a static of that library.
///
/// [`ServiceKey::import`](super::ServiceKey::import) and [`ServiceKey::generate`](super::ServiceKey::generate) attach when the
/// first key needs a grant, ask for another when one is full, and give grants back that have no keys. A forked child has
/// grants of its own from its first key on. A grant that was revoked or whose service has ended is replaced when the next
/// key is made.
///
/// ```no_run
/// use millstream::InOut;
/// use millstream::cwq::{Algorithm, Usages};
/// use millstream::isolated::{Grants, ServiceKey};
///
/// static GRANTS: Grants = Grants::new();
///
/// let options = Grants::options(None);
/// let key = ServiceKey::import(&GRANTS, &options, Algorithm::AesGcm, &[7; 32], Usages::of(Algorithm::AesGcm))?;
/// let mut data = *b"one message";
/// let tag = key.seal(&[1; 12], b"header", InOut::in_place(&mut data))?;
/// key.open(&[1; 12], b"header", InOut::in_place(&mut data), &tag)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Grants {
    held: PerProcess<Held>,
    /// Connections that were made in time, and the options that they were made with.
    early: PerProcess<Mutex<Vec<(Attach, Connection)>>>,
}

impl Grants {
    /// Returns a set without grants. Nothing is asked for yet.
    pub const fn new() -> Self {
        Grants { held: PerProcess::new(), early: PerProcess::new() }
    }

    /// Returns options for a process's keys in the service at `socket`, or at the usual places: room for 1024 keys in the
    /// first grant, and an arena for messages of [`ServiceKey::LONGEST`](super::ServiceKey::LONGEST) bytes.
    pub fn options(socket: Option<PathBuf>) -> Attach {
        Attach { socket, key_slots: KEY_SLOTS, arena_bytes: ARENA_BYTES, ..Attach::default() }
    }

    /// Connects to the service and keeps connections for the first key and for the first private key, in case the socket is out of reach by then: for
    /// programs that [may change their root directory](super::may_change_root). Where no service is there yet, the
    /// first key asks again.
    pub fn connect_early(&self, options: &Attach) {
        let mut early = lock(self.early.get());
        // The first key of either kind needs a grant of its own.
        for options in [options.for_key(Algorithm::AesGcm), options.for_key(Algorithm::Ed25519)] {
            if early.iter().any(|(with, _)| *with == options) {
                continue;
            }
            if let Ok(connection) = options.connect() {
                early.push((options, connection));
            }
        }
    }

    fn take_early(&self, options: &Attach) -> Option<Connection> {
        let mut early = lock(self.early.get());
        let at = early.iter().position(|(with, _)| with == options)?;
        Some(early.swap_remove(at).1)
    }

    /// Makes a key in a grant that has room. Where the worker says that a grant has none after all, the key is made in another.
    pub(super) fn with_key(
        &'static self,
        options: &Attach,
        make: impl Fn(&Accelerator) -> Result<KeyHandle, Error>,
    ) -> Result<(Arc<Grant>, KeyHandle), Error> {
        let mut tried = Vec::new();
        loop {
            let (grant, is_new) = self.with_room(options, &tried)?;
            match make(&grant.accelerator) {
                Ok(handle) => return Ok((grant, handle)),
                Err(Error::KeySlots) if !is_new => {
                    grant.full.store(true, Ordering::Relaxed);
                    grant.keys.fetch_sub(1, Ordering::Relaxed);
                    tried.push(grant);
                }
                Err(why) => {
                    grant.discount();
                    return Err(why);
                }
            }
        }
    }

    /// Does something with a grant, without a key.
    pub(super) fn with_grant<T>(
        &'static self,
        options: &Attach,
        with: impl FnOnce(&Accelerator) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (grant, _) = self.with_room(options, &[])?;
        let done = with(&grant.accelerator);
        grant.discount();
        done
    }

    /// Returns the first grant that was not tried and may have room, or a new one, and whether it is new. The key to come
    /// is counted already, so that nobody gives the grant back meanwhile.
    fn with_room(&'static self, options: &Attach, tried: &[Arc<Grant>]) -> Result<(Arc<Grant>, bool), Error> {
        let held = self.held.get();
        let found = self.find_room(&mut lock(&held.grants), options, tried);
        // Grants may have lost their last keys while this thread had the lock.
        held.give_back();
        found
    }

    fn find_room(
        &'static self,
        held: &mut Vec<Arc<Grant>>,
        options: &Attach,
        tried: &[Arc<Grant>],
    ) -> Result<(Arc<Grant>, bool), Error> {
        held.retain(|grant| grant.accelerator.state() == GrantState::Live);
        let alike = || held.iter().filter(|grant| grant.options == *options);
        let was_tried = |grant: &Arc<Grant>| tried.iter().any(|tried| Arc::ptr_eq(tried, grant));
        let found = alike().find(|grant| !grant.is_full() && !was_tried(grant)).cloned();
        let grant = match &found {
            Some(grant) => Arc::clone(grant),
            None if alike().count() >= MOST_GRANTS => return Err(Error::KeySlots),
            None => {
                // The lock is kept: another thread that finds no room waits here, and then finds this grant.
                let slots = alike().next_back().map_or(options.key_slots, |last| 4 * last.slots());
                let grant = Arc::new(Grant::attach(self, options, slots.min(MOST_KEY_SLOTS))?);
                held.push(Arc::clone(&grant));
                grant
            }
        };
        grant.keys.fetch_add(1, Ordering::Relaxed);
        Ok((grant, found.is_none()))
    }

    /// Asks for a grant with so many key slots, or with fewer where the service has no room for so many.
    fn ask(&self, options: &Attach, mut key_slots: usize) -> Result<Accelerator, AttachError> {
        let mut connection = None;
        loop {
            let wanted = Attach { key_slots, ..options.clone() };
            let attached = match wanted.attach() {
                // The socket may be out of reach only from here.
                Err(AttachError::NoService { path, why }) => {
                    connection = connection.or_else(|| self.take_early(options));
                    match &connection {
                        Some(connection) => wanted.attach_over(connection),
                        None => Err(AttachError::NoService { path, why }),
                    }
                }
                attached => {
                    // The service is in reach, so the early connection is not needed.
                    drop(self.take_early(options));
                    attached
                }
            };
            match attached {
                Err(AttachError::Refused {
                    why: ServiceRefusal::TooMuch | ServiceRefusal::Exhausted,
                    ..
                }) if key_slots > FEWEST_KEY_SLOTS => {
                    key_slots /= 2;
                }
                attached => return attached,
            }
        }
    }
}

impl Default for Grants {
    fn default() -> Self {
        Grants::new()
    }
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").finish_non_exhaustive()
    }
}

/// The grants of one process.
#[derive(Default)]
struct Held {
    grants: Mutex<Vec<Arc<Grant>>>,
    /// True when a grant has lost its last key, and nobody has looked since whether it is needed.
    lost_keys: AtomicBool,
}

impl Held {
    /// Notes that a grant has lost its last key, and gives it back if it is not needed any more.
    fn after_last_key(&self) {
        self.lost_keys.store(true, Ordering::Relaxed);
        self.give_back();
    }

    /// Gives back what is not needed, if a grant has lost its last key. It never waits: a thread that has the lock, perhaps for as long as
    /// the service takes to attach, calls this itself when it has let go.
    fn give_back(&self) {
        loop {
            // One of two threads sees what the other has done: whoever finds the lock taken has noted its loss before this, and
            // whoever had the lock has let go before it looks for losses.
            fence(Ordering::SeqCst);
            if !self.lost_keys.load(Ordering::Relaxed) {
                return;
            }
            let mut grants = match self.grants.try_lock() {
                Ok(grants) => grants,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            self.lost_keys.store(false, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let unneeded = take_unneeded(&mut grants);
            // The service is told of their ends without the lock: nobody need wait for that.
            drop(grants);
            drop(unneeded);
        }
    }
}

/// Takes out the grants that have no keys, as long as half of the slots of those that remain with the same options are free.
fn take_unneeded(held: &mut Vec<Arc<Grant>>) -> Vec<Arc<Grant>> {
    let mut unneeded = Vec::new();
    while let Some(at) = held.iter().rposition(|grant| {
        grant.keys.load(Ordering::Relaxed) == 0 && {
            let others =
                || held.iter().filter(|other| other.options == grant.options && !Arc::ptr_eq(other, grant));
            let slots: usize = others().map(|other| other.slots()).sum();
            let keys: usize = others().map(|other| other.keys.load(Ordering::Relaxed)).sum();
            slots > 0 && keys <= slots / 2
        }
    }) {
        unneeded.push(held.remove(at));
    }
    unneeded
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A grant, and the queue through which all threads use its keys.
pub(super) struct Grant {
    of: &'static Grants,
    options: Attach,
    /// The number of forks when it was made.
    made_at: u64,
    accelerator: Accelerator,
    queue: SharedQueue,
    /// The number of keys in it.
    keys: AtomicUsize,
    /// True when it refused a key since the last one was taken out.
    full: AtomicBool,
}

impl Grant {
    fn attach(of: &'static Grants, options: &Attach, key_slots: usize) -> Result<Self, Error> {
        let accelerator = of.ask(options, key_slots)?;
        let queue = SharedQueue::new(accelerator.queue()?);
        Ok(Grant {
            of,
            options: options.clone(),
            made_at: forks(),
            accelerator,
            queue,
            keys: AtomicUsize::new(0),
            full: AtomicBool::new(false),
        })
    }

    fn slots(&self) -> usize {
        self.accelerator.grant().key_slots
    }

    fn is_full(&self) -> bool {
        let keys = self.keys.load(Ordering::Relaxed);
        keys >= self.slots() || keys > 0 && self.full.load(Ordering::Relaxed)
    }

    /// Tells whether this process made it. Another one is the parent's, whose locks may be held for ever here.
    pub(super) fn is_ours(&self) -> bool {
        self.made_at == forks()
    }

    /// Takes a key out without waiting for the service.
    pub(super) fn discard(&self, key: KeyHandle) {
        // A parent's key is the parent's to destroy; and a service that is gone has destroyed it.
        if self.is_ours() {
            self.accelerator.discard_key(key);
            self.full.store(false, Ordering::Relaxed);
            self.discount();
        }
    }

    /// Counts one key less. After the last one the grant may not be needed any more.
    fn discount(&self) {
        if self.keys.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.of.held.get().after_last_key();
        }
    }

    /// Returns a buffer of the arena. It does not wait: when the arena is full, other threads have it.
    pub(super) fn buffer(&self, len: usize) -> Result<Buffer, Refusal> {
        self.queue.buffer(len)
    }

    /// Puts an operation in flight.
    pub(super) fn begin(&self, request: Request<'_>) -> Result<Pending, Error> {
        Ok(self.queue.submit(request)?)
    }

    /// Executes an operation, whose status is in what comes back.
    pub(super) fn run(&self, request: Request<'_>) -> Result<Done, Error> {
        Ok(self.queue.run(request)?)
    }
}
