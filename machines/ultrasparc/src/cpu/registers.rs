//! Condition codes, computed when asked for, and the ancillary state registers.
//! Ref. The SPARC Architecture Manual, Version 9, §5.1 and §5.2.

use crate::cpu::{Cpu, Op, Step, Trap, destination};
use crate::isa::{Class, Decode, Instruction, Operand, Word};
use crate::processor::{Feature, Features};

/// `%fprs` as Linux leaves it: only FEF is set.
pub const FPRS_ENABLED: u64 = 4;

/// The source of the condition codes: the operands of the last instruction that set them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Codes {
    pub kind: Kind,
    pub a: u64,
    pub b: u64,
}

/// The way in which [`Codes`] are computed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// `a` holds the codes themselves.
    #[default]
    Known,
    /// The codes are those of `a - b`; of a logical result `a` if `b` is zero.
    Sub,
    /// The codes are those of `a + b`.
    Add,
}

impl Codes {
    /// The codes of `a - b`.
    #[inline(always)]
    pub fn difference(a: u64, b: u64) -> Codes {
        Codes { kind: Kind::Sub, a, b }
    }

    /// `%ccr`: xcc in bits 7:4, icc in bits 3:0; each has N, Z, V, C from its highest bit.
    pub fn ccr(self) -> u8 {
        let (Codes { kind, a, b }, result) = (self, self.result());
        match kind {
            Kind::Known => a as u8,
            Kind::Sub => of_difference(a, b, result),
            Kind::Add => of_sum(a, b, result),
        }
    }

    /// The result from which the codes are computed.
    pub fn result(self) -> u64 {
        match self.kind {
            Kind::Known => self.a,
            Kind::Sub => self.a.wrapping_sub(self.b),
            Kind::Add => self.a.wrapping_add(self.b),
        }
    }
}

impl Cpu {
    /// `%ccr`: xcc in bits 7:4, icc in bits 3:0; each has N, Z, V, C from its highest bit.
    #[must_use]
    pub fn ccr(&self) -> u8 {
        self.codes.ccr()
    }

    /// Sets `%ccr`.
    pub fn set_ccr(&mut self, ccr: u8) {
        self.codes = Codes { kind: Kind::Known, a: u64::from(ccr), b: 0 };
    }

    /// `xcc.C`, as `addxc` adds it.
    #[must_use]
    #[inline(always)]
    pub fn carry(&self) -> bool {
        match self.codes {
            Codes { kind: Kind::Known, a, .. } => a & 0x10 != 0,
            Codes { kind: Kind::Sub, a, b } => a < b,
            Codes { kind: Kind::Add, a, b } => a.overflowing_add(b).1,
        }
    }

    /// `icc.C`, as `addc` and `subc` use it.
    #[must_use]
    #[inline(always)]
    pub fn carry32(&self) -> bool {
        match self.codes {
            Codes { kind: Kind::Known, a, .. } => a & 1 != 0,
            Codes { kind: Kind::Sub, a, b } => (a as u32) < b as u32,
            Codes { kind: Kind::Add, a, b } => (a as u32).overflowing_add(b as u32).1,
        }
    }

    /// Sets the condition codes to those of `a + b`.
    #[inline(always)]
    pub fn set_codes_add(&mut self, a: u64, b: u64) {
        self.codes = Codes { kind: Kind::Add, a, b };
    }

    /// Sets the condition codes to those of `a - b`, or of the logical result `a` if `b` is zero.
    #[inline(always)]
    pub fn set_codes_sub(&mut self, a: u64, b: u64) {
        self.codes = Codes { kind: Kind::Sub, a, b };
    }

    /// Sets the condition codes to those of `a + b + carry`, where `result` is that sum.
    #[inline]
    pub fn set_codes_add_carry(&mut self, a: u64, b: u64, result: u64) {
        self.set_ccr(of_sum(a, b, result));
    }

    /// Sets the condition codes to those of `a - b - carry`, where `result` is that difference.
    #[inline]
    pub fn set_codes_sub_carry(&mut self, a: u64, b: u64, result: u64) {
        self.set_ccr(of_difference(a, b, result));
    }
}

/// Codes of `a + b` and perhaps a carry, which make `result`.
fn of_sum(a: u64, b: u64, result: u64) -> u8 {
    known(result, (a & b) | ((a | b) & !result), (a ^ result) & (b ^ result))
}

/// Codes of `a - b` and perhaps a carry, which make `result`.
fn of_difference(a: u64, b: u64, result: u64) -> u8 {
    known(result, (!a & b) | ((!a | b) & result), (a ^ b) & (a ^ result))
}

/// Codes from a result, and from vectors whose bits 63 and 31 are the carries and overflows.
fn known(result: u64, carry: u64, overflow: u64) -> u8 {
    let half = |top: u32, zero: bool| {
        let bit = |value: u64| (value >> top & 1) as u8;
        bit(result) << 3 | u8::from(zero) << 2 | bit(overflow) << 1 | bit(carry)
    };
    half(63, result == 0) << 4 | half(31, result as u32 == 0)
}

/// `%cfr` of a processor with these features.
pub fn cfr(features: Features) -> u64 {
    use Feature as F;
    let bits = [
        F::Aes,
        F::Des,
        F::Kasumi,
        F::Camellia,
        F::Md5,
        F::Sha1,
        F::Sha256,
        F::Sha512,
        F::Mpmul,
        F::Montmul,
        F::Montsqr,
        F::Crc32c,
    ];
    bits.iter().enumerate().fold(0, |cfr, (bit, feature)| cfr | u64::from(features.has(*feature)) << bit)
}

/// Numbers of the ancillary state registers.
const Y: u8 = 0;
const CCR: u8 = 2;
const ASI: u8 = 3;
const TICK: u8 = 4;
const PC: u8 = 5;
const FPRS: u8 = 6;
const GSR: u8 = 19;
const STICK: u8 = 24;
const CFR: u8 = 26;
const PAUSE: u8 = 27;

/// Registers of the operating system: performance control, soft interrupts, timers' comparators.
const PRIVILEGED: [u8; 6] = [16, 20, 21, 22, 23, 25];

/// `rd` of a register that programs may read.
const fn read(register: u8, needs: Feature) -> Instruction {
    Instruction {
        name: "rd",
        mask: 0xc1ff_c000,
        value: 2 << 30 | 0x28 << 19 | (register as u32) << 14,
        operands: &[Operand::AsrRead, Operand::Rd],
        needs,
        class: Class::State,
        decode: Decode::Plain(decode_read),
    }
}

/// `wr` of a register that programs may write.
const fn write(register: u8, needs: Feature) -> Instruction {
    Instruction {
        name: "wr",
        mask: 0xfff8_0000,
        value: 2 << 30 | 0x30 << 19 | (register as u32) << 25,
        operands: &[Operand::R1, Operand::R2OrImm13, Operand::AsrWrite],
        needs,
        class: Class::State,
        decode: Decode::Plain(decode_write),
    }
}

/// An instruction of the operating system.
const fn privileged(
    name: &'static str,
    mask: u32,
    op3: u32,
    more: u32,
    operands: &'static [Operand],
) -> Instruction {
    Instruction {
        name,
        mask,
        value: 2 << 30 | op3 << 19 | more,
        operands,
        needs: Feature::V9,
        class: Class::State,
        decode: Decode::Plain(|word, _| Op {
            run: |cpu, op| cpu.stop(Trap::PrivilegedOpcode(op.imm as u32)),
            imm: word.0.into(),
            rd: 0,
            rs1: 0,
            rs2: 0,
            rs3: 0,
        }),
    }
}

/// The registers of [`PRIVILEGED`], read and written.
const fn privileged_registers() -> [Instruction; 12] {
    let mut rows = [read(0, Feature::V9); 12];
    let mut i = 0;
    while i < 6 {
        let register = PRIVILEGED[i] as u32;
        rows[i] = privileged("rd", 0xc1ff_c000, 0x28, register << 14, &[Operand::AsrRead, Operand::Rd]);
        rows[i + 6] = privileged(
            "wr",
            0xfff8_0000,
            0x30,
            register << 25,
            &[Operand::R1, Operand::R2OrImm13, Operand::AsrWrite],
        );
        i += 1;
    }
    rows
}

/// State registers of the operating system.
pub const PRIVILEGED_STATE: &[Instruction] = &privileged_registers();

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[
    read(Y, Feature::V9),
    read(CCR, Feature::V9),
    read(ASI, Feature::V9),
    read(TICK, Feature::V9),
    read(PC, Feature::V9),
    read(FPRS, Feature::V9),
    read(GSR, Feature::Vis),
    read(STICK, Feature::V9),
    read(CFR, Feature::V9),
    write(Y, Feature::V9),
    write(CCR, Feature::V9),
    write(ASI, Feature::V9),
    write(FPRS, Feature::V9),
    write(GSR, Feature::Vis),
    write(PAUSE, Feature::Pause),
    barrier("stbar", 0, &[]),
    barrier("membar", 1, &[Operand::MembarMask]),
    privileged("rdpr", 0xc1f8_0000, 0x2a, 0, &[Operand::PrivilegedRead, Operand::Rd]),
    privileged("wrpr", 0xc1f8_0000, 0x32, 0, &[Operand::R1, Operand::R2OrImm13, Operand::PrivilegedWrite]),
    privileged("saved", 0xfff8_0000, 0x31, 0, &[]),
    privileged("restored", 0xfff8_0000, 0x31, 1 << 25, &[]),
    privileged("done", 0xfff8_0000, 0x3e, 0, &[]),
    privileged("retry", 0xfff8_0000, 0x3e, 1 << 25, &[]),
    privileged("sir", 0xffff_e000, 0x30, 15 << 25 | 1 << 13, &[Operand::R2OrImm13]),
    Instruction {
        name: "illtrap",
        mask: 0xc1c0_0000,
        value: 0,
        operands: &[Operand::Const22],
        needs: Feature::V9,
        class: Class::Trap,
        decode: Decode::Plain(|word, _| Op::illegal(word.0)),
    },
];

/// Orders this process's accesses to memory that it shares with others. One strand always finds its own in order.
fn order(_: &mut Cpu, _: &Op) -> Step {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    Step::Next
}

const fn barrier(name: &'static str, immediate: u32, operands: &'static [Operand]) -> Instruction {
    Instruction {
        name,
        mask: 0xffff_e000,
        value: 2 << 30 | 0x28 << 19 | 15 << 14 | immediate << 13,
        operands,
        decode: Decode::Plain(|_, _| Op { run: order, ..Op::nothing() }),
        ..read(0, Feature::V9)
    }
}

impl Op {
    /// A word that is no instruction.
    #[must_use]
    pub fn illegal(word: u32) -> Op {
        let run = |cpu: &mut Cpu, op: &Op| cpu.stop(Trap::IllegalInstruction(op.imm as u32));
        Op { run, imm: word.into(), rd: 0, rs1: 0, rs2: 0, rs3: 0 }
    }
}

/// Decodes a read: for `%pc` the address is kept, else the register in `rs1`.
fn decode_read(word: Word, address: u64) -> Op {
    let rd = destination(word.rd());
    match word.rs1() {
        PC => Op { rd, ..Op::constant(word.rd(), address) },
        CFR => Op { run: read_cfr, imm: word.0.into(), rd, rs1: CFR, rs2: 0, rs3: 0 },
        rs1 => Op { run: read_register, imm: 0, rd, rs1, rs2: 0, rs3: 0 },
    }
}

fn read_register(cpu: &mut Cpu, op: &Op) -> Step {
    let value = match op.rs1 {
        Y => cpu.y,
        CCR => cpu.ccr().into(),
        ASI => cpu.asi.into(),
        FPRS => cpu.fprs,
        GSR => cpu.gsr,
        _ => cpu.tick(),
    };
    cpu.set(op.rd, value);
    Step::Next
}

/// A processor without any of the crypto instructions has no register that says which it has.
fn read_cfr(cpu: &mut Cpu, op: &Op) -> Step {
    if cpu.cfr == 0 {
        return cpu.stop(Trap::IllegalInstruction(op.imm as u32));
    }
    cpu.set(op.rd, cpu.cfr);
    Step::Next
}

/// Decodes a write of the exclusive or of its operands; the register is in `rs3`.
fn decode_write(word: Word, _: u64) -> Op {
    Op { rs3: word.rd(), ..Op::integer(write_register, word) }
}

fn write_register(cpu: &mut Cpu, op: &Op) -> Step {
    let value = cpu.get(op.rs1) ^ cpu.operand2(op);
    match op.rs3 {
        Y => cpu.y = value & 0xffff_ffff,
        CCR => cpu.set_ccr(value as u8),
        ASI => cpu.asi = value as u8,
        FPRS => cpu.fprs = value & 7,
        GSR => cpu.gsr = value & GSR_FIELDS,
        // `pause` does nothing: there is no other strand that would run faster for it.
        _ => {}
    }
    Step::Next
}

/// The fields of `%gsr`: mask, IM and IRND, scale, align.
const GSR_FIELDS: u64 = 0xffff_ffff_0e00_00ff;

impl Cpu {
    /// `%tick` and `%stick`: nanoseconds since the processor was made.
    #[must_use]
    pub fn tick(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }
}
