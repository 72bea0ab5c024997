//! The broker and its workers. The broker grants processes their accelerators, takes them back, and is out of
//! the way in between. The workers hold the keys and the accelerators.
//!
//! ```text
//! client ── Request ──► broker ── Order ──► worker
//!        ◄── Reply ────        ◄── Report ─
//! ```
//!
//! One thread waits for all of them, and never for a single one: messages that a client or worker does not
//! take are kept until it does, and when a worker does not answer in time, the broker goes on without it. The
//! broker sees no object and no key. It makes the memory of a grant and hands it out, and never maps its
//! arena.
//!
//! | file | holds |
//! | --- | --- |
//! | `broker.rs` | the event loop |
//! | `orders.rs` | orders to workers, and the handling of their answers |
//! | `client.rs`, `operate.rs` | the clients; their requests besides grants: status, revocation, moving, reloading |
//! | `attach.rs` | the requests for grants |
//! | `grant.rs` | one grant: its memory, its state, its end |
//! | `ledger/` | the charges: limits, reserves, and the rate of requests |
//! | `ending.rs` | the end of grants, and when their memory and charges are free again |
//! | `errands.rs` | slow work on the memory of grants, on threads that serve nobody |
//! | `idle.rs`, `untaken.rs` | connections that ask for nothing, and those that do not take what they were given |
//! | `crew.rs`, `progress.rs` | the worker processes, the orders they have not answered, and telling busy ones from dead ones |
//! | `link.rs` | messages that are kept until the other side takes them |
//! | `disposal.rs`, `key_ends.rs` | closing descriptors of strangers that the kernel did not refuse |
//! | `policy/` | the limits of each user and of the service |
//! | `tokens/` | the tokens that the service keeps: who may use them, and their store |
//! | `place.rs` | the socket in the file system |
//! | `chatter.rs`, `shown.rs`, `said.rs` | rate limits for log lines, the escaping of strangers' texts, and the standard error of workers |
//! | `metrics/`, `probes.rs` | Prometheus metrics and static tracepoints |
//! | `worker/` | the code of a worker's process, which runs none of the above |
#![deny(unsafe_code)]

mod attach;
mod broker;
mod chatter;
mod client;
mod config;
mod crew;
mod disposal;
mod ending;
mod errands;
mod error;
mod grant;
mod identity;
mod idle;
mod key_ends;
mod ledger;
mod link;
mod metrics;
mod operate;
mod orders;
mod place;
mod policy;
mod poll;
mod probes;
mod process;
mod progress;
mod said;
mod shown;
mod stop;
mod tokens;
mod totals;
mod untaken;
pub mod worker;

pub use broker::Broker;
pub use config::{Config, WorkerCommand};
pub use error::Error;
pub use metrics::{MetricsAddress, MetricsConfig};
pub use stop::Stop;

/// The policy: [`Policy`](policy::Policy) from a file, and its limits for a peer.
pub mod rules {
    pub use crate::identity::Peer;
    pub use crate::policy::{Limits, Policy, PolicyError, Service};
}

/// The records of tokens, as they pass from the broker to a worker in sealed memory.
pub mod records {
    pub use crate::tokens::records::{bytes, parse};
}
