//! The interface to the tracer's events.

use std::io;
use std::time::Instant;

use rustix::process::Pid;

use super::processes::Processes;
use super::signals::{Answer, Signal};
use super::thread::{Began, Thread};

/// A receiver of the events of traced processes. A thread may be killed at any time, so the tracer ignores a
/// watcher's error of `ESRCH` and reports the thread's end instead.
pub trait Watcher {
    /// A process image begins: it was launched, attached to, or entered by exec. All of its threads are
    /// stopped.
    fn began(&mut self, thread: &mut Thread, how: Began) -> io::Result<()> {
        let _ = (thread, how);
        Ok(())
    }

    /// A new thread or process, stopped before its first instruction. The thread that made it is stopped, too.
    fn forked(&mut self, parent: Pid, child: &mut Thread, shares_memory: bool) -> io::Result<()> {
        let _ = (parent, child, shares_memory);
        Ok(())
    }

    /// A signal is about to be delivered; this includes those of breakpoints and faults.
    fn signal(&mut self, thread: &mut Thread, signal: &Signal) -> io::Result<Answer> {
        let _ = (thread, signal);
        Ok(Answer::NotMine)
    }

    /// A system call returned that may have made memory executable: one that the filter given at launch
    /// marks.
    fn mapped(&mut self, thread: &mut Thread) -> io::Result<()> {
        let _ = thread;
        Ok(())
    }

    /// A thread ended, and with it its process if it was the last. The status is that of `waitpid`.
    fn ended(&mut self, tid: Pid, last: bool, status: i32) {
        let _ = (tid, last, status);
    }

    /// A thread is about to be let go for good. All threads of its process are stopped.
    fn leaving(&mut self, thread: &mut Thread) -> io::Result<()> {
        let _ = thread;
        Ok(())
    }

    /// Runs at the time that `next_tick` gave, or later.
    fn tick(&mut self, processes: &mut Processes) -> io::Result<()> {
        let _ = processes;
        Ok(())
    }

    /// Returns the time at which `tick` is due.
    fn next_tick(&self) -> Option<Instant> {
        None
    }
}

/// Both watchers receive every event. The first whose answer is not [`Answer::NotMine`] decides on a signal.
impl<A: Watcher, B: Watcher> Watcher for (A, B) {
    fn began(&mut self, thread: &mut Thread, how: Began) -> io::Result<()> {
        self.0.began(thread, how)?;
        self.1.began(thread, how)
    }

    fn forked(&mut self, parent: Pid, child: &mut Thread, shares_memory: bool) -> io::Result<()> {
        self.0.forked(parent, child, shares_memory)?;
        self.1.forked(parent, child, shares_memory)
    }

    fn signal(&mut self, thread: &mut Thread, signal: &Signal) -> io::Result<Answer> {
        match self.0.signal(thread, signal)? {
            Answer::NotMine => self.1.signal(thread, signal),
            answer => Ok(answer),
        }
    }

    fn mapped(&mut self, thread: &mut Thread) -> io::Result<()> {
        self.0.mapped(thread)?;
        self.1.mapped(thread)
    }

    fn ended(&mut self, tid: Pid, last: bool, status: i32) {
        self.0.ended(tid, last, status);
        self.1.ended(tid, last, status);
    }

    fn leaving(&mut self, thread: &mut Thread) -> io::Result<()> {
        self.0.leaving(thread)?;
        self.1.leaving(thread)
    }

    fn tick(&mut self, processes: &mut Processes) -> io::Result<()> {
        let now = Instant::now();
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.0.next_tick()) {
            self.0.tick(processes)?;
        }
        if due(self.1.next_tick()) {
            self.1.tick(processes)?;
        }
        Ok(())
    }

    fn next_tick(&self) -> Option<Instant> {
        [self.0.next_tick(), self.1.next_tick()].into_iter().flatten().min()
    }
}

impl<W: Watcher + ?Sized> Watcher for &mut W {
    fn began(&mut self, thread: &mut Thread, how: Began) -> io::Result<()> {
        (**self).began(thread, how)
    }

    fn forked(&mut self, parent: Pid, child: &mut Thread, shares_memory: bool) -> io::Result<()> {
        (**self).forked(parent, child, shares_memory)
    }

    fn signal(&mut self, thread: &mut Thread, signal: &Signal) -> io::Result<Answer> {
        (**self).signal(thread, signal)
    }

    fn mapped(&mut self, thread: &mut Thread) -> io::Result<()> {
        (**self).mapped(thread)
    }

    fn ended(&mut self, tid: Pid, last: bool, status: i32) {
        (**self).ended(tid, last, status);
    }

    fn leaving(&mut self, thread: &mut Thread) -> io::Result<()> {
        (**self).leaving(thread)
    }

    fn tick(&mut self, processes: &mut Processes) -> io::Result<()> {
        (**self).tick(processes)
    }

    fn next_tick(&self) -> Option<Instant> {
        (**self).next_tick()
    }
}
