//! The command `millstream`: tools for files on the fastest kernels this processor has, the service, and
//! tools that observe programs. `commands` has one file for each subcommand. The formats of files are a crate
//! of their own.
#![deny(unsafe_code)]

mod agent;
mod codes;
mod commands;
mod doctor;
pub mod error;
mod esp;
mod exact;
mod hex;
pub mod input;
mod many;
mod names;
mod observe;
pub mod output;
mod programs;
pub mod progress;
pub mod secret;
mod shown;
mod signals;
mod sparc;
mod speed;
mod status;
mod tokens;

pub use commands::run;
