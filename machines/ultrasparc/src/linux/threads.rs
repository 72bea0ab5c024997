//! A program's threads. Each is a thread of the host, so that numbers, masks, signals and futexes are the host
//! kernel's. Only one at a time has the turn, and with it all that they share: memory, blocks, devices, the state
//! that the kernel keeps of a process.
//!
//! A thread gives the turn away around each call that can wait, and after [`SLICE`] if another wants it; waiting
//! threads get it in the order in which they asked. A thread that is back from a call within its slice, before
//! another took the turn, goes on: a call that does not wait costs nobody's turn. So a program sees its threads as if
//! one processor ran them, and each sees at once what another stores. A program that never starts a second thread has
//! no turn to give.

mod turns;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cpu::strand;
use crate::linux::host;
use crate::linux::kept::{Driver, Ended, Kept};

pub(crate) use turns::Beginning;

/// The time for which a thread keeps the turn while another wants it.
const SLICE: Duration = Duration::from_millis(1);

/// All that threads share. The thread that has the turn has it in its own fields.
pub(crate) struct Common {
    cpu: strand::Common,
    driver: Option<Box<dyn Driver>>,
    kept: Kept,
}

/// The state of one thread, beside its registers and signals.
pub(crate) struct Thread {
    /// True for the thread with which the process began: the process is over when it and all others have ended.
    pub is_first: bool,
    /// The word that is cleared, and woken, when the thread ends.
    pub clear_tid: u64,
    /// The thread's list of locks, whose waiters are told when it ends.
    pub robust_list: u64,
    /// The end of the process, if it came while this thread waited.
    pub over: Option<Ended>,
    /// The bell that tells this thread of its turn.
    bell: Arc<Condvar>,
}

impl Thread {
    /// The first thread of a process.
    pub fn first() -> Thread {
        Thread { is_first: true, ..Thread::another(0) }
    }

    fn another(clear_tid: u64) -> Thread {
        Thread { is_first: false, clear_tid, robust_list: 0, over: None, bell: Arc::default() }
    }
}

/// The threads of a process that has several, or had several.
pub(crate) struct Threads {
    state: Mutex<State>,
    /// Rung when a thread has left.
    left: Condvar,
    /// Stops the processor of the thread that has the turn.
    attention: Arc<AtomicBool>,
}

struct State {
    /// `None` while a thread has the turn.
    common: Option<Common>,
    /// The thread that had the turn last, and since when.
    holder: Option<Arc<Condvar>>,
    since: Instant,
    /// The threads that wait for the turn, in order.
    waiting: VecDeque<Arc<Condvar>>,
    /// The host's numbers of the threads that have not left.
    members: Vec<i32>,
    /// The end of the process, once it has come.
    ended: Option<Ended>,
}

impl Threads {
    /// The state of a process whose only thread calls this, and has the turn.
    fn new(attention: &Arc<AtomicBool>) -> Threads {
        let state = State {
            common: None,
            holder: None,
            since: Instant::now(),
            waiting: VecDeque::new(),
            members: vec![own_number()],
            ended: None,
        };
        Threads { state: Mutex::new(state), left: Condvar::new(), attention: Arc::clone(attention) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No change of the state can be left half done by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the turn to the thread that has waited longest, if any waits.
    fn give(&self, common: Common) {
        let mut state = self.state();
        state.common = Some(common);
        state.ring();
    }

    /// Waits for the turn; answers also the end of the process, if it came meanwhile. A thread that only was in a
    /// call goes on with its slice if it can.
    fn take(&self, bell: &Arc<Condvar>, goes_on: bool) -> (Common, Option<Ended>) {
        let mut state = self.state();
        let had_it = state.holder.as_ref().is_some_and(|holder| Arc::ptr_eq(holder, bell));
        let goes_on = goes_on && had_it && state.common.is_some() && state.since.elapsed() < SLICE;
        if !goes_on {
            if state.common.is_none() || !state.waiting.is_empty() {
                state.waiting.push_back(Arc::clone(bell));
                state = self.queue(state, bell);
            }
            (state.holder, state.since) = (Some(Arc::clone(bell)), Instant::now());
            // The next thread now begins to measure the slice.
            state.ring();
        }
        let common = state.common.take().expect("who is first in the line takes it when it is there");
        (common, state.ended)
    }

    /// Waits until the turn is free and the caller is first in the line; then takes it out of the line.
    fn queue<'a>(&self, mut state: MutexGuard<'a, State>, bell: &Arc<Condvar>) -> MutexGuard<'a, State> {
        loop {
            let is_next = state.waiting.front().is_some_and(|next| Arc::ptr_eq(next, bell));
            if is_next && state.common.is_some() {
                state.waiting.pop_front();
                return state;
            }
            state = if is_next {
                let left = SLICE.checked_sub(state.since.elapsed()).unwrap_or_else(|| {
                    self.attention.store(true, Ordering::SeqCst);
                    SLICE
                });
                bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            } else {
                bell.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    /// Ends the process, and interrupts the calls of all other threads.
    fn end(&self, ended: Ended) {
        let mut state = self.state();
        state.ended.get_or_insert(ended);
        let own = own_number();
        for &member in state.members.iter().filter(|member| **member != own) {
            host::call_out(member);
        }
    }

    /// Gives the turn away for good.
    fn leave(&self, common: Common) {
        let own = own_number();
        self.state().members.retain(|member| *member != own);
        self.give(common);
        self.left.notify_all();
    }

    /// Waits until all others have left; answers the common part, and the end of the process if a thread ended it.
    fn outlast(&self) -> (Common, Option<Ended>) {
        let mut state = self.state();
        loop {
            match state.common.take() {
                Some(common) if state.members.is_empty() => return (common, state.ended),
                common => state.common = common,
            }
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    fn ring(&self) {
        if let Some(next) = self.waiting.front() {
            next.notify_one();
        }
    }
}

/// The host's number of this thread.
fn own_number() -> i32 {
    rustix::thread::gettid().as_raw_pid()
}
