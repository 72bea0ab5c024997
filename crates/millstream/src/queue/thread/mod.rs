//! An accelerator on a thread of its own.
//!
//! The thread looks at the rings of its queues; operations and completions pass without a lock and without a
//! system call while it is awake. Everything else (new queues, keys) goes as commands through a mutex that it
//! looks into only when it is told to.

pub(super) mod client;
mod serving;
mod sleeper;

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use millstream_accelerator::Way;
use millstream_cpu::Features;
use millstream_host::{End, Pace};

use super::driver::Driver;
use super::parts::Parts;
use super::{Config, Queue, ThreadConfig};
use crate::Error;
use crate::refusal::Refusal;
use client::Client;
use serving::{Serving, Shared};

pub(crate) use client::ThreadGrant;

/// An accelerator on a thread of its own, which serves any number of queues. When it is dropped it ends what was
/// submitted and [flushed](Queue::flush), and the thread; operations submitted later are refused.
///
/// The queues share by what their operations cost. Turns are not bounded, as those of a worker are, because all clients
/// are one program, which trusts itself. An operation is executed at once, however long its object is, others wait
/// until it is done, and whatever an arena holds can be opened. Clients that don't trust each other need workers: see
/// [`isolated`](crate::isolated).
///
/// ```
/// use millstream::hash::Hash;
/// use millstream::queue::{AcceleratorThread, Config, Request, ThreadConfig};
///
/// let accelerator = AcceleratorThread::spawn(millstream::features()?, ThreadConfig::default())?;
/// let mut queue = accelerator.queue(Config::default())?;
/// let mut message = queue.buffer(3)?;
/// message.copy_from_slice(b"abc");
/// queue.submit(Request::digest(Hash::Sha256, message))?;
/// let done = queue.wait().unwrap();
/// assert_eq!(done.tag()[..4], [0xba, 0x78, 0x16, 0xbf]);
/// # Ok::<(), millstream::Error>(())
/// ```
pub struct AcceleratorThread {
    shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
}

impl AcceleratorThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Thread`] when it can't be started, or not be pinned; [`Error::Way`] when `MILLSTREAM_QUEUE` can't be
    /// understood.
    pub fn spawn(features: Features, config: ThreadConfig) -> Result<Self, Error> {
        let way = Way::active()?;
        millstream_shm::watch_forks().map_err(|error| Error::Thread(error.kind()))?;
        let shared = Arc::new(Shared::new(features, way));
        let (ready, started) = sync_channel(1);
        let of_thread = shared.clone();
        let body = move || {
            of_thread.mailbox.bell().wakes_this_thread();
            let pinned = pin(config.cpu);
            let go = pinned.is_ok();
            let _ = ready.send(pinned);
            let _close = Close(of_thread.clone());
            if go {
                let pace = Pace { spin: config.spin, flush: config.flush_deadline };
                Serving::new(of_thread.clone(), pace).run(&of_thread.mailbox);
            }
        };
        let builder = thread::Builder::new().name("millstream".to_owned());
        let handle = millstream_shm::without_signals(|| builder.spawn(body))
            .map_err(|error| Error::Thread(error.kind()))?;
        let this = AcceleratorThread { shared, handle: Some(handle) };
        match started.recv() {
            Ok(Ok(())) => Ok(this),
            Ok(Err(kind)) => Err(Error::Thread(kind)),
            Err(_) => Err(Error::Thread(std::io::ErrorKind::Other)),
        }
    }

    /// A new queue.
    ///
    /// # Errors
    /// [`Refusal::ArenaFull`] when arena and depth together are more than 4 GiB; [`Refusal::Gone`];
    /// [`Refusal::Forked`] in a forked child, which has no such thread.
    pub fn queue(&self, config: Config) -> Result<Queue, Error> {
        self.grant(&config, 1)?.queue(config.depth(), config.weight)
    }

    /// A grant for that many queues, each as deep as `config` says.
    pub(crate) fn grant(&self, config: &Config, queues: usize) -> Result<Arc<ThreadGrant>, Error> {
        if self.shared.is_parents() {
            return Err(Refusal::Forked.into());
        }
        let heap = Parts::heap(config, queues, true)?;
        Ok(Arc::new(ThreadGrant::add(&self.shared, heap, config.key_slots)?))
    }
}

impl Drop for AcceleratorThread {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            if self.shared.is_parents() {
                // There is no such thread here to wait for.
                std::mem::forget(handle);
                return;
            }
            self.shared.mailbox.end(End::Finish);
            // A panic of the thread has been told to its clients already.
            let _ = handle.join();
        }
    }
}

impl fmt::Debug for AcceleratorThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = self.shared.mailbox.is_closed();
        write!(f, "AcceleratorThread({})", if ended { "ended" } else { "running" })
    }
}

fn pin(cpu: Option<usize>) -> Result<(), std::io::ErrorKind> {
    cpu.map_or(Ok(()), |cpu| millstream_shm::pin(cpu).map_err(|error| error.kind()))
}

/// Closes the mailbox when the thread ends, however that comes. No command is left without an answer.
struct Close(Arc<Shared>);

impl Drop for Close {
    fn drop(&mut self) {
        self.0.mailbox.close();
    }
}

impl ThreadGrant {
    /// A queue of this grant.
    pub(crate) fn queue(self: &Arc<Self>, depth: usize, weight: u32) -> Result<Queue, Error> {
        if self.is_parents() {
            return Err(Refusal::Forked.into());
        }
        let parts = Parts::local(self.heap().clone(), depth)?;
        let rings = (parts.submissions.clone(), parts.completions.clone());
        let client = Client::join(self, rings, weight)?;
        Ok(Queue::over(parts, Driver::Thread(client)))
    }
}
