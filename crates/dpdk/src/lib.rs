//! Millstream as a cryptodev driver of DPDK: programs that forward packets use its engines through DPDK's own interface.
//!
//! ```text
//! program ── librte_cryptodev ── driver/ (C: registration, mbufs) ── ffi ── session (keys, bound once)
//!                                                                     ├── run: a burst in lanes, on this thread
//!                                                                     └── isolated: a queue of a worker that holds the keys
//! ```
//!
//! DPDK's interface is C with inline functions, and with structures that differ between its versions. So what knows DPDK is C, in the
//! folder `driver`: it registers the driver, reads mbufs and operations, and describes each operation by a [`Packet`]. The rest is
//! here, knows nothing of DPDK but its numbers of algorithms, and is tested without it.
#![deny(unsafe_code)]

mod algorithms;
mod bits;
mod ffi;
mod geometry;
mod isolated;
mod local;
mod packet;
mod refusal;
mod session;

pub use algorithms::{Class, Range, Row, rows};
pub use ffi::*;
pub use isolated::{Device, Lane};
pub use packet::{Access, Packet, Status};
pub use refusal::Refusal;
pub use session::{Session, Transform};
