//! A program's threads. Each is a thread of the host, so that numbers, masks, signals and futexes are the host kernel's; but one at a
//! time has the turn, and with it all that they have together: memory, blocks, devices, what the kernel keeps of a process.
//!
//! A thread gives the turn away around each call that can wait, and after [`SLICE`] if another wants it; they get it in the order in which
//! they asked. Who is back from a call before another came, and before that time is over, goes on: a call that does not wait costs
//! nobody's turn. So a program sees its threads as if one processor ran them, and what one stores another sees at once. A program
//! that never starts a second thread has no turn to give.

mod turns;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cpu::strand;
use crate::linux::host;
use crate::linux::kept::{Driver, Ended, Kept};

pub(crate) use turns::Beginning;

/// How long a thread has the turn that another wants.
const SLICE: Duration = Duration::from_millis(1);

/// What threads have together, and who has the turn has in its place.
pub(crate) struct Common {
    cpu: strand::Common,
    driver: Option<Box<dyn Driver>>,
    kept: Kept,
}

/// What one thread has of its own, beside its registers and signals.
pub(crate) struct Thread {
    /// Whether the process is over when it ends and all others did: the one that it began with.
    pub is_first: bool,
    /// What is cleared, and woken, when it ends.
    pub clear_tid: u64,
    /// Its list of locks that others are told of when it ends.
    pub robust_list: u64,
    /// How the process ended while this thread waited.
    pub over: Option<Ended>,
    /// What it waits by for its turn.
    bell: Arc<Condvar>,
}

impl Thread {
    /// The first of a process.
    pub fn first() -> Thread {
        Thread { is_first: true, ..Thread::another(0) }
    }

    fn another(clear_tid: u64) -> Thread {
        Thread { is_first: false, clear_tid, robust_list: 0, over: None, bell: Arc::default() }
    }
}

/// The threads of a process that has several, or had.
pub(crate) struct Threads {
    state: Mutex<State>,
    /// Rung when one has left.
    left: Condvar,
    /// Stops the processor of who has the turn.
    attention: Arc<AtomicBool>,
}

struct State {
    /// None while somebody has the turn.
    common: Option<Common>,
    /// Who had it last, and since when.
    holder: Option<Arc<Condvar>>,
    since: Instant,
    /// Who waits for it, in order.
    waiting: VecDeque<Arc<Condvar>>,
    /// The host's numbers of those who have not left.
    members: Vec<i32>,
    /// How the process ended, if it did.
    ended: Option<Ended>,
}

impl Threads {
    /// The caller alone, who has the turn.
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
        // Nothing is done in between that could be left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the turn to who has waited longest, if anybody does.
    fn give(&self, common: Common) {
        let mut state = self.state();
        state.common = Some(common);
        state.ring();
    }

    /// Waits for the turn; answers also how the process ended, if it did meanwhile. Who only was in a call goes on if it can.
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
            // Who is next now begins to look at the time.
            state.ring();
        }
        let common = state.common.take().expect("who is first in the line takes it when it is there");
        (common, state.ended)
    }

    /// Waits until the turn is there for the first in the line, and this is the caller, who then is in the line no more.
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

    /// Has the process be over, and all others leave what they wait for.
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

    /// Waits until all others have left; answers what was common, and how the process ended, if somebody said so.
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
