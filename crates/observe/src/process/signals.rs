//! Signals as a tracer meets them.

use std::cell::OnceCell;
use std::io;

use rustix::process::Pid;

use super::siginfo::SigInfo;
use super::sys;

/// What is passed on when somebody sends it to this process.
pub(super) const FORWARDED: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// A signal that is about to be delivered.
#[derive(Debug)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    tid: Pid,
    info: OnceCell<SigInfo>,
}

impl Signal {
    pub(super) fn new(number: i32, tid: Pid) -> Signal {
        Signal { number, tid, info: OnceCell::new() }
    }

    pub(super) fn known(info: SigInfo, tid: Pid) -> Signal {
        Signal { number: info.number, tid, info: OnceCell::from(info) }
    }

    /// What else is known of it: the kernel is asked the first time.
    ///
    /// # Errors
    /// When the thread has been killed. After [`super::Thread::inject`] or [`super::Thread::step`] it can't be asked any more.
    pub fn info(&self) -> io::Result<&SigInfo> {
        if let Some(info) = self.info.get() {
            return Ok(info);
        }
        let info = sys::signal_info(self.tid)?;
        Ok(self.info.get_or_init(|| info))
    }
}

/// What becomes of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The program gets it.
    Deliver,
    /// The program never hears of it.
    Swallow,
    /// It means nothing to this watcher: the next one is asked, and in the end the program gets it.
    NotMine,
}

/// What a stop is, as the wait status says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A signal is about to be delivered.
    Signal(i32),
    /// All of its process stopped, by this signal.
    Group(i32),
    /// It was interrupted, or continued after a group's stop, or is new.
    Trap,
    /// A system call's entry or exit.
    Syscall,
    /// An event: PTRACE_EVENT_*.
    Event(i32),
}

/// How a thread stopped; `None` if the status says that it ended.
pub(super) fn stop(status: i32) -> Option<Stop> {
    if !libc::WIFSTOPPED(status) {
        return None;
    }
    let (signal, event) = (status >> 8 & 0xff, status >> 16);
    Some(match event {
        0 if signal == libc::SIGTRAP | 0x80 => Stop::Syscall,
        0 => Stop::Signal(signal),
        libc::PTRACE_EVENT_STOP if stops(signal) => Stop::Group(signal),
        libc::PTRACE_EVENT_STOP => Stop::Trap,
        event => Stop::Event(event),
    })
}

/// Whether the default of this signal is to stop.
pub(super) fn stops(signal: i32) -> bool {
    [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal)
}
