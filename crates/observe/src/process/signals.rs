//! Signals as a tracer meets them.

use std::cell::OnceCell;
use std::io;

use rustix::process::Pid;

use super::sys;

/// What is passed on when somebody sends it to this process.
pub(super) const FORWARDED: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// The code of a signal that the kernel sent: for a key on the terminal, a breakpoint, a fault that has no address.
pub const SI_KERNEL: i32 = 0x80;

/// What is known of a signal besides its number.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(8))]
pub struct SigInfo {
    number: i32,
    errno: i32,
    code: i32,
    filler: i32,
    rest: [u64; 14],
}

impl SigInfo {
    /// The signal's number.
    pub fn number(&self) -> i32 {
        self.number
    }

    /// Why: positive when the kernel sent it, for a fault [`SI_KERNEL`] or one of the signal's own codes.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Where, of a fault.
    pub fn address(&self) -> u64 {
        self.rest[0]
    }

    /// Who sent it, when a process did.
    pub fn sender(&self) -> Option<Pid> {
        if self.code > 0 { None } else { Pid::from_raw(self.rest[0] as u32 as i32) }
    }

    /// Whether an instruction of the thread itself raised it, so that it comes again when that is executed again.
    pub fn is_fault(&self) -> bool {
        let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
        self.code > 0 && faults.contains(&self.number)
    }
}

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
