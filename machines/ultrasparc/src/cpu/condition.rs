//! Conditions on the codes and on registers, and the moves and traps that depend on them.
//! Ref. The SPARC Architecture Manual, Version 9, appendix A.34, A.35, A.61, and tables 37 to 39.

use crate::cpu::registers::{Codes, Kind};
use crate::cpu::{Cpu, Handler, Op, Step, Trap, destination};
use crate::isa::{Class, Decode, Instruction, Operand, Word};
use crate::processor::Feature;

/// A handler for each of the sixteen conditions: `each!(name, rest...)` is `[name::<0, rest...>, ...]`.
macro_rules! each {
    ($handler:ident $(, $rest:expr)*) => {
        [
            $handler::<0 $(, $rest)*>, $handler::<1 $(, $rest)*>, $handler::<2 $(, $rest)*>, $handler::<3 $(, $rest)*>,
            $handler::<4 $(, $rest)*>, $handler::<5 $(, $rest)*>, $handler::<6 $(, $rest)*>, $handler::<7 $(, $rest)*>,
            $handler::<8 $(, $rest)*>, $handler::<9 $(, $rest)*>, $handler::<10 $(, $rest)*>, $handler::<11 $(, $rest)*>,
            $handler::<12 $(, $rest)*>, $handler::<13 $(, $rest)*>, $handler::<14 $(, $rest)*>, $handler::<15 $(, $rest)*>,
        ]
    };
}
pub(crate) use each;

/// True if the condition of that number holds of integer codes.
#[inline(always)]
pub(crate) fn holds<const CONDITION: u8, const WIDE: bool>(codes: Codes) -> bool {
    match codes.kind {
        Kind::Sub if WIDE => compares::<CONDITION, 63>(codes.a, codes.b),
        Kind::Sub => compares::<CONDITION, 31>(codes.a, codes.b),
        _ => in_codes(CONDITION, codes.ccr() >> if WIDE { 4 } else { 0 }),
    }
}

/// True if the condition holds after `a - b`, where the sign of both numbers is bit `TOP`.
#[inline(always)]
pub(crate) fn compares<const CONDITION: u8, const TOP: u32>(a: u64, b: u64) -> bool {
    // Shifting the sign to the top makes the whole 64-bit numbers comparable.
    let (a, b) = (a << (63 - TOP), b << (63 - TOP));
    let (signed_a, signed_b) = (a.cast_signed(), b.cast_signed());
    let plain = match CONDITION & 7 {
        0 => false,
        1 => a == b,
        2 => signed_a <= signed_b,
        3 => signed_a < signed_b,
        4 => a <= b,
        5 => a < b,
        6 => signed_a.wrapping_sub(signed_b) < 0,
        _ => signed_a.overflowing_sub(signed_b).1,
    };
    plain != (CONDITION & 8 != 0)
}

/// True if the condition holds of four codes N, Z, V, C.
#[inline]
pub(crate) fn in_codes(condition: u8, codes: u8) -> bool {
    let [c, v, z, n] = [0, 1, 2, 3].map(|bit| codes >> bit & 1 != 0);
    let plain = match condition & 7 {
        0 => false,
        1 => z,
        2 => z || n != v,
        3 => n != v,
        4 => c || z,
        5 => c,
        6 => n,
        _ => v,
    };
    plain != (condition & 8 != 0)
}

/// Conditions on floating-point codes: bit `n` says if it holds of the code `n` (equal, less, greater, unordered).
pub(crate) const FLOAT_CONDITIONS: [u8; 16] =
    [0x0, 0xe, 0x6, 0xa, 0x2, 0xc, 0x4, 0x8, 0xf, 0x1, 0x9, 0x5, 0xd, 0x3, 0xb, 0x7];

/// The lowest bit of `%fccN` in `%fsr`.
pub(crate) const FLOAT_CODES: [u8; 4] = [10, 32, 34, 36];

/// True if a condition on a register holds: `r[rs1]` compared with zero.
#[inline(always)]
pub(crate) fn register_holds<const CONDITION: u8>(value: u64) -> bool {
    let value = value.cast_signed();
    match CONDITION {
        1 => value == 0,
        2 => value <= 0,
        3 => value < 0,
        5 => value != 0,
        6 => value > 0,
        7 => value >= 0,
        _ => false,
    }
}

const MOVES: [&str; 16] = [
    "movn", "move", "movle", "movl", "movleu", "movcs", "movneg", "movvs", "mova", "movne", "movg", "movge",
    "movgu", "movcc", "movpos", "movvc",
];

const FLOAT_MOVES: [&str; 16] = [
    "movn", "movne", "movlg", "movul", "movl", "movug", "movg", "movu", "mova", "move", "movue", "movge",
    "movuge", "movle", "movule", "movo",
];

const TRAPS: [&str; 16] = [
    "tn", "te", "tle", "tl", "tleu", "tcs", "tneg", "tvs", "ta", "tne", "tg", "tge", "tgu", "tcc", "tpos",
    "tvc",
];

/// `movcc`: bit 18 tells integer from floating-point codes; of the two other bits only `%icc` and `%xcc` exist.
const fn moves(names: [&'static str; 16], float: bool) -> [Instruction; 16] {
    let mut rows = [MOVE; 16];
    let mut condition = 0;
    while condition < 16 {
        let fixed = 2 << 30 | 0x2c << 19 | (condition as u32) << 14;
        rows[condition] = if float {
            Instruction {
                name: names[condition],
                mask: 0xc1ff_c000,
                value: fixed,
                operands: &[Operand::FccMove, Operand::R2OrImm11, Operand::Rd],
                decode: Decode::Plain(decode_float_move),
                ..MOVE
            }
        } else {
            Instruction { name: names[condition], value: fixed | 1 << 18, ..MOVE }
        };
        condition += 1;
    }
    rows
}

const MOVE: Instruction = Instruction {
    name: "mov",
    mask: 0xc1ff_c800,
    value: 0,
    operands: &[Operand::Cc, Operand::R2OrImm11, Operand::Rd],
    needs: Feature::V9,
    class: Class::Integer,
    decode: Decode::Plain(decode_move),
};

/// `Tcc`.
const fn traps() -> [Instruction; 16] {
    let mut rows = [MOVE; 16];
    let mut condition = 0;
    while condition < 16 {
        rows[condition] = Instruction {
            name: TRAPS[condition],
            mask: 0xfff8_0800,
            value: 2 << 30 | 0x3a << 19 | (condition as u32) << 25,
            operands: &[Operand::Cc, Operand::TrapNumber],
            needs: Feature::V9,
            class: Class::Trap,
            decode: Decode::Plain(decode_trap),
        };
        condition += 1;
    }
    rows
}

/// `movr`, for each condition that exists.
const fn register_move(name: &'static str, condition: u32) -> Instruction {
    Instruction {
        name,
        mask: 0xc1f8_1c00,
        value: 2 << 30 | 0x2f << 19 | condition << 10,
        operands: &[Operand::R1, Operand::R2OrImm10, Operand::Rd],
        needs: Feature::V9,
        class: Class::Integer,
        decode: Decode::Plain(decode_register_move),
    }
}

/// Moves on integer condition codes.
pub const INTEGER_MOVES: &[Instruction] = &moves(MOVES, false);

/// Moves of integer registers on floating-point condition codes.
pub const FLOAT_CODE_MOVES: &[Instruction] = &moves(FLOAT_MOVES, true);

/// Moves on a register.
pub const REGISTER_MOVES: &[Instruction] = &[
    register_move("movre", 1),
    register_move("movrlez", 2),
    register_move("movrlz", 3),
    register_move("movrne", 5),
    register_move("movrgz", 6),
    register_move("movrgez", 7),
];

/// Software traps.
pub const TRAP_ROWS: &[Instruction] = &traps();

/// The condition in bits 17:14.
const fn condition(word: Word) -> usize {
    (word.0 >> 14 & 15) as usize
}

fn conditional(run: Handler, word: Word, bits: u32) -> Op {
    let (rs2, imm) = if word.i() { (0, word.signed(bits)) } else { (word.rs2(), 0) };
    Op { run, imm, rd: destination(word.rd()), rs1: word.rs1(), rs2, rs3: 0 }
}

fn decode_move(word: Word, _: u64) -> Op {
    const HANDLERS: [[Handler; 16]; 2] = [each!(move_if, false), each!(move_if, true)];
    conditional(HANDLERS[usize::from(word.0 >> 12 & 1 != 0)][condition(word)], word, 11)
}

fn move_if<const CONDITION: u8, const WIDE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    if holds::<CONDITION, WIDE>(cpu.codes) {
        cpu.set(op.rd, cpu.operand2(op));
    }
    Step::Next
}

fn decode_float_move(word: Word, _: u64) -> Op {
    let op = conditional(move_if_float, word, 11);
    let rs1 = FLOAT_CODES[(word.0 >> 11 & 3) as usize];
    Op { rs1, rs3: FLOAT_CONDITIONS[condition(word)], ..op }
}

fn move_if_float(cpu: &mut Cpu, op: &Op) -> Step {
    if cpu.float_condition(op) {
        cpu.set(op.rd, cpu.operand2(op));
    }
    Step::Next
}

fn decode_register_move(word: Word, _: u64) -> Op {
    const HANDLERS: [Handler; 8] = [
        move_if_register::<0>,
        move_if_register::<1>,
        move_if_register::<2>,
        move_if_register::<3>,
        move_if_register::<4>,
        move_if_register::<5>,
        move_if_register::<6>,
        move_if_register::<7>,
    ];
    conditional(HANDLERS[(word.0 >> 10 & 7) as usize], word, 10)
}

fn move_if_register<const CONDITION: u8>(cpu: &mut Cpu, op: &Op) -> Step {
    if register_holds::<CONDITION>(cpu.get(op.rs1)) {
        cpu.set(op.rd, cpu.operand2(op));
    }
    Step::Next
}

fn decode_trap(word: Word, _: u64) -> Op {
    const HANDLERS: [[Handler; 16]; 2] = [each!(trap_if, false), each!(trap_if, true)];
    let op = Op::integer(HANDLERS[usize::from(word.0 >> 12 & 1 != 0)][(word.0 >> 25 & 15) as usize], word);
    Op { imm: op.imm & 0xff, ..op }
}

/// Executes `Tcc`. The trap's number has eight bits, so that traps of the hypervisor, from 0x80, have their numbers
/// too.
fn trap_if<const CONDITION: u8, const WIDE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    if holds::<CONDITION, WIDE>(cpu.codes) {
        let number = cpu.get(op.rs1).wrapping_add(cpu.operand2(op));
        return cpu.stop(Trap::Software(number as u8));
    }
    Step::Next
}

impl Cpu {
    /// True if a condition on a floating-point code holds: `rs1` is the lowest bit of the code in `%fsr`, `rs3` a
    /// mask of [`FLOAT_CONDITIONS`].
    #[inline(always)]
    pub(crate) fn float_condition(&self, op: &Op) -> bool {
        op.rs3 >> (self.fsr >> (op.rs1 & 63) & 3) & 1 != 0
    }
}
