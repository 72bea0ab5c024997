//! The stream processing unit beside each core: control words ([`Queues`]) and modular arithmetic ([`Mau`]).
//!
//! Both parts work at the same time. Neither has a clock: `start` takes the next piece of work and says what it is,
//! `finish` does it, and the driver of the unit lets as much time pass between them as the work takes
//! ([`crate::hypervisor::Machine::advance`]).
//!
//! Ref. OpenSPARC T1 and T2; UltraSPARC Virtual Machine Specification 3.0 §25.2.

mod auth;
mod cipher;
mod codes;
mod control_word;
mod counters;
mod diagnostics;
mod fault;
mod kasumi;
mod modular;
mod operation;
mod partial;
mod physical;
mod queue;
mod rc4;
mod results;
mod ring;
mod sslkey;
mod user_queue;

#[cfg(test)]
pub(crate) mod tests;

pub use codes::{Auth, Chaining, Cipher, CipherKind, Model};
pub use control_word::{Control, ControlWord, Opcode, WORD_BYTES};
pub use diagnostics::Latches;
pub use fault::{Fault, Field, Refusal};
pub use modular::{MA_WORDS, Mau, Op, ctl, mau_register};
pub use operation::Task;
pub use physical::{BusError, Physical};
pub use queue::{Queues, csr, register};
pub use user_queue::{Identity, SLOTS, Slot, UserQueue, UserQueues, status};

pub(crate) use operation::Operand;
pub(crate) use physical::{read_word, write_word};

use millstream_cpu::Features;

/// ASI_STREAM: the units' registers, for hyperprivileged software.
pub const ASI_STREAM: u8 = 0x40;

/// The traps with which the unit interrupts a strand.
pub mod trap {
    /// T2 and later: control word queue.
    pub const CONTROL_WORD_QUEUE: u8 = 0x3c;
    /// T2 and later: modular arithmetic.
    pub const MODULAR_ARITHMETIC: u8 = 0x3d;
    /// T1: modular arithmetic.
    pub const T1_MODULAR_ARITHMETIC: u8 = 0x74;
}

/// The features of the engines that compute: the host's best kernels.
pub(crate) fn engine() -> Features {
    Features::hardware()
}

/// The queue from which a word came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The hypervisor's queue.
    Hypervisor,
    /// A process's queue.
    User(Slot),
}

/// The kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A control word.
    Control(Task),
    /// A control word that will be refused.
    Refused,
    /// Modular arithmetic.
    Modular(Op),
}

/// A piece of work, with everything on which its cost depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The queue that it belongs to.
    pub place: Place,
    /// The kind of work.
    pub kind: Kind,
    /// Bytes of the source; for modular arithmetic, of the operand.
    pub bytes: usize,
    /// Control words; for modular arithmetic, words of 64 bits.
    pub words: usize,
    /// Montgomery multiplications.
    pub multiplications: usize,
    /// True if an operation begins with it.
    pub first: bool,
}

/// The outcome of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The work was done.
    Done,
    /// The work failed, and wrote nothing.
    Failed(Fault),
    /// The work was skipped, because it belongs to an operation that failed.
    Skipped,
    /// Modular arithmetic: there is no such operation, or an operand is outside the unit's memory.
    BadOperands,
    /// Modular arithmetic: a word of its memory had the wrong parity.
    Parity,
}

/// A piece of work that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The work.
    pub work: Work,
    /// True if its operation ended with it.
    pub last: bool,
    /// The outcome of the work.
    pub outcome: Outcome,
}

/// A trap for a strand of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// One of [`trap`].
    pub trap: u8,
    /// The strand.
    pub strand: u8,
}

/// The unit beside one core.
pub struct Spu {
    /// The control word queues: not on T1.
    pub queues: Option<Queues>,
    /// The modular arithmetic unit.
    pub mau: Mau,
}

impl Spu {
    /// The unit of a model.
    #[must_use]
    pub fn new(model: Model) -> Spu {
        Spu { queues: model.has_queue().then(|| Queues::new(model)), mau: Mau::new(model) }
    }

    /// Makes one step, control words first: takes a piece of work, or does the one that was taken.
    ///
    /// ```
    /// use millstream_ultrasparc::spu::{Control, ControlWord, Model, Opcode, Spu, csr, register};
    ///
    /// let mut memory = vec![0_u8; 0x400];
    /// memory[0x200..0x205].copy_from_slice(b"hello");
    /// let copy = Control::new(Opcode::Copy, 5);
    /// let word = ControlWord { control: copy, source: 0x200, destination: 0x300, ..ControlWord::default() };
    /// memory[0x100..0x140].copy_from_slice(&word.build());
    ///
    /// let mut spu = Spu::new(Model::T2);
    /// for (address, value) in [
    ///     (register::FIRST, 0x100), (register::LAST, 0x140), (register::HEAD, 0x100), (register::TAIL, 0x140),
    ///     (register::CSR, csr::ENABLED),
    /// ] {
    ///     spu.store(address, value);
    /// }
    /// assert_eq!(spu.step(&mut memory), None, "it has taken the word and is busy");
    /// assert_eq!(spu.step(&mut memory).map(|done| done.work.bytes), Some(5));
    /// assert_eq!(&memory[0x300..0x305], b"hello");
    /// ```
    pub fn step(&mut self, memory: &mut dyn Physical) -> Option<Completed> {
        if let Some(queues) = &mut self.queues {
            if let Some(done) = queues.finish(memory) {
                return Some(done);
            }
            if queues.start(memory).is_some() {
                return None;
            }
        }
        self.mau.finish(memory)
    }

    /// Loads from a register of [`ASI_STREAM`] for a strand. The two registers that wait until a part of the unit is
    /// idle have it work until it is, and report its work.
    pub fn load(
        &mut self,
        address: u64,
        strand: u8,
        memory: &mut dyn Physical,
    ) -> Option<(u64, Vec<Completed>)> {
        if let Some((value, done)) = self.mau.load(address, strand, memory) {
            return Some((value, done.into_iter().collect()));
        }
        let queues = self.queues.as_mut()?;
        let done = if address == register::SYNC { queues.drain(memory) } else { Vec::new() };
        Some((queues.load(address)?, done))
    }

    /// Stores to a register of [`ASI_STREAM`]; false if there is no such register.
    pub fn store(&mut self, address: u64, value: u64) -> bool {
        self.mau.store(address, value)
            || self.queues.as_mut().is_some_and(|queues| queues.store(address, value))
    }

    /// Takes an interrupt that waits.
    pub fn take_interrupt(&mut self) -> Option<Interrupt> {
        let queue = self.queues.as_mut().and_then(Queues::take_interrupt);
        queue.or_else(|| self.mau.take_interrupt())
    }
}
