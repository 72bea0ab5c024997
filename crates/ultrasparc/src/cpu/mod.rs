//! The processor: its registers, and the execution of blocks of instructions made ready once.

pub mod branch;
pub mod integer;

use crate::isa::Word;
use crate::memory::Fault;
use crate::processor::Features;

/// Where handlers write what is written to %g0.
pub const NOWHERE: u8 = 32;

/// The state of one strand, as a program sees it.
pub struct Cpu {
    /// The current window: globals, outs, locals, ins. `r[0]` stays zero, as nothing writes it; `r[NOWHERE]` is what
    /// was written to %g0. Sixty-four, so that an index of six bits needs no check.
    pub r: [u64; 64],
    /// Floating-point registers: %d0 to %d62. %f0 is the high half of `d[0]`, %f1 the low one.
    pub d: [u64; 32],
    /// Address of the instruction to execute.
    pub pc: u64,
    /// Address of the one after it.
    pub npc: u64,
    /// Graphics status register.
    pub gsr: u64,
    /// Floating-point state register.
    pub fsr: u64,
    /// What this processor has.
    pub features: Features,
    /// Why the last handler did not finish.
    pub trap: Option<Trap>,
}

/// An instruction made ready.
#[derive(Clone, Copy)]
pub struct Op {
    /// What executes it.
    pub run: Handler,
    /// The immediate operand, zero if there is none: the second operand of an integer instruction is
    /// `r[rs2] + imm`, as one of them is always zero. For others what their family says: a target, the own address.
    pub imm: u64,
    /// Where the result goes: an index of `r` or `d`, or of the single registers.
    pub rd: u8,
    /// The first operand.
    pub rs1: u8,
    /// The second operand.
    pub rs2: u8,
    /// The third operand, or what else the family needs.
    pub rs3: u8,
}

/// Executes one instruction.
pub type Handler = fn(&mut Cpu, &Op) -> Step;

/// What a handler answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// Done.
    Next,
    /// Not done, and nothing changed: [`Cpu::trap`] says why.
    Trap,
}

/// What stops a program: V9 §7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// No such instruction on this processor.
    IllegalInstruction(u32),
    /// An instruction for the operating system.
    PrivilegedOpcode(u32),
    /// An address that is no multiple of the object's size.
    NotAligned(u64),
    /// Memory that is not there, or not for this.
    Memory(Fault),
    /// An ASI that user programs have not.
    PrivilegedAction,
    /// An integer division by zero.
    DivisionByZero,
    /// A tagged operation that trapped.
    TagOverflow,
    /// An IEEE 754 exception that is enabled; `fsr` says which.
    FpException,
    /// `ta`: its number.
    Software(u8),
}

impl Op {
    /// An integer instruction: `rs1`, `rs2` or imm13, `rd`.
    #[must_use]
    pub fn integer(run: Handler, word: Word) -> Op {
        let (rs2, imm) = if word.i() { (0, word.signed(13)) } else { (word.rs2(), 0) };
        Op { run, imm, rd: destination(word.rd()), rs1: word.rs1(), rs2, rs3: 0 }
    }
}

/// The place to write for register `rd`.
#[must_use]
pub const fn destination(rd: u8) -> u8 {
    if rd == 0 { NOWHERE } else { rd }
}

impl Cpu {
    /// The value of register `index`.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: u8) -> u64 {
        self.r[usize::from(index & 63)]
    }

    /// Sets register `index`, which [`destination`] gave.
    #[inline(always)]
    pub fn set(&mut self, index: u8, value: u64) {
        self.r[usize::from(index & 63)] = value;
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
