//! Two data planes in two network namespaces, without any privilege: pings and streams through them, rekeying, replays, peers that move, narrow
//! paths, and ends in the middle of the work.

mod bed;
#[path = "../common/mod.rs"]
mod common;
mod kernel;
mod offload;
mod path_mtu;
mod planes;
mod soak;
mod strongswan;
