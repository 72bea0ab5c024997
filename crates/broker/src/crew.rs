//! The worker processes, and the orders they have not answered.

use std::collections::VecDeque;
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use millstream_cpu::VARIABLE;
use millstream_cwq::AlgorithmSet;
use millstream_protocol::{Order, Presigned};
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

/// The time that an order may take before the broker goes on without the answer.
pub(crate) const LATE: Duration = Duration::from_secs(2);
/// The time for which a worker with orders may neither say anything nor make progress before it is killed:
/// the usual [`Config::stuck`]. A worker whose counters change is busy, not dead.
///
/// A single grant is ended earlier than the whole worker. One that the control thread works on for half as
/// long, while orders wait, is ended by itself. So is one whose memory occupies the accelerator's thread most
/// of the time for a quarter as long, while turns are slow. Nothing else takes that long there: turns are
/// bounded by half a millisecond of estimated work, on workers for private keys by 16 ms, whatever words clients
/// submit. Signatures on hashes take longer, and are computed while no memory of a client's counts as touched.
pub(crate) const STUCK: Duration = Duration::from_secs(10);
/// The multiple of that time for which a worker may answer nothing although its counters change. They are
/// only its own claim.
const PATIENCE: u32 = 6;
/// The time after which a worker counts as started successfully.
const STEADY: Duration = Duration::from_secs(10);
/// The time for which everything waits for a killed worker to end. After that it is checked now and then.
const REAP: Duration = Duration::from_millis(50);
/// The time for which the end of the broker waits for a killed worker.
const FAREWELL: Duration = Duration::from_secs(1);
/// The pause before a worker that dies again and again is restarted: the first one and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// The purpose of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To serve a grant.
    Serve(u64),
    /// To stop serving it. `tell` is true while its client has yet to be told.
    Drop { grant: u64, tell: bool },
    /// To serve it under another policy.
    Limit,
    /// To hand it to another worker.
    Release(u64),
    /// To take it from another worker.
    Adopt(u64),
    /// To count for the survey.
    Count,
    /// To show its progress.
    Watch,
}

impl Purpose {
    /// Returns the grant that the order is about, where the order changes who has it.
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
    /// True when the broker has gone on without the answer.
    late: bool,
}

/// The result of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed(Shown),
    /// No answer came in time; it may still come.
    Late,
    /// The worker died.
    Died,
}

/// The verdict on a worker that has orders and does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The worker answers, or it is busy.
    Wait,
    /// One grant, by the worker's own account, keeps it from everything else.
    HeldUp(u64),
    /// The worker's threads stand still, or it has answered nothing for far too long.
    Dead,
}

/// A worker's description of itself when it is ready.
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
    /// The moves that it has begun, with their times.
    begun: Vec<(Purpose, Instant)>,
    /// The time of its last answer, or of the first order it could answer.
    heard: Instant,
    started: Instant,
    watch: Watch,
    /// The worker's standard error, until it has said too much.
    pub(crate) said: Option<Said>,
    /// None until it says that it is ready.
    pub(crate) traits: Option<Traits>,
    /// True when it is dead, or might as well be.
    pub(crate) broken: bool,
}

/// A worker: a place for one process after another.
pub(crate) struct Worker {
    pub(crate) index: usize,
    /// True when it serves private keys, and nothing else.
    pub(crate) is_private: bool,
    pub(crate) cpu: Option<usize>,
    pub(crate) process: Option<Process>,
    pub(crate) restarts: u64,
    stuck: Duration,
    /// True when there are several grants. The worker is watched then even without orders, because one grant
    /// may hold up another.
    pub(crate) is_shared: bool,
    /// The number of times it went to sleep, when last counted.
    pub(crate) sleeps: u64,
    /// The presignatures, when last counted.
    pub(crate) presigned: Presigned,
    /// True when it is a vault of tokens.
    opens_tokens: bool,
    /// The number of processes in a row that did not live long.
    failures: u32,
    pub(crate) restart_at: Option<Instant>,
    /// Killed processes that have not ended, because the kernel is still busy on their behalf.
    dying: Vec<Process>,
}

impl Worker {
    pub(crate) fn new(index: usize, config: &Config, opens_tokens: bool) -> Self {
        let cpu = (!config.pin.is_empty()).then(|| config.pin[index % config.pin.len()]);
        Worker {
            index,
            is_private: index >= config.accelerators,
            cpu,
            process: None,
            restarts: 0,
            stuck: config.stuck,
            is_shared: false,
            sleeps: 0,
            presigned: Presigned::default(),
            opens_tokens,
            failures: 0,
            restart_at: None,
            dying: Vec::new(),
        }
    }

    /// Returns the algorithms that it serves.
    pub(crate) fn serves(is_private: bool) -> AlgorithmSet {
        let private = AlgorithmSet::private_keys();
        if is_private { private } else { AlgorithmSet::all().without(private) }
    }

    /// Returns true when it takes grants.
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
            // On kernels that can't, the link looks out for descriptors itself.
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

    /// Returns the command of its program, which inherits nothing from this process but its control socket
    /// and pipe.
    fn command(&self, config: &Config, control: Socket, errors: PipeWriter) -> Command {
        let mut command = Command::new(&config.worker.program);
        command.args(&config.worker.arguments);
        command.arg(format!("--spin-ns={}", config.spin.as_nanos()));
        let held_back = if self.is_private { config.gather } else { config.flush };
        command.arg(format!("--flush-ns={}", held_back.as_nanos()));
        command.arg(format!("--key-memory={}", config.key_memory));
        command.args(self.is_private.then_some("--private-keys"));
        command.args(self.opens_tokens.then_some("--tokens"));
        command.args(self.cpu.map(|cpu| format!("--cpu={cpu}")));
        command.args(config.quiet.then_some("--quiet"));
        command.stdin(Stdio::from(OwnedFd::from(control))).stdout(Stdio::null());
        command.stderr(errors);
        command.env_clear();
        command.envs(std::env::var_os(VARIABLE).map(|mask| (VARIABLE, mask)));
        // The broker handles an interrupt from the terminal, and lets workers finish.
        command.process_group(0);
        command
    }

    /// Gives it an order, which is sent now or as soon as the worker takes it.
    ///
    /// # Errors
    /// The outcome, where it is known already.
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

    /// Tells it something that it does not answer. Returns false where it can't be sent the descriptors.
    pub(crate) fn tell(&mut self, order: &Order, descriptors: Vec<Shared>, poll: &Poll) -> bool {
        let Some(process) = &mut self.process else { return true };
        if let Err(error) = process.link.send(order, descriptors) {
            if has_run_out(&error) && process.link.take_back() {
                return false;
            }
            process.broken = true;
        }
        process.wait_for_more(self.index, poll);
        true
    }

    /// Takes back an order that the worker was not sent yet. Returns false when it was sent.
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

    /// Sends the messages that were kept.
    pub(crate) fn flush(&mut self, poll: &Poll) {
        let Some(process) = &mut self.process else { return };
        process.broken |= process.link.flush().is_err();
        process.wait_for_more(self.index, poll);
    }

    /// Returns the purpose of the order that is answered next.
    pub(crate) fn first(&self) -> Option<Purpose> {
        self.process.as_ref()?.pending.front().map(|pending| pending.purpose)
    }

    /// Records that it has said something.
    pub(crate) fn was_heard(&mut self) {
        if let Some(process) = &mut self.process {
            process.heard = Instant::now();
        }
    }

    /// Records its answer. Returns the purpose of the order, and whether the broker has gone on without the
    /// answer.
    pub(crate) fn answered(&mut self) -> Option<(Purpose, bool)> {
        let pending = self.process.as_mut()?.pending.pop_front()?;
        Some((pending.purpose, pending.late))
    }

    /// Records that it has begun a move.
    pub(crate) fn has_begun(&mut self, purpose: Purpose) {
        if let Some(process) = &mut self.process {
            process.begun.push((purpose, Instant::now()));
        }
    }

    /// Records the end of a move, successful or not. Returns its purpose, or none where no such move had
    /// begun.
    pub(crate) fn has_moved(&mut self, grant: u64) -> Option<Purpose> {
        let begun = &mut self.process.as_mut()?.begun;
        let at = begun.iter().position(|(purpose, _)| purpose.grant() == Some(grant))?;
        Some(begun.swap_remove(at).0)
    }

    /// Returns the purposes of orders that have just become late.
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

    /// Returns the page in which it is to show its progress, the first time.
    pub(crate) fn page(&mut self) -> Option<Shared> {
        self.process.as_mut()?.watch.take_memory()
    }

    /// Returns when to look at its counters next: often while it has orders, seldom or never otherwise.
    fn look_at(&self) -> Option<Instant> {
        let process = self.process.as_ref()?;
        if process.traits.is_none() {
            return Some(process.heard + self.stuck.max(STUCK));
        }
        let orders = !process.pending.is_empty();
        let orders = orders.then(|| process.watch.looked.max(process.heard) + self.stuck / LOOKS);
        let turns = self.is_shared.then(|| process.watch.looked + self.stuck / process.watch.rest());
        // Each move has a limit of its own.
        let moves = process.begun.iter().map(|(_, begun)| *begun + PATIENCE * self.stuck).min();
        [orders, turns, moves].into_iter().flatten().min()
    }

    /// Looks for progress, if it is time to.
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

    /// Returns true when it does not answer because it is busy, as far as that can be seen.
    pub(crate) fn is_busy(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.watch.moved.elapsed() < LATE.min(self.stuck))
    }

    /// Returns the next time at which something about it must be done even without an event.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let orders = self.process.iter().flat_map(|process| &process.pending);
        let late = orders.filter(|pending| !pending.late).map(|pending| pending.given + LATE).min();
        let reap = (!self.dying.is_empty()).then(|| Instant::now() + LATE);
        [late, self.look_at(), self.restart_at, reap].into_iter().flatten().min()
    }

    /// Forgets killed processes that have ended meanwhile.
    pub(crate) fn reap(&mut self) {
        self.dying.retain_mut(|process| !process.has_ended());
    }

    /// Clears away its process, which is dead or useless, and returns the purposes of its unanswered orders.
    /// Another process is started some time later.
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

    /// Records that a process could not be started.
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

    /// Asks it to end, when the broker stops.
    pub(crate) fn dismiss(&mut self) {
        if let Some(process) = &mut self.process {
            process.broken |= process.link.send(&Order::Stop {}, Vec::new()).is_err();
        }
    }

    /// Stops watching for the end of its process, which has ended.
    pub(crate) fn forget_end(&self, poll: &Poll) {
        if let Some(process) = &self.process {
            poll.remove(&process.pidfd);
        }
    }

    /// Discards everything it says.
    pub(crate) fn discard(&mut self) {
        if let Some(process) = &mut self.process {
            while matches!(process.link.receive(), Ok(Some(_))) {}
        }
    }

    /// Returns true when its process has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_none_or(Process::has_ended)
    }
}

impl Process {
    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end, but not for ever: a killed process ends only when the kernel has closed everything
    /// it had. Returns how it ended, if it did.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
        let mut polled = [PollFd::new(&self.pidfd, PollFlags::IN)];
        // If the wait is interrupted, the process is checked again later.
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
        // A process that does not end is left to whoever adopts orphans.
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
