//! The rows against the GNU assembler and disassembler for sparc64, which know nothing of them.
//!
//! Needs `sparc64-linux-gnu-as` and `-objdump` (Debian: `binutils-sparc64-linux-gnu`) and a static program
//! (`gcc-sparc64-linux-gnu`, `libc6-dev-sparc64-cross`).

mod assembler;
mod objdump;

use std::path::Path;
use std::process::{Command, Output};

/// Runs a tool; what it wrote.
fn run(command: &mut Command, package: &str) -> Output {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{}: {error}: install {package}", command.get_program().display());
    });
    let said = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = said.lines().filter(|line| !line.contains("Warning")).take(50).collect();
    assert!(output.status.success(), "{:?}: {}", command, errors.join("\n"));
    output
}

const BINUTILS: &str = "binutils-sparc64-linux-gnu";
const GCC: &str = "gcc-sparc64-linux-gnu and libc6-dev-sparc64-cross";

/// Assembles a file. `sparc6` is the architecture that has all instructions.
fn assemble(source: &Path, to: &Path) {
    run(Command::new("sparc64-linux-gnu-as").args(["-Asparc6", "-o"]).arg(to).arg(source), BINUTILS);
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
