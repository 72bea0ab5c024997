//! A program's threads. Each is a thread of the host, so that numbers, masks, signals and futexes are the host kernel's; but one at a
//! time has the turn, and with it all that they have together: memory, blocks, devices, what the kernel keeps of a process.
//!
//! A thread gives the turn away around each call that can wait, and after [`SLICE`] if another wants it; they get it in the order in which
//! they asked. Who is back from a call before another came, and before that time is over, goes on: a call that does not wait costs
//! nobody's turn. So a program sees its threads as if one processor ran them, and what one stores another sees at once. A program
//! that never starts a second thread has no turn to give.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use crate::cpu::Cpu;
use crate::cpu::strand;
use crate::linux::errno::Errno;
use crate::linux::host;
use crate::linux::process::{Driver, Ended, Kept, Left, Process};

/// How long a thread has the turn that another wants.
const SLICE: Duration = Duration::from_millis(1);

/// What a host's thread has for its stack: none of it grows with what the program does.
const STACK_BYTES: usize = 1 << 20;

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

/// What a new thread begins with.
pub(crate) struct Beginning {
    /// Its registers.
    pub cpu: Cpu,
    /// What is cleared, and woken, when it ends.
    pub clear_tid: u64,
}

impl Process {
    /// Makes a call that can wait, during which other threads have their turns: what it uses of the program's memory are regions.
    pub(crate) fn wait<T>(&mut self, call: impl FnOnce() -> T) -> T {
        self.without_turn(true, call)
    }

    /// Lets those go on who wait for their turn.
    pub(crate) fn pass_turn(&mut self) {
        let wanted = |threads: &Arc<Threads>| !threads.state().waiting.is_empty();
        if self.threads.as_ref().is_some_and(wanted) {
            self.without_turn(false, || {});
        }
    }

    fn without_turn<T>(&mut self, goes_on: bool, call: impl FnOnce() -> T) -> T {
        let Some(threads) = self.threads.clone() else { return call() };
        threads.give(self.give_common());
        let answer = call();
        self.take_turn(&threads, goes_on);
        answer
    }

    fn take_turn(&mut self, threads: &Threads, goes_on: bool) {
        let (common, over) = threads.take(&self.thread.bell, goes_on);
        self.receive_common(common);
        self.thread.over = over;
    }

    fn give_common(&mut self) -> Common {
        Common { cpu: self.cpu.give(), driver: self.driver.take(), kept: std::mem::take(&mut self.kept) }
    }

    fn receive_common(&mut self, common: Common) {
        self.cpu.receive(common.cpu);
        (self.driver, self.kept) = (common.driver, common.kept);
    }

    /// Starts a thread; answers its number.
    ///
    /// # Errors
    /// There can be no more.
    pub(crate) fn start_thread(&mut self, beginning: Beginning) -> Result<i32, Errno> {
        let begins = self.threads.is_none();
        let attention = &self.cpu.attention;
        let threads = Arc::clone(self.threads.get_or_insert_with(|| Arc::new(Threads::new(attention))));
        if begins {
            host::reserve();
        }
        let thread = Process {
            cpu: beginning.cpu,
            driver: None,
            settings: Arc::clone(&self.settings),
            file: self.file.clone(),
            kept: Kept::default(),
            signals: self.signals.of_thread(),
            after: self.after,
            threads: Some(Arc::clone(&threads)),
            thread: Thread::another(beginning.clear_tid),
        };
        let (tell, told) = mpsc::sync_channel(1);
        // Where no signal finds it before it knows what is its own.
        host::block_all();
        let started = host::start(
            STACK_BYTES,
            Box::new(move || {
                // The library has it begin with one of its own signals open.
                host::block_all();
                // Who started it waits for it.
                let _ = tell.send(own_number());
                thread.run_thread();
            }),
        );
        let number = started.and_then(|()| told.recv().map_err(|_| Errno(libc::EAGAIN)));
        threads.state().members.extend(number.ok());
        if begins {
            self.renew_actions();
        }
        self.signals.set_mask(self.signals.mask);
        number
    }

    /// Runs a thread that is not the first to its end.
    fn run_thread(mut self) {
        let _whole = EndsWithPanic;
        let Some(threads) = self.threads.clone() else { return };
        self.take_turn(&threads, false);
        self.signals.set_mask(self.signals.mask);
        let left = self.serve();
        if self.thread.is_first {
            // It forked, and this is the child.
            let ended = self.finish(left);
            match ended {
                Ended::Exited(status) => host::exit(status),
                Ended::Killed(signal) => {
                    host::end_by(signal);
                    host::exit(128_u8.wrapping_add(signal as u8));
                }
            }
        }
        host::block_all();
        if let Left::Process(ended) = left {
            threads.end(ended);
        }
        threads.leave(self.give_common());
    }

    /// The end of a process, of which the first thread has ended, or it as a whole.
    pub(crate) fn finish(&mut self, left: Left) -> Ended {
        let own = match left {
            Left::Process(ended) => ended,
            Left::Thread(status) => Ended::Exited(status),
        };
        let Some(threads) = self.threads.take() else { return own };
        host::block_all();
        if let Left::Process(ended) = left {
            threads.end(ended);
        }
        threads.leave(self.give_common());
        let (common, ended) = threads.outlast();
        self.receive_common(common);
        self.signals.set_mask(self.signals.mask);
        ended.unwrap_or(own)
    }

    /// This thread is the only one of a new process.
    pub(crate) fn become_first(&mut self) {
        // What others held of it at that moment they hold for ever here.
        std::mem::forget(self.threads.take());
        self.thread = Thread::first();
    }
}

/// Has a panic of one thread end the process: it would take what all need with it.
struct EndsWithPanic;

impl Drop for EndsWithPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}
