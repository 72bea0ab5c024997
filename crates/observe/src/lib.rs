//! Finds which cryptographic instructions a program runs, and runs programs without them.
//!
//! Any Linux program will do: unmodified, static, stripped, in any language, and without privileges.
#![deny(unsafe_code)]

pub mod capability;
pub mod code;
#[cfg(target_os = "linux")]
pub mod illegal;
pub mod knobs;
pub mod memory;
#[cfg(target_os = "linux")]
pub mod process;
pub mod processor;
#[cfg(target_os = "linux")]
pub mod trace;
#[cfg(target_os = "linux")]
pub mod without;
