//! A grant, wherever its accelerator is.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zeroize::Zeroizing;

use super::local::Local;
use crate::Error;
use crate::cwq::Algorithm;
use crate::grant::{GrantInfo, GrantState};
use crate::key::{Exportable, KeyHandle, KeyOptions};
use crate::link::Link;
use crate::queue::Queue;
use millstream_protocol::KeyRefusal;

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

/// Returns how often this process took an accelerator of its own because no service could be reached.
pub fn fallbacks() -> u64 {
    FALLBACKS.load(Ordering::Relaxed)
}

impl Accelerator {
    /// A grant of a service.
    pub(super) fn of_worker(link: Link) -> Self {
        Accelerator(Place::Worker(Arc::new(link)))
    }

    /// Falls back to an accelerator of this process, and counts that.
    pub(super) fn fall_back(local: Local) -> Self {
        FALLBACKS.fetch_add(1, Ordering::Relaxed);
        Accelerator(Place::Here(Arc::new(local)))
    }

    /// Returns the grant of a service, which alone keeps tokens.
    pub(super) fn link(&self) -> Result<&Arc<Link>, Error> {
        match &self.0 {
            Place::Worker(link) => Ok(link),
            Place::Here(_) => Err(Error::Key(KeyRefusal::NoTokens)),
        }
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

    /// Has the worker encrypt a private key that will have the usages of `options`, for [`Accelerator::unwrap_key`] in any process that has a grant, as long as the service runs. The
    /// worker keeps nothing. What comes back tells nothing of the key, but lets its holder use it.
    ///
    /// # Errors
    /// [`Error::Key`]; [`Error::NoAnswer`]; [`Error::Queue`] after the grant's end; [`KeyRefusal::Wrapped`] of an accelerator in this process.
    pub fn wrap_key(&self, algorithm: Algorithm, key: &[u8], options: KeyOptions) -> Result<Vec<u8>, Error> {
        match &self.0 {
            Place::Worker(link) => link.wrap_key(algorithm, key, options),
            Place::Here(_) => Err(Error::Key(KeyRefusal::Wrapped)),
        }
    }

    /// Makes a key from wrapped bytes, with the usages that they were wrapped with. It can't be exported.
    ///
    /// # Errors
    /// As [`Accelerator::import_key_with`]; [`KeyRefusal::Wrapped`] where another service wrapped it, or the same one before it was started again.
    pub fn unwrap_key(
        &self,
        algorithm: Algorithm,
        wrapped: &[u8],
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        match &self.0 {
            Place::Worker(link) => link.unwrap_key(algorithm, wrapped, options),
            Place::Here(_) => Err(Error::Key(KeyRefusal::Wrapped)),
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

    /// Returns the terms of the grant.
    pub fn grant(&self) -> &GrantInfo {
        match &self.0 {
            Place::Worker(link) => link.grant(),
            Place::Here(local) => local.grant(),
        }
    }

    /// Returns the grant's present state, as the state page and the broker's socket tell it.
    pub fn state(&self) -> GrantState {
        match &self.0 {
            Place::Worker(link) => link.state(),
            Place::Here(local) => local.state(),
        }
    }

    /// Returns true when keys and accelerator are in another process.
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
