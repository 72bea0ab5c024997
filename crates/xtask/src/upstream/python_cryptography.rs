//! The tests of Python's cryptography, on Debian's package of it and so on the system's OpenSSL. A recipe is a file.
//!
//! The packages that the tests need besides are unpacked into the target folder, not installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt::Apt;
use super::compare::{Results, matches};
use super::process::{logged, watch};
use super::product::Counted;
use super::suite::{List, Names, Outcome, Run};
use super::tap::{Test, Verdict};

/// Debian's Python, for which its packages are made.
const PYTHON: &str = "/usr/bin/python3";

/// The packages of pytest, of the modules that the tests import, and of their vectors.
const PACKAGES: &[&str] = &[
    "python3-attr",
    "python3-cryptography-vectors",
    "python3-hypothesis",
    "python3-iniconfig",
    "python3-iso8601",
    "python3-packaging",
    "python3-pluggy",
    "python3-pretend",
    "python3-py",
    "python3-pytest",
    "python3-pytest-subtests",
    "python3-sortedcontainers",
    "python3-tz",
];

/// The folder of the unpacked modules, beside the source.
const MODULES: &str = "modules/usr/lib/python3/dist-packages";

/// Has pytest write each result into a file.
const PLUGIN: &str = include_str!("python_cryptography.py");

/// The time that all recipes together may take.
const LIMIT_S: u32 = 3600;

/// Downloads and unpacks the packages that the tests need.
///
/// # Errors
/// When a package can't be downloaded, or the tested package is missing or has another version.
pub fn build(source: &Path, log: &Path) -> Result<(), String> {
    let place = source.with_file_name("packages");
    std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let folder = source.parent().and_then(Path::parent).ok_or("a source without a folder")?;
    let mut arguments = vec!["download", "-q"];
    arguments.extend(PACKAGES);
    Apt::new(folder)?.said("apt-get", &arguments, &place)?;
    let entries = std::fs::read_dir(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    for package in entries.map_while(Result::ok) {
        let modules = source.with_file_name("modules");
        logged(Command::new("dpkg-deb").arg("-x").arg(package.path()).arg(modules), log)?;
    }
    let plugin = source.with_file_name(MODULES).join("millstream_results.py");
    std::fs::write(&plugin, PLUGIN).map_err(|e| format!("{}: {e}", plugin.display()))?;
    same_version(source)
}

/// Requires that the installed package has the version of the tests.
fn same_version(source: &Path) -> Result<(), String> {
    const BOTH: &str = "import cryptography, cryptography_vectors as vectors; \
        print(cryptography.__version__, vectors.__version__)";
    let output = python(Command::new(PYTHON), source).args(["-c", BOTH]).output();
    let output = output.map_err(|e| format!("{PYTHON}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut versions = said.split_whitespace();
    let (installed, vectors) = (versions.next(), versions.next());
    if installed.is_none() {
        return Err("there is no python3-cryptography here: run `cargo xtask setup`".into());
    }
    let tested = source.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let fits = installed.is_some_and(|version| tested.contains(&format!("-{version}-")));
    if installed == vectors && fits {
        return Ok(());
    }
    Err(format!(
        "the package, its vectors and its source ({tested}) are of different versions: {}",
        said.trim()
    ))
}

/// Returns the files of tests that fit.
///
/// # Errors
/// When there are none.
pub fn recipes(source: &Path, list: &List, only: Option<&str>) -> Names {
    let mut files = Vec::new();
    walk(&source.join("tests"), source, &mut files)?;
    files.retain(|name| match only {
        Some(pattern) => matches(pattern, name),
        None => !list.leave_out.iter().any(|pattern| matches(pattern, name)),
    });
    files.sort();
    if files.is_empty() { Err("no file of tests fits".into()) } else { Ok(files) }
}

/// Adds the files of tests below a folder, by their paths in the source.
fn walk(folder: &Path, source: &Path, files: &mut Vec<String>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for path in entries.map_while(Result::ok).map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            walk(&path, source, files)?;
        } else if name.starts_with("test_") && name.ends_with(".py") {
            files.extend(path.strip_prefix(source).map(|path| path.to_string_lossy().into_owned()));
        }
    }
    Ok(())
}

/// Runs the tests. Returns their results and the work that Millstream counted.
///
/// # Errors
/// When they can't be run, or Millstream had no part in it.
pub fn run(run: &Run) -> Outcome {
    let service = run.service()?;
    let (report, results) = (run.folder.join("table.json"), run.folder.join("results"));
    let mut pytest = python(run.command(service.as_ref(), &report, LIMIT_S, PYTHON), run.source);
    pytest.args([
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "millstream_results",
        "-o",
        "addopts=",
    ]);
    pytest.env("MILLSTREAM_RESULTS", &results).args(run.recipes).current_dir(run.source);
    let log = run.folder.join("pytest.log");
    let status = watch(&mut pytest, &log, |_| {
        let said = std::fs::read(&results).unwrap_or_default();
        run.progress(parse(&String::from_utf8_lossy(&said)).len());
    })?;
    // The status 1 means that some tests failed.
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(format!("pytest: {status}: {}", log.display()));
    }
    let said = std::fs::read(&results).map_err(|e| format!("{}: {e}", results.display()))?;
    let counted = run.product.map(|_| Counted::read(&report)).transpose()?;
    Ok((parse(&String::from_utf8_lossy(&said)), counted))
}

/// Returns the file with the output of all recipes.
pub fn output(folder: &Path, _: &str) -> PathBuf {
    folder.join("pytest.log")
}

/// Prepares Python with the modules that the tests need.
fn python(mut command: Command, source: &Path) -> Command {
    command.env("PYTHONPATH", source.with_file_name(MODULES)).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// The results that the plugin wrote: a line is the test's name, a tab, and how it ended. A test may have several.
fn parse(said: &str) -> Results {
    let mut results = Results::new();
    for (test, outcome) in said.lines().filter_map(|line| line.split_once('\t')) {
        let (file, name) = test.split_once("::").unwrap_or((test, ""));
        let verdict = match outcome {
            "passed" => Verdict::Passed,
            "skipped" => Verdict::Skipped,
            _ => Verdict::Failed,
        };
        let all = results.entry(file.to_owned()).or_insert_with(|| Test {
            number: 0,
            name: file.to_owned(),
            verdict: Verdict::Passed,
            parts: Vec::new(),
        });
        if verdict == Verdict::Failed {
            all.verdict = verdict;
        }
        let number = u32::try_from(all.parts.len()).unwrap_or(u32::MAX).saturating_add(1);
        all.parts.push(Test { number, name: name.to_owned(), verdict, parts: Vec::new() });
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_result() {
        let results =
            parse("tests/a.py::T::x[1]\tpassed\ntests/a.py::y\tfailed\ntests/b.py::z\tskipped\ncut of");
        let shown: Vec<(&str, Verdict, usize)> =
            results.iter().map(|(file, test)| (&**file, test.verdict, test.parts.len())).collect();
        assert_eq!(shown, [("tests/a.py", Verdict::Failed, 2), ("tests/b.py", Verdict::Passed, 1)]);
        assert_eq!(results["tests/a.py"].parts[0].name, "T::x[1]");
        assert_eq!(results["tests/b.py"].parts[0].verdict, Verdict::Skipped);
    }
}
