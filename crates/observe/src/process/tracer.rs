//! The loop over the events of traced threads.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::marker::PhantomData;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::attach::{self, process_of, seize_all};
use super::filter::MARK;
use super::launch::{Launch, launch};
use super::memory::ProcessMemory;
use super::signals::{Answer, FORWARDED, SI_KERNEL, Signal, Stop, stop, stops};
use super::sys::{self, Disposition, Go, Set};
use super::thread::{Image, Thread};
use super::watcher::{Began, Watcher};

/// How many events are looked at before deadlines are.
const BURST: usize = 64;

/// A child whose parent said nothing for so long lost it: it was killed between the birth and saying so.
const ORPHANED: Duration = Duration::from_millis(250);

/// Where this process has other threads one of them may be woken in place of this one: then it looks by itself.
const DOZE: Duration = Duration::from_millis(10);

/// What is asked of the kernel for every traced thread.
pub(super) fn options(launch: Launch) -> i32 {
    let mut options = libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESYSGOOD;
    if launch.kill_with_us {
        options |= libc::PTRACE_O_EXITKILL;
    }
    if launch.filter {
        options |= libc::PTRACE_O_TRACESECCOMP;
    }
    options
}

/// What a traced thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its parent told of it, and its first stop is still to come.
    Awaited { parent: Pid, shares_memory: bool },
    /// It runs, or is about to be looked at.
    Running,
    /// Its process is stopped by a signal.
    Listening,
    /// It goes to the end of the `exec` that it called.
    Execs(Began),
    /// It goes to the end of a call that the filter marked.
    Maps,
}

struct Task {
    thread: Thread,
    state: State,
}

/// All that is traced.
#[derive(Default)]
pub struct Processes {
    tasks: HashMap<Pid, Task>,
    /// Statuses that were fetched and not looked at.
    ready: VecDeque<(Pid, i32)>,
    finished: bool,
}

impl Processes {
    /// The processes.
    pub fn pids(&self) -> Vec<Pid> {
        let mut pids: Vec<Pid> = self.tasks.values().map(|task| task.thread.pid).collect();
        pids.sort_by_key(|pid| pid.as_raw_pid());
        pids.dedup();
        pids
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

    /// [`Tracer::follow`] returns after this tick.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Stops all threads of a process: with the status each stopped with. Those that wait in the kernel and can't be
    /// stopped are left out; they stop before they execute anything.
    fn stop(&mut self, pid: Pid) -> Vec<(Pid, i32)> {
        let mut stopped: Vec<(Pid, i32)> = Vec::new();
        for tid in self.threads(pid) {
            // It is stopped, and what for is still to be looked at.
            if let Some(at) = self.ready.iter().position(|(ready, _)| *ready == tid) {
                stopped.extend(self.ready.remove(at));
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

/// How following what was attached to ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The process ended.
    Ended(ExitStatus),
    /// This process was sent a signal that asks it to end: its number.
    Asked(i32),
    /// A watcher called [`Processes::finish`].
    Finished,
}

/// The process that this is about.
struct Main {
    pid: Pid,
    status: Option<i32>,
    /// Whether it was launched: then signals that are sent here are meant for it.
    launched: bool,
    stop_with_it: bool,
    /// The signal that stopped it, if this process is to stop, too.
    stopped_by: Option<i32>,
    /// This process was continued, and it has not said that it was.
    resumed: bool,
    /// Whether the last signal that stopped it came from itself.
    stops_itself: bool,
    /// Whether it was attached to and no watcher knows.
    untold: bool,
    asked: Option<i32>,
}

/// Follows one process, and all that comes from it.
pub struct Tracer {
    processes: Processes,
    main: Main,
    /// New threads that stopped before their parent told of them.
    early: HashMap<Pid, (i32, Instant)>,
    child: Option<Child>,
    waited_for: Set,
    mask: Set,
    sigchld: Disposition,
    alone: bool,
    /// Whether there may be statuses that were not fetched.
    more: bool,
    /// Requests come from the thread that attached.
    _not_send: PhantomData<*const ()>,
}

/// That a thread was killed is no error: its end is told.
fn alive<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Tracer {
    /// Starts a program. It is stopped before its first instruction, until [`Tracer::run`].
    ///
    /// The signals that are passed on, and SIGCHLD, are blocked in this thread from now on until the tracer is dropped.
    ///
    /// # Errors
    /// When it can't be started, as `Command::spawn` says it; [`super::AttachError`] when it can't be traced.
    pub fn launch(command: &mut Command, how: Launch) -> io::Result<Tracer> {
        let mut tracer = Tracer::new(true)?;
        tracer.main.stop_with_it = how.stop_with_it;
        let (child, status) = launch(command, how, &mut tracer)?;
        let pid = Pid::from_child(&child);
        tracer.child = Some(child);
        tracer.main.pid = pid;
        let thread = Thread::new(pid, pid, Image::of(pid));
        tracer.processes.tasks.insert(pid, Task { thread, state: State::Execs(Began::Launched) });
        if status != 0 {
            tracer.processes.ready.push_back((pid, status));
        }
        Ok(tracer)
    }

    /// Begins to follow a process that runs: all of its threads are stopped, until [`Tracer::follow`].
    ///
    /// # Errors
    /// [`super::AttachError`].
    pub fn attach(pid: Pid) -> io::Result<Tracer> {
        let mut tracer = Tracer::new(false)?;
        let gone = || attach::AttachError::why(pid, &io::Error::from_raw_os_error(libc::ESRCH));
        let pid = process_of(pid).ok_or_else(gone)?;
        tracer.main.pid = pid;
        let image = Image::of(pid);
        for tid in seize_all(pid, options(Launch::default()))? {
            let mut thread = Thread::new(tid, pid, image.clone());
            if let Some(status) = sys::wait_soon(tid) {
                if let Some(stop) = stop(status) {
                    thread.arrived(stop);
                }
                tracer.processes.ready.push_back((tid, status));
            }
            tracer.processes.tasks.insert(tid, Task { thread, state: State::Running });
        }
        if tracer.processes.tasks.is_empty() { Err(gone()) } else { Ok(tracer) }
    }

    fn new(launched: bool) -> io::Result<Tracer> {
        let mut signals = FORWARDED.to_vec();
        signals.extend([libc::SIGCHLD, libc::SIGTSTP]);
        let waited_for = Set::of(&signals);
        let alone = std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
        let main = Main {
            pid: rustix::process::getpid(),
            status: None,
            launched,
            stop_with_it: false,
            stopped_by: None,
            resumed: false,
            stops_itself: false,
            untold: !launched,
            asked: None,
        };
        Ok(Tracer {
            processes: Processes::default(),
            main,
            early: HashMap::new(),
            child: None,
            waited_for,
            sigchld: sys::default_sigchld()?,
            mask: waited_for.block()?,
            alone,
            more: true,
            _not_send: PhantomData,
        })
    }

    /// What the program gets back: the mask of signals, and what SIGCHLD does.
    pub(super) fn inherited(&self) -> (Set, Disposition) {
        (self.mask, self.sigchld)
    }

    /// The process that was launched or attached to.
    pub fn pid(&self) -> Pid {
        self.main.pid
    }

    /// What was launched, for its pipes. Waiting for it is the tracer's.
    pub fn child(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }

    /// All that is traced.
    pub fn processes(&mut self) -> &mut Processes {
        &mut self.processes
    }

    /// Follows until the program that was launched has ended. What it left running is stopped at its next event, until
    /// [`Tracer::outlast`], or [`Tracer::detach_all`].
    ///
    /// # Errors
    /// The first error of the watcher's.
    pub fn run(&mut self, watcher: &mut impl Watcher) -> io::Result<ExitStatus> {
        loop {
            match self.follow(watcher)? {
                Followed::Ended(status) => return Ok(status),
                Followed::Asked(_) | Followed::Finished => {}
            }
        }
    }

    /// Follows until the process has ended, or this process is asked to end, or a watcher finishes.
    ///
    /// # Errors
    /// The first error of the watcher's.
    pub fn follow(&mut self, watcher: &mut impl Watcher) -> io::Result<Followed> {
        self.begin(watcher)?;
        loop {
            let any = self.turn(watcher)?;
            if let Some(status) = self.main.status {
                return Ok(Followed::Ended(ExitStatus::from_raw(status)));
            }
            if let Some(signal) = self.main.asked.take() {
                return Ok(Followed::Asked(signal));
            }
            if std::mem::take(&mut self.processes.finished) {
                return Ok(Followed::Finished);
            }
            if !any {
                return Err(io::Error::other("the traced program is gone, and nobody said how it ended"));
            }
            self.sleep(watcher);
        }
    }

    /// Follows what the program left running, until all of that has ended, or this process is asked to end.
    ///
    /// # Errors
    /// The first error of the watcher's.
    pub fn outlast(&mut self, watcher: &mut impl Watcher) -> io::Result<()> {
        self.main.launched = false;
        while !self.processes.tasks.is_empty() || !self.early.is_empty() {
            if !self.turn(watcher)? || self.main.asked.is_some() || self.processes.finished {
                break;
            }
            self.sleep(watcher);
        }
        Ok(())
    }

    /// Tells of the process that was attached to, while all of its threads are stopped.
    fn begin(&mut self, watcher: &mut impl Watcher) -> io::Result<()> {
        if !std::mem::take(&mut self.main.untold) {
            return Ok(());
        }
        let tasks = &mut self.processes.tasks;
        let leader = if tasks.contains_key(&self.main.pid) {
            Some(self.main.pid)
        } else {
            tasks.keys().next().copied()
        };
        if let Some(task) = leader.and_then(|tid| tasks.get_mut(&tid)) {
            alive(watcher.began(&mut task.thread, Began::Attached))?;
        }
        Ok(())
    }

    /// Looks at all that has happened; whether there is anybody to whom anything can happen.
    fn turn(&mut self, watcher: &mut impl Watcher) -> io::Result<bool> {
        self.more = true;
        for _ in 0..BURST {
            let next = match self.processes.ready.pop_front() {
                Some(next) => next,
                None => match sys::wait_any() {
                    Ok(Some(next)) => next,
                    Ok(None) => {
                        self.more = false;
                        break;
                    }
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(rustix::io::Errno::CHILD) => return Ok(false),
                    Err(error) => return Err(error.into()),
                },
            };
            self.happened(watcher, next.0, next.1)?;
            if self.main.status.is_some() {
                return Ok(true);
            }
        }
        if watcher.next_tick().is_some_and(|at| at <= Instant::now()) {
            watcher.tick(&mut self.processes)?;
        }
        self.adopt_orphans(watcher, ORPHANED)?;
        Ok(true)
    }

    /// Sleeps until something happens, or is to be done. Here the signals that are sent to this process are passed on.
    fn sleep(&mut self, watcher: &impl Watcher) {
        let busy = self.more || !self.processes.ready.is_empty();
        if !busy && self.main.stopped_by.take().is_some() {
            sys::stop_self();
            // Whether the program was continued as well is seen in the next turn.
            self.main.resumed = true;
            return;
        }
        if std::mem::take(&mut self.main.resumed) && self.is_listening() {
            sys::send(self.main.pid, libc::SIGCONT);
        }
        let most = if busy { Some(Duration::ZERO) } else { self.most(watcher) };
        let Some(info) = self.waited_for.wait(most) else { return };
        // What a key sends to all of the terminal's group has the program got already.
        if info.number() == libc::SIGCHLD || info.code() == SI_KERNEL && self.main.launched {
            return;
        }
        if self.main.launched {
            sys::send(self.main.pid, info.number());
        } else if info.number() != libc::SIGTSTP {
            self.main.asked = Some(info.number());
        }
    }

    fn is_listening(&self) -> bool {
        self.processes.tasks.get(&self.main.pid).is_some_and(|task| task.state == State::Listening)
    }

    /// How long there is nothing to do if nothing happens.
    fn most(&self, watcher: &impl Watcher) -> Option<Duration> {
        let orphans = self.early.values().map(|(_, since)| *since + ORPHANED).min();
        let next = [watcher.next_tick(), orphans].into_iter().flatten().min();
        let most = next.map(|at| at.saturating_duration_since(Instant::now()));
        if self.alone { most } else { Some(most.map_or(DOZE, |most| most.min(DOZE))) }
    }

    fn happened(&mut self, watcher: &mut impl Watcher, tid: Pid, status: i32) -> io::Result<()> {
        let Some(stop) = stop(status) else {
            self.ended(watcher, tid, status);
            return Ok(());
        };
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
            (State::Maps, Stop::Syscall) => drop(alive(watcher.mapped(&mut task.thread))?),
            (State::Execs(_) | State::Maps, _) => task.state = state,
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

    /// Its process is stopped, and stays so until somebody continues it.
    fn group(&mut self, tid: Pid, signal: i32) {
        let Some(task) = self.processes.tasks.get_mut(&tid) else { return };
        // What changed is written later: it is stopped again when it is continued.
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
            // An editor stops itself when it has tidied the terminal; who else sends SIGSTOP will continue it.
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

    /// A thread has a child.
    fn born(&mut self, watcher: &mut impl Watcher, parent: Pid, event: i32) -> io::Result<()> {
        let child = alive(sys::event_message(parent))?.and_then(|child| Pid::from_raw(child as i32));
        let Some(child) = child.filter(|child| !self.processes.tasks.contains_key(child)) else {
            return Ok(());
        };
        let Some(of) = self.processes.tasks.get(&parent) else { return Ok(()) };
        let (pid, image) = (of.thread.pid, of.thread.image.clone());
        let is_thread = std::path::Path::new(&format!("/proc/{pid}/task/{child}")).exists();
        let shares_memory = is_thread || event == libc::PTRACE_EVENT_VFORK || sys::share_memory(pid, child);
        let image = if shares_memory { image } else { Image::of(child) };
        self.admit(
            watcher,
            parent,
            Thread::new(child, if is_thread { pid } else { child }, image),
            shares_memory,
        )
    }

    /// A thread is known from now on. If it has stopped already it is looked at.
    fn admit(
        &mut self,
        watcher: &mut impl Watcher,
        parent: Pid,
        thread: Thread,
        shares_memory: bool,
    ) -> io::Result<()> {
        let tid = thread.tid;
        self.processes.tasks.insert(tid, Task { thread, state: State::Awaited { parent, shares_memory } });
        // It stops before its first instruction. Its parent is held until then: what is told of it later, as its end or a
        // breakpoint that it hit, would be mistaken for what was so when the child was made.
        let stopped = self.early.remove(&tid).map(|(status, _)| status).or_else(|| sys::wait_soon(tid));
        stopped.map_or(Ok(()), |status| self.happened(watcher, tid, status))
    }

    /// Takes those whose parent was killed before it told of them.
    fn adopt_orphans(&mut self, watcher: &mut impl Watcher, after: Duration) -> io::Result<()> {
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

    /// A thread is at a call that a filter marks.
    fn filtered(&mut self, tid: Pid) -> io::Result<Go> {
        let Some(task) = self.processes.tasks.get_mut(&tid) else { return Ok(Go::On) };
        if sys::event_message(tid)? == u64::from(MARK) {
            task.state = State::Maps;
            return Ok(Go::Syscall);
        }
        // The program's own filter would have it fail, as nobody would be there that traces.
        #[cfg(target_arch = "x86_64")]
        task.thread.registers()?.skip_call();
        Ok(Go::On)
    }

    /// A process runs another program. All of its threads are gone but the one that has its number now.
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
        // Its registers are its own only when the call has ended: until then the kernel writes its answer to them.
        let mut thread = Thread::new(pid, pid, Image::of(pid));
        thread.arrived(Stop::Event(libc::PTRACE_EVENT_EXEC));
        self.processes.tasks.insert(pid, Task { thread, state: State::Execs(how) });
        self.resume(watcher, pid, Go::Syscall, 0)
    }

    fn ended(&mut self, watcher: &mut impl Watcher, tid: Pid, status: i32) {
        self.early.remove(&tid);
        if tid == self.main.pid {
            self.main.status = Some(status);
        }
        if let Some(task) = self.processes.tasks.remove(&tid) {
            let last = !self.processes.tasks.values().any(|other| other.thread.pid == task.thread.pid);
            watcher.ended(tid, last, status);
        }
    }

    /// Lets a thread go on, with a signal or without. What happened while it was stepped is looked at first.
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
        if task.thread.unblocked && signal != 0 {
            return match alive(enter_handler(&mut task.thread, signal))? {
                // It stopped for something else, or ended.
                Some(Some(status)) => self.happened(watcher, tid, status),
                _ => Ok(()),
            };
        }
        alive(task.thread.write_back().and_then(|()| sys::go(tid, go, signal)))?;
        Ok(())
    }

    /// Lets all that is traced go, after [`Watcher::leaving`] for each thread. Not what was launched with a filter: what that
    /// marks fails when nobody traces.
    ///
    /// # Errors
    /// The first error of the watcher's; all are let go nevertheless.
    pub fn detach_all(&mut self, watcher: &mut impl Watcher) -> io::Result<()> {
        let mut result = self.begin(watcher);
        loop {
            while let Some(pid) = self.processes.pids().first().copied() {
                result = result.and(self.detach(watcher, pid));
            }
            if self.early.is_empty() {
                return result;
            }
            result = result.and(self.adopt_orphans(watcher, Duration::ZERO));
        }
    }

    fn detach(&mut self, watcher: &mut impl Watcher, pid: Pid) -> io::Result<()> {
        let mut result = Ok(());
        let mut signals = HashMap::new();
        let mut stopped = self.processes.stop(pid);
        // A thread may have run into a breakpoint and not been told yet: that signal is the watcher's.
        while let Some((tid, status)) = stopped.pop() {
            let Some(task) = self.processes.tasks.get_mut(&tid) else { continue };
            match (task.state, stop(status)) {
                (State::Awaited { parent, shares_memory }, _) => {
                    task.state = State::Running;
                    let told = alive(watcher.forked(parent, &mut task.thread, shares_memory));
                    result = result.and(told.map(drop));
                }
                (_, Some(Stop::Signal(number))) => {
                    match alive(watcher.signal(&mut task.thread, &Signal::new(number, tid))) {
                        Ok(answer) => drop(
                            signals.insert(tid, if answer == Some(Answer::Swallow) { 0 } else { number }),
                        ),
                        Err(error) => result = result.and(Err(error)),
                    }
                }
                (_, Some(Stop::Event(event @ (1..=3)))) => {
                    result = result.and(self.born(watcher, tid, event))
                }
                _ => {}
            }
            let Some(task) = self.processes.tasks.get_mut(&tid) else { continue };
            if signals.get(&tid).is_none_or(|signal| *signal == 0) && has_trap(tid) {
                let _ = task.thread.write_back();
                let _ = sys::go(tid, Go::On, 0);
                match sys::wait_one(tid) {
                    Ok(status) if stop(status).is_some() => {
                        task.thread.arrived(stop(status).unwrap_or(Stop::Trap));
                        stopped.push((tid, status));
                    }
                    Ok(status) => self.ended(watcher, tid, status),
                    Err(_) => drop(self.processes.tasks.remove(&tid)),
                }
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
            let signal =
                settle(watcher, &mut task.thread, signals.get(tid).copied().unwrap_or(0)).unwrap_or(0);
            let _ = task.thread.write_back();
            let _ = sys::detach(*tid, signal);
        }
        self.processes.ready.retain(|(tid, _)| !tids.contains(tid));
        result
    }
}

/// Whether a breakpoint's signal waits for it.
fn has_trap(tid: Pid) -> bool {
    sys::pending(tid)
        .is_ok_and(|infos| infos.iter().any(|info| info.number() == libc::SIGTRAP && info.code() > 0))
}

/// Which signal a thread goes on with, when it was stepped and signals came meanwhile.
fn settle(watcher: &mut impl Watcher, thread: &mut Thread, signal: i32) -> io::Result<i32> {
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

/// Delivers a signal and has its handler begin with that signal unblocked. What it stopped for, if that was not the handler.
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

impl Drop for Tracer {
    /// Gives this thread the mask it had. What is traced still is let go, or killed, when this thread ends.
    fn drop(&mut self) {
        let _ = self.mask.set();
    }
}
