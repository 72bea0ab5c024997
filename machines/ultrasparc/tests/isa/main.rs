//! The rows against the GNU assembler and disassembler for sparc64, which know nothing of them.
//!
//! Needs `sparc64-linux-gnu-as` and `-objdump` (Debian: `binutils-sparc64-linux-gnu`) and a static program
//! (`gcc-sparc64-linux-gnu`, `libc6-dev-sparc64-cross`).

mod assembler;
mod counting;
mod objdump;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

const BINUTILS: &str = "binutils-sparc64-linux-gnu";
const GCC: &str = "gcc-sparc64-linux-gnu and libc6-dev-sparc64-cross";

/// Runs a tool; what it wrote.
fn run(command: &mut Command, package: &str) -> Output {
    let output = output(command, package);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn output(command: &mut Command, package: &str) -> Output {
    command.output().unwrap_or_else(|error| {
        panic!("{}: {error}: install {package}", command.get_program().display());
    })
}

/// Assembles a file. `sparc6` is the architecture that has all instructions.
fn assemble(source: &Path, to: &Path) {
    let mut assembler = Command::new("sparc64-linux-gnu-as");
    let output = output(assembler.args(["-Asparc6", "-o"]).arg(to).arg(source), BINUTILS);
    if output.status.success() {
        return;
    }
    // `rows.s:12: Error: Illegal operands`: of each instruction the first.
    let (said, text) = (String::from_utf8_lossy(&output.stderr), std::fs::read_to_string(source).unwrap());
    let lines: Vec<&str> = text.lines().collect();
    let mut refused = BTreeMap::new();
    for error in said.lines().filter(|line| line.contains("Error")) {
        let mut parts = error.splitn(3, ':').skip(1);
        let line = lines[parts.next().unwrap().parse::<usize>().unwrap() - 1];
        refused.entry(line.split(' ').next()).or_insert_with(|| format!("{line}: {}", parts.next().unwrap()));
    }
    panic!("refused: {refused:#?}");
}

/// Random numbers, the same each time. Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }
}
