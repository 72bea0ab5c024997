//! The fast path's queues: each is in the page of one process, which writes words and reads results without the
//! kernel.
//!
//! Rainbow Falls had this. Only the idea and its rules are published (the hypervisor's `ncs_ulqconf`, US patent
//! 7,809,895, the Hot Chips talk of 2009), not the registers. Ours, therefore:
//!
//! - addresses in words are offsets into the page, so that 0 stays "none";
//! - the unit writes a word's status (done, protocol error, hardware error: bits 50 to 52 of its control) into the queue, where
//!   the process looks for it;
//! - a word at fault takes the rest of its block with it, to EOB or to the tail, and the queue goes on after it;
//! - no word may name the queue itself, and no result may overlap its own inputs, so any operation can be redone;
//! - the unit serves the queue that was served least, counted in bytes and words.

use super::codes::Model;
use super::control_word::{Control, ControlWord, WORD_BYTES};
use super::diagnostics::Latches;
use super::fault::Fault;
use super::operation::Limits;
use super::physical::{BusError, Page, Physical};
use super::ring::{Ring, mark};
use super::{Outcome, Place};

/// The number of one of a unit's user queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u8);

/// User queues of one unit: one for each strand.
pub const SLOTS: usize = 8;

/// The identity of a process, with which the hardware tags its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The partition.
    pub partition: u16,
    /// The context: the address space in the partition.
    pub context: u16,
}

/// The status register of a user queue.
pub mod status {
    /// The queue is granted to the process that asks. Nothing else is set without it.
    pub const GRANTED: u64 = 1;
    /// The queue has words that are not finished.
    pub const BUSY: u64 = 2;
    /// A word was refused since this was last cleared.
    pub const PROTOCOL_ERROR: u64 = 4;
    /// Memory did not answer since this was last cleared.
    pub const HARDWARE_ERROR: u64 = 8;
}

/// A queue in a process's page.
pub struct UserQueue {
    /// The process that it belongs to.
    pub identity: Identity,
    page: u64,
    limits: Limits,
    pub(crate) ring: Ring,
    /// Errors since they were last cleared.
    errors: u64,
    /// True after a word at fault until its block has ended.
    skipping: bool,
    served: u64,
}

impl UserQueue {
    /// A queue of `words` words at `offset` in the page at physical address `page`.
    #[must_use]
    pub fn new(identity: Identity, page: u64, page_bytes: u64, offset: u64, words: u64) -> UserQueue {
        let ring = Ring::new(offset, words);
        let limits = Limits { page_bytes, queue: offset..offset + words * WORD_BYTES };
        UserQueue { identity, page, limits, ring, errors: 0, skipping: false, served: 0 }
    }

    /// The offset in the queue of the next word to execute.
    #[must_use]
    pub fn head(&self) -> u64 {
        self.ring.head - self.ring.first
    }

    /// The offset in the queue at which the next word will be written.
    #[must_use]
    pub fn tail(&self) -> u64 {
        self.ring.tail - self.ring.first
    }

    /// Words in the queue's memory.
    #[must_use]
    pub fn words(&self) -> u64 {
        (self.ring.last - self.ring.first) / WORD_BYTES + 1
    }

    /// Physical address of the page.
    #[must_use]
    pub fn page(&self) -> u64 {
        self.page
    }

    /// Bytes of the page.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.limits.page_bytes
    }

    /// The status register.
    #[must_use]
    pub fn status(&self) -> u64 {
        let busy = if self.ring.is_empty() { 0 } else { status::BUSY };
        status::GRANTED | busy | self.errors
    }

    /// Clears the errors.
    pub fn clear_errors(&mut self) {
        self.errors = 0;
    }

    /// Sets the tail; a tail outside the queue is ignored, and shows as an error.
    pub fn set_tail(&mut self, offset: u64) {
        if offset.is_multiple_of(WORD_BYTES) && offset / WORD_BYTES < self.words() {
            self.ring.tail = self.ring.first + offset;
        } else {
            self.errors |= status::PROTOCOL_ERROR;
        }
    }

    /// The memory that its words reach.
    pub(crate) fn view<'m>(&self, memory: &'m mut dyn Physical) -> Page<'m> {
        Page { memory, base: self.page, bytes: self.limits.page_bytes }
    }

    /// Adds a cost to the service that it got.
    pub(crate) fn charge(&mut self, now: u64, cost: u64) {
        self.served = self.served.max(now) + cost;
    }

    /// Executes the word at the head, says in the queue what became of it, and goes on.
    pub(crate) fn finish(
        &mut self,
        model: Model,
        word: Result<ControlWord, BusError>,
        memory: &mut dyn Physical,
        latches: &mut Latches,
    ) -> (bool, Outcome) {
        let mut page = self.view(memory);
        let at = self.ring.head;
        let outcome = match &word {
            Ok(word) if self.skipping && !word.control.start_of_block() => Outcome::Skipped,
            Ok(word) => match self.ring.execute(model, Some(&self.limits), word, &mut page, latches) {
                Ok(_) => Outcome::Done,
                Err(fault) => Outcome::Failed(fault),
            },
            Err(error) => Outcome::Failed(Fault::Bus(*error)),
        };
        if let Outcome::Failed(fault) = outcome {
            self.ring.forget_block();
            self.errors |= match fault {
                Fault::Refused(_) => status::PROTOCOL_ERROR,
                Fault::Bus(_) => status::HARDWARE_ERROR,
            };
        }
        let control = word.map_or(Control::default(), |word| word.control);
        // If the page is gone, the status register still shows the error.
        let _ = mark(&mut page, at, marked(control, outcome));
        self.ring.head = self.ring.after(at);
        let ends = control.end_of_block();
        self.skipping = outcome != Outcome::Done && !ends && !self.ring.is_empty();
        (ends || outcome != Outcome::Done, outcome)
    }
}

/// A word's control with its status.
fn marked(control: Control, outcome: Outcome) -> Control {
    let control = Control(control.0 & !Control::STATUS).with_done();
    match outcome {
        Outcome::Done => control,
        Outcome::Failed(Fault::Bus(_)) => control.with_hardware_error(),
        Outcome::Failed(Fault::Refused(_)) | Outcome::Skipped | Outcome::BadOperands | Outcome::Parity => {
            control.with_protocol_error()
        }
    }
}

/// The user queues of a unit, and the turns that they take.
///
/// Each queue counts the service that it got, in bytes and words, and the one that got least is next. A queue that
/// was idle does not save up for later: it begins where the others are.
#[derive(Default)]
pub struct UserQueues {
    slots: [Option<UserQueue>; SLOTS],
    /// The count of the queue that was served last, before that service.
    now: u64,
}

impl UserQueues {
    /// Adds a queue, if there is room.
    pub fn insert(&mut self, queue: UserQueue) -> Option<Slot> {
        let free = self.slots.iter().position(Option::is_none)?;
        self.slots[free] = Some(UserQueue { served: self.now, ..queue });
        Some(Slot(free as u8))
    }

    /// The queue of a slot.
    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<&UserQueue> {
        self.slots.get(usize::from(slot.0))?.as_ref()
    }

    /// The queue of a slot, to change it.
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut UserQueue> {
        self.slots.get_mut(usize::from(slot.0))?.as_mut()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &UserQueue)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(i, queue)| Some((Slot(i as u8), queue.as_ref()?)))
    }

    /// The queue of a process.
    #[must_use]
    pub fn of(&self, identity: Identity) -> Option<Slot> {
        self.iter().find(|(_, queue)| queue.identity == identity).map(|(slot, _)| slot)
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> Option<UserQueue> {
        self.slots.get_mut(usize::from(slot.0))?.take()
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The place whose turn it is. `hypervisor` is the count of the hypervisor's queue, if that waits for a turn.
    pub(crate) fn turn(&mut self, hypervisor: Option<u64>) -> Option<Place> {
        let now = self.now;
        let waiting = self.iter().filter(|(_, queue)| !queue.ring.is_empty());
        let users = waiting.map(|(slot, queue)| (queue.served.max(now), Place::User(slot)));
        let all = users.chain(hypervisor.map(|served| (served.max(now), Place::Hypervisor)));
        let (served, place) = all.min_by_key(|(served, _)| *served)?;
        self.now = served;
        Some(place)
    }
}
