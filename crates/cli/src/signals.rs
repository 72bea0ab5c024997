//! What an interrupted command leaves behind: nothing.
//!
//! One thread waits for SIGINT, SIGTERM and SIGHUP. When one comes it removes the temporary file, if
//! there is one with a name, and the directory for a while; ends the processes that were started; gives
//! the terminal its echo and its cursor back; and ends the process with 128 and the signal's number (130, 143, 129). An output gets its final name under the same lock, so that the
//! name is either there with the whole file behind it or not at all.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::termios::Termios;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// What is to be put right before the process ends.
#[derive(Default)]
pub(crate) struct Untidy {
    /// A file that has a name but not yet its final one.
    pub(crate) temporary: Option<PathBuf>,
    /// The terminal's settings from before echo was turned off.
    pub(crate) terminal: Option<Termios>,
    /// Whether the terminal's cursor was hidden.
    pub(crate) cursor_hidden: bool,
    /// A directory that is needed only while this process lives.
    pub(crate) directory: Option<PathBuf>,
    /// Processes that are to end with this one, the last first.
    pub(crate) children: Vec<Pid>,
    /// Whether the output has its final name: it is too late to say that nothing was done.
    pub(crate) committed: bool,
}

/// What hides a terminal's cursor.
pub(crate) const HIDE_CURSOR: &str = "\x1b[?25l";
/// What shows it again.
pub(crate) const SHOW_CURSOR: &str = "\x1b[?25h";

static UNTIDY: Mutex<Untidy> = Mutex::new(Untidy {
    temporary: None,
    terminal: None,
    cursor_hidden: false,
    directory: None,
    children: Vec::new(),
    committed: false,
});

/// The account of what is untidy, which the signal thread can't use meanwhile.
pub(crate) fn untidy() -> MutexGuard<'static, Untidy> {
    UNTIDY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread. Signals that the caller ignores (`nohup`) stay ignored.
pub(crate) fn install() {
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !ignored(signal));
    // Without the thread a signal has its default effect: the process ends, as it should.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let untidy = untidy();
            if untidy.committed {
                return;
            }
            tidy(&untidy);
            std::process::exit(128 + signal);
        }
    });
}

fn tidy(untidy: &Untidy) {
    if let Some(path) = &untidy.temporary {
        let _ = std::fs::remove_file(path);
    }
    for child in untidy.children.iter().rev() {
        let _ = kill_process(*child, Signal::TERM);
        // Where it is nobody's any more it is gone.
        let _ = waitpid(Some(*child), WaitOptions::empty());
    }
    if let Some(path) = &untidy.directory {
        let _ = std::fs::remove_dir_all(path);
    }
    if let Some(settings) = &untidy.terminal {
        restore(settings);
    }
    if untidy.cursor_hidden {
        // Not through the lock, which the interrupted thread may hold.
        let _ = rustix::io::write(rustix::stdio::stdout(), SHOW_CURSOR.as_bytes());
    }
}

/// Gives the controlling terminal its settings back.
pub(crate) fn restore(settings: &Termios) {
    if let Ok(tty) = std::fs::File::open("/dev/tty") {
        let _ = rustix::termios::tcsetattr(tty, rustix::termios::OptionalActions::Flush, settings);
    }
}

/// Whether the process was started with `signal` ignored (proc_pid_status(5), `SigIgn`).
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
