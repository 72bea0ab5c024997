//! A thread's part: giving its turn away around calls that wait, starting another thread, and ending.

use std::sync::{Arc, mpsc};

use super::{Common, Thread, Threads, own_number};
use crate::cpu::Cpu;
use crate::linux::errno::Errno;
use crate::linux::host;
use crate::linux::kept::{Ended, Kept, Left};
use crate::linux::process::Process;

/// The stack of a host's thread. Nothing that a program does makes it grow.
const STACK_BYTES: usize = 1 << 20;

/// The state with which a new thread begins.
pub(crate) struct Beginning {
    /// The thread's registers.
    pub cpu: Cpu,
    /// The word that is cleared, and woken, when it ends.
    pub clear_tid: u64,
}

impl Process {
    /// Makes a call that can wait, and lets other threads have the turn meanwhile. The call uses the program's memory
    /// only through regions.
    pub(crate) fn wait<T>(&mut self, call: impl FnOnce() -> T) -> T {
        self.without_turn(true, call)
    }

    /// Gives the turn to the threads that wait for it.
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
    /// There can be no more threads.
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
        // All signals are blocked, so that none finds the new thread before it knows its own mask.
        host::block_all();
        let started = host::start(
            STACK_BYTES,
            Box::new(move || {
                // The library starts it with one of its own signals unblocked.
                host::block_all();
                // The thread that started it waits for this number.
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
            // The thread forked, and this is the child.
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

    /// Ends a process after its first thread or the whole of it has ended.
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

    /// Makes this thread the only one of a new process.
    pub(crate) fn become_first(&mut self) {
        // Locks that other threads held at the fork stay locked here for ever, so they are never touched again.
        std::mem::forget(self.threads.take());
        self.thread = Thread::first();
    }
}

/// Ends the process when one thread panics, because the panic would take the common state with it.
struct EndsWithPanic;

impl Drop for EndsWithPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}
