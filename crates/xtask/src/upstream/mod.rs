//! `cargo xtask upstream`: other projects' own tests, without Millstream, with it, and with keys in its service.
//!
//! One suite has programs for SPARC, on the emulator: see [`sparc`].
//!
//! A test that ends otherwise with Millstream is a fault, unless a line of the list of known and right differences fits
//! it (`*.toml`, with the reason). A line that fits no difference any more is a fault too.

pub mod apt;
mod compare;
mod libsrtp;
mod mode;
mod openssl;
mod process;
mod product;
mod python_cryptography;
mod report;
mod sparc;
mod suite;
mod tap;

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use clap::{Args, ValueEnum};

use crate::run::root;
use apt::Apt;
use compare::{Judged, differences, judge};
use mode::Mode;
use product::Product;
use report::Report;
use suite::{Ended, List, Run, Suite, once, tell};

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

/// Runs the tests of all projects, and tells how many projects that were.
///
/// # Errors
/// The errors of each project. A failed one does not keep the next from running.
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
        // The lock is needed because a source is unpacked, built and configured for one run at a time.
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
