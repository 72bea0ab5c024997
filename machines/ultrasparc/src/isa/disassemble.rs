//! Words as assembly: GNU as's syntax, in the form of `objdump -d` if there are several.
//!
//! The text assembles to the word that it was made from. So a synthetic name (`mov`, `cmp`, `ret`) is used only if
//! the assembler makes the same word of it. Bits that no field of the instruction holds have no text.
//! Ref. SPARC V9 appendix G; the table of synthetic instructions is its table 43.

use std::fmt;

use super::{Instruction, Operand, Word, find, names};

/// An instruction as assembly.
///
/// ```
/// let text = millstream_ultrasparc::isa::disassemble(0x9de3_bf40, 0x10_0000);
/// assert_eq!(text.to_string(), "save  %sp, -192, %sp");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The instruction's name, with a branch's annulment and prediction.
    pub name: String,
    /// The operands, with commas between; empty for some instructions.
    pub operands: String,
    /// The target of a branch or call, which is its last operand.
    pub target: Option<u64>,
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.operands.is_empty() { Ok(()) } else { write!(f, "  {}", self.operands) }
    }
}

/// The assembly of a word at an address; `.word` if there is no such instruction.
#[must_use]
pub fn disassemble(word: u32, address: u64) -> Text {
    let Some(row) = find(word) else {
        return Text { name: ".word".to_owned(), operands: format!("{word:#010x}"), target: None };
    };
    let (name, operands) = synthetic(word).unwrap_or((row.name, row.operands));
    let word = Word(word);
    let shown: Vec<String> = operands.iter().filter_map(|&operand| show(operand, word, address)).collect();
    Text {
        name: format!("{name}{}", suffix(row, word)),
        operands: shown.join(", "),
        target: row.operands.iter().find_map(|&operand| target(operand, word, address)),
    }
}

/// Another name for an instruction some of whose fields have certain values.
struct Synthetic {
    name: &'static str,
    mask: u32,
    value: u32,
    /// A second field that has to hold the same register as `rd`.
    as_rd: Option<fn(Word) -> u8>,
    operands: &'static [Operand],
}

/// A synthetic instruction without two fields to compare.
const fn synthetic_row(name: &'static str, mask: u32, value: u32, operands: &'static [Operand]) -> Synthetic {
    Synthetic { name, mask, value, as_rd: None, operands }
}

/// A synthetic instruction whose result replaces its operand.
const fn in_place(
    name: &'static str,
    mask: u32,
    value: u32,
    as_rd: fn(Word) -> u8,
    operands: &'static [Operand],
) -> Synthetic {
    Synthetic { name, mask, value, as_rd: Some(as_rd), operands }
}

/// All synthetic instructions, of which the first that fits is used.
const SYNTHETIC: &[Synthetic] = {
    use Operand as O;
    &[
        synthetic_row("nop", 0xffff_ffff, 0x0100_0000, &[]),
        synthetic_row("b", 0xdfc0_0000, 0x1080_0000, &[O::Disp22]),
        synthetic_row("b", 0xdfc0_0000, 0x1040_0000, &[O::Cc, O::Disp19]),
        synthetic_row("fb", 0xdfc0_0000, 0x1180_0000, &[O::Disp22]),
        synthetic_row("fb", 0xdfc0_0000, 0x1140_0000, &[O::FccBranch, O::Disp19]),
        synthetic_row("clr", 0xc1ff_ffff, 0x8010_0000, &[O::Rd]),
        synthetic_row("mov", 0xc1ff_c000, 0x8010_0000, &[O::R2OrImm13, O::Rd]),
        synthetic_row("cmp", 0xfff8_0000, 0x80a0_0000, &[O::R1, O::R2OrImm13]),
        synthetic_row("tst", 0xfff8_3fff, 0x8090_0000, &[O::R1]),
        synthetic_row("btst", 0xfff8_2000, 0x8088_0000, &[O::R1, O::R2]),
        synthetic_row("btst", 0xfff8_2000, 0x8088_2000, &[O::R2OrImm13, O::R1]),
        in_place("neg", 0xc1ff_e000, 0x8020_0000, Word::rs2, &[O::Rd]),
        synthetic_row("neg", 0xc1ff_e000, 0x8020_0000, &[O::R2, O::Rd]),
        in_place("inc", 0xc1f8_3fff, 0x8000_2001, Word::rs1, &[O::Rd]),
        in_place("dec", 0xc1f8_3fff, 0x8020_2001, Word::rs1, &[O::Rd]),
        in_place("inccc", 0xc1f8_3fff, 0x8080_2001, Word::rs1, &[O::Rd]),
        in_place("deccc", 0xc1f8_3fff, 0x80a0_2001, Word::rs1, &[O::Rd]),
        in_place("signx", 0xc1f8_301f, 0x8138_0000, Word::rs1, &[O::Rd]),
        synthetic_row("signx", 0xc1f8_301f, 0x8138_0000, &[O::R1, O::Rd]),
        in_place("clruw", 0xc1f8_301f, 0x8130_0000, Word::rs1, &[O::Rd]),
        synthetic_row("clruw", 0xc1f8_301f, 0x8130_0000, &[O::R1, O::Rd]),
        synthetic_row("ret", 0xffff_ffff, 0x81c7_e008, &[]),
        synthetic_row("retl", 0xffff_ffff, 0x81c3_e008, &[]),
        synthetic_row("jmp", 0xfff8_0000, 0x81c0_0000, &[O::Target]),
        synthetic_row("call", 0xfff8_0000, 0x9fc0_0000, &[O::Target]),
        synthetic_row("save", 0xffff_ffff, 0x81e0_0000, &[]),
        synthetic_row("restore", 0xffff_ffff, 0x81e8_0000, &[]),
        synthetic_row("wr", 0xffff_c000, 0x8180_0000, &[O::R2OrImm13, O::AsrWrite]),
        synthetic_row("pause", 0xffff_e000, 0xb780_2000, &[O::R2OrImm13]),
        synthetic_row("clr", 0xfff8_0000, 0xc020_0000, &[O::Address]),
        synthetic_row("clrb", 0xfff8_0000, 0xc028_0000, &[O::Address]),
        synthetic_row("clrh", 0xfff8_0000, 0xc030_0000, &[O::Address]),
        synthetic_row("clrx", 0xfff8_0000, 0xc070_0000, &[O::Address]),
        synthetic_row("cas", 0xc1f8_3fe0, 0xc1e0_1000, &[O::Register, O::R2, O::Rd]),
        synthetic_row("casl", 0xc1f8_3fe0, 0xc1e0_1100, &[O::Register, O::R2, O::Rd]),
        synthetic_row("casx", 0xc1f8_3fe0, 0xc1f0_1000, &[O::Register, O::R2, O::Rd]),
        synthetic_row("casxl", 0xc1f8_3fe0, 0xc1f0_1100, &[O::Register, O::R2, O::Rd]),
    ]
};

/// The synthetic name of a word, and its operands.
fn synthetic(word: u32) -> Option<(&'static str, &'static [Operand])> {
    let fits = |row: &&Synthetic| {
        word & row.mask == row.value && row.as_rd.is_none_or(|field| field(Word(word)) == Word(word).rd())
    };
    SYNTHETIC.iter().find(fits).map(|row| (row.name, row.operands))
}

/// The suffixes for annulment, and for prediction if it is not the usual "taken".
fn suffix(row: &Instruction, word: Word) -> &'static str {
    let has = |operands: &[Operand]| row.operands.iter().any(|operand| operands.contains(operand));
    let predicts = has(&[Operand::Disp16, Operand::Disp19]);
    if !predicts && !has(&[Operand::Disp22]) {
        return "";
    }
    let (annuls, not_taken) = (word.0 >> 29 & 1 != 0, predicts && word.0 >> 19 & 1 == 0);
    match (annuls, not_taken) {
        (false, false) => "",
        (true, false) => ",a",
        (false, true) => ",pn",
        (true, true) => ",a,pn",
    }
}

/// The address to which a branch operand leads.
fn target(operand: Operand, word: Word, address: u64) -> Option<u64> {
    let words = match operand {
        Operand::Disp16 => Word(word.0 >> 6 & 0xc000 | word.0 & 0x3fff).signed(16),
        Operand::Disp19 => word.signed(19),
        Operand::Disp22 => word.signed(22),
        Operand::Disp30 => word.signed(30),
        Operand::Disp10 => Word(word.0 >> 11 & 0x300 | word.0 >> 5 & 0xff).signed(10),
        _ => return None,
    };
    Some(address.wrapping_add(words << 2))
}

/// An operand's text; `None` for an operand that goes without saying.
fn show(operand: Operand, word: Word, address: u64) -> Option<String> {
    use Operand as O;
    Some(match operand {
        O::R1 => names::integer(word.rs1()).to_owned(),
        O::R2 => names::integer(word.rs2()).to_owned(),
        O::Rd => names::integer(word.rd()).to_owned(),
        O::R2OrImm13 => register_or(word, || number(word.signed(13))),
        O::R2OrImm11 => register_or(word, || number(word.signed(11))),
        O::R2OrImm10 => register_or(word, || number(word.signed(10))),
        O::R2OrImm5 => register_or(word, || number(word.signed(5))),
        O::Count32 => register_or(word, || number(u64::from(word.0 & 31))),
        O::Count64 => register_or(word, || number(u64::from(word.0 & 63))),
        O::S1 => format!("%f{}", word.rs1()),
        O::S2 => format!("%f{}", word.rs2()),
        O::S3 => format!("%f{}", word.rs3()),
        O::Sd => format!("%f{}", word.rd()),
        O::D1 | O::Q1 => double(word.rs1()),
        O::D2 | O::Q2 => double(word.rs2()),
        O::D3 => double(word.rs3()),
        O::Dd | O::Qd => double(word.rd()),
        O::Address => format!("[ {} ]", sum(word)),
        O::AddressAsi => format!("[ {} ] {}", sum(word), space(word)),
        O::Register => format!("[ {} ]", names::integer(word.rs1())),
        O::RegisterAsi => format!("[ {} ] {}", names::integer(word.rs1()), space(word)),
        O::Target => sum(word),
        O::Disp16 | O::Disp19 | O::Disp22 | O::Disp30 | O::Disp10 => {
            format!("{:#x}", target(operand, word, address)?)
        }
        O::Imm22 => format!("%hi({})", number(u64::from(word.0 << 10))),
        O::Const22 => format!("{:#x}", word.0 & 0x3f_ffff),
        O::Imm3 => number(u64::from(word.0 & 7)),
        O::Imm5 => number(word.rs2().into()),
        O::Imm5Rs3 => number(word.rs3().into()),
        O::Cc => condition_codes(word)?.to_owned(),
        O::FccBranch => format!("%fcc{}", word.0 >> 20 & 3),
        O::FccMove => format!("%fcc{}", word.0 >> 11 & 3),
        O::FccCompare => compared(word)?,
        O::Fsr => "%fsr".to_owned(),
        O::AsrRead => names::ancillary(word.rs1(), false),
        O::AsrWrite => names::ancillary(word.rd(), true),
        O::PrivilegedRead => names::privileged(word.rs1()),
        O::PrivilegedWrite => names::privileged(word.rd()),
        O::TrapNumber => trap_number(word),
        O::MembarMask => names::membar(word.0 as u8 & 0x7f),
        O::PrefetchFunction => {
            names::prefetch(word.rd()).map_or_else(|| word.rd().to_string(), str::to_owned)
        }
    })
}

/// `rs2`, or the immediate.
fn register_or(word: Word, immediate: impl Fn() -> String) -> String {
    if word.i() { immediate() } else { names::integer(word.rs2()).to_owned() }
}

/// A number: decimal if it is small or negative, else hexadecimal.
fn number(value: u64) -> String {
    let signed = value.cast_signed();
    if signed <= 9 { signed.to_string() } else { format!("{signed:#x}") }
}

/// A double or quad register, whose number has the field's low bit as its highest.
fn double(field: u8) -> String {
    format!("%f{}", field & 30 | (field & 1) << 5)
}

/// An address's two parts. A second register that is %g0 is left out; an immediate zero is shown, because the
/// assembler tells the two apart.
fn sum(word: Word) -> String {
    let first = names::integer(word.rs1());
    match (word.rs1(), word.i()) {
        (0, true) => number(word.signed(13)),
        (_, true) => format!("{first} + {}", number(word.signed(13))),
        (_, false) if word.rs2() == 0 => first.to_owned(),
        (_, false) => format!("{first} + {}", names::integer(word.rs2())),
    }
}

/// An address space: the instruction's, or %asi.
fn space(word: Word) -> String {
    match names::asi(word.asi()) {
        _ if word.i() => "%asi".to_owned(),
        Some(name) => name.to_owned(),
        None => format!("{:#x}", word.asi()),
    }
}

/// The destination of a comparison; `fcmp` leaves %fcc0 out.
fn compared(word: Word) -> Option<String> {
    const FCMP: u32 = 2 << 30 | 0x35 << 19;
    match word.0 >> 25 & 3 {
        0 if word.0 & 0xc1f8_0000 == FCMP => None,
        fcc => Some(format!("%fcc{fcc}")),
    }
}

/// `%icc` or `%xcc`; a trap on %icc leaves it out.
fn condition_codes(word: Word) -> Option<&'static str> {
    const TRAP: u32 = 2 << 30 | 0x3a << 19;
    let bit = if word.0 >> 30 == 0 { 21 } else { 12 };
    match word.0 >> bit & 1 {
        1 => Some("%xcc"),
        _ if word.0 & 0xc1f8_0000 == TRAP => None,
        _ => Some("%icc"),
    }
}

/// A software trap's number.
fn trap_number(word: Word) -> String {
    let first = names::integer(word.rs1());
    match (word.rs1(), word.i()) {
        (0, true) => number(u64::from(word.0 & 0xff)),
        (_, true) => format!("{first} + {}", number(u64::from(word.0 & 0xff))),
        (_, false) if word.rs2() == 0 => first.to_owned(),
        (_, false) => format!("{first} + {}", names::integer(word.rs2())),
    }
}
