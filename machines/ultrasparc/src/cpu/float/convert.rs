//! Conversions between integers and the formats.
//! Ref. V9 §A.14 to §A.16, and §B.5 for integers out of range.

use rustc_apfloat::FloatConvert;
use rustc_apfloat::ieee::{Double, Quad, Single};

use super::exact;
use super::{Size, finish, host, op1, row};
use crate::cpu::{Cpu, Handler, Op, Step};
use crate::isa::{Class, Decode, Instruction, Operand, Word};

/// Converts between two formats.
fn between<S, T>(cpu: &mut Cpu, op: &Op) -> Step
where
    S: Size,
    T: Size,
    S::Format: FloatConvert<T::Format>,
{
    let outcome = exact::convert::<S::Format, T::Format>(S::load(cpu, op.rs2), cpu.rounding());
    finish::<T>(cpu, op, outcome)
}

fn double_to_single(cpu: &mut Cpu, op: &Op) -> Step {
    if cpu.is_plain()
        && let Some((single, inexact)) = host::to_single(f64::from_bits(cpu.double(op.rs2)))
    {
        cpu.note(inexact);
        cpu.set_single(op.rd, single.to_bits());
        return Step::Next;
    }
    between::<Double, Single>(cpu, op)
}

fn single_to_double(cpu: &mut Cpu, op: &Op) -> Step {
    let single = f32::from_bits(cpu.single(op.rs2));
    if single.is_finite() {
        cpu.note(false);
        cpu.set_double(op.rd, f64::from(single).to_bits());
        return Step::Next;
    }
    between::<Single, Double>(cpu, op)
}

/// Converts the 32-bit integer in a single register.
fn from_word<T: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    let outcome = exact::from_integer::<T::Format>(i64::from(cpu.single(op.rs2) as i32), cpu.rounding());
    finish::<T>(cpu, op, outcome)
}

fn word_to_double(cpu: &mut Cpu, op: &Op) -> Step {
    let value = f64::from(cpu.single(op.rs2) as i32);
    cpu.note(false);
    cpu.set_double(op.rd, value.to_bits());
    Step::Next
}

fn word_to_single(cpu: &mut Cpu, op: &Op) -> Step {
    if !cpu.is_plain() {
        return from_word::<Single>(cpu, op);
    }
    let word = cpu.single(op.rs2) as i32;
    let value = word as f32;
    cpu.note(f64::from(value) != f64::from(word));
    cpu.set_single(op.rd, value.to_bits());
    Step::Next
}

/// Converts the 64-bit integer in a double register.
fn from_long<T: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    let outcome = exact::from_integer::<T::Format>(cpu.double(op.rs2) as i64, cpu.rounding());
    finish::<T>(cpu, op, outcome)
}

fn long_to_double(cpu: &mut Cpu, op: &Op) -> Step {
    let long = cpu.double(op.rs2) as i64;
    if !cpu.is_plain() {
        return from_long::<Double>(cpu, op);
    }
    let value = long as f64;
    // The comparison has 128 bits because the nearest double may be 2^63.
    cpu.note(value as i128 != i128::from(long));
    cpu.set_double(op.rd, value.to_bits());
    Step::Next
}

fn long_to_single(cpu: &mut Cpu, op: &Op) -> Step {
    if !cpu.is_plain() {
        return from_long::<Single>(cpu, op);
    }
    let long = cpu.double(op.rs2) as i64;
    let value = long as f32;
    cpu.note(value as i128 != i128::from(long));
    cpu.set_single(op.rd, value.to_bits());
    Step::Next
}

/// Converts to a 32-bit integer in a single register.
fn to_word<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    let (value, flags) = exact::to_integer::<S::Format>(S::load(cpu, op.rs2), 32);
    finish::<Single>(cpu, op, (u128::from(value as u32), flags))
}

/// Converts to a 64-bit integer in a double register.
fn to_long<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    let (value, flags) = exact::to_integer::<S::Format>(S::load(cpu, op.rs2), 64);
    finish::<Double>(cpu, op, (u128::from(value as u64), flags))
}

fn double_to_word(cpu: &mut Cpu, op: &Op) -> Step {
    let value = f64::from_bits(cpu.double(op.rs2));
    // Both limits are exact as doubles, so the comparison is exact too.
    if !(cpu.is_plain() && value > -2_147_483_649.0 && value < 2_147_483_648.0) {
        return to_word::<Double>(cpu, op);
    }
    let word = value as i32;
    cpu.note(f64::from(word) != value);
    cpu.set_single(op.rd, word as u32);
    Step::Next
}

fn double_to_long(cpu: &mut Cpu, op: &Op) -> Step {
    let value = f64::from_bits(cpu.double(op.rs2));
    let range = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    if !(cpu.is_plain() && range.contains(&value)) {
        return to_long::<Double>(cpu, op);
    }
    let long = value as i64;
    cpu.note(long as f64 != value);
    cpu.set_double(op.rd, long as u64);
    Step::Next
}

/// An instruction of one operand that may be a quad register, which has an even index.
fn op1_from_quad<T: Size>(word: Word, run: Handler) -> Op {
    let op = op1::<Quad, T>(word, run);
    if op.rs2 & 1 == 0 { op } else { Op { run: |cpu, _| cpu.invalid_register(), ..op } }
}

fn op1_to_quad<S: Size>(word: Word, run: Handler) -> Op {
    let op = op1::<S, Quad>(word, run);
    if op.rd & 1 == 0 { op } else { Op { run: |cpu, _| cpu.invalid_register(), ..op } }
}

macro_rules! conversions {
    ($($name:literal $opf:literal $from:ident $to:ident $op:path, $run:expr;)*) => {
        &[$(row(
            $name,
            $opf,
            &[Operand::$from, Operand::$to],
            Class::FloatConvert,
            Decode::Plain(|word, _| $op(word, $run)),
        )),*]
    };
}

/// The rows of conversions.
pub const CONVERSIONS: &[Instruction] = conversions! {
    "fstox" 0x081 S2 Dd op1::<Single, Double>,   to_long::<Single>;
    "fdtox" 0x082 D2 Dd op1::<Double, Double>,   double_to_long;
    "fqtox" 0x083 Q2 Dd op1_from_quad::<Double>, to_long::<Quad>;
    "fstoi" 0x0d1 S2 Sd op1::<Single, Single>,   to_word::<Single>;
    "fdtoi" 0x0d2 D2 Sd op1::<Double, Single>,   double_to_word;
    "fqtoi" 0x0d3 Q2 Sd op1_from_quad::<Single>, to_word::<Quad>;
    "fxtos" 0x084 D2 Sd op1::<Double, Single>,   long_to_single;
    "fxtod" 0x088 D2 Dd op1::<Double, Double>,   long_to_double;
    "fxtoq" 0x08c D2 Qd op1_to_quad::<Double>,   from_long::<Quad>;
    "fitos" 0x0c4 S2 Sd op1::<Single, Single>,   word_to_single;
    "fitod" 0x0c8 S2 Dd op1::<Single, Double>,   word_to_double;
    "fitoq" 0x0cc S2 Qd op1_to_quad::<Single>,   from_word::<Quad>;
    "fstod" 0x0c9 S2 Dd op1::<Single, Double>,   single_to_double;
    "fstoq" 0x0cd S2 Qd op1_to_quad::<Single>,   between::<Single, Quad>;
    "fdtos" 0x0c6 D2 Sd op1::<Double, Single>,   double_to_single;
    "fdtoq" 0x0ce D2 Qd op1_to_quad::<Double>,   between::<Double, Quad>;
    "fqtos" 0x0c7 Q2 Sd op1_from_quad::<Single>, between::<Quad, Single>;
    "fqtod" 0x0cb Q2 Dd op1_from_quad::<Double>, between::<Quad, Double>;
};
