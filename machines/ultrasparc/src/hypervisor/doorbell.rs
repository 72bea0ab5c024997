//! The fast path's registers, with which a program rings the doorbell and asks for status, without privilege.
//!
//! Rainbow Falls' own were never published. These are ours: an address space of user programs, [`ASI_USER_QUEUE`],
//! with three registers of eight bytes ([`user_register`]). The hardware tags each access with the partition and the
//! context of the strand. If that process has no queue at its core's unit, stores are ignored and loads give zero.

use super::Machine;

/// The address space of the fast path's registers.
pub const ASI_USER_QUEUE: u8 = 0xb8;

/// The registers, by address.
pub mod user_register {
    /// Offset in the queue of the next word to be written. A store submits the words before it.
    pub const TAIL: u64 = 0x00;
    /// Offset of the first word that is not finished. Read only.
    pub const HEAD: u64 = 0x08;
    /// The bits of [`crate::spu::status`]. A store clears the errors.
    pub const STATUS: u64 = 0x10;
}

impl Machine {
    /// Loads from a register of the fast path for a processor, if there is such a register.
    pub fn user_load(&mut self, cpu: usize, address: u64) -> Option<u64> {
        let queue = self.user_queue_of(cpu);
        Some(match address {
            user_register::TAIL => queue.map_or(0, |queue| queue.tail()),
            user_register::HEAD => queue.map_or(0, |queue| queue.head()),
            user_register::STATUS => queue.map_or(0, |queue| queue.status()),
            _ => return None,
        })
    }

    /// Stores to a register of the fast path; false if there is no such register. The unit works on submitted words
    /// as time passes.
    pub fn user_store(&mut self, cpu: usize, address: u64, value: u64) -> bool {
        let queue = self.user_queue_of(cpu);
        match (address, queue) {
            (user_register::TAIL, Some(queue)) => queue.set_tail(value),
            (user_register::STATUS, Some(queue)) => queue.clear_errors(),
            _ => {}
        }
        matches!(address, user_register::TAIL | user_register::HEAD | user_register::STATUS)
    }
}
