//! Cases: the state before an instruction, and the words that are it.

use std::fmt::Write;

use millstream_ultrasparc::isa::{Class, Instruction, Operand};
use millstream_ultrasparc::processor::Feature;

use crate::machines::{CODE, SCRATCH};
use crate::random::Random;

/// Words of a case, and bytes of its memory.
pub const WORDS: usize = 16;
pub const MEMORY: usize = 384;
pub const NOP: u32 = 0x0100_0000;

/// What a program sees of a processor, with the words to execute.
#[derive(Clone)]
pub struct Case {
    pub r: [u64; 32],
    pub d: [u64; 32],
    pub fsr: u64,
    pub ccr: u64,
    pub gsr: u64,
    pub y: u64,
    pub asi: u64,
    pub words: [u32; WORDS],
    pub memory: [u8; MEMORY],
}

impl Case {
    pub const BYTES: usize = 1024;

    pub fn to_bytes(&self) -> Vec<u8> {
        let state = [self.fsr, self.ccr, self.gsr, self.y, self.asi, 0, 0, 0];
        let longs = self.r.iter().chain(&self.d).chain(&state);
        let mut bytes: Vec<u8> = longs.flat_map(|long| long.to_be_bytes()).collect();
        bytes.extend(self.words.iter().flat_map(|word| word.to_be_bytes()));
        bytes.extend(self.memory);
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Case {
        let long = |place: usize| {
            u64::from_be_bytes(bytes[8 * place..8 * place + 8].try_into().expect("eight bytes"))
        };
        Case {
            r: std::array::from_fn(long),
            d: std::array::from_fn(|n| long(32 + n)),
            fsr: long(64),
            ccr: long(65),
            gsr: long(66),
            y: long(67),
            asi: long(68),
            words: [NOP; WORDS],
            memory: bytes[640..].try_into().expect("1024 bytes"),
        }
    }

    /// Where this state and QEMU's differ, in words.
    pub fn differences(&self, qemu: &Case, before: &Case) -> String {
        let mut text = String::new();
        let mut note = |name: String, before: u64, ours: u64, qemu: u64| {
            if ours != qemu {
                writeln!(text, "    {name}: before {before:#x}, ours {ours:#x}, qemu {qemu:#x}")
                    .expect("a string");
            }
        };
        for n in (1..32).filter(|n| *n != 7) {
            note(format!("r{n}"), before.r[n], self.r[n], qemu.r[n]);
        }
        for n in 0..32 {
            note(format!("d{}", 2 * n), before.d[n], self.d[n], qemu.d[n]);
        }
        // Not FSR.ver.
        note("fsr".into(), before.fsr, self.fsr & !(7 << 17), qemu.fsr & !(7 << 17));
        note("ccr".into(), before.ccr, self.ccr, qemu.ccr);
        note("gsr".into(), before.gsr, self.gsr, qemu.gsr);
        note("y".into(), before.y, self.y, qemu.y);
        note("asi".into(), before.asi, self.asi, qemu.asi);
        for n in 0..MEMORY / 8 {
            let long =
                |memory: &[u8]| u64::from_be_bytes(memory[8 * n..8 * n + 8].try_into().expect("eight bytes"));
            note(
                format!("memory {:#x}", 8 * n),
                long(&before.memory),
                long(&self.memory),
                long(&qemu.memory),
            );
        }
        if !text.is_empty() {
            writeln!(text, "    with {}", before.operands()).expect("a string");
        }
        text
    }

    /// What the first word's fields name.
    pub fn operands(&self) -> String {
        let word = self.words[0];
        let field = |low: u32| (word >> low & 31) as usize;
        let double = |low: u32| self.d[field(low) >> 1 | (field(low) & 1) << 4];
        let single = |low: u32| (self.d[field(low) >> 1] >> (32 * (!field(low) & 1))) as u32;
        format!(
            "rs1 r {:#x} s {:#x} d {:#x}; rs2 r {:#x} s {:#x} d {:#x}; fsr {:#x} ccr {:#x} gsr {:#x} y {:#x} asi {:#x}",
            self.r[field(14)],
            single(14),
            double(14),
            self.r[field(0)],
            single(0),
            double(0),
            self.fsr,
            self.ccr,
            self.gsr,
            self.y,
            self.asi
        )
    }
}

/// Whether the row computes with floating-point numbers.
pub fn is_float(row: &Instruction) -> bool {
    use Class as C;
    matches!(row.class, C::FloatAdd | C::FloatMultiply | C::FloatDivide | C::FloatConvert | C::FloatCompare)
}

/// Why a row is not compared with QEMU.
pub fn reason_to_leave_out(row: &Instruction) -> Option<&'static str> {
    use Feature as F;
    match row.needs {
        F::V9 | F::Popc | F::Vis | F::Vis2 | F::AsiBlkInit => {}
        F::Vis3 => return Some("qemu 7.2 has no VIS 3"),
        F::Fmaf => return Some("qemu 7.2 has no fused multiplication and addition"),
        F::Cbcond => return Some("qemu 7.2 has no compare and branch"),
        F::Pause | F::Hpc => return Some("qemu 7.2 has no pause"),
        _ => return Some("qemu 7.2 has no crypto instructions"),
    }
    match row.name {
        "rdpr" | "wrpr" | "saved" | "restored" | "done" | "retry" | "sir" => return Some("it is privileged"),
        "illtrap" | "ta" => return Some("it is there to trap"),
        "siam" => return Some("qemu 7.2 has no siam"),
        "shutdown" => return Some("qemu 7.2 has no shutdown"),
        _ => {}
    }
    let register =
        if row.operands.contains(&Operand::AsrRead) { row.value >> 14 & 31 } else { row.value >> 25 & 31 };
    match (row.operands, row.name) {
        (_, "rd" | "wr") => match register {
            0 | 2 | 3 | 5 | 19 => None,
            4 | 24 => Some("it tells the time"),
            6 => Some("whether the registers are clean is each machine's own"),
            26 => Some("qemu 7.2 has no %cfr"),
            _ => Some("it is privileged"),
        },
        _ => None,
    }
}

/// A case of a row.
pub fn make(row: &Instruction, random: &mut Random) -> Case {
    let mut case = state(random);
    operands(row, &mut case, random);
    let word = fields(row, &mut case, random);
    case.words[0] = word;
    if row.name.ends_with("cctv") {
        untag(&mut case);
    }
    match row.class {
        _ if row.name == "return" => transfer(row, &mut case, random),
        Class::Branch | Class::Call => transfer(row, &mut case, random),
        Class::Window => window(row, &mut case, random),
        _ => {}
    }
    case
}

/// Clears most tags, so that tagged arithmetic does not always trap.
fn untag(case: &mut Case) {
    for register in &mut case.r {
        *register = (*register & !3) << 32 >> 33 & !3;
    }
    if case.words[0] >> 13 & 1 != 0 {
        case.words[0] &= !3;
    }
}

/// A state of nothing in particular.
fn state(random: &mut Random) -> Case {
    let mut case = Case {
        r: std::array::from_fn(|_| random.integer()),
        d: std::array::from_fn(|_| random.next()),
        fsr: random.next() & (0x3f << 32 | 0xc000_0fff),
        ccr: random.below(256),
        gsr: random.next() & 0xffff_ffff_0000_00ff,
        y: random.integer() & 0xffff_ffff,
        asi: 0x80,
        words: [NOP; WORDS],
        memory: std::array::from_fn(|_| random.next() as u8),
    };
    (case.r[0], case.r[7]) = (0, 0);
    if random.one_in(2) {
        case.fsr &= !(3 << 30);
    }
    if random.one_in(10) {
        case.fsr |= random.below(32) << 23;
    }
    case
}

/// Fills the floating-point registers with what the row computes with.
fn operands(row: &Instruction, case: &mut Case, random: &mut Random) {
    let has = |operand| row.operands.contains(&operand);
    let is_integer = row.name.starts_with("fx") && !row.name.starts_with("fxn") || row.name.starts_with("fi");
    if !is_float(row) && row.class != Class::FloatMove {
        return;
    }
    for n in 0..32 {
        if is_integer {
            case.d[n] = random.integer();
        } else if has(Operand::Q1) || has(Operand::Q2) {
            if n % 2 == 0 {
                let quad = random.float(128, 112);
                (case.d[n], case.d[n + 1]) = ((quad >> 64) as u64, quad as u64);
            }
        } else if has(Operand::S1) || has(Operand::S2) {
            case.d[n] = (random.float(32, 23) << 32 | random.float(32, 23)) as u64;
        } else {
            case.d[n] = random.float(64, 52) as u64;
        }
    }
}

/// Any integer register but the driver's.
fn register(random: &mut Random) -> u32 {
    loop {
        let register = random.below(32) as u32;
        if register != 7 {
            return register;
        }
    }
}

/// An immediate operand's bits.
fn immediate(random: &mut Random, bits: u32) -> u32 {
    let all = (1 << bits) - 1;
    match random.below(4) {
        0 => random.of(&[0, 1, 2, all, all >> 1, (all >> 1) + 1]),
        1 => random.below(16) as u32,
        _ => random.next() as u32 & all,
    }
}

/// `rs2`, or an immediate operand of so many bits.
fn second(random: &mut Random, bits: u32) -> u32 {
    if random.one_in(2) { register(random) } else { 1 << 13 | immediate(random, bits) }
}

/// The word, with something in each field that the row leaves open.
fn fields(row: &Instruction, case: &mut Case, random: &mut Random) -> u32 {
    use Operand as O;
    let mut word = row.value;
    for operand in row.operands {
        let place = match operand {
            O::R1 => register(random) << 14,
            O::R2 => register(random),
            O::Rd if matches!(row.name, "ldd" | "std" | "ldda" | "stda") => {
                random.of(&[0, 2, 4, 8, 16, 24, 30]) << 25
            }
            O::Rd => register(random) << 25,
            O::R2OrImm13 => second(random, 13),
            O::R2OrImm11 => second(random, 11),
            O::R2OrImm10 => second(random, 10),
            O::R2OrImm5 => second(random, 5),
            O::S1 | O::D1 => (random.below(32) as u32) << 14,
            O::S2 | O::D2 => random.below(32) as u32,
            O::S3 | O::D3 => (random.below(32) as u32) << 9,
            O::Sd | O::Dd => (random.below(32) as u32) << 25,
            O::Q1 => quad(random) << 14,
            O::Q2 => quad(random),
            O::Qd => quad(random) << 25,
            O::Address => address(row, case, random, SCRATCH),
            O::Target if row.name == "flush" => address(row, case, random, SCRATCH),
            O::Target => address(row, case, random, CODE),
            O::AddressAsi => address_space(row, case, random, true),
            O::RegisterAsi => address_space(row, case, random, false),
            O::Register => base(row, case, random) << 14,
            O::Disp16 => 4 | branch_bits(random),
            O::Disp19 => 4 | branch_bits(random),
            O::Disp22 => 4 | (random.below(2) as u32) << 29,
            O::Disp30 => 4,
            O::Disp10 => 4 << 5,
            O::Imm22 | O::Const22 => random.next() as u32 & 0x3f_ffff,
            O::Count32 => second(random, 5),
            O::Count64 => second(random, 6),
            O::Imm3 => random.below(8) as u32,
            O::Imm5 => random.below(32) as u32,
            O::Imm5Rs3 => (random.below(32) as u32) << 9,
            O::Cc if row.class == Class::Branch => (random.below(2) as u32) << 21,
            O::Cc => (random.below(2) as u32) << 12,
            O::FccBranch => (random.below(4) as u32) << 20,
            O::FccMove => (random.below(4) as u32) << 11,
            O::FccCompare => (random.below(4) as u32) << 25,
            O::TrapNumber => 1 << 13 | 0x10,
            O::MembarMask => random.below(128) as u32,
            O::PrefetchFunction => (random.below(5) as u32) << 25,
            O::Fsr | O::AsrRead | O::AsrWrite | O::PrivilegedRead | O::PrivilegedWrite => 0,
        };
        // What the row fixes stays as it is.
        word |= place & !row.mask;
    }
    if row.name == "casa" || row.name == "casxa" || row.name == "cas" || row.name == "casx" {
        expect_memory(word, case, random);
    }
    word
}

/// The number of a quad register.
fn quad(random: &mut Random) -> u32 {
    let index = random.below(16) as u32 * 2;
    (index & 15) << 1 | index >> 4
}

/// Annulment, and prediction.
fn branch_bits(random: &mut Random) -> u32 {
    (random.below(2) as u32) << 29 | (random.below(2) as u32) << 19
}

/// What an address must be a multiple of.
fn size(row: &Instruction) -> u64 {
    match row.name.trim_end_matches('a') {
        "ldub" | "ldsb" | "stb" | "ldstub" => 1,
        "lduh" | "ldsh" | "sth" => 2,
        "ld" | "ldsw" | "st" | "swap" | "cas" => 4,
        "ldx" | "stx" | "ldd" | "std" | "casx" => 8,
        "ldq" | "stq" => 16,
        _ => 64,
    }
}

/// `rs1` and what is added to it, which together are an address in `span`.
fn address(row: &Instruction, case: &mut Case, random: &mut Random, span: u64) -> u32 {
    let target = if span == CODE {
        CODE + 4 * (2 + random.below(8))
    } else {
        SCRATCH + 64 + random.below(192) / size(row) * size(row)
    };
    let first = 1 + random.below(6) as u32;
    let offset = random.below(4096).wrapping_sub(2048);
    case.r[first as usize] = target.wrapping_sub(offset);
    if random.one_in(2) {
        return first << 14 | 1 << 13 | offset as u32 & 0x1fff;
    }
    let second = 8 + random.below(6) as u32;
    case.r[second as usize] = offset;
    first << 14 | second
}

/// `rs1` alone as an address.
fn base(row: &Instruction, case: &mut Case, random: &mut Random) -> u32 {
    let first = 1 + random.below(6) as u32;
    case.r[first as usize] = SCRATCH + 64 + random.below(192) / size(row) * size(row);
    first
}

/// An address with an address space. With one for blocks or parts of a register, a line of 64 bytes.
fn address_space(row: &Instruction, case: &mut Case, random: &mut Random, has_offset: bool) -> u32 {
    let is_double = row.operands.contains(&Operand::Dd);
    let plain = [0x80, 0x81, 0x82, 0x83, 0x88, 0x89, 0x8a, 0x8b];
    let stores = [0x80, 0x81, 0x88, 0x89];
    let is_load = row.class == Class::Load;
    let special = is_double && random.one_in(2);
    let asi = if special {
        random.of(&[0xd0, 0xd2, 0xd8, 0xda, 0xf0, 0xf8])
    } else if is_load {
        random.of(&plain)
    } else {
        random.of(&stores)
    };
    let (line, wide) = (64 * (1 + random.below(3)), size(row));
    let target = SCRATCH + line + if special { 0 } else { random.below(64) / wide * wide };
    let first = 1 + random.below(6) as u32;
    let offset = if has_offset { random.below(64) } else { 0 };
    case.r[first as usize] = target - offset;
    if special && asi >= 0xf0 {
        // A block of eight registers begins at a multiple of eight.
        case.asi = asi;
    }
    if random.one_in(2) || row.mask >> 13 & 1 != 0 && row.value >> 13 & 1 != 0 {
        case.asi = asi;
        return first << 14 | 1 << 13 | offset as u32;
    }
    let second = 8 + random.below(6) as u32;
    if has_offset {
        case.r[second as usize] = offset;
    }
    first << 14 | (asi as u32) << 5 | if has_offset { second } else { 0 }
}

/// Half of the time, a compare and swap finds what it expects.
fn expect_memory(word: u32, case: &mut Case, random: &mut Random) {
    let (first, expected) = ((word >> 14 & 31) as usize, (word & 31) as usize);
    if expected == first || expected == 0 || random.one_in(2) {
        return;
    }
    let place = (case.r[first] - SCRATCH) as usize;
    let bytes = if word >> 19 & 2 != 0 { 8 } else { 4 };
    let mut value = case.memory[place..place + bytes].to_vec();
    let asi = if word >> 13 & 1 != 0 { case.asi } else { u64::from(word >> 5 & 0xff) };
    if asi & 8 != 0 {
        value.reverse();
    }
    let mut long = [0; 8];
    long[8 - bytes..].copy_from_slice(&value);
    case.r[expected] = u64::from_be_bytes(long);
}

/// `add %lN, place, %lN`: says that the word in this place was executed.
fn marker(place: u32) -> u32 {
    let register = 16 + place % 8;
    0x8000_2000 | register << 25 | register << 14 | 1 << place
}

/// `save %sp, -176, %sp`.
const SAVE: u32 = 0x9de3_bf50;
/// `restore`.
const RESTORE: u32 = 0x81e8_0000;

/// Words around a control transfer that tell which of them were executed.
fn transfer(row: &Instruction, case: &mut Case, random: &mut Random) {
    for place in 1..12 {
        case.words[place as usize] = marker(place);
    }
    if row.name == "return" {
        // From a window of its own. Its %i0 to %i5 are this one's %o0 to %o5.
        let (first, target) = (random.below(6) as u32, CODE + 4 * (3 + random.below(8)));
        case.r[8 + first as usize] = target - 8;
        case.words[1] = row.value | (24 + first) << 14 | 1 << 13 | 8;
        case.words[0] = SAVE;
    }
}

/// Windows are saved and restored once, so that none goes to memory.
fn window(row: &Instruction, case: &mut Case, random: &mut Random) {
    // What a new window's %o and %l are is not said: only globals and %i are read there.
    let known = |random: &mut Random| random.of(&[0, 1, 2, 3, 4, 5, 6, 24, 25, 26, 27, 28, 29, 30, 31]);
    match row.name {
        "save" => {
            let rd = known(random);
            case.words[0] = case.words[0] & !(31 << 25) | rd << 25;
            // or %g0, rd, %i1
            case.words[1] = 0xb210_0000 | rd;
            case.words[2] = RESTORE;
        }
        "restore" => {
            let second = if random.one_in(2) { known(random) } else { 1 << 13 | immediate(random, 13) };
            case.words[1] = row.value | register(random) << 25 | known(random) << 14 | second;
            case.words[0] = SAVE;
        }
        _ => {}
    }
}
