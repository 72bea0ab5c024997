//! The T4's crypto instructions: one file a family.
//!
//! Each instruction is a pure function on the 64-bit values of its registers, and its handler moves registers. Rounds
//! of AES use the host's own instructions if it has them, blocks of the hashes are those of `millstream-engines`, and
//! numbers of many words are [`arithmetic`](crate::arithmetic)'s. An emulator is no place for the secrets of a service:
//! the rounds of DES, Camellia and Kasumi, and of AES on a host without instructions for it, look into tables, so their
//! time depends on keys and data. All other functions take the same time for all values.
//!
//! Ref. Oracle SPARC Architecture 2011, §7.3 to §7.5 and §7.80 on ("AES Cryptographic Operations" and its kin).

pub mod aes;
pub mod camellia;
pub mod crc32c;
pub mod des;
pub mod hash;
pub mod kasumi;
pub mod montgomery;
pub mod moves;

pub use crate::cpu::registers::cfr;

use crate::cpu::{Handler, Op};
use crate::isa::{Class, Decode, Instruction, Operand, Word, double};
use crate::processor::Feature;

/// `rs1`, `rs2`, `rs3` to `rd`.
const FOUR: &[Operand] = &[Operand::D1, Operand::D2, Operand::D3, Operand::Dd];
/// `rs1`, `rs2` to `rd`.
const THREE: &[Operand] = &[Operand::D1, Operand::D2, Operand::Dd];

/// The parts that rows of instructions of one kind share.
#[derive(Clone, Copy)]
struct Kind {
    needs: Feature,
    class: Class,
}

impl Kind {
    /// A row with four registers: `op3` 0x19, and four bits beside `rs2`.
    const fn four(self, name: &'static str, opf: u32, decode: fn(Word, u64) -> Op) -> Instruction {
        self.row(name, 0xc1f8_01e0, 0x19 << 19 | opf << 5, FOUR, decode)
    }

    /// A row with three registers: `op3` 0x36, and nine bits above `rs2`.
    const fn three(self, name: &'static str, opf: u32, decode: fn(Word, u64) -> Op) -> Instruction {
        self.row(name, 0xc1f8_3fe0, 0x36 << 19 | opf << 5, THREE, decode)
    }

    /// Any row: `value` without `op`.
    const fn row(
        self,
        name: &'static str,
        mask: u32,
        value: u32,
        operands: &'static [Operand],
        decode: fn(Word, u64) -> Op,
    ) -> Instruction {
        let Kind { needs, class } = self;
        Instruction {
            name,
            mask,
            value: 2 << 30 | value,
            operands,
            needs,
            class,
            decode: Decode::Plain(decode),
        }
    }
}

/// An op whose registers are double ones, in their own places.
fn doubles(run: Handler, word: Word) -> Op {
    let [rd, rs1, rs2, rs3] = [word.rd(), word.rs1(), word.rs2(), word.rs3()].map(double);
    Op { run, imm: 0, rd, rs1, rs2, rs3 }
}

/// The double register of an index that [`double`] gave.
macro_rules! d {
    ($cpu:expr, $index:expr) => {
        $cpu.d[usize::from($index & 31)]
    };
}
use d;

#[cfg(test)]
mod tests;
