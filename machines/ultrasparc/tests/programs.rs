//! Whole C programs, compiled twice, say the same here and under `qemu-sparc64`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Compiles a program of `tests/guest`.
fn compile(name: &str, optimization: &str) -> PathBuf {
    let source = format!("{}/tests/guest/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}{optimization}"));
    let status = Command::new("sparc64-linux-gnu-gcc")
        .args(["-std=gnu11", "-w", optimization, "-static", "-o"])
        .arg(&program)
        .args([&source, "-lm"])
        .status()
        .expect("sparc64-linux-gnu-gcc, of Debian's gcc-sparc64-linux-gnu");
    assert!(status.success(), "{source}: {status}");
    program
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a program on both, and compares.
fn compare(name: &str) {
    for optimization in ["-O0", "-O2"] {
        let program = compile(name, optimization);
        let qemu = run(Command::new("timeout")
            .args(["-s", "KILL", "60", "qemu-sparc64", "-cpu", "Sun-UltraSparc-T2,+float128"])
            .arg(&program));
        let ours = run(Command::new(env!("CARGO_BIN_EXE_sparc64")).arg(&program));
        let (theirs, mine) = (String::from_utf8_lossy(&qemu.stdout), String::from_utf8_lossy(&ours.stdout));
        for (number, (theirs, mine)) in theirs.lines().zip(mine.lines()).enumerate() {
            assert_eq!(mine, theirs, "{name} {optimization}, line {}", number + 1);
        }
        let errors = String::from_utf8_lossy(&ours.stderr);
        assert_eq!(mine.lines().count(), theirs.lines().count(), "{name} {optimization}: {errors}");
        assert_eq!(ours.status.code(), qemu.status.code(), "{name} {optimization}: {errors}");
        assert!(qemu.status.code().is_some(), "{name} {optimization} under qemu: {}", qemu.status);
    }
}

#[test]
fn integers_and_calls() {
    compare("integers");
}

#[test]
fn floating_point_in_three_precisions() {
    compare("numbers");
}

#[test]
fn signals_raised_timed_and_trapped() {
    compare("signals");
}
