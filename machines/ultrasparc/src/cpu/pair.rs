//! Two instructions in one op: the pairs that compiled programs are full of.
//!
//! Most of the time of an interpreter goes into the step from one op to the next, and into waiting for a register
//! that was stored a moment ago. A pair takes that step once, and hands the first result over in a register of the
//! host. All operands are read before anything is written, so nothing has changed when memory refuses an access, as
//! [`Fusion`](crate::isa::Fusion) wants.

use crate::cpu::condition::{compares, each, holds};
use crate::cpu::registers::Codes;
use crate::cpu::{Cpu, Handler, Op, Step, destination};
use crate::isa::Word;

/// The second instruction of a pair, packed into the op's `imm`: its registers in the three low bytes, its immediate
/// in sixteen bits, and above that the first one's immediate in twenty-four.
#[derive(Clone, Copy)]
struct Packed(u64);

impl Packed {
    fn new(second: Word, rd: u8, first_immediate: u64, immediate: u64) -> Packed {
        let rs2 = if second.i() { 0 } else { second.rs2() };
        let registers = u64::from(u32::from_le_bytes([rd, second.rs1(), rs2, 0]));
        Packed(registers | (immediate & 0xffff) << 24 | first_immediate << 40)
    }

    #[inline(always)]
    fn rd(self) -> u8 {
        self.0 as u8
    }

    #[inline(always)]
    fn rs1(self) -> u8 {
        (self.0 >> 8) as u8
    }

    #[inline(always)]
    fn rs2(self) -> u8 {
        (self.0 >> 16) as u8
    }

    #[inline(always)]
    fn immediate(self) -> u64 {
        i64::from((self.0 >> 24) as i16).cast_unsigned()
    }

    #[inline(always)]
    fn first_immediate(self) -> u64 {
        (self.0.cast_signed() >> 40).cast_unsigned()
    }
}

/// An instruction that makes one value of two; `None` if memory refuses.
trait Makes {
    fn value(cpu: &Cpu, a: u64, b: u64) -> Option<u64>;
}

/// An instruction as the second of a pair, after the first made `made` for register `place`.
trait Follows {
    /// Does everything but write the first result; `false` if memory refuses.
    fn follow(cpu: &mut Cpu, packed: Packed, a: u64, b: u64, place: u8, made: u64) -> bool;
}

impl<T: Makes> Follows for T {
    #[inline(always)]
    fn follow(cpu: &mut Cpu, packed: Packed, a: u64, b: u64, place: u8, made: u64) -> bool {
        let Some(value) = T::value(cpu, a, b) else { return false };
        cpu.set(place, made);
        cpu.set(packed.rd(), value);
        true
    }
}

/// Declares instructions that make a value.
macro_rules! makers {
    ($($name:ident = |$cpu:ident, $a:ident, $b:ident| $value:expr;)*) => {
        $(
            struct $name;
            impl Makes for $name {
                #[inline(always)]
                fn value($cpu: &Cpu, $a: u64, $b: u64) -> Option<u64> {
                    $value
                }
            }
        )*
    };
}

makers! {
    Sethi = |_cpu, _a, b| Some(b << 10);
    Add = |_cpu, a, b| Some(a.wrapping_add(b));
    Sub = |_cpu, a, b| Some(a.wrapping_sub(b));
    And = |_cpu, a, b| Some(a & b);
    Or = |_cpu, a, b| Some(a | b);
    Xor = |_cpu, a, b| Some(a ^ b);
    Sll = |_cpu, a, b| Some(a << (b & 31));
    Srl = |_cpu, a, b| Some(u64::from(a as u32 >> (b & 31)));
    Sra = |_cpu, a, b| Some((a as i32 >> (b & 31)) as u64);
    Sllx = |_cpu, a, b| Some(a << (b & 63));
    Srlx = |_cpu, a, b| Some(a >> (b & 63));
    Ldub = |cpu, a, b| cpu.memory.load_u8(a.wrapping_add(b)).ok().map(u64::from);
    Lduh = |cpu, a, b| cpu.memory.load_u16(a.wrapping_add(b)).ok().map(u64::from);
    Lduw = |cpu, a, b| cpu.memory.load_u32(a.wrapping_add(b)).ok().map(u64::from);
    Ldsw = |cpu, a, b| cpu.memory.load_u32(a.wrapping_add(b)).ok().map(|value| value as i32 as u64);
    Ldx = |cpu, a, b| cpu.memory.load_u64(a.wrapping_add(b)).ok();
}

/// Declares stores.
macro_rules! storers {
    ($($name:ident = $store:ident($type:ty);)*) => {
        $(
            struct $name;
            impl Follows for $name {
                #[inline(always)]
                fn follow(cpu: &mut Cpu, packed: Packed, a: u64, b: u64, place: u8, made: u64) -> bool {
                    let value = if packed.rd() == place { made } else { cpu.get(packed.rd()) };
                    let stored = cpu.memory.$store(a.wrapping_add(b), value as $type).is_ok();
                    if stored {
                        cpu.set(place, made);
                    }
                    stored
                }
            }
        )*
    };
}

storers! {
    Stb = store_u8(u8);
    Sth = store_u16(u16);
    Stw = store_u32(u32);
    Stx = store_u64(u64);
}

/// A compare: `subcc` whose result is thrown away.
struct Compare;

impl Follows for Compare {
    #[inline(always)]
    fn follow(cpu: &mut Cpu, _: Packed, a: u64, b: u64, place: u8, made: u64) -> bool {
        cpu.set(place, made);
        cpu.set_codes_sub(a, b);
        true
    }
}

/// The handler of a pair.
fn both<A: Makes, B: Follows>(cpu: &mut Cpu, op: &Op) -> Step {
    let packed = Packed(op.imm);
    let first = [cpu.get(op.rs1), cpu.get(op.rs2).wrapping_add(packed.first_immediate())];
    let second = [cpu.get(packed.rs1()), cpu.get(packed.rs2())];
    let Some(made) = A::value(cpu, first[0], first[1]) else { return Step::Trap };
    let a = if packed.rs1() == op.rd { made } else { second[0] };
    let b = if packed.rs2() == op.rd { made } else { second[1] };
    let followed = B::follow(cpu, packed, a, b.wrapping_add(packed.immediate()), op.rd, made);
    if followed { Step::Next } else { Step::Trap }
}

/// The number of instructions that can be the first of a pair, and of those that can be the second: stores and the
/// compare can't be the first, and `sethi` can't be the second.
const FIRSTS: usize = 16;
const SECONDS: usize = 21;

/// The handlers of a first instruction with all the second ones.
macro_rules! with_seconds {
    ($first:ident) => {
        [
            // This stands in the place of `sethi`, which is never the second.
            both::<$first, Add>,
            both::<$first, Add>,
            both::<$first, Sub>,
            both::<$first, And>,
            both::<$first, Or>,
            both::<$first, Xor>,
            both::<$first, Sll>,
            both::<$first, Srl>,
            both::<$first, Sra>,
            both::<$first, Sllx>,
            both::<$first, Srlx>,
            both::<$first, Ldub>,
            both::<$first, Lduh>,
            both::<$first, Lduw>,
            both::<$first, Ldsw>,
            both::<$first, Ldx>,
            both::<$first, Stb>,
            both::<$first, Sth>,
            both::<$first, Stw>,
            both::<$first, Stx>,
            both::<$first, Compare>,
        ]
    };
}

/// The handlers, in the order of [`number`].
const PAIRS: [[Handler; SECONDS]; FIRSTS] = [
    with_seconds!(Sethi),
    with_seconds!(Add),
    with_seconds!(Sub),
    with_seconds!(And),
    with_seconds!(Or),
    with_seconds!(Xor),
    with_seconds!(Sll),
    with_seconds!(Srl),
    with_seconds!(Sra),
    with_seconds!(Sllx),
    with_seconds!(Srlx),
    with_seconds!(Ldub),
    with_seconds!(Lduh),
    with_seconds!(Lduw),
    with_seconds!(Ldsw),
    with_seconds!(Ldx),
];

/// The number of an instruction in these tables, by its row's name and its word, which tells integer from
/// floating-point registers.
fn number(name: &str, word: Word) -> Option<usize> {
    let known = match name {
        "sethi" => 0,
        "add" => 1,
        "sub" => 2,
        "and" => 3,
        "or" => 4,
        "xor" => 5,
        "sll" => 6,
        "srl" => 7,
        "sra" => 8,
        "sllx" => 9,
        "srlx" => 10,
        "ldub" => 11,
        "lduh" => 12,
        "ld" => 13,
        "ldsw" => 14,
        "ldx" => 15,
        "stb" => 16,
        "sth" => 17,
        "st" => 18,
        "stx" => 19,
        "subcc" if word.rd() == 0 => 20,
        _ => return None,
    };
    let of_floats = word.0 >> 30 == 3 && word.0 >> 24 & 1 != 0;
    (!of_floats).then_some(known)
}

/// The op of two instructions, by their rows' names and words.
pub(crate) fn pair(names: [&str; 2], words: [Word; 2]) -> Option<Op> {
    let [first, second] = words;
    let (a, b) = (number(names[0], first)?, number(names[1], second)?);
    if a >= FIRSTS || b == 0 {
        return None;
    }
    let immediate = |word: Word| if word.i() { word.signed(13) } else { 0 };
    let rd = if b < FIRSTS { destination(second.rd()) } else { second.rd() };
    let mut op = Op::integer(PAIRS[a][b], first);
    let mut first_immediate = immediate(first);
    if a == 0 {
        (op.rs1, op.rs2, first_immediate) = (0, 0, u64::from(first.0 & 0x3f_ffff));
    }
    op.imm = Packed::new(second, rd, first_immediate, immediate(second)).0;
    Some(op)
}

/// Executes a compare and the branch after it: `imm` is the target, an immediate operand is in `rs2` and `rs3`.
fn compare_and_branch<const CONDITION: u8, const IMMEDIATE: bool, const TOP: u32, const ANNULS: bool>(
    cpu: &mut Cpu,
    op: &Op,
) -> Step {
    let (a, b) = (cpu.get(op.rs1), small_or_register::<IMMEDIATE>(cpu, op));
    cpu.set_codes_sub(a, b);
    cpu.set(op.rd, a.wrapping_sub(b));
    answer::<ANNULS>(compares::<CONDITION, TOP>(a, b))
}

/// Executes a test of bits and the branch after it, likewise.
fn test_and_branch<const CONDITION: u8, const IMMEDIATE: bool, const WIDE: bool, const ANNULS: bool>(
    cpu: &mut Cpu,
    op: &Op,
) -> Step {
    let result = cpu.get(op.rs1) & small_or_register::<IMMEDIATE>(cpu, op);
    cpu.set_codes_sub(result, 0);
    cpu.set(op.rd, result);
    answer::<ANNULS>(holds::<CONDITION, WIDE>(Codes::difference(result, 0)))
}

#[inline(always)]
fn small_or_register<const IMMEDIATE: bool>(cpu: &Cpu, op: &Op) -> u64 {
    if IMMEDIATE { i64::from(i16::from_le_bytes([op.rs2, op.rs3])).cast_unsigned() } else { cpu.get(op.rs2) }
}

#[inline(always)]
fn answer<const ANNULS: bool>(taken: bool) -> Step {
    match taken {
        true => Step::Taken,
        false if ANNULS => Step::NotTakenAnnul,
        false => Step::NotTaken,
    }
}

/// The op of a compare and the branch after it, by their rows' names and words.
pub(crate) fn compare_branch(names: [&str; 2], words: [Word; 2], branch: Op) -> Option<Op> {
    const COMPARES: [[Handler; 16]; 8] = [
        each!(compare_and_branch, false, 31, false),
        each!(compare_and_branch, false, 31, true),
        each!(compare_and_branch, false, 63, false),
        each!(compare_and_branch, false, 63, true),
        each!(compare_and_branch, true, 31, false),
        each!(compare_and_branch, true, 31, true),
        each!(compare_and_branch, true, 63, false),
        each!(compare_and_branch, true, 63, true),
    ];
    const TESTS: [[Handler; 16]; 8] = [
        each!(test_and_branch, false, false, false),
        each!(test_and_branch, false, false, true),
        each!(test_and_branch, false, true, false),
        each!(test_and_branch, false, true, true),
        each!(test_and_branch, true, false, false),
        each!(test_and_branch, true, false, true),
        each!(test_and_branch, true, true, false),
        each!(test_and_branch, true, true, true),
    ];
    let [compare, branch_word] = words;
    let wide = match branch_word.0 >> 22 & 7 {
        2 if branch_word.0 >> 30 == 0 => 0,
        1 if branch_word.0 >> 30 == 0 => branch_word.0 >> 21 & 1,
        _ => return None,
    };
    let condition = (branch_word.0 >> 25 & 15) as usize;
    let handlers = match names[0] {
        "subcc" => &COMPARES,
        "andcc" => &TESTS,
        _ => return None,
    };
    if condition & 7 == 0 {
        return None;
    }
    let kind = u32::from(compare.i()) << 2 | wide << 1 | branch_word.0 >> 29 & 1;
    let [rs2, rs3] = if compare.i() { (compare.signed(13) as u16).to_le_bytes() } else { [compare.rs2(), 0] };
    Some(Op {
        run: handlers[kind as usize][condition],
        imm: branch.imm,
        rd: destination(compare.rd()),
        rs1: compare.rs1(),
        rs2,
        rs3,
    })
}
