//! Cleans up after an interrupted command.
//!
//! One thread waits for signals. When SIGINT, SIGTERM or SIGHUP comes, it removes the temporary files
//! that have a name, and the temporary directory. It ends the processes that were started and gives
//! the terminal its echo and its cursor back. Then it ends the process with 128 and the signal's number (130,
//! 143, 129). An output gets its final name under the same lock, so that the name is either there with the
//! whole file behind it or not at all. Of many outputs, those that are complete stay.
//!
//! When the process is stopped from the terminal (SIGTSTP), the shell that comes forward finds the terminal
//! as it was. When the process goes on (SIGCONT), the terminal is set again as the command needs it.
//!
//! # Safety
//! The one disposition that is set here by hand is the default one for SIGTSTP, which is no handler.
#![allow(unsafe_code)]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, raise, sigaction};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};

/// The things to clean up before the process ends.
#[derive(Default)]
pub(crate) struct Untidy {
    /// Files that have a name but not yet their final one.
    pub(crate) temporaries: Vec<PathBuf>,
    /// The controlling terminal, where its settings were changed.
    pub(crate) terminal: Option<Terminal>,
    /// True when the terminal's cursor was hidden.
    pub(crate) cursor_hidden: bool,
    /// A directory that is needed only while this process lives.
    pub(crate) directory: Option<PathBuf>,
    /// Processes that must end with this one, the last first.
    pub(crate) children: Vec<Pid>,
    /// A progress bar on the screen.
    pub(crate) progress: Option<ProgressBar>,
    /// True when the only output has its final name, so that it is too late to undo anything.
    pub(crate) committed: bool,
}

impl Untidy {
    /// Takes a file from the list, if it is there.
    pub(crate) fn forget(&mut self, temporary: Option<PathBuf>) {
        self.temporaries.retain(|path| Some(path) != temporary.as_ref());
    }
}

/// A terminal whose settings were changed for a while.
pub(crate) struct Terminal {
    /// The settings from before.
    pub(crate) before: Termios,
    /// The settings that the command needs.
    pub(crate) during: Termios,
    /// The prompt in front of the expected answer; empty where none is expected.
    pub(crate) prompt: &'static str,
}

/// Hides a terminal's cursor.
pub(crate) const HIDE_CURSOR: &str = "\x1b[?25l";
/// Shows it again.
pub(crate) const SHOW_CURSOR: &str = "\x1b[?25h";

static UNTIDY: Mutex<Untidy> = Mutex::new(Untidy {
    temporaries: Vec::new(),
    terminal: None,
    cursor_hidden: false,
    directory: None,
    children: Vec::new(),
    progress: None,
    committed: false,
});

/// Locks the list of things to clean up, which the signal thread can't use meanwhile.
pub(crate) fn untidy() -> MutexGuard<'static, Untidy> {
    UNTIDY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread. Signals that the caller ignores (`nohup`) stay ignored.
pub(crate) fn install() {
    let wanted = [SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT];
    let wanted = wanted.into_iter().filter(|&signal| !ignored(signal));
    // Without the thread a signal has its default effect: the process ends, as it should.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGTSTP => stop(),
                SIGCONT => go_on(&untidy()),
                signal => {
                    let untidy = untidy();
                    if untidy.committed {
                        return;
                    }
                    tidy(&untidy);
                    std::process::exit(128 + signal);
                }
            }
        }
    });
}

fn tidy(untidy: &Untidy) {
    for path in &untidy.temporaries {
        let _ = std::fs::remove_file(path);
    }
    for child in untidy.children.iter().rev() {
        let _ = kill_process(*child, Signal::TERM);
        // The call fails when the process is gone already.
        let _ = waitpid(Some(*child), WaitOptions::empty());
    }
    if let Some(path) = &untidy.directory {
        let _ = std::fs::remove_dir_all(path);
    }
    if let Some(bar) = &untidy.progress {
        bar.finish_and_clear();
    }
    give_back(untidy);
}

/// Gives the terminal its settings and its cursor back.
fn give_back(untidy: &Untidy) {
    if let Some(terminal) = &untidy.terminal {
        restore(&terminal.before);
    }
    if untidy.cursor_hidden {
        show(SHOW_CURSOR);
    }
}

/// Writes to standard output without its lock, which the interrupted thread may hold.
fn show(text: &str) {
    let _ = rustix::io::write(rustix::stdio::stdout(), text.as_bytes());
}

/// Stops the process as SIGTSTP does by itself, with the terminal as it was before.
fn stop() {
    let untidy = untidy();
    give_back(&untidy);
    let usual = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default disposition is no handler.
    let Ok(ours) = (unsafe { sigaction(nix::sys::signal::SIGTSTP, &usual) }) else { return };
    // This thread gets the signal before the call returns, and the whole process stops with it. Only the
    // kernel knows whether there is a shell to continue it. Without one the signal does nothing.
    let sleep = || raise(nix::sys::signal::SIGTSTP);
    // The shell's prompt takes the place of the bar, which comes back below it.
    let _ = untidy.progress.as_ref().map_or_else(sleep, |bar| bar.suspend(sleep));
    // SAFETY: this is the disposition that signal-hook had set.
    let _ = unsafe { sigaction(nix::sys::signal::SIGTSTP, &ours) };
    go_on(&untidy);
}

/// Sets the terminal again as the command needs it, if it isn't. A shell changes its settings, also when the
/// process was stopped in a way that no handler sees (SIGSTOP). A process that goes on in the background is
/// stopped here until it is in the foreground.
fn go_on(untidy: &Untidy) {
    let tty = OpenOptions::new().read(true).write(true).open("/dev/tty");
    if let (Some(terminal), Ok(mut tty)) = (&untidy.terminal, tty) {
        let modes = tcgetattr(&tty).map(|now| now.local_modes);
        if modes.is_ok_and(|modes| modes != terminal.during.local_modes) {
            let _ = tcsetattr(&tty, OptionalActions::Flush, &terminal.during);
            let _ = tty.write_all(terminal.prompt.as_bytes());
        }
    }
    if untidy.cursor_hidden {
        show(HIDE_CURSOR);
    }
}

/// Gives the controlling terminal its settings back.
pub(crate) fn restore(settings: &Termios) {
    if let Ok(tty) = std::fs::File::open("/dev/tty") {
        let _ = tcsetattr(tty, OptionalActions::Flush, settings);
    }
}

/// Returns true when the process was started with `signal` ignored (proc_pid_status(5), `SigIgn`).
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
