//! Instructions as data: what each looks like, who has it, and how it is made ready to be executed.
//!
//! Each family of instructions is one file, with a list of rows ([`Instruction`]) beside the code that executes them;
//! [`FAMILIES`] is all of them. Everything else follows from the rows: [`find`] and [`decode`] (for blocks),
//! [`disassemble()`] (for people), [`crate::counts`] (for `--mix`), and the timing model's classes.
//!
//! ```
//! use millstream_ultrasparc::isa;
//! use millstream_ultrasparc::processor::Processor;
//!
//! let word = 0x8cc8_0802;
//! let row = isa::find(word).expect("the T4's");
//! assert_eq!((row.name, row.class.name()), ("aes_eround01", "AES rounds"));
//! assert_eq!(isa::disassemble(word, 0).to_string(), "aes_eround01  %f0, %f2, %f4, %f6");
//! assert!(isa::decode(word, 0, Processor::T4.features()).is_some());
//! assert!(isa::decode(word, 0, Processor::T3.features()).is_none());
//! ```
//!
//! # To add an instruction
//!
//! 1. **Its row**, in the file of its family. `value` is its word with all operands zero, as the assembler makes it;
//!    `mask` has all bits that are not operands and that the processor looks at. A reserved field that it checks is in
//!    the mask, one that it ignores is not. `operands` are in the order of assembly: their names say which bits they
//!    are. `needs` is what a processor without it lacks: there it is an illegal instruction. An instruction with a
//!    condition has one row for each condition, because each has a name: write a `const fn` that makes them.
//! 2. **Its handler**, beside the row: a small function that takes the processor and the [`Op`]. It answers
//!    [`Step::Next`](crate::cpu::Step::Next), or stops with a trap before it has changed anything. What it can know from
//!    the word alone belongs in the closure of `decode`, which runs once for each place in a program, not each time.
//!    [`Decode::Control`] is for what transfers control, all others are [`Decode::Plain`].
//! 3. **Its class**, if none fits: a line in [`Class`] and its name; crypto instructions come last. The timing
//!    model says how long it takes.
//! 4. **A new family's list**: a line in [`FAMILIES`].
//!
//! Nothing is to be done for the index. These tests then say what is wrong:
//!
//! * `isa::index` (`cargo test -p millstream-ultrasparc --lib index`): all 2^32 words have one row or none. A row that
//!   takes words from another is named with it.
//! * `tests/isa/assembler.rs`: words of each row with random operands are shown as text, and GNU as makes the same words
//!   of that. It finds wrong bits, wrong operands, and fields missing from the mask.
//! * `tests/isa/objdump.rs`: the same words, and all of a static program, look as `objdump` shows them. What it
//!   knows and we do not have is listed there, with the reason; an instruction that is added leaves that list.
//! * `tests/differential`: what it does, against `qemu-sparc64`, for those that QEMU has; the known answers of its
//!   family for others.

mod disassemble;
mod index;
mod names;

use crate::cpu::{Op, access, branch, condition, float, integer, registers, space, vis, vis3, window};
use crate::processor::Feature;
use crate::t4;

pub use disassemble::{Text, disassemble};
pub use index::{decode, find, find_number, rows};

/// The families, each the list of its file.
pub const FAMILIES: &[&[Instruction]] = &[
    integer::INSTRUCTIONS,
    condition::INTEGER_MOVES,
    condition::FLOAT_CODE_MOVES,
    condition::REGISTER_MOVES,
    condition::TRAP_ROWS,
    branch::INSTRUCTIONS,
    branch::BICC,
    branch::BPCC,
    branch::FBFCC,
    branch::FBPFCC,
    branch::COMPARE_WORD,
    branch::COMPARE_LONG,
    window::INSTRUCTIONS,
    access::INSTRUCTIONS,
    space::INSTRUCTIONS,
    registers::INSTRUCTIONS,
    registers::PRIVILEGED_STATE,
    t4::aes::INSTRUCTIONS,
    t4::des::INSTRUCTIONS,
    t4::camellia::INSTRUCTIONS,
    t4::kasumi::INSTRUCTIONS,
    t4::hash::INSTRUCTIONS,
    t4::crc32c::INSTRUCTIONS,
    t4::montgomery::INSTRUCTIONS,
    float::INSTRUCTIONS,
    float::COMPARISONS,
    float::CONVERSIONS,
    float::MOVES,
    float::CONDITIONAL_MOVES,
    float::REGISTER_MOVES,
    float::FUSED,
    vis::LOGICAL,
    vis::INSTRUCTIONS,
    vis::VIS2,
    vis::STATE,
    vis3::INSTRUCTIONS,
    vis3::MASKS,
    vis3::IMA,
    vis3::FLOAT,
];

/// One row: an instruction of the processor.
#[derive(Clone, Copy)]
pub struct Instruction {
    /// As the assembler calls it.
    pub name: &'static str,
    /// The bits that are fixed. No word may have the fixed bits of two rows.
    pub mask: u32,
    /// What they are; zero outside of the mask.
    pub value: u32,
    /// What follows the name in assembly, in its order.
    pub operands: &'static [Operand],
    /// What a processor needs to have it.
    pub needs: Feature,
    /// What kind of work it is, for `--mix` and for the timing model.
    pub class: Class,
    /// How it is made ready.
    pub decode: Decode,
}

/// How an instruction is made ready to be executed: from its word and its address.
#[derive(Clone, Copy)]
pub enum Decode {
    /// It goes on to the next instruction.
    Plain(fn(Word, u64) -> Op),
    /// It transfers control: it ends a block, and the instruction in its delay slot belongs to it.
    Control(fn(Word, u64) -> Op),
}

/// An operand as assembly shows it.
///
/// What a branch shows after its name (`,a` and `,pt` or `,pn`) follows from its target: [`Operand::Disp22`] has room
/// for annulment, [`Operand::Disp19`] and [`Operand::Disp16`] have it for prediction too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Integer registers, in bits 18:14.
    R1,
    /// In bits 4:0.
    R2,
    /// In bits 29:25. Stores show it first.
    Rd,
    /// `rs2`, or if bit 13 is set the sign-extended 13-bit immediate.
    R2OrImm13,
    /// The same with 11 bits: `movcc`.
    R2OrImm11,
    /// With 10 bits: `movr`.
    R2OrImm10,
    /// With 5 bits, sign-extended: compare and branch.
    R2OrImm5,
    /// Single-precision registers, in bits 18:14.
    S1,
    /// In bits 4:0.
    S2,
    /// In bits 13:9.
    S3,
    /// In bits 29:25.
    Sd,
    /// Double-precision registers, in bits 18:14.
    D1,
    /// In bits 4:0.
    D2,
    /// In bits 13:9.
    D3,
    /// In bits 29:25.
    Dd,
    /// Quad-precision registers, in bits 18:14.
    Q1,
    /// In bits 4:0.
    Q2,
    /// In bits 29:25.
    Qd,
    /// `[rs1 + rs2]` or `[rs1 + imm13]`.
    Address,
    /// `[rs1 + rs2] asi` or `[rs1 + imm13] %asi`.
    AddressAsi,
    /// `[rs1] asi` or `[rs1] %asi`: compare and swap.
    RegisterAsi,
    /// `[rs1]`: compare and swap as people write it.
    Register,
    /// `rs1 + rs2` or `rs1 + imm13`, without brackets: `jmpl`, `return`, `flush`.
    Target,
    /// Branch targets: 16 bits in two parts, with annulment and prediction.
    Disp16,
    /// 19 bits, with annulment and prediction.
    Disp19,
    /// 22 bits, with annulment.
    Disp22,
    /// `call`.
    Disp30,
    /// 10 bits in two parts: compare and branch.
    Disp10,
    /// `%hi(...)`.
    Imm22,
    /// The 22 bits as they are: `illtrap`.
    Const22,
    /// Shift counts: `rs2`, or if bit 13 is set five bits.
    Count32,
    /// `rs2`, or if bit 13 is set six bits.
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
    /// In bits 12:11.
    FccMove,
    /// In bits 26:25.
    FccCompare,
    /// `%fsr`.
    Fsr,
    /// Ancillary state registers, in bits 18:14.
    AsrRead,
    /// In bits 29:25.
    AsrWrite,
    /// Privileged registers, in bits 18:14.
    PrivilegedRead,
    /// In bits 29:25.
    PrivilegedWrite,
    /// A software trap's number: `rs1 + rs2`, or if bit 13 is set `rs1` and eight bits.
    TrapNumber,
    /// What `membar` orders: bits 6:0.
    MembarMask,
    /// What a prefetch is for: bits 29:25.
    PrefetchFunction,
}

/// Kinds of work; those of the crypto instructions come last.
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
    /// What tables call it.
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

    /// Whether it is work of the T4's crypto instructions.
    #[must_use]
    pub fn is_crypto(self) -> bool {
        self >= Class::AesRound
    }
}

/// An instruction's 32 bits, and its fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(pub u32);

impl Word {
    /// Bits 29:25.
    #[must_use]
    pub const fn rd(self) -> u8 {
        (self.0 >> 25 & 31) as u8
    }
    /// Bits 18:14.
    #[must_use]
    pub const fn rs1(self) -> u8 {
        (self.0 >> 14 & 31) as u8
    }
    /// Bits 4:0.
    #[must_use]
    pub const fn rs2(self) -> u8 {
        (self.0 & 31) as u8
    }
    /// Bits 13:9.
    #[must_use]
    pub const fn rs3(self) -> u8 {
        (self.0 >> 9 & 31) as u8
    }
    /// Bit 13: the second operand is an immediate.
    #[must_use]
    pub const fn i(self) -> bool {
        self.0 >> 13 & 1 != 0
    }
    /// The low `bits` bits, sign-extended.
    #[must_use]
    pub const fn signed(self, bits: u32) -> u64 {
        ((self.0 << (32 - bits)) as i32 >> (32 - bits)) as i64 as u64
    }
    /// Bits 12:5.
    #[must_use]
    pub const fn asi(self) -> u8 {
        (self.0 >> 5) as u8
    }
}

/// The index, in [`crate::cpu::Cpu::d`], of the double register that a five-bit field names. V9 §5.1.4.1.
#[must_use]
pub const fn double(field: u8) -> u8 {
    (field >> 1) | (field & 1) << 4
}
