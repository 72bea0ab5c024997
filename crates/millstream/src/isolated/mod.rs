//! Keys and accelerators in another process.
//!
//! [`Accelerator::attach`] asks the service (`millstream serve`) for a *grant*: memory for objects, queues, and places
//! for keys, in one round trip. From then on operations pass through shared memory, with no system call on the
//! way, and the [`Queue`](crate::queue::Queue) is used as any other.
//!
//! ```no_run
//! use millstream::cwq::Algorithm;
//! use millstream::isolated::{Accelerator, Exportable};
//! use millstream::queue::Request;
//!
//! let accelerator = Accelerator::attach()?;
//! let key = accelerator.generate_key(Algorithm::AesGcm, 32, Exportable::No)?;
//! let mut queue = accelerator.queue()?;
//! let (source, destination) = (queue.buffer(1024)?, queue.buffer(1024)?);
//! queue.submit(Request::seal(key, &[1; 12], b"header", source, destination))?;
//! println!("tag {:02x?}", queue.wait().expect("one is in flight").tag());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is protected from what
//! - Key bytes enter a worker once, through a socket that only this process and the worker have, and never come back
//!   unless the key was made [`Exportable::Yes`]. The worker keeps them in memory that nobody else maps.
//! - So a bug in this process, or its core dump, gives away what it handles now, and no key that a worker generated. An
//!   imported key was in this process before: what this process has left of it is not protected by anything.
//! - A key ends with its grant. One that has to live longer is in a [`token`] of the service, or kept elsewhere and imported again.
//! - This process knows the service by what the kernel says of it, too: it gives its keys to root's and to its own user's
//!   service, and to no other that it was not told of ([`Attach::service_uid`]). With more rights than whoever started
//!   it, as a set-user-ID program, it takes no socket from the environment and looks in `/run/millstream` only.
//! - The service knows this process by what the kernel says of it, and grants what its policy allows to its user.
//! - A handle of another grant names nothing. No process maps the memory of another grant.
//! - The worker believes nothing it reads from shared memory; this process believes nothing it reads from the rings.
//! - An attacker who takes over this process holds its handles for as long, and no key. He can do with them what the
//!   keys are for ([`KeyOptions`](crate::queue::KeyOptions)): a key that only verifies signs nothing, and one whose
//!   nonces the worker makes ([`Nonces::Made`](crate::queue::Nonces::Made)) seals nothing twice under one nonce, which
//!   would give away how to forge.
//! - With its *data* this process trusts the worker, which has to read and write it.
//! - A grant can be revoked, and worker and broker can die, at any moment: what completed is kept, what has not
//!   ends with [`Status::Revoked`](crate::cwq::Status::Revoked) or [`Status::Gone`](crate::cwq::Status::Gone), its
//!   input intact, and later requests are refused. Attach again, and import the keys again.
//! - A forked child has nothing of its parent's grants, and can't disturb them. It may attach itself.
//!
//! # Keys of a library
//! A library that unmodified programs load, and that may be forked at any time, uses [`ServiceKey`]: one key, one call, one
//! result. [`Grants`] attaches where it is needed, for each process on its own.
//!
//! # Without a service
//! Nothing falls back by itself. With [`Fallback::InProcess`], and only when no service can be reached at the moment
//! of attaching, an accelerator in this process takes its place; [`fallbacks`] counts that and
//! [`Accelerator::is_isolated`] tells. A refusal is an answer, not an absence: it is never computed around.

mod accelerator;
mod attach;
mod grants;
mod local;
mod login;
mod process;
mod service;
mod service_key;
pub mod token;
mod token_key;

pub use accelerator::{Accelerator, fallbacks};
pub use attach::{Attach, AttachError, Connection, Fallback};
pub use grants::Grants;
pub use millstream_protocol::{
    GrantStatus, KeyRefusal, QueueCounts, Refusal as ServiceRefusal, Use, UseStatus, WorkerStatus,
    environment,
};
pub use process::{PerProcess, may_change_root};
pub use service::{Service, ServiceError, Status, TokenChanges};
pub use service_key::{BegunSignature, Chaining, ServiceKey, ServiceKeyError, UsageRange};
pub use token_key::TokenKey;

pub use crate::grant::{GrantInfo, GrantState};
pub use crate::key::Exportable;
