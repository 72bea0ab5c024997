//! Which cryptographic instructions a program runs: breakpoints where they begin, in each of its processes.
//!
//! A breakpoint stands only where an instruction provably begins, and is put back only where it still stands. One that stays
//! has its instruction executed elsewhere ([`displaced`]), and no signal handler, debugger's interface or exit shows a program
//! that it was there. The program computes what it computes without us, at its own speed once the first hits are over.
//!
//! # What a program can notice
//! * Its executable memory differs from its files while it is traced. Libraries that check their own code in memory when they
//!   start, as the FIPS editions of BoringSSL and AWS-LC do, would refuse to work: those that are recognised are watched from
//!   a moment later on, and [`Options::delay`] leaves a program alone for longer. Go's FIPS mode is off unless asked for.
//! * SIGTRAP of a breakpoint can't be blocked or ignored: the kernel unblocks it in that thread, and where it was blocked or
//!   ignored sets it to its default. A program that handles SIGTRAP, and runs crypto instructions for the first time while
//!   it blocks it outside of that handler, loses its handler. Handlers of SIGTRAP begin with it unblocked.
//! * A strict seccomp mode is refused to what was launched with a filter. Where a program filters its own system calls,
//!   standing breakpoints are stepped over, which is slower, as no memory can be asked for.
//! * SIGILL and SIGFPE of a moved instruction tell its address in `si_addr`; the program counter is right.
//! * Shared executable mappings, children of `clone` with `CLONE_UNTRACED`, and 32-bit programs are not watched. A program that
//!   copies its own code while it is traced, other than by `fork`, copies breakpoints.
//!
//! # Cost
//! A mapped image is looked through once, in tens of milliseconds; of large ones a [`crate::code::cache`] keeps what was found. A hit costs 10 to 100 microseconds, most of it the
//! kernel's switching. With [`Mode::Once`] a place fires once; so after that there is none. With [`Mode::Count`] every entry
//! pays. Programs that were attached to have their mappings read ten times a second. [`findings::Cost`] says what it was.
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

/// How to trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How sites are watched.
    pub mode: Mode,
    /// Whether [`crate::process::Watcher::mapped`] tells of new code: the program was launched with a filter.
    pub announced: bool,
    /// How long a program is left alone at its start. For those that check their own code in memory then, and are not
    /// recognised.
    pub delay: Option<Duration>,
}

/// A file that is being looked through.
#[derive(Clone, Copy, Debug)]
pub struct Looking<'a> {
    /// Its path, as the program has it.
    pub path: &'a str,
    /// Its length.
    pub bytes: u64,
    /// Whether it is the file of a program that was launched and has not executed anything: neither it nor another that it was to
    /// start.
    pub is_new: bool,
}

/// How far tracing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Progress {
    /// Programs that were watched, those that have ended counted.
    pub processes: usize,
    /// Processes that are watched now.
    pub running: usize,
    /// Images that were looked through.
    pub modules: usize,
    /// Breakpoints that stand.
    pub armed: usize,
    /// Breakpoints that fired.
    pub fired: u64,
}
