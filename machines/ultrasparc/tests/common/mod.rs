//! Programs in C, cross-compiled, here and under qemu-sparc64.
// Each test file uses a part.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where a cross compiler's libraries are.
const SYSROOT: &str = "/usr/sparc64-linux-gnu";

/// A program of `tests/guest`, compiled into a directory of this test's own.
pub struct Guest {
    directory: tempfile::TempDir,
    program: PathBuf,
}

impl Guest {
    /// Compiles it.
    pub fn of(name: &str, options: &[&str]) -> Guest {
        let directory = tempfile::tempdir().expect("a directory for the program");
        let program = directory.path().join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest").join(name).with_extension("c");
        let compiled = Command::new("sparc64-linux-gnu-gcc")
            .args(["-O2", "-w", "-o"])
            .arg(&program)
            .arg(source)
            .args(options)
            .output()
            .expect("install gcc-sparc64-linux-gnu and libc6-dev-sparc64-cross");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Guest { directory, program }
    }

    /// Runs it under a command, in an empty directory of its own.
    pub fn run<A: AsRef<OsStr>>(&self, with: &mut Command, arguments: &[A]) -> Output {
        let place = tempfile::tempdir_in(self.directory.path()).expect("a directory to run in");
        let command = with.arg(&self.program).args(arguments).current_dir(place.path()).env("COLOUR", "red");
        command.env_remove("NOTHING").output().expect("the emulator starts; install qemu-user")
    }

    /// Runs it here.
    pub fn ours<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Output {
        // The guest would inherit the signals that the tests' caller ignores (`nohup`).
        let mut command = Command::new("env");
        command.args(["--default-signal", env!("CARGO_BIN_EXE_sparc64")]).env("SPARC_SYSROOT", SYSROOT);
        self.run(&mut command, arguments)
    }

    fn qemu<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Output {
        self.run(Command::new("qemu-sparc64").args(["-L", SYSROOT]), arguments)
    }

    /// Output and end are those under qemu.
    pub fn agrees<A: AsRef<OsStr>>(&self, arguments: &[A]) -> String {
        let (ours, qemu) = (self.ours(arguments), self.qemu(arguments));
        assert_eq!(text(&ours), text(&qemu), "{}", String::from_utf8_lossy(&ours.stderr));
        assert_eq!(end(&ours), end(&qemu));
        text(&ours)
    }
}

/// What a program wrote.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The status, and the signal that ended it.
pub fn end(output: &Output) -> (Option<i32>, Option<i32>) {
    (output.status.code(), output.status.signal())
}

/// No arguments.
pub const NONE: &[&str] = &[];
