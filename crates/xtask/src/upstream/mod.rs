//! `cargo xtask upstream`: other projects' own tests, without Millstream, with it, and with keys in its service.
//!
//! One suite is of programs for SPARC, on the emulator: see [`sparc`].
//!
//! What ends otherwise with Millstream is a fault, or a line of the list of what is known and right (`*.toml`, with its
//! reason). A line that nothing fits any more is a fault too.

mod apt;
mod compare;
mod libsrtp;
mod openssl;
mod process;
mod product;
mod python_cryptography;
mod report;
mod sparc;
mod tap;

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::run::root;
use apt::Apt;
use compare::{Expected, Judged, Results, differences, judge};
use product::{Counted, Product, Service};
use report::Report;
use tap::Verdict;

/// Whose tests to run, and which.
#[derive(Args)]
pub struct Upstream {
    /// The project.
    name: Name,
    /// Only the recipes whose name fits, in which * stands for any text; those too that are left out otherwise.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// Print the results as JSON, on standard output.
    #[arg(long)]
    json: bool,
}

/// The projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// OpenSSL's recipes, on the distribution's source of it.
    Openssl,
    /// The tests of Python's cryptography, on the distribution's package of it.
    PythonCryptography,
    /// libsrtp's test programs, on the system's OpenSSL.
    Libsrtp,
    /// Test programs of five projects, compiled for sparc64, on the emulator of it.
    Sparc,
    /// Nothing: says why.
    Nginx,
}

/// How tests are run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Without Millstream.
    Without,
    /// With Millstream in the process.
    With,
    /// With Millstream, and keys in its service.
    Isolated,
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::Without, Mode::With, Mode::Isolated];

    /// Its name, also that of its folder.
    fn name(self) -> &'static str {
        match self {
            Mode::Without => "without",
            Mode::With => "with",
            Mode::Isolated => "isolated",
        }
    }
}

/// What is known of a project's tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// Recipes that don't run: patterns.
    #[serde(default)]
    leave_out: Vec<String>,
    /// Recipes whose programs get Millstream only in the contexts that they make: patterns.
    #[serde(default)]
    own_context: Vec<String>,
    /// Differences that are right.
    #[serde(default)]
    expected: Vec<Expected>,
}

/// The recipes that are to run, by name.
type Names = Result<Vec<String>, String>;
/// The results of a run, and what Millstream counted in it.
type Outcome = Result<(Results, Option<Counted>), String>;

/// A project's tests.
struct Suite {
    /// Debian's source package.
    package: &'static str,
    /// What is known of them.
    list: &'static str,
    /// Builds them in the source.
    build: fn(&Path, &Path) -> Result<(), String>,
    /// Which there are.
    recipes: fn(&Path, &List, Option<&str>) -> Names,
    /// Runs them.
    run: fn(&Run) -> Outcome,
    /// Where the output of one is.
    output: fn(&Path, &str) -> PathBuf,
}

const OPENSSL: Suite = Suite {
    package: "openssl",
    list: include_str!("openssl.toml"),
    build: openssl::build,
    recipes: openssl::recipes,
    run: openssl::run,
    output: openssl::tap,
};

const PYTHON_CRYPTOGRAPHY: Suite = Suite {
    package: "python-cryptography",
    list: include_str!("python_cryptography.toml"),
    build: python_cryptography::build,
    recipes: python_cryptography::recipes,
    run: python_cryptography::run,
    output: python_cryptography::output,
};

const LIBSRTP: Suite = Suite {
    package: "libsrtp2",
    list: include_str!("libsrtp.toml"),
    build: libsrtp::build,
    recipes: libsrtp::recipes,
    run: libsrtp::run,
    output: libsrtp::output,
};

/// One run of the tests.
struct Run<'r> {
    mode: Mode,
    source: &'r Path,
    /// Where what they say is kept.
    folder: &'r Path,
    list: &'r List,
    recipes: &'r [String],
    /// Nothing without Millstream.
    product: Option<&'r Product>,
}

impl Run<'_> {
    /// The service that holds keys, in a run that has one.
    fn service(&self) -> Result<Option<Service>, String> {
        let isolated = self.product.filter(|_| self.mode == Mode::Isolated);
        isolated.map(|product| Service::start(product, &self.folder.join("serve.log"))).transpose()
    }

    /// A program, with Millstream if it is to be and a report of that, that is ended after some time. It belongs to the
    /// processes that a terminal ends with this one.
    fn command(&self, service: Option<&Service>, report: &Path, limit_s: u32, program: &str) -> Command {
        let mut command = match self.product {
            Some(product) => {
                let mut command = product.run(service, report);
                command.arg("timeout");
                command
            }
            None => Command::new("timeout"),
        };
        command.args(["--foreground", "--kill-after=20"]).arg(limit_s.to_string()).arg(program);
        command
    }

    /// Tells people how many recipes have ended.
    fn progress(&self, ended: usize) {
        tell(&format!("{}: {ended} of {} recipes", self.mode.name(), self.recipes.len()));
    }
}

/// A run that has ended.
struct Ended<'e> {
    mode: Mode,
    results: Results,
    took: Duration,
    counted: Option<Counted>,
    judged: Judged<'e>,
}

/// Runs the tests of all projects, and tells how many projects that were.
///
/// # Errors
/// As for each; one that fails does not keep the next from running.
pub fn all() -> Result<u64, String> {
    let (mut good, mut failed) = (0, Vec::new());
    for name in [Name::Openssl, Name::PythonCryptography, Name::Libsrtp, Name::Sparc] {
        match (Upstream { name, only: None, json: false }).run() {
            Ok(()) => good += 1,
            Err(why) => failed.push(format!("{name:?}: {why}")),
        }
    }
    if failed.is_empty() { Ok(good) } else { Err(failed.join("; ")) }
}

impl Upstream {
    /// Builds what is missing, runs the tests, and compares.
    ///
    /// # Errors
    /// When something can't be had, built or run; when results differ that should not, or no longer differ.
    pub fn run(&self) -> Result<(), String> {
        match self.name {
            Name::Openssl => self.suite(&OPENSSL),
            Name::PythonCryptography => self.suite(&PYTHON_CRYPTOGRAPHY),
            Name::Libsrtp => self.suite(&LIBSRTP),
            Name::Sparc => sparc::run(self.only.as_deref(), self.json),
            Name::Nginx => {
                Err("nginx's tests (nginx-tests) are a repository of their own, of which Debian has no \
                 package; what its source package has tests the packaging, on an installation"
                    .into())
            }
        }
    }

    fn suite(&self, suite: &Suite) -> Result<(), String> {
        let list: List = toml::from_str(suite.list).map_err(|e| format!("{}'s list: {e}", suite.package))?;
        let folder = root().join("target/upstream");
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        // What is unpacked, built and configured there is so for one at a time.
        let lock = folder.join(format!("{}.lock", suite.package));
        let lock = File::create(&lock).and_then(|file| file.lock().map(|()| file));
        let _lock = lock.map_err(|e| format!("{}: {e}", folder.display()))?;

        tell(&format!("{}: the source", suite.package));
        let (version, source) = Apt::new(&folder)?.source(suite.package)?;
        let place = source.parent().ok_or("a source without a folder")?;
        build(suite, &version, &source)?;
        let recipes = (suite.recipes)(&source, &list, self.only.as_deref())?;
        tell("Millstream: building");
        let product = Product::build()?;

        let mut runs: Vec<Ended> = Vec::new();
        for mode in Mode::ALL {
            let folder = place.join(mode.name());
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            let product = (mode != Mode::Without).then_some(&product);
            let begin = Instant::now();
            let run = Run { mode, source: &source, folder: &folder, list: &list, recipes: &recipes, product };
            let (results, counted) = (suite.run)(&run).map_err(|why| format!("{}: {why}", mode.name()))?;
            let judged = match runs.first() {
                Some(without) => {
                    judge(&list.expected, &version, mode, &recipes, differences(&without.results, &results))
                }
                None => Judged::default(),
            };
            runs.push(Ended { mode, results, took: begin.elapsed(), counted, judged });
        }
        tell("");
        let report = Report { suite, version: &version, place, recipes: recipes.len(), runs: &runs };
        if self.json {
            println!("{}", report.json());
        } else {
            print!("{}", report.text());
        }
        report.verdict()
    }
}

/// Builds a suite once.
fn build(suite: &Suite, version: &str, source: &Path) -> Result<(), String> {
    let log = source.with_file_name("build.log");
    once(suite.package, version, source, &log, || (suite.build)(source, &log))
}

/// Builds what is in a source, unless that was done before.
fn once(
    package: &str,
    version: &str,
    source: &Path,
    log: &Path,
    build: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let stamp = source.with_file_name("built");
    if stamp.exists() {
        return Ok(());
    }
    eprintln!("{package} {version}: building once, for some minutes; the log is {}", log.display());
    let _ = std::fs::remove_file(log);
    build()?;
    std::fs::write(&stamp, "").map_err(|e| format!("{}: {e}", stamp.display()))
}

/// Tells people how far it is, on the line that said it before. A pipe is not told.
fn tell(text: &str) {
    let mut error = std::io::stderr();
    if error.is_terminal() {
        let _ = write!(error, "\r\x1b[K{text}").and_then(|()| error.flush());
    }
}

impl Ended<'_> {
    /// How many recipes failed.
    fn failed(&self) -> usize {
        self.results.values().filter(|test| test.verdict == Verdict::Failed).count()
    }

    fn tests(&self) -> usize {
        self.results.values().map(tap::Test::count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_is_understood_and_says_why() {
        let suites = [&OPENSSL, &PYTHON_CRYPTOGRAPHY, &LIBSRTP].map(|suite| (suite.package, suite.list));
        for (package, list) in suites.into_iter().chain([("sparc", sparc::LIST)]) {
            let list: List = toml::from_str(list).unwrap();
            let silent = list.expected.iter().find(|line| !line.reason.ends_with('.'));
            assert_eq!(silent, None, "{package}");
        }
    }
}
