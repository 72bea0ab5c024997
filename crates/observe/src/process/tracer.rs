//! The loop over the events of traced threads.

use std::collections::HashMap;
use std::io;
use std::marker::PhantomData;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::attach::{AttachError, process_of, seize_all};
use super::launch::{Launch, launch};
use super::processes::{HELD, Processes, State, Task, alive};
use super::siginfo::SI_KERNEL;
use super::signals::{FORWARDED, stop};
use super::sys::{self, Disposition, Set};
use super::thread::{Began, Image, Thread};
use super::watcher::Watcher;

/// How many events are looked at before deadlines are.
const BURST: usize = 64;

/// A child whose parent said nothing for so long lost it: it was killed between the birth and saying so.
pub(super) const ORPHANED: Duration = Duration::from_millis(250);

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
pub(super) struct Main {
    pub(super) pid: Pid,
    /// Others that were attached to as well. When this one ends, it is about the last of them.
    pub(super) others: Vec<Pid>,
    pub(super) status: Option<i32>,
    /// Whether it was launched: then signals that are sent here are meant for it.
    pub(super) launched: bool,
    pub(super) stop_with_it: bool,
    /// The signal that stopped it, if this process is to stop, too.
    pub(super) stopped_by: Option<i32>,
    /// This process was continued, and it has not said that it was.
    pub(super) resumed: bool,
    /// Whether the last signal that stopped it came from itself.
    pub(super) stops_itself: bool,
    /// Those that were attached to, and no watcher knows.
    pub(super) untold: Vec<Pid>,
    pub(super) asked: Option<i32>,
}

/// Follows one process, and all that comes from it.
pub struct Tracer {
    pub(super) processes: Processes,
    pub(super) main: Main,
    /// New threads that stopped before their parent told of them.
    pub(super) early: HashMap<Pid, (i32, Instant)>,
    pub(super) child: Option<Child>,
    pub(super) waited_for: Set,
    pub(super) mask: Set,
    pub(super) sigchld: Disposition,
    pub(super) alone: bool,
    /// Whether there may be statuses that were not fetched.
    pub(super) more: bool,
    /// Requests come from the thread that attached.
    _not_send: PhantomData<*const ()>,
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
        tracer.main.pid = tracer.take_in(pid)?;
        Ok(tracer)
    }

    /// Begins to follow another process that runs, together with the first: [`Tracer::follow`] ends when all of them have. One that is followed
    /// already stays so.
    ///
    /// # Errors
    /// [`super::AttachError`].
    pub fn attach_also(&mut self, pid: Pid) -> io::Result<()> {
        let pid = self.take_in(pid)?;
        if pid != self.main.pid && !self.main.others.contains(&pid) {
            self.main.others.push(pid);
        }
        Ok(())
    }

    /// Stops all threads of a process that runs; its number, if that was one of a thread.
    fn take_in(&mut self, pid: Pid) -> io::Result<Pid> {
        let gone = || AttachError::why(pid, &io::Error::from_raw_os_error(libc::ESRCH));
        let pid = process_of(pid).ok_or_else(gone)?;
        if !self.processes.threads(pid).is_empty() {
            return Ok(pid);
        }
        let image = Image::of(pid);
        for tid in seize_all(pid, options(Launch::default()))? {
            let mut thread = Thread::new(tid, pid, image.clone());
            if let Some(status) = sys::wait_soon(tid) {
                if let Some(stop) = stop(status) {
                    thread.arrived(stop);
                }
                self.processes.ready.push_back((tid, status));
            }
            self.processes.tasks.insert(tid, Task { thread, state: State::Running });
        }
        if self.processes.threads(pid).is_empty() {
            return Err(gone());
        }
        self.main.untold.push(pid);
        Ok(pid)
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
            others: Vec::new(),
            untold: Vec::new(),
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

    /// Follows until the process has ended (of several that were attached to, the last), or this process is asked to end, or a watcher finishes.
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

    /// Follows what the program left running, until all of that has ended, or this process is asked to end, or a watcher finishes.
    ///
    /// # Errors
    /// The first error of the watcher's.
    pub fn outlast(&mut self, watcher: &mut impl Watcher) -> io::Result<()> {
        self.main.launched = false;
        while !self.processes.tasks.is_empty() || !self.early.is_empty() {
            let any = self.turn(watcher)?;
            if !any || self.main.asked.is_some() || std::mem::take(&mut self.processes.finished) {
                break;
            }
            self.sleep(watcher);
        }
        Ok(())
    }

    /// Tells of the processes that were attached to, while all of their threads are stopped.
    pub(super) fn begin(&mut self, watcher: &mut impl Watcher) -> io::Result<()> {
        for pid in std::mem::take(&mut self.main.untold) {
            let tids = self.processes.threads(pid);
            let leader = tids.iter().find(|tid| **tid == pid).or(tids.first());
            if let Some(task) = leader.and_then(|tid| self.processes.tasks.get_mut(tid)) {
                alive(watcher.began(&mut task.thread, Began::Attached))?;
            }
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
        self.processes.release_free();
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
        let held = (!self.processes.held.is_empty()).then(|| Instant::now() + HELD);
        let next = [watcher.next_tick(), orphans, held].into_iter().flatten().min();
        let most = next.map(|at| at.saturating_duration_since(Instant::now()));
        if self.alone { most } else { Some(most.map_or(DOZE, |most| most.min(DOZE))) }
    }
}

impl Drop for Tracer {
    /// Gives this thread the mask it had. What is traced still is let go, or killed, when this thread ends.
    fn drop(&mut self) {
        let _ = self.mask.set();
    }
}
