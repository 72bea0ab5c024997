//! The hypervisor, as far as it serves the accelerators: the NCS calls, and the machine they are made on.
//!
//! A [`Machine`] is cores, each with its unit, shared out among partitions. Its owner executes programs and tells it
//! of three things: a hypervisor call ([`Machine::hypercall`]), an access to the registers of the fast path
//! ([`Machine::user_load`], [`Machine::user_store`]), and the passing of time ([`Machine::advance`]).
//!
//! | call | | file |
//! | --- | --- | --- |
//! | 0x110 | ncs_request | `request.rs` |
//! | 0x111 to 0x117 | ncs_qconf, qinfo, gethead, gettail, settail, qhandle_to_devino, sethead_marker | `queues.rs`, `cwq.rs`, `mau.rs` |
//! | 0x118 | ncs_ulqconf | `user.rs` |
//!
//! Ref. UltraSPARC Virtual Machine Specification 3.0 §25.2; FWARC 2006/425, 2009/451; OpenSPARC hypervisor,
//! `hcall_ncs.s`, `cwq.s`. Ours: the calls that each version has, and the answer to a call for which no version was
//! agreed on.

mod core;
mod cwq;
mod domain;
mod doorbell;
mod handle;
mod machine;
mod mau;
mod position;
mod queues;
mod request;
mod status;
mod user;

#[cfg(test)]
mod tests;

pub use domain::{HYPERVISOR_MEMORY, Range};
pub use doorbell::{ASI_USER_QUEUE, user_register};
pub use handle::Handle;
pub use machine::{Event, Machine};
pub use position::QueueType;
pub use status::{Reply, Status};

/// The API group of the NCS calls.
pub const GROUP: u64 = 0x103;

/// The functions' numbers, which a guest puts into %o5.
pub mod function {
    #![allow(missing_docs)]
    pub const REQUEST: u64 = 0x110;
    pub const QCONF: u64 = 0x111;
    pub const QINFO: u64 = 0x112;
    pub const GETHEAD: u64 = 0x113;
    pub const GETTAIL: u64 = 0x114;
    pub const SETTAIL: u64 = 0x115;
    pub const QHANDLE_TO_DEVINO: u64 = 0x116;
    pub const SETHEAD_MARKER: u64 = 0x117;
    pub const ULQCONF: u64 = 0x118;
}
