//! The instructions as a program has them: words in memory, executed in blocks and one by one.

use super::*;
use crate::arithmetic::tests::Numbers;
use crate::cpu::{Cpu, Trap};
use crate::isa::find;
use crate::memory::Protection;
use crate::processor::Processor;

const CODE: u64 = 0x10000;
/// `ta 0x10`.
const STOP: u32 = 0x91d0_2010;

/// A T4 with these words as its program.
pub(crate) fn machine(words: &[u32]) -> Cpu {
    machine_of(Processor::T4.features(), words)
}

fn machine_of(features: crate::processor::Features, words: &[u32]) -> Cpu {
    let mut cpu = Cpu::new(features).unwrap();
    cpu.memory.map(CODE, 0x4000, Protection::ALL);
    for (at, word) in words.iter().chain([&STOP]).enumerate() {
        cpu.memory.write(CODE + 4 * at as u64, &word.to_be_bytes()).unwrap();
    }
    cpu.jump(CODE);
    cpu
}

/// Executes the program in blocks, to its end.
pub(crate) fn run(cpu: &mut Cpu) {
    assert_eq!(cpu.run(), Trap::Software(0x10), "at {:x}", cpu.pc);
}

/// Executes it one instruction after another.
fn step_through(cpu: &mut Cpu) {
    loop {
        match cpu.step() {
            Ok(()) => {}
            Err(Trap::Software(0x10)) => return,
            Err(trap) => panic!("{trap:?} at {:x}", cpu.pc),
        }
    }
}

/// The word of an instruction on double registers, numbered as in [`Cpu::d`].
pub(crate) fn assemble(name: &str, [rs1, rs2, rs3, rd]: [u8; 4]) -> u32 {
    let row = all().find(|row| row.name == name).unwrap_or_else(|| panic!("no instruction {name}"));
    let field = |double: u8| u32::from(double << 1 & 30 | double >> 4);
    let mut word = row.value | field(rd) << 25 | field(rs1) << 14;
    if row.mask & 31 == 0 {
        word |= field(rs2);
    }
    if row.mask & 0x3e00 == 0 {
        word |= field(rs3) << 9;
    }
    word
}

fn all() -> impl Iterator<Item = &'static Instruction> {
    let families = [
        aes::INSTRUCTIONS,
        des::INSTRUCTIONS,
        camellia::INSTRUCTIONS,
        kasumi::INSTRUCTIONS,
        hash::INSTRUCTIONS,
        crc32c::INSTRUCTIONS,
        montgomery::INSTRUCTIONS,
    ];
    families.into_iter().flatten()
}

/// Words as GNU as 2.40 makes them.
const ASSEMBLED: [(u32, &str, [u8; 4]); 29] = [
    (0x89b0_2602, "aes_kexpand0", [0, 1, 0, 2]),
    (0x88c8_0702, "aes_kexpand1", [0, 1, 3, 2]),
    (0x89b0_2622, "aes_kexpand2", [0, 1, 0, 2]),
    (0x8cc8_0802, "aes_eround01", [0, 1, 2, 3]),
    (0x8cc8_0822, "aes_eround23", [0, 1, 2, 3]),
    (0x8cc8_0842, "aes_dround01", [0, 1, 2, 3]),
    (0x8cc8_0862, "aes_dround23", [0, 1, 2, 3]),
    (0x8cc8_0882, "aes_eround01_l", [0, 1, 2, 3]),
    (0x8cc8_08a2, "aes_eround23_l", [0, 1, 2, 3]),
    (0x8cc8_08c2, "aes_dround01_l", [0, 1, 2, 3]),
    (0x8cc8_08e2, "aes_dround23_l", [0, 1, 2, 3]),
    (0x85b0_2680, "des_ip", [0, 0, 0, 1]),
    (0x85b0_26a0, "des_iip", [0, 0, 0, 1]),
    (0x89b0_26c2, "des_kexpand", [0, 2, 0, 2]),
    (0x8cc8_0922, "des_round", [0, 1, 2, 3]),
    (0x8cc8_0982, "camellia_f", [0, 1, 2, 3]),
    (0x89b0_2782, "camellia_fl", [0, 1, 0, 2]),
    (0x89b0_27a2, "camellia_fli", [0, 1, 0, 2]),
    (0x89b0_2702, "kasumi_fi_fi", [0, 1, 0, 2]),
    (0x8cc8_0942, "kasumi_fl_xor", [0, 1, 2, 3]),
    (0x8cc8_0962, "kasumi_fi_xor", [0, 1, 2, 3]),
    (0x89b0_28e2, "crc32c", [0, 1, 0, 2]),
    (0x81b0_2800, "md5", [0; 4]),
    (0x81b0_2820, "sha1", [0; 4]),
    (0x81b0_2840, "sha256", [0; 4]),
    (0x81b0_2860, "sha512", [0; 4]),
    (0x81b0_291f, "mpmul", [0, 31, 0, 0]),
    (0x81b0_293f, "montmul", [0, 31, 0, 0]),
    (0x81b0_295f, "montsqr", [0, 31, 0, 0]),
];

#[test]
fn words_are_those_of_the_assembler() {
    for (word, name, [rs1, rs2, rs3, rd]) in ASSEMBLED {
        let row = find(word).unwrap_or_else(|| panic!("{word:08x} is no instruction"));
        assert_eq!(row.name, name, "{word:08x}");
        let Decode::Plain(decode) = row.decode else { panic!("{name} transfers control") };
        let op = decode(Word(word), 0);
        match name {
            "mpmul" | "montmul" | "montsqr" => assert_eq!(op.imm, u64::from(rs2) + 1),
            "aes_kexpand1" => assert_eq!([op.rs1, op.rs2, op.rs3, op.rd], [rs1, rs2, rs3, rd]),
            _ => {
                assert_eq!([op.rs1, op.rs2, op.rd], [rs1, rs2, rd], "{name}");
                assert!(row.mask & 0x3e00 != 0 || op.rs3 == rs3, "{name}");
            }
        }
    }
    assert_eq!(all().count(), ASSEMBLED.len());
}

#[test]
fn what_only_later_processors_have_is_no_instruction() {
    // xmpmul, xmontmul, xmontsqr; des_kexpand with an immediate that has no meaning.
    for word in [0x83b0_2900, 0x83b0_2920, 0x83b0_2940, 0x89b0_26c4] {
        assert!(find(word).is_none(), "{word:08x}");
    }
}

#[test]
fn without_its_feature_each_is_illegal() {
    for row in all() {
        let word = row.value;
        let without = machine_of(Processor::T4.features().without(row.needs), &[word]).run();
        assert_eq!(without, Trap::IllegalInstruction(word), "{}", row.name);
        let before = machine_of(Processor::T3.features(), &[word]).run();
        assert_eq!(before, Trap::IllegalInstruction(word), "{}", row.name);
        run(&mut machine(&[word]));
    }
}

#[test]
fn cfr_says_what_there_is() {
    assert_eq!(cfr(Processor::T4.features()), 0xfff);
    assert_eq!(cfr(Processor::T3.features()), 0);
    assert_eq!(cfr(Processor::T4.features().without(Feature::Aes)), 0xffe);
    assert_eq!(cfr(Processor::T4.features().without(Feature::Crc32c)), 0x7ff);
    // rd %asr26, %o0
    let mut cpu = machine(&[0x9146_8000]);
    run(&mut cpu);
    assert_eq!(cpu.r[8], 0xfff);
}

/// Returns the result of an instruction on registers, by name; `imm` is the place of the second or third
/// register.
fn expected(name: &str, rs1: u64, rs2: u64, rs3: u64, word: Word) -> u64 {
    let unit = aes::units().pop().expect("tables, at least");
    let aes = |kind: usize, half: usize| unit.round[kind]([rs2, rs3], [rs1, rs1])[half];
    match name {
        "aes_eround01" => aes(0, 0),
        "aes_eround23" => aes(0, 1),
        "aes_dround01" => aes(1, 0),
        "aes_dround23" => aes(1, 1),
        "aes_eround01_l" => aes(2, 0),
        "aes_eround23_l" => aes(2, 1),
        "aes_dround01_l" => aes(3, 0),
        "aes_dround23_l" => aes(3, 1),
        "aes_kexpand0" => unit.expand[0](rs1, rs2, 0),
        "aes_kexpand1" => unit.expand[1](rs1, rs2, word.rs3()),
        "aes_kexpand2" => unit.expand[2](rs1, rs2, 0),
        "des_ip" => des::des_ip(rs1),
        "des_iip" => des::des_iip(rs1),
        "des_kexpand" => des::des_kexpand(rs1, word.rs2()),
        "des_round" => des::des_round(rs1, rs2, rs3),
        "camellia_f" => camellia::camellia_f(rs1, rs2, rs3),
        "camellia_fl" => camellia::camellia_fl(rs1, rs2),
        "camellia_fli" => camellia::camellia_fli(rs1, rs2),
        "kasumi_fl_xor" => kasumi::kasumi_fl_xor(rs1, rs2, rs3),
        "kasumi_fi_xor" => kasumi::kasumi_fi_xor(rs1, rs2, rs3),
        "kasumi_fi_fi" => kasumi::kasumi_fi_fi(rs1, rs2),
        "crc32c" => crc32c::crc32c(rs1, rs2),
        _ => unreachable!("{name}"),
    }
}

/// A word of the row with any registers.
fn any_word(numbers: &mut Numbers, row: &Instruction) -> u32 {
    row.value | numbers.word() as u32 & !row.mask
}

#[test]
fn handlers_move_registers() {
    let mut numbers = Numbers(3);
    for row in all().filter(|row| !row.operands.is_empty() && row.operands[0] == Operand::D1) {
        for _ in 0..40 {
            let word = any_word(&mut numbers, row);
            let mut cpu = machine(&[word]);
            cpu.d.fill_with(|| numbers.word());
            let mut after = cpu.d;
            let [rd, rs1, rs2, rs3] = [Word(word).rd(), Word(word).rs1(), Word(word).rs2(), Word(word).rs3()]
                .map(|r| usize::from(double(r)));
            after[rd] = expected(row.name, after[rs1], after[rs2], after[rs3], Word(word));
            let r = cpu.r;
            run(&mut cpu);
            assert_eq!(cpu.d, after, "{} {word:08x}", row.name);
            assert_eq!(cpu.r, r);
        }
    }
}

#[test]
fn hashes_in_a_block() {
    type Hash = fn(&mut [u64; 32]);
    let mut numbers = Numbers(4);
    let hashes: [(u32, Hash); 4] = [
        (0x81b0_2800, hash::md5),
        (0x81b0_2820, hash::sha1),
        (0x81b0_2840, hash::sha256),
        (0x81b0_2860, hash::sha512),
    ];
    for (word, function) in hashes {
        let mut cpu = machine(&[word]);
        cpu.d.fill_with(|| numbers.word());
        let mut after = cpu.d;
        function(&mut after);
        run(&mut cpu);
        assert_eq!(cpu.d, after, "{word:08x}");
    }
}

/// A program that is executed in blocks, fused, must do the same as instruction by instruction.
pub(crate) fn check_fused(numbers: &mut Numbers, words: &[u32]) {
    check_fused_from(numbers, words, 0x12000);
}

/// Checks the same with this value in %g1.
pub(crate) fn check_fused_from(numbers: &mut Numbers, words: &[u32], g1: u64) {
    let (mut fused, mut stepped) = (machine(words), machine(words));
    fused.d.fill_with(|| numbers.word());
    for register in 1..32 {
        fused.r[register] = numbers.word();
    }
    fused.r[1] = g1;
    (stepped.d, stepped.r) = (fused.d, fused.r);
    let data: Vec<u8> = numbers.words(32).iter().flat_map(|word| word.to_be_bytes()).collect();
    for cpu in [&mut fused, &mut stepped] {
        cpu.memory.write(0x12000, &data).unwrap();
    }
    run(&mut fused);
    step_through(&mut stepped);
    assert_eq!(fused.d, stepped.d, "{words:08x?}");
    assert_eq!(fused.r, stepped.r, "{words:08x?}");
}

/// Returns true if a fusion takes all of the words.
pub(crate) fn fuses(list: &[crate::isa::Fusion], words: &[u32]) -> bool {
    let names: Vec<&str> = words.iter().map(|&word| find(word).unwrap().name).collect();
    let words: Vec<Word> = words.iter().copied().map(Word).collect();
    list.iter().any(|fusion| fusion.rows == names && (fusion.make)(&words, 0).is_some())
}

#[test]
fn rounds_of_des_and_camellia_fuse() {
    let mut numbers = Numbers(5);
    // %f16 and on are keys; %f0, or %f12 and %f14, the block.
    let des: Vec<u32> = (0..8).map(|i| assemble("des_round", [8 + 2 * i, 9 + 2 * i, 0, 0])).collect();
    for count in 2..=8 {
        assert!(fuses(des::FUSIONS, &des[..count]), "{count}");
    }
    check_fused(&mut numbers, &des);
    let turn = |i: u8| if i.is_multiple_of(2) { [8 + i, 1, 0, 1] } else { [8 + i, 0, 1, 0] };
    let camellia: Vec<u32> = (0..6).map(|i| assemble("camellia_f", turn(i))).collect();
    assert!(fuses(camellia::FUSIONS, &camellia));
    check_fused(&mut numbers, &camellia);
    // With one field changed the words may not be what they look like.
    for words in [&des, &camellia] {
        for at in 0..words.len() {
            for shift in [0, 9, 14, 25] {
                let mut words = words.clone();
                words[at] ^= 1 << (shift + numbers.word() % 5);
                check_fused(&mut numbers, &words);
            }
        }
    }
}
