//! Grants of the service: where this process's keys are.
//!
//! The first key attaches. When the slots of a grant are taken another grant is asked for, with four times as many, up to
//! [`MOST_GRANTS`]. A grant without keys is given back when the others have room enough, so that a program whose number of
//! keys goes up and down about what a grant has does not attach each time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use millstream::Error;
use millstream::isolated::{
    Accelerator, Attach, AttachError, GrantState, KeyRefusal, ServiceRefusal as Refusal,
};
use millstream::queue::{Buffer, Done, KeyHandle, Request, SharedQueue};

use crate::early;
use crate::error::{Reason, Result};
use crate::fork::{PerProcess, generation};
use crate::provider::Provider;

/// Why a key is refused that another process set.
const PARENTS: Reason = Reason::CIPHER_OPERATION_FAILED
    .with("the key was set before a fork and is the parent's: set it again in the child");

/// Keys in a process's first grant.
const KEY_SLOTS: usize = 1024;
/// The most keys in a grant, and the fewest that are worth one.
const MOST_KEY_SLOTS: usize = 32768;
const FEWEST_KEY_SLOTS: usize = 16;

/// The most grants that a process has from one service.
const MOST_GRANTS: usize = 8;

/// Memory for what is in flight: a whole message, its output, and pieces of others.
const ARENA_BYTES: u32 = 16 << 20;

/// Why a key was not taken.
pub enum Refused {
    /// It did not come to that.
    Reason(Reason),
    /// The service did not want it.
    There(KeyRefusal),
}

impl From<Reason> for Refused {
    fn from(reason: Reason) -> Self {
        Refused::Reason(reason)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        match error {
            Error::Key(why) => Refused::There(why),
            error => Refused::Reason(error.into()),
        }
    }
}

/// A grant, and its queue.
pub struct Service {
    socket: PathBuf,
    made_in: u64,
    accelerator: Accelerator,
    queue: SharedQueue,
    /// How many keys are in it.
    keys: AtomicUsize,
    /// Whether it refused a key since the last one was taken out.
    full: AtomicBool,
}

/// The grants of this process.
fn grants() -> &'static Mutex<Vec<Arc<Service>>> {
    static GRANTS: PerProcess<Mutex<Vec<Arc<Service>>>> = PerProcess::new();
    GRANTS.get()
}

impl Service {
    /// Makes a key in a grant from the configured socket, one that has room. Where a grant turns out to have none, it is made in
    /// another.
    pub fn with_key(
        provider: Provider,
        make: impl Fn(&Accelerator) -> std::result::Result<KeyHandle, Error>,
    ) -> std::result::Result<(Arc<Service>, KeyHandle), Refused> {
        let socket = provider.configuration().socket.as_deref().ok_or(NOT_CONFIGURED)?;
        let mut tried = Vec::new();
        loop {
            let (service, is_new) = Service::with_room(socket, &tried)?;
            match make(&service.accelerator) {
                Ok(handle) => return Ok((service, handle)),
                Err(Error::KeySlots) if !is_new => {
                    service.full.store(true, Ordering::Relaxed);
                    service.keys.fetch_sub(1, Ordering::Relaxed);
                    tried.push(service);
                }
                Err(why) => {
                    service.discount();
                    return Err(why.into());
                }
            }
        }
    }

    /// The first grant that has not been tried and may have room, or a new one, and whether it is new. The key that is to come is
    /// counted already, so that nobody gives the grant back meanwhile.
    fn with_room(socket: &Path, tried: &[Arc<Service>]) -> Result<(Arc<Service>, bool)> {
        let mut grants = grants().lock().unwrap_or_else(PoisonError::into_inner);
        grants.retain(|service| service.accelerator.state() == GrantState::Live);
        let of_socket = || grants.iter().filter(|service| service.socket == socket);
        let was_tried = |service: &Arc<Service>| tried.iter().any(|tried| Arc::ptr_eq(tried, service));
        let found = of_socket().find(|service| !service.is_full() && !was_tried(service)).cloned();
        let service = match &found {
            Some(service) => Arc::clone(service),
            None if of_socket().count() >= MOST_GRANTS => return Err(Error::KeySlots.into()),
            None => {
                // Whoever else finds no room waits for the lock, and then finds this one.
                let slots = of_socket().next_back().map_or(KEY_SLOTS, |last| 4 * last.slots());
                let service = Arc::new(Service::attach(socket, slots.min(MOST_KEY_SLOTS))?);
                grants.push(Arc::clone(&service));
                service
            }
        };
        service.keys.fetch_add(1, Ordering::Relaxed);
        Ok((service, found.is_none()))
    }

    /// A grant with so many key slots, or with fewer where the service has no room for so many.
    fn attach(socket: &Path, mut key_slots: usize) -> Result<Self> {
        let path = early::named(socket);
        let mut connection = None;
        let accelerator = loop {
            let wanted =
                Attach { socket: path.clone(), key_slots, arena_bytes: ARENA_BYTES, ..Attach::default() };
            let attached = match wanted.attach() {
                // It may be out of reach only from here.
                Err(AttachError::NoService { path, why }) => {
                    connection = connection.or_else(|| early::take(socket));
                    match &connection {
                        Some(connection) => wanted.attach_over(connection),
                        None => Err(AttachError::NoService { path, why }),
                    }
                }
                attached => {
                    // It is in reach: the connection that was made before is not needed.
                    drop(early::take(socket));
                    attached
                }
            };
            match attached {
                Err(AttachError::Refused { why: Refusal::TooMuch | Refusal::Exhausted, .. })
                    if key_slots > FEWEST_KEY_SLOTS =>
                {
                    key_slots /= 2;
                }
                attached => break attached.map_err(Error::from)?,
            }
        };
        let queue = SharedQueue::new(accelerator.queue()?);
        Ok(Service {
            socket: socket.to_owned(),
            made_in: generation(),
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

    /// That it is not a parent's, whose locks may be held for ever here.
    pub fn is_ours(&self) -> Result<()> {
        if self.made_in == generation() { Ok(()) } else { Err(PARENTS) }
    }

    /// Takes a key out.
    pub fn discard(&self, key: KeyHandle) {
        // A parent's key is the parent's to destroy; and a service that is gone has destroyed it.
        if self.is_ours().is_ok() {
            self.accelerator.discard_key(key);
            self.full.store(false, Ordering::Relaxed);
            self.discount();
        }
    }

    /// Counts a key less. After the last one the grant may not be needed any more.
    fn discount(&self) {
        if self.keys.fetch_sub(1, Ordering::Relaxed) == 1
            // Where others have the lock, the next key that is the last of a grant tries again.
            && let Ok(grants) = grants().try_lock()
        {
            give_back(grants, &self.socket);
        }
    }

    /// A buffer, with bytes in it. Waits for none: when the arena is full, other threads have it.
    pub fn buffer(&self, len: usize) -> Result<Buffer> {
        self.queue.buffer(len).map_err(|why| Error::from(why).into())
    }

    /// Executes an operation, whose status is in what comes back.
    pub fn try_run(&self, request: Request<'_>) -> Result<Done> {
        Ok(self.queue.run(request).map_err(Error::from)?)
    }

    /// Executes an operation that must succeed.
    pub fn run(&self, request: Request<'_>) -> Result<Done> {
        let done = self.try_run(request)?;
        match done.result {
            Ok(()) => Ok(done),
            Err(status) => Err(Error::from(status).into()),
        }
    }
}

/// Gives grants back that have no keys, as long as those that remain have half of their slots free.
fn give_back(mut grants: MutexGuard<'_, Vec<Arc<Service>>>, socket: &Path) {
    let mut unneeded = Vec::new();
    while let Some(at) = grants.iter().rposition(|service| {
        service.socket == socket && service.keys.load(Ordering::Relaxed) == 0 && {
            let others =
                || grants.iter().filter(|other| other.socket == socket && !Arc::ptr_eq(other, service));
            let slots: usize = others().map(|other| other.slots()).sum();
            let keys: usize = others().map(|other| other.keys.load(Ordering::Relaxed)).sum();
            slots > 0 && keys <= slots / 2
        }
    }) {
        unneeded.push(grants.remove(at));
    }
    // Their ends are told to the service, for which nobody need wait.
    drop(grants);
    drop(unneeded);
}

const NOT_CONFIGURED: Reason = Reason::KEY_SETUP_FAILED.with(
    "no isolation is configured: set MILLSTREAM_SOCKET, or add the line `isolated = yes` to the provider's section of openssl.cnf",
);
