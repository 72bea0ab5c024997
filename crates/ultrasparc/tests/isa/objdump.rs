//! A whole program as `objdump -d` shows it, and as we do.

use std::collections::BTreeMap;
use std::process::Command;

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
    run(
        Command::new("sparc64-linux-gnu-gcc")
            .args(["-O2", "-static", "-o"])
            .arg(&program)
            .arg(&source)
            .arg("-lm"),
        GCC,
    );
    let output = run(
        Command::new("sparc64-linux-gnu-objdump").args(["-m", "sparc:v9m8", "-d"]).arg(&program),
        BINUTILS,
    );
    let lines: Vec<Line> = String::from_utf8(output.stdout).unwrap().lines().filter_map(line).collect();
    let (mut same, mut differing, mut unknown) = (0, BTreeMap::new(), BTreeMap::new());
    for line in &lines {
        let ours = isa::disassemble(line.word, line.address);
        let ours_text = without_zero(&normal(&ours.to_string()));
        let theirs = translated(line.word, &normal(&line.text));
        if ours_text == theirs {
            same += 1;
        } else {
            let list = if ours.name == ".word" { &mut unknown } else { &mut differing };
            let name = theirs.split(' ').next().unwrap_or_default().to_owned();
            list.entry(name)
                .or_insert_with(Vec::new)
                .push(format!("{:x}: {:08x}: {theirs} but {ours}", line.address, line.word));
        }
    }
    let show = |list: &BTreeMap<String, Vec<String>>| -> String {
        let first = list.iter().map(|(name, lines)| format!("{name} ({}): {}\n", lines.len(), lines[0]));
        first.collect()
    };
    assert!(differing.is_empty(), "shown otherwise:\n{}unknown:\n{}", show(&differing), show(&unknown));
    assert!(unknown.is_empty(), "unknown to us:\n{}", show(&unknown));
    println!("{same} instructions look the same");
    assert!(same > 100_000, "{same} of {}", lines.len());
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
        ("flush", _) => text.replace("[ ", "").replace(" ]", ""),
        ("tst", 1) => format!("orcc {rs1}, 0, %g0"),
        ("clr", 1) if word >> 30 == 2 => format!("mov 0, {rd}"),
        ("mov", 0) if word & 0x7c01f == 0 => format!("clr {rd}"),
        ("mov", 0) if word & 0x1f == 0 => format!("or {rs1}, %g0, {rd}"),
        ("mov", 1) if word & 0x1fff == 0 => format!("or {rs1}, 0, {rd}"),
        _ => text.to_owned(),
    }
}
