//! The way back of an operation that has not begun.

use millstream_cwq::{ControlWord, Opcode};

use super::{Queue, Ticket};

/// The tag of cancels: no slot has this number.
pub(super) const CANCEL: u64 = u64::MAX;

impl Queue {
    /// Takes an operation back if it has not begun: it ends all the same, with
    /// [`Status::Cancelled`](crate::cwq::Status::Cancelled).
    pub fn cancel(&mut self, ticket: Ticket) {
        let live = self.slots.get(ticket.slot() as usize).is_some_and(|slot| slot.holds(ticket));
        // More cancels than the queue is deep would take the room of operations.
        if !live || self.cancels >= self.slots.len() {
            return;
        }
        let word = ControlWord {
            opcode: Opcode::Cancel as u8,
            key: ticket.slot(),
            mac_key: ticket.generation(),
            tag: CANCEL,
            ..ControlWord::default()
        };
        if self.submissions.push(&word.to_words()).is_ok() {
            self.submissions.publish();
            self.cancels += 1;
        }
    }

    /// Cancels an operation whose end nobody wants to know: its buffers are dropped then.
    pub(super) fn detach(&mut self, ticket: Ticket) {
        if let Some(slot) = self.slots.get_mut(ticket.slot() as usize)
            && slot.holds(ticket)
        {
            slot.detach();
            self.cancel(ticket);
        }
    }
}
