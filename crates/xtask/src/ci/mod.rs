//! The whole pipeline. Every place that runs it, a desk or a server, only calls this.

mod beside;
mod built;
mod miri;
mod pipeline;
mod steps;
mod suites;
mod times;

use std::time::Instant;

use crate::run::{CHECKED, command, run};
use crate::{crates, deps, dpdk, generate, links, openssl, python, release, setup, upstream, vectors, voice};
use beside::Beside;
use pipeline::{ALL, DATAFUSION, ELSEWHERE, LONG, ORDINARY, Pipeline, SECRETS, STR0M, Step};
use times::{Times, processor_time};

/// The steps that run one after another, in the order in which faults are cheapest to find. A failed one does not keep
/// the next from running, so one run shows all faults.
const STEPS: &[(&str, Step)] = &[
    ("fmt", |_| fmt()),
    ("deps", |_| deps::check()),
    ("voice", |_| voice::check()),
    ("links", |_| links::check()),
    ("crates", |_| crates::check()),
    ("twice", steps::twice),
    ("clippy", |_| clippy(ORDINARY, CHECKED)),
    ("doc", steps::doc),
    ("vectors", |_| vectors::install()),
    ("test", steps::test),
    ("generated", |p| generate::generate(true, !p.whole)),
    ("deny", steps::deny),
    ("programs", steps::programs),
    ("release", steps::release),
];

/// The steps that follow with `--deep` only, or when they are named.
const DEEP: &[(&str, Step)] = &[
    ("book", steps::book),
    ("bench-once", steps::bench_once),
    ("backup-stores", steps::backup_stores),
    ("tables", steps::tables),
    ("datafusion", |p| steps::apart(p, DATAFUSION)),
    ("str0m", |p| steps::apart(p, STR0M)),
    ("python-clusters", |p| {
        p.passed += python::clusters()?;
        Ok(())
    }),
    ("tokens-tpm", steps::tokens_tpm),
    ("dpdk-gateway", |_| dpdk::gateway()),
    ("dpdk-24.11", |_| dpdk::next()),
    ("fuzz", steps::fuzz),
    ("upstream", |p| {
        p.passed += upstream::all()?;
        Ok(())
    }),
    ("crates-build", |_| crates::build()),
    ("release-again", |_| release::build_again()),
];

/// The steps that run beside those, also one after another. Each builds in a target folder of its own, or when nothing else builds
/// in the same profile, so that it does not wait for cargo's lock. Most use one processor only, and beside the others they take little
/// time that would not be idle.
const BESIDE: &[(&str, Step)] = &[
    (TOOLS, |p| {
        setup::tools(p.deep);
        Ok(())
    }),
    ("openssl", |p| openssl::openssl(p.deep)),
    ("clean-root", |_| release::clean_root().map(drop)),
    ("miri", miri::miri),
    ("loom", steps::loom),
    (RELEASE_BUILD, steps::release_build),
    ("aarch64", steps::aarch64),
    ("python", |_| python::python(false)),
    ("constant-time", |p| p.tests(command("cargo", &["test", "--release", "--package", SECRETS]))),
];

/// The step that compiles those of cargo's tools that are missing and may be installed.
const TOOLS: &str = "tools";

/// Pairs of steps, of which the second must have ended before the first begins.
const AFTER: &[(&str, &str)] = &[
    ("deny", TOOLS),
    ("book", TOOLS),
    // OpenSSL's step stands before this one in `BESIDE`, so it has ended too.
    ("programs", RELEASE_BUILD),
    ("bench-once", "openssl"),
    ("release", "clean-root"),
];

/// The step that compiles the release while others need none.
const RELEASE_BUILD: &str = "release-build";

/// Pairs of a step beside the others and one of those, which must have ended before the first begins: it has built what the first needs.
/// Constant time runs beside the packages' making, which leaves a processor idle.
const LATER: &[(&str, &str)] = &[("aarch64", "test"), ("constant-time", "programs")];

/// Runs the pipeline, or the steps whose name contains `only`. With `deep` it also runs the tests that take too long
/// for each change.
///
/// # Errors
/// Names the steps that failed.
pub fn ci(install: bool, only: Option<&str>, deep: bool) -> Result<(), String> {
    let begin = Instant::now();
    let mut times = Times::default();
    if install {
        let used = processor_time();
        setup::packages(deep)?;
        times.add("packages", begin.elapsed(), Some(processor_time().saturating_sub(used)));
    }
    let whole = only.is_none();
    let mut pipeline = Pipeline { deep, whole, ..Pipeline::default() };
    let chosen = |name: &str| only.is_none_or(|text| name.contains(text));
    let beside = BESIDE.iter().filter(|(name, _)| install || *name != TOOLS);
    let names = beside.clone().map(|(name, _)| *name);
    let mut others = whole.then(|| Beside::start(names, LATER, deep)).transpose()?;
    // A single step runs here, where it can be watched.
    let alone =
        BESIDE.iter().filter(|(name, _)| !whole && (install || only == Some(TOOLS) || *name != TOOLS));
    let long = DEEP.iter().filter(|(name, _)| deep || only == Some(*name));
    for (name, step) in alone.chain(STEPS).chain(long).filter(|(name, _)| chosen(name)) {
        if let Some(others) = &mut others {
            let first = AFTER.iter().find(|(step, _)| step == name).map(|(_, first)| *first);
            others.collect(first, &mut pipeline, &mut times);
        }
        println!("\n==== {name}");
        // The time of a step that runs beside this one is counted when that step has ended.
        let used = || processor_time().saturating_sub(others.as_ref().map(Beside::used).unwrap_or_default());
        let (start, before) = (Instant::now(), used());
        let result = step(&mut pipeline);
        times.add(name, start.elapsed(), Some(used().saturating_sub(before)));
        pipeline.note(name, result);
        if let Some(others) = &others {
            others.has_ended(name);
        }
    }
    if let Some(mut others) = others {
        others.collect_all(&mut pipeline, &mut times);
    }
    println!("\n==== summary");
    list_left_out(&mut pipeline);
    times.print(begin.elapsed(), whole && pipeline.failed.is_empty());
    conclude(&pipeline)
}

/// Runs the checks for each change: the quick ones, then the tests of the workspace or of the named packages.
///
/// # Errors
/// Names the steps that failed.
pub fn test(packages: &[String]) -> Result<(), String> {
    let begin = Instant::now();
    let mut chosen: Vec<&str> = packages.iter().flat_map(|package| ["--package", package]).collect();
    let all = ["--workspace"];
    let mut tests = command("cargo", &["test", ALL, "--profile", CHECKED]);
    if chosen.is_empty() {
        chosen.extend(all);
        tests.args(ELSEWHERE);
    }
    tests.args(&chosen);
    let mut pipeline = Pipeline::default();
    let mut times = Times::default();
    let mut step = |name: &str, run: &mut dyn FnMut(&mut Pipeline) -> Result<(), String>| {
        let (start, before) = (Instant::now(), processor_time());
        let result = run(&mut pipeline);
        times.add(name, start.elapsed(), Some(processor_time().saturating_sub(before)));
        pipeline.note(name, result);
    };
    step("fmt", &mut |_| fmt());
    step("deps", &mut |_| deps::check());
    step("voice", &mut |_| voice::check());
    step("links", &mut |_| links::check());
    step("clippy", &mut |_| clippy(&chosen, CHECKED));
    let mut tests = Some(tests);
    step("test", &mut |p| tests.take().map_or(Ok(()), |tests| p.tests(tests)));
    println!("\n==== summary");
    list_left_out(&mut pipeline);
    times.print(begin.elapsed(), false);
    conclude(&pipeline)
}

/// Prints what could not run, and what was left to `--deep`.
fn list_left_out(pipeline: &mut Pipeline) {
    pipeline.skipped.sort();
    pipeline.skipped.dedup();
    for line in &pipeline.skipped {
        println!("{line}");
    }
    if pipeline.whole && !pipeline.deep {
        LONG.iter().for_each(|long| println!("left to --deep: {} ({}...)", long.what, long.tests));
        miri::DEEP.iter().for_each(|name| println!("left to --deep: miri over {name}"));
        println!("left to --deep: AArch64's longest suites and its portable code, under qemu");
        println!(
            "left to --deep: private keys, recovery and memory of the service, once more on the general way of queues"
        );
        println!("left to --deep: clippy and documentation of the benches");
        DEEP.iter().for_each(|(name, _)| println!("left to --deep: {name}"));
    }
}

/// Prints the faults, and the result.
fn conclude(pipeline: &Pipeline) -> Result<(), String> {
    for fault in &pipeline.faults {
        println!("{fault}");
    }
    if !pipeline.failed.is_empty() {
        return Err(pipeline.failed.join("\nxtask: "));
    }
    println!("{} passed, 0 failed, {} skipped", pipeline.passed, pipeline.skipped.len());
    Ok(())
}

fn fmt() -> Result<(), String> {
    run(command("cargo", &["fmt", "--all", "--check"]))
}

/// Clippy runs in the profile in which the packages are tested or measured, so that the libraries which build scripts compile (AWS-LC
/// above all), the scripts and the macros are compiled once.
fn clippy(packages: &[&str], profile: &str) -> Result<(), String> {
    let mut clippy = command("cargo", &["clippy"]);
    clippy.args(packages).args(["--all-targets", "--profile", profile, "--", "-D", "warnings"]);
    run(clippy)
}
