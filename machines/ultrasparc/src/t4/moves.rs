//! The instructions around crypto instructions, two or more in one op: loads of a key schedule or of a block, and moves
//! into the registers that the rounds take.

use crate::cpu::{Cpu, Op, Step};
use crate::isa::{Fusion, Word, double};
use crate::memory::Access;
use crate::t4::d;

/// The list, the longest first.
pub const FUSIONS: &[Fusion] = &[
    Fusion { rows: &["ldd"; 16], make: loads },
    Fusion { rows: &["ldd"; 8], make: loads },
    Fusion { rows: &["ldd"; 4], make: loads },
    Fusion { rows: &["movxtod", "movxtod", "fxor", "fxor"], make: moves_and_sums },
    Fusion { rows: &["movxtod"; 2], make: moves },
    Fusion { rows: &["fxor"; 2], make: sums },
];

/// `ldd [rs1 + imm], %f` of doubles that follow one another both in memory and in the registers. The run ends before
/// the last register, so that none wraps.
fn loads(words: &[Word], _address: u64) -> Option<Op> {
    const FLOATING: u32 = 0x23;
    let first = words.first()?;
    let op = Op {
        run: load,
        imm: first.signed(13),
        rd: double(first.rd()),
        rs1: first.rs1(),
        rs2: 0,
        rs3: words.len() as u8,
    };
    let fits = |(at, word): (usize, &Word)| {
        word.0 >> 19 & 63 == FLOATING
            && word.i()
            && word.rs1() == op.rs1
            && usize::from(double(word.rd())) == usize::from(op.rd) + at
            && word.signed(13) == op.imm.wrapping_add(8 * at as u64)
    };
    words.iter().enumerate().all(fits).then_some(op)
}

/// Loads several doubles. If memory refuses or is not aligned, the single loads find that out.
fn load(cpu: &mut Cpu, op: &Op) -> Step {
    let (address, count) = (cpu.get(op.rs1).wrapping_add(op.imm), usize::from(op.rs3));
    let bytes = cpu.memory.bytes(address, 8 * count, Access::Read);
    let (Ok(bytes), true) = (bytes, address.is_multiple_of(8)) else { return Step::Trap };
    for (register, bytes) in cpu.d[usize::from(op.rd)..].iter_mut().zip(bytes.as_chunks().0) {
        *register = u64::from_be_bytes(*bytes);
    }
    Step::Next
}

/// The bytes of `imm`, from the lowest.
fn packed(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |imm, byte| imm << 8 | u64::from(*byte))
}

/// `movxtod` twice: `rs1` to `rd`, then `rs2` to `rs3`.
fn moves(words: &[Word], _address: u64) -> Option<Op> {
    let [first, second] = words.first_chunk()?;
    let (rd, rs3) = (double(first.rd()), double(second.rd()));
    Some(Op { run: move_two, imm: 0, rd, rs1: first.rs2(), rs2: second.rs2(), rs3 })
}

fn move_two(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = cpu.get(op.rs1);
    d!(cpu, op.rs3) = cpu.get(op.rs2);
    Step::Next
}

/// Returns the registers of an `fxor`: the two that are added, and the one for the sum.
fn sum_of(word: &Word) -> [u8; 3] {
    [word.rs1(), word.rs2(), word.rd()].map(double)
}

/// `fxor` twice: the registers of both, in `imm`.
fn sums(words: &[Word], _address: u64) -> Option<Op> {
    let [first, second] = words.first_chunk()?;
    let imm = packed(&[sum_of(first), sum_of(second)].concat());
    Some(Op { run: sum_two, imm, rd: 0, rs1: 0, rs2: 0, rs3: 0 })
}

fn sum_two(cpu: &mut Cpu, op: &Op) -> Step {
    let [a, b, to, c, d, and_to, ..] = op.imm.to_le_bytes();
    d!(cpu, to) = d!(cpu, a) ^ d!(cpu, b);
    d!(cpu, and_to) = d!(cpu, c) ^ d!(cpu, d);
    Step::Next
}

/// Both: a block moved into registers, and the chaining value added.
fn moves_and_sums(words: &[Word], address: u64) -> Option<Op> {
    let (first, last) = words.split_at_checked(2)?;
    let Op { imm, .. } = sums(last, address)?;
    Some(Op { run: move_and_sum_two, imm, ..moves(first, address)? })
}

fn move_and_sum_two(cpu: &mut Cpu, op: &Op) -> Step {
    move_two(cpu, op);
    sum_two(cpu, op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::tests::Numbers;
    use crate::cpu::Trap;
    use crate::isa::find;
    use crate::t4::tests::{check_fused, check_fused_from, fuses, machine};

    /// `ldd [%g1 + 8 i], %f(2 i)` from those doubles on.
    fn load_words(count: u32, first: u32, displacement: u32) -> Vec<u32> {
        let field = |double: u32| double << 1 & 30 | double >> 4;
        (0..count)
            .map(|i| {
                3 << 30
                    | field(first + i) << 25
                    | 0x23 << 19
                    | 1 << 14
                    | 1 << 13
                    | (displacement + 8 * i) & 0x1fff
            })
            .collect()
    }

    const MOVXTOD: u32 = 0x81b0_2300;
    const FXOR: u32 = 0x81b0_0d80;

    #[test]
    fn the_words_are_what_they_are_taken_for() {
        assert_eq!(find(load_words(1, 0, 0)[0]).unwrap().name, "ldd");
        assert_eq!(find(MOVXTOD).unwrap().name, "movxtod");
        assert_eq!(find(FXOR).unwrap().name, "fxor");
    }

    #[test]
    fn loads_of_doubles() {
        let mut numbers = Numbers(20);
        for count in [4, 8, 16] {
            for (first, displacement) in [(0, 0), (8, 16), (32 - count, 0x1ff0)] {
                let mut words = load_words(count, first, displacement);
                assert!(fuses(FUSIONS, &words), "{count} {first}");
                check_fused_from(&mut numbers, &words, 0x12000);
                // The address is only half aligned. Each single load of a double accepts that, and so must the fused
                // one.
                check_fused_from(&mut numbers, &words, 0x12004);
                // The doubles don't follow one another.
                words[2] ^= 8;
                assert!(!fuses(FUSIONS, &words));
                check_fused_from(&mut numbers, &words, 0x12000);
            }
        }
        // The loads go to a register with the number of the base register, which is another one: the base is an integer
        // register.
        check_fused_from(&mut numbers, &load_words(8, 1, 0), 0x12000);
    }

    #[test]
    fn a_load_that_memory_refuses_traps_where_it_is() {
        let words = load_words(8, 0, 0);
        let mut cpu = machine(&words);
        // The last three doubles are beyond the end.
        cpu.r[1] = 0x14000 - 5 * 8;
        assert!(matches!(cpu.run(), Trap::Memory(fault) if fault.address == 0x14000));
        assert_eq!(cpu.pc, 0x10000 + 5 * 4);
        let mut cpu = machine(&words);
        cpu.r[1] = 0x12001;
        assert_eq!(cpu.run(), Trap::NotAligned(0x12001));
        assert_eq!(cpu.pc, 0x10000);
    }

    #[test]
    fn moves_and_sums_of_any_registers() {
        let mut numbers = Numbers(21);
        for _ in 0..60 {
            let moves =
                [0, 1].map(|_| MOVXTOD | numbers.word() as u32 & 31 << 25 | numbers.word() as u32 & 31);
            let sums = [0, 1].map(|_| FXOR | numbers.word() as u32 & (31 << 25 | 31 << 14 | 31));
            for words in [&moves[..], &sums[..], &[moves, sums].concat()] {
                assert!(fuses(FUSIONS, words));
                check_fused(&mut numbers, words);
            }
        }
    }
}
