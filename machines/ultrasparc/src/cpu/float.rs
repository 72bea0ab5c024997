//! Floating point: the rows, and what executes them.
//! Ref. The SPARC Architecture Manual, Version 9, appendices A and B; Oracle SPARC Architecture 2011 for fused
//! multiplication and addition.
//!
//! Quad precision was emulated by the operating system on every machine of the line. A program can't tell, so it is
//! executed here. `host` computes what is rounded to nearest, `exact` everything else; both say which exceptions an
//! instruction raises, and `state` decides what becomes of them.
//!
//! The published text leaves room, and these choices are ours: a result that is to have the other sign is negated
//! before it is rounded, but never if it is a NaN; of three NaN operands the signalling ones win, then the last one.

mod convert;
mod exact;
mod host;
mod moves;
mod operation;
mod state;

use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float, Round, StatusAnd};

use self::exact::{Format, Outcome};
use self::operation::{Add, Divide, HalfDifference, HalfSum, Multiply, Negated, Operation, Size, Subtract};
use crate::cpu::{Cpu, Handler, Op, Step};
use crate::isa::{Class, Decode, Instruction, Operand, Word};
use crate::processor::Feature;

pub use self::convert::CONVERSIONS;
pub use self::moves::{CONDITIONAL_MOVES, MOVES, REGISTER_MOVES};

/// The bits that every row here fixes: `op`, `op3` and `opf`.
const MASK: u32 = 0xc1f8_3fe0;
/// The place of `rs1`, which must be zero if the instruction does not use it: OSA 2011.
const NO_RS1: u32 = 0x0007_c000;

fn binary<S: Size, O: Operation>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (S::load(cpu, op.rs1), S::load(cpu, op.rs2));
    if cpu.is_plain()
        && let Some((result, inexact)) = S::host::<O>(a, b)
    {
        cpu.note(inexact);
        S::store(cpu, op.rd, result);
        return Step::Next;
    }
    let round = cpu.rounding();
    let outcome = exact::propagate::<S::Format>(&[b, a]).unwrap_or_else(|| {
        let (a, b) = (S::Format::from_bits(a), S::Format::from_bits(b));
        exact::operate(round, |round| O::exact(a, b, round), || O::half(a, b))
    });
    finish::<S>(cpu, op, outcome)
}

/// Raises the exceptions of a result, and stores it if none traps.
fn finish<S: Size>(cpu: &mut Cpu, op: &Op, (result, flags): Outcome) -> Step {
    match cpu.raise(flags) {
        Ok(()) => {
            S::store(cpu, op.rd, result);
            Step::Next
        }
        Err(step) => step,
    }
}

fn square_root<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    let a = S::load(cpu, op.rs2);
    if cpu.is_plain()
        && let Some((result, inexact)) = S::host::<SquareRoot>(a, 0)
    {
        cpu.note(inexact);
        S::store(cpu, op.rd, result);
        return Step::Next;
    }
    let outcome = exact::square_root::<S::Format>(a, cpu.rounding());
    finish::<S>(cpu, op, outcome)
}

/// The square root of the first operand, for the host.
struct SquareRoot;

impl Operation for SquareRoot {
    #[inline(always)]
    fn single(a: f32, _: f32) -> Option<(f32, bool)> {
        host::square_root_single(a)
    }
    #[inline(always)]
    fn double(a: f64, _: f64) -> Option<(f64, bool)> {
        host::square_root(a)
    }
    fn exact<F: Format>(a: F, _: F, round: Round) -> StatusAnd<F> {
        let (bits, _) = exact::square_root::<F>(a.to_bits(), round);
        rustc_apfloat::Status::OK.and(F::from_bits(bits))
    }
}

/// The product of two singles as a double, which is exact unless an operand is a NaN.
fn single_to_double<const NEGATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.single(op.rs1), cpu.single(op.rs2));
    let sign = if NEGATE { 1 << 63 } else { 0 };
    if let Some((product, _)) = host::multiply_to_double(f32::from_bits(a), f32::from_bits(b)) {
        cpu.note(false);
        cpu.set_double(op.rd, product.to_bits() ^ sign);
        return Step::Next;
    }
    let outcome = widening::<Single, Double>(a.into(), b.into(), cpu.rounding());
    let (bits, flags) = outcome;
    let negated = if exact::is_nan::<Double>(bits) { bits } else { bits ^ u128::from(sign) };
    finish::<Double>(cpu, op, (negated, flags))
}

fn double_to_quad(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (cpu.double(op.rs1), cpu.double(op.rs2));
    let outcome = widening::<Double, Quad>(a.into(), b.into(), cpu.rounding());
    finish::<Quad>(cpu, op, outcome)
}

/// The product in a format that is wide enough for it.
fn widening<F, T>(a: u128, b: u128, round: Round) -> Outcome
where
    F: Format + rustc_apfloat::FloatConvert<T>,
    T: Format,
{
    if let Some((nan, flags)) = exact::propagate::<F>(&[b, a]) {
        return (exact::convert::<F, T>(nan, round).0, flags);
    }
    let wide = |bits| T::from_bits(exact::convert::<F, T>(bits, round).0);
    exact::operate(round, |round| wide(a).mul_r(wide(b), round), || T::ZERO)
}

/// `a * b + c` with one rounding. Of several NaNs the last operand's wins; a sign is never applied to a NaN.
fn fused<S: Size, const MINUS: bool, const NEGATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b, c) = (S::load(cpu, op.rs1), S::load(cpu, op.rs2), S::load(cpu, op.rs3));
    let sign = S::Format::MAGNITUDE + 1;
    if cpu.is_plain()
        && let Some((result, inexact)) = S::host_fused(a, b, if MINUS { c ^ sign } else { c })
    {
        cpu.note(inexact);
        S::store(cpu, op.rd, if NEGATE { result ^ sign } else { result });
        return Step::Next;
    }
    let from = S::Format::from_bits;
    let addend = if MINUS { -from(c) } else { from(c) };
    let rounding = cpu.rounding();
    let invalid = is_zero_times_infinity::<S::Format>(a, b);
    let outcome = match exact::propagate::<S::Format>(&[c, b, a]) {
        Some((nan, flags)) => (nan, flags | if invalid { state::INVALID } else { 0 }),
        None => {
            let (a, b) = (from(a), from(b));
            let sum = |round| a.mul_add_r(b, addend, round);
            let half = || exact::halve(a).mul_add_r(b, exact::halve(addend), Round::TowardZero).value;
            let operation = |round: Round| if NEGATE { sum(-round).map(|value| -value) } else { sum(round) };
            exact::operate(rounding, operation, half)
        }
    };
    finish::<S>(cpu, op, outcome)
}

fn is_zero_times_infinity<F: Format>(a: u128, b: u128) -> bool {
    let (a, b) = (a & F::MAGNITUDE, b & F::MAGNITUDE);
    a == 0 && b == F::INFINITE || a == F::INFINITE && b == 0
}

/// Executes `fcmp` and `fcmpe`, of which the latter takes every NaN for an invalid operand.
fn compare<S: Size, const SIGNAL: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (S::load(cpu, op.rs1), S::load(cpu, op.rs2));
    let order = exact::compare::<S::Format>(a, b);
    let signals = exact::is_signalling::<S::Format>(a) || exact::is_signalling::<S::Format>(b);
    if order == 3 && (SIGNAL || signals) {
        if let Err(step) = cpu.raise(state::INVALID) {
            return step;
        }
    } else {
        cpu.note(false);
    }
    cpu.set_fcc(op.rd, order);
    Step::Next
}

/// Executes VIS 3's comparison, which always orders and never traps: a negative zero is less than a positive one; 2
/// says that only the first operand is a NaN, and 3 that the second is.
fn compare_lexically<S: Size>(cpu: &mut Cpu, op: &Op) -> Step {
    let (a, b) = (S::load(cpu, op.rs1), S::load(cpu, op.rs2));
    let order = match exact::compare::<S::Format>(a, b) {
        0 => u8::from(b == 0 && a != 0),
        1 => 1,
        2 => 0,
        _ => 2 + u8::from(exact::is_nan::<S::Format>(b)),
    };
    cpu.set_fcc(op.rd, order);
    Step::Next
}

/// An instruction of two operands of one size.
fn op2<S: Size>(word: Word, run: Handler) -> Op {
    Op { run, imm: 0, rd: S::index(word.rd()), rs1: S::index(word.rs1()), rs2: S::index(word.rs2()), rs3: 0 }
}

/// The same in quad precision, whose registers have even indices.
fn op2_quad(word: Word, run: Handler) -> Op {
    checked(op2::<Quad>(word, run))
}

/// Makes an instruction on quad registers trap if one of them has an odd index.
fn checked(op: Op) -> Op {
    if (op.rd | op.rs1 | op.rs2) & 1 == 0 { op } else { Op { run: |cpu, _| cpu.invalid_register(), ..op } }
}

/// A comparison, whose result goes to a condition code.
fn op_compare<S: Size>(word: Word, run: Handler) -> Op {
    Op { run, imm: 0, rd: word.rd() & 3, rs1: S::index(word.rs1()), rs2: S::index(word.rs2()), rs3: 0 }
}

fn op_compare_quad(word: Word, run: Handler) -> Op {
    let op = op_compare::<Quad>(word, run);
    if (op.rs1 | op.rs2) & 1 == 0 { op } else { Op { run: |cpu, _| cpu.invalid_register(), ..op } }
}

/// An instruction of one operand, in `rs2`.
fn op1<S: Size, T: Size>(word: Word, run: Handler) -> Op {
    Op { run, imm: 0, rd: T::index(word.rd()), rs1: 0, rs2: S::index(word.rs2()), rs3: 0 }
}

fn op_fused<S: Size>(word: Word, run: Handler) -> Op {
    Op { rs3: S::index(word.rs3()), ..op2::<S>(word, run) }
}

const fn row(
    name: &'static str,
    opf: u32,
    operands: &'static [Operand],
    class: Class,
    decode: Decode,
) -> Instruction {
    let value = 2 << 30 | 0x34 << 19 | opf << 5;
    let (mask, needs) = (MASK | if operands.len() == 2 { NO_RS1 } else { 0 }, Feature::V9);
    Instruction { name, mask, value, operands, needs, class, decode }
}

const SSS: &[Operand] = &[Operand::S1, Operand::S2, Operand::Sd];
const DDD: &[Operand] = &[Operand::D1, Operand::D2, Operand::Dd];
const QQQ: &[Operand] = &[Operand::Q1, Operand::Q2, Operand::Qd];
const SSD: &[Operand] = &[Operand::S1, Operand::S2, Operand::Dd];
const DDQ: &[Operand] = &[Operand::D1, Operand::D2, Operand::Qd];

macro_rules! arithmetic {
    ($($name:literal $opf:literal $operands:ident $class:ident $op:path, $run:expr;)*) => {
        &[$(row($name, $opf, $operands, Class::$class, Decode::Plain(|word, _| $op(word, $run)))),*]
    };
}

const S_S: &[Operand] = &[Operand::S2, Operand::Sd];
const D_D: &[Operand] = &[Operand::D2, Operand::Dd];
const Q_Q: &[Operand] = &[Operand::Q2, Operand::Qd];

/// The rows of arithmetic.
pub const INSTRUCTIONS: &[Instruction] = arithmetic! {
    "fadds"  0x041 SSS FloatAdd      op2::<Single>, binary::<Single, Add>;
    "faddd"  0x042 DDD FloatAdd      op2::<Double>, binary::<Double, Add>;
    "faddq"  0x043 QQQ FloatAdd      op2_quad,      binary::<Quad, Add>;
    "fsubs"  0x045 SSS FloatAdd      op2::<Single>, binary::<Single, Subtract>;
    "fsubd"  0x046 DDD FloatAdd      op2::<Double>, binary::<Double, Subtract>;
    "fsubq"  0x047 QQQ FloatAdd      op2_quad,      binary::<Quad, Subtract>;
    "fmuls"  0x049 SSS FloatMultiply op2::<Single>, binary::<Single, Multiply>;
    "fmuld"  0x04a DDD FloatMultiply op2::<Double>, binary::<Double, Multiply>;
    "fmulq"  0x04b QQQ FloatMultiply op2_quad,      binary::<Quad, Multiply>;
    "fdivs"  0x04d SSS FloatDivide   op2::<Single>, binary::<Single, Divide>;
    "fdivd"  0x04e DDD FloatDivide   op2::<Double>, binary::<Double, Divide>;
    "fdivq"  0x04f QQQ FloatDivide   op2_quad,      binary::<Quad, Divide>;
    "fsmuld" 0x069 SSD FloatMultiply op_widening::<Single, Double>, single_to_double::<false>;
    "fdmulq" 0x06e DDQ FloatMultiply op_double_to_quad, double_to_quad;
    "fsqrts" 0x029 S_S FloatDivide   op1::<Single, Single>, square_root::<Single>;
    "fsqrtd" 0x02a D_D FloatDivide   op1::<Double, Double>, square_root::<Double>;
    "fsqrtq" 0x02b Q_Q FloatDivide   op1_quad, square_root::<Quad>;
};

fn op1_quad(word: Word, run: Handler) -> Op {
    checked(op1::<Quad, Quad>(word, run))
}

/// Two operands of one size, and a result of the next.
fn op_widening<S: Size, T: Size>(word: Word, run: Handler) -> Op {
    Op { rd: T::index(word.rd()), ..op2::<S>(word, run) }
}

fn op_double_to_quad(word: Word, run: Handler) -> Op {
    let op = op_widening::<Double, Quad>(word, run);
    if op.rd & 1 == 0 { op } else { Op { run: |cpu, _| cpu.invalid_register(), ..op } }
}

const fn hpc(row: Instruction) -> Instruction {
    Instruction { needs: Feature::Hpc, ..row }
}

const fn plain(
    name: &'static str,
    opf: u32,
    operands: &'static [Operand],
    class: Class,
    decode: fn(Word, u64) -> Op,
) -> Instruction {
    hpc(row(name, opf, operands, class, Decode::Plain(decode)))
}

/// The rows of HPC, as binutils' table (`opcodes/sparc-opc.c`) has them: arithmetic that came with VIS 3 under a name of its own.
pub(super) const HPC: &[Instruction] = {
    use Class::{FloatAdd as A, FloatMultiply as M};
    &[
        plain("fnadds", 0x051, SSS, A, |word, _| op2::<Single>(word, binary::<Single, Negated<Add>>)),
        plain("fnaddd", 0x052, DDD, A, |word, _| op2::<Double>(word, binary::<Double, Negated<Add>>)),
        plain("fnmuls", 0x059, SSS, M, |word, _| op2::<Single>(word, binary::<Single, Negated<Multiply>>)),
        plain("fnmuld", 0x05a, DDD, M, |word, _| op2::<Double>(word, binary::<Double, Negated<Multiply>>)),
        plain("fhadds", 0x061, SSS, A, |word, _| op2::<Single>(word, binary::<Single, HalfSum>)),
        plain("fhaddd", 0x062, DDD, A, |word, _| op2::<Double>(word, binary::<Double, HalfSum>)),
        plain("fhsubs", 0x065, SSS, A, |word, _| op2::<Single>(word, binary::<Single, HalfDifference>)),
        plain("fhsubd", 0x066, DDD, A, |word, _| op2::<Double>(word, binary::<Double, HalfDifference>)),
        plain("fnhadds", 0x071, SSS, A, |word, _| op2::<Single>(word, binary::<Single, Negated<HalfSum>>)),
        plain("fnhaddd", 0x072, DDD, A, |word, _| op2::<Double>(word, binary::<Double, Negated<HalfSum>>)),
        plain("fnsmuld", 0x079, SSD, M, |word, _| {
            op_widening::<Single, Double>(word, single_to_double::<true>)
        }),
        lexical("flcmps", 0x151, &[Operand::FccCompare, Operand::S1, Operand::S2], |word, _| {
            op_compare::<Single>(word, compare_lexically::<Single>)
        }),
        lexical("flcmpd", 0x152, &[Operand::FccCompare, Operand::D1, Operand::D2], |word, _| {
            op_compare::<Double>(word, compare_lexically::<Double>)
        }),
    ]
};

const fn lexical(
    name: &'static str,
    opf: u32,
    operands: &'static [Operand],
    decode: fn(Word, u64) -> Op,
) -> Instruction {
    let value = 2 << 30 | 0x36 << 19 | opf << 5;
    let (mask, class) = (MASK | NO_RD, Class::FloatCompare);
    Instruction { name, mask, value, operands, needs: Feature::Hpc, class, decode: Decode::Plain(decode) }
}

/// The bits above a condition code's number.
const NO_RD: u32 = 7 << 27;

const fn comparison(
    name: &'static str,
    opf: u32,
    operands: &'static [Operand],
    decode: fn(Word, u64) -> Op,
) -> Instruction {
    let value = 2 << 30 | 0x35 << 19 | opf << 5;
    let (mask, class) = (MASK | NO_RD, Class::FloatCompare);
    Instruction { name, mask, value, operands, needs: Feature::V9, class, decode: Decode::Plain(decode) }
}

const CSS: &[Operand] = &[Operand::FccCompare, Operand::S1, Operand::S2];
const CDD: &[Operand] = &[Operand::FccCompare, Operand::D1, Operand::D2];
const CQQ: &[Operand] = &[Operand::FccCompare, Operand::Q1, Operand::Q2];

/// The rows of comparisons.
pub const COMPARISONS: &[Instruction] = &[
    comparison("fcmps", 0x051, CSS, |word, _| op_compare::<Single>(word, compare::<Single, false>)),
    comparison("fcmpd", 0x052, CDD, |word, _| op_compare::<Double>(word, compare::<Double, false>)),
    comparison("fcmpq", 0x053, CQQ, |word, _| op_compare_quad(word, compare::<Quad, false>)),
    comparison("fcmpes", 0x055, CSS, |word, _| op_compare::<Single>(word, compare::<Single, true>)),
    comparison("fcmped", 0x056, CDD, |word, _| op_compare::<Double>(word, compare::<Double, true>)),
    comparison("fcmpeq", 0x057, CQQ, |word, _| op_compare_quad(word, compare::<Quad, true>)),
];

const fn fma(
    name: &'static str,
    opf: u32,
    operands: &'static [Operand],
    decode: fn(Word, u64) -> Op,
) -> Instruction {
    let (mask, value) = (0xc1f8_01e0, 2 << 30 | 0x37 << 19 | opf << 5);
    let class = Class::FloatMultiply;
    Instruction { name, mask, value, operands, needs: Feature::Fmaf, class, decode: Decode::Plain(decode) }
}

const SSSS: &[Operand] = &[Operand::S1, Operand::S2, Operand::S3, Operand::Sd];
const DDDD: &[Operand] = &[Operand::D1, Operand::D2, Operand::D3, Operand::Dd];

/// The rows of fused multiplication and addition.
pub const FUSED: &[Instruction] = &[
    fma("fmadds", 0x1, SSSS, |word, _| op_fused::<Single>(word, fused::<Single, false, false>)),
    fma("fmaddd", 0x2, DDDD, |word, _| op_fused::<Double>(word, fused::<Double, false, false>)),
    fma("fmsubs", 0x5, SSSS, |word, _| op_fused::<Single>(word, fused::<Single, true, false>)),
    fma("fmsubd", 0x6, DDDD, |word, _| op_fused::<Double>(word, fused::<Double, true, false>)),
    fma("fnmsubs", 0x9, SSSS, |word, _| op_fused::<Single>(word, fused::<Single, true, true>)),
    fma("fnmsubd", 0xa, DDDD, |word, _| op_fused::<Double>(word, fused::<Double, true, true>)),
    fma("fnmadds", 0xd, SSSS, |word, _| op_fused::<Single>(word, fused::<Single, false, true>)),
    fma("fnmaddd", 0xe, DDDD, |word, _| op_fused::<Double>(word, fused::<Double, false, true>)),
];
