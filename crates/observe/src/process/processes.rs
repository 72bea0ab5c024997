//! The set of traced processes.

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

/// The longest time for which a thread is held while another one maps memory. A call that takes longer waits
/// for somebody.
pub(super) const HELD: Duration = Duration::from_secs(1);

/// The state of a traced thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The thread was reported by its parent, and its first stop is still to come.
    Awaited { parent: Pid, shares_memory: bool },
    /// The thread runs, or its stop has not been handled yet.
    Running,
    /// The thread is in a process that a signal has stopped.
    Listening,
    /// The thread is on its way to the end of `exec`.
    Execs(Began),
    /// The thread is on its way to the end of a call that the filter marked.
    Maps { since: Instant },
}

pub(super) struct Task {
    pub(super) thread: Thread,
    pub(super) state: State,
}

/// The set of traced processes.
#[derive(Default)]
pub struct Processes {
    pub(super) tasks: HashMap<Pid, Task>,
    /// Statuses that were fetched but not handled yet.
    pub(super) ready: VecDeque<(Pid, i32)>,
    /// Threads at a call that the filter marks, held while another thread of the same memory is in one, with
    /// their statuses.
    pub(super) held: Vec<(Pid, i32)>,
    pub(super) finished: bool,
}

impl Processes {
    /// Returns the numbers of the processes.
    pub fn pids(&self) -> Vec<Pid> {
        let mut pids: Vec<Pid> = self.tasks.values().map(|task| task.thread.pid).collect();
        pids.sort_by_key(|pid| pid.as_raw_pid());
        pids.dedup();
        pids
    }

    /// Returns the names and numbers of the processes that have not ended.
    pub fn names(&self) -> Vec<String> {
        let name = |pid: Pid| {
            let status = Status::of(pid).filter(Status::lives)?;
            Some(format!("{} ({pid})", status.field("Name")?))
        };
        self.pids().into_iter().filter_map(name).collect()
    }

    /// Returns the threads of a process.
    pub fn threads(&self, pid: Pid) -> Vec<Pid> {
        let threads = self.tasks.values().filter(|task| task.thread.pid == pid);
        threads.map(|task| task.thread.tid).collect()
    }

    /// Returns the memory of a process, which may be running, or `None` if it has ended.
    pub fn memory(&self, pid: Pid) -> Option<&ProcessMemory> {
        let mut tasks = self.tasks.values();
        tasks.find(|task| task.thread.pid == pid).map(|task| task.thread.memory())
    }

    /// Stops all threads of a process, passes each to `look`, and resumes them. A thread in an
    /// uninterruptible wait, as for its vfork child, is left out, because it executes nothing meanwhile. If a
    /// thread stopped for a signal or another event instead, that is handled afterwards.
    ///
    /// # Errors
    /// Returns the first error of `look`. A thread that ended meanwhile is left out.
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

    /// Makes [`super::Tracer::follow`] return after this tick.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Returns true when another thread of the same memory has been in a marked call, for less than [`HELD`].
    pub(super) fn is_being_mapped(&self, tid: Pid) -> bool {
        let Some(task) = self.tasks.get(&tid) else { return false };
        let same = |other: &Task| Rc::ptr_eq(&other.thread.image, &task.thread.image);
        let maps = |other: &Task| matches!(other.state, State::Maps { since } if since.elapsed() < HELD);
        self.tasks.iter().any(|(of, other)| *of != tid && maps(other) && same(other))
    }

    /// Resumes the handling of held threads that need not wait any more.
    pub(super) fn release_free(&mut self) {
        if !self.held.is_empty() {
            self.release(|all, task| !all.is_being_mapped(task.thread.tid));
        }
    }

    fn release(&mut self, wanted: impl Fn(&Processes, &Task) -> bool) {
        for (tid, status) in std::mem::take(&mut self.held) {
            // The end of a thread is reported by its own status.
            let Some(task) = self.tasks.get(&tid) else { continue };
            if wanted(self, task) {
                self.ready.push_back((tid, status));
            } else {
                self.held.push((tid, status));
            }
        }
    }

    /// Stops all threads of a process, and returns the status that each stopped with. Threads in an
    /// uninterruptible wait are left out, as they stop before they execute anything.
    pub(super) fn stop(&mut self, pid: Pid) -> Vec<(Pid, i32)> {
        // Held threads are stopped already; their calls are handled when they go on.
        self.release(|_, task| task.thread.pid == pid);
        let mut stopped: Vec<(Pid, i32)> = Vec::new();
        for tid in self.threads(pid) {
            // The thread has already stopped or ended, and its status is not handled yet.
            if let Some(at) = self.ready.iter().position(|(ready, _)| *ready == tid) {
                let status = self.ready[at].1;
                if let (Some(stop), Some(task)) = (stop(status), self.tasks.get_mut(&tid)) {
                    task.thread.arrived(stop);
                    self.ready.remove(at);
                    stopped.push((tid, status));
                }
                continue;
            }
            // A new thread is about to stop by itself.
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

/// Turns `ESRCH` into `None`: a killed thread is no error, as its end is reported.
pub(super) fn alive<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}
