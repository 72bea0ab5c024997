//! Control words, completions, and the rings they travel in.
//!
//! A [`ControlWord`] is 64 bytes that describe one operation completely: what to do, under which key,
//! on which bytes of an arena. It travels through a ring from an application to an accelerator; a
//! [`Completion`] of 16 bytes comes back through another. Nothing here makes a system call, knows
//! a cipher, or is unsafe: a ring is an algorithm over a slice of atomic words, wherever they lie.
//!
//! ```
//! use std::sync::Arc;
//! use millstream_cwq::{Completion, ControlWord, Opcode, Status, ring};
//!
//! let memory: Arc<[_]> = ring::memory::<{ ControlWord::WORDS }>(4).into();
//! let mut submissions = ring::Producer::new(memory.clone()).unwrap();
//! let mut accelerator = ring::Consumer::new(memory).unwrap();
//!
//! let word = ControlWord { opcode: Opcode::Null as u8, tag: 7, ..ControlWord::default() };
//! submissions.push(&word.to_words()).unwrap();
//! submissions.publish();
//!
//! let received = ControlWord::from_words(accelerator.pop().unwrap().unwrap());
//! let done = Completion { tag: received.tag, status: Status::Ok as u16, ..Completion::default() };
//! assert_eq!(done.tag, 7);
//! ```
#![forbid(unsafe_code)]

mod batch;
mod code;
mod completion;
pub mod ring;
mod scheme;
mod set;
mod sync;
mod usage;
mod word;

pub use code::{Algorithm, Opcode};
pub use completion::{Completion, Status};
pub use scheme::{Padding, Scheme};
pub use set::AlgorithmSet;
pub use usage::{UsageError, Usages};
pub use word::{ControlWord, Flags, VERSION};
