//! A thread that waits for a future of a shared queue.
//!
//! A worker wakes one of those who sleep on the ring. A thread that waits sleeps there itself; for a task another thread has to,
//! which wakes the task in its turn. The others park, and the one that looks wakes them. So two at most sleep on the ring, a thread and
//! the one that does so for tasks, and that one wakes the thread, too.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use millstream_cwq::ring::SLEEP_WORD;
use millstream_shm as shm;

use super::parts::RingMemory;
use crate::link::Link;

/// The longest sleep: then somebody looks whether the service is there.
pub(super) const LIMIT: Duration = Duration::from_millis(100);

/// After a grant's end completions are looked for this often, until the worker has let go.
pub(super) const ENDING: Duration = Duration::from_millis(1);

/// The sleep of a thread, which ends when the thread is woken as a task is.
pub(super) struct Sleeper {
    thread: Thread,
    /// The ring on which it sleeps, and the grant that the ring is of.
    ring: OnceLock<(RingMemory, Arc<Link>)>,
    /// True when the next sleep is on the ring.
    on_ring: AtomicBool,
    /// True when the thread was woken since it was to sleep on the ring. The ring's word does not tell: another may have said meanwhile that
    /// it sleeps.
    woken: AtomicBool,
}

impl Sleeper {
    /// The sleep of this thread.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Sleeper {
            thread: thread::current(),
            ring: OnceLock::new(),
            on_ring: AtomicBool::new(false),
            woken: AtomicBool::new(false),
        })
    }

    /// Has the next sleep be on a ring, whose consumer has said that it sleeps. Whoever wakes the thread from now on wakes
    /// it there.
    pub(super) fn sleep_on(&self, ring: &RingMemory, link: &Arc<Link>) {
        self.ring.get_or_init(|| (ring.clone(), link.clone()));
        self.woken.store(false, Ordering::Relaxed);
        self.on_ring.store(true, Ordering::Release);
    }

    /// Waits for a future on this thread.
    pub(super) fn wait_for<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        let waker = Waker::from(self.clone());
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return output,
                Poll::Pending => self.sleep(),
            }
        }
    }

    fn sleep(&self) {
        match self.ring.get() {
            Some((ring, link)) if self.on_ring.load(Ordering::Acquire) => {
                sleep_on(ring, link, || self.woken.load(Ordering::Acquire));
                self.on_ring.store(false, Ordering::Release);
            }
            _ => thread::park(),
        }
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        if self.on_ring.load(Ordering::Acquire)
            && let Some(word) = self.ring.get().and_then(|(ring, _)| ring.get(SLEEP_WORD))
        {
            self.woken.store(true, Ordering::Release);
            word.store(0, Ordering::Release);
            shm::sleep::wake(word);
        }
        self.thread.unpark();
    }
}

/// Sleeps until the ring's sleeper is woken. It returns too when the grant ends, and now and then while that goes on:
/// somebody must collect what remains. It also returns soon when `stop` says so.
pub(super) fn sleep_on(ring: &RingMemory, link: &Link, stop: impl Fn() -> bool) {
    let Some(word) = ring.get(SLEEP_WORD) else { return };
    while word.load(Ordering::Acquire) == 1 && !stop() {
        if link.refusal().is_some() {
            thread::sleep(ENDING);
            return;
        }
        shm::sleep::wait(word, 1, LIMIT);
        if word.load(Ordering::Acquire) == 1 {
            link.look_at_service();
        }
    }
}
