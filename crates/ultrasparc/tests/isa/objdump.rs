//! A whole program as `objdump -d` shows it, and as we do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use millstream_ultrasparc::counts::glob;
use millstream_ultrasparc::isa;

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
    let (mut same, mut differing, mut unknown) = (0, BTreeMap::new(), BTreeMap::new());
    for line in String::from_utf8(output.stdout).unwrap().lines().filter_map(line) {
        let ours = isa::disassemble(line.word, line.address);
        let theirs = translated(line.word, &normal(&line.text));
        if without_zero(&normal(&ours.to_string())) == theirs {
            same += 1;
            continue;
        }
        let list = if ours.name == ".word" { &mut unknown } else { &mut differing };
        let name = theirs.split(' ').next().unwrap_or_default().to_owned();
        let said = format!("{:x}: {:08x}: {theirs} but {ours}", line.address, line.word);
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
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("words");
    let words: Vec<u32> = samples().filter(|&word| isa::find(word).is_none()).collect();
    std::fs::write(&file, words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>()).unwrap();
    let mut objdump = Command::new("sparc64-linux-gnu-objdump");
    objdump.args(["-D", "-EB", "-b", "binary", "-m", "sparc:v9m8"]).arg(&file);
    let output = run(&mut objdump, BINUTILS);
    let mut known = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines().filter_map(line) {
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
fn samples() -> impl Iterator<Item = u32> {
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
    let inner = text.replace(" + 0 ]", " ]");
    inner.strip_suffix(" + 0").map_or(inner.clone(), str::to_owned)
}

/// What objdump writes that would assemble to another word, or that has two names, as we write it.
fn translated(word: u32, text: &str) -> String {
    let name = text.split(' ').next().unwrap_or_default();
    let register = |field: u32| isa::disassemble(0x8010_0000 | field << 25, 0).operands;
    let (rd, rs1) = (register(word >> 25 & 31), register(word >> 14 & 31));
    match (name, word >> 13 & 1) {
        // VIS 3 named the instructions of VIS 1 anew.
        ("fzerod" | "foned" | "fsrc1d" | "fsrc2d", _) => text.replacen("d ", " ", 1),
        ("flush", _) => text.replace("[ ", "").replace(" ]", ""),
        ("tst", 1) => format!("orcc {rs1}, 0, %g0"),
        ("clr", 1) if word >> 30 == 2 => format!("mov 0, {rd}"),
        ("mov", 0) if word & 0x7c01f == 0 => format!("clr {rd}"),
        ("mov", 0) if word & 0x1f == 0 => format!("or {rs1}, %g0, {rd}"),
        ("mov", 1) if word & 0x1fff == 0 => format!("or {rs1}, 0, {rd}"),
        _ => text.to_owned(),
    }
}
