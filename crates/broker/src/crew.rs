//! The worker processes, and the orders they have not answered.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream_cpu::VARIABLE;
use millstream_protocol::Order;
use millstream_shm::{Socket, pair};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::config::Config;
use crate::link::{Link, Shared};
use crate::poll::{Interest, Poll, Token};
use crate::process::has_run_out;

/// How long an order may take before the broker goes on without the answer.
pub(crate) const LATE: Duration = Duration::from_secs(2);
/// How long a worker may say nothing while there are orders, before it is killed.
pub(crate) const STUCK: Duration = Duration::from_secs(10);
/// A worker that lives so long has not failed to start.
const STEADY: Duration = Duration::from_secs(10);
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
}

/// An order that was not answered.
struct Pending {
    purpose: Purpose,
    given: Instant,
    /// Whether the broker has gone on without the answer.
    late: bool,
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed(String),
    /// No answer came in time; it may still come.
    Late,
    /// The worker died.
    Died,
}

/// What a worker says of itself when it is ready.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traits {
    pub(crate) sandbox: String,
    pub(crate) key_memory: String,
}

/// The process of a worker.
pub(crate) struct Process {
    child: Child,
    pidfd: OwnedFd,
    pub(crate) link: Link,
    pending: VecDeque<Pending>,
    /// When it last answered, or was first given something to answer.
    heard: Instant,
    started: Instant,
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
    /// How often it went to sleep, when last counted.
    pub(crate) sleeps: u64,
    /// How many processes in a row did not live long.
    failures: u32,
    pub(crate) restart_at: Option<Instant>,
}

impl Worker {
    pub(crate) fn new(index: usize, config: &Config) -> Self {
        let cpu = (!config.pin.is_empty()).then(|| config.pin[index % config.pin.len()]);
        Worker { index, cpu, process: None, restarts: 0, sleeps: 0, failures: 0, restart_at: None }
    }

    /// Whether it takes grants.
    pub(crate) fn is_ready(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.traits.is_some() && !process.broken)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, |process| process.child.id())
    }

    /// Starts a process for it.
    pub(crate) fn start(&mut self, config: &Config, poll: &Poll) -> io::Result<()> {
        self.restart_at = None;
        let (here, there) = pair()?;
        let mut child = self.command(config, there).spawn()?;
        let watched = watch(&child, &here, self.index, poll);
        let pidfd = watched.inspect_err(|_| end(&mut child))?;
        let now = Instant::now();
        self.process = Some(Process {
            child,
            pidfd,
            link: Link::new(here),
            pending: VecDeque::new(),
            heard: now,
            started: now,
            traits: None,
            broken: false,
        });
        Ok(())
    }

    /// Its program, which has nothing of this process but where messages go.
    fn command(&self, config: &Config, control: Socket) -> Command {
        let mut command = Command::new(&config.worker.program);
        command.args(&config.worker.arguments);
        command.arg(format!("--spin-ns={}", config.spin.as_nanos()));
        command.arg(format!("--flush-ns={}", config.flush.as_nanos()));
        command.args(self.cpu.map(|cpu| format!("--cpu={cpu}")));
        command.args(config.quiet.then_some("--quiet"));
        command.stdin(Stdio::from(OwnedFd::from(control))).stdout(Stdio::null());
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
                return Err(Outcome::Failed(error.to_string()));
            }
            process.broken = true;
        }
        let now = Instant::now();
        if process.pending.is_empty() {
            process.heard = now;
        }
        process.pending.push_back(Pending { purpose, given: now, late: false });
        process.wait_for_more(self.index, poll);
        Ok(())
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

    /// When it must have said something, or will be taken for dead.
    pub(crate) fn stuck_at(&self) -> Option<Instant> {
        let process = self.process.as_ref()?;
        let waits = process.traits.is_none() || !process.pending.is_empty();
        waits.then(|| process.heard + STUCK)
    }

    /// When something about it has to be done, whatever happens.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let orders = self.process.iter().flat_map(|process| &process.pending);
        let late = orders.filter(|pending| !pending.late).map(|pending| pending.given + LATE).min();
        [late, self.stuck_at(), self.restart_at].into_iter().flatten().min()
    }

    /// Its process is no more, or is no use: what it has not answered. Another is to be started some time later.
    pub(crate) fn bury(&mut self, poll: &Poll) -> Vec<Purpose> {
        let Some(mut process) = self.process.take() else { return Vec::new() };
        poll.remove(&process.link);
        poll.remove(&process.pidfd);
        let _ = pidfd_send_signal(&process.pidfd, Signal::KILL);
        // It was killed, so this takes no longer than that.
        let status = process.child.wait();
        let lived = process.started.elapsed();
        self.failures = if lived >= STEADY { 0 } else { self.failures + 1 };
        self.restarts += 1;
        let pause = self.pause();
        self.restart_at = Some(Instant::now() + pause);
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        tracing::error!(worker = self.index, %status, pause_ms = pause.as_millis() as u64, "worker died");
        process.pending.drain(..).map(|pending| pending.purpose).collect()
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
        self.process.as_mut().is_none_or(|process| !matches!(process.child.try_wait(), Ok(None)))
    }
}

impl Process {
    fn wait_for_more(&self, index: usize, poll: &Poll) {
        poll.change(&self.link, Token::Worker(index), Interest { read: true, write: !self.link.is_clear() });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn watch(child: &Child, link: &Socket, index: usize, poll: &Poll) -> io::Result<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    poll.add(link, Token::Worker(index), Interest::READ)?;
    if let Err(error) = poll.add(&pidfd, Token::Ended(index), Interest::READ) {
        poll.remove(link);
        return Err(error);
    }
    Ok(pidfd)
}
