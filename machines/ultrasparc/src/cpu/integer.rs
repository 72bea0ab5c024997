//! Integer arithmetic and logic, shifts, multiplication and division.
//! Ref. The SPARC Architecture Manual, Version 9, appendix A; `popc` §A.40.

use crate::cpu::{Cpu, Handler, Op, Step, Trap, destination};
use crate::isa::{Class, Decode, Instruction, Operand, Word};
use crate::processor::Feature;

/// A row with two operands and a result: `op` 2, by `op3`.
const fn row(name: &'static str, op3: u32, class: Class, decode: Decode) -> Instruction {
    Instruction {
        name,
        mask: 0xc1f8_0000,
        value: 2 << 30 | op3 << 19,
        operands: &[Operand::R1, Operand::R2OrImm13, Operand::Rd],
        needs: Feature::V9,
        class,
        decode,
    }
}

/// A shift: bit 12 says whether it is one of 64 bits.
const fn shift(name: &'static str, op3: u32, wide: u32, decode: Decode) -> Instruction {
    let count = if wide == 0 {
        &[Operand::R1, Operand::Count32, Operand::Rd]
    } else {
        &[Operand::R1, Operand::Count64, Operand::Rd]
    };
    Instruction {
        mask: 0xc1f8_1000,
        value: 2 << 30 | op3 << 19 | wide << 12,
        operands: count,
        ..row(name, op3, Class::Shift, decode)
    }
}

/// Decodes an instruction whose second operand is a register or an immediate, with a handler for each of the two.
macro_rules! two {
    ($handler:ident) => {
        Decode::Plain(|word, _| Op::either($handler::<false>, $handler::<true>, word))
    };
}

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[
    row("add", 0x00, Class::Integer, two!(add)),
    row("and", 0x01, Class::Integer, two!(and)),
    row("or", 0x02, Class::Integer, Decode::Plain(decode_or)),
    row("xor", 0x03, Class::Integer, two!(xor)),
    row("sub", 0x04, Class::Integer, two!(sub)),
    row("andn", 0x05, Class::Integer, two!(andn)),
    row("orn", 0x06, Class::Integer, two!(orn)),
    row("xnor", 0x07, Class::Integer, two!(xnor)),
    row("addc", 0x08, Class::Integer, two!(addc)),
    row("mulx", 0x09, Class::Multiply, two!(mulx)),
    row("umul", 0x0a, Class::Multiply, two!(umul)),
    row("smul", 0x0b, Class::Multiply, two!(smul)),
    row("subc", 0x0c, Class::Integer, two!(subc)),
    row("udivx", 0x0d, Class::Divide, two!(udivx)),
    row("udiv", 0x0e, Class::Divide, two!(udiv)),
    row("sdiv", 0x0f, Class::Divide, two!(sdiv)),
    row("addcc", 0x10, Class::Integer, two!(addcc)),
    row("andcc", 0x11, Class::Integer, two!(andcc)),
    row("orcc", 0x12, Class::Integer, two!(orcc)),
    row("xorcc", 0x13, Class::Integer, two!(xorcc)),
    row("subcc", 0x14, Class::Integer, two!(subcc)),
    row("andncc", 0x15, Class::Integer, two!(andncc)),
    row("orncc", 0x16, Class::Integer, two!(orncc)),
    row("xnorcc", 0x17, Class::Integer, two!(xnorcc)),
    row("addccc", 0x18, Class::Integer, two!(addccc)),
    row("umulcc", 0x1a, Class::Multiply, two!(umulcc)),
    row("smulcc", 0x1b, Class::Multiply, two!(smulcc)),
    row("subccc", 0x1c, Class::Integer, two!(subccc)),
    row("udivcc", 0x1e, Class::Divide, two!(udivcc)),
    row("sdivcc", 0x1f, Class::Divide, two!(sdivcc)),
    row("taddcc", 0x20, Class::Integer, two!(taddcc)),
    row("tsubcc", 0x21, Class::Integer, two!(tsubcc)),
    row("taddcctv", 0x22, Class::Integer, two!(taddcctv)),
    row("tsubcctv", 0x23, Class::Integer, two!(tsubcctv)),
    row("mulscc", 0x24, Class::Multiply, two!(mulscc)),
    shift("sll", 0x25, 0, two!(sll)),
    shift("srl", 0x26, 0, two!(srl)),
    shift("sra", 0x27, 0, two!(sra)),
    shift("sllx", 0x25, 1, two!(sllx)),
    shift("srlx", 0x26, 1, two!(srlx)),
    shift("srax", 0x27, 1, two!(srax)),
    row("sdivx", 0x2d, Class::Divide, two!(sdivx)),
    Instruction {
        mask: 0xc1ff_c000,
        operands: &[Operand::R2OrImm13, Operand::Rd],
        needs: Feature::Popc,
        ..row("popc", 0x2e, Class::Integer, two!(popc))
    },
    Instruction {
        name: "sethi",
        mask: 0xc1c0_0000,
        value: 4 << 22,
        operands: &[Operand::Imm22, Operand::Rd],
        needs: Feature::V9,
        class: Class::Integer,
        decode: Decode::Plain(decode_sethi),
    },
];

impl Op {
    /// An instruction with one handler for `rs2` and another for the immediate.
    #[must_use]
    pub fn either(register: Handler, immediate: Handler, word: Word) -> Op {
        Op::integer(if word.i() { immediate } else { register }, word)
    }

    /// An instruction that sets `rd` to a constant.
    #[must_use]
    pub fn constant(rd: u8, value: u64) -> Op {
        Op { run: constant, imm: value, rd: destination(rd), rs1: 0, rs2: 0, rs3: 0 }
    }

    /// An instruction that does nothing.
    #[must_use]
    pub fn nothing() -> Op {
        Op { run: |_, _| Step::Next, imm: 0, rd: 0, rs1: 0, rs2: 0, rs3: 0 }
    }
}

impl Cpu {
    /// The second operand, where the handler knows which of the two it is.
    #[must_use]
    #[inline(always)]
    pub fn second<const IMMEDIATE: bool>(&self, op: &Op) -> u64 {
        if IMMEDIATE { op.imm } else { self.get(op.rs2) }
    }
}

fn decode_sethi(word: Word, _: u64) -> Op {
    if word.rd() == 0 {
        return Op::nothing();
    }
    Op::constant(word.rd(), u64::from(word.0 << 10))
}

/// Decodes `or`, with which registers are copied and small constants made.
fn decode_or(word: Word, _: u64) -> Op {
    match (word.rs1(), word.i()) {
        (0, true) => Op::constant(word.rd(), word.signed(13)),
        (0, false) => Op::integer(copy, word),
        _ => Op::either(or::<false>, or::<true>, word),
    }
}

fn constant(cpu: &mut Cpu, op: &Op) -> Step {
    cpu.set(op.rd, op.imm);
    Step::Next
}

fn copy(cpu: &mut Cpu, op: &Op) -> Step {
    cpu.set(op.rd, cpu.get(op.rs2));
    Step::Next
}

/// Instructions that only set their result.
macro_rules! pure {
    ($($name:ident = |$a:ident, $b:ident| $value:expr;)*) => {
        $(fn $name<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
            let ($a, $b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
            cpu.set(op.rd, $value);
            Step::Next
        })*
    };
}

pure! {
    add = |a, b| a.wrapping_add(b);
    and = |a, b| a & b;
    or = |a, b| a | b;
    xor = |a, b| a ^ b;
    sub = |a, b| a.wrapping_sub(b);
    andn = |a, b| a & !b;
    orn = |a, b| a | !b;
    xnor = |a, b| a ^ !b;
    mulx = |a, b| a.wrapping_mul(b);
    sll = |a, b| a << (b & 31);
    srl = |a, b| u64::from(a as u32 >> (b & 31));
    sra = |a, b| (a as i32 >> (b & 31)) as u64;
    sllx = |a, b| a << (b & 63);
    srlx = |a, b| a >> (b & 63);
    srax = |a, b| (a.cast_signed() >> (b & 63)).cast_unsigned();
}

/// Logic that sets the condition codes.
macro_rules! logical {
    ($($name:ident = |$a:ident, $b:ident| $value:expr;)*) => {
        $(fn $name<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
            let ($a, $b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
            let result = $value;
            cpu.set_codes_sub(result, 0);
            cpu.set(op.rd, result);
            Step::Next
        })*
    };
}

logical! {
    andcc = |a, b| a & b;
    orcc = |a, b| a | b;
    xorcc = |a, b| a ^ b;
    andncc = |a, b| a & !b;
    orncc = |a, b| a | !b;
    xnorcc = |a, b| a ^ !b;
}

fn popc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let ones = cpu.second::<IMMEDIATE>(op).count_ones();
    cpu.set(op.rd, ones.into());
    Step::Next
}

fn addcc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    cpu.set_codes_add(a, b);
    cpu.set(op.rd, a.wrapping_add(b));
    Step::Next
}

fn subcc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    cpu.set_codes_sub(a, b);
    cpu.set(op.rd, a.wrapping_sub(b));
    Step::Next
}

fn addc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    cpu.set(op.rd, a.wrapping_add(b).wrapping_add(cpu.carry32().into()));
    Step::Next
}

fn subc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    cpu.set(op.rd, a.wrapping_sub(b).wrapping_sub(cpu.carry32().into()));
    Step::Next
}

fn addccc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    let sum = a.wrapping_add(b).wrapping_add(cpu.carry32().into());
    cpu.set_codes_add_carry(a, b, sum);
    cpu.set(op.rd, sum);
    Step::Next
}

fn subccc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    let difference = a.wrapping_sub(b).wrapping_sub(cpu.carry32().into());
    cpu.set_codes_sub_carry(a, b, difference);
    cpu.set(op.rd, difference);
    Step::Next
}

/// The 64-bit product of two words; its upper word goes to %y.
fn product<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op, signed: bool) -> u64 {
    let (a, b) = (cpu.get(op.rs1) as u32, cpu.second::<IMMEDIATE>(op) as u32);
    let product = if signed {
        (i64::from(a.cast_signed()) * i64::from(b.cast_signed())).cast_unsigned()
    } else {
        u64::from(a) * u64::from(b)
    };
    cpu.y = product >> 32;
    cpu.set(op.rd, product);
    product
}

fn umul<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    product::<IMMEDIATE>(cpu, op, false);
    Step::Next
}

fn smul<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    product::<IMMEDIATE>(cpu, op, true);
    Step::Next
}

fn umulcc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let product = product::<IMMEDIATE>(cpu, op, false);
    cpu.set_codes_sub(product, 0);
    Step::Next
}

fn smulcc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let product = product::<IMMEDIATE>(cpu, op, true);
    cpu.set_codes_sub(product, 0);
    Step::Next
}

fn udivx<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    match cpu.get(op.rs1).checked_div(cpu.second::<IMMEDIATE>(op)) {
        Some(quotient) => cpu.set(op.rd, quotient),
        None => return cpu.stop(Trap::DivisionByZero),
    }
    Step::Next
}

fn sdivx<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1).cast_signed(), cpu.second::<IMMEDIATE>(op).cast_signed());
    if b == 0 {
        return cpu.stop(Trap::DivisionByZero);
    }
    cpu.set(op.rd, a.wrapping_div(b).cast_unsigned());
    Step::Next
}

/// The quotient of %y and a word by a word, and true if it was too large and so is the largest there is.
fn quotient<const IMMEDIATE: bool>(cpu: &Cpu, op: &Op, signed: bool) -> Option<(u64, bool)> {
    let dividend = cpu.y << 32 | cpu.get(op.rs1) & 0xffff_ffff;
    let divisor = cpu.second::<IMMEDIATE>(op) as u32;
    if divisor == 0 {
        return None;
    }
    if !signed {
        let quotient = dividend / u64::from(divisor);
        return Some((quotient.min(u32::MAX.into()), quotient > u32::MAX.into()));
    }
    let quotient = i128::from(dividend.cast_signed()) / i128::from(divisor.cast_signed());
    let held = quotient.clamp(i32::MIN.into(), i32::MAX.into());
    Some((held as u64, held != quotient))
}

fn udiv<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    divide::<IMMEDIATE>(cpu, op, false, false)
}

fn sdiv<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    divide::<IMMEDIATE>(cpu, op, true, false)
}

fn udivcc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    divide::<IMMEDIATE>(cpu, op, false, true)
}

fn sdivcc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    divide::<IMMEDIATE>(cpu, op, true, true)
}

fn divide<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op, signed: bool, codes: bool) -> Step {
    let Some((quotient, overflow)) = quotient::<IMMEDIATE>(cpu, op, signed) else {
        return cpu.stop(Trap::DivisionByZero);
    };
    if codes {
        cpu.set_codes_sub(quotient, 0);
        cpu.set_ccr(cpu.ccr() | u8::from(overflow) << 1);
    }
    cpu.set(op.rd, quotient);
    Step::Next
}

/// The condition codes of a tagged operation: a tag that is not zero is an overflow of icc.
fn tagged(a: u64, b: u64, codes: u8) -> u8 {
    codes | u8::from((a | b) & 3 != 0) << 1
}

fn taddcc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    cpu.set_codes_add(a, b);
    cpu.set_ccr(tagged(a, b, cpu.ccr()));
    cpu.set(op.rd, a.wrapping_add(b));
    Step::Next
}

fn tsubcc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    cpu.set_codes_sub(a, b);
    cpu.set_ccr(tagged(a, b, cpu.ccr()));
    cpu.set(op.rd, a.wrapping_sub(b));
    Step::Next
}

fn taddcctv<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let before = cpu.ccr();
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    cpu.set_codes_add(a, b);
    if tagged(a, b, cpu.ccr()) & 2 != 0 {
        cpu.set_ccr(before);
        return cpu.stop(Trap::TagOverflow);
    }
    cpu.set(op.rd, a.wrapping_add(b));
    Step::Next
}

fn tsubcctv<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let before = cpu.ccr();
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op));
    cpu.set_codes_sub(a, b);
    if tagged(a, b, cpu.ccr()) & 2 != 0 {
        cpu.set_ccr(before);
        return cpu.stop(Trap::TagOverflow);
    }
    cpu.set(op.rd, a.wrapping_sub(b));
    Step::Next
}

/// One step of a multiplication, from the time before `umul`. V9 §A.39 leaves the upper word of `rd` undefined.
fn mulscc<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.get(op.rs1), cpu.second::<IMMEDIATE>(op) & 0xffff_ffff);
    let codes = cpu.ccr();
    let sign = u64::from((codes >> 3 ^ codes >> 1) & 1);
    let partial = sign << 31 | (a & 0xffff_ffff) >> 1;
    let addend = if cpu.y & 1 != 0 { b } else { 0 };
    cpu.y = (a & 1) << 31 | cpu.y >> 1;
    cpu.set_codes_add(partial, addend);
    cpu.set(op.rd, partial.wrapping_add(addend));
    Step::Next
}
