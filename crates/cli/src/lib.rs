//! The command `millstream`: file tools on the fastest kernels this processor has, and an account
//! of which those are.
//!
//! `commands` has one file a subcommand, `formats` one file a file format. The formats are public
//! so that they can be fuzzed and tested without a process around them.
//!
//! ```
//! use millstream_cli::formats::tink;
//! use millstream_cpu::Features;
//!
//! let features = Features::hardware();
//! let key = tink::Key::new(&[7; 32])?;
//! let (mut sealed, mut opened) = (Vec::new(), Vec::new());
//! tink::encrypt(features, &b"an object"[..], &mut sealed, &key, b"")?;
//! tink::decrypt(features, &sealed[..], &mut opened, &key, b"")?;
//! assert_eq!(opened, b"an object");
//! # Ok::<(), millstream_cli::formats::Error>(())
//! ```
#![deny(unsafe_code)]

pub mod cipher;
mod commands;
pub mod error;
pub mod formats;
pub mod input;
mod observe;
pub mod output;
pub mod pbkdf2;
pub mod pipeline;
mod programs;
pub mod progress;
pub mod secret;
mod signals;
mod sparc;
mod speed;
mod status;

pub use commands::run;
