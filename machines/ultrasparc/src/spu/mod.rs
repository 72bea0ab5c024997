//! The stream processing unit beside each core: control words ([`Queues`]) and modular arithmetic ([`Mau`]).
//!
//! Both parts work at the same time. Neither has a clock: `start` takes the next piece of work and says what it is, `finish`
//! does it, and whoever drives the unit lets as much time pass between them as the work takes
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

/// The traps that the unit takes to the strand it interrupts.
pub mod trap {
    /// T2 and later: control word queue.
    pub const CONTROL_WORD_QUEUE: u8 = 0x3c;
    /// T2 and later: modular arithmetic.
    pub const MODULAR_ARITHMETIC: u8 = 0x3d;
    /// T1: modular arithmetic.
    pub const T1_MODULAR_ARITHMETIC: u8 = 0x74;
}

/// What computes: the host's best kernels.
pub(crate) fn engine() -> Features {
    Features::hardware()
}

/// Whose queue a word came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The hypervisor's.
    Hypervisor,
    /// A process's.
    User(Slot),
}

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A control word.
    Control(Task),
    /// A control word that will be refused.
    Refused,
    /// Modular arithmetic.
    Modular(Op),
}

/// A piece of work, as its cost depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Whose it is.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
    /// Bytes of source; of modular arithmetic, of the operand.
    pub bytes: usize,
    /// Control words; of modular arithmetic, words of 64 bits.
    pub words: usize,
    /// Montgomery multiplications.
    pub multiplications: usize,
    /// Whether an operation begins with it.
    pub first: bool,
}

/// How a piece of work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Done,
    /// Not at all.
    Failed(Fault),
    /// Not tried, as it belongs to an operation that failed.
    Skipped,
    /// Modular arithmetic: no such operation, or operands outside its memory.
    BadOperands,
    /// Modular arithmetic: a word of its memory had the wrong parity.
    Parity,
}

/// A piece of work that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// What it was.
    pub work: Work,
    /// Whether its operation ended with it.
    pub last: bool,
    /// How.
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
    /// Control words: not on T1.
    pub queues: Option<Queues>,
    /// Modular arithmetic.
    pub mau: Mau,
}

impl Spu {
    /// The unit of a model.
    #[must_use]
    pub fn new(model: Model) -> Spu {
        Spu { queues: model.has_queue().then(|| Queues::new(model)), mau: Mau::new(model) }
    }

    /// Goes on by a step, first the control words: takes a piece of work, or does the one that was taken.
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

    /// A load from a register of [`ASI_STREAM`] by a strand. The two that wait until a part of the unit is idle have it work
    /// until it is, and say what it did.
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

    /// A store to a register of [`ASI_STREAM`]; whether there is such a one.
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
