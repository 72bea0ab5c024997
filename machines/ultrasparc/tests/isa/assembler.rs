//! Words as text, assembled again.

use millstream_ultrasparc::isa::{self, Instruction, Operand, Word};
use object::{Object, ObjectSection};

use crate::{Random, assemble};

/// Words tried for each row, beside those with all operand fields zero and all ones.
const TRIES: usize = 60;

#[test]
fn what_a_row_looks_like_assembles_to_its_words() {
    let words = samples();
    let mut source = String::new();
    for (number, &word) in words.iter().enumerate() {
        source.push_str(&assembly(word, 8 * number as u64));
        // Not everything may stand in a delay slot.
        source.push_str("\nnop\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let (text, object) = (folder.path().join("rows.s"), folder.path().join("rows.o"));
    std::fs::write(&text, source).unwrap();
    assemble(&text, &object);
    let assembled = text_of(&std::fs::read(&object).unwrap());
    assert_eq!(assembled.len(), 2 * words.len());
    let assembled = assembled.into_iter().step_by(2);
    let differing: Vec<String> = words
        .iter()
        .zip(assembled)
        .enumerate()
        .filter(|(_, (ours, theirs))| **ours != *theirs)
        .map(|(number, (&ours, theirs))| {
            format!("{ours:#010x} shown as {:?} is {theirs:#010x}", assembly(ours, 8 * number as u64))
        })
        .collect();
    assert!(
        differing.is_empty(),
        "{} differ:\n{}",
        differing.len(),
        differing[..differing.len().min(60)].join("\n")
    );
    println!("{} rows, {} words", isa::rows().len(), words.len());
}

/// Words of every row.
pub fn samples() -> Vec<u32> {
    let mut random = Random(0x5eed);
    let of_row = |row: &&Instruction| -> Vec<u32> {
        (0..TRIES + 2).map(|number| sample(row, number, &mut random)).collect()
    };
    isa::rows().iter().flat_map(of_row).collect()
}

/// A word of the row. What no operand holds stays zero, as the text does not say it.
fn sample(row: &Instruction, number: usize, random: &mut Random) -> u32 {
    let fields = match number {
        0 => 0,
        1 => u32::MAX,
        _ => random.next(),
    };
    let has_immediate = row.operands.iter().any(|&operand| has_immediate(operand));
    let word = row.value | if has_immediate { fields & !row.mask & 1 << 13 } else { 0 };
    let said = row.operands.iter().fold(0, |bits, &operand| bits | field(operand, Word(word)));
    // Of a pair of integer registers the first is even.
    let pair = ["ldd", "std", "ldda", "stda", "ldtw", "sttw", "ldtwa", "sttwa"].contains(&row.name);
    let odd = if pair && row.operands.contains(&Operand::Rd) { 1 << 25 } else { 0 };
    word | fields & !row.mask & said & !odd
}

/// Whether bit 13 chooses between a register and an immediate.
fn has_immediate(operand: Operand) -> bool {
    use Operand as O;
    matches!(
        operand,
        O::R2OrImm13
            | O::R2OrImm11
            | O::R2OrImm10
            | O::R2OrImm5
            | O::Count32
            | O::Count64
            | O::Address
            | O::AddressAsi
            | O::RegisterAsi
            | O::Target
            | O::TrapNumber
    )
}

/// The bits that say an operand.
fn field(operand: Operand, word: Word) -> u32 {
    use Operand as O;
    const R1: u32 = 31 << 14;
    const R2: u32 = 31;
    const R3: u32 = 31 << 9;
    const RD: u32 = 31 << 25;
    let or_immediate = |bits: u32| if word.i() { (1 << bits) - 1 } else { R2 };
    let asi = if word.i() { 0 } else { 0xff << 5 };
    match operand {
        // A quad register's number is a multiple of four.
        O::Q1 => R1 & !(2 << 14),
        O::Q2 => R2 & !2,
        O::Qd => RD & !(2 << 25),
        // Of the privileged registers, the first sixteen have names.
        O::PrivilegedRead => R1 & !(16 << 14),
        O::PrivilegedWrite => RD & !(16 << 25),
        O::R1 | O::S1 | O::D1 | O::AsrRead | O::Register => R1,
        O::R2 | O::S2 | O::D2 | O::Imm5 => R2,
        O::S3 | O::D3 | O::Imm5Rs3 => R3,
        O::Rd | O::Sd | O::Dd | O::AsrWrite | O::PrefetchFunction => RD,
        O::R2OrImm13 => or_immediate(13),
        O::R2OrImm11 => or_immediate(11),
        O::R2OrImm10 => or_immediate(10),
        O::R2OrImm5 | O::Count32 => or_immediate(5),
        O::Count64 => or_immediate(6),
        O::Address | O::Target => R1 | or_immediate(13),
        O::AddressAsi => R1 | or_immediate(13) | asi,
        O::RegisterAsi => R1 | asi,
        O::Disp16 => 3 << 20 | 0x3fff | 1 << 29 | 1 << 19,
        O::Disp19 => 0x7_ffff | 1 << 29 | 1 << 19,
        O::Disp22 => 0x3f_ffff | 1 << 29,
        O::Disp30 => 0x3fff_ffff,
        O::Disp10 => 3 << 19 | 0xff << 5,
        O::Imm22 | O::Const22 => 0x3f_ffff,
        O::Imm3 => 7,
        O::Cc if word.0 >> 30 == 0 => 1 << 21,
        O::Cc => 1 << 12,
        O::FccBranch => 3 << 20,
        O::FccMove => 3 << 11,
        O::FccCompare => 3 << 25,
        O::Fsr => 0,
        O::TrapNumber => R1 | or_immediate(8),
        O::MembarMask => 0x7f,
    }
}

/// The text for the assembler, to which an absolute target would be a relocation.
fn assembly(word: u32, address: u64) -> String {
    let text = isa::disassemble(word, address);
    let Some(target) = text.target else { return text.to_string() };
    let (before, _) = text.operands.rsplit_once(", ").map_or(("", ""), |(before, last)| (before, last));
    let comma = if before.is_empty() { "" } else { ", " };
    format!("{} {before}{comma}. + {}", text.name, target.wrapping_sub(address).cast_signed())
}

/// The words of an object's `.text`.
fn text_of(object: &[u8]) -> Vec<u32> {
    let file = object::File::parse(object).unwrap();
    let section = file.section_by_name(".text").unwrap();
    assert_eq!(section.relocations().count(), 0);
    let bytes = section.data().unwrap();
    bytes.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}
