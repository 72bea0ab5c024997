//! Which cryptographic instructions a program runs: breakpoints where they begin, in each of its processes.
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
pub mod findings;
pub mod guard;
mod linker;
mod made;
mod modules;
mod origin;
mod space;
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
