//! The loop of a thread that hosts an accelerator: it looks at the rings, executes, wakes clients, obeys commands, and sleeps.
//!
//! The loop runs a [`Hosted`]: an accelerator and its clients. A program's own thread and a worker's run the same loop.
//! They differ in how they [`Sleep`], in the [`Bell`] of their [`Mailbox`], and in what a worker owes clients who don't trust
//! each other: the hooks of [`Hosted`] are for that, and the worker implements them.
#![forbid(unsafe_code)]

mod bell;
mod mailbox;
mod patience;
mod run;
mod sleep;
mod sync;

pub use bell::Unpark;
pub use mailbox::{Bell, End, Mailbox};
pub use patience::Patience;
pub use run::{Blocked, Hosted, Pace, run};
pub use sleep::{Park, Sleep};
