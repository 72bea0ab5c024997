//! The command `millstream`: file tools on the fastest kernels this processor has, and an account
//! of which those are. `commands` has one file a subcommand; the formats of files are a crate of their own.
#![deny(unsafe_code)]

mod codes;
mod commands;
pub mod error;
pub mod input;
mod observe;
pub mod output;
mod programs;
pub mod progress;
pub mod secret;
mod signals;
mod sparc;
mod speed;
mod status;

pub use commands::run;
