//! Which cryptographic instructions a program runs, and running it without them.
//!
//! Any program on Linux: unmodified, static, stripped, in any language, and without privileges.
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
