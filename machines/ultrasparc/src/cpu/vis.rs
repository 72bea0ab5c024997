//! VIS 1 and 2: several small numbers in one floating-point register.
//! Ref. Oracle SPARC Architecture 2011, chapter 7; Sun's VIS Instruction Set User's Manual.

use crate::cpu::{Cpu, Step};
use crate::isa::{Class, Decode, Instruction, Operand};
use crate::processor::Feature;

/// Declares rows whose instructions are one expression of their operands.
///
/// A line says the assembler's name, `opf`, the operands with the form of each (`s1` is a single register in the
/// place of `rs1`, `d2` a double one in the place of `rs2`, `r1` an integer one, and so on; `sum` is a double
/// register that the result is added to), and the result.
macro_rules! table {
    ($needs:ident $class:ident $cpu:ident
     $($name:literal $opf:literal ($($form:ident $operand:ident),* => $result:ident) $value:expr;)*) => {
        &[$(Instruction {
            name: $name,
            mask: 0xc1f8_3fe0,
            value: 2 << 30 | 0x36 << 19 | $opf << 5,
            operands: &[$($crate::cpu::vis::operand!($form),)* $crate::cpu::vis::operand!($result)],
            needs: Feature::$needs,
            class: Class::$class,
            decode: Decode::Plain(|word, _| {
                let mut op = $crate::cpu::Op {
                    run: |$cpu, op| {
                        $(let $operand = $crate::cpu::vis::read!($cpu, op, $form);)*
                        let value = $value;
                        $crate::cpu::vis::write!($cpu, op, $result, value);
                        Step::Next
                    },
                    imm: 0,
                    rd: 0,
                    rs1: 0,
                    rs2: 0,
                    rs3: 0,
                };
                $($crate::cpu::vis::place!(op, word, $form);)*
                $crate::cpu::vis::place!(op, word, $result);
                op
            }),
        }),*]
    };
}

/// The operand as assembly shows it.
macro_rules! operand {
    (r1) => {
        $crate::isa::Operand::R1
    };
    (r2) => {
        $crate::isa::Operand::R2
    };
    (rd) => {
        $crate::isa::Operand::Rd
    };
    (s1) => {
        $crate::isa::Operand::S1
    };
    (s2) => {
        $crate::isa::Operand::S2
    };
    (sd) => {
        $crate::isa::Operand::Sd
    };
    (d1) => {
        $crate::isa::Operand::D1
    };
    (d2) => {
        $crate::isa::Operand::D2
    };
    (sum) => {
        $crate::isa::Operand::Dd
    };
    (dd) => {
        $crate::isa::Operand::Dd
    };
}

/// The field from which an operand's index comes, and the op's field that keeps it.
macro_rules! place {
    ($op:ident, $word:ident, r1) => {
        $op.rs1 = $word.rs1()
    };
    ($op:ident, $word:ident, r2) => {
        $op.rs2 = $word.rs2()
    };
    ($op:ident, $word:ident, rd) => {
        $op.rd = $crate::cpu::destination($word.rd())
    };
    ($op:ident, $word:ident, s1) => {
        $op.rs1 = $word.rs1()
    };
    ($op:ident, $word:ident, s2) => {
        $op.rs2 = $word.rs2()
    };
    ($op:ident, $word:ident, sd) => {
        $op.rd = $word.rd()
    };
    ($op:ident, $word:ident, d1) => {
        $op.rs1 = $crate::isa::double($word.rs1())
    };
    ($op:ident, $word:ident, d2) => {
        $op.rs2 = $crate::isa::double($word.rs2())
    };
    ($op:ident, $word:ident, sum) => {
        $op.rd = $crate::isa::double($word.rd())
    };
    ($op:ident, $word:ident, dd) => {
        $op.rd = $crate::isa::double($word.rd())
    };
}

/// Reads an operand: a `u64`, or a `u32` from a single register.
macro_rules! read {
    ($cpu:ident, $op:ident, r1) => {
        $cpu.get($op.rs1)
    };
    ($cpu:ident, $op:ident, r2) => {
        $cpu.get($op.rs2)
    };
    ($cpu:ident, $op:ident, s1) => {
        $cpu.single($op.rs1)
    };
    ($cpu:ident, $op:ident, s2) => {
        $cpu.single($op.rs2)
    };
    ($cpu:ident, $op:ident, d1) => {
        $cpu.double($op.rs1)
    };
    ($cpu:ident, $op:ident, d2) => {
        $cpu.double($op.rs2)
    };
}

/// Writes the result.
macro_rules! write {
    ($cpu:ident, $op:ident, rd, $value:ident) => {
        $cpu.set($op.rd, $value)
    };
    ($cpu:ident, $op:ident, sd, $value:ident) => {
        $cpu.set_single($op.rd, $value)
    };
    ($cpu:ident, $op:ident, sum, $value:ident) => {
        $cpu.set_double($op.rd, $cpu.double($op.rd).wrapping_add($value))
    };
    ($cpu:ident, $op:ident, dd, $value:ident) => {
        $cpu.set_double($op.rd, $value)
    };
}

pub(crate) use {operand, place, read, table, write};

impl Cpu {
    /// Double register `d[index]`.
    #[must_use]
    #[inline(always)]
    pub fn double(&self, index: u8) -> u64 {
        self.d[usize::from(index & 31)]
    }

    /// Sets double register `d[index]`.
    #[inline(always)]
    pub fn set_double(&mut self, index: u8, value: u64) {
        self.d[usize::from(index & 31)] = value;
    }
}

/// The logical operations, on double and on single registers.
pub const LOGICAL: &[Instruction] = table! { Vis Vis cpu
    "fzero"     0x060 (=> dd) 0;
    "fzeros"    0x061 (=> sd) 0;
    "fnor"      0x062 (d1 a, d2 b => dd) !(a | b);
    "fnors"     0x063 (s1 a, s2 b => sd) !(a | b);
    "fandnot2"  0x064 (d1 a, d2 b => dd) a & !b;
    "fandnot2s" 0x065 (s1 a, s2 b => sd) a & !b;
    "fnot2"     0x066 (d2 b => dd) !b;
    "fnot2s"    0x067 (s2 b => sd) !b;
    "fandnot1"  0x068 (d1 a, d2 b => dd) !a & b;
    "fandnot1s" 0x069 (s1 a, s2 b => sd) !a & b;
    "fnot1"     0x06a (d1 a => dd) !a;
    "fnot1s"    0x06b (s1 a => sd) !a;
    "fxor"      0x06c (d1 a, d2 b => dd) a ^ b;
    "fxors"     0x06d (s1 a, s2 b => sd) a ^ b;
    "fnand"     0x06e (d1 a, d2 b => dd) !(a & b);
    "fnands"    0x06f (s1 a, s2 b => sd) !(a & b);
    "fand"      0x070 (d1 a, d2 b => dd) a & b;
    "fands"     0x071 (s1 a, s2 b => sd) a & b;
    "fxnor"     0x072 (d1 a, d2 b => dd) !(a ^ b);
    "fxnors"    0x073 (s1 a, s2 b => sd) !(a ^ b);
    "fsrc1"     0x074 (d1 a => dd) a;
    "fsrc1s"    0x075 (s1 a => sd) a;
    "fornot2"   0x076 (d1 a, d2 b => dd) a | !b;
    "fornot2s"  0x077 (s1 a, s2 b => sd) a | !b;
    "fsrc2"     0x078 (d2 b => dd) b;
    "fsrc2s"    0x079 (s2 b => sd) b;
    "fornot1"   0x07a (d1 a, d2 b => dd) !a | b;
    "fornot1s"  0x07b (s1 a, s2 b => sd) !a | b;
    "for"       0x07c (d1 a, d2 b => dd) a | b;
    "fors"      0x07d (s1 a, s2 b => sd) a | b;
    "fone"      0x07e (=> dd) !0;
    "fones"     0x07f (=> sd) !0;
};

/// Arithmetic on lanes, packing, and what goes with addresses.
pub const INSTRUCTIONS: &[Instruction] = table! { Vis Vis cpu
    "edge8"       0x000 (r1 a, r2 b => rd) { cpu.set_codes_sub(a, b); edge(a, b, 0) };
    "edge8l"      0x002 (r1 a, r2 b => rd) { cpu.set_codes_sub(a, b); edge_little(a, b, 0) };
    "edge16"      0x004 (r1 a, r2 b => rd) { cpu.set_codes_sub(a, b); edge(a, b, 1) };
    "edge16l"     0x006 (r1 a, r2 b => rd) { cpu.set_codes_sub(a, b); edge_little(a, b, 1) };
    "edge32"      0x008 (r1 a, r2 b => rd) { cpu.set_codes_sub(a, b); edge(a, b, 2) };
    "edge32l"     0x00a (r1 a, r2 b => rd) { cpu.set_codes_sub(a, b); edge_little(a, b, 2) };
    "array8"      0x010 (r1 a, r2 b => rd) array(a, b);
    "array16"     0x012 (r1 a, r2 b => rd) array(a, b) << 1;
    "array32"     0x014 (r1 a, r2 b => rd) array(a, b) << 2;
    "alignaddr"   0x018 (r1 a, r2 b => rd) { let sum = a.wrapping_add(b); cpu.set_align(sum); sum & !7 };
    "alignaddrl"  0x01a (r1 a, r2 b => rd) { let sum = a.wrapping_add(b); cpu.set_align(sum.wrapping_neg()); sum & !7 };
    "fcmple16"    0x020 (d1 a, d2 b => rd) mask16(a, b, |a, b| a as i16 <= b as i16);
    "fcmpne16"    0x022 (d1 a, d2 b => rd) mask16(a, b, |a, b| a != b);
    "fcmple32"    0x024 (d1 a, d2 b => rd) mask32(a, b, |a, b| a as i32 <= b as i32);
    "fcmpne32"    0x026 (d1 a, d2 b => rd) mask32(a, b, |a, b| a != b);
    "fcmpgt16"    0x028 (d1 a, d2 b => rd) mask16(a, b, |a, b| a as i16 > b as i16);
    "fcmpeq16"    0x02a (d1 a, d2 b => rd) mask16(a, b, |a, b| a == b);
    "fcmpgt32"    0x02c (d1 a, d2 b => rd) mask32(a, b, |a, b| a as i32 > b as i32);
    "fcmpeq32"    0x02e (d1 a, d2 b => rd) mask32(a, b, |a, b| a == b);
    "fmul8x16"    0x031 (s1 a, d2 b => dd) lanes16(spread(a), b, |a, b| high(i32::from(a), b));
    "fmul8x16au"  0x033 (s1 a, s2 b => dd) lanes16(spread(a), 0, |a, _| high(i32::from(a), (b >> 16) as u16));
    "fmul8x16al"  0x035 (s1 a, s2 b => dd) lanes16(spread(a), 0, |a, _| high(i32::from(a), b as u16));
    "fmul8sux16"  0x036 (d1 a, d2 b => dd) lanes16(a, b, |a, b| high(i32::from(a as i16 >> 8), b));
    "fmul8ulx16"  0x037 (d1 a, d2 b => dd) lanes16(a, b, |a, b| ((product(i32::from(a as u8), b) + 0x8000) >> 16) as u16);
    "fmuld8sux16" 0x038 (s1 a, s2 b => dd) widen(a, b, |a, b| product(i32::from(a as i16 >> 8), b) << 8);
    "fmuld8ulx16" 0x039 (s1 a, s2 b => dd) widen(a, b, |a, b| product(i32::from(a as u8), b));
    "fpack32"     0x03a (d1 a, d2 b => dd) lanes32(a, b, |a, b| a << 8 | pack(b, cpu.scale(31), 23, 0, 255));
    "fpack16"     0x03b (d2 b => sd) {
        narrow(b, |lane| pack(lane as i16 as u32, cpu.scale(15), 7, 0, 255) as u8)
    };
    "fpackfix"    0x03d (d2 b => sd) {
        let fix = |word| pack(word, cpu.scale(31), 16, -0x8000, 0x7fff) & 0xffff;
        fix((b >> 32) as u32) << 16 | fix(b as u32)
    };
    "pdist"       0x03e (d1 a, d2 b => sum) distance(a, b);
    "faligndata"  0x048 (d1 a, d2 b => dd) {
        let both = u128::from(a) << 64 | u128::from(b);
        (both << (8 * (cpu.gsr & 7)) >> 64) as u64
    };
    "fpmerge"     0x04b (s1 a, s2 b => dd) spread(a) << 8 | spread(b);
    "fexpand"     0x04d (s2 b => dd) spread(b) << 4;
    "fpadd16"     0x050 (d1 a, d2 b => dd) lanes16(a, b, u16::wrapping_add);
    "fpadd16s"    0x051 (s1 a, s2 b => sd) lanes16(a.into(), b.into(), u16::wrapping_add) as u32;
    "fpadd32"     0x052 (d1 a, d2 b => dd) lanes32(a, b, u32::wrapping_add);
    "fpadd32s"    0x053 (s1 a, s2 b => sd) a.wrapping_add(b);
    "fpsub16"     0x054 (d1 a, d2 b => dd) lanes16(a, b, u16::wrapping_sub);
    "fpsub16s"    0x055 (s1 a, s2 b => sd) lanes16(a.into(), b.into(), u16::wrapping_sub) as u32;
    "fpsub32"     0x056 (d1 a, d2 b => dd) lanes32(a, b, u32::wrapping_sub);
    "fpsub32s"    0x057 (s1 a, s2 b => sd) a.wrapping_sub(b);
};

/// VIS 2.
pub const VIS2: &[Instruction] = table! { Vis2 Vis cpu
    "edge8n"   0x001 (r1 a, r2 b => rd) edge(a, b, 0);
    "edge8ln"  0x003 (r1 a, r2 b => rd) edge_little(a, b, 0);
    "edge16n"  0x005 (r1 a, r2 b => rd) edge(a, b, 1);
    "edge16ln" 0x007 (r1 a, r2 b => rd) edge_little(a, b, 1);
    "edge32n"  0x009 (r1 a, r2 b => rd) edge(a, b, 2);
    "edge32ln" 0x00b (r1 a, r2 b => rd) edge_little(a, b, 2);
    "bmask"    0x019 (r1 a, r2 b => rd) { let sum = a.wrapping_add(b); cpu.set_mask(sum as u32); sum };
    "bshuffle" 0x04c (d1 a, d2 b => dd) shuffle(a, b, (cpu.gsr >> 32) as u32);
};

/// The instructions without register operands.
pub const STATE: &[Instruction] = &[
    state("shutdown", 0x080, &[], Feature::Vis, Decode::Plain(|_, _| op(|_, _| Step::Next, 0))),
    state(
        "siam",
        0x081,
        &[Operand::Imm3],
        Feature::Vis2,
        Decode::Plain(|word, _| {
            op(
                |cpu, op| {
                    // GSR.IM and GSR.IRND: bits 27:25.
                    cpu.gsr = cpu.gsr & !(7 << 25) | op.imm << 25;
                    Step::Next
                },
                u64::from(word.rs2() & 7),
            )
        }),
    ),
];

const fn state(
    name: &'static str,
    opf: u32,
    operands: &'static [Operand],
    needs: Feature,
    decode: Decode,
) -> Instruction {
    let value = 2 << 30 | 0x36 << 19 | opf << 5;
    Instruction { name, mask: 0xc1f8_3fe0, value, operands, needs, class: Class::State, decode }
}

fn op(run: crate::cpu::Handler, imm: u64) -> crate::cpu::Op {
    crate::cpu::Op { run, imm, rd: 0, rs1: 0, rs2: 0, rs3: 0 }
}

impl Cpu {
    /// Sets GSR.align.
    #[inline]
    fn set_align(&mut self, align: u64) {
        self.gsr = self.gsr & !7 | align & 7;
    }

    /// Sets GSR.mask.
    #[inline]
    pub(crate) fn set_mask(&mut self, mask: u32) {
        self.gsr = self.gsr & 0xffff_ffff | u64::from(mask) << 32;
    }

    /// The low bits of GSR.scale that are in `bits`.
    #[inline]
    fn scale(&self, bits: u64) -> u32 {
        (self.gsr >> 3 & bits) as u32
    }
}

/// Applies `f` to each 16-bit lane of `a` and of `b`.
#[inline(always)]
pub(crate) fn lanes16(a: u64, b: u64, f: impl Fn(u16, u16) -> u16) -> u64 {
    (0..4).fold(0, |sum, lane| {
        sum | u64::from(f((a >> (16 * lane)) as u16, (b >> (16 * lane)) as u16)) << (16 * lane)
    })
}

/// Applies `f` to each 32-bit lane of `a` and of `b`.
#[inline(always)]
pub(crate) fn lanes32(a: u64, b: u64, f: impl Fn(u32, u32) -> u32) -> u64 {
    u64::from(f((a >> 32) as u32, (b >> 32) as u32)) << 32 | u64::from(f(a as u32, b as u32))
}

/// Compares each 16-bit lane; bit n of the result is the comparison of lane n from below.
#[inline(always)]
fn mask16(a: u64, b: u64, f: impl Fn(u16, u16) -> bool) -> u64 {
    (0..4).fold(0, |mask, lane| {
        mask | u64::from(f((a >> (16 * lane)) as u16, (b >> (16 * lane)) as u16)) << lane
    })
}

/// Compares each 32-bit lane, like [`mask16`].
#[inline(always)]
fn mask32(a: u64, b: u64, f: impl Fn(u32, u32) -> bool) -> u64 {
    u64::from(f((a >> 32) as u32, (b >> 32) as u32)) << 1 | u64::from(f(a as u32, b as u32))
}

/// Spreads four bytes, each into the low half of a 16-bit lane.
#[inline]
fn spread(bytes: u32) -> u64 {
    let pairs = u64::from(bytes) | u64::from(bytes) << 16;
    let pairs = pairs & 0x0000_ffff_0000_ffff;
    (pairs | pairs << 8) & 0x00ff_00ff_00ff_00ff
}

#[inline(always)]
fn product(a: i32, b: u16) -> i32 {
    a * i32::from(b as i16)
}

/// The upper 16 bits of a product's 24, rounded.
#[inline(always)]
fn high(a: i32, b: u16) -> u16 {
    ((product(a, b) + 0x80) >> 8) as u16
}

/// Applies `f` to each half of `a` and of `b`, with results of 32 bits.
#[inline(always)]
fn widen(a: u32, b: u32, f: impl Fn(u16, u16) -> i32) -> u64 {
    let upper = f((a >> 16) as u16, (b >> 16) as u16) as u32;
    u64::from(upper) << 32 | u64::from(f(a as u16, b as u16) as u32)
}

/// Makes a byte of each 16-bit lane.
#[inline(always)]
fn narrow(a: u64, f: impl Fn(u16) -> u8) -> u32 {
    (0..4).fold(0, |sum, lane| sum | u32::from(f((a >> (16 * lane)) as u16)) << (8 * lane))
}

/// A fixed-point number scaled, cut at its binary point, and clamped.
#[inline]
fn pack(value: u32, scale: u32, point: u32, low: i64, high: i64) -> u32 {
    (i64::from(value as i32) << scale >> point).clamp(low, high) as u32
}

/// The sum of the absolute differences of the bytes.
#[inline]
pub(crate) fn distance(a: u64, b: u64) -> u64 {
    a.to_be_bytes().iter().zip(b.to_be_bytes()).map(|(a, b)| u64::from(a.abs_diff(b))).sum()
}

/// The lanes of `1 << size` bytes, in the eight bytes at `first`, that lie from `first` on and not after `last`.
#[inline]
fn edge(first: u64, last: u64, size: u32) -> u64 {
    let lanes = 8 >> size;
    let all = (1 << lanes) - 1;
    let left = all >> (first >> size & (lanes - 1));
    let right = all << (lanes - 1 - (last >> size & (lanes - 1))) & all;
    if (first ^ last) & !7 == 0 { left & right } else { left }
}

/// Like [`edge`], with the first byte's lane lowest.
#[inline]
fn edge_little(first: u64, last: u64, size: u32) -> u64 {
    let lanes = 8 >> size;
    let all = (1 << lanes) - 1;
    let left = all << (first >> size & (lanes - 1)) & all;
    let right = all >> (lanes - 1 - (last >> size & (lanes - 1)));
    if (first ^ last) & !7 == 0 { left & right } else { left }
}

/// The place of an element of a blocked three-dimensional array, from its fixed-point coordinates and the logarithm
/// of the array's width in blocks of 64.
fn array(point: u64, size: u64) -> u64 {
    // Sizes above 5 are undefined; the machines took 6 and 7 as 5 and ignored all other bits.
    let n = (size & 7).min(5);
    let (x, y, z) = (point >> 11 & 0x7ff, point >> 33 & 0x7ff, point >> 55);
    let lower = (z & 1) << 4 | (y & 3) << 2 | x & 3;
    let middle = (z >> 1 & 15) << 8 | (y >> 2 & 15) << 4 | x >> 2 & 15;
    let width = (1 << n) - 1;
    let upper = z >> 5 << (2 * n) | (y >> 6 & width) << n | x >> 6 & width;
    upper << 17 | middle << 5 | lower
}

/// Eight of the sixteen bytes of `a` and `b`, chosen by four bits each.
#[inline]
fn shuffle(a: u64, b: u64, mask: u32) -> u64 {
    let both = u128::from(a) << 64 | u128::from(b);
    (0..8).fold(0, |bytes, place| {
        let chosen = mask >> (28 - 4 * place) & 15;
        bytes << 8 | u64::from((both >> (120 - 8 * chosen)) as u8)
    })
}
