//! Which cryptographic instructions a program runs: breakpoints where they begin, in each of its processes.

pub mod breakpoints;
pub mod counters;
pub mod displaced;
pub mod findings;
pub mod guard;

pub use findings::{Findings, Mode};
