//! OpenSSL's own tests, its *recipes*, on the OpenSSL they were written for.
//!
//! The configuration that loads Millstream extends those that recipes use: OpenSSL's own, with which every program of a
//! recipe starts, and those that test programs read into a context of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::compare::{Results, matches};
use super::process::{logged, processors, watch};
use super::product::{Counted, Service};
use super::suite::{List, Names, Outcome, Run};
use super::tap::{Verdict, parse};
use crate::run::works;

/// Distributions leave these ciphers out, and Millstream has one of them.
const CONFIGURE: &[&str] = &["shared", "enable-weak-ssl-ciphers"];

/// The configuration with which every program of a recipe starts.
const USUAL: &str = "apps/openssl.cnf";
/// The configurations that test programs read into contexts of their own.
const OWN: &[&str] = &["test/default.cnf", "test/default-and-legacy.cnf"];

/// The time that all recipes together may take.
const LIMIT_S: u32 = 5400;

/// Builds OpenSSL, in its source.
///
/// # Errors
/// When that fails.
pub fn build(source: &Path, log: &Path) -> Result<(), String> {
    if !works("make", &["--version"]) {
        return Err("there is no make here: run `cargo xtask setup`".into());
    }
    // Debian keeps files that its patches can't express in an archive.
    if source.join("debian/binary.tar").exists() {
        logged(Command::new("tar").args(["-x", "-f", "debian/binary.tar"]).current_dir(source), log)?;
    }
    let nowhere = source.with_file_name("not-installed");
    let mut configure = Command::new("perl");
    configure.arg("./Configure").args(CONFIGURE).arg(format!("--prefix={}", nowhere.display()));
    configure.arg(format!("--openssldir={}", nowhere.join("ssl").display()));
    let mut make = Command::new("make");
    make.arg(format!("-j{}", processors())).arg("build_sw");
    for step in [&mut configure, &mut make] {
        logged(step.current_dir(source), log)?;
    }
    for file in [USUAL].iter().chain(OWN) {
        let (from, to) = (source.join(file), original(source, file));
        std::fs::copy(&from, &to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    Ok(())
}

/// Returns the recipes that are to run: those whose name fits `only`, or all except those that the list leaves out.
///
/// # Errors
/// When there are none.
pub fn recipes(source: &Path, list: &List, only: Option<&str>) -> Names {
    let folder = source.join("test/recipes");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let names = entries.map_while(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".t").map(str::to_owned))
        // The harness itself runs these before all others.
        .filter(|name| !name.starts_with("00-prep"))
        .filter(|name| match only {
            Some(pattern) => matches(pattern, name),
            None => !list.leave_out.iter().any(|pattern| matches(pattern, name)),
        })
        .collect();
    names.sort();
    if names.is_empty() { Err(format!("no recipe in {} fits", folder.display())) } else { Ok(names) }
}

/// Runs the recipes. Returns their results and the work that Millstream counted.
///
/// # Errors
/// When they can't be run, or Millstream had no part in it.
pub fn run(run: &Run) -> Outcome {
    let service = run.service()?;
    let is_own = |name: &&String| run.list.own_context.iter().any(|pattern| matches(pattern, name));
    let (own, usual): (Vec<&String>, Vec<&String>) = run.recipes.iter().partition(is_own);
    let (mut results, mut counted) = (Results::new(), None::<Counted>);
    let passes = [(usual, [USUAL].iter().chain(OWN), "usual"), (own, [].iter().chain(OWN), "own")];
    for (recipes, files, name) in passes {
        if recipes.is_empty() {
            continue;
        }
        let result = configure(run, service.as_ref(), files.copied())
            .and_then(|()| pass(run, service.as_ref(), &recipes, name, results.len()));
        // A person who runs a recipe by hand then gets the files as they were written.
        restore(run.source)?;
        let (some, table) = result?;
        results.extend(some);
        counted = table.map(|table| counted.unwrap_or_default().and(table)).or(counted);
    }
    Ok((results, counted))
}

/// Extends those files with Millstream for this run.
fn configure<'f>(
    run: &Run,
    service: Option<&Service>,
    files: impl Iterator<Item = &'f str>,
) -> Result<(), String> {
    restore(run.source)?;
    let Some(product) = run.product else { return Ok(()) };
    for file in files {
        let text = product.configuration(&original(run.source, file), service)?;
        let path = run.source.join(file);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// Puts all configuration files back.
fn restore(source: &Path) -> Result<(), String> {
    for file in [USUAL].iter().chain(OWN) {
        let path = source.join(file);
        std::fs::copy(original(source, file), &path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// Returns the place of a configuration file's original. Files that it includes are not looked for beside it.
fn original(source: &Path, file: &str) -> PathBuf {
    source.join(format!("{file}.original"))
}

/// Runs recipes with the files in their present state.
fn pass(run: &Run, service: Option<&Service>, recipes: &[&String], name: &str, done: usize) -> Outcome {
    let report = run.folder.join(format!("{name}.table.json"));
    let log = run.folder.join(format!("{name}.log"));
    // The harness knows a recipe by the text behind its number.
    let tests: Vec<&str> =
        recipes.iter().map(|name| name.split_once('-').map_or("", |(_, test)| test)).collect();
    let mut make = run.command(service, &report, LIMIT_S, "make");
    make.arg("run_tests").arg(format!("TESTS={}", tests.join(" "))).current_dir(run.source);
    make.env("HARNESS_JOBS", processors().to_string()).env("PERL_TEST_HARNESS_DUMP_TAP", run.folder);
    let ended = |said: &str| said.lines().filter(|line| line.contains(".t ..")).count();
    // The exit status is ignored, because the output says all of it.
    watch(&mut make, &log, |said| run.progress(done + ended(said)))?;

    let said = std::fs::read(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let said = String::from_utf8_lossy(&said);
    // A recipe's name need not begin a line, because a failure may have written before it.
    let ended = |name: &&&String| said.contains(&format!("{name}.t .."));
    if let Some(name) = recipes.iter().find(|name| !ended(name)) {
        return Err(format!("{name} did not come to its end, within {LIMIT_S} s for all: {}", log.display()));
    }
    let mut results = Results::new();
    for name in recipes {
        let path = tap(run.folder, name);
        let text = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut test = parse(name, &String::from_utf8_lossy(&text));
        if test.verdict == Verdict::Passed && ended_badly(&said, name) {
            test.verdict = Verdict::Failed;
        }
        results.insert((*name).clone(), test);
    }
    let counted = run.product.map(|_| Counted::read(&report)).transpose()?;
    Ok((results, counted))
}

/// Returns the file with a recipe's output.
pub fn tap(folder: &Path, recipe: &str) -> PathBuf {
    folder.join(format!("test/recipes/{recipe}.t"))
}

/// Returns true if the harness's summary says that a recipe ended with another code than 0.
fn ended_badly(said: &str, recipe: &str) -> bool {
    let start = format!("{recipe}.t ");
    let summary = said.lines().filter_map(|line| line.strip_prefix(&start));
    summary.filter_map(|rest| rest.split_once("(Wstat: ")).any(|(_, rest)| !rest.starts_with("0 "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_recipe_ended_is_in_the_summary() {
        let said = "30-test_evp.t ......... ok\nTest Summary Report\n-------------------\n\
            80-test_ssl_old.t       (Wstat: 256 (exited 1) Tests: 9 Failed: 1)\n  Failed test:  4\n\
            90-test_x.t (Wstat: 0 Tests: 4 Failed: 0)\nResult: FAIL\n";
        assert!(ended_badly(said, "80-test_ssl_old"));
        assert!(!ended_badly(said, "90-test_x") && !ended_badly(said, "30-test_evp"));
        assert!(!ended_badly(said, "80-test_ssl"));
    }
}
