//! Control transfers: branches, calls, jumps and returns.
//! Ref. The SPARC Architecture Manual, Version 9, appendix A.3 to A.8, A.24, A.45; compare and branch: Oracle SPARC
//! Architecture 2011 §7.10.

use crate::cpu::condition::{FLOAT_CODES, FLOAT_CONDITIONS, compares, each, holds, register_holds};
use crate::cpu::{Cpu, Handler, Op, Step, Trap};
use crate::isa::{Class, Decode, Instruction, Operand, Word};
use crate::processor::Feature;

const NAMES: [&str; 16] = [
    "bn", "be", "ble", "bl", "bleu", "bcs", "bneg", "bvs", "ba", "bne", "bg", "bge", "bgu", "bcc", "bpos",
    "bvc",
];

const FLOAT_NAMES: [&str; 16] = [
    "fbn", "fbne", "fblg", "fbul", "fbl", "fbug", "fbg", "fbu", "fba", "fbe", "fbue", "fbge", "fbuge",
    "fble", "fbule", "fbo",
];

/// Compare and branch on 32 bits. The conditions 0 and 8, never and always, do not exist.
const COMPARE_WORDS: [&str; 14] = [
    "cwbe", "cwble", "cwbl", "cwbleu", "cwbcs", "cwbneg", "cwbvs", "cwbne", "cwbg", "cwbge", "cwbgu",
    "cwbcc", "cwbpos", "cwbvc",
];
const COMPARE_LONGS: [&str; 14] = [
    "cxbe", "cxble", "cxbl", "cxbleu", "cxbcs", "cxbneg", "cxbvs", "cxbne", "cxbg", "cxbge", "cxbgu",
    "cxbcc", "cxbpos", "cxbvc",
];

/// A row of this family.
const ROW: Instruction = Instruction {
    name: "",
    mask: 0,
    value: 0,
    operands: &[],
    needs: Feature::V9,
    class: Class::Branch,
    decode: Decode::Control(decode_call),
};

/// The branches with a condition in bits 28:25, by their `op2`; bits in `more` are zero.
const fn conditional(names: [&'static str; 16], op2: u32, more: u32, like: Instruction) -> [Instruction; 16] {
    let mut rows = [like; 16];
    let mut condition = 0;
    while condition < 16 {
        let value = op2 << 22 | (condition as u32) << 25;
        rows[condition] = Instruction { name: names[condition], mask: 0xdfc0_0000 | more, value, ..like };
        condition += 1;
    }
    rows
}

/// Compare and branch, `wide` for those on 64 bits.
const fn compare(names: [&'static str; 14], wide: u32) -> [Instruction; 14] {
    let mut rows = [ROW; 14];
    let mut i = 0;
    while i < 14 {
        let condition = if i < 7 { i as u32 + 1 } else { i as u32 + 2 };
        rows[i] = Instruction {
            name: names[i],
            mask: 0xffe0_0000,
            value: 1 << 28 | 3 << 22 | wide << 21 | (condition & 8) << 26 | (condition & 7) << 25,
            operands: &[Operand::R1, Operand::R2OrImm5, Operand::Disp10],
            needs: Feature::Cbcond,
            decode: Decode::Control(decode_compare),
            ..ROW
        };
        i += 1;
    }
    rows
}

/// A branch on a register.
const fn on_register(name: &'static str, condition: u32) -> Instruction {
    Instruction {
        name,
        mask: 0xdfc0_0000,
        value: 3 << 22 | condition << 25,
        operands: &[Operand::R1, Operand::Disp16],
        decode: Decode::Control(decode_on_register),
        ..ROW
    }
}

/// `Bicc`, of V8.
pub const BICC: &[Instruction] = &conditional(
    NAMES,
    2,
    0,
    Instruction { operands: &[Operand::Disp22], decode: Decode::Control(decode_bicc), ..ROW },
);

/// `BPcc`, for which only the codes `%icc` and `%xcc` exist.
pub const BPCC: &[Instruction] = &conditional(
    NAMES,
    1,
    1 << 20,
    Instruction { operands: &[Operand::Cc, Operand::Disp19], decode: Decode::Control(decode_bpcc), ..ROW },
);

/// `FBfcc`, of V8.
pub const FBFCC: &[Instruction] = &conditional(
    FLOAT_NAMES,
    6,
    0,
    Instruction { operands: &[Operand::Disp22], decode: Decode::Control(decode_fbfcc), ..ROW },
);

/// `FBPfcc`.
pub const FBPFCC: &[Instruction] = &conditional(
    FLOAT_NAMES,
    5,
    0,
    Instruction {
        operands: &[Operand::FccBranch, Operand::Disp19],
        decode: Decode::Control(decode_fbpfcc),
        ..ROW
    },
);

/// Compare and branch on 32 bits.
pub const COMPARE_WORD: &[Instruction] = &compare(COMPARE_WORDS, 0);

/// Compare and branch on 64 bits.
pub const COMPARE_LONG: &[Instruction] = &compare(COMPARE_LONGS, 1);

/// The other control transfers.
pub const INSTRUCTIONS: &[Instruction] = &[
    on_register("brz", 1),
    on_register("brlez", 2),
    on_register("brlz", 3),
    on_register("brnz", 5),
    on_register("brgz", 6),
    on_register("brgez", 7),
    Instruction {
        name: "call",
        mask: 0xc000_0000,
        value: 1 << 30,
        operands: &[Operand::Disp30],
        class: Class::Call,
        decode: Decode::Control(decode_call),
        ..ROW
    },
    Instruction {
        name: "jmpl",
        mask: 0xc1f8_0000,
        value: 2 << 30 | 0x38 << 19,
        operands: &[Operand::Target, Operand::Rd],
        class: Class::Call,
        decode: Decode::Control(decode_jmpl),
        ..ROW
    },
    Instruction {
        name: "return",
        mask: 0xc1f8_0000,
        value: 2 << 30 | 0x39 << 19,
        operands: &[Operand::Target],
        class: Class::Window,
        decode: Decode::Control(|word, _| Op::integer(leave, word)),
        ..ROW
    },
];

/// A branch with a fixed target.
fn to(run: Handler, address: u64, words: u64) -> Op {
    Op { run, imm: address.wrapping_add(words << 2), rd: 0, rs1: 0, rs2: 0, rs3: 0 }
}

/// Bit 29.
const fn annuls(word: Word) -> usize {
    (word.0 >> 29 & 1) as usize
}

const fn condition(word: Word) -> usize {
    (word.0 >> 25 & 15) as usize
}

/// The step of a conditional branch. With annulment, the instruction in its delay slot is executed only if the branch
/// is taken.
#[inline(always)]
fn conditionally<const ANNULS: bool>(taken: bool) -> Step {
    match taken {
        true => Step::Taken,
        false if ANNULS => Step::NotTakenAnnul,
        false => Step::NotTaken,
    }
}

/// Handlers by width and annulment, then by condition.
const BRANCHES: [[Handler; 16]; 4] = [
    each!(branch, false, false),
    each!(branch, false, true),
    each!(branch, true, false),
    each!(branch, true, true),
];

fn branch<const CONDITION: u8, const WIDE: bool, const ANNULS: bool>(cpu: &mut Cpu, _: &Op) -> Step {
    match CONDITION {
        0 if ANNULS => Step::NotTakenAnnul,
        0 => Step::NotTaken,
        8 if ANNULS => Step::TakenAnnul,
        8 => Step::Taken,
        _ => conditionally::<ANNULS>(holds::<CONDITION, WIDE>(cpu.codes)),
    }
}

fn decode_bicc(word: Word, address: u64) -> Op {
    to(BRANCHES[annuls(word)][condition(word)], address, word.signed(22))
}

fn decode_bpcc(word: Word, address: u64) -> Op {
    let wide = (word.0 >> 21 & 1) as usize;
    to(BRANCHES[wide << 1 | annuls(word)][condition(word)], address, word.signed(19))
}

fn decode_fbfcc(word: Word, address: u64) -> Op {
    float(to(branch_float::<false>, address, word.signed(22)), word, 0)
}

fn decode_fbpfcc(word: Word, address: u64) -> Op {
    float(to(branch_float::<false>, address, word.signed(19)), word, (word.0 >> 20 & 3) as usize)
}

fn float(op: Op, word: Word, code: usize) -> Op {
    let run = match (condition(word), annuls(word)) {
        (always @ (0 | 8), _) => BRANCHES[annuls(word)][always],
        (_, 0) => branch_float::<false>,
        _ => branch_float::<true>,
    };
    Op { run, rs1: FLOAT_CODES[code], rs3: FLOAT_CONDITIONS[condition(word)], ..op }
}

fn branch_float<const ANNULS: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    conditionally::<ANNULS>(cpu.float_condition(op))
}

fn decode_on_register(word: Word, address: u64) -> Op {
    const HANDLERS: [[Handler; 2]; 8] = [
        [branch_register::<0, false>, branch_register::<0, true>],
        [branch_register::<1, false>, branch_register::<1, true>],
        [branch_register::<2, false>, branch_register::<2, true>],
        [branch_register::<3, false>, branch_register::<3, true>],
        [branch_register::<4, false>, branch_register::<4, true>],
        [branch_register::<5, false>, branch_register::<5, true>],
        [branch_register::<6, false>, branch_register::<6, true>],
        [branch_register::<7, false>, branch_register::<7, true>],
    ];
    let words = Word(word.0 >> 6 & 0xc000 | word.0 & 0x3fff).signed(16);
    Op { rs1: word.rs1(), ..to(HANDLERS[condition(word) & 7][annuls(word)], address, words) }
}

fn branch_register<const CONDITION: u8, const ANNULS: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    conditionally::<ANNULS>(register_holds::<CONDITION>(cpu.get(op.rs1)))
}

/// Decodes compare and branch, which has no delay slot: if taken, the instruction after it is skipped like an
/// annulled one.
fn decode_compare(word: Word, address: u64) -> Op {
    const HANDLERS: [[Handler; 16]; 2] = [each!(compare_and_branch, 31), each!(compare_and_branch, 63)];
    let condition = (word.0 >> 26 & 8 | word.0 >> 25 & 7) as usize;
    let words = Word(word.0 >> 11 & 0x300 | word.0 >> 5 & 0xff).signed(10);
    let op = to(HANDLERS[(word.0 >> 21 & 1) as usize][condition], address, words);
    let (rs2, rs3) = if word.i() { (0, word.signed(5) as u8) } else { (word.rs2(), 0) };
    Op { rs1: word.rs1(), rs2, rs3, ..op }
}

fn compare_and_branch<const CONDITION: u8, const TOP: u32>(cpu: &mut Cpu, op: &Op) -> Step {
    let second = cpu.get(op.rs2).wrapping_add(op.rs3.cast_signed() as u64);
    if compares::<CONDITION, TOP>(cpu.get(op.rs1), second) { Step::TakenAnnul } else { Step::NotTaken }
}

/// Puts the target into `imm`, and the distance to it, from which the call's own address follows, into the four small
/// fields.
fn decode_call(word: Word, address: u64) -> Op {
    let [rd, rs1, rs2, rs3] = (word.signed(30) as u32).to_ne_bytes();
    Op { rd, rs1, rs2, rs3, ..to(call, address, word.signed(30)) }
}

fn call(cpu: &mut Cpu, op: &Op) -> Step {
    let words = u32::from_ne_bytes([op.rd, op.rs1, op.rs2, op.rs3]).cast_signed();
    cpu.r[15] = op.imm.wrapping_sub((i64::from(words) << 2).cast_unsigned());
    Step::Taken
}

/// Keeps the address of `jmpl` itself beside the immediate: no address of an instruction has more than 48 bits.
fn decode_jmpl(word: Word, address: u64) -> Op {
    let op = Op::integer(if word.rd() == 0 { jump } else { jump_and_link }, word);
    if word.rd() == 0 { op } else { Op { imm: op.imm << 48 | address & 0xffff_ffff_ffff, ..op } }
}

fn jump(cpu: &mut Cpu, op: &Op) -> Step {
    let target = cpu.get(op.rs1).wrapping_add(cpu.operand2(op));
    jump_to(cpu, target)
}

fn jump_and_link(cpu: &mut Cpu, op: &Op) -> Step {
    let immediate = (op.imm.cast_signed() >> 48).cast_unsigned();
    let target = cpu.get(op.rs1).wrapping_add(cpu.get(op.rs2)).wrapping_add(immediate);
    if target & 3 == 0 {
        cpu.set(op.rd, op.imm & 0xffff_ffff_ffff);
    }
    jump_to(cpu, target)
}

#[inline(always)]
fn jump_to(cpu: &mut Cpu, target: u64) -> Step {
    if target & 3 != 0 {
        return cpu.stop(Trap::NotAligned(target));
    }
    cpu.target = target;
    Step::Jump
}

/// Executes `return`, whose target is computed from the old window's registers.
fn leave(cpu: &mut Cpu, op: &Op) -> Step {
    let target = cpu.get(op.rs1).wrapping_add(cpu.operand2(op));
    if target & 3 != 0 {
        return cpu.stop(Trap::NotAligned(target));
    }
    match cpu.restore_window() {
        Ok(()) => jump_to(cpu, target),
        Err(trap) => cpu.stop(trap),
    }
}
