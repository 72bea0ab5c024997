//! A queue whose accelerator is another process: how it waits, and how it ends.
//!
//! A thread that waits looks at the ring for a while, then sleeps on a word of it that the worker wakes. It trusts
//! nobody to do that: every sleep has a limit, after which it looks at the state page and the broker's socket.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use millstream_cwq::ring::{Consumer, Producer, SLEEP_WORD};
use millstream_cwq::{Completion, ControlWord, Status};
use millstream_host::Patience;
use millstream_shm as shm;

use super::parts::RingMemory;
use super::sleeper::{ENDING, LIMIT, Sleeper, sleep_on};
use crate::link::Link;
use crate::refusal::Refusal;

type Submissions = Producer<RingMemory, { ControlWord::WORDS }>;
type Completions = Consumer<RingMemory, { Completion::WORDS }>;

/// Polls in vain between two looks at the broker's socket.
const POLLS: u32 = 1 << 16;

/// A queue's side of a worker.
pub(super) struct Isolated {
    link: Arc<Link>,
    index: u32,
    /// Polls in vain.
    polls: u32,
    patience: Patience,
    watcher: Option<Watcher>,
}

impl Isolated {
    pub(super) fn new(link: Arc<Link>, index: u32) -> Self {
        let patience = Patience::new(link.spin());
        Isolated { link, index, polls: 0, patience, watcher: None }
    }

    /// Ends the thread that sleeps for tasks. Returns the grant, and which of its queues this is.
    pub(super) fn leave(&mut self) -> (Arc<Link>, u32) {
        self.watcher = None;
        (self.link.clone(), self.index)
    }

    /// The grant.
    pub(super) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    #[inline(always)]
    pub(super) fn refusal(&self) -> Option<Refusal> {
        self.link.refusal()
    }

    /// Returns the status of operations that the worker has not done, and true when the worker is known to touch their
    /// memory no more.
    pub(super) fn end(&self) -> (Status, bool) {
        let status = match self.refusal() {
            Some(Refusal::Revoked) => Status::Revoked,
            _ => Status::Gone,
        };
        (status, self.link.is_settled())
    }

    /// Returns the fewest bytes of input with output whose cache lines are handed over, where that was asked for.
    pub(super) fn hand_over_from(&self) -> usize {
        self.link.demote_from()
    }

    /// Wakes the worker if it sleeps, because nothing has come. Returns true when the grant is over.
    #[inline(always)]
    pub(super) fn drive(&mut self, submissions: &mut Submissions) -> bool {
        if submissions.must_wake() {
            self.link.doorbell.ring();
        }
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS) {
            self.link.look_at_service();
        }
        self.link.is_over()
    }

    /// Waits until completions come: for a while by looking, then asleep, for so long at most.
    pub(super) fn park(&mut self, completions: &mut Completions, most: Duration) {
        if self.patience.look(|| matches!(completions.ready(), Ok(1..))) {
            return;
        }
        if self.refusal().is_some() {
            thread::sleep(ENDING);
            return;
        }
        if completions.sleep() == Ok(true) && self.refusal().is_none() {
            shm::sleep::wait(completions.sleep_word(), 1, LIMIT.min(most));
        }
        completions.wake();
        match completions.ready() {
            Ok(0) => self.link.look_at_service(),
            Ok(_) => {}
            Err(_) => self.link.mark_gone(),
        }
    }

    /// Returns the longest time for which looking pays.
    pub(super) fn looks_at_most(&self) -> Duration {
        self.link.spin()
    }

    /// Returns true when a task looks again.
    pub(super) fn looks_on(&mut self, look: &mut Look) -> bool {
        if look.failed {
            return false;
        }
        let now = Instant::now();
        let looked = now.duration_since(*look.since.get_or_insert(now));
        let on = looked < self.patience.time();
        if !on && !look.failed {
            look.failed = true;
            self.patience.was_in_vain();
        }
        on
    }

    /// Notes that a task has what it waited for.
    pub(super) fn has_come(&mut self, look: &Look) {
        // The length of looks stays as it is when the task slept.
        if look.since.is_some() && !look.failed {
            self.patience.paid();
        }
    }

    /// Has a thread sleep on the ring until completions come. Returns true when some are there already.
    pub(super) fn wake_thread(&mut self, completions: &mut Completions, sleeper: &Sleeper) -> bool {
        let there = completions.sleep() != Ok(true) || self.link.is_over();
        if !there {
            sleeper.sleep_on(completions.memory(), &self.link);
        }
        there
    }

    /// Has a task woken when completions come. Returns true when some are there already.
    pub(super) fn wake_task(&mut self, completions: &mut Completions, waker: &Waker) -> bool {
        let (link, watcher) = (&self.link, &mut self.watcher);
        let watcher = match watcher {
            Some(watcher) => watcher,
            None => match Watcher::start(link.clone(), completions.memory().clone()) {
                Some(started) => watcher.insert(started),
                // No thread can be had: the task goes on looking.
                None => return true,
            },
        };
        watcher.wake_next(waker);
        let there = completions.sleep() != Ok(true) || link.is_over();
        watcher.go();
        there
    }
}

/// A task's look for what it waits for.
#[derive(Debug, Default)]
pub(super) struct Look {
    since: Option<Instant>,
    /// True when it was in vain, and the task slept.
    failed: bool,
}

impl Look {
    /// Notes that a thread has looked in vain, and sleeps.
    pub(super) fn was_in_vain(&mut self) {
        self.failed = true;
    }
}

/// A thread that sleeps for the tasks of a queue, and wakes the one that leads.
struct Watcher {
    shared: Arc<Watched>,
    thread: Option<JoinHandle<()>>,
    forks: u64,
}

struct Watched {
    link: Arc<Link>,
    completions: RingMemory,
    waker: Mutex<Option<Waker>>,
    armed: AtomicBool,
    stop: AtomicBool,
}

impl Watcher {
    fn start(link: Arc<Link>, completions: RingMemory) -> Option<Self> {
        let shared = Arc::new(Watched {
            link,
            completions,
            waker: Mutex::new(None),
            armed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let of_thread = shared.clone();
        let builder = thread::Builder::new().name("millstream-wait".to_owned());
        let thread = shm::without_signals(|| builder.spawn(move || of_thread.run())).ok()?;
        Some(Watcher { shared, thread: Some(thread), forks: shm::forks() })
    }

    /// Names the task that is woken next.
    fn wake_next(&self, waker: &Waker) {
        let mut next = self.shared.waker.lock().unwrap_or_else(PoisonError::into_inner);
        let before = next.replace(waker.clone());
        drop(next);
        // Not under the lock: a waker is somebody else's code.
        drop(before);
    }

    /// Sends the thread to sleep on the ring.
    fn go(&self) {
        self.shared.armed.store(true, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Watched {
    fn run(&self) {
        while !self.stop.load(Ordering::Acquire) {
            if self.armed.load(Ordering::Acquire) {
                self.watch();
            } else {
                thread::park();
            }
        }
    }

    /// Sleeps on the ring, then wakes the task.
    fn watch(&self) {
        sleep_on(&self.completions, &self.link, || self.stop.load(Ordering::Acquire));
        // A worker wakes one. The task may not look for long, and a thread that sleeps here as well has nobody else.
        if let Some(word) = self.completions.get(SLEEP_WORD) {
            shm::sleep::wake(word);
        }
        self.armed.store(false, Ordering::Release);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if shm::forks() != self.forks {
            // The thread is the parent's: there is none here to wait for.
            std::mem::forget(thread);
            return;
        }
        self.shared.stop.store(true, Ordering::Release);
        if let Some(word) = self.shared.completions.get(SLEEP_WORD) {
            word.store(0, Ordering::Release);
            shm::sleep::wake(word);
        }
        thread.thread().unpark();
        // The last waker may drop the queue on the very thread.
        if thread.thread().id() != thread::current().id() {
            // The thread runs wakers, which may panic; that is their affair.
            let _ = thread.join();
        }
    }
}
