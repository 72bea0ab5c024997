//! Loads, stores and atomic operations of the program's own address space.
//! Ref. The SPARC Architecture Manual, Version 9, appendix A.9 to A.10, A.25 to A.29, A.42, A.51 to A.57.

use crate::cpu::{Cpu, Op, Step, Trap, destination};
use crate::isa::{Class, Decode, Instruction, Operand, Word, double};
use crate::memory::{Fault, Memory};
use crate::processor::Feature;

/// A device, which answers accesses to address spaces that are not memory.
pub trait Device: Send {
    /// A load of eight bytes.
    ///
    /// # Errors
    /// [`Trap::PrivilegedAction`] if the ASI is none of the device's; another trap if there is nothing at the
    /// address.
    fn load(&mut self, memory: &mut Memory, asi: u8, address: u64) -> Result<u64, Trap>;

    /// A store of eight bytes.
    ///
    /// # Errors
    /// As for a load.
    fn store(&mut self, memory: &mut Memory, asi: u8, address: u64, value: u64) -> Result<(), Trap>;
}

/// A row of this family: `op` 3, by `op3`.
pub(crate) const fn row(
    name: &'static str,
    op3: u32,
    operands: &'static [Operand],
    class: Class,
    decode: Decode,
) -> Instruction {
    Instruction {
        name,
        mask: 0xc1f8_0000,
        value: 3 << 30 | op3 << 19,
        operands,
        needs: Feature::V9,
        class,
        decode,
    }
}

const fn load(name: &'static str, op3: u32, decode: Decode) -> Instruction {
    row(name, op3, &[Operand::Address, Operand::Rd], Class::Load, decode)
}

const fn store(name: &'static str, op3: u32, decode: Decode) -> Instruction {
    row(name, op3, &[Operand::Rd, Operand::Address], Class::Store, decode)
}

/// An access to `%fsr`: bits 29:25 say how long it is.
const fn state(
    name: &'static str,
    op3: u32,
    rd: u32,
    operands: &'static [Operand],
    class: Class,
    run: Decode,
) -> Instruction {
    let like = row(name, op3, operands, class, run);
    Instruction { mask: like.mask | 31 << 25, value: like.value | rd << 25, ..like }
}

macro_rules! two {
    ($handler:ident) => {
        Decode::Plain(|word, _| Op::either($handler::<false>, $handler::<true>, word))
    };
}

/// Like `two`, for instructions whose `rd` is stored or is no integer register, so that it stays as it is.
macro_rules! source {
    ($handler:ident, $rd:expr) => {
        Decode::Plain(|word, _| Op { rd: $rd(word), ..Op::either($handler::<false>, $handler::<true>, word) })
    };
}

const fn as_it_is(word: Word) -> u8 {
    word.rd()
}

const fn as_double(word: Word) -> u8 {
    double(word.rd())
}

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[
    load("ld", 0x00, two!(lduw)),
    load("ldub", 0x01, two!(ldub)),
    load("lduh", 0x02, two!(lduh)),
    load("ldd", 0x03, source!(ldd, as_it_is)),
    store("st", 0x04, source!(stw, as_it_is)),
    store("stb", 0x05, source!(stb, as_it_is)),
    store("sth", 0x06, source!(sth, as_it_is)),
    store("std", 0x07, source!(std, as_it_is)),
    load("ldsw", 0x08, two!(ldsw)),
    load("ldsb", 0x09, two!(ldsb)),
    load("ldsh", 0x0a, two!(ldsh)),
    load("ldx", 0x0b, two!(ldx)),
    Instruction { class: Class::Atomic, ..load("ldstub", 0x0d, two!(ldstub)) },
    store("stx", 0x0e, source!(stx, as_it_is)),
    Instruction { class: Class::Atomic, ..load("swap", 0x0f, source!(swap, as_it_is)) },
    row("ld", 0x20, &[Operand::Address, Operand::Sd], Class::Load, source!(ldf, as_it_is)),
    state("ld", 0x21, 0, &[Operand::Address, Operand::Fsr], Class::Load, two!(ldfsr)),
    state("ldx", 0x21, 1, &[Operand::Address, Operand::Fsr], Class::Load, two!(ldxfsr)),
    row("ldq", 0x22, &[Operand::Address, Operand::Qd], Class::Load, source!(ldqf, as_double)),
    row("ldd", 0x23, &[Operand::Address, Operand::Dd], Class::Load, source!(lddf, as_double)),
    row("st", 0x24, &[Operand::Sd, Operand::Address], Class::Store, source!(stf, as_it_is)),
    state("st", 0x25, 0, &[Operand::Fsr, Operand::Address], Class::Store, two!(stfsr)),
    state("stx", 0x25, 1, &[Operand::Fsr, Operand::Address], Class::Store, two!(stxfsr)),
    row("stq", 0x26, &[Operand::Qd, Operand::Address], Class::Store, source!(stqf, as_double)),
    row("std", 0x27, &[Operand::Dd, Operand::Address], Class::Store, source!(stdf, as_double)),
    row(
        "prefetch",
        0x2d,
        &[Operand::Address, Operand::PrefetchFunction],
        Class::Load,
        Decode::Plain(|_, _| Op::nothing()),
    ),
    Instruction {
        value: 2 << 30 | 0x3b << 19,
        ..row(
            "flush",
            0x3b,
            &[Operand::Target],
            Class::State,
            Decode::Plain(|word, _| Op::integer(flush, word)),
        )
    },
];

/// The bits of `%fsr` that a program may set: these with `ld`, more with `ldx`.
const FSR_LOW: u64 = 0xcfc0_0fff;
const FSR_ALL: u64 = 0x3f_0000_0000 | FSR_LOW;

impl Cpu {
    /// Stops because memory refused an access of `size` bytes. An address that is no multiple of the size is reported
    /// first: V9 §7.6.1.
    #[cold]
    pub(crate) fn refused(&mut self, fault: Fault, size: u64) -> Step {
        let aligned = fault.address.is_multiple_of(size);
        self.stop(if aligned { Trap::Memory(fault) } else { Trap::NotAligned(fault.address) })
    }

    /// The address of a load or store.
    #[inline(always)]
    pub(crate) fn address<const IMMEDIATE: bool>(&self, op: &Op) -> u64 {
        self.get(op.rs1).wrapping_add(self.second::<IMMEDIATE>(op))
    }

    /// The single register `index`, 0 to 31.
    #[must_use]
    #[inline(always)]
    pub fn single(&self, index: u8) -> u32 {
        let pair = self.d[usize::from(index >> 1 & 31)];
        if index & 1 == 0 { (pair >> 32) as u32 } else { pair as u32 }
    }

    /// Sets the single register `index`, 0 to 31.
    #[inline(always)]
    pub fn set_single(&mut self, index: u8, value: u32) {
        let pair = &mut self.d[usize::from(index >> 1 & 31)];
        let shift = if index & 1 == 0 { 32 } else { 0 };
        *pair = *pair & !(0xffff_ffff << shift) | u64::from(value) << shift;
    }

    /// The value that a store of an integer register writes: %g0 is zero.
    #[inline(always)]
    fn stored(&self, op: &Op) -> u64 {
        self.get(op.rd & 31)
    }
}

/// Loads into an integer register.
macro_rules! loads {
    ($($name:ident = $load:ident as $type:ty;)*) => {
        $(fn $name<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
            match cpu.memory.$load(cpu.address::<IMMEDIATE>(op)) {
                Ok(value) => cpu.set(op.rd, value as $type as u64),
                Err(fault) => return cpu.refused(fault, size_of::<$type>() as u64),
            }
            Step::Next
        })*
    };
}

loads! {
    ldub = load_u8 as u8;
    lduh = load_u16 as u16;
    lduw = load_u32 as u32;
    ldx = load_u64 as u64;
    ldsb = load_u8 as i8;
    ldsh = load_u16 as i16;
    ldsw = load_u32 as i32;
}

/// Stores of a value.
macro_rules! stores {
    ($($name:ident = $store:ident($type:ty): |$cpu:ident, $op:ident| $value:expr;)*) => {
        $(fn $name<const IMMEDIATE: bool>($cpu: &mut Cpu, $op: &Op) -> Step {
            match $cpu.memory.$store($cpu.address::<IMMEDIATE>($op), $value as $type) {
                Ok(()) => Step::Next,
                Err(fault) => $cpu.refused(fault, size_of::<$type>() as u64),
            }
        })*
    };
}

stores! {
    stb = store_u8(u8): |cpu, op| cpu.stored(op);
    sth = store_u16(u16): |cpu, op| cpu.stored(op);
    stw = store_u32(u32): |cpu, op| cpu.stored(op);
    stx = store_u64(u64): |cpu, op| cpu.stored(op);
    stf = store_u32(u32): |cpu, op| cpu.single(op.rd);
    stfsr = store_u32(u32): |cpu, op| cpu.fsr;
    stxfsr = store_u64(u64): |cpu, op| cpu.fsr;
}

/// Loads two words into an even register and the next. An odd `rd` makes the word an illegal instruction.
fn ldd<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    if op.rd & 1 != 0 {
        return odd(cpu, op, 0x03, IMMEDIATE);
    }
    match cpu.memory.load_u64(cpu.address::<IMMEDIATE>(op)) {
        Ok(pair) => cpu.set_pair(op.rd, pair >> 32, pair & 0xffff_ffff),
        Err(fault) => return cpu.refused(fault, 8),
    }
    Step::Next
}

fn std<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    if op.rd & 1 != 0 {
        return odd(cpu, op, 0x07, IMMEDIATE);
    }
    let pair = cpu.stored(op) << 32 | cpu.get(op.rd | 1) & 0xffff_ffff;
    match cpu.memory.store_u64(cpu.address::<IMMEDIATE>(op), pair) {
        Ok(()) => Step::Next,
        Err(fault) => cpu.refused(fault, 8),
    }
}

impl Cpu {
    /// Sets register `rd`, which is even, and the next; `rd` is as in the instruction.
    pub(crate) fn set_pair(&mut self, rd: u8, even: u64, odd: u64) {
        self.set(destination(rd), even);
        self.set(rd | 1, odd);
    }
}

/// Reports a register pair, or a quad, that begins with the wrong register. The trap wants the word, so it is put
/// together again.
#[cold]
fn odd(cpu: &mut Cpu, op: &Op, op3: u32, immediate: bool) -> Step {
    let second = if immediate { 1 << 13 | op.imm as u32 & 0x1fff } else { op.rs2.into() };
    let rd = if op3 < 0x20 { op.rd } else { op.rd << 1 & 30 | op.rd >> 4 };
    let word = 3 << 30 | u32::from(rd) << 25 | op3 << 19 | u32::from(op.rs1) << 14 | second;
    cpu.stop(Trap::IllegalInstruction(word))
}

fn ldstub<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let address = cpu.address::<IMMEDIATE>(op);
    match cpu.memory.exchange_u8(address, 0xff) {
        Ok(old) => cpu.set(op.rd, old.into()),
        Err(fault) => return cpu.refused(fault, 1),
    }
    Step::Next
}

fn swap<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (address, new) = (cpu.address::<IMMEDIATE>(op), cpu.stored(op) as u32);
    match cpu.memory.exchange_u32(address, new) {
        Ok(old) => cpu.set(destination(op.rd), old.into()),
        Err(fault) => return cpu.refused(fault, 4),
    }
    Step::Next
}

fn ldf<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    match cpu.memory.load_u32(cpu.address::<IMMEDIATE>(op)) {
        Ok(value) => cpu.set_single(op.rd, value),
        Err(fault) => return cpu.refused(fault, 4),
    }
    Step::Next
}

fn lddf<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let address = cpu.address::<IMMEDIATE>(op);
    match cpu.memory.load_u64(address) {
        Ok(value) => cpu.d[usize::from(op.rd & 31)] = value,
        Err(fault) => match cpu.load_words(address) {
            Some(value) => cpu.d[usize::from(op.rd & 31)] = value,
            None => return cpu.refused(fault, 8),
        },
    }
    Step::Next
}

fn stdf<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (address, value) = (cpu.address::<IMMEDIATE>(op), cpu.d[usize::from(op.rd & 31)]);
    match cpu.memory.store_u64(address, value) {
        Err(fault) if !cpu.store_words(address, value) => cpu.refused(fault, 8),
        _ => Step::Next,
    }
}

/// Doubles at a multiple of four only: the machine traps there, and Linux then does the access with two words.
impl Cpu {
    #[cold]
    pub(crate) fn load_words(&self, address: u64) -> Option<u64> {
        let high = self.memory.load_u32(address).ok().filter(|_| address & 4 != 0)?;
        let low = self.memory.load_u32(address.wrapping_add(4)).ok()?;
        Some(u64::from(high) << 32 | u64::from(low))
    }

    #[cold]
    pub(crate) fn store_words(&mut self, address: u64, value: u64) -> bool {
        address & 7 == 4 && self.memory.write(address, &value.to_be_bytes()).is_ok()
    }
}

/// Quads in memory: no machine of the line loads or stores them, so Linux does it for programs.
fn ldqf<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    if op.rd & 1 != 0 {
        return odd(cpu, op, 0x22, IMMEDIATE);
    }
    let address = cpu.address::<IMMEDIATE>(op);
    if address & 3 != 0 {
        return cpu.stop(Trap::NotAligned(address));
    }
    let mut quad = [0; 16];
    if let Err(fault) = cpu.memory.read(address, &mut quad) {
        return cpu.stop(Trap::Memory(fault));
    }
    let quad = u128::from_be_bytes(quad);
    cpu.d[usize::from(op.rd & 30)] = (quad >> 64) as u64;
    cpu.d[usize::from(op.rd & 30 | 1)] = quad as u64;
    Step::Next
}

fn stqf<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    if op.rd & 1 != 0 {
        return odd(cpu, op, 0x26, IMMEDIATE);
    }
    let address = cpu.address::<IMMEDIATE>(op);
    if address & 3 != 0 {
        return cpu.stop(Trap::NotAligned(address));
    }
    let [high, low] = [op.rd & 30, op.rd & 30 | 1].map(|index| u128::from(cpu.d[usize::from(index)]));
    match cpu.memory.write(address, &(high << 64 | low).to_be_bytes()) {
        Ok(()) => Step::Next,
        Err(fault) => cpu.stop(Trap::Memory(fault)),
    }
}

fn ldfsr<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    match cpu.memory.load_u32(cpu.address::<IMMEDIATE>(op)) {
        Ok(value) => cpu.fsr = cpu.fsr & !FSR_LOW | u64::from(value) & FSR_LOW,
        Err(fault) => return cpu.refused(fault, 4),
    }
    Step::Next
}

fn ldxfsr<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    match cpu.memory.load_u64(cpu.address::<IMMEDIATE>(op)) {
        Ok(value) => cpu.fsr = cpu.fsr & !FSR_ALL | value & FSR_ALL,
        Err(fault) => return cpu.refused(fault, 8),
    }
    Step::Next
}

/// Notes that instructions at the address may have changed. The block that is being executed may be among them.
fn flush(cpu: &mut Cpu, op: &Op) -> Step {
    let address = cpu.get(op.rs1).wrapping_add(cpu.operand2(op));
    if cpu.memory.code_changed(address) { Step::Leave } else { Step::Next }
}
