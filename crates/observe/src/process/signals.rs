//! Signals and stops, as a tracer sees them.

use std::cell::OnceCell;
use std::io;

use rustix::process::Pid;

use super::siginfo::SigInfo;
use super::sys;

/// The signals to this process that are forwarded to the program.
pub(super) const FORWARDED: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// A signal that is about to be delivered.
#[derive(Debug)]
pub struct Signal {
    /// The number.
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

    /// Returns the rest of the kernel's information, which is fetched the first time.
    ///
    /// # Errors
    /// Fails when the thread has been killed. After [`super::Thread::inject`] or [`super::Thread::step`] the
    /// kernel no longer has the information.
    pub fn info(&self) -> io::Result<&SigInfo> {
        if let Some(info) = self.info.get() {
            return Ok(info);
        }
        let info = sys::signal_info(self.tid)?;
        Ok(self.info.get_or_init(|| info))
    }
}

/// A watcher's decision on a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The signal is delivered to the program.
    Deliver,
    /// The program never learns of the signal.
    Swallow,
    /// The signal means nothing to this watcher. The next one is asked, and in the end the signal is
    /// delivered.
    NotMine,
}

/// The kind of a stop, decoded from the wait status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A signal is about to be delivered.
    Signal(i32),
    /// The whole process was stopped, by this signal.
    Group(i32),
    /// The thread was interrupted, was continued after a group stop, or is new.
    Trap,
    /// The thread is at the entry or exit of a system call.
    Syscall,
    /// A ptrace event happened: PTRACE_EVENT_*.
    Event(i32),
}

/// Decodes a wait status. Returns `None` if it says that the thread ended.
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

/// Returns true for signals whose default is to stop the process.
pub(super) fn stops(signal: i32) -> bool {
    [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal)
}
