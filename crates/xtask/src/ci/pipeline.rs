//! The common part of the pipeline's steps: the counts that they share, and the way they run tests.

use std::process::Command;

use crate::run::run_keeping;

/// A step: a function that runs it to its end, and says why it failed.
pub type Step = fn(&mut Pipeline) -> Result<(), String>;

/// The beginning of the line that ends each program of tests.
pub const PASSED: &str = "test result: ok. ";

/// Tests that run with `--deep` only.
pub struct Long {
    pub step: &'static str,
    /// The text that their names contain.
    pub tests: &'static str,
    pub what: &'static str,
}

/// All that is left to `--deep`, beside other projects' tests and the time that a fuzz target has.
pub const LONG: &[Long] = &[
    Long { step: "miri", tests: "miri_long_", what: "the wider half of what Miri interprets" },
    Long {
        step: "programs",
        tests: "long_newest_4::",
        what: "OpenSSL 4 for SPARC; that of series 3 runs always",
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

/// The packages whose tests run on the release, in steps of their own.
pub const ON_RELEASE: &[&str] = &["--exclude", PROGRAMS, "--exclude", SECRETS, "--exclude", BENCHES];

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
        let lines = run_keeping(tests, is_result)?;
        self.count(lines.iter().map(String::as_str))
    }

    /// Runs a step's tests, except for those that are left to `--deep`.
    pub fn tests_but_long(&mut self, step: &str, mut tests: Command) -> Result<(), String> {
        let long: Vec<&str> = LONG.iter().filter(|long| long.step == step).map(|long| long.tests).collect();
        if !self.deep && !long.is_empty() {
            tests.arg("--").args(long.iter().flat_map(|tests| ["--skip", tests]));
        }
        self.tests(tests)
    }

    /// Counts the tests that passed, and keeps the names of those that could not run. Other lines are ignored.
    pub fn count<'l>(&mut self, lines: impl Iterator<Item = &'l str>) -> Result<(), String> {
        for line in lines.filter(|line| is_result(line)) {
            match line.strip_prefix(PASSED) {
                Some(counts) => {
                    let passed = counts.split(' ').next().and_then(|n| n.parse::<u64>().ok());
                    self.passed += passed.ok_or_else(|| format!("not understood: {line}"))?;
                }
                None => self.skipped.push(line.to_owned()),
            }
        }
        Ok(())
    }

    /// Prints that something can't be checked here, and why.
    pub fn skip(&mut self, why: &str) {
        println!("SKIPPED {why}");
        self.skipped.push(format!("SKIPPED {why}"));
    }
}

/// Returns true if a line of a test program says how many tests passed, or that one could not run.
pub fn is_result(line: &str) -> bool {
    line.starts_with(PASSED) || line.starts_with("SKIPPED ")
}
