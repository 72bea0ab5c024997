//! The row of an instruction: what it looks like, which processors have it, and how it is made ready; and the type
//! for instructions that are executed together.

use super::word::Word;
use crate::cpu::Op;
use crate::processor::Feature;

/// One row: an instruction of the processor.
#[derive(Clone, Copy)]
pub struct Instruction {
    /// The assembler's name for it.
    pub name: &'static str,
    /// The bits that are fixed. No word may have the fixed bits of two rows.
    pub mask: u32,
    /// The values of the fixed bits; zero outside of the mask.
    pub value: u32,
    /// The operands after the name, in the order of assembly.
    pub operands: &'static [Operand],
    /// The feature that a processor needs to have it.
    pub needs: Feature,
    /// The kind of work, for `--mix` and for the timing model.
    pub class: Class,
    /// The function that makes it ready, and the kind of op that this is.
    pub decode: Decode,
}

/// The way in which an instruction is made ready to be executed, from its word and its address.
#[derive(Clone, Copy)]
pub enum Decode {
    /// Execution goes on to the next instruction.
    Plain(fn(Word, u64) -> Op),
    /// The instruction transfers control: it ends a block, and the instruction in its delay slot belongs to it.
    Control(fn(Word, u64) -> Op),
}

/// An operand as assembly shows it.
///
/// A branch's suffixes (`,a` and `,pt` or `,pn`) follow from its target: [`Operand::Disp22`] has room for annulment,
/// [`Operand::Disp19`] and [`Operand::Disp16`] have it for prediction too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An integer register, in bits 18:14.
    R1,
    /// An integer register, in bits 4:0.
    R2,
    /// An integer register, in bits 29:25. Stores show it first.
    Rd,
    /// `rs2`, or if bit 13 is set the sign-extended 13-bit immediate.
    R2OrImm13,
    /// `rs2` or 11 bits: `movcc`.
    R2OrImm11,
    /// `rs2` or 10 bits: `movr`.
    R2OrImm10,
    /// `rs2` or 5 bits, sign-extended: compare and branch.
    R2OrImm5,
    /// A single-precision register, in bits 18:14.
    S1,
    /// A single-precision register, in bits 4:0.
    S2,
    /// A single-precision register, in bits 13:9.
    S3,
    /// A single-precision register, in bits 29:25.
    Sd,
    /// A double-precision register, in bits 18:14.
    D1,
    /// A double-precision register, in bits 4:0.
    D2,
    /// A double-precision register, in bits 13:9.
    D3,
    /// A double-precision register, in bits 29:25.
    Dd,
    /// A quad-precision register, in bits 18:14.
    Q1,
    /// A quad-precision register, in bits 4:0.
    Q2,
    /// A quad-precision register, in bits 29:25.
    Qd,
    /// `[rs1 + rs2]` or `[rs1 + imm13]`.
    Address,
    /// `[rs1 + rs2] asi` or `[rs1 + imm13] %asi`.
    AddressAsi,
    /// `[rs1] asi` or `[rs1] %asi`: compare and swap.
    RegisterAsi,
    /// `[rs1]`: the usual form of compare and swap.
    Register,
    /// `rs1 + rs2` or `rs1 + imm13`, without brackets: `jmpl`, `return`, `flush`.
    Target,
    /// A branch target: 16 bits in two parts, with annulment and prediction.
    Disp16,
    /// A branch target: 19 bits, with annulment and prediction.
    Disp19,
    /// A branch target: 22 bits, with annulment.
    Disp22,
    /// The target of `call`.
    Disp30,
    /// The target of compare and branch: 10 bits in two parts.
    Disp10,
    /// `%hi(...)`.
    Imm22,
    /// The 22 bits as they are: `illtrap`.
    Const22,
    /// A shift count: `rs2`, or if bit 13 is set five bits.
    Count32,
    /// A shift count: `rs2`, or if bit 13 is set six bits.
    Count64,
    /// Three bits in the place of `rs2`: `siam`.
    Imm3,
    /// Five bits in the place of `rs2`.
    Imm5,
    /// Five bits in the place of `rs3`.
    Imm5Rs3,
    /// `%icc` or `%xcc`: bit 21 of a branch, bit 12 of a conditional move or trap.
    Cc,
    /// `%fcc0` to `%fcc3`, in bits 21:20.
    FccBranch,
    /// `%fcc0` to `%fcc3`, in bits 12:11.
    FccMove,
    /// `%fcc0` to `%fcc3`, in bits 26:25.
    FccCompare,
    /// `%fsr`.
    Fsr,
    /// An ancillary state register, in bits 18:14.
    AsrRead,
    /// An ancillary state register, in bits 29:25.
    AsrWrite,
    /// A privileged register, in bits 18:14.
    PrivilegedRead,
    /// A privileged register, in bits 29:25.
    PrivilegedWrite,
    /// A software trap's number: `rs1 + rs2`, or if bit 13 is set `rs1` and eight bits.
    TrapNumber,
    /// The accesses that `membar` orders: bits 6:0.
    MembarMask,
    /// The function of a prefetch: bits 29:25.
    PrefetchFunction,
}

/// Kinds of work. The kinds of crypto instructions come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Class {
    Integer,
    Shift,
    Multiply,
    Divide,
    Load,
    Store,
    Atomic,
    Branch,
    Call,
    Window,
    State,
    Trap,
    FloatMove,
    FloatAdd,
    FloatMultiply,
    FloatDivide,
    FloatConvert,
    FloatCompare,
    Vis,
    Vis3,
    AesRound,
    AesKey,
    Des,
    Kasumi,
    Camellia,
    Md5,
    Sha1,
    Sha256,
    Sha512,
    Crc32c,
    Mpmul,
    Montmul,
    Montsqr,
}

impl Class {
    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::Integer => "integer",
            Class::Shift => "shift",
            Class::Multiply => "multiply",
            Class::Divide => "divide",
            Class::Load => "load",
            Class::Store => "store",
            Class::Atomic => "atomic",
            Class::Branch => "branch",
            Class::Call => "call",
            Class::Window => "register window",
            Class::State => "state register",
            Class::Trap => "trap",
            Class::FloatMove => "float move",
            Class::FloatAdd => "float add",
            Class::FloatMultiply => "float multiply",
            Class::FloatDivide => "float divide",
            Class::FloatConvert => "float convert",
            Class::FloatCompare => "float compare",
            Class::Vis => "VIS",
            Class::Vis3 => "VIS 3",
            Class::AesRound => "AES rounds",
            Class::AesKey => "AES keys",
            Class::Des => "DES",
            Class::Kasumi => "Kasumi",
            Class::Camellia => "Camellia",
            Class::Md5 => "MD5",
            Class::Sha1 => "SHA-1",
            Class::Sha256 => "SHA-256",
            Class::Sha512 => "SHA-512",
            Class::Crc32c => "CRC32c",
            Class::Mpmul => "multiply, many words",
            Class::Montmul => "Montgomery multiply",
            Class::Montsqr => "Montgomery square",
        }
    }

    /// True for work of the T4's crypto instructions.
    #[must_use]
    pub fn is_crypto(self) -> bool {
        self >= Class::AesRound
    }
}

/// Instructions that one handler executes if they follow one another in a block, because they are quicker together.
///
/// Each family may have a list. [`FUSIONS`](super::FUSIONS) is all of them, tried in order at each instruction, so a
/// longer sequence comes before its beginning. The op that `make` answers must do exactly what the instructions
/// would, or answer [`Step::Trap`](crate::cpu::Step::Trap) and have changed nothing: they are then executed one by
/// one up to the one that traps, so that traps stay precise without more work. A control transfer can only be the
/// last of a sequence, and the instruction in its delay slot is not part of it; the op has the target in `imm` then,
/// as the transfer alone has.
///
/// ```
/// use millstream_ultrasparc::cpu::{Op, Step};
/// use millstream_ultrasparc::isa::{Fusion, Word};
///
/// // Twice `sethi`: both constants in one op.
/// const TWO_CONSTANTS: Fusion = Fusion {
///     rows: &["sethi", "sethi"],
///     make: |words: &[Word], _address| {
///         let [first, second] = [words[0], words[1]].map(|word| u64::from(word.0 << 10));
///         let run = |cpu: &mut millstream_ultrasparc::cpu::Cpu, op: &Op| {
///             cpu.set(op.rd, op.imm >> 32);
///             cpu.set(op.rs1, op.imm & 0xffff_ffff);
///             Step::Next
///         };
///         let [rd, rs1] = [words[0], words[1]].map(|word| millstream_ultrasparc::cpu::destination(word.rd()));
///         Some(Op { run, imm: first << 32 | second, rd, rs1, rs2: 0, rs3: 0 })
///     },
/// };
/// assert_eq!(TWO_CONSTANTS.rows.len(), 2);
/// ```
#[derive(Clone, Copy)]
pub struct Fusion {
    /// The names of the rows, in the order of execution.
    pub rows: &'static [&'static str],
    /// Makes one op of the instructions' words, the first of which is at that address; `None` if they do not fit
    /// together.
    pub make: fn(&[Word], u64) -> Option<Op>,
}
