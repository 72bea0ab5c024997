//! A queue for many threads, and for `async` code on any executor.
//!
//! Whoever waits also works: a thread or task that polls takes all completions there are, keeps them for their
//! owners, and wakes those. With an inline accelerator a task first lets the others submit, then executes what
//! all of them have submitted, side by side. With an isolated one it looks a while between the others' turns before it
//! has itself woken.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use millstream_cwq::Algorithm;

use super::driver::Driver;
use super::{Done, Queue, Refused, Request, Ticket};
use crate::Error;
use crate::heap::Buffer;
use crate::key::{KeyHandle, KeyOptions};
use crate::refusal::Refusal;

/// The end of an operation whose owner is elsewhere.
#[derive(Default)]
struct Owner {
    done: Option<Done>,
    waker: Option<Waker>,
}

struct Inner {
    queue: Queue,
    /// The owners, by slot.
    owners: Vec<Owner>,
    /// The task that an accelerator's thread wakes when completions come, or woke and that has yet to look. As long as
    /// any task waits, one that waits is this one, or is on its way to be.
    leader: Option<Ticket>,
    /// The slot at which the search for another leader begins.
    next: usize,
}

/// A queue that many threads and tasks use at once.
///
/// ```
/// use millstream::cwq::Algorithm;
/// use millstream::queue::{Config, Queue, Request, SharedQueue};
///
/// let queue = SharedQueue::new(Queue::inline(millstream::features()?, Config::default())?);
/// let key = queue.import_key(Algorithm::Sha256, b"Jefe")?;
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             let mut message = queue.buffer(28).unwrap();
///             message.copy_from_slice(b"what do ya want for nothing?");
///             let done = queue.run(Request::mac(key, message)).unwrap();
///             assert_eq!(done.tag()[..4], [0x5b, 0xdc, 0xc1, 0x46]);
///         });
///     }
/// });
/// # Ok::<(), millstream::Error>(())
/// ```
///
/// In `async` code, on any executor: `queue.submit(request)?.await`.
#[derive(Clone)]
pub struct SharedQueue {
    inner: Arc<Mutex<Inner>>,
}

impl SharedQueue {
    /// Shares a queue. Operations that are in flight already are forgotten when they end.
    pub fn new(mut queue: Queue) -> Self {
        for slot in &mut queue.slots {
            slot.detach();
        }
        queue.shared = true;
        let owners = (0..queue.depth()).map(|_| Owner::default()).collect();
        SharedQueue { inner: Arc::new(Mutex::new(Inner { queue, owners, leader: None, next: 0 })) }
    }

    /// No code of others runs while it is locked, so a panic elsewhere leaves it as it should be.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends a buffer as [`Queue::buffer`] does.
    ///
    /// # Errors
    /// Lends a buffer as [`Queue::buffer`] does.
    pub fn buffer(&self, len: usize) -> Result<Buffer, Refusal> {
        self.lock().queue.buffer(len)
    }

    /// Imports a key as [`Queue::import_key`] does.
    ///
    /// # Errors
    /// Imports a key as [`Queue::import_key`] does.
    pub fn import_key(&self, algorithm: Algorithm, key: &[u8]) -> Result<KeyHandle, Error> {
        self.lock().queue.import_key(algorithm, key)
    }

    /// Imports a key as [`Queue::import_key_with`] does.
    ///
    /// # Errors
    /// Imports a key as [`Queue::import_key_with`] does.
    pub fn import_key_with(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        self.lock().queue.import_key_with(algorithm, key, options)
    }

    /// Removes a key as [`Queue::remove_key`] does.
    pub fn remove_key(&self, key: KeyHandle) -> bool {
        self.lock().queue.remove_key(key)
    }

    /// Returns the number of operations in flight.
    pub fn in_flight(&self) -> usize {
        self.lock().queue.in_flight()
    }

    /// Puts an operation in flight, for its end to be awaited. If what this returns is dropped, the operation
    /// is cancelled.
    ///
    /// # Errors
    /// [`Refused`], with the buffers: see [`Refusal`]. When the queue is full, await something first.
    pub fn submit(&self, request: Request<'_>) -> Result<Pending, Refused> {
        let mut inner = self.lock();
        let ticket = match inner.queue.submit(request) {
            Ok(ticket) => ticket,
            Err(refused) if refused.why == Refusal::Full => {
                // Completions that have come make room for the next call.
                let wakers = inner.collect();
                drop(inner);
                wakers.into_iter().for_each(Waker::wake);
                return Err(refused);
            }
            Err(refused) => return Err(refused),
        };
        Ok(Pending { queue: self.clone(), ticket, ended: false, yielded: false, since: None })
    }

    /// Executes an operation and waits for its end on this thread. When the queue is full it waits for room.
    ///
    /// # Errors
    /// [`Refused`], as for [`SharedQueue::submit`], but never because the queue is full.
    pub fn run(&self, request: Request<'_>) -> Result<Done, Refused> {
        let mut buffers = request.buffers;
        loop {
            match self.submit(Request { buffers, ..request }) {
                Ok(pending) => return Ok(block_on(pending)),
                Err(Refused { why: Refusal::Full, buffers: back }) => {
                    buffers = back;
                    thread::yield_now();
                }
                Err(refused) => return Err(refused),
            }
        }
    }
}

impl Inner {
    /// Lets the accelerator work and takes all completions. Returns the wakers of their owners.
    fn collect(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let over = self.queue.drive();
        while let Some(done) = self.queue.reap() {
            self.keep(done, &mut wakers);
        }
        while over && let Some(done) = self.queue.last() {
            self.keep(done, &mut wakers);
        }
        wakers
    }

    fn keep(&mut self, done: Done, wakers: &mut Vec<Waker>) {
        let owner = &mut self.owners[done.ticket.slot() as usize];
        wakers.extend(owner.waker.take());
        owner.done = Some(done);
    }

    /// The end of an operation, if it has come.
    fn take(&mut self, ticket: Ticket) -> Option<Done> {
        let owner = &mut self.owners[ticket.slot() as usize];
        let own = owner.done.as_ref().is_some_and(|done| done.ticket == ticket);
        if !own {
            return None;
        }
        self.queue.free.push(ticket.slot());
        owner.done.take()
    }
}

/// An operation of a [`SharedQueue`] in flight: a future of its end.
#[must_use = "an operation that nobody waits for is cancelled"]
pub struct Pending {
    queue: SharedQueue,
    ticket: Ticket,
    /// True when the operation's end was told.
    ended: bool,
    /// True when others were let in before the accelerator was.
    yielded: bool,
    /// Since when it has been looked for.
    since: Option<Instant>,
}

impl Future for Pending {
    type Output = Done;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Done> {
        assert!(!self.ended, "a future is not polled after its end");
        let ticket = self.ticket;
        let queue = self.queue.clone();
        let mut inner = queue.lock();
        if let Some(done) = inner.take(ticket) {
            self.ended = true;
            return Poll::Ready(done);
        }
        let inline = matches!(inner.queue.driver, Driver::Inline(..));
        if inline && !self.yielded {
            self.yielded = true;
            inner.owners[ticket.slot() as usize].waker = Some(context.waker().clone());
            drop(inner);
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut wakers = inner.collect();
        let mut done = inner.take(ticket);
        if done.is_none() {
            inner.owners[ticket.slot() as usize].waker = Some(context.waker().clone());
            if inline {
                // The operation's turn comes with the next step.
                wakers.push(context.waker().clone());
            } else if inner.looks_on(&mut self.since) {
                // The others first: meanwhile it may come.
                wakers.push(context.waker().clone());
            } else if inner.lead(ticket, context.waker()) {
                // Completions came in between.
                wakers.extend(inner.collect());
                done = inner.take(ticket);
                if done.is_none() {
                    wakers.push(context.waker().clone());
                }
            }
        }
        if let (Some(_), Driver::Isolated(isolated), Some(since)) =
            (&done, &mut inner.queue.driver, self.since)
        {
            isolated.seen_by_looking(since);
        }
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        match done {
            Some(done) => {
                self.ended = true;
                Poll::Ready(done)
            }
            None => Poll::Pending,
        }
    }
}

impl Inner {
    /// Returns true to look again rather than sleep: a wake from a worker, which is another process, goes through two
    /// threads and the system.
    fn looks_on(&mut self, since: &mut Option<Instant>) -> bool {
        match &mut self.queue.driver {
            Driver::Isolated(isolated) => isolated.looks_on(since),
            _ => false,
        }
    }

    /// Has a task woken when completions come. Returns true when some are there already.
    fn lead(&mut self, ticket: Ticket, waker: &Waker) -> bool {
        self.leader = Some(ticket);
        match &mut self.queue.driver {
            Driver::Thread(client) => client.clone().wake_task(&mut self.queue.completions, waker),
            Driver::Inline(..) => false,
            Driver::Isolated(isolated) => isolated.wake_task(&mut self.queue.completions, waker),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut inner = self.queue.lock();
        let (mut waker, mut done) = (None, None);
        if !self.ended {
            waker = inner.owners[self.ticket.slot() as usize].waker.take();
            done = inner.take(self.ticket);
            if done.is_none() {
                inner.queue.detach(self.ticket);
            }
        }
        let another = inner.another_leader(self.ticket);
        drop(inner);
        // Buffers and wakers go outside the lock: the last waker of a task may take the task with it, and that
        // another operation of this queue.
        drop((done, waker));
        if let Some(waker) = another {
            waker.wake();
        }
    }
}

impl Inner {
    /// Returns another task that must look when the leader goes away.
    fn another_leader(&mut self, gone: Ticket) -> Option<Waker> {
        if self.leader != Some(gone) {
            return None;
        }
        self.leader = None;
        let slots = self.owners.len();
        for _ in 0..slots {
            self.next = (self.next + 1) % slots;
            if let Some(waker) = self.owners[self.next].waker.take() {
                return Some(waker);
            }
        }
        None
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({:?}{})", self.ticket, if self.ended { ", ended" } else { "" })
    }
}

impl fmt::Debug for SharedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared{:?}", self.lock().queue)
    }
}

/// Wakes a thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
fn block_on(mut pending: Pending) -> Done {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match Pin::new(&mut pending).poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}
