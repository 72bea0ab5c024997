//! Keys in the service: what isolated contexts hold in place of a key.
//!
//! A process attaches when the first key is set, and has one grant for each socket. The bytes of a key go to a worker and
//! are not kept here. After a fork the grant is the parent's: the child attaches for keys that it sets itself, and the
//! parent's are refused with a reason that says so. The same holds after the service was restarted: no key is ever
//! computed with in this process instead.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use millstream::cwq::{Algorithm, Status};
use millstream::isolated::{Accelerator, Attach, Exportable, GrantState};
use millstream::modes::Direction;
use millstream::queue::{Buffer, Done, KeyHandle, Request, SharedQueue};
use millstream::{Error, InOut};

use crate::error::{Reason, Result};
use crate::fork::{PerProcess, generation};
use crate::provider::Provider;

/// The longest message whose tag or MAC is computed over all of it at once, in bytes.
pub const LONGEST: usize = 4 << 20;

/// How much goes in one operation, in bytes: what the arena has room for many of.
const PIECE: usize = 64 << 10;

/// Keys that a process may have at a time.
const KEY_SLOTS: usize = 4096;

/// Memory for what is in flight: a whole message, its output, and pieces of others.
const ARENA_BYTES: u32 = 16 << 20;

/// A grant, and its queue.
pub struct Service {
    socket: PathBuf,
    made_in: u64,
    accelerator: Accelerator,
    queue: SharedQueue,
}

impl Service {
    /// The process's grant from the configured socket.
    fn get(provider: Provider) -> Result<Arc<Service>> {
        static SERVICES: PerProcess<Mutex<Vec<Arc<Service>>>> = PerProcess::new();
        let socket = provider.configuration().socket.as_deref().ok_or(NOT_CONFIGURED)?;
        let mut services = SERVICES.get().lock().unwrap_or_else(PoisonError::into_inner);
        services.retain(|service| service.accelerator.state() == GrantState::Live);
        if let Some(service) = services.iter().find(|service| service.socket == socket) {
            return Ok(Arc::clone(service));
        }
        let service = Arc::new(Service::attach(socket)?);
        services.push(Arc::clone(&service));
        Ok(service)
    }

    fn attach(socket: &Path) -> Result<Self> {
        let path = (!socket.as_os_str().is_empty()).then(|| socket.to_owned());
        let wanted =
            Attach { socket: path, key_slots: KEY_SLOTS, arena_bytes: ARENA_BYTES, ..Attach::default() };
        let accelerator = wanted.attach().map_err(Error::from)?;
        let queue = SharedQueue::new(accelerator.queue()?);
        Ok(Service { socket: socket.to_owned(), made_in: generation(), accelerator, queue })
    }

    /// That it is not a parent's, whose locks may be held for ever here.
    fn is_ours(&self) -> Result<()> {
        if self.made_in == generation() { Ok(()) } else { Err(PARENTS) }
    }

    /// A buffer, with bytes in it. Waits for none: when the arena is full, other threads have it.
    fn buffer(&self, len: usize) -> Result<Buffer> {
        self.queue.buffer(len).map_err(|why| Error::from(why).into())
    }

    fn run(&self, request: Request<'_>) -> Result<Done> {
        let done = self.queue.run(request).map_err(Error::from)?;
        match done.result {
            Ok(()) => Ok(done),
            Err(status) => Err(Error::from(status).into()),
        }
    }
}

const NOT_CONFIGURED: Reason = Reason::KEY_SETUP_FAILED.with(
    "no isolation is configured: set MILLSTREAM_SOCKET, or add the line `isolated = yes` to the provider's section of openssl.cnf",
);
const PARENTS: Reason = Reason::CIPHER_OPERATION_FAILED
    .with("the key was set before a fork and is the parent's: set it again in the child");

/// How an operation's vector follows from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chaining {
    /// There is none.
    None,
    /// The last block of ciphertext: CBC and CFB.
    Ciphertext,
    /// A counter, big-endian.
    Counter,
}

impl Chaining {
    /// Moves a counter on for so many bytes.
    pub fn count(self, counter: &mut [u8], bytes: usize) {
        if self == Chaining::Counter && !counter.is_empty() {
            add(counter, bytes.div_ceil(counter.len()));
        }
    }
}

/// A key in the service. Dropping it destroys it there.
pub struct RemoteKey {
    service: Arc<Service>,
    handle: KeyHandle,
}

impl RemoteKey {
    /// Brings a key there. Attaches if this is the first.
    pub fn import(provider: Provider, algorithm: Algorithm, key: &[u8]) -> Result<Self> {
        let service = Service::get(provider)?;
        let handle = service.accelerator.import_key(algorithm, key, Exportable::No)?;
        Ok(RemoteKey { service, handle })
    }

    /// Passes `data`, whole blocks of as many bytes as `chain` has; `chain` is the vector before and what the next pass needs
    /// after. For modes without one it is empty.
    pub fn cipher(
        &self,
        direction: Direction,
        chaining: Chaining,
        chain: &mut [u8],
        mut data: InOut<'_>,
    ) -> Result<()> {
        self.service.is_ours()?;
        while !data.is_empty() {
            let n = data.len().min(PIECE);
            let mut piece = data.take(n);
            let (mut source, destination) = (self.service.buffer(n)?, self.service.buffer(n)?);
            source.copy_from_slice(piece.input());
            let request = match direction {
                Direction::Encrypt => Request::encrypt(self.handle, chain, source, destination),
                Direction::Decrypt => Request::decrypt(self.handle, chain, source, destination),
            };
            let done = self.service.run(request)?;
            let (source, destination) = both(&done)?;
            let ciphertext = if direction == Direction::Encrypt { destination } else { source };
            match chaining {
                Chaining::None => {}
                Chaining::Ciphertext => chain.copy_from_slice(&ciphertext[n - chain.len()..]),
                Chaining::Counter => chaining.count(chain, n),
            }
            piece.output().copy_from_slice(destination);
        }
        Ok(())
    }

    /// Passes a whole data unit under a tweak.
    pub fn data_unit(&self, direction: Direction, tweak: &[u8], mut data: InOut<'_>) -> Result<()> {
        self.service.is_ours()?;
        let (source, destination) = self.message(&data)?;
        let request = match direction {
            Direction::Encrypt => Request::encrypt(self.handle, tweak, source, destination),
            Direction::Decrypt => Request::decrypt(self.handle, tweak, source, destination),
        };
        data.output().copy_from_slice(both(&self.service.run(request)?)?.1);
        Ok(())
    }

    /// Encrypts a whole message; returns the tag over it and `aad`.
    pub fn seal(&self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>) -> Result<[u8; 16]> {
        self.service.is_ours()?;
        let (source, destination) = self.message(&data)?;
        let done = self.service.run(Request::seal(self.handle, nonce, aad, source, destination))?;
        data.output().copy_from_slice(both(&done)?.1);
        done.tag().try_into().map_err(|_| Reason::INTERNAL)
    }

    /// Decrypts a whole message if `tag` is right, and tells whether it is; else the output is zero.
    pub fn open(&self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>, tag: &[u8]) -> Result<bool> {
        self.service.is_ours()?;
        let (source, destination) = self.message(&data)?;
        let request = Request::open(self.handle, nonce, aad, source, destination, tag);
        let done = self.service.queue.run(request).map_err(Error::from)?;
        match done.result {
            Ok(()) => {
                data.output().copy_from_slice(both(&done)?.1);
                Ok(true)
            }
            Err(Status::Authentication) => {
                data.output().fill(0);
                Ok(false)
            }
            Err(status) => Err(Error::from(status).into()),
        }
    }

    /// The MAC of a whole message, at the front of what is returned, and its length.
    pub fn mac(&self, message: &[u8]) -> Result<([u8; 64], usize)> {
        self.service.is_ours()?;
        fits(message.len())?;
        let mut source = self.service.buffer(message.len())?;
        source.copy_from_slice(message);
        let done = self.service.run(Request::mac(self.handle, source))?;
        let (mut mac, tag) = ([0; 64], done.tag());
        mac[..tag.len()].copy_from_slice(tag);
        Ok((mac, tag.len()))
    }

    /// Buffers for a whole message, with its input in the first.
    fn message(&self, data: &InOut<'_>) -> Result<(Buffer, Buffer)> {
        fits(data.len())?;
        let (mut source, destination) = (self.service.buffer(data.len())?, self.service.buffer(data.len())?);
        source.copy_from_slice(data.input());
        Ok((source, destination))
    }
}

impl Drop for RemoteKey {
    fn drop(&mut self) {
        // A parent's key is the parent's to destroy; and a service that is gone has destroyed it.
        if self.service.is_ours().is_ok() {
            let _ = self.service.accelerator.destroy_key(self.handle);
        }
    }
}

/// Source and destination, as they came back.
fn both(done: &Done) -> Result<(&[u8], &[u8])> {
    match (&done.buffers.source, &done.buffers.destination) {
        (Some(source), Some(destination)) => Ok((source, destination)),
        _ => Err(Reason::INTERNAL),
    }
}

/// That a message can be held as a whole.
pub fn fits(len: usize) -> Result<()> {
    if len <= LONGEST {
        return Ok(());
    }
    Err(Reason::LENGTH_TOO_LARGE.with(
        "an isolated key computes the tag of at most 4 MiB in one message: make messages shorter, or ask for millstream.isolated=no",
    ))
}

/// Adds to a big-endian counter.
fn add(counter: &mut [u8], blocks: usize) {
    let mut carry = blocks as u64;
    for byte in counter.iter_mut().rev() {
        carry += u64::from(*byte);
        *byte = carry as u8;
        carry >>= 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_carries_and_wraps() {
        let mut counter = [0xff; 16];
        add(&mut counter, 1);
        assert_eq!(counter, [0; 16]);
        add(&mut counter, 0x1_0000);
        assert_eq!(counter[12..], [0, 1, 0, 0]);
        let mut short = [0, 0, 0, 0, 0, 0, 0xff, 0xff];
        add(&mut short, 4096);
        assert_eq!(short, [0, 0, 0, 0, 0, 1, 0x0f, 0xff]);
    }
}
