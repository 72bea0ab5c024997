//! A whole program as `objdump -d` shows it, and as we do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use millstream_ultrasparc::counts::glob;
use millstream_ultrasparc::isa;

use crate::assembler::samples;
use crate::{BINUTILS, GCC, run};

/// Enough of the C library to have most of what compilers and its authors write.
const PROGRAM: &str = r#"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    double x = argc > 1 ? atof(argv[1]) : 2.0;
    printf("%g %Lg %s\n", pow(x, 0.5) + sin(x), (long double)x, strerror(argc));
    return 0;
}
"#;

/// A line of objdump.
struct Line {
    address: u64,
    word: u32,
    text: String,
}

#[test]
fn a_static_program_looks_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compiler = Command::new("sparc64-linux-gnu-gcc");
    run(compiler.args(["-O2", "-static", "-o"]).arg(&program).arg(&source).arg("-lm"), GCC);
    let same = compare(&program);
    println!("{same} instructions look the same");
    assert!(same > 100_000, "{same}");
}

/// Compares all code of a program; how many instructions there were.
fn compare(program: &Path) -> usize {
    let mut objdump = Command::new("sparc64-linux-gnu-objdump");
    let output = run(objdump.args(["-m", "sparc:v9m8", "-d"]).arg(program), BINUTILS);
    compare_listing(&String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_row_looks_the_same() {
    let words = samples();
    let same = compare_listing(&listing_of(&words));
    println!("{same} of {} words look the same", words.len());
    assert_eq!(same, words.len());
}

/// What objdump makes of words.
fn listing_of(words: &[u32]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("words");
    std::fs::write(&file, words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>()).unwrap();
    let mut objdump = Command::new("sparc64-linux-gnu-objdump");
    objdump.args(["-D", "-z", "-EB", "-b", "binary", "-m", "sparc:v9m8"]).arg(&file);
    String::from_utf8(run(&mut objdump, BINUTILS).stdout).unwrap()
}

/// Compares a listing's instructions with ours; how many there were.
fn compare_listing(listing: &str) -> usize {
    let (mut same, mut differing, mut unknown) = (0, BTreeMap::new(), BTreeMap::new());
    for line in listing.lines().filter_map(line) {
        let ours = isa::disassemble(line.word, line.address);
        let theirs = translated(line.word, &normal(&line.text));
        if without_zero(&normal(&ours.to_string())) == theirs {
            same += 1;
            continue;
        }
        let list = if ours.name == ".word" { &mut unknown } else { &mut differing };
        let name = theirs.split(' ').next().unwrap_or_default().to_owned();
        let said = format!("{:x}: {:08x}: {theirs:?} but {ours}", line.address, line.word);
        list.entry(name).or_insert_with(Vec::new).push(said);
    }
    let show = |list: &BTreeMap<String, Vec<String>>| -> String {
        list.iter().map(|(name, lines)| format!("{name} ({}): {}\n", lines.len(), lines[0])).collect()
    };
    assert!(differing.is_empty(), "shown otherwise:\n{}unknown:\n{}", show(&differing), show(&unknown));
    assert!(unknown.is_empty(), "unknown to us:\n{}", show(&unknown));
    same
}

/// What objdump knows and none of these processors has, or no program of a user may execute.
const NOT_OURS: &[&str] = &[
    // V8's coprocessor, and hyperprivileged registers.
    "cb*",
    "rdhpr",
    "wrhpr",
    // Fujitsu's multiplication and addition with two roundings.
    "fumadd?",
    "fumsub?",
    "fnumadd?",
    "fnumsub?",
    // Oracle SPARC Architecture 2015 and 2017 (M7, M8): VIS 4 ...
    "fpadd8",
    "fpadd*s*",
    "fpsub8",
    "fpsub*s*",
    "fpmax*",
    "fpmin*",
    "fpcmple8",
    "fpcmpgt8",
    "fpcmpu??16",
    "fpcmpu??32",
    "fpcmp*shl",
    "subxc",
    "subxccc",
    // ... and others of it.
    "fps??64x",
    "xmpmul",
    "xmontmul",
    "xmontsqr",
    "sha3",
    "on???",
    "rev*",
    "rle_*",
    "dictunpack",
    "ldm*",
    "stm*",
    // Made of no instruction.
    ".word",
    "unknown",
];

#[test]
fn what_else_objdump_knows_is_not_ours_to_have() {
    let words: Vec<u32> = combinations().filter(|&word| isa::find(word).is_none()).collect();
    let mut known = BTreeMap::new();
    for line in listing_of(&words).lines().filter_map(line) {
        let text = normal(&line.text);
        let name = text.split(' ').next().unwrap_or_default().to_owned();
        known.entry(name).or_insert_with(|| format!("{:08x}: {text}", line.word));
    }
    // Of ours it knows words with reserved bits set.
    let ours: BTreeSet<&str> = isa::rows().iter().map(|row| row.name).collect();
    known.retain(|name, _| !ours.contains(&**name) && !NOT_OURS.iter().any(|pattern| glob(pattern, name)));
    let known: Vec<String> = known.into_iter().map(|(name, line)| format!("{name}: {line}\n")).collect();
    assert!(known.is_empty(), "{} of {} words:\n{}", known.len(), words.len(), known.concat());
}

/// Words of every combination of the fields that tell instructions apart, and of some values of the others.
fn combinations() -> impl Iterator<Item = u32> {
    let formats_2 = (0..8 << 5).map(|number: u32| (number & 31) << 25 | (number >> 5) << 22);
    let heads = (0..128u32).map(|number| 2 << 30 | (number >> 6) << 30 | (number & 63) << 19);
    let formats_3 = heads.flat_map(|head| {
        let registers =
            [0, 1 << 25 | 2 << 14 | 3, 15 << 14, 4 << 25 | 4 << 14 | 4, 1 << 25, 2 << 25 | 2, 15 << 25];
        registers.into_iter().flat_map(move |registers| (0..512).map(move |opf| head | registers | opf << 5))
    });
    formats_2.chain(formats_3)
}

/// `  100000:\t9d e3 bf 50 \tsave  %sp, -176, %sp`.
fn line(line: &str) -> Option<Line> {
    let mut parts = line.split('\t');
    let address = u64::from_str_radix(parts.next()?.trim().strip_suffix(':')?, 16).ok()?;
    let word = u32::from_str_radix(&parts.next()?.replace(' ', ""), 16).ok()?;
    Some(Line { address, word, text: parts.next()?.to_owned() })
}

/// Without comments and symbols, one blank between words, addresses without `0x`.
fn normal(text: &str) -> String {
    let text = text.split(" ! ").next().unwrap_or_default();
    let text = text.split(" <").next().unwrap_or_default();
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.strip_prefix("0x").unwrap_or(word)).collect();
    words.join(" ")
}

/// Without the immediate that is zero, which objdump does not show.
fn without_zero(text: &str) -> String {
    let inner = text.replace(" + 0 ]", " ]").replace("[ 0 ]", "[ %g0 ]");
    inner.strip_suffix(" + 0").map_or(inner.clone(), str::to_owned)
}

/// What objdump writes that would assemble to another word, or that has two names, as we write it.
fn translated(word: u32, text: &str) -> String {
    let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
    let register = |field: u32| isa::disassemble(0x8010_0000 | (field & 31) << 25, 0).operands;
    let (rd, rs1, immediate) = (register(word >> 25), register(word >> 14), word >> 13 & 1 != 0);
    let (rs2_is_zero, rs1_is_zero) = (word & 31 == 0, word >> 14 & 31 == 0);
    match (name, immediate) {
        // It knows this one with %asi, or with address space 0.
        ("unknown", false) if isa::find(word).is_some_and(|row| row.name == "stqa") => {
            without_zero(&normal(&isa::disassemble(word, 0).to_string()))
        }
        // Nothing to either.
        ("unknown", _) => format!(".word {word:08x}"),
        ("flush", _) => format!("flush {}", operands.replace("[ ", "").replace(" ]", "")),
        // Synthetic names of words that the assembler does not make of them.
        ("tst", true) => format!("orcc {rs1}, 0, %g0"),
        ("clr", true) if word >> 30 == 2 => format!("mov 0, {rd}"),
        ("mov", false) if rs1_is_zero && rs2_is_zero => format!("clr {rd}"),
        ("mov", false) if rs2_is_zero => format!("or {rs1}, %g0, {rd}"),
        ("mov", true) if word & 0x1fff == 0 => format!("or {rs1}, 0, {rd}"),
        ("wr", true) if text == "wr %g0, %y" => "wr 0, %y".to_owned(),
        ("wr", false) if operands.ends_with(", %y") && rs2_is_zero && !rs1_is_zero => {
            format!("wr {rs1}, %g0, %y")
        }
        ("wrpr", _) if operands.matches(',').count() == 1 && (rs1_is_zero && (immediate || !rs2_is_zero)) => {
            format!("wrpr %g0, {operands}")
        }
        ("wrpr", false) if rs2_is_zero => {
            format!("wrpr {rs1}, %g0, {}", operands.rsplit(' ').next().unwrap())
        }
        ("iprefetch", _) => format!("bn %xcc, {operands}"),
        // Numbers with bits of the fields beside them, or without their sign.
        ("illtrap", _) => format!("illtrap {:x}", word & 0x3f_ffff),
        _ if name.starts_with("cwb") || name.starts_with("cxb") => {
            let parts: Vec<&str> = operands.split(", ").collect();
            let number = (word << 27).cast_signed() >> 27;
            let second = if immediate { shown(number) } else { parts[1].to_owned() };
            format!("{name} {}, {second}, {}", parts[0], parts[2])
        }
        _ if operands.starts_with("%xcc") && immediate && word >> 19 & 0x3f == 0x3a => {
            let before = operands.rsplit_once(' ').map_or("", |(before, _)| before);
            format!("{name} {before} {}", shown((word & 0xff).cast_signed()))
        }
        _ => format!("{} {}", renamed(word, name), with_space(word, operands)).trim_end().to_owned(),
    }
}

/// Small numbers in decimal, others in hexadecimal, as objdump has it elsewhere.
fn shown(number: i32) -> String {
    if number <= 9 { number.to_string() } else { format!("{number:x}") }
}

/// An address space without a name, which objdump has in decimal and brackets; and those that have one only for the
/// kernels of some processors.
fn with_space(word: u32, operands: &str) -> String {
    let number = word >> 5 & 0xff;
    let shown = match (operands.split_once("] ("), operands.split_once("] #ASI_")) {
        (Some((before, rest)), _) => Some((before, rest.split_once(')').unwrap().1)),
        (_, Some((before, rest))) if number < 0x80 || number == 0xb0 => {
            Some((before, rest.find(',').map_or("", |comma| &rest[comma..])))
        }
        _ => None,
    };
    shown.map_or(operands.to_owned(), |(before, after)| format!("{before}] {number:x}{after}"))
}

/// VIS 3 and OSA 2011 named instructions anew; the rows have their first names.
fn renamed(word: u32, name: &str) -> String {
    let ours = isa::find(word).map_or("", |row| row.name);
    let renamed = [
        ours.to_owned() + "d",
        ours.to_owned() + "cc",
        ours.replacen("fcmp", "fpcmp", 1),
        ours.replacen("fucmp", "fpcmpu", 1),
    ];
    let pair = matches!(
        (name, ours),
        ("ldtw", "ldd") | ("ldtwa" | "ldtxa", "ldda") | ("sttw", "std") | ("sttwa", "stda")
    );
    if pair || renamed.iter().any(|renamed| renamed == name) { ours.to_owned() } else { name.to_owned() }
}
