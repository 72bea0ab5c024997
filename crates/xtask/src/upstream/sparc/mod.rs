//! Other projects' test programs, compiled for sparc64, on the emulator `millstream sparc` and, for comparison, on
//! qemu.
//!
//! A program has to end as it does under qemu, or well if qemu can't run it. A failure under both is the program's own,
//! or its build's, and is named. A program that passes only under our emulator is no fault.

mod packages;
mod run;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::apt::Apt;
use super::compare::{Judged, Results, differences, judge, matches};
use super::mode::Mode;
use super::process::processors;
use super::product::program;
use super::suite::{List, once, tell};
use super::tap::{Test, Verdict};
use crate::run::{root, works};
use packages::{PACKAGES, Package, Place};
use run::{Emulator, Program, log};

/// The list of known differences of the programs.
pub const LIST: &str = include_str!("../sparc.toml");

/// The result of a program under our emulator and under qemu, or no second one if qemu can't run it.
type Both = (Test, Option<Test>);

/// A package whose programs have run.
struct Ended<'e> {
    package: &'static str,
    version: String,
    /// The programs by their names in the list.
    programs: BTreeMap<String, Both>,
    judged: Judged<'e>,
    folder: PathBuf,
    took: Duration,
}

/// Builds what is missing, runs the programs whose names fit, and compares.
///
/// # Errors
/// When something can't be had, built or run; when a program ends otherwise than it should.
pub fn run(only: Option<&str>, as_json: bool) -> Result<(), String> {
    let list: List = toml::from_str(LIST).map_err(|e| format!("the list for sparc: {e}"))?;
    let cache = root().join("target/upstream");
    let folder = cache.join("sparc");
    let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let lock = File::create(cache.join("sparc.lock")).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.map_err(fail)?;
    tell("sparc: the sources");
    let apt = Apt::new(&folder)?;
    tell("Millstream: building");
    let ours = Emulator::ours(&program()?);
    let qemu = works("qemu-sparc64", &["--version"]).then(Emulator::qemu);

    let mut all = Vec::new();
    for package in PACKAGES {
        let (version, place) = built(package, &apt, &folder)?;
        let mut programs = (package.programs)(&place)?;
        programs.retain(|program| is_chosen(&list, only, &named(package, program)));
        if !programs.is_empty() {
            let qemu = qemu.as_ref().filter(|_| package.on_qemu);
            all.push(ended(package, version, &place, &programs, &list, &ours, qemu)?);
        }
    }
    tell("");
    if qemu.is_none() {
        println!("qemu-sparc64 is not here: each program has to end well");
    }
    if as_json {
        println!("{}", json!({ "version": 1, "packages": all.iter().map(Ended::json).collect::<Vec<_>>() }));
    } else {
        print!("{}", text(&all));
    }
    verdict(&all)
}

/// Returns a program's name in the list.
fn named(package: &Package, program: &Program) -> String {
    format!("{}/{}", package.name, program.name)
}

/// Returns true if a program is to run. A package's pattern (`gmp/*`) chooses the programs that a whole run has of it;
/// a narrower one also chooses programs that a whole run leaves out.
fn is_chosen(list: &List, only: Option<&str>, name: &str) -> bool {
    let whole = only.is_none_or(|pattern| pattern.ends_with("/*"));
    let is_left_out = || list.leave_out.iter().any(|pattern| matches(pattern, name));
    only.is_none_or(|pattern| matches(pattern, name)) && !(whole && is_left_out())
}

/// Builds a package and its tests, once for each version.
fn built(package: &Package, apt: &Apt, folder: &Path) -> Result<(String, Place), String> {
    let (version, source) = apt.source(package.name)?;
    let place =
        Place { log: source.with_file_name("build.log"), installed: folder.join("installed"), source };
    once(package.name, &version, &place.source, &place.log, || (package.build)(&place))?;
    Ok((version, place))
}

/// Runs a package's programs, as many at once as there are processors, and judges them.
fn ended<'e>(
    package: &Package,
    version: String,
    place: &Place,
    programs: &[Program],
    list: &'e List,
    ours: &Emulator,
    qemu: Option<&Emulator>,
) -> Result<Ended<'e>, String> {
    let (begin, folder) = (Instant::now(), place.source.with_file_name(""));
    for emulator in [Some(ours), qemu].into_iter().flatten() {
        let folder = folder.join(emulator.name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let worker = || -> Result<(), String> {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let run = |emulator: &Emulator| emulator.run(program, &folder.join(emulator.name));
            let of_ours = run(ours)?.ok_or("a program that was not run")?;
            let of_qemu = qemu.map(run).transpose()?.flatten();
            let mut done = done.lock().map_err(|e| e.to_string())?;
            done.insert(named(package, program), (of_ours, of_qemu));
            tell(&format!("sparc: {}: {} of {} programs", package.name, done.len(), programs.len()));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors()).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a worker panicked".to_owned())?)
    })?;
    let programs = done.into_inner().map_err(|e| e.to_string())?;
    let judged = judged(&programs, &version, list);
    Ok(Ended { package: package.name, version, programs, judged, folder, took: begin.elapsed() })
}

/// Judges the programs that ended otherwise than under qemu, or badly if qemu can't run them.
fn judged<'e>(programs: &BTreeMap<String, Both>, version: &str, list: &'e List) -> Judged<'e> {
    let (mut reference, mut results) = (Results::new(), Results::new());
    for (name, (ours, qemu)) in programs {
        // A program with nothing to test has not failed.
        let good = if ours.verdict == Verdict::Skipped { Verdict::Skipped } else { Verdict::Passed };
        let well = || Test { verdict: good, parts: Vec::new(), ..ours.clone() };
        reference.insert(name.clone(), qemu.clone().unwrap_or_else(well));
        results.insert(name.clone(), ours.clone());
    }
    let mut found = differences(&reference, &results);
    found.retain(|difference| match difference.with {
        Some(Verdict::Passed) => false,
        // OpenSSL names some parts of a test only where they fail.
        None if difference.without == Some(Verdict::Failed) => {
            programs.get(&difference.recipe).is_none_or(|(ours, _)| ours.verdict != Verdict::Passed)
        }
        _ => true,
    });
    let names: Vec<String> = programs.keys().cloned().collect();
    judge(&list.expected, version, Mode::With, &names, found)
}

impl Ended<'_> {
    /// Returns the number of programs that passed, or had nothing to test, under ours and under qemu.
    fn passed(&self) -> (usize, usize) {
        let good = |test: &Test| matches!(test.verdict, Verdict::Passed | Verdict::Skipped);
        let ours = self.programs.values().filter(|(ours, _)| good(ours)).count();
        (ours, self.programs.values().filter(|(_, qemu)| qemu.as_ref().is_some_and(good)).count())
    }

    /// Returns the programs that fail under both.
    fn fail_twice(&self) -> impl Iterator<Item = &str> {
        let failed = |test: &Test| test.verdict == Verdict::Failed;
        let both = self.programs.iter();
        let both = both.filter(move |(_, (ours, qemu))| failed(ours) && qemu.as_ref().is_some_and(failed));
        both.map(|(name, _)| name.as_str())
    }

    /// Returns the number of tests that the programs report under ours.
    fn tests(&self) -> usize {
        self.programs.values().map(|(ours, _)| ours.count()).sum()
    }

    fn json(&self) -> Value {
        let (ours, qemu) = self.passed();
        let Judged { unexpected, expected, outdated } = &self.judged;
        json!({
            "package": self.package,
            "version": self.version,
            "programs": self.programs.len(),
            "tests": self.tests(),
            "passed": { "ours": ours, "qemu": qemu },
            "fail_under_both": self.fail_twice().collect::<Vec<_>>(),
            "expected": expected.iter().map(super::compare::Difference::json).collect::<Vec<_>>(),
            "unexpected": unexpected.iter().map(super::compare::Difference::json).collect::<Vec<_>>(),
            "outdated": outdated.iter().map(|line| json!({ "recipe": line.recipe, "test": line.test })).collect::<Vec<_>>(),
            "seconds": self.took.as_secs_f64(),
        })
    }
}

/// Returns lines for people: the unexpected differences, the programs that fail under both, and a table.
fn text(all: &[Ended]) -> String {
    let mut text = String::new();
    for ended in all {
        for difference in &ended.judged.unexpected {
            let name = difference.recipe.split_once('/').map_or("", |(_, name)| name);
            let log = log(&ended.folder.join("ours"), name);
            text += &format!("{}; see {}\n", difference.between("qemu", "ours"), log.display());
        }
        for line in &ended.judged.outdated {
            text += &format!(
                "{}: {}: does not differ any more: remove this line of the list\n",
                line.recipe, line.test
            );
        }
        for name in ended.fail_twice() {
            text += &format!("{name}: fails under both\n");
        }
    }
    text += "PACKAGE       VERSION                 PROGRAMS   TESTS    OURS    QEMU  EXPECTED  UNEXPECTED      TIME\n";
    for ended in all {
        let (ours, qemu) = ended.passed();
        text += &format!(
            "{:12}  {:22}  {:8}  {:6}  {ours:6}  {qemu:6}  {:8}  {:10}  {:6.0} s\n",
            ended.package,
            ended.version,
            ended.programs.len(),
            ended.tests(),
            ended.judged.expected.len(),
            ended.judged.unexpected.len(),
            ended.took.as_secs_f64()
        );
    }
    text
}

/// Judges all packages.
fn verdict(all: &[Ended]) -> Result<(), String> {
    let sum = |of: fn(&Judged) -> usize| all.iter().map(|ended| of(&ended.judged)).sum::<usize>();
    match (sum(|judged| judged.unexpected.len()), sum(|judged| judged.outdated.len())) {
        _ if all.is_empty() => Err("no program fits".into()),
        (0, 0) => Ok(()),
        (unexpected, outdated) => Err(format!(
            "{unexpected} tests end otherwise than they should on the emulator, {outdated} lines of the list are outdated"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(verdict: Verdict) -> Test {
        Test { number: 0, name: "x".into(), verdict, parts: Vec::new() }
    }

    #[test]
    fn a_program_has_to_end_as_under_qemu_or_well() {
        use Verdict::{Failed, Passed, Skipped};
        let list: List = toml::from_str("").unwrap();
        let unexpected = |ours, qemu: Option<Verdict>| {
            let programs = [("p/x".to_owned(), (test(ours), qemu.map(test)))].into();
            judged(&programs, "1", &list).unexpected.len()
        };
        assert_eq!((unexpected(Passed, Some(Passed)), unexpected(Failed, Some(Failed))), (0, 0));
        assert_eq!((unexpected(Failed, Some(Passed)), unexpected(Failed, None)), (1, 1));
        assert_eq!((unexpected(Passed, Some(Failed)), unexpected(Passed, None)), (0, 0));
        assert_eq!((unexpected(Skipped, Some(Passed)), unexpected(Skipped, None)), (1, 0));
    }

    #[test]
    fn a_part_that_is_named_where_it_fails_is_no_fault_where_all_passes() {
        let list: List = toml::from_str("").unwrap();
        let failed = Test { parts: vec![test(Verdict::Failed)], ..test(Verdict::Failed) };
        let unexpected = |ours| {
            let programs = [("p/x".to_owned(), (ours, Some(failed.clone())))].into();
            judged(&programs, "1", &list).unexpected.len()
        };
        assert_eq!(unexpected(test(Verdict::Passed)), 0);
        assert_eq!(unexpected(test(Verdict::Failed)), 1);
    }

    #[test]
    fn a_pattern_chooses_also_what_is_left_out() {
        let list: List = toml::from_str("leave_out = [\"p/slow*\"]").unwrap();
        assert!(is_chosen(&list, None, "p/x") && !is_chosen(&list, None, "p/slow-1"));
        assert!(is_chosen(&list, Some("*/slow*"), "p/slow-1") && !is_chosen(&list, Some("q/*"), "p/x"));
    }
}
