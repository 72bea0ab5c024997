//! libmillstream: cryptographic acceleration for C programs.
//!
//! This crate is a face of the crate `millstream`: it has no algorithm and no protocol of its own. A C program includes
//! `millstream.h`, which is generated from the doc comments of [`ffi`], and links `-lmillstream`; `cargo xtask install
//! --prefix DIR` puts both in place, with a file for pkg-config.
//!
//! # In four ways
//! - **Direct:** one object, one call. A key ([`ffi::direct::millstream_key_new`]) is for one algorithm; each function
//!   says which algorithms' keys it takes. A message that comes in pieces is a stream ([`ffi::stream`]).
//! - **Batch:** an array of operations, one call ([`ffi::batch::millstream_batch`]); those of one kind go side by side in
//!   vector lanes, and each has a status of its own.
//! - **Queue:** operations in flight, executed by the thread that polls or by an accelerator's own ([`ffi::queue`]). Their
//!   bytes lie in buffers of the queue. Between submission and end a buffer is the operation's: its handle stays with the
//!   program and gives out no pointer meanwhile, so the mistake of touching it is found.
//! - **Isolated:** the same queues, served by another process that holds the keys ([`ffi::isolated`]). Nothing falls back to this
//!   process unless that was asked for.
//!
//! # What goes wrong
//! Every failure has a number of its own ([`status::Status`]), and `millstream_last_error()` says on the same thread what
//! was wrong and what to do. NULL, impossible lengths and overlaps are refused before anything is computed. No panic
//! crosses: it becomes `MILLSTREAM_STATUS_PANIC`.
//!
//! # Threads
//! Keys, accelerators and accelerators' threads may be used by any number of threads at once; a stream, or a queue with its
//! buffers, by one at a time.
//!
//! # Stability
//! Numbers of algorithms, kinds and statuses never change. Structures have a fixed size with reserved fields that must be
//! 0. Symbols have the version `MILLSTREAM_0.1`, and nothing but `millstream_*` is visible.
//!
//! # An example
//! One of `docs/c`, all of which the tests compile and run:
//! ```c
#![doc = include_str!("../examples/direct.c")]
//! ```
#![deny(unsafe_code)]

pub mod algorithm;
mod direct;
mod failure;
pub mod ffi;
mod key;
mod pass;
mod queue;
pub mod status;
pub mod stream;
