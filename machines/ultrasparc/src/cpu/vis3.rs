//! VIS 3, from Rainbow Falls on: carries and wide products for big numbers, and moves between register files.
//! Ref. Oracle SPARC Architecture 2011, chapter 7.
//!
//! `fmean16` rounds halves up, which is our choice: the published text says that it adds one before it halves, and
//! not how a negative sum is halved.

use crate::cpu::vis::{distance, lanes16, lanes32, table};
use crate::cpu::{Cpu, Handler, Op, Step, float};
use crate::isa::{Class, Decode, Instruction, Operand, Word, double};
use crate::processor::Feature;

/// The rows on integers and on lanes.
pub const INSTRUCTIONS: &[Instruction] = table! { Vis3 Vis3 cpu
    "addxc"     0x011 (r1 a, r2 b => rd) a.wrapping_add(b).wrapping_add(u64::from(cpu.carry()));
    "addxccc"   0x013 (r1 a, r2 b => rd) {
        let sum = a.wrapping_add(b).wrapping_add(u64::from(cpu.carry()));
        cpu.set_codes_add_carry(a, b, sum);
        sum
    };
    "umulxhi"   0x016 (r1 a, r2 b => rd) ((u128::from(a) * u128::from(b)) >> 64) as u64;
    "lzcnt"     0x017 (r2 b => rd) u64::from(b.leading_zeros());
    "xmulx"     0x115 (r1 a, r2 b => rd) carryless(a, b) as u64;
    "xmulxhi"   0x116 (r1 a, r2 b => rd) (carryless(a, b) >> 64) as u64;
    "movdtox"   0x110 (d2 b => rd) b;
    "movstouw"  0x111 (s2 b => rd) u64::from(b);
    "movstosw"  0x113 (s2 b => rd) b as i32 as u64;
    "movxtod"   0x118 (r2 b => dd) b;
    "movwtos"   0x119 (r2 b => sd) b as u32;
    "fucmple8"  0x120 (d1 a, d2 b => rd) mask8(a, b, |a, b| a <= b);
    "fucmpne8"  0x122 (d1 a, d2 b => rd) mask8(a, b, |a, b| a != b);
    "fucmpgt8"  0x128 (d1 a, d2 b => rd) mask8(a, b, |a, b| a > b);
    "fucmpeq8"  0x12a (d1 a, d2 b => rd) mask8(a, b, |a, b| a == b);
    "fsll16"    0x021 (d1 a, d2 b => dd) lanes16(a, b, |a, b| a << (b & 15));
    "fsrl16"    0x023 (d1 a, d2 b => dd) lanes16(a, b, |a, b| a >> (b & 15));
    "fsll32"    0x025 (d1 a, d2 b => dd) lanes32(a, b, |a, b| a << (b & 31));
    "fsrl32"    0x027 (d1 a, d2 b => dd) lanes32(a, b, |a, b| a >> (b & 31));
    "fslas16"   0x029 (d1 a, d2 b => dd) lanes16(a, b, |a, b| clamp16(i32::from(a as i16) << (b & 15)));
    "fsra16"    0x02b (d1 a, d2 b => dd) lanes16(a, b, |a, b| (a as i16 >> (b & 15)) as u16);
    "fslas32"   0x02d (d1 a, d2 b => dd) lanes32(a, b, |a, b| clamp32(i64::from(a as i32) << (b & 31)));
    "fsra32"    0x02f (d1 a, d2 b => dd) lanes32(a, b, |a, b| (a as i32 >> (b & 31)) as u32);
    "pdistn"    0x03f (d1 a, d2 b => rd) distance(a, b);
    "fmean16"   0x040 (d1 a, d2 b => dd) lanes16(a, b, |a, b| ((i32::from(a as i16) + i32::from(b as i16) + 1) >> 1) as u16);
    "fpadd64"   0x042 (d1 a, d2 b => dd) a.wrapping_add(b);
    "fchksm16"  0x044 (d1 a, d2 b => dd) lanes16(a, b, ones_complement_add);
    "fpsub64"   0x046 (d1 a, d2 b => dd) a.wrapping_sub(b);
    "fpadds16"  0x058 (d1 a, d2 b => dd) lanes16(a, b, |a, b| (a as i16).saturating_add(b as i16) as u16);
    "fpadds16s" 0x059 (s1 a, s2 b => sd) {
        lanes16(a.into(), b.into(), |a, b| (a as i16).saturating_add(b as i16) as u16) as u32
    };
    "fpadds32"  0x05a (d1 a, d2 b => dd) lanes32(a, b, |a, b| (a as i32).saturating_add(b as i32) as u32);
    "fpadds32s" 0x05b (s1 a, s2 b => sd) (a as i32).saturating_add(b as i32) as u32;
    "fpsubs16"  0x05c (d1 a, d2 b => dd) lanes16(a, b, |a, b| (a as i16).saturating_sub(b as i16) as u16);
    "fpsubs16s" 0x05d (s1 a, s2 b => sd) {
        lanes16(a.into(), b.into(), |a, b| (a as i16).saturating_sub(b as i16) as u16) as u32
    };
    "fpsubs32"  0x05e (d1 a, d2 b => dd) lanes32(a, b, |a, b| (a as i32).saturating_sub(b as i32) as u32);
    "fpsubs32s" 0x05f (s1 a, s2 b => sd) (a as i32).saturating_sub(b as i32) as u32;
};

/// Comparisons whose mask becomes a shuffle: it takes `rs1`'s lane if a bit is set, else `rs2`'s.
pub const MASKS: &[Instruction] = &[
    cmask("cmask8", 0x01b, Decode::Plain(|word, _| mask_op(word.rs2(), to_mask::<1>))),
    cmask("cmask16", 0x01d, Decode::Plain(|word, _| mask_op(word.rs2(), to_mask::<2>))),
    cmask("cmask32", 0x01f, Decode::Plain(|word, _| mask_op(word.rs2(), to_mask::<4>))),
];

const fn cmask(name: &'static str, opf: u32, decode: Decode) -> Instruction {
    let value = 2 << 30 | 0x36 << 19 | opf << 5;
    let operands = &[Operand::R2];
    Instruction { name, mask: 0xc1f8_3fe0, value, operands, needs: Feature::Vis3, class: Class::Vis3, decode }
}

fn mask_op(rs2: u8, run: Handler) -> Op {
    Op { run, imm: 0, rd: 0, rs1: 0, rs2, rs3: 0 }
}

/// Sets GSR.mask from a comparison of lanes of `BYTES` bytes.
fn to_mask<const BYTES: u32>(cpu: &mut Cpu, op: &Op) -> Step {
    let chosen = cpu.get(op.rs2);
    let mask = (0..8).fold(0, |mask, place: u32| {
        let lane = (7 - place) / BYTES;
        let from = if chosen >> lane & 1 != 0 { place } else { place + 8 };
        mask << 4 | from
    });
    cpu.set_mask(mask);
    Step::Next
}

/// Compares each byte; bit n of the result is the comparison of byte n from below.
#[inline(always)]
fn mask8(a: u64, b: u64, f: impl Fn(u8, u8) -> bool) -> u64 {
    (0..8).fold(0, |mask, lane| mask | u64::from(f((a >> (8 * lane)) as u8, (b >> (8 * lane)) as u8)) << lane)
}

fn clamp16(value: i32) -> u16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as u16
}

fn clamp32(value: i64) -> u32 {
    value.clamp(i32::MIN.into(), i32::MAX.into()) as u32
}

/// The sum of the Internet checksum: RFC 1071.
fn ones_complement_add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

/// The product over GF(2), as polynomials.
///
/// The loop takes four bits of `b` at a time, out of the sixteen multiples of `a`. It is portable and needs no
/// instruction of the host. GHASH takes four of these products a block.
#[must_use]
pub fn carryless(a: u64, b: u64) -> u128 {
    let mut multiples = [0u128; 16];
    multiples[1] = u128::from(a);
    let mut i = 2;
    while i < 16 {
        multiples[i] = multiples[i / 2] << 1;
        multiples[i + 1] = multiples[i] ^ multiples[1];
        i += 2;
    }
    let mut product = 0;
    let mut shift = 64;
    while shift > 0 {
        shift -= 4;
        product = product << 4 ^ multiples[(b >> shift & 15) as usize];
    }
    product
}

/// Integer multiplication and addition on floating-point registers, which T4 has.
pub const IMA: &[Instruction] = &[
    ima("fpmaddx", 0x0, Decode::Plain(|word, _| ima_op(word, |cpu, op| wide_product(cpu, op, 0)))),
    ima("fpmaddxhi", 0x4, Decode::Plain(|word, _| ima_op(word, |cpu, op| wide_product(cpu, op, 64)))),
];

const fn ima(name: &'static str, opf: u32, decode: Decode) -> Instruction {
    let (mask, value) = (0xc1f8_01e0, 2 << 30 | 0x37 << 19 | opf << 5);
    let operands = &[Operand::D1, Operand::D2, Operand::D3, Operand::Dd];
    Instruction { name, mask, value, operands, needs: Feature::Ima, class: Class::Vis3, decode }
}

fn ima_op(word: Word, run: Handler) -> Op {
    let [rs1, rs2, rs3, rd] = [word.rs1(), word.rs2(), word.rs3(), word.rd()].map(double);
    Op { run, imm: 0, rd, rs1, rs2, rs3 }
}

/// The bits of `rs1 * rs2 + rs3` from `shift` on.
fn wide_product(cpu: &mut Cpu, op: &Op, shift: u32) -> Step {
    let [a, b, c] = [op.rs1, op.rs2, op.rs3].map(|index| u128::from(cpu.double(index)));
    cpu.set_double(op.rd, ((a * b + c) >> shift) as u64);
    Step::Next
}

/// The rows on floating-point numbers: sums and products negated, sums halved, and the comparison that always orders.
pub const FLOAT: &[Instruction] = float::HPC;
