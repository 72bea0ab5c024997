//! Handles of queues: a number of 12 bits, and a signature.
//!
//! Ref. OpenSPARC hypervisor, `ncs.h`. The signature of user queues was never published; ours stands in its place.

use super::Status;
use crate::spu::{Model, SLOTS, Slot};

const MAU: u64 = 0x864;
const CWQ: u64 = 0xa72;
const USER: u64 = 0x5d1;

/// The queue that a handle names, by the number of the core whose unit has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handle {
    /// A queue of modular arithmetic.
    Mau(u64),
    /// A queue of control words.
    Cwq(u64),
    /// A process's queue, in a slot of the unit.
    User(u64, Slot),
}

impl Handle {
    /// The handle as a guest sees it.
    #[must_use]
    pub fn code(self) -> u64 {
        match self {
            Handle::Mau(id) => id << 16 | MAU,
            Handle::Cwq(id) => id << 16 | CWQ,
            Handle::User(id, slot) => (id * SLOTS as u64 + u64::from(slot.0)) << 16 | USER,
        }
    }

    /// Reads a handle that a guest gave.
    pub(super) fn parse(model: Model, code: u64) -> Result<Handle, Status> {
        let id = code >> 16;
        let (unit, handle) = match code & 0xffff {
            MAU => (id, Handle::Mau(id)),
            CWQ => (id, Handle::Cwq(id)),
            USER => {
                let (unit, slot) = (id / SLOTS as u64, id % SLOTS as u64);
                (unit, Handle::User(unit, Slot(slot as u8)))
            }
            _ => return Err(Status::Invalid),
        };
        if unit < model.units() { Ok(handle) } else { Err(Status::Invalid) }
    }
}
