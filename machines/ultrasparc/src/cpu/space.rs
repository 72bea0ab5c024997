//! Address spaces: the loads and stores that name one.
//!
//! User programs may use those from 0x80: their own memory, big- or little-endian, with or without faults on loads;
//! VIS's partial, short and block transfers; and the block-initialising stores of the T-series, which differ from
//! plain ones only in speed. Those below 0x80 are for the operating system, but a [`Device`](crate::cpu::Device) is
//! asked first.
//! Ref. The SPARC Architecture Manual, Version 9, §6.3.1.3 and §A.25 ff.; VIS Instruction Set User's Manual §4.8;
//! UltraSPARC Architecture 2007 §10.3.

use crate::cpu::access::row;
use crate::cpu::{Cpu, Handler, Op, Step, Trap, destination};
use crate::isa::{Class, Decode, Instruction, Operand, Word, double};
use crate::memory::{Access, Fault};
use crate::processor::Feature;

/// ASI_PRIMARY.
pub const PRIMARY: u8 = 0x80;

/// ASI_BLK_INIT_QUAD_LDD_P.
const BLOCK_INIT: u8 = 0xe2;

/// The meaning of an ASI.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    /// The program's memory.
    Memory { little: bool, no_fault: bool },
    /// The program's memory, for stores that initialise a cache line, and for loads of two registers.
    Twin { little: bool },
    /// Lanes of so many bytes, selected by a mask in a register.
    Partial { little: bool, lane: u8 },
    /// One byte or two of a double register.
    Short { little: bool, bytes: u8 },
    /// Sixty-four bytes.
    Block { little: bool, commit: bool },
    /// There is no such ASI.
    None,
    /// The ASI is not for user programs.
    Privileged,
}

/// The meaning of an ASI's number. Odd ones are the secondary space's, which is the same memory.
fn space(asi: u8) -> Space {
    let little = asi & 8 != 0;
    match asi & !0x09 {
        _ if asi < 0x80 => Space::Privileged,
        0x80 => Space::Memory { little, no_fault: false },
        0x82 => Space::Memory { little, no_fault: true },
        0xc0 => Space::Partial { little, lane: 1 },
        0xc2 => Space::Partial { little, lane: 2 },
        0xc4 => Space::Partial { little, lane: 4 },
        0xd0 => Space::Short { little, bytes: 1 },
        0xd2 => Space::Short { little, bytes: 2 },
        0xe2 => Space::Twin { little },
        0xe0 if !little => Space::Block { little, commit: true },
        0xf0 => Space::Block { little, commit: false },
        _ => Space::None,
    }
}

const fn load(name: &'static str, op3: u32, rd: Operand, decode: Decode) -> Instruction {
    let operands: &[Operand] = match rd {
        Operand::Sd => &[Operand::AddressAsi, Operand::Sd],
        Operand::Dd => &[Operand::AddressAsi, Operand::Dd],
        Operand::Qd => &[Operand::AddressAsi, Operand::Qd],
        _ => &[Operand::AddressAsi, Operand::Rd],
    };
    row(name, op3, operands, Class::Load, decode)
}

const fn store(name: &'static str, op3: u32, rd: Operand, decode: Decode) -> Instruction {
    let operands: &[Operand] = match rd {
        Operand::Sd => &[Operand::Sd, Operand::AddressAsi],
        Operand::Dd => &[Operand::Dd, Operand::AddressAsi],
        Operand::Qd => &[Operand::Qd, Operand::AddressAsi],
        _ => &[Operand::Rd, Operand::AddressAsi],
    };
    row(name, op3, operands, Class::Store, decode)
}

const fn atomic(name: &'static str, op3: u32, operands: &'static [Operand], decode: Decode) -> Instruction {
    row(name, op3, operands, Class::Atomic, decode)
}

/// Decodes an access: `rs3` is the ASI, or with an immediate %asi is; `rd` is as in the instruction.
macro_rules! spaced {
    ($handler:ident $(, $rest:expr)*) => {
        Decode::Plain(|word, _| {
            decode(if word.i() { $handler::<true $(, $rest)*> } else { $handler::<false $(, $rest)*> }, word)
        })
    };
}

fn decode(run: Handler, word: Word) -> Op {
    Op { rd: word.rd(), rs3: word.asi(), ..Op::integer(run, word) }
}

/// Decodes compare and swap, which has `rs2` beside %asi too.
fn decode_swap<const SIZE: u8>(word: Word, _: u64) -> Op {
    let run = if word.i() { compare_and_swap::<true, SIZE> } else { compare_and_swap::<false, SIZE> };
    Op { rs2: word.rs2(), imm: 0, ..decode(run, word) }
}

const CAS: &[Operand] = &[Operand::RegisterAsi, Operand::R2, Operand::Rd];
const SWAP: &[Operand] = &[Operand::AddressAsi, Operand::Rd];

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[
    load("lda", 0x10, Operand::Rd, spaced!(load_integer, 4, false)),
    load("lduba", 0x11, Operand::Rd, spaced!(load_integer, 1, false)),
    load("lduha", 0x12, Operand::Rd, spaced!(load_integer, 2, false)),
    load("ldda", 0x13, Operand::Rd, spaced!(load_pair)),
    store("sta", 0x14, Operand::Rd, spaced!(store_integer, 4)),
    store("stba", 0x15, Operand::Rd, spaced!(store_integer, 1)),
    store("stha", 0x16, Operand::Rd, spaced!(store_integer, 2)),
    store("stda", 0x17, Operand::Rd, spaced!(store_pair)),
    load("ldswa", 0x18, Operand::Rd, spaced!(load_integer, 4, true)),
    load("ldsba", 0x19, Operand::Rd, spaced!(load_integer, 1, true)),
    load("ldsha", 0x1a, Operand::Rd, spaced!(load_integer, 2, true)),
    load("ldxa", 0x1b, Operand::Rd, spaced!(load_integer, 8, false)),
    atomic("ldstuba", 0x1d, SWAP, spaced!(exchange, 1)),
    store("stxa", 0x1e, Operand::Rd, spaced!(store_integer, 8)),
    atomic("swapa", 0x1f, SWAP, spaced!(exchange, 4)),
    load("lda", 0x30, Operand::Sd, spaced!(load_single)),
    load("ldqa", 0x32, Operand::Qd, spaced!(load_quad)),
    load("ldda", 0x33, Operand::Dd, spaced!(load_double)),
    store("sta", 0x34, Operand::Sd, spaced!(store_single)),
    store("stqa", 0x36, Operand::Qd, spaced!(store_quad)),
    store("stda", 0x37, Operand::Dd, spaced!(store_double)),
    atomic("casa", 0x3c, CAS, Decode::Plain(decode_swap::<4>)),
    row(
        "prefetcha",
        0x3d,
        &[Operand::AddressAsi, Operand::PrefetchFunction],
        Class::Load,
        Decode::Plain(|_, _| Op::nothing()),
    ),
    atomic("casxa", 0x3e, CAS, Decode::Plain(decode_swap::<8>)),
];

/// The bits that an object of `size` bytes fills.
const fn bits(size: u8) -> u64 {
    u64::MAX >> (64 - 8 * size as u32)
}

/// Reverses the bytes of an object of `size` bytes.
const fn swapped(value: u64, size: u8) -> u64 {
    value.swap_bytes() >> (64 - 8 * size as u32)
}

/// The parts of the handlers below. They return a trap as an error, which `done` makes the handler's answer.
impl Cpu {
    /// The meaning of an ASI on this processor.
    fn space(&self, asi: u8) -> Space {
        let needs = match space(asi) {
            Space::Twin { .. } => Feature::AsiBlkInit,
            Space::Partial { .. } | Space::Short { .. } | Space::Block { .. } => Feature::Vis,
            space => return space,
        };
        if self.has(needs) { space(asi) } else { Space::None }
    }

    /// The ASI of an instruction.
    fn asi<const IMMEDIATE: bool>(&self, op: &Op) -> u8 {
        if IMMEDIATE { self.asi } else { op.rs3 }
    }

    /// The trap for an ASI that does not exist, or does not allow this access: a data access exception. V9 §7.6.
    fn no_space(&self, asi: u8, address: u64, access: Access) -> Trap {
        match self.space(asi) {
            Space::Privileged => Trap::PrivilegedAction,
            _ => Trap::Memory(Fault { address, access, mapped: true, ended: false }),
        }
    }

    /// Loads from memory, big-endian.
    fn load_plain(&self, address: u64, size: u8) -> Result<u64, Trap> {
        let loaded = match size {
            1 => self.memory.load_u8(address).map(u64::from),
            2 => self.memory.load_u16(address).map(u64::from),
            4 => self.memory.load_u32(address).map(u64::from),
            _ => self.memory.load_u64(address),
        };
        loaded.map_err(|fault| refusal(fault, size))
    }

    /// Stores to memory, big-endian.
    fn store_plain(&mut self, address: u64, size: u8, value: u64) -> Result<(), Trap> {
        let stored = match size {
            1 => self.memory.store_u8(address, value as u8),
            2 => self.memory.store_u16(address, value as u16),
            4 => self.memory.store_u32(address, value as u32),
            _ => self.memory.store_u64(address, value),
        };
        stored.map_err(|fault| refusal(fault, size))
    }

    /// Loads an object of `size` bytes.
    fn load_from(&mut self, asi: u8, address: u64, size: u8) -> Result<u64, Trap> {
        let (little, loaded) = match self.space(asi) {
            Space::Memory { little, no_fault: true } => match self.load_plain(address, size) {
                Err(Trap::Memory(_)) => (little, Ok(0)),
                loaded => (little, loaded),
            },
            Space::Memory { little, .. } | Space::Twin { little } => (little, self.load_plain(address, size)),
            Space::Privileged => return self.load_device(asi, address),
            // A device may serve an ASI that no processor has.
            Space::None if self.device.is_some() => return self.load_device(asi, address),
            _ => return Err(self.no_space(asi, address, Access::Read)),
        };
        loaded.map(|value| if little { swapped(value, size) } else { value })
    }

    /// Stores an object of `size` bytes.
    fn store_to(&mut self, asi: u8, address: u64, size: u8, value: u64) -> Result<(), Trap> {
        match self.space(asi) {
            Space::Memory { little, no_fault: false } | Space::Twin { little } => {
                self.store_plain(address, size, if little { swapped(value, size) } else { value })
            }
            Space::Privileged => self.store_device(asi, address, value),
            Space::None if self.device.is_some() => self.store_device(asi, address, value),
            _ => Err(self.no_space(asi, address, Access::Write)),
        }
    }

    fn load_device(&mut self, asi: u8, address: u64) -> Result<u64, Trap> {
        let device = self.device.as_mut().ok_or(Trap::PrivilegedAction)?;
        device.load(&mut self.memory, asi, address)
    }

    fn store_device(&mut self, asi: u8, address: u64, value: u64) -> Result<(), Trap> {
        let device = self.device.as_mut().ok_or(Trap::PrivilegedAction)?;
        device.store(&mut self.memory, asi, address, value)
    }

    /// Checks that an atomic operation may use the ASI; answers if it is little-endian.
    fn atomic_space(&self, asi: u8, address: u64) -> Result<bool, Trap> {
        match self.space(asi) {
            Space::Memory { little, no_fault: false } => Ok(little),
            _ => Err(self.no_space(asi, address, Access::Write)),
        }
    }

    /// The first of the eight registers of a block.
    fn block_register(&self, op: &Op, op3: u32) -> Result<usize, Trap> {
        let first = usize::from(double(op.rd));
        if first.is_multiple_of(8) { Ok(first) } else { Err(illegal(op, op3)) }
    }

    fn load_block(&mut self, op: &Op, address: u64, little: bool) -> Result<(), Trap> {
        let first = self.block_register(op, 0x33)?;
        if !address.is_multiple_of(64) {
            return Err(Trap::NotAligned(address));
        }
        let mut block = [0; 64];
        self.memory.read(address, &mut block).map_err(Trap::Memory)?;
        for (register, bytes) in self.d[first..first + 8].iter_mut().zip(block.chunks_exact(8)) {
            let bytes = bytes.try_into().expect("chunks of eight bytes");
            *register = if little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) };
        }
        Ok(())
    }

    fn store_block(&mut self, op: &Op, address: u64, little: bool) -> Result<(), Trap> {
        let first = self.block_register(op, 0x37)?;
        if !address.is_multiple_of(64) {
            return Err(Trap::NotAligned(address));
        }
        let mut block = [0; 64];
        for (register, bytes) in self.d[first..first + 8].iter().zip(block.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&if little { register.to_le_bytes() } else { register.to_be_bytes() });
        }
        self.memory.write(address, &block).map_err(Trap::Memory)
    }

    /// Stores the lanes whose bits are set in `r[rs2]`; bit 0 is the last lane.
    fn store_partial(&mut self, op: &Op, little: bool, lane: u8) -> Result<(), Trap> {
        let (address, mask) = (self.get(op.rs1), self.get(op.rs2));
        if !address.is_multiple_of(8) {
            return Err(Trap::NotAligned(address));
        }
        let lanes = 8 / lane;
        let ones =
            (0..lanes).fold(0, |ones, place| ones | ((mask >> place & 1) * bits(lane)) << (8 * lane * place));
        let order = |value: u64| if little { value.swap_bytes() } else { value };
        let old = self.load_plain(address, 8)?;
        let new = self.d[usize::from(double(op.rd))];
        self.store_plain(address, 8, old & !order(ones) | order(new & ones))
    }

    fn load_double_from(&mut self, op: &Op, asi: u8, address: u64) -> Result<(), Trap> {
        let value = match self.space(asi) {
            Space::Block { little, commit: false } => return self.load_block(op, address, little),
            Space::Short { little, bytes } => {
                let value = self.load_plain(address, bytes)?;
                if little { swapped(value, bytes) } else { value }
            }
            Space::Memory { little, .. } if address & 7 == 4 => {
                let value = self.load_words(address).ok_or(Trap::NotAligned(address))?;
                if little { value.swap_bytes() } else { value }
            }
            _ => self.load_from(asi, address, 8)?,
        };
        self.d[usize::from(double(op.rd))] = value;
        Ok(())
    }

    fn store_double_to(&mut self, op: &Op, asi: u8, address: u64) -> Result<(), Trap> {
        let value = self.d[usize::from(double(op.rd))];
        match self.space(asi) {
            Space::Block { little, .. } => self.store_block(op, address, little),
            Space::Partial { little, lane } => self.store_partial(op, little, lane),
            Space::Short { little, bytes } => {
                let value = value & bits(bytes);
                self.store_plain(address, bytes, if little { swapped(value, bytes) } else { value })
            }
            Space::Memory { little, no_fault: false } if address & 7 == 4 => {
                let value = if little { value.swap_bytes() } else { value };
                if self.store_words(address, value) { Ok(()) } else { Err(Trap::NotAligned(address)) }
            }
            _ => self.store_to(asi, address, 8, value),
        }
    }
}

/// The trap for a fault of an access of `size` bytes. Alignment is reported first.
fn refusal(fault: Fault, size: u8) -> Trap {
    if fault.address.is_multiple_of(size.into()) {
        Trap::Memory(fault)
    } else {
        Trap::NotAligned(fault.address)
    }
}

/// The trap for an instruction that names registers it can't have.
fn illegal(op: &Op, op3: u32) -> Trap {
    let word = 3 << 30 | u32::from(op.rd) << 25 | op3 << 19 | u32::from(op.rs1) << 14;
    Trap::IllegalInstruction(word | u32::from(op.rs3) << 5 | u32::from(op.rs2))
}

fn done(cpu: &mut Cpu, result: Result<(), Trap>) -> Step {
    match result {
        Ok(()) => Step::Next,
        Err(trap) => cpu.stop(trap),
    }
}

fn load_integer<const IMMEDIATE: bool, const SIZE: u8, const SIGNED: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let loaded = cpu.load_from(cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op), SIZE);
    let result = loaded.map(|value| {
        let unused = 64 - 8 * u32::from(SIZE);
        let signed = ((value << unused).cast_signed() >> unused).cast_unsigned();
        cpu.set(destination(op.rd), if SIGNED { signed } else { value });
    });
    done(cpu, result)
}

fn store_integer<const IMMEDIATE: bool, const SIZE: u8>(cpu: &mut Cpu, op: &Op) -> Step {
    let value = cpu.get(op.rd) & bits(SIZE);
    let result = cpu.store_to(cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op), SIZE, value);
    done(cpu, result)
}

/// Loads two registers: the words of a double word, or with a twin ASI two double words.
fn load_pair<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let result = load_pair_from(cpu, op, cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op));
    done(cpu, result)
}

fn load_pair_from(cpu: &mut Cpu, op: &Op, asi: u8, address: u64) -> Result<(), Trap> {
    if op.rd & 1 != 0 {
        return Err(illegal(op, 0x13));
    }
    let little = matches!(space(asi), Space::Memory { little: true, .. });
    let (even, odd) = match cpu.space(asi) {
        Space::Twin { .. } if !address.is_multiple_of(16) => return Err(Trap::NotAligned(address)),
        Space::Twin { .. } => (cpu.load_from(asi, address, 8)?, cpu.load_from(asi, address + 8, 8)?),
        _ => {
            let pair = cpu.load_from(asi, address, 8)?;
            // Each word is in the other order, but the pair is not.
            let pair = if little { pair.rotate_left(32) } else { pair };
            (pair >> 32, pair & 0xffff_ffff)
        }
    };
    cpu.set_pair(op.rd, even, odd);
    Ok(())
}

fn store_pair<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    if op.rd & 1 != 0 {
        let trap = illegal(op, 0x17);
        return cpu.stop(trap);
    }
    let (asi, address) = (cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op));
    let pair = cpu.get(op.rd) << 32 | cpu.get(op.rd | 1) & 0xffff_ffff;
    let little = matches!(space(asi), Space::Memory { little: true, .. });
    let result = cpu.store_to(asi, address, 8, if little { pair.rotate_left(32) } else { pair });
    done(cpu, result)
}

/// `ldstuba` and `swapa`.
fn exchange<const IMMEDIATE: bool, const SIZE: u8>(cpu: &mut Cpu, op: &Op) -> Step {
    let (asi, address) = (cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op));
    let new = if SIZE == 1 { 0xff } else { cpu.get(op.rd) & bits(SIZE) };
    let exchanged = cpu.atomic_space(asi, address).and_then(|little| {
        let order = |value| if little { swapped(value, SIZE) } else { value };
        let old = match SIZE {
            1 => cpu.memory.exchange_u8(address, order(new) as u8).map(u64::from),
            _ => cpu.memory.exchange_u32(address, order(new) as u32).map(u64::from),
        };
        old.map(order).map_err(|fault| refusal(fault, SIZE))
    });
    let result = exchanged.map(|old| cpu.set(destination(op.rd), old));
    done(cpu, result)
}

fn compare_and_swap<const IMMEDIATE: bool, const SIZE: u8>(cpu: &mut Cpu, op: &Op) -> Step {
    let result = compare_and_swap_at::<SIZE>(cpu, op, cpu.asi::<IMMEDIATE>(op));
    done(cpu, result)
}

/// The memory has to be writable even if nothing is stored.
fn compare_and_swap_at<const SIZE: u8>(cpu: &mut Cpu, op: &Op, asi: u8) -> Result<(), Trap> {
    let address = cpu.get(op.rs1);
    let little = cpu.atomic_space(asi, address)?;
    let order = |value| if little { swapped(value, SIZE) } else { value };
    let (wanted, new) = (order(cpu.get(op.rs2) & bits(SIZE)), order(cpu.get(op.rd) & bits(SIZE)));
    let old = match SIZE {
        4 => cpu.memory.compare_and_exchange_u32(address, wanted as u32, new as u32).map(u64::from),
        _ => cpu.memory.compare_and_exchange_u64(address, wanted, new),
    };
    let old = order(old.map_err(|fault| refusal(fault, SIZE))?);
    cpu.set(destination(op.rd), old);
    Ok(())
}

fn load_single<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let loaded = cpu.load_from(cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op), 4);
    let result = loaded.map(|value| cpu.set_single(op.rd, value as u32));
    done(cpu, result)
}

fn store_single<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let value = u64::from(cpu.single(op.rd));
    let result = cpu.store_to(cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op), 4, value);
    done(cpu, result)
}

fn load_double<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let result = cpu.load_double_from(op, cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op));
    done(cpu, result)
}

/// Executes the store that T4's bulk loops make for each block.
fn store_double<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (asi, address) = (cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op));
    if (asi == PRIMARY || asi == BLOCK_INIT && cpu.has(Feature::AsiBlkInit))
        && cpu.memory.store_u64(address, cpu.d[usize::from(double(op.rd))]).is_ok()
    {
        return Step::Next;
    }
    let result = cpu.store_double_to(op, asi, address);
    done(cpu, result)
}

fn load_quad<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (asi, address) = (cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op));
    let first = usize::from(double(op.rd));
    let result = quad(op, 0x32, address).and_then(|()| {
        let halves = [cpu.load_from(asi, address, 8)?, cpu.load_from(asi, address + 8, 8)?];
        cpu.d[first..first + 2].copy_from_slice(&halves);
        Ok(())
    });
    done(cpu, result)
}

fn store_quad<const IMMEDIATE: bool>(cpu: &mut Cpu, op: &Op) -> Step {
    let (asi, address) = (cpu.asi::<IMMEDIATE>(op), cpu.address::<IMMEDIATE>(op));
    let first = usize::from(double(op.rd));
    let result = quad(op, 0x36, address).and_then(|()| {
        // Nothing may be stored if either half faults: a load and a store of the second half show that it can be
        // written.
        let second = cpu.load_from(asi, address + 8, 8)?;
        cpu.store_to(asi, address + 8, 8, second)?;
        cpu.store_to(asi, address, 8, cpu.d[first])?;
        cpu.store_to(asi, address + 8, 8, cpu.d[first + 1])
    });
    done(cpu, result)
}

/// Checks that a quad can be there: a register that begins one, and an address that is a multiple of its size.
fn quad(op: &Op, op3: u32, address: u64) -> Result<(), Trap> {
    if double(op.rd) & 1 != 0 {
        return Err(illegal(op, op3));
    }
    if address.is_multiple_of(16) { Ok(()) } else { Err(Trap::NotAligned(address)) }
}
