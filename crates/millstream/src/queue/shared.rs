//! A queue for many threads, and for `async` code on any executor.
//!
//! Whoever waits also works: a thread or task that polls takes all completions there are, keeps them for their
//! owners, and wakes those. With an inline accelerator a task first lets the others submit, then executes what
//! all of them have submitted, side by side. With an isolated one it looks a while between the others' turns before it
//! has itself woken.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use millstream_cwq::Algorithm;
use millstream_host::Patience;

use super::driver::Driver;
use super::isolated::Look;
use super::line::{Line, Place};
use super::sleeper::Sleeper;
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

/// A task that waits, by what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// The end of an operation.
    End(Ticket),
    /// Room for a request.
    Room(Place),
}

/// A task that looks for what it waits for.
pub(super) struct Task<'a> {
    pub(super) waiting: Waiting,
    pub(super) waker: &'a Waker,
    /// The thread that waits for it, if one does and nothing else.
    pub(super) sleeper: Option<&'a Sleeper>,
}

pub(super) struct Inner {
    pub(super) queue: Queue,
    /// The owners, by slot.
    owners: Vec<Owner>,
    /// The number of owners who have not fetched the end of their operation.
    kept: usize,
    /// The tasks that wait for room.
    pub(super) line: Line,
    /// The task that looks for those who sleep. With an accelerator elsewhere there is one as long as any task sleeps: either the
    /// accelerator has its waker, for when completions come and for its end, or the task was woken and has yet to look. With an
    /// inline accelerator everyone looks for himself, and there is a leader where an operation is under way that nobody awaits.
    leader: Option<Waiting>,
    /// True when the leader is a thread that sleeps on the ring, or is about to look. It looks as soon as it is woken, which nobody can say of
    /// a task, so others leave the lead to it.
    thread_leads: bool,
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
/// In `async` code, on any executor: `queue.run_async(request).await?`.
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
        let inner = Inner {
            queue,
            owners,
            kept: 0,
            line: Line::default(),
            leader: None,
            thread_leads: false,
            next: 0,
        };
        SharedQueue { inner: Arc::new(Mutex::new(inner)) }
    }

    /// No code of others runs while it is locked, so a panic elsewhere leaves it as it should be.
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
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
    /// is cancelled. Never waits: [`SharedQueue::submit_async`] does, for room.
    ///
    /// # Errors
    /// [`Refused`], with the buffers: see [`Refusal`]. The queue is full, too, while others wait for its room.
    pub fn submit(&self, request: Request<'_>) -> Result<Pending, Refused> {
        let mut inner = self.lock();
        let submitted = if inner.has_room_behind(inner.line.len()) {
            inner.queue.submit(request)
        } else {
            Err(Refused { why: Refusal::Full, buffers: request.buffers })
        };
        if let Err(Refused { why: Refusal::Full, .. }) = submitted {
            // Completions that have come make room for the next call.
            let wakers = inner.collect();
            leave(inner, wakers);
        }
        Ok(Pending::new(self.clone(), submitted?))
    }
}

impl Inner {
    /// Returns true when there is room for one more request than those that have precedence.
    pub(super) fn has_room_behind(&self, others: usize) -> bool {
        self.queue.free.len() > others
    }

    /// Returns true when the task at a place need not wait any longer: there is room for it, or no request is taken at all.
    pub(super) fn may_submit(&self, place: Place) -> bool {
        self.has_room_behind(self.line.ahead(place)) || self.queue.refusal().is_some()
    }

    fn is_inline(&self) -> bool {
        matches!(self.queue.driver, Driver::Inline(..))
    }

    /// Returns true when the end of an operation has yet to be collected.
    fn is_under_way(&self) -> bool {
        self.queue.in_flight() > self.kept
    }

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
        self.kept += 1;
    }

    /// The end of an operation, if it has come.
    fn take(&mut self, ticket: Ticket) -> Option<Done> {
        let owner = &mut self.owners[ticket.slot() as usize];
        let own = owner.done.as_ref().is_some_and(|done| done.ticket == ticket);
        if !own {
            return None;
        }
        self.queue.free.push(ticket.slot());
        self.kept -= 1;
        owner.done.take()
    }

    /// Lets the accelerator work, and looks for what a task waits for. Where it has not come the task is woken again: at once
    /// if it must look on, else when something has come.
    pub(super) fn attend<T>(
        &mut self,
        task: &Task<'_>,
        look: &mut Look,
        wakers: &mut Vec<Waker>,
        mut find: impl FnMut(&mut Inner) -> Option<T>,
    ) -> Option<T> {
        wakers.extend(self.collect());
        if let Some(found) = find(self) {
            return Some(found);
        }
        wakers.extend(self.sleep(task.waiting, task.waker));
        // With nothing under way a task waits for others to fetch what has come for them. An inline accelerator has nothing to
        // do meanwhile. One elsewhere may end, which the leader is told.
        let mut looks_again = self.is_under_way() && (self.is_inline() || self.looks_on(look));
        if self.is_inline() && !looks_again {
            self.leader = self.leader.filter(|leader| *leader != task.waiting);
        } else if !looks_again && !self.is_led_by_another(task.waiting) {
            looks_again = self.lead(task);
            if looks_again {
                // Completions came in between, or the accelerator has ended.
                wakers.extend(self.collect());
                if let Some(found) = find(self) {
                    return Some(found);
                }
            }
        }
        if looks_again {
            wakers.push(task.waker.clone());
        }
        None
    }

    /// Keeps the waker of a task that sleeps. Returns the one that it had before, if that was another: it is dropped outside the
    /// lock.
    fn sleep(&mut self, task: Waiting, waker: &Waker) -> Option<Waker> {
        let kept = match task {
            Waiting::End(ticket) => &mut self.owners[ticket.slot() as usize].waker,
            Waiting::Room(place) => self.line.waker(place)?,
        };
        if kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            return None;
        }
        kept.replace(waker.clone())
    }

    /// Gives up a place in the line for room. Returns its waker, to be dropped when the lock is released.
    pub(super) fn give_up(&mut self, place: Place, wakers: &mut Vec<Waker>) -> Option<Waker> {
        let kept = self.line.leave(place);
        wakers.extend(self.pass_lead(Waiting::Room(place)));
        kept
    }
}

/// Unlocks the queue, then wakes tasks: those that are given, and those that wait for room that there is now. It is done
/// outside the lock, because a waker is somebody else's code.
pub(super) fn leave(mut inner: MutexGuard<'_, Inner>, mut wakers: Vec<Waker>) {
    let room = inner.queue.free.len();
    wakers.extend(inner.line.admit(room));
    drop(inner);
    wakers.into_iter().for_each(Waker::wake);
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
    look: Look,
    /// The thread that waits for it, where that is no task.
    sleeper: Option<Arc<Sleeper>>,
}

impl Pending {
    pub(super) fn new(queue: SharedQueue, ticket: Ticket) -> Self {
        Pending { queue, ticket, ended: false, yielded: false, look: Look::default(), sleeper: None }
    }

    /// Waits for the operation's end on this thread.
    pub fn wait(mut self) -> Done {
        if let Some(done) = self.look_on() {
            return done;
        }
        let sleeper = Sleeper::new();
        sleeper.wait_for(self.of_thread(&sleeper))
    }

    /// Looks at an accelerator elsewhere for as long as that pays for this thread. A look like this costs less than a poll, which wakes the one who polls so
    /// that it looks again: the end of an operation is seen sooner.
    fn look_on(&mut self) -> Option<Done> {
        let mut until = None;
        loop {
            let mut inner = self.queue.lock();
            let Driver::Isolated(isolated) = &inner.queue.driver else { return None };
            let most = isolated.looks_at_most();
            let mut wakers = inner.collect();
            let done = inner.take(self.ticket);
            if done.is_some() {
                self.ended = true;
                wakers.extend(inner.pass_lead(Waiting::End(self.ticket)));
            }
            leave(inner, wakers);
            if done.is_some() {
                if until.is_some() {
                    patience(Patience::paid);
                }
                return done;
            }
            let now = Instant::now();
            if now >= *until.get_or_insert_with(|| now + patience(|patience| patience.time_within(most))) {
                patience(Patience::was_in_vain);
                self.look.was_in_vain();
                return None;
            }
            std::hint::spin_loop();
        }
    }

    /// The same, for a thread that waits.
    pub(super) fn of_thread(mut self, sleeper: &Arc<Sleeper>) -> Self {
        self.sleeper = Some(sleeper.clone());
        self
    }
}

/// Does something with the patience of this thread. Each thread has its own: one that shares a processor with the worker looks in vain, and keeps the worker from
/// working meanwhile, where another need not sleep.
fn patience<T>(with: impl FnOnce(&mut Patience) -> T) -> T {
    thread_local! {
        static PATIENCE: RefCell<Patience> = const { RefCell::new(Patience::new(Duration::ZERO)) };
    }
    PATIENCE.with_borrow_mut(with)
}

impl Future for Pending {
    type Output = Done;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Done> {
        assert!(!self.ended, "a future is not polled after its end");
        let ticket = self.ticket;
        let queue = self.queue.clone();
        let mut inner = queue.lock();
        let mut wakers = Vec::new();
        let mut done = inner.take(ticket);
        if done.is_none() && inner.is_inline() && !self.yielded {
            self.yielded = true;
            wakers.extend(inner.sleep(Waiting::End(ticket), context.waker()));
            wakers.push(context.waker().clone());
        } else if done.is_none() {
            let Pending { look, sleeper, .. } = &mut *self;
            let task =
                Task { waiting: Waiting::End(ticket), waker: context.waker(), sleeper: sleeper.as_deref() };
            done = inner.attend(&task, look, &mut wakers, |inner| inner.take(ticket));
            if let (Some(_), Driver::Isolated(isolated)) = (&done, &mut inner.queue.driver) {
                isolated.has_come(look);
            }
        }
        if done.is_some() {
            self.ended = true;
            wakers.extend(inner.pass_lead(Waiting::End(ticket)));
        }
        leave(inner, wakers);
        done.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Inner {
    /// Returns true to look again rather than sleep: a wake from a worker, which is another process, goes through two
    /// threads and the system.
    fn looks_on(&mut self, look: &mut Look) -> bool {
        match &mut self.queue.driver {
            Driver::Isolated(isolated) => isolated.looks_on(look),
            _ => false,
        }
    }

    /// Returns true when a thread looks for a task, too. A worker wakes one of those who sleep on a ring: so there is one such thread.
    fn is_led_by_another(&self, task: Waiting) -> bool {
        self.thread_leads && self.leader.is_some_and(|leader| leader != task)
    }

    /// Has a task woken when completions come. Returns true when some are there already.
    fn lead(&mut self, task: &Task<'_>) -> bool {
        self.leader = Some(task.waiting);
        self.thread_leads = task.sleeper.is_some() && matches!(self.queue.driver, Driver::Isolated(_));
        let completions = &mut self.queue.completions;
        match (&mut self.queue.driver, task.sleeper) {
            (Driver::Thread(client), _) => client.clone().wake_task(completions, task.waker),
            (Driver::Inline(..), _) => false,
            (Driver::Isolated(isolated), Some(sleeper)) => isolated.wake_thread(completions, sleeper),
            (Driver::Isolated(isolated), None) => isolated.wake_task(completions, task.waker),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut inner = self.queue.lock();
        let mut wakers = Vec::new();
        let waker = inner.owners[self.ticket.slot() as usize].waker.take();
        let done = inner.take(self.ticket);
        if done.is_none() {
            inner.queue.detach(self.ticket);
        }
        wakers.extend(inner.pass_lead(Waiting::End(self.ticket)));
        // The operation's end makes room, and somebody must collect it.
        wakers.extend(inner.appoint());
        leave(inner, wakers);
        // Buffers and wakers go outside the lock: the last waker of a task may take the task with it, and that
        // another operation of this queue.
        drop((done, waker));
    }
}

impl Inner {
    /// Makes another task the leader when the leader goes away. Returns the waker of the new one.
    fn pass_lead(&mut self, gone: Waiting) -> Option<Waker> {
        if self.leader != Some(gone) {
            return None;
        }
        (self.leader, self.thread_leads) = (None, false);
        self.appoint()
    }

    /// Makes a task that sleeps the leader, if one is needed and there is none. Returns its waker. Once woken, the task looks: it
    /// goes on leading, or it goes away in its turn and passes this on.
    fn appoint(&mut self) -> Option<Waker> {
        if self.leader.is_some() || self.is_inline() && !self.is_under_way() {
            return None;
        }
        let (leader, waker) = self.next_sleeper().unzip();
        (self.leader, self.thread_leads) = (leader, false);
        waker
    }

    /// Takes the waker of a task that sleeps, each in turn. Those whose operations are under way come first.
    fn next_sleeper(&mut self) -> Option<(Waiting, Waker)> {
        let slots = self.owners.len();
        for _ in 0..slots {
            self.next = (self.next + 1) % slots;
            if let Some(waker) = self.owners[self.next].waker.take() {
                return Some((Waiting::End(self.queue.slots[self.next].ticket()), waker));
            }
        }
        self.line.first_sleeper().map(|(place, waker)| (Waiting::Room(place), waker))
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
