//! All that is traced.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::memory::ProcessMemory;
use super::signals::stop;
use super::status::Status;
use super::sys;
use super::thread::{Began, Thread};

/// For how long a thread is held at most while another maps something: that one waits for somebody.
pub(super) const HELD: Duration = Duration::from_secs(1);

/// What a traced thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its parent told of it, and its first stop is still to come.
    Awaited { parent: Pid, shares_memory: bool },
    /// It runs, or is about to be looked at.
    Running,
    /// Its process is stopped by a signal.
    Listening,
    /// It goes to the end of the `exec` that it called.
    Execs(Began),
    /// It goes to the end of a call that the filter marked.
    Maps { since: Instant },
}

pub(super) struct Task {
    pub(super) thread: Thread,
    pub(super) state: State,
}

/// All that is traced.
#[derive(Default)]
pub struct Processes {
    pub(super) tasks: HashMap<Pid, Task>,
    /// Statuses that were fetched and not looked at.
    pub(super) ready: VecDeque<(Pid, i32)>,
    /// Threads at a call that the filter marks, while another of the same memory is in one; with the status.
    pub(super) held: Vec<(Pid, i32)>,
    pub(super) finished: bool,
}

impl Processes {
    /// The processes.
    pub fn pids(&self) -> Vec<Pid> {
        let mut pids: Vec<Pid> = self.tasks.values().map(|task| task.thread.pid).collect();
        pids.sort_by_key(|pid| pid.as_raw_pid());
        pids.dedup();
        pids
    }

    /// What people call those that have not ended: their commands' names, with their numbers.
    pub fn names(&self) -> Vec<String> {
        let name = |pid: Pid| {
            let status = Status::of(pid).filter(Status::lives)?;
            Some(format!("{} ({pid})", status.field("Name")?))
        };
        self.pids().into_iter().filter_map(name).collect()
    }

    /// The threads of one.
    pub fn threads(&self, pid: Pid) -> Vec<Pid> {
        let threads = self.tasks.values().filter(|task| task.thread.pid == pid);
        threads.map(|task| task.thread.tid).collect()
    }

    /// The memory of one, which may run. `None` if it has ended.
    pub fn memory(&self, pid: Pid) -> Option<&ProcessMemory> {
        let mut tasks = self.tasks.values();
        tasks.find(|task| task.thread.pid == pid).map(|task| task.thread.memory())
    }

    /// Stops all threads of a process, shows each, and lets them go on. One that waits in the kernel for something that can't
    /// be interrupted, as for the child it made with vfork, is not shown: it executes nothing meanwhile. A signal or event that a thread stopped for in place
    /// of this is told afterwards.
    ///
    /// # Errors
    /// The first of `look`. A thread that ended meanwhile is not shown.
    pub fn stopped(
        &mut self,
        pid: Pid,
        mut look: impl FnMut(&mut Thread) -> io::Result<()>,
    ) -> io::Result<()> {
        let stopped = self.stop(pid);
        let mut result = Ok(());
        for (tid, status) in stopped {
            if let Some(task) = self.tasks.get_mut(&tid)
                && result.is_ok()
            {
                result = alive(look(&mut task.thread)).map(drop);
            }
            self.ready.push_back((tid, status));
        }
        result
    }

    /// [`super::Tracer::follow`] returns after this tick.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Whether another thread of the same memory is in a call that the filter marks, and has not been for long.
    pub(super) fn is_being_mapped(&self, tid: Pid) -> bool {
        let Some(task) = self.tasks.get(&tid) else { return false };
        let same = |other: &Task| Rc::ptr_eq(&other.thread.image, &task.thread.image);
        let maps = |other: &Task| matches!(other.state, State::Maps { since } if since.elapsed() < HELD);
        self.tasks.iter().any(|(of, other)| *of != tid && maps(other) && same(other))
    }

    /// Has those looked at again that need not be held any more.
    pub(super) fn release_free(&mut self) {
        if !self.held.is_empty() {
            self.release(|all, task| !all.is_being_mapped(task.thread.tid));
        }
    }

    fn release(&mut self, wanted: impl Fn(&Processes, &Task) -> bool) {
        for (tid, status) in std::mem::take(&mut self.held) {
            // One that ended meanwhile is told of otherwise.
            let Some(task) = self.tasks.get(&tid) else { continue };
            if wanted(self, task) {
                self.ready.push_back((tid, status));
            } else {
                self.held.push((tid, status));
            }
        }
    }

    /// Stops all threads of a process: with the status each stopped with. Those that wait in the kernel and can't be
    /// stopped are left out; they stop before they execute anything.
    pub(super) fn stop(&mut self, pid: Pid) -> Vec<(Pid, i32)> {
        // They are looked at when they go on.
        self.release(|_, task| task.thread.pid == pid);
        let mut stopped: Vec<(Pid, i32)> = Vec::new();
        for tid in self.threads(pid) {
            // It is stopped, and what for is still to be looked at; or it ended.
            if let Some(at) = self.ready.iter().position(|(ready, _)| *ready == tid) {
                let status = self.ready[at].1;
                if let (Some(stop), Some(task)) = (stop(status), self.tasks.get_mut(&tid)) {
                    task.thread.arrived(stop);
                    self.ready.remove(at);
                    stopped.push((tid, status));
                }
                continue;
            }
            let first = matches!(self.tasks.get(&tid), Some(Task { state: State::Awaited { .. }, .. }));
            if !first && sys::interrupt(tid).is_err() {
                continue;
            }
            let Some(status) = sys::wait_soon(tid) else { continue };
            let (Some(stop), Some(task)) = (stop(status), self.tasks.get_mut(&tid)) else {
                self.ready.push_back((tid, status));
                continue;
            };
            task.thread.arrived(stop);
            stopped.push((tid, status));
        }
        stopped
    }
}

/// That a thread was killed is no error: its end is told.
pub(super) fn alive<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}
