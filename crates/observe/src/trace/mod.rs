//! Which cryptographic instructions a program runs: breakpoints where they begin, in each of its processes.

pub mod breakpoints;
pub mod displaced;
pub mod guard;
