//! Keys and accelerators in another process.
//!
//! [`Accelerator::attach`] asks the service (`millstream serve`) for a *grant*: memory for objects, queues, and places
//! for keys, in one round trip. From then on operations pass through shared memory, with no system call on the
//! way, and the [`Queue`] is used as any other.
//!
//! ```no_run
//! use millstream::cwq::Algorithm;
//! use millstream::isolated::{Accelerator, Exportable};
//! use millstream::queue::Request;
//!
//! let accelerator = Accelerator::attach()?;
//! let key = accelerator.generate_key(Algorithm::AesGcm, 32, Exportable::No)?;
//! let mut queue = accelerator.queue()?;
//! let (source, destination) = (queue.buffer(1024)?, queue.buffer(1024)?);
//! queue.submit(Request::seal(key, &[1; 12], b"header", source, destination))?;
//! println!("tag {:02x?}", queue.wait().expect("one is in flight").tag());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is protected from what
//! - Key bytes enter a worker once, through a socket that only this process and the worker have, and never come back
//!   unless the key was made [`Exportable::Yes`]. The worker keeps them in memory that nobody else maps.
//! - So a bug in this process, or its core dump, gives away what it handles now, and no key that a worker generated. An
//!   imported key was in this process before: what this process has left of it is not protected by anything.
//! - Workers keep nothing: a key ends with its grant. One that has to live longer is kept elsewhere and imported again.
//! - This process knows the service by what the kernel says of it, too: it gives its keys to root's and to its own user's
//!   service, and to no other that it was not told of ([`Attach::service_uid`]). With more rights than whoever started
//!   it, as a set-user-ID program, it takes no socket from the environment and looks in `/run/millstream` only.
//! - The service knows this process by what the kernel says of it, and grants what its policy allows to its user.
//! - A handle of another grant names nothing. No process maps the memory of another grant.
//! - The worker believes nothing it reads from shared memory; this process believes nothing it reads from the rings.
//! - Who takes over this process holds its handles for as long, and no key. What he can do with them is what the keys are
//!   for ([`KeyOptions`]): a key that only verifies signs nothing, and one whose nonces the worker makes
//!   ([`Nonces::Made`](crate::queue::Nonces::Made)) seals nothing twice under one nonce, which would give away how to forge.
//! - With its *data* this process trusts the worker, which has to read and write it.
//! - A grant can be revoked, and worker and broker can die, at any moment: what completed is kept, what has not
//!   ends with [`Status::Revoked`](crate::cwq::Status::Revoked) or [`Status::Gone`](crate::cwq::Status::Gone), its
//!   input intact, and later requests are refused. Attach again, and import the keys again.
//! - A forked child has nothing of its parent's grants, and can't disturb them. It may attach itself.
//!
//! # Without a service
//! Nothing falls back by itself. With [`Fallback::InProcess`], and only when no service can be reached at the moment
//! of attaching, an accelerator in this process takes its place; [`fallbacks`] counts that and
//! [`Accelerator::is_isolated`] tells. A refusal is an answer, not an absence: it is never computed around.

mod attach;
mod keys;
mod link;
mod local;
mod service;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zeroize::Zeroizing;

pub use attach::{Attach, AttachError, Connection, Fallback};
pub use keys::Exportable;
pub(crate) use link::{Link, Parked};
pub use millstream_protocol::{
    GrantStatus, KeyRefusal, QueueCounts, Refusal as ServiceRefusal, Use, UseStatus, WorkerStatus,
    environment,
};
pub use service::{Service, ServiceError, Status};

use crate::Error;
use crate::cwq::Algorithm;
use crate::queue::{KeyHandle, KeyOptions, Queue};
use local::Local;

/// What was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantInfo {
    /// Its number, as `millstream status` shows it; 0 for one in this process.
    pub id: u64,
    /// How many queues.
    pub queues: u32,
    /// Operations in flight in each.
    pub depth: usize,
    /// Bytes of arena. Each queue keeps some for itself: 768 for each operation in flight.
    pub arena_bytes: u32,
    /// How many keys it may hold.
    pub key_slots: usize,
    /// Its share of an accelerator, among the weights of all.
    pub weight: u32,
    /// The algorithms it may use: the bit of each one's number.
    pub algorithms: u128,
}

/// How a grant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantState {
    /// It is served.
    Live,
    /// It was revoked.
    Revoked,
    /// The worker or the broker has ended; or this is a forked child of the process that attached.
    Gone,
}

/// A grant: it ends when this, its clones, its queues and their buffers are dropped.
///
/// ```no_run
/// use millstream::isolated::{Accelerator, Attach, Fallback};
///
/// let accelerator = Accelerator::attach()?;
/// // With more queues, and with leave to do without a service.
/// let many = Attach { queues: 4, fallback: Fallback::InProcess, ..Attach::default() }.attach()?;
/// println!("{} is isolated: {}", many.grant().id, many.is_isolated());
/// # Ok::<(), millstream::isolated::AttachError>(())
/// ```
#[derive(Clone)]
pub struct Accelerator(Place);

#[derive(Clone)]
enum Place {
    Worker(Arc<Link>),
    Here(Arc<Local>),
}

static FALLBACKS: AtomicU64 = AtomicU64::new(0);

/// How often this process took an accelerator of its own because no service could be reached.
pub fn fallbacks() -> u64 {
    FALLBACKS.load(Ordering::Relaxed)
}

impl Accelerator {
    /// A grant as it usually is: [`Attach::default`].
    ///
    /// # Errors
    /// [`AttachError`].
    pub fn attach() -> Result<Self, AttachError> {
        Attach::default().attach()
    }

    /// The next queue of the grant. All of them share the arena and the keys. One that is dropped after its operations
    /// have ended can be had again.
    ///
    /// # Errors
    /// [`Error::QueuesTaken`]; [`Error::Queue`] when the arena has no room for what a queue keeps for itself, or
    /// the grant has ended.
    pub fn queue(&self) -> Result<Queue, Error> {
        match &self.0 {
            Place::Worker(link) => Queue::isolated(link),
            Place::Here(local) => local.queue(),
        }
    }

    /// Brings a key to the worker. It works on every queue of the grant. The caller's bytes are not needed any more.
    ///
    /// # Errors
    /// As the engine's own `new`; [`Error::KeySlots`]; [`Error::Key`]; [`Error::NoAnswer`]; [`Error::Queue`] after
    /// the grant's end.
    pub fn import_key(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        exportable: Exportable,
    ) -> Result<KeyHandle, Error> {
        self.import_key_with(algorithm, key, exportable.into())
    }

    /// The same, for less than all that the algorithm can, or with nonces that the worker makes: see [`KeyOptions`].
    ///
    /// # Errors
    /// As [`Accelerator::import_key`]; [`Error::Key`] also where a key can't have that purpose, or the policy of the service does
    /// not allow it.
    pub fn import_key_with(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        match &self.0 {
            Place::Worker(link) => link.import_key(algorithm, key, options),
            Place::Here(local) => local.import_key(algorithm, key, options),
        }
    }

    /// Has the worker make a random key of `len` bytes, which this process never sees.
    ///
    /// # Errors
    /// As [`Accelerator::import_key`].
    pub fn generate_key(
        &self,
        algorithm: Algorithm,
        len: usize,
        exportable: Exportable,
    ) -> Result<KeyHandle, Error> {
        self.generate_key_with(algorithm, len, exportable.into())
    }

    /// The same, for less than all that the algorithm can, or with nonces that the worker makes: see [`KeyOptions`].
    ///
    /// ```no_run
    /// use millstream::cwq::{Algorithm, Usages};
    /// use millstream::isolated::Accelerator;
    /// use millstream::queue::{KeyOptions, Nonces};
    ///
    /// let accelerator = Accelerator::attach()?;
    /// // Whoever takes over this process can seal while he is there. He can't open, nor repeat a nonce.
    /// let options = KeyOptions { usages: Some(Usages::ENCRYPT), nonces: Nonces::Made, ..KeyOptions::default() };
    /// let key = accelerator.generate_key_with(Algorithm::AesGcm, 32, options)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Accelerator::import_key_with`].
    pub fn generate_key_with(
        &self,
        algorithm: Algorithm,
        len: usize,
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        match &self.0 {
            Place::Worker(link) => link.generate_key(algorithm, len, options),
            Place::Here(local) => local.generate_key(algorithm, len, options),
        }
    }

    /// The bytes of a key that was made [`Exportable::Yes`].
    ///
    /// # Errors
    /// [`Error::Key`]: there is no such key, or it is not to be exported; else as [`Accelerator::import_key`].
    pub fn export_key(&self, key: KeyHandle) -> Result<Zeroizing<Vec<u8>>, Error> {
        match &self.0 {
            Place::Worker(link) => link.export_key(key),
            Place::Here(local) => local.export_key(key),
        }
    }

    /// Zeroises a key. Operations under it that have not begun end with
    /// [`Status::Key`](crate::cwq::Status::Key).
    ///
    /// # Errors
    /// [`Error::Key`]: there is no such key; else as [`Accelerator::import_key`].
    pub fn destroy_key(&self, key: KeyHandle) -> Result<(), Error> {
        match &self.0 {
            Place::Worker(link) => link.destroy_key(key),
            Place::Here(local) => local.destroy_key(key),
        }
    }

    /// Has a key zeroised, as [`Accelerator::destroy_key`], without waiting for the service: for destructors, and where
    /// nobody wants to know. A service that is stopped or slow does it when it comes to it.
    pub fn discard_key(&self, key: KeyHandle) {
        match &self.0 {
            Place::Worker(link) => link.discard_key(key),
            // There is nobody to wait for but a thread of this process.
            Place::Here(local) => drop(local.destroy_key(key)),
        }
    }

    /// What was granted.
    pub fn grant(&self) -> &GrantInfo {
        match &self.0 {
            Place::Worker(link) => link.grant(),
            Place::Here(local) => local.grant(),
        }
    }

    /// How it is now: it asks the state page and the broker's socket.
    pub fn state(&self) -> GrantState {
        match &self.0 {
            Place::Worker(link) => link.state(),
            Place::Here(local) => local.state(),
        }
    }

    /// Whether keys and accelerator are in another process.
    pub fn is_isolated(&self) -> bool {
        matches!(self.0, Place::Worker(_))
    }

    /// The socket of the service; none where there is none.
    pub fn socket(&self) -> Option<&Path> {
        match &self.0 {
            Place::Worker(link) => Some(link.path()),
            Place::Here(_) => None,
        }
    }
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.is_isolated() { "isolated" } else { "in this process" };
        write!(f, "Accelerator(grant {}, {place}, {:?})", self.grant().id, self.state())
    }
}
