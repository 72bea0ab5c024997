//! The tracer's handling of each event of a traced thread.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::attach::process_of;
use super::filter::MARK;
use super::processes::{State, Task, alive};
use super::signals::{Answer, Signal, Stop, stop, stops};
use super::status::Status;
use super::sys::{self, Go};
use super::thread::{Began, Image, Thread};
use super::tracer::Tracer;
use super::watcher::Watcher;

impl Tracer {
    pub(super) fn happened(&mut self, watcher: &mut impl Watcher, tid: Pid, status: i32) -> io::Result<()> {
        let Some(stop) = stop(status) else {
            self.ended(watcher, tid, status);
            self.processes.release_free();
            return Ok(());
        };
        if stop == Stop::Event(libc::PTRACE_EVENT_SECCOMP) && self.is_to_wait(tid) {
            self.processes.held.push((tid, status));
            return Ok(());
        }
        let result = self.stopped(watcher, tid, status, stop);
        // Another thread may have been waiting for the end of this one's call.
        self.processes.release_free();
        result
    }

    /// Returns true when a thread is at a marked call while another thread of its memory is in one. The
    /// memory that the other call makes executable must be searched first. Otherwise it could be overwritten
    /// and made executable again, unseen.
    fn is_to_wait(&self, tid: Pid) -> bool {
        self.processes.is_being_mapped(tid)
            && sys::event_message(tid).is_ok_and(|message| message == u64::from(MARK))
    }

    fn stopped(&mut self, watcher: &mut impl Watcher, tid: Pid, status: i32, stop: Stop) -> io::Result<()> {
        let Some(task) = self.processes.tasks.get_mut(&tid) else {
            if stop == Stop::Event(libc::PTRACE_EVENT_EXEC) {
                return self.exec(watcher, tid);
            }
            self.early.insert(tid, (status, Instant::now()));
            return Ok(());
        };
        task.thread.arrived(stop);
        let state = std::mem::replace(&mut task.state, State::Running);
        match (state, stop) {
            (_, Stop::Event(libc::PTRACE_EVENT_EXEC)) => {
                task.state = state;
                return self.exec(watcher, tid);
            }
            (State::Awaited { parent, shares_memory }, _) => {
                alive(watcher.forked(parent, &mut task.thread, shares_memory))?;
            }
            (State::Execs(how), Stop::Syscall) => drop(alive(watcher.began(&mut task.thread, how))?),
            (State::Maps { .. }, Stop::Syscall) => drop(alive(watcher.mapped(&mut task.thread))?),
            (State::Execs(_) | State::Maps { .. }, _) => task.state = state,
            _ => {}
        }
        match stop {
            Stop::Signal(number) => self.signal(watcher, tid, Signal::new(number, tid)),
            Stop::Group(signal) => {
                self.group(tid, signal);
                Ok(())
            }
            Stop::Event(event) => self.event(watcher, tid, event),
            Stop::Trap | Stop::Syscall => self.resume(watcher, tid, Go::On, 0),
        }
    }

    /// Handles a group stop: the process stays stopped until somebody continues it.
    fn group(&mut self, tid: Pid, signal: i32) {
        let Some(task) = self.processes.tasks.get_mut(&tid) else { return };
        // If writing fails, it is repeated: the thread stops again when it is continued.
        let _ = task.thread.write_back();
        task.state = State::Listening;
        let _ = sys::listen(tid);
        let main = &mut self.main;
        if tid == main.pid && main.stop_with_it && (signal != libc::SIGSTOP || main.stops_itself) {
            main.stopped_by = Some(signal);
        }
    }

    fn signal(&mut self, watcher: &mut impl Watcher, tid: Pid, signal: Signal) -> io::Result<()> {
        let Some(task) = self.processes.tasks.get_mut(&tid) else { return Ok(()) };
        if stops(signal.number) && task.thread.pid == self.main.pid {
            // An editor stops itself once it has restored the terminal. Any other sender of SIGSTOP will send
            // SIGCONT as well.
            let sender = signal.info().ok().and_then(|info| info.sender());
            self.main.stops_itself = sender == Some(self.main.pid);
        }
        let answer = alive(watcher.signal(&mut task.thread, &signal))?;
        let number = if answer == Some(Answer::Swallow) { 0 } else { signal.number };
        self.resume(watcher, tid, Go::On, number)
    }

    fn event(&mut self, watcher: &mut impl Watcher, tid: Pid, event: i32) -> io::Result<()> {
        let go = match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                self.born(watcher, tid, event)?;
                Go::On
            }
            libc::PTRACE_EVENT_SECCOMP => alive(self.filtered(tid))?.unwrap_or(Go::On),
            _ => Go::On,
        };
        self.resume(watcher, tid, go, 0)
    }

    /// Handles the birth of a thread's child.
    pub(super) fn born(&mut self, watcher: &mut impl Watcher, parent: Pid, event: i32) -> io::Result<()> {
        let child = alive(sys::event_message(parent))?.and_then(|child| Pid::from_raw(child as i32));
        let Some(child) = child.filter(|child| !self.processes.tasks.contains_key(child)) else {
            return Ok(());
        };
        let Some(of) = self.processes.tasks.get(&parent) else { return Ok(()) };
        let (pid, image) = (of.thread.pid, of.thread.image.clone());
        let is_thread = std::path::Path::new(&format!("/proc/{pid}/task/{child}")).exists();
        let shares_memory = is_thread || event == libc::PTRACE_EVENT_VFORK || sys::share_memory(pid, child);
        let image = if shares_memory { image } else { image.copy(child) };
        self.admit(
            watcher,
            parent,
            Thread::new(child, if is_thread { pid } else { child }, image),
            shares_memory,
        )
    }

    /// Adds a new thread. If it has stopped already, its stop is handled.
    fn admit(
        &mut self,
        watcher: &mut impl Watcher,
        parent: Pid,
        thread: Thread,
        shares_memory: bool,
    ) -> io::Result<()> {
        let tid = thread.tid;
        self.processes.tasks.insert(tid, Task { thread, state: State::Awaited { parent, shares_memory } });
        // The new thread stops before its first instruction, and its parent is held until then. Otherwise
        // later events, such as its end or a breakpoint, would be taken for the state at its birth.
        let stopped = self.early.remove(&tid).map(|(status, _)| status).or_else(|| sys::wait_soon(tid));
        stopped.map_or(Ok(()), |status| self.happened(watcher, tid, status))
    }

    /// Adds new threads whose parent was killed before it reported them.
    pub(super) fn adopt_orphans(&mut self, watcher: &mut impl Watcher, after: Duration) -> io::Result<()> {
        if self.early.is_empty() {
            return Ok(());
        }
        let orphan = |(tid, (_, since)): (&Pid, &(i32, Instant))| (since.elapsed() >= after).then_some(*tid);
        for tid in self.early.iter().filter_map(orphan).collect::<Vec<_>>() {
            let Some(pid) = process_of(tid) else {
                self.early.remove(&tid);
                continue;
            };
            let sibling = self.processes.tasks.values().find(|task| task.thread.pid == pid);
            let image = sibling.map_or_else(|| Image::of(pid), |task| task.thread.image.clone());
            self.admit(watcher, tid, Thread::new(tid, pid, image), tid != pid)?;
        }
        Ok(())
    }

    /// Handles a call that a filter marks.
    fn filtered(&mut self, tid: Pid) -> io::Result<Go> {
        let Some(task) = self.processes.tasks.get_mut(&tid) else { return Ok(Go::On) };
        if sys::event_message(tid)? == u64::from(MARK) {
            task.state = State::Maps { since: Instant::now() };
            return Ok(Go::Syscall);
        }
        // Another mark is from the program's own filter, which makes the call fail when nobody traces.
        #[cfg(target_arch = "x86_64")]
        task.thread.registers()?.skip_call();
        Ok(Go::On)
    }

    /// Handles an exec. All threads of the process are gone, but for the one that now has its number.
    fn exec(&mut self, watcher: &mut impl Watcher, pid: Pid) -> io::Result<()> {
        let former = alive(sys::event_message(pid))?.and_then(|tid| Pid::from_raw(tid as i32)).unwrap_or(pid);
        let launched =
            self.processes.tasks.get(&pid).map(|task| task.state) == Some(State::Execs(Began::Launched));
        for tid in self.processes.threads(pid) {
            self.processes.tasks.remove(&tid);
            if tid != pid {
                watcher.ended(tid, false, 0);
            }
        }
        let how = if launched { Began::Launched } else { Began::Exec { former } };
        // Until the call has ended, the kernel still writes its result to the registers. So watchers are told
        // at the end of the call.
        let mut thread = Thread::new(pid, pid, Image::of(pid));
        thread.arrived(Stop::Event(libc::PTRACE_EVENT_EXEC));
        self.processes.tasks.insert(pid, Task { thread, state: State::Execs(how) });
        self.resume(watcher, pid, Go::Syscall, 0)
    }

    pub(super) fn ended(&mut self, watcher: &mut impl Watcher, tid: Pid, status: i32) {
        self.early.remove(&tid);
        let main = &mut self.main;
        main.others.retain(|other| *other != tid);
        if tid == main.pid {
            match main.others.pop() {
                Some(other) => main.pid = other,
                None => main.status = Some(status),
            }
        }
        if let Some(task) = self.processes.tasks.remove(&tid) {
            let last = !self.processes.tasks.values().any(|other| other.thread.pid == task.thread.pid);
            watcher.ended(tid, last, status);
        }
    }

    /// Resumes a thread, with a signal or without. Events that arrived during a step are handled first.
    fn resume(&mut self, watcher: &mut impl Watcher, tid: Pid, go: Go, signal: i32) -> io::Result<()> {
        let Some(task) = self.processes.tasks.get_mut(&tid) else { return Ok(()) };
        let signal = settle(watcher, &mut task.thread, signal)?;
        if let Some(status) = task.thread.met.pop_front() {
            if signal != 0 {
                sys::tell(task.thread.pid, tid, signal);
            }
            return self.happened(watcher, tid, status);
        }
        if std::mem::take(&mut task.thread.regroup) {
            alive(sys::interrupt(tid))?;
        }
        if task.thread.unblocked && signal != 0 && has_handler(tid, signal) {
            return match alive(enter_handler(&mut task.thread, signal))? {
                // The thread stopped for something else, or ended.
                Some(Some(status)) => self.happened(watcher, tid, status),
                _ => Ok(()),
            };
        }
        alive(task.thread.write_back().and_then(|()| sys::go(tid, go, signal)))?;
        Ok(())
    }
}

/// Returns the signal that a thread is resumed with, after handling those that arrived during a step.
pub(super) fn settle(watcher: &mut impl Watcher, thread: &mut Thread, signal: i32) -> io::Result<i32> {
    let mut deliver = signal;
    if let Some(info) = thread.kept.take()
        && deliver != 0
    {
        alive(sys::set_signal_info(thread.tid, &info))?;
    }
    while let Some(info) = thread.held.pop_front() {
        let answer = alive(watcher.signal(thread, &Signal::known(info, thread.tid)))?;
        thread.kept = None;
        if answer == Some(Answer::Swallow) {
            continue;
        }
        if deliver == 0 {
            deliver = info.number();
            alive(sys::set_signal_info(thread.tid, &info))?;
        } else {
            sys::tell(thread.pid, thread.tid, info.number());
        }
    }
    Ok(deliver)
}

/// Returns true when a program has a handler for a signal. Without one, the step into the handler would be
/// one of the program's own instructions, and its forced trap would kill a program that ignores SIGTRAP.
fn has_handler(tid: Pid, signal: i32) -> bool {
    Status::of(tid).is_some_and(|status| status.handles(signal))
}

/// Delivers a signal, and makes its handler begin with that signal unblocked. Returns the status if the
/// thread stopped for anything but the handler.
fn enter_handler(thread: &mut Thread, signal: i32) -> io::Result<Option<i32>> {
    thread.write_back()?;
    sys::go(thread.tid, Go::Step, signal)?;
    let status = sys::wait_one(thread.tid)?;
    if stop(status) != Some(Stop::Signal(libc::SIGTRAP)) {
        return Ok(Some(status));
    }
    sys::unblock(thread.tid, signal)?;
    sys::go(thread.tid, Go::On, 0)?;
    Ok(None)
}
