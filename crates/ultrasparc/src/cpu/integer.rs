//! Integer arithmetic and logic.
//! Ref. The SPARC Architecture Manual, Version 9, appendix A.

use crate::cpu::{Cpu, Op, Step};
use crate::isa::{Class, Decode, Instruction, Operand};
use crate::processor::Feature;

/// A row of this family: `op` 2, by `op3`.
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

/// The rows.
pub const INSTRUCTIONS: &[Instruction] =
    &[row("add", 0x00, Class::Integer, Decode::Plain(|word, _| Op::integer(add, word)))];

fn add(cpu: &mut Cpu, op: &Op) -> Step {
    let sum = cpu.get(op.rs1).wrapping_add(cpu.operand2(op));
    cpu.set(op.rd, sum);
    Step::Next
}
