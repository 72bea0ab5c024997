//! The program, which shares this command's terminal, process group, descriptors and signals. This command
//! ends with it.
//!
//! # Safety
//! The code in the child between `fork` and `exec` calls `sigaction`, `pthread_sigmask` and `prctl` and
//! nothing else, all of which are allowed there. The disposition that is set for SIGCHLD is a default one, so
//! no handler is installed.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::{Pid, kill_process};

/// The signals that are forwarded when somebody sends them to this command.
const FORWARDED: [Signal; 6] =
    [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2];

/// The code of a signal that the kernel sent, as for a key on the terminal.
const SI_KERNEL: i32 = 0x80;

/// Runs it to its end.
///
/// # Errors
/// Fails when it can't be started.
pub fn run(command: &mut Command) -> io::Result<ExitStatus> {
    let mut wanted: SigSet = FORWARDED.into_iter().collect();
    wanted.add(Signal::SIGCHLD);
    // Some parents start programs with SIGCHLD ignored. Then nobody would be told how a child ended.
    let usual = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default disposition is no handler.
    let inherited = unsafe { sigaction(Signal::SIGCHLD, &usual) }?;
    let mask = wanted.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let signals = SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC)?;
    let as_it_was = move || {
        // SAFETY: this is the disposition at the start of this process, which was no handler either: `exec`
        // resets those.
        unsafe { sigaction(Signal::SIGCHLD, &inherited) }?;
        Ok(mask.thread_set_mask()?)
    };
    // SAFETY: the closure allocates nothing, takes no lock, and makes two calls that are allowed after `fork`.
    unsafe { command.pre_exec(as_it_was) };
    wait(command.spawn()?, &signals)
}

/// Waits for its end, and forwards signals that are sent here meanwhile. The program has already got those
/// that the kernel sends to the terminal's process group.
fn wait(mut child: Child, signals: &SignalFd) -> io::Result<ExitStatus> {
    loop {
        let Some(signal) = signals.read_signal()? else { continue };
        if signal.ssi_signo == Signal::SIGCHLD as u32 {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
        } else if signal.ssi_code != SI_KERNEL
            && let Some(number) = FORWARDED.into_iter().find(|known| *known as u32 == signal.ssi_signo)
        {
            pass(&child, number);
        }
    }
}

fn pass(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(signal)) = (pid, rustix::process::Signal::from_named_raw(signal as i32)) {
        // The program was not waited for yet, so the number is still its own. If it has changed its user, the
        // signal may fail, as that program intends.
        let _ = kill_process(pid, signal);
    }
}

/// Returns the exit code of env(1) and shells for a program that can't be run.
pub fn not_run(error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
}

/// Returns the exit code that a shell would give.
pub fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Makes a new process end with this one, even when this one is killed, and keeps keys typed at the terminal
/// from it.
pub fn attend(command: &mut Command) {
    let end_with_parent =
        || Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?);
    // SAFETY: one call of `prctl`, which is allowed after `fork`.
    unsafe { command.process_group(0).pre_exec(end_with_parent) };
}
