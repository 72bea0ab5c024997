//! The loop over the events of traced threads.

use std::collections::HashMap;
use std::io;
use std::marker::PhantomData;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::attach::{AttachError, borrowers, process_of, seize_all};
use super::launch::{Launch, launch};
use super::processes::{HELD, Processes, State, Task, alive};
use super::siginfo::SI_KERNEL;
use super::signals::{FORWARDED, stop};
use super::sys::{self, Disposition, Set};
use super::thread::{Began, Image, Thread};
use super::watcher::Watcher;

/// The most events that are handled before deadlines are checked.
const BURST: usize = 64;

/// The time after which a new thread without a parent's report is an orphan, because the parent was killed in
/// between.
pub(super) const ORPHANED: Duration = Duration::from_millis(250);

/// The longest sleep where this process has other threads, as the kernel may wake one of them instead of this
/// one.
const DOZE: Duration = Duration::from_millis(10);

/// Returns the ptrace options of every traced thread.
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

/// The reason why [`Tracer::follow`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The process ended.
    Ended(ExitStatus),
    /// This process was sent this signal, which asks it to end.
    Asked(i32),
    /// A watcher called [`Processes::finish`].
    Finished,
}

/// The process that the tracer was started for.
pub(super) struct Main {
    pub(super) pid: Pid,
    /// Further processes that were attached to. When this one ends, the last of them takes its place.
    pub(super) others: Vec<Pid>,
    pub(super) status: Option<i32>,
    /// True for a launched program, to which signals sent to this process are forwarded.
    pub(super) launched: bool,
    pub(super) stop_with_it: bool,
    /// The signal that stopped the program, if this process is to stop as well.
    pub(super) stopped_by: Option<i32>,
    /// True when this process was continued and the program is still to be continued.
    pub(super) resumed: bool,
    /// True when the last signal that stopped the program came from itself.
    pub(super) stops_itself: bool,
    /// Processes that were attached to and not reported to a watcher yet.
    pub(super) untold: Vec<Pid>,
    pub(super) asked: Option<i32>,
}

/// A tracer of one process and all of its descendants.
pub struct Tracer {
    pub(super) processes: Processes,
    pub(super) main: Main,
    /// New threads that stopped before their parent reported them.
    pub(super) early: HashMap<Pid, (i32, Instant)>,
    pub(super) child: Option<Child>,
    pub(super) waited_for: Set,
    pub(super) mask: Set,
    pub(super) sigchld: Disposition,
    pub(super) alone: bool,
    /// True when there may be statuses that were not fetched yet.
    pub(super) more: bool,
    /// The kernel takes requests only from the thread that attached.
    _not_send: PhantomData<*const ()>,
}

impl Tracer {
    /// Starts a program, which is stopped before its first instruction until [`Tracer::run`].
    ///
    /// The forwarded signals and SIGCHLD are blocked in this thread until the tracer is dropped.
    ///
    /// # Errors
    /// Fails as `Command::spawn` does when the program can't be started, and with [`super::AttachError`] when
    /// it can't be traced.
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

    /// Attaches to a running process. All of its threads are stopped until [`Tracer::follow`].
    ///
    /// # Errors
    /// Fails with [`super::AttachError`].
    pub fn attach(pid: Pid) -> io::Result<Tracer> {
        let mut tracer = Tracer::new(false)?;
        tracer.main.pid = tracer.take_in(pid)?;
        Ok(tracer)
    }

    /// Attaches to one more running process. [`Tracer::follow`] returns when all of them have ended. A
    /// process that is already followed stays so.
    ///
    /// # Errors
    /// Fails with [`super::AttachError`].
    pub fn attach_also(&mut self, pid: Pid) -> io::Result<()> {
        let pid = self.take_in(pid)?;
        if pid != self.main.pid && !self.main.others.contains(&pid) {
            self.main.others.push(pid);
        }
        Ok(())
    }

    /// Stops all threads of a running process, and returns its number, as `pid` may be that of a thread.
    fn take_in(&mut self, pid: Pid) -> io::Result<Pid> {
        let gone = || AttachError::why(pid, &io::Error::from_raw_os_error(libc::ESRCH));
        let pid = process_of(pid).ok_or_else(gone)?;
        if !self.processes.threads(pid).is_empty() {
            return Ok(pid);
        }
        let image = Image::of(pid);
        self.stop_all(pid, &image, State::Running)?;
        if self.processes.threads(pid).is_empty() {
            return Err(gone());
        }
        self.take_in_borrowers(pid, &image)?;
        self.main.untold.push(pid);
        Ok(pid)
    }

    /// Seizes and stops all threads of a process.
    fn stop_all(&mut self, pid: Pid, image: &Rc<Image>, state: State) -> io::Result<()> {
        for tid in seize_all(pid, options(Launch::default()))? {
            let mut thread = Thread::new(tid, pid, image.clone());
            if let Some(status) = sys::wait_soon(tid) {
                if let Some(stop) = stop(status) {
                    thread.arrived(stop);
                }
                self.processes.ready.push_back((tid, status));
            }
            self.processes.tasks.insert(tid, Task { thread, state });
        }
        Ok(())
    }

    /// Stops the children that run in the memory of a process. They were born before it was attached to, so nobody has
    /// reported them, and they would die of a breakpoint.
    fn take_in_borrowers(&mut self, pid: Pid, image: &Rc<Image>) -> io::Result<()> {
        let is_new = |child: &Pid| self.processes.threads(*child).is_empty();
        for child in borrowers(pid).into_iter().filter(is_new).collect::<Vec<_>>() {
            match self.stop_all(child, image, State::Awaited { parent: pid, shares_memory: true }) {
                Ok(()) if sys::share_memory(pid, child) => self.take_in_borrowers(child, image)?,
                // The child called exec or ended before it was seized.
                Ok(()) => self.forget(child),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Lets go of a process that no watcher knows.
    fn forget(&mut self, pid: Pid) {
        for tid in self.processes.threads(pid) {
            self.processes.tasks.remove(&tid);
            self.processes.ready.retain(|(ready, _)| *ready != tid);
            let _ = sys::detach(tid, 0);
        }
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

    /// Returns the settings that the program inherits: the mask of signals and the disposition of SIGCHLD.
    pub(super) fn inherited(&self) -> (Set, Disposition) {
        (self.mask, self.sigchld)
    }

    /// Returns the process that was launched or attached to.
    pub fn pid(&self) -> Pid {
        self.main.pid
    }

    /// Returns the launched program, for its pipes. Only the tracer may wait for it.
    pub fn child(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }

    /// Returns the set of traced processes.
    pub fn processes(&mut self) -> &mut Processes {
        &mut self.processes
    }

    /// Follows until the launched program has ended. Processes that it left running are stopped at their next
    /// event, until [`Tracer::outlast`] or [`Tracer::detach_all`].
    ///
    /// # Errors
    /// Returns the watcher's first error.
    pub fn run(&mut self, watcher: &mut impl Watcher) -> io::Result<ExitStatus> {
        loop {
            match self.follow(watcher)? {
                Followed::Ended(status) => return Ok(status),
                Followed::Asked(_) | Followed::Finished => {}
            }
        }
    }

    /// Follows until the process has ended, or the last of those attached to, or until this process is asked
    /// to end or a watcher finishes.
    ///
    /// # Errors
    /// Returns the watcher's first error.
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
                return Err(io::Error::other(
                    "the traced program is gone, and its status was never reported",
                ));
            }
            self.sleep(watcher);
        }
    }

    /// Follows the processes that the program left running, until all of them have ended, this process is
    /// asked to end, or a watcher finishes.
    ///
    /// # Errors
    /// Returns the watcher's first error.
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

    /// Reports the processes that were attached to, while all of their threads are stopped.
    pub(super) fn begin(&mut self, watcher: &mut impl Watcher) -> io::Result<()> {
        for pid in std::mem::take(&mut self.main.untold) {
            let tids = self.processes.threads(pid);
            let stopped = [pid].into_iter().chain(tids.iter().copied()).find(|tid| self.is_stopped(*tid));
            if let Some(task) = stopped.and_then(|tid| self.processes.tasks.get_mut(&tid)) {
                alive(watcher.began(&mut task.thread, Began::Attached))?;
            } else if let Some(mut borrower) = self.borrower_of(pid) {
                alive(watcher.began(&mut borrower, Began::Attached))?;
            } else if !tids.iter().any(|tid| self.processes.ready.iter().any(|(ready, _)| ready == tid)) {
                let text = format!("process {pid} waits in the kernel and can't be stopped: try again");
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            // Otherwise the process has ended, which will be reported.
        }
        Ok(())
    }

    /// Returns true when a thread has stopped and that was not handled yet.
    fn is_stopped(&self, tid: Pid) -> bool {
        self.processes.ready.iter().any(|(ready, status)| *ready == tid && stop(*status).is_some())
    }

    /// Returns the stopped child that runs in the memory of a process, as a thread of that process: by its registers a watcher
    /// learns the same, while all threads of the process itself wait for such children.
    fn borrower_of(&self, pid: Pid) -> Option<Thread> {
        let of = State::Awaited { parent: pid, shares_memory: true };
        let borrower = self
            .processes
            .tasks
            .values()
            .find(|task| task.state == of && self.is_stopped(task.thread.tid))?;
        Some(Thread::new(borrower.thread.tid, pid, borrower.thread.image.clone()))
    }

    /// Handles all events there are. Returns false when no traced thread is left.
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

    /// Sleeps until an event or a deadline, and forwards the signals that arrive at this process.
    fn sleep(&mut self, watcher: &impl Watcher) {
        let busy = self.more || !self.processes.ready.is_empty();
        if !busy && self.main.stopped_by.take().is_some() {
            sys::stop_self();
            // The next turn tells whether the program was continued as well.
            self.main.resumed = true;
            return;
        }
        if std::mem::take(&mut self.main.resumed) && self.is_listening() {
            sys::send(self.main.pid, libc::SIGCONT);
        }
        // While statuses wait to be handled, signals are only polled.
        let most = if busy { Some(Duration::ZERO) } else { self.most(watcher) };
        let Some(info) = self.waited_for.wait(most) else { return };
        // A key's signal goes to the terminal's whole group, so the program has it already.
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

    /// Returns the longest time to sleep.
    fn most(&self, watcher: &impl Watcher) -> Option<Duration> {
        let orphans = self.early.values().map(|(_, since)| *since + ORPHANED).min();
        let held = (!self.processes.held.is_empty()).then(|| Instant::now() + HELD);
        let next = [watcher.next_tick(), orphans, held].into_iter().flatten().min();
        let most = next.map(|at| at.saturating_duration_since(Instant::now()));
        if self.alone { most } else { Some(most.map_or(DOZE, |most| most.min(DOZE))) }
    }
}

impl Drop for Tracer {
    /// Restores this thread's mask. Processes that are still traced are let go, or killed, when this thread
    /// ends.
    fn drop(&mut self) {
        let _ = self.mask.set();
    }
}
