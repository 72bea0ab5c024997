//! Detaching from traced processes.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::events::settle;
use super::processes::{State, alive};
use super::siginfo::SigInfo;
use super::signals::{Answer, Signal, Stop, stop};
use super::sys::{self, Go};
use super::thread::Image;
use super::tracer::Tracer;
use super::watcher::Watcher;

/// The time for which the tracer tries to stop a thread before detaching. A thread that can't be stopped is
/// let go when this process ends.
const PATIENCE: Duration = Duration::from_secs(2);

impl Tracer {
    /// Detaches from everything, after [`Watcher::leaving`] for each thread. Programs launched with a filter
    /// must not be detached, as their marked calls fail when nobody traces.
    ///
    /// # Errors
    /// Returns the watcher's first error; everything is detached nevertheless.
    pub fn detach_all(&mut self, watcher: &mut impl Watcher) -> io::Result<()> {
        let mut result = self.begin(watcher);
        let end = Instant::now() + PATIENCE;
        loop {
            for pid in self.processes.pids() {
                let stopped = self.processes.stop(pid);
                if stopped.len() < self.processes.threads(pid).len() && Instant::now() < end {
                    // One thread waits for its vfork child, which must be let go first.
                    self.processes.ready.extend(stopped);
                    continue;
                }
                result = result.and(self.detach(watcher, pid, stopped));
            }
            if !self.processes.tasks.is_empty() {
                continue;
            }
            if self.early.is_empty() {
                return result;
            }
            result = result.and(self.adopt_orphans(watcher, Duration::ZERO));
        }
    }

    /// Detaches from a process whose threads stopped with these statuses.
    fn detach(
        &mut self,
        watcher: &mut impl Watcher,
        pid: Pid,
        mut stopped: Vec<(Pid, i32)>,
    ) -> io::Result<()> {
        let mut result = Ok(());
        let mut signals = HashMap::new();
        while let Some((tid, status)) = stopped.pop() {
            let told = self.tell_last(watcher, tid, status).map(|signal| signals.insert(tid, signal));
            result = result.and(told.map(drop));
            if signals.get(&tid).is_none_or(|signal| *signal == 0) {
                stopped.extend(self.next_fault(watcher, tid).map(|status| (tid, status)));
            }
        }
        let tids = self.processes.threads(pid);
        for tid in &tids {
            if let Some(task) = self.processes.tasks.get_mut(tid) {
                result = result.and(alive(watcher.leaving(&mut task.thread)).map(drop));
            }
        }
        for tid in &tids {
            let Some(mut task) = self.processes.tasks.remove(tid) else { continue };
            let signal = signals.get(tid).copied().unwrap_or(0);
            let signal = settle(watcher, &mut task.thread, signal).unwrap_or(0);
            let _ = task.thread.write_back();
            let _ = sys::detach(*tid, signal);
        }
        self.processes.ready.retain(|(tid, _)| !tids.contains(tid));
        result
    }

    /// Reports the event that a thread stopped for before it could be detached. Returns the signal to
    /// deliver.
    fn tell_last(&mut self, watcher: &mut impl Watcher, tid: Pid, status: i32) -> io::Result<i32> {
        let Some(task) = self.processes.tasks.get_mut(&tid) else { return Ok(0) };
        match (task.state, stop(status)) {
            (State::Awaited { parent, shares_memory }, _) => {
                task.state = State::Running;
                alive(watcher.forked(parent, &mut task.thread, shares_memory))?;
            }
            (_, Some(Stop::Signal(number))) => {
                let answer = alive(watcher.signal(&mut task.thread, &Signal::new(number, tid)))?;
                return Ok(if answer == Some(Answer::Swallow) { 0 } else { number });
            }
            (_, Some(Stop::Event(libc::PTRACE_EVENT_EXEC))) => task.thread.image = Image::of(tid),
            (_, Some(Stop::Event(event @ FORK..=CLONE))) => self.born(watcher, tid, event)?,
            _ => {}
        }
        Ok(0)
    }

    /// Fetches the fault of a thread that was stopped right after a breakpoint or a CPUID, before the fault
    /// was reported. That signal is the watcher's.
    fn next_fault(&mut self, watcher: &mut impl Watcher, tid: Pid) -> Option<i32> {
        let task = self.processes.tasks.get_mut(&tid)?;
        if !sys::pending(tid).is_ok_and(|infos| infos.iter().any(SigInfo::is_fault)) {
            return None;
        }
        let _ = task.thread.write_back();
        let _ = sys::go(tid, Go::On, 0);
        let status = sys::wait_one(tid).ok()?;
        match stop(status) {
            Some(stop) => task.thread.arrived(stop),
            None => self.ended(watcher, tid, status),
        }
        Some(status)
    }
}

const FORK: i32 = libc::PTRACE_EVENT_FORK;
const CLONE: i32 = libc::PTRACE_EVENT_CLONE;
