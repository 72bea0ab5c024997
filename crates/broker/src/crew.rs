//! The worker processes, and the orders they have not answered.

use std::collections::VecDeque;
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use millstream_cpu::VARIABLE;
use millstream_protocol::Order;
use millstream_shm::{Socket, pair};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::config::Config;
use crate::disposal::Disposal;
use crate::link::{Link, Shared};
use crate::poll::{Interest, Poll, Token};
use crate::process::has_run_out;
use crate::progress::{LOOKS, Watch};
use crate::said::Said;
use crate::shown::Shown;

/// How long an order may take before the broker goes on without the answer.
pub(crate) const LATE: Duration = Duration::from_secs(2);
/// How long a worker may say nothing and not get on while there are orders, before it is killed: the usual for [`Config::stuck`]. While
/// one of its counters changes it is busy, and not dead.
///
/// A grant that the control thread has in hand for half as long, while orders wait, is ended by itself; so is one at whose memory the
/// accelerator's thread is most of the time for a quarter as long, while turns are slow. Else nothing is that long in hand there:
/// turns are bounded, by half a millisecond at most as it was reckoned, whatever words clients submit.
pub(crate) const STUCK: Duration = Duration::from_secs(10);
/// So many times as long it may answer nothing although its counters change: they are its own word.
const PATIENCE: u32 = 6;
/// A worker that lives so long has not failed to start.
const STEADY: Duration = Duration::from_secs(10);
/// How long everything waits for a worker that was killed to end. After that it is looked at now and then.
const REAP: Duration = Duration::from_millis(50);
/// How long the end of the broker waits for one.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long after a worker has died again and again another is started, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// What an order was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To serve a grant.
    Serve(u64),
    /// To serve it no longer; whether its client has still to be told.
    Drop { grant: u64, tell: bool },
    /// To serve it by another policy.
    Limit,
    /// To hand it to another worker.
    Release(u64),
    /// To take it from another worker.
    Adopt(u64),
    /// To count for the survey.
    Count,
    /// To show how it gets on.
    Watch,
}

impl Purpose {
    /// The grant that has to do with it, where the order changes who has it.
    pub(crate) fn grant(self) -> Option<u64> {
        match self {
            Purpose::Serve(grant)
            | Purpose::Drop { grant, .. }
            | Purpose::Release(grant)
            | Purpose::Adopt(grant) => Some(grant),
            Purpose::Limit | Purpose::Count | Purpose::Watch => None,
        }
    }
}

/// An order that was not answered.
struct Pending {
    purpose: Purpose,
    /// The message it was sent in.
    ticket: u64,
    given: Instant,
    /// Whether the broker has gone on without the answer.
    late: bool,
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed(Shown),
    /// No answer came in time; it may still come.
    Late,
    /// The worker died.
    Died,
}

/// What is to be done about a worker that has orders and does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing: it answers, or it is busy.
    Wait,
    /// A grant keeps it from everything else, as it says itself.
    HeldUp(u64),
    /// Its threads stand still, or it has answered nothing for far too long.
    Dead,
}

/// What a worker says of itself when it is ready.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traits {
    pub(crate) sandbox: Shown,
    pub(crate) key_memory: Shown,
}

/// The process of a worker.
pub(crate) struct Process {
    child: Child,
    pidfd: OwnedFd,
    pub(crate) link: Link,
    pending: VecDeque<Pending>,
    /// Moves that it has begun, and since when.
    begun: Vec<(Purpose, Instant)>,
    /// When it last answered, or was first given something to answer.
    heard: Instant,
    started: Instant,
    watch: Watch,
    /// What it writes to its standard error, until it has said too much.
    pub(crate) said: Option<Said>,
    /// None until it says that it is ready.
    pub(crate) traits: Option<Traits>,
    /// It is dead, or might as well be.
    pub(crate) broken: bool,
}

/// A worker: a place for one process after another.
pub(crate) struct Worker {
    pub(crate) index: usize,
    pub(crate) cpu: Option<usize>,
    pub(crate) process: Option<Process>,
    pub(crate) restarts: u64,
    stuck: Duration,
    /// Whether there are several grants: then it is looked at although nothing is asked of it, because one may hold up another.
    pub(crate) is_shared: bool,
    /// How often it went to sleep, when last counted.
    pub(crate) sleeps: u64,
    /// How many processes in a row did not live long.
    failures: u32,
    pub(crate) restart_at: Option<Instant>,
    /// Processes that were killed and have not ended: something that the kernel does for them takes its time.
    dying: Vec<Process>,
}

impl Worker {
    pub(crate) fn new(index: usize, config: &Config) -> Self {
        let cpu = (!config.pin.is_empty()).then(|| config.pin[index % config.pin.len()]);
        Worker {
            index,
            cpu,
            process: None,
            restarts: 0,
            stuck: config.stuck,
            is_shared: false,
            sleeps: 0,
            failures: 0,
            restart_at: None,
            dying: Vec::new(),
        }
    }

    /// Whether it takes grants.
    pub(crate) fn is_ready(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.traits.is_some() && !process.broken)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, |process| process.child.id())
    }

    /// Starts a process for it.
    pub(crate) fn start(&mut self, config: &Config, poll: &Poll, disposal: &Disposal) -> io::Result<()> {
        self.restart_at = None;
        let (here, there) = pair()?;
        let progress = Watch::new()?;
        let (said, errors) = Said::new()?;
        if config.refuse_descriptors {
            // Where the kernel can't, the link looks out for them.
            let _ = here.refuse_descriptors();
        }
        let mut child = self.command(config, there, errors).spawn()?;
        let watched = watch(&child, &here, &said, self.index, poll);
        let pidfd = watched.inspect_err(|_| end(&mut child))?;
        let now = Instant::now();
        self.process = Some(Process {
            child,
            pidfd,
            link: Link::new(here, disposal, None),
            pending: VecDeque::new(),
            begun: Vec::new(),
            heard: now,
            started: now,
            watch: progress,
            said: Some(said),
            traits: None,
            broken: false,
        });
        Ok(())
    }

    /// Its program, which has nothing of this process but where messages go.
    fn command(&self, config: &Config, control: Socket, errors: PipeWriter) -> Command {
        let mut command = Command::new(&config.worker.program);
        command.args(&config.worker.arguments);
        command.arg(format!("--spin-ns={}", config.spin.as_nanos()));
        command.arg(format!("--flush-ns={}", config.flush.as_nanos()));
        command.arg(format!("--key-memory={}", config.key_memory));
        command.args(self.cpu.map(|cpu| format!("--cpu={cpu}")));
        command.args(config.quiet.then_some("--quiet"));
        command.stdin(Stdio::from(OwnedFd::from(control))).stdout(Stdio::null());
        command.stderr(errors);
        command.env_clear();
        command.envs(std::env::var_os(VARIABLE).map(|mask| (VARIABLE, mask)));
        // An interrupt from the terminal is the broker's affair, which lets workers finish.
        command.process_group(0);
        command
    }

    /// Gives it an order, which is sent now or when the worker takes it.
    ///
    /// # Errors
    /// What became of it, where that is known already.
    pub(crate) fn order(
        &mut self,
        order: &Order,
        descriptors: Vec<Shared>,
        purpose: Purpose,
        poll: &Poll,
    ) -> Result<(), Outcome> {
        let Some(process) = &mut self.process else { return Err(Outcome::Died) };
        if let Err(error) = process.link.send(order, descriptors) {
            if has_run_out(&error) && process.link.take_back() {
                return Err(Outcome::Failed(Shown::text(&error.to_string())));
            }
            process.broken = true;
        }
        let now = Instant::now();
        if process.pending.is_empty() {
            process.heard = now;
        }
        let ticket = process.link.last();
        process.pending.push_back(Pending { purpose, ticket, given: now, late: false });
        process.wait_for_more(self.index, poll);
        Ok(())
    }

    /// Takes back an order that the worker was not sent yet; whether it could be.
    pub(crate) fn withdraw(&mut self, purpose: Purpose) -> bool {
        let Some(process) = &mut self.process else { return false };
        let Some(at) = process.pending.iter().position(|pending| pending.purpose == purpose) else {
            return false;
        };
        let withdrawn = process.link.withdraw(process.pending[at].ticket);
        if withdrawn {
            process.pending.remove(at);
        }
        withdrawn
    }

    /// Sends what was kept.
    pub(crate) fn flush(&mut self, poll: &Poll) {
        let Some(process) = &mut self.process else { return };
        process.broken |= process.link.flush().is_err();
        process.wait_for_more(self.index, poll);
    }

    /// What the order was for that is answered next.
    pub(crate) fn first(&self) -> Option<Purpose> {
        self.process.as_ref()?.pending.front().map(|pending| pending.purpose)
    }

    /// It has said something.
    pub(crate) fn was_heard(&mut self) {
        if let Some(process) = &mut self.process {
            process.heard = Instant::now();
        }
    }

    /// It has answered: what the order was for, and whether the broker has gone on without the answer.
    pub(crate) fn answered(&mut self) -> Option<(Purpose, bool)> {
        let pending = self.process.as_mut()?.pending.pop_front()?;
        Some((pending.purpose, pending.late))
    }

    /// It has begun a move.
    pub(crate) fn has_begun(&mut self, purpose: Purpose) {
        if let Some(process) = &mut self.process {
            process.begun.push((purpose, Instant::now()));
        }
    }

    /// A move has ended, for better or worse: what it was; none where there was none.
    pub(crate) fn has_moved(&mut self, grant: u64) -> Option<Purpose> {
        let begun = &mut self.process.as_mut()?.begun;
        let at = begun.iter().position(|(purpose, _)| purpose.grant() == Some(grant))?;
        Some(begun.swap_remove(at).0)
    }

    /// Orders that have just become late.
    pub(crate) fn late(&mut self, now: Instant) -> Vec<Purpose> {
        let Some(process) = &mut self.process else { return Vec::new() };
        let is_late = |pending: &&mut Pending| !pending.late && now >= pending.given + LATE;
        let late = process.pending.iter_mut().filter(is_late);
        late.map(|pending| {
            pending.late = true;
            pending.purpose
        })
        .collect()
    }

    /// The page in which it is to show how it gets on, once.
    pub(crate) fn page(&mut self) -> Option<Shared> {
        self.process.as_mut()?.watch.take_memory()
    }

    /// When its counters are to be looked at next: often while something is asked of it; seldom, or never, else.
    fn look_at(&self) -> Option<Instant> {
        let process = self.process.as_ref()?;
        if process.traits.is_none() {
            return Some(process.heard + self.stuck.max(STUCK));
        }
        let orders = !process.pending.is_empty();
        let orders = orders.then(|| process.watch.looked.max(process.heard) + self.stuck / LOOKS);
        let turns = self.is_shared.then(|| process.watch.looked + self.stuck / process.watch.rest());
        // It has a limit of its own for each.
        let moves = process.begun.iter().map(|(_, begun)| *begun + PATIENCE * self.stuck).min();
        [orders, turns, moves].into_iter().flatten().min()
    }

    /// Looks whether it gets on, if it is time to.
    pub(crate) fn look(&mut self, now: Instant) -> Verdict {
        if self.look_at().is_none_or(|at| now < at) {
            return Verdict::Wait;
        }
        let Some(process) = &mut self.process else { return Verdict::Wait };
        if process.traits.is_none() {
            return Verdict::Dead;
        }
        process.watch.look(now);
        let since = |what: Instant| now.saturating_duration_since(what.max(process.heard));
        let held_up = process.watch.in_hand().filter(|_| since(process.watch.stepped) >= self.stuck / 2);
        let endless = process.begun.iter().any(|(_, begun)| now >= *begun + PATIENCE * self.stuck);
        let slowed = process.watch.slowed_by(self.stuck).map_or(Verdict::Wait, Verdict::HeldUp);
        if process.pending.is_empty() {
            return if endless { Verdict::Dead } else { slowed };
        }
        if endless
            || since(process.watch.moved) >= self.stuck
            || since(process.heard) >= PATIENCE * self.stuck
        {
            Verdict::Dead
        } else {
            held_up.map_or(slowed, Verdict::HeldUp)
        }
    }

    /// Whether it does not answer because it has much to do, as far as that can be seen.
    pub(crate) fn is_busy(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.watch.moved.elapsed() < LATE.min(self.stuck))
    }

    /// When something about it has to be done, whatever happens.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let orders = self.process.iter().flat_map(|process| &process.pending);
        let late = orders.filter(|pending| !pending.late).map(|pending| pending.given + LATE).min();
        let reap = (!self.dying.is_empty()).then(|| Instant::now() + LATE);
        [late, self.look_at(), self.restart_at, reap].into_iter().flatten().min()
    }

    /// Forgets processes that were killed and have ended meanwhile.
    pub(crate) fn reap(&mut self) {
        self.dying.retain_mut(|process| !process.has_ended());
    }

    /// Its process is no more, or is no use: what it has not answered. Another is to be started some time later.
    pub(crate) fn bury(&mut self, poll: &Poll) -> Vec<Purpose> {
        let Some(mut process) = self.process.take() else { return Vec::new() };
        poll.remove(&process.link);
        poll.remove(&process.pidfd);
        process.said.iter().for_each(|said| poll.remove(said.pipe()));
        let _ = pidfd_send_signal(&process.pidfd, Signal::KILL);
        let status = process.wait(REAP);
        let lived = process.started.elapsed();
        self.failures = if lived >= STEADY { 0 } else { self.failures + 1 };
        self.restarts += 1;
        let pause = self.pause();
        self.restart_at = Some(Instant::now() + pause);
        let status =
            status.map_or_else(|| "killed, and not ended yet".to_owned(), |status| status.to_string());
        tracing::error!(worker = self.index, %status, pause_ms = pause.as_millis() as u64, "worker died");
        let begun = process.begun.drain(..).map(|(purpose, _)| purpose);
        let unanswered = process.pending.drain(..).map(|pending| pending.purpose).chain(begun).collect();
        process.link.forget();
        if !process.has_ended() {
            self.dying.push(process);
        }
        unanswered
    }

    /// A process could not be started.
    pub(crate) fn failed_to_start(&mut self) {
        self.failures += 1;
        self.restart_at = Some(Instant::now() + self.pause());
    }

    fn pause(&self) -> Duration {
        let (first, most) = BACKOFF;
        match self.failures {
            0 | 1 => Duration::ZERO,
            failures => first.saturating_mul(1 << (failures - 2).min(16)).min(most),
        }
    }

    /// Asks it to end, in the end.
    pub(crate) fn dismiss(&mut self) {
        if let Some(process) = &mut self.process {
            process.broken |= process.link.send(&Order::Stop {}, Vec::new()).is_err();
        }
    }

    /// It is known that its process has ended.
    pub(crate) fn forget_end(&self, poll: &Poll) {
        if let Some(process) = &self.process {
            poll.remove(&process.pidfd);
        }
    }

    /// Takes what it says, and does nothing about it.
    pub(crate) fn discard(&mut self) {
        if let Some(process) = &mut self.process {
            while matches!(process.link.receive(), Ok(Some(_))) {}
        }
    }

    /// Whether its process has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_none_or(Process::has_ended)
    }
}

impl Process {
    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end, but not for ever: a process that was killed ends when the kernel has closed what it had. How
    /// it ended, if it did.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
        let mut polled = [PollFd::new(&self.pidfd, PollFlags::IN)];
        // Interrupted, it is looked at again later.
        let _ = poll(&mut polled, Some(&limit));
        self.child.try_wait().ok().flatten()
    }

    fn wait_for_more(&self, index: usize, poll: &Poll) {
        poll.change(&self.link, Token::Worker(index), Interest { read: true, write: !self.link.is_clear() });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // One that does not end goes to whoever adopts orphans.
        self.wait(FAREWELL);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn watch(child: &Child, link: &Socket, said: &Said, index: usize, poll: &Poll) -> io::Result<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    poll.add(link, Token::Worker(index), Interest::READ)?;
    let added = poll
        .add(&pidfd, Token::Ended(index), Interest::READ)
        .and_then(|()| poll.add(said.pipe(), Token::Said(index), Interest::READ));
    if let Err(error) = added {
        poll.remove(link);
        poll.remove(&pidfd);
        return Err(error);
    }
    Ok(pidfd)
}
