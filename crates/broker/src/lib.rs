//! The broker: it grants processes their accelerators, takes them back, and is out of the way in between. And its
//! workers, which hold the keys and the accelerators.
//!
//! ```text
//! client ── Request ──► broker ── Order ──► worker
//!        ◄── Reply ────        ◄── Report ─
//! ```
//!
//! One thread waits for all of them. It never waits for one of them: what a client or a worker does not take is kept
//! until it does, and what a worker does not answer in time goes on without it. The broker sees no object and no
//! key: it makes the memory of a grant and hands it out, and never maps its arena.
//!
//! | file | holds |
//! | --- | --- |
//! | `broker.rs` | the event loop |
//! | `orders.rs` | what workers are told to do, and what becomes of their answers |
//! | `client.rs`, `operate.rs` | the clients; what they ask beside grants: status, revocation, moving, reloading |
//! | `attach.rs` | how they get their grants |
//! | `grant.rs` | one grant: its memory, its state, its end |
//! | `ledger/` | what is out and to whom: limits, reserves, and how often one may ask |
//! | `ending.rs` | how grants end, and when what they were made of is free again |
//! | `errands.rs` | what takes long with the memory of grants: by threads that serve nobody |
//! | `idle.rs`, `untaken.rs` | connections that ask for nothing, and those that do not take what they were given |
//! | `crew.rs`, `progress.rs` | the worker processes, the orders they have not answered, and how busy is told from dead |
//! | `link.rs` | messages that are kept until the other side takes them |
//! | `disposal.rs`, `key_ends.rs` | where descriptors of strangers are closed that the kernel did not refuse |
//! | `policy/` | who may have what |
//! | `place.rs` | the socket in the file system |
//! | `chatter.rs`, `shown.rs`, `said.rs` | how many lines others may have written to the log, what of their texts is seen there, and what workers say last |
//! | `metrics/`, `probes.rs` | what others can watch |
//! | `worker/` | what runs in a worker's process; nothing of the above does |
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
mod untaken;
pub mod worker;

pub use broker::Broker;
pub use config::{Config, WorkerCommand};
pub use error::Error;
pub use metrics::{MetricsAddress, MetricsConfig};
pub use stop::Stop;

/// Who may have what: [`Policy`](policy::Policy) from a file, and what it says of a peer.
pub mod rules {
    pub use crate::identity::Peer;
    pub use crate::policy::{Limits, Policy, PolicyError, Service};
}
