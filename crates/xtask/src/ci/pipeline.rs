//! The common part of the pipeline's steps: the counts that they share, and the way they run tests.

use std::process::Command;

use crate::run::run_keeping;

/// A step: a function that runs it to its end, and says why it failed.
pub type Step = fn(&mut Pipeline) -> Result<(), String>;

/// The beginning of the line that ends each program of tests.
pub const PASSED: &str = "test result: ok. ";

/// The beginning of a line that says what could not run.
const SKIPPED: &str = "SKIPPED ";

/// The words with which a program says where it panicked; its next line says why.
const PANICKED: &str = " panicked at ";

/// The words with which cargo says what signal ended a program of tests, which could not say itself what failed.
const KILLED: &str = " (signal: ";

/// Tests that run with `--deep` only.
pub struct Long {
    pub step: &'static str,
    /// The text that their names contain.
    pub tests: &'static str,
    pub what: &'static str,
}

/// All that is left to `--deep`, beside other projects' tests and the time that a fuzz target has.
pub const LONG: &[Long] = &[
    Long { step: "test", tests: "long_acvp_", what: "all of NIST's signatures of SLH-DSA that take long" },
    Long { step: "test", tests: "long_columns_", what: "columns of more than 2 GiB" },
    Long { step: "test", tests: "long_kills_", what: "backups that are killed a hundred times" },
    Long {
        step: "test",
        tests: "long_strongswan_",
        what: "strongSwan's own data plane at the other end of ESP",
    },
    Long {
        step: "test",
        tests: "long_soak_",
        what: "a tunnel of ESP that is busy for a minute, with new keys all the time",
    },
    Long { step: "miri", tests: "miri_long_", what: "the wider half of what Miri interprets" },
    Long { step: "programs", tests: "long_apache_", what: "Apache and curl with keys of a token" },
    Long { step: "programs", tests: "long_chromium_", what: "Chromium and nginx with ML-KEM" },
    Long { step: "programs", tests: "long_janus_", what: "Janus on libsrtp2" },
    Long {
        step: "programs",
        tests: "long_gstreamer_",
        what: "GStreamer on libsrtp2, which is many packages to install",
    },
    Long {
        step: "programs",
        tests: "long_newest_",
        what: "the newest OpenSSL 3 beside the system's and the newest 4; for SPARC, where 3 runs always, the newest 4, and busybox; the newest provider for PKCS #11 that Debian has",
    },
];

/// The flag with which one failure does not hide the next.
pub const ALL: &str = "--no-fail-fast";

/// The package with the tests of real programs. They take minutes, and test the module rather than this workspace's crates.
pub const PROGRAMS: &str = "millstream-tests";

/// The package whose tests judge constant time, on the release: the checks of the other profile branch on secrets.
pub const SECRETS: &str = "millstream-constant-time";

/// The package of the benches. What they compare with takes long to compile, and is compiled as it is measured.
pub const BENCHES: &str = "millstream-bench";

/// This package. Its tests need no optimisation, and what it is built on is there in the profile in which it runs.
pub const TASKS: &str = "xtask";

/// The package of tables, which with all that it stands on takes minutes to compile.
pub const TABLES: &str = "millstream-tables";

/// The package of functions for DataFusion, whose tests stand on all of that engine.
pub const DATAFUSION: &str = "millstream-datafusion";

/// The package of cryptography for str0m, whose tests stand on that library and on AWS-LC.
pub const STR0M: &str = "millstream-str0m";

/// The package of programs on other people's cryptography, which compiles AWS-LC. It has no tests, and is built where others
/// are tested with it.
const SUBJECTS: &str = "millstream-subjects";

/// The packages that an ordinary run compiles and documents: all but those whose dependencies take longest.
pub const ORDINARY: &[&str] =
    &["--workspace", "--exclude", TABLES, "--exclude", DATAFUSION, "--exclude", STR0M, "--exclude", BENCHES];

/// The packages whose tests run in other profiles or steps.
pub const ELSEWHERE: &[&str] = &[
    "--exclude",
    PROGRAMS,
    "--exclude",
    SECRETS,
    "--exclude",
    BENCHES,
    "--exclude",
    TASKS,
    "--exclude",
    TABLES,
    "--exclude",
    DATAFUSION,
    "--exclude",
    STR0M,
    "--exclude",
    SUBJECTS,
];

/// The counts and failures of the steps so far.
#[derive(Default)]
pub struct Pipeline {
    /// True if the run may take hours.
    pub deep: bool,
    /// True if all steps run, so that a later one finds the programs that an earlier one has built.
    pub whole: bool,
    /// The lines that say which tests could not run.
    pub skipped: Vec<String>,
    /// The number of tests that passed.
    pub passed: u64,
    /// The steps that failed, and why.
    pub failed: Vec<String>,
    /// The names of the tests that failed, and where and why they panicked.
    pub faults: Vec<String>,
}

impl Pipeline {
    /// Keeps the reason for a step's failure, if it failed, for the end.
    pub fn note(&mut self, step: &str, result: Result<(), String>) {
        if let Err(why) = result {
            println!("==== {step} FAILED: {why}");
            self.failed.push(format!("step {step}: {why}"));
        }
    }

    /// Runs tests, counts those that passed, and keeps the lines about tests that could not run.
    pub fn tests(&mut self, tests: Command) -> Result<(), String> {
        let (lines, result) = run_keeping(tests);
        let counted = self.count(lines.iter().map(String::as_str));
        result.and(counted)
    }

    /// Runs a step's tests, except for those that are left to `--deep`.
    pub fn tests_but_long(&mut self, step: &str, mut tests: Command) -> Result<(), String> {
        tests.args(self.left_out(step));
        self.tests(tests)
    }

    /// Returns the arguments that leave out a step's tests for `--deep`.
    pub fn left_out(&self, step: &str) -> Vec<&'static str> {
        let long = LONG.iter().filter(|long| !self.deep && long.step == step);
        let skips: Vec<&str> = long.flat_map(|long| ["--skip", long.tests]).collect();
        if skips.is_empty() { skips } else { [&["--"], &skips[..]].concat() }
    }

    /// Counts the tests that passed, and keeps the names of those that could not run and the faults of those that
    /// failed. Other lines are ignored.
    pub fn count<'l>(&mut self, lines: impl Iterator<Item = &'l str>) -> Result<(), String> {
        let mut lines = lines.peekable();
        while let Some(line) = lines.next() {
            if let Some(counts) = line.strip_prefix(PASSED) {
                let passed = counts.split(' ').next().and_then(|n| n.parse::<u64>().ok());
                self.passed += passed.ok_or_else(|| format!("not understood: {line}"))?;
            } else if line.starts_with(SKIPPED) {
                self.skipped.push(line.to_owned());
            } else if line.starts_with("test ") && line.ends_with(" ... FAILED") || line.contains(KILLED) {
                self.faults.push(line.to_owned());
            } else if line.contains(PANICKED) {
                // The test programs print what a test said only if it failed.
                let why = lines.peek().map_or(String::new(), |why| format!(" {why}"));
                self.faults.push(format!("{line}{why}"));
            }
        }
        Ok(())
    }

    /// Prints that something can't be checked here, and why.
    pub fn skip(&mut self, why: &str) {
        let line = format!("{SKIPPED}{why}");
        println!("{line}");
        self.skipped.push(line);
    }
}

/// Returns true if a line of a test program says how many tests passed, or that one could not run.
pub fn is_result(line: &str) -> bool {
    line.starts_with(PASSED) || line.starts_with(SKIPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_kept_with_its_reason() {
        let mut pipeline = Pipeline::default();
        let said = "test lanes::order ... FAILED\ntest lanes::sizes ... ok\n\
            thread 'lanes::order' (7) panicked at tests/lanes.rs:3:5:\nassertion failed: a == b\nnote: x\n\
            test result: FAILED. 1 passed; 1 failed\n\
            process didn't exit successfully: `lanes-1` (signal: 11, SIGSEGV: invalid memory reference)\n";
        pipeline.count(said.lines()).expect("understood");
        let panicked = "thread 'lanes::order' (7) panicked at tests/lanes.rs:3:5: assertion failed: a == b";
        let killed =
            "process didn't exit successfully: `lanes-1` (signal: 11, SIGSEGV: invalid memory reference)";
        assert_eq!(pipeline.faults, ["test lanes::order ... FAILED", panicked, killed]);
        // A program that failed counts none of its tests as passed.
        assert_eq!(pipeline.passed, 0);
    }
}
