//! Another project's tests: the list of known differences, the runs, and their results.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::compare::{Expected, Judged, Results};
use super::mode::Mode;
use super::product::{Counted, Product, Service};
use super::tap::{Test, Verdict};

/// The list of a project's exceptions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Recipes that don't run: patterns.
    #[serde(default)]
    pub leave_out: Vec<String>,
    /// Recipes whose programs get Millstream only in the contexts that they make: patterns.
    #[serde(default)]
    pub own_context: Vec<String>,
    /// Differences that are right.
    #[serde(default)]
    pub expected: Vec<Expected>,
}

/// The recipes that are to run, by name.
pub type Names = Result<Vec<String>, String>;
/// The results of a run, and what Millstream counted in it.
pub type Outcome = Result<(Results, Option<Counted>), String>;

/// A project's tests.
pub struct Suite {
    /// Debian's source package.
    pub package: &'static str,
    /// The list of exceptions, as TOML.
    pub list: &'static str,
    /// Builds them in the source.
    pub build: fn(&Path, &Path) -> Result<(), String>,
    /// Returns the names of the recipes.
    pub recipes: fn(&Path, &List, Option<&str>) -> Names,
    /// Runs them.
    pub run: fn(&Run) -> Outcome,
    /// Returns the file with a recipe's output.
    pub output: fn(&Path, &str) -> PathBuf,
}

/// One run of the tests.
pub struct Run<'r> {
    pub mode: Mode,
    pub source: &'r Path,
    /// The folder for the tests' output.
    pub folder: &'r Path,
    pub list: &'r List,
    pub recipes: &'r [String],
    /// The product, or nothing in a run without Millstream.
    pub product: Option<&'r Product>,
}

impl Run<'_> {
    /// Starts the service that holds keys, in a run that has one.
    pub fn service(&self) -> Result<Option<Service>, String> {
        let isolated = self.product.filter(|_| self.mode == Mode::Isolated);
        isolated.map(|product| Service::start(product, &self.folder.join("serve.log"))).transpose()
    }

    /// Returns a command that runs a program for a limited time, with Millstream and its report if the run has it. A
    /// terminal that ends this process ends the program too.
    pub fn command(&self, service: Option<&Service>, report: &Path, limit_s: u32, program: &str) -> Command {
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
    pub fn progress(&self, ended: usize) {
        tell(&format!("{}: {ended} of {} recipes", self.mode.name(), self.recipes.len()));
    }
}

/// A run that has ended.
pub struct Ended<'e> {
    pub mode: Mode,
    pub results: Results,
    pub took: Duration,
    pub counted: Option<Counted>,
    pub judged: Judged<'e>,
}

impl Ended<'_> {
    /// Returns the number of recipes that failed.
    pub fn failed(&self) -> usize {
        self.results.values().filter(|test| test.verdict == Verdict::Failed).count()
    }

    pub fn tests(&self) -> usize {
        self.results.values().map(Test::count).sum()
    }
}

/// Builds a source, unless that was done before.
pub fn once(
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

/// Tells people the progress, on the line that showed it before. A pipe gets nothing.
pub fn tell(text: &str) {
    let mut error = std::io::stderr();
    if error.is_terminal() {
        let _ = write!(error, "\r\x1b[K{text}").and_then(|()| error.flush());
    }
}
