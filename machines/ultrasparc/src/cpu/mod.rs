//! The processor: its registers, and the execution of blocks of instructions made ready once.
//!
//! An instruction becomes an [`Op`] when its block is first reached, and is executed by calling [`Op::run`]. A block ends
//! with a control transfer and its delay slot; [`Cpu::run`] goes from block to block until something stops the program.

pub mod access;
pub mod block;
pub mod branch;
pub mod condition;
pub mod float;
pub mod integer;
mod pair;
pub mod registers;
mod run;
pub mod space;
pub(crate) mod strand;
#[cfg(test)]
mod tests;
pub mod vis;
pub mod vis3;
pub mod window;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub use access::Device;

use crate::isa::Word;
use crate::memory::{Fault, Memory};
use crate::processor::{Feature, Features};

/// The register that handlers write in place of %g0.
pub const NOWHERE: u8 = 32;

/// The state of one strand, as a program sees it.
pub struct Cpu {
    /// The current window: globals, outs, locals, ins. `r[0]` stays zero because nothing writes it; `r[NOWHERE]`
    /// takes what is written to %g0. The array is long enough that an index of one byte needs no check.
    pub r: [u64; 256],
    /// Floating-point registers: %d0 to %d62. %f0 is the high half of `d[0]`, %f1 the low one.
    pub d: [u64; 32],
    /// Address of the instruction to execute.
    pub pc: u64,
    /// Address of the one after it.
    pub npc: u64,
    /// The target of a control transfer that has no fixed one.
    pub target: u64,
    /// Graphics status register.
    pub gsr: u64,
    /// Floating-point state register.
    pub fsr: u64,
    /// Integer condition codes, computed only when they are asked for.
    codes: registers::Codes,
    /// The windows that are not the current one.
    pub windows: window::Windows,
    /// %y, 32 bits.
    pub y: u64,
    /// %asi.
    pub asi: u8,
    /// %fprs.
    pub fprs: u64,
    /// %cfr, which says what crypto instructions there are.
    pub cfr: u64,
    /// The program's memory.
    pub memory: Memory,
    /// The device that answers accesses to address spaces that are not memory.
    pub device: Option<Box<dyn Device>>,
    /// Any thread sets it to have [`Cpu::run`] answer [`Trap::Attention`] at the end of the block.
    pub attention: Arc<AtomicBool>,
    /// The features of this processor.
    pub features: Features,
    /// The reason why the last handler did not finish.
    pub trap: Option<Trap>,
    /// The time at which it was made.
    started: Instant,
    /// The blocks made so far.
    cache: block::Cache,
}

/// An instruction made ready.
#[derive(Clone, Copy)]
pub struct Op {
    /// The function that executes it.
    pub run: Handler,
    /// The immediate operand, or zero. The second operand of an integer instruction is `r[rs2] + imm`, as one of them
    /// is always zero. Other families keep something else here: a target, or the instruction's own address.
    pub imm: u64,
    /// The index of the result: of `r` or `d`, or of the single registers.
    pub rd: u8,
    /// The first operand.
    pub rs1: u8,
    /// The second operand.
    pub rs2: u8,
    /// The third operand, or something else that the family needs.
    pub rs3: u8,
}

/// Executes one instruction.
pub type Handler = fn(&mut Cpu, &Op) -> Step;

/// The answer of a handler.
///
/// [`Decode::Plain`](crate::isa::Decode::Plain) instructions answer `Next`, `Leave` or `Trap`; the other answers are
/// for [`Decode::Control`](crate::isa::Decode::Control).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// The instruction is done; the next one follows.
    Next,
    /// The instruction is not done, and nothing has changed: [`Cpu::trap`] says why.
    Trap,
    /// The instruction is done, but the ops after it in this block may be out of date.
    Leave,
    /// The transfer goes to `imm` after the delay slot.
    Taken,
    /// The transfer goes to `imm` and annuls the delay slot.
    TakenAnnul,
    /// There is no transfer: the instruction in the delay slot is executed, and those after it.
    NotTaken,
    /// There is no transfer, and the instruction in the delay slot is annulled.
    NotTakenAnnul,
    /// The transfer goes to [`Cpu::target`] after the delay slot.
    Jump,
}

/// The reason why a program stops: V9 §7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// This processor has no such instruction.
    IllegalInstruction(u32),
    /// The instruction is for the operating system.
    PrivilegedOpcode(u32),
    /// The address is no multiple of the object's size.
    NotAligned(u64),
    /// There is no memory at the address, or it does not permit the access.
    Memory(Fault),
    /// User programs may not use the ASI.
    PrivilegedAction,
    /// An integer division by zero.
    DivisionByZero,
    /// A tagged operation that trapped.
    TagOverflow,
    /// An IEEE 754 exception that is enabled; `fsr` says which.
    FpException,
    /// `ta`: its number.
    Software(u8),
    /// [`Cpu::attention`] was set. No instruction caused this: `pc` is that of the next one.
    Attention,
}

impl Op {
    /// Makes the op of an integer instruction with `rs1`, `rs2` or imm13, and `rd`.
    #[must_use]
    pub fn integer(run: Handler, word: Word) -> Op {
        let (rs2, imm) = if word.i() { (0, word.signed(13)) } else { (word.rs2(), 0) };
        Op { run, imm, rd: destination(word.rd()), rs1: word.rs1(), rs2, rs3: 0 }
    }
}

/// The index to write for register `rd`.
#[must_use]
pub const fn destination(rd: u8) -> u8 {
    if rd == 0 { NOWHERE } else { rd }
}

impl Cpu {
    /// Makes a processor with these features, empty memory, and zeros everywhere.
    ///
    /// # Errors
    /// The errors of [`Memory::new`].
    pub fn new(features: Features) -> io::Result<Cpu> {
        Ok(Cpu {
            r: [0; 256],
            d: [0; 32],
            pc: 0,
            npc: 4,
            target: 0,
            gsr: 0,
            fsr: 0,
            codes: registers::Codes::default(),
            windows: window::Windows::default(),
            y: 0,
            asi: space::PRIMARY,
            fprs: registers::FPRS_ENABLED,
            cfr: registers::cfr(features),
            memory: Memory::new()?,
            device: None,
            attention: Arc::default(),
            features,
            trap: None,
            started: Instant::now(),
            cache: block::Cache::default(),
        })
    }

    /// True if the processor has the feature.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }

    /// Sets `pc` to an address, and the next one after it.
    pub fn jump(&mut self, pc: u64) {
        (self.pc, self.npc) = (pc, pc.wrapping_add(4));
    }

    /// Goes on after the instruction at `pc`, as a kernel does that has served a software trap.
    pub fn advance(&mut self) {
        self.jump_pair(self.npc, self.npc.wrapping_add(4));
    }

    /// Sets both program counters.
    pub fn jump_pair(&mut self, pc: u64, npc: u64) {
        (self.pc, self.npc) = (pc, npc);
    }

    /// The value of register `index`.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: u8) -> u64 {
        self.r[usize::from(index)]
    }

    /// Sets register `index`, which [`destination`] gave.
    #[inline(always)]
    pub fn set(&mut self, index: u8, value: u64) {
        self.r[usize::from(index)] = value;
    }

    /// The second operand of an integer instruction.
    #[must_use]
    #[inline(always)]
    pub fn operand2(&self, op: &Op) -> u64 {
        self.get(op.rs2).wrapping_add(op.imm)
    }

    /// Stops at the instruction that is being executed.
    #[cold]
    pub fn stop(&mut self, trap: Trap) -> Step {
        self.trap = Some(trap);
        Step::Trap
    }
}
