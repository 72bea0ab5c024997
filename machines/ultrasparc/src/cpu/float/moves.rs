//! Moves, signs, and moves under a condition.
//! Ref. V9 §A.17, §A.33 and §A.34.

use rustc_apfloat::ieee::{Double, Quad, Single};

use super::exact::Format;
use super::{Size, op1, row};
use crate::cpu::condition::in_codes;
use crate::cpu::{Cpu, Handler, Op, Step};
use crate::isa::{Class, Decode, Instruction, Operand, Word};
use crate::processor::Feature;

fn copy<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    cpu.note(false);
    let bits = S::load(cpu, op.rs2);
    S::store(cpu, op.rd, bits);
    Step::Next
}

fn negate<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    cpu.note(false);
    let bits = S::load(cpu, op.rs2);
    S::store(cpu, op.rd, bits ^ (S::Format::MAGNITUDE + 1));
    Step::Next
}

fn magnitude<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    cpu.note(false);
    let bits = S::load(cpu, op.rs2);
    S::store(cpu, op.rd, bits & S::Format::MAGNITUDE);
    Step::Next
}

/// Moves if `imm` has the bit of the condition code that begins at `rs1`.
fn copy_if_float<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    if op.imm >> cpu.fcc(op.rs1) & 1 != 0 { copy::<S>(cpu, op) } else { skip(cpu) }
}

/// Moves if `imm` has the bit of the four flags, which begin at bit `rs1` of %ccr.
fn copy_if_integer<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    let flags = cpu.ccr() >> (op.rs1 & 4) & 15;
    if op.imm >> flags & 1 != 0 { copy::<S>(cpu, op) } else { skip(cpu) }
}

/// Moves if `imm` has the bit of the register's sign: bit 0 for less than zero, 1 for zero, 2 for greater.
fn copy_if_register<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    let order = (cpu.get(op.rs1) as i64).signum() + 1;
    if op.imm >> order & 1 != 0 { copy::<S>(cpu, op) } else { skip(cpu) }
}

/// Counts as executed a move whose condition does not hold.
fn skip(cpu: &mut Cpu) -> Step {
    cpu.note(false);
    Step::Next
}

/// `fbfcc`'s conditions in the order of V9 table 38, as the sum of equal 1, less 2, greater 4, unordered 8.
const FLOAT_CONDITIONS: [(u64, [&str; 3]); 16] = {
    macro_rules! names {
        ($($holds:literal $name:literal),*) => {
            [$(($holds, [concat!("fmovs", $name), concat!("fmovd", $name), concat!("fmovq", $name)])),*]
        };
    }
    names![
        0 "n", 0xe "ne", 6 "lg", 0xa "ul", 2 "l", 0xc "ug", 4 "g", 8 "u",
        0xf "a", 1 "e", 9 "ue", 5 "ge", 0xd "uge", 3 "le", 0xb "ule", 7 "o"
    ]
};

/// Integer conditions in the order of V9 table 36.
const INTEGER_CONDITIONS: [[&str; 3]; 16] = {
    macro_rules! names {
        ($($name:literal),*) => {
            [$([concat!("fmovs", $name), concat!("fmovd", $name), concat!("fmovq", $name)]),*]
        };
    }
    names!["n", "e", "le", "l", "leu", "cs", "neg", "vs", "a", "ne", "g", "ge", "gu", "cc", "pos", "vc"]
};

/// The values of N, Z, V, C (from above) for which an integer condition holds, a bit each.
fn integer_truth(condition: u8) -> u64 {
    (0..16).fold(0, |truth, codes| truth | u64::from(in_codes(condition, codes)) << codes)
}

/// Chooses the handler by a row's size: single, double, quad.
fn sized(word: Word, single: Handler, double: Handler, quad: Handler) -> Op {
    match word.0 >> 5 & 3 {
        1 => op1::<Single, Single>(word, single),
        2 => op1::<Double, Double>(word, double),
        _ => super::op1_quad(word, quad),
    }
}

fn decode_if_float(word: Word, _: u64) -> Op {
    let op = sized(word, copy_if_float::<Single>, copy_if_float::<Double>, copy_if_float::<Quad>);
    let (holds, _) = FLOAT_CONDITIONS[usize::from(word.rs1() & 15)];
    Op { imm: holds, rs1: (word.0 >> 11 & 3) as u8, ..op }
}

fn decode_if_integer(word: Word, _: u64) -> Op {
    let op = sized(word, copy_if_integer::<Single>, copy_if_integer::<Double>, copy_if_integer::<Quad>);
    let is_xcc = word.0 >> 12 & 1 != 0;
    Op { imm: integer_truth(word.rs1() & 15), rs1: if is_xcc { 4 } else { 0 }, ..op }
}

fn decode_if_register(word: Word, _: u64) -> Op {
    let op = sized(word, copy_if_register::<Single>, copy_if_register::<Double>, copy_if_register::<Quad>);
    let holds = [0, 0b010, 0b011, 0b001, 0, 0b101, 0b100, 0b110][(word.0 >> 10 & 7) as usize];
    Op { imm: holds, rs1: word.rs1(), ..op }
}

/// The operands of a move under a condition, by the condition and the size.
const fn operands(condition: Operand, size: usize) -> &'static [Operand] {
    use Operand as O;
    match (condition, size) {
        (O::Cc, 0) => &[O::Cc, O::S2, O::Sd],
        (O::Cc, 1) => &[O::Cc, O::D2, O::Dd],
        (O::Cc, _) => &[O::Cc, O::Q2, O::Qd],
        (O::FccMove, 0) => &[O::FccMove, O::S2, O::Sd],
        (O::FccMove, 1) => &[O::FccMove, O::D2, O::Dd],
        (O::FccMove, _) => &[O::FccMove, O::Q2, O::Qd],
        (_, 0) => &[O::R1, O::S2, O::Sd],
        (_, 1) => &[O::R1, O::D2, O::Dd],
        (_, _) => &[O::R1, O::Q2, O::Qd],
    }
}

const fn conditional(
    name: &'static str,
    (mask, value): (u32, u32),
    condition: Operand,
    size: usize,
    decode: fn(Word, u64) -> Op,
) -> Instruction {
    Instruction {
        name,
        mask: 0xc1f8_0000 | mask,
        value: 2 << 30 | 0x35 << 19 | value,
        operands: operands(condition, size),
        needs: Feature::V9,
        class: Class::FloatMove,
        decode: Decode::Plain(decode),
    }
}

const fn conditional_moves() -> [Instruction; 96] {
    let filler = conditional("", (0, 0), Operand::Cc, 0, decode_if_integer);
    let mut rows = [filler; 96];
    let mut i = 0;
    while i < 48 {
        let (condition, size) = (i / 3, i % 3);
        let low = (condition as u32) << 14 | (size as u32 + 1) << 5;
        // Bit 18 is zero. Bits 13:11 say which condition code: 0 to 3 floating, 4 icc, 6 xcc.
        let name = FLOAT_CONDITIONS[condition].1[size];
        rows[i] = conditional(name, (0x0007_e7e0, low), Operand::FccMove, size, decode_if_float);
        let name = INTEGER_CONDITIONS[condition][size];
        rows[48 + i] = conditional(name, (0x0007_efe0, low | 1 << 13), Operand::Cc, size, decode_if_integer);
        i += 1;
    }
    rows
}

/// Moves under the condition codes.
pub const CONDITIONAL_MOVES: &[Instruction] = &conditional_moves();

const fn register_move(name: &'static str, condition: u32, size: usize) -> Instruction {
    let fixed = (0x0000_3fe0, condition << 10 | (size as u32 + 5) << 5);
    conditional(name, fixed, Operand::R1, size, decode_if_register)
}

/// Moves under the condition of a register.
pub const REGISTER_MOVES: &[Instruction] = &[
    register_move("fmovrse", 1, 0),
    register_move("fmovrde", 1, 1),
    register_move("fmovrqe", 1, 2),
    register_move("fmovrslez", 2, 0),
    register_move("fmovrdlez", 2, 1),
    register_move("fmovrqlez", 2, 2),
    register_move("fmovrslz", 3, 0),
    register_move("fmovrdlz", 3, 1),
    register_move("fmovrqlz", 3, 2),
    register_move("fmovrsne", 5, 0),
    register_move("fmovrdne", 5, 1),
    register_move("fmovrqne", 5, 2),
    register_move("fmovrsgz", 6, 0),
    register_move("fmovrdgz", 6, 1),
    register_move("fmovrqgz", 6, 2),
    register_move("fmovrsgez", 7, 0),
    register_move("fmovrdgez", 7, 1),
    register_move("fmovrqgez", 7, 2),
];

macro_rules! moves {
    ($($name:literal $opf:literal $from:ident $to:ident $op:path, $run:expr;)*) => {
        &[$(row(
            $name,
            $opf,
            &[Operand::$from, Operand::$to],
            Class::FloatMove,
            Decode::Plain(|word, _| $op(word, $run)),
        )),*]
    };
}

/// The rows of moves without a condition.
pub const MOVES: &[Instruction] = moves! {
    "fmovs" 0x001 S2 Sd op1::<Single, Single>, copy::<Single>;
    "fmovd" 0x002 D2 Dd op1::<Double, Double>, copy::<Double>;
    "fmovq" 0x003 Q2 Qd super::op1_quad,       copy::<Quad>;
    "fnegs" 0x005 S2 Sd op1::<Single, Single>, negate::<Single>;
    "fnegd" 0x006 D2 Dd op1::<Double, Double>, negate::<Double>;
    "fnegq" 0x007 Q2 Qd super::op1_quad,       negate::<Quad>;
    "fabss" 0x009 S2 Sd op1::<Single, Single>, magnitude::<Single>;
    "fabsd" 0x00a D2 Dd op1::<Double, Double>, magnitude::<Double>;
    "fabsq" 0x00b Q2 Qd super::op1_quad,       magnitude::<Quad>;
};
