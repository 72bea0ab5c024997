//! Runs a test program under an emulator, and reads how it ended.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use super::super::tap::{self, Test, Verdict};

/// The seconds of processor time that a process may use. The limit counts no waiting, so that a busy machine ends no
/// program. Under qemu some programs that use a T4's GMP go round forever, and programs that take longer are not
/// compared.
const LIMIT_S: u32 = 900;
const QEMU_LIMIT_S: u32 = 180;

/// The factor for the time by the clock, after which a program that waits forever is ended.
const PATIENCE: u32 = 6;

/// The exit status of `timeout` when it ended a program.
const TIMED_OUT: i32 = 124;
/// The exit status of automake's tests that have nothing to test.
const SKIPPED: i32 = 77;

/// A cross compiler's libraries.
const SYSROOT: &str = "/usr/sparc64-linux-gnu";

/// A test program.
pub struct Program {
    /// The name in the list, behind its package's name.
    pub name: String,
    pub file: PathBuf,
    /// The folder in which it is started.
    pub folder: PathBuf,
    pub environment: Vec<(&'static str, &'static str)>,
    pub kind: Kind,
}

/// The way in which a program is run and reports its results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The exit status is the whole result.
    Plain,
    /// A line for each test, as mbedtls writes it.
    Lines,
    /// One of OpenSSL's recipes, which starts programs behind the command that it is given, and whose results are TAP.
    Recipe,
}

/// An emulator that runs programs.
pub struct Emulator {
    /// The emulator's name, also that of the folder with the programs' output.
    pub name: &'static str,
    /// The command before the program.
    words: Vec<String>,
    limit_s: u32,
    /// True for the emulator that is tested, whose own faults count.
    is_ours: bool,
}

impl Emulator {
    /// Returns `millstream sparc`, which emulates a T4 by default.
    pub fn ours(program: &Path) -> Emulator {
        let words = [&*program.to_string_lossy(), "sparc", "--sysroot", SYSROOT].map(str::to_owned);
        Emulator { name: "ours", words: words.into(), limit_s: LIMIT_S, is_ours: true }
    }

    /// Returns qemu-sparc64, which has an older processor.
    pub fn qemu() -> Emulator {
        let words = ["qemu-sparc64", "-L", SYSROOT].map(str::to_owned);
        Emulator { name: "qemu", words: words.into(), limit_s: QEMU_LIMIT_S, is_ours: false }
    }

    /// Runs a program to its end, with its output in a folder. Returns nothing if this emulator can't run it, because
    /// the result then says nothing about the program.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn run(&self, program: &Program, folder: &Path) -> Result<Option<Test>, String> {
        let output = log(folder, &program.name);
        let fail = |e: std::io::Error| format!("{}: {e}", output.display());
        let file = File::create(&output).map_err(fail)?;
        let mut timeout = Command::new("timeout");
        timeout.args(["--kill-after=20", &(PATIENCE * self.limit_s).to_string()]);
        timeout.args(["prlimit", &format!("--cpu={}", self.limit_s)]);
        match program.kind {
            Kind::Plain | Kind::Lines => {
                timeout.args(&self.words).arg(&program.file);
            }
            Kind::Recipe => {
                // The harness knows a recipe by the text behind its number.
                let test = program.name.split_once('-').map_or("", |(_, test)| test);
                timeout.arg("perl").arg(&program.file).arg(test).env("EXE_SHELL", self.words.join(" "));
                let own = output.with_extension("results");
                std::fs::create_dir_all(&own).map_err(fail)?;
                timeout.env("PERL_TEST_HARNESS_DUMP_TAP", &own).env("RESULT_D", own.join("runs"));
            }
        }
        for variable in ["OPENSSL_CONF", "OPENSSL_MODULES", "MAKEFLAGS", "HARNESS_JOBS", "HARNESS_VERBOSE"] {
            timeout.env_remove(variable);
        }
        timeout.envs(program.environment.iter().copied()).current_dir(&program.folder);
        let error = file.try_clone().map_err(fail)?;
        let status = timeout.stdin(Stdio::null()).stdout(file).stderr(error).status();
        let status = status.map_err(|e| format!("timeout: {e}"))?;
        if !self.is_ours && lacks(status) {
            return Ok(None);
        }
        let said = |path: &Path| std::fs::read(path).map(|said| String::from_utf8_lossy(&said).into_owned());
        Ok(Some(match program.kind {
            Kind::Plain => whole(&program.name, status, Vec::new()),
            Kind::Lines => whole(&program.name, status, lines(&said(&output).map_err(fail)?)),
            Kind::Recipe => {
                let tap = output.with_extension("results").join(format!("test/recipes/{}.t", program.name));
                let mut test = tap::parse(&program.name, &said(&tap).unwrap_or_default());
                if !status.success() {
                    test.verdict = Verdict::Failed;
                }
                test
            }
        }))
    }
}

/// Returns the file with a program's output.
pub fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}.log", name.replace('/', "-")))
}

/// Returns true if a program ended because the emulated processor lacks instructions, or by a fault of the emulator.
/// The result then says nothing about the program.
fn lacks(status: ExitStatus) -> bool {
    let signal = status.signal().or_else(|| status.code().filter(|code| *code > 128).map(|code| code - 128));
    status.code() == Some(TIMED_OUT)
        || [number::ILL, number::SEGV, number::BUS, number::KILL, number::XCPU]
            .iter()
            .any(|lacking| signal == Some(*lacking))
}

/// Numbers of signals on the machines that this runs on.
mod number {
    pub const ILL: i32 = 4;
    pub const BUS: i32 = 7;
    pub const KILL: i32 = 9;
    pub const SEGV: i32 = 11;
    pub const XCPU: i32 = 24;
}

/// Returns the result of a program as a whole.
fn whole(name: &str, status: ExitStatus, parts: Vec<Test>) -> Test {
    let verdict = match status.code() {
        Some(0) => Verdict::Passed,
        Some(SKIPPED) => Verdict::Skipped,
        _ => Verdict::Failed,
    };
    Test { number: 0, name: name.to_owned(), verdict, parts }
}

/// Reads the tests of mbedtls's programs, whose lines end with the result behind a line of dots.
fn lines(said: &str) -> Vec<Test> {
    const ENDS: &[(&str, Verdict)] =
        &[("PASS", Verdict::Passed), ("FAILED", Verdict::Failed), ("----", Verdict::Skipped)];
    let result = |line: &str| {
        let (name, verdict) = ENDS
            .iter()
            .find_map(|(end, verdict)| Some((line.strip_suffix(end)?.strip_suffix(' ')?, *verdict)))?;
        let name = name.trim_end_matches('.').trim();
        (!name.is_empty()).then(|| (name.to_owned(), verdict))
    };
    let found = said.lines().filter_map(|line| result(line.trim_end()));
    found
        .zip(1..)
        .map(|((name, verdict), number)| Test { number, name, verdict, parts: Vec::new() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_passed() {
        let said = "AES-128 #1 ......................................................... PASS\n\
            AES-192 #2 ........ FAILED\n  test at line 7\nNot here #3 ...... ----\n\n-------------\n\nFAILED (2 / 3 tests)\n";
        let found: Vec<(String, Verdict)> =
            lines(said).into_iter().map(|test| (test.name, test.verdict)).collect();
        let expected = [
            ("AES-128 #1".to_owned(), Verdict::Passed),
            ("AES-192 #2".to_owned(), Verdict::Failed),
            ("Not here #3".to_owned(), Verdict::Skipped),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_fault_under_the_other_emulator_says_nothing() {
        let (exited, killed) = (|code: i32| ExitStatus::from_raw(code << 8), ExitStatus::from_raw);
        assert!(lacks(killed(4)) && lacks(exited(139)) && lacks(exited(TIMED_OUT)));
        assert!(!lacks(exited(1)) && !lacks(exited(0)) && !lacks(killed(6)));
        assert_eq!(whole("x", exited(77), Vec::new()).verdict, Verdict::Skipped);
        assert_eq!(whole("x", killed(6), Vec::new()).verdict, Verdict::Failed);
    }
}
