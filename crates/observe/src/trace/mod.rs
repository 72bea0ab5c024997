//! Finds which cryptographic instructions a program runs, by breakpoints at their beginnings in each of its
//! processes.
//!
//! A breakpoint stands only where an instruction provably begins, and is removed only where it still stands.
//! If it stays after a hit, its instruction is executed elsewhere ([`displaced`]), and no signal handler,
//! debugging interface or exit shows the program that it was there. The program computes the same as without
//! us, at its own speed once the first hits are over.
//!
//! # What a program can notice
//! * The executable memory differs from its files while it is traced. Libraries that check their own code in
//!   memory when they start, as the FIPS editions of BoringSSL and AWS-LC do, would refuse to work. Those
//!   that are recognised are watched from a moment later on, and [`Options::delay`] leaves a program alone
//!   for longer. Go's FIPS mode is off unless asked for.
//! * A breakpoint's SIGTRAP can't be blocked or ignored: the kernel unblocks it in that thread, and resets it
//!   to the default where it was blocked or ignored. A program loses its handler of SIGTRAP if it runs crypto
//!   instructions for the first time while it blocks that signal outside of the handler. Handlers of SIGTRAP
//!   begin with it unblocked.
//! * A program launched with a filter can't enter seccomp's strict mode. Where a program filters its own
//!   system calls, no memory can be mapped for us, so standing breakpoints are stepped over, which is slower.
//! * SIGILL and SIGFPE of a moved instruction have its new address in `si_addr`; the program counter is
//!   right.
//! * Shared executable mappings, children of `clone` with `CLONE_UNTRACED`, and 32-bit programs are not
//!   watched. A program that copies its own code while it is traced, other than by `fork`, copies
//!   breakpoints.
//!
//! # Cost
//! A mapped image is searched once, in tens of milliseconds; a [`crate::code::cache`] keeps the results for
//! large ones. A hit costs 10 to 100 microseconds, most of it for the kernel's context switches. With
//! [`Mode::Once`], each place fires once and costs nothing afterwards. With [`Mode::Count`], every entry
//! costs a hit. The mappings of attached programs are read ten times a second. [`findings::Cost`] reports the
//! total.
//!
//! ```no_run
//! use millstream_observe::process::{Launch, Tracer};
//! use millstream_observe::trace::{Options, Question, Trace};
//!
//! let mut command = std::process::Command::new("openssl");
//! command.args(["speed", "-seconds", "1", "-evp", "aes-128-gcm"]);
//! let launch = Launch { filter: true, kill_with_us: true, ..Launch::default() };
//! let mut trace = Trace::new(Options { announced: true, ..Options::default() })?;
//! Tracer::launch(&mut command, launch)?.run(&mut trace)?;
//! let findings = trace.finish();
//! println!("{:?}", findings.verdict(Question::Aes));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::ffi::OsStr;
use std::time::Duration;

pub mod breakpoints;
pub mod counters;
pub mod displaced;
mod fileless;
pub mod findings;
mod generated;
pub mod guard;
mod linker;
mod made;
mod modules;
mod notes;
mod origin;
mod space;
mod verdicts;
mod watch;

pub use findings::{Findings, Mode, Question, Verdict};
pub use watch::Trace;

/// Options for tracing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The way in which sites are watched.
    pub mode: Mode,
    /// True for programs launched with a filter, where [`crate::process::Watcher::mapped`] announces new
    /// code.
    pub announced: bool,
    /// The time for which a program is left alone at its start. It serves programs that check their own code
    /// then and are not recognised.
    pub delay: Option<Duration>,
}

/// A file that is being searched.
#[derive(Clone, Copy, Debug)]
pub struct Looking<'a> {
    /// The path, as the program sees it.
    pub path: &'a OsStr,
    /// The length.
    pub bytes: u64,
    /// True while a launched program begins and no other process was watched before.
    pub is_new: bool,
}

/// The progress of tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Progress {
    /// The number of programs that were watched, including those that have ended.
    pub processes: usize,
    /// The number of processes that are watched now.
    pub running: usize,
    /// The number of images that were searched.
    pub modules: usize,
    /// The number of breakpoints that stand.
    pub armed: usize,
    /// The number of breakpoints that fired.
    pub fired: u64,
}
