//! The control word queue: rings of control words in memory, their registers, and the unit that works through them.
//!
//! One ring belongs to the hypervisor; it has the registers of ASI 0x40. Rainbow Falls has further ones, each of a
//! process and inside the page that it was granted: see [`UserQueue`]. Work is in two steps, so that it can take
//! time: [`Queues::start`] takes a word, [`Queues::finish`] executes it. Between them the unit is busy, and the
//! operation can be aborted without a trace.
//!
//! Ref. OpenSPARC T2, `asi_s.h` and its tests; OpenSPARC hypervisor, `cwq.s`. Ours: that a queue's error always
//! interrupts, and that the interrupt of an operation comes at its end, whichever of its words asked for it.

use super::codes::Model;
use super::control_word::{ControlWord, WORD_BYTES};
use super::diagnostics::Latches;
use super::fault::Fault;
use super::operation::gathered;
use super::physical::{BusError, Physical};
use super::ring::Ring;
use super::user_queue::{Slot, UserQueue, UserQueues};
use super::{Completed, Interrupt, Kind, Outcome, Place, Work, trap};

/// The control and status register.
pub mod csr {
    /// The queue is enabled.
    pub const ENABLED: u64 = 1;
    /// A word of it is being executed.
    pub const BUSY: u64 = 2;
    /// The queue stopped at an invalid word.
    pub const PROTOCOL_ERROR: u64 = 4;
    /// The queue stopped because memory did not answer.
    pub const HARDWARE_ERROR: u64 = 8;
}

/// The queue's registers, by address.
pub mod register {
    #![allow(missing_docs)]
    pub const HEAD: u64 = 0x00;
    pub const TAIL: u64 = 0x08;
    pub const FIRST: u64 = 0x10;
    pub const LAST: u64 = 0x18;
    pub const CSR: u64 = 0x20;
    pub const CSR_ENABLE: u64 = 0x28;
    pub const SYNC: u64 = 0x30;
    pub const DIAGNOSTIC_SYNC: u64 = 0x208;
}

/// The bits of a pointer: 48, at multiples of a word.
const POINTER: u64 = 0xffff_ffff_ffc0;

/// A word that was taken and not executed.
struct Flight {
    place: Place,
    word: Result<ControlWord, BusError>,
    work: Work,
}

/// The unit: the hypervisor's queue and those of processes.
pub struct Queues {
    model: Model,
    ring: Ring,
    /// The bit that enables the queue, and the errors at which it stopped.
    status: u64,
    /// The strand of the last block's first word.
    strand: u8,
    users: UserQueues,
    /// The service that the hypervisor's queue got: see [`UserQueues`].
    served: u64,
    flight: Option<Flight>,
    interrupts: Vec<Interrupt>,
    latches: Latches,
}

impl Queues {
    pub(crate) fn new(model: Model) -> Queues {
        Queues {
            model,
            ring: Ring::default(),
            status: 0,
            strand: 0,
            users: UserQueues::default(),
            served: 0,
            flight: None,
            interrupts: Vec::new(),
            latches: Latches::default(),
        }
    }

    /// The value of the status register.
    #[must_use]
    pub fn csr(&self) -> u64 {
        self.status | if self.is_busy() { csr::BUSY } else { 0 }
    }

    /// True while a word of the hypervisor's queue is being executed.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.flight.as_ref().is_some_and(|flight| flight.place == Place::Hypervisor)
    }

    /// True if there is nothing to do for the hypervisor's queue.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        !self.is_busy() && !self.is_ready()
    }

    fn is_ready(&self) -> bool {
        self.status & csr::ENABLED != 0 && !self.ring.is_empty()
    }

    /// The value of a register. SYNC has the value of CSR; its reader must wait until the queue is idle.
    #[must_use]
    pub fn load(&self, address: u64) -> Option<u64> {
        Some(match address {
            register::HEAD => self.ring.head,
            register::TAIL => self.ring.tail,
            register::FIRST => self.ring.first,
            register::LAST => self.ring.last,
            register::CSR | register::CSR_ENABLE | register::SYNC | register::DIAGNOSTIC_SYNC => self.csr(),
            _ => return self.latches.load(address),
        })
    }

    /// Sets a register; false if there is no such register.
    pub fn store(&mut self, address: u64, value: u64) -> bool {
        match address {
            register::HEAD => {
                self.ring.head = value & POINTER;
                self.ring.forget_block();
            }
            register::TAIL => self.ring.tail = value & POINTER,
            register::FIRST => self.ring.first = value & POINTER,
            register::LAST => self.ring.last = value & POINTER,
            // A word under way is finished even after the queue is disabled.
            register::CSR => self.status = value & csr::ENABLED,
            register::CSR_ENABLE => self.status = self.status & !csr::ENABLED | value & csr::ENABLED,
            _ => return false,
        }
        true
    }

    /// Takes a word, if one waits and none is under way.
    pub fn start(&mut self, memory: &mut dyn Physical) -> Option<Work> {
        if self.flight.is_some() {
            return None;
        }
        let hypervisor = self.is_ready().then_some(self.served);
        let place = self.users.turn(hypervisor)?;
        let (word, work) = match place {
            Place::Hypervisor => {
                let word = fetch(self.ring.head, memory);
                (word, work(self.model, &self.ring, place, word, memory))
            }
            Place::User(slot) => {
                let queue = self.users.get_mut(slot)?;
                let page = queue.view(memory);
                let word = fetch(queue.ring.head, &page);
                (word, work(self.model, &queue.ring, place, word, &page))
            }
        };
        self.flight = Some(Flight { place, word, work });
        Some(work)
    }

    /// Executes the word that was taken.
    pub fn finish(&mut self, memory: &mut dyn Physical) -> Option<Completed> {
        let Flight { place, word, work } = self.flight.take()?;
        let (last, outcome) = match place {
            Place::Hypervisor => {
                let ended = self.finish_hypervisor(word, memory);
                self.served = self.users.now().max(self.served) + cost(&work, &self.ring);
                ended
            }
            Place::User(slot) => {
                let (model, now) = (self.model, self.users.now());
                let queue = self.users.get_mut(slot)?;
                let ended = queue.finish(model, word, memory, &mut self.latches);
                queue.charge(now, cost(&work, &queue.ring));
                ended
            }
        };
        Some(Completed { work, last, outcome })
    }

    fn finish_hypervisor(
        &mut self,
        word: Result<ControlWord, BusError>,
        memory: &mut dyn Physical,
    ) -> (bool, Outcome) {
        if let Ok(word) = &word
            && !self.ring.in_block()
        {
            self.strand = word.control.strand();
        }
        let done = word.map_err(Fault::Bus).and_then(|word| {
            let interrupt = self.ring.execute(self.model, None, &word, memory, &mut self.latches)?;
            Ok((word.control.end_of_block(), interrupt))
        });
        match done {
            Ok((last, interrupt)) => {
                self.ring.head = self.ring.after(self.ring.head);
                if interrupt {
                    self.interrupt();
                }
                (last, Outcome::Done)
            }
            Err(fault) => {
                self.ring.forget_block();
                self.status = match fault {
                    Fault::Refused(_) => csr::PROTOCOL_ERROR,
                    Fault::Bus(_) => csr::HARDWARE_ERROR,
                };
                self.interrupt();
                (true, Outcome::Failed(fault))
            }
        }
    }

    fn interrupt(&mut self) {
        let interrupt = Interrupt { trap: trap::CONTROL_WORD_QUEUE, strand: self.strand };
        if !self.interrupts.contains(&interrupt) {
            self.interrupts.push(interrupt);
        }
    }

    /// Takes an interrupt that waits.
    pub fn take_interrupt(&mut self) -> Option<Interrupt> {
        self.interrupts.pop()
    }

    /// Works until the hypervisor's queue is idle, as SYNC waits for it.
    pub fn drain(&mut self, memory: &mut dyn Physical) -> Vec<Completed> {
        let mut done = Vec::new();
        while !self.is_idle() {
            self.start(memory);
            done.extend(self.finish(memory));
        }
        done
    }

    /// Aborts the word under way: nothing of its operation was written, and its queue begins again with the
    /// operation's first word.
    pub fn abort(&mut self) {
        let Some(flight) = self.flight.take() else { return };
        match flight.place {
            Place::Hypervisor => self.ring.abort(),
            Place::User(slot) => {
                if let Some(queue) = self.users.get_mut(slot) {
                    queue.ring.abort();
                }
            }
        }
    }

    /// True if a word was taken and has not been executed yet.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.flight.is_some()
    }

    /// True if no queue has anything to do.
    #[must_use]
    pub fn has_nothing(&self) -> bool {
        self.flight.is_none() && !self.is_ready() && self.users.iter().all(|(_, queue)| queue.ring.is_empty())
    }

    /// Resets to the state after power-on: nothing is under way, and there are no queues.
    pub(crate) fn reset(&mut self) {
        *self = Queues::new(self.model);
    }

    /// The queues of processes.
    #[must_use]
    pub fn users(&self) -> &UserQueues {
        &self.users
    }

    /// The queues of processes, to change them.
    pub fn users_mut(&mut self) -> &mut UserQueues {
        &mut self.users
    }

    /// Takes a process's queue away. In the middle of an operation, that is aborted.
    pub fn revoke(&mut self, slot: Slot) -> Option<UserQueue> {
        if self.flight.as_ref().is_some_and(|flight| flight.place == Place::User(slot)) {
            self.flight = None;
        }
        let mut queue = self.users.remove(slot)?;
        queue.ring.abort();
        Some(queue)
    }
}

/// Reads a word exactly once, because a process may change it.
fn fetch(place: u64, memory: &dyn Physical) -> Result<ControlWord, BusError> {
    let mut bytes = [0; 64];
    memory.read(place, &mut bytes)?;
    Ok(ControlWord::parse(&bytes))
}

/// The work that a word is about to do.
fn work(
    model: Model,
    ring: &Ring,
    place: Place,
    word: Result<ControlWord, BusError>,
    memory: &dyn Physical,
) -> Work {
    let (kind, bytes) = match &word {
        Ok(word) => match ring.kind(model, word) {
            Kind::Control(_) if !ring.in_block() && word.control.gather() => {
                (ring.kind(model, word), gathered(word, memory))
            }
            Kind::Control(task) => (Kind::Control(task), task.source_len(word.control)),
            kind => (kind, 0),
        },
        Err(_) => (Kind::Refused, 0),
    };
    Work { place, kind, bytes, words: 1, multiplications: 0, first: !ring.in_block() }
}

/// The cost of a word in its queue's share: the bytes of its source, as they were when it was read, and the word
/// itself.
fn cost(work: &Work, ring: &Ring) -> u64 {
    work.bytes.max(ring.brought) as u64 + WORD_BYTES
}
