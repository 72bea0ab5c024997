//! The whole pipeline. Whatever runs it, on a desk or elsewhere, only calls this.

mod beside;
mod times;

use std::time::Instant;

use crate::run::{CHECKED, command, root, run, run_keeping, works};
use crate::{deps, generate, openssl, setup, upstream, vectors};
use beside::Beside;
use times::{Times, processor_time};

type Step = fn(&mut Pipeline) -> Result<(), String>;

/// The steps that run one after another, in the order in which faults are cheapest to find. A failed one does not keep
/// the next from running, so one run shows all faults.
const STEPS: &[(&str, Step)] = &[
    ("fmt", |_| run(command("cargo", &["fmt", "--all", "--check"]))),
    ("deps", |_| deps::check()),
    // In the profile of the tests, so that what build scripts compile (AWS-LC above all) is compiled once.
    ("clippy", |_| {
        let all = ["clippy", "--workspace", "--all-targets", "--profile", CHECKED, "--", "-D", "warnings"];
        run(command("cargo", &all))
    }),
    ("doc", doc),
    ("deny", deny),
    ("generated", |_| generate::generate(true)),
    ("vectors", |_| vectors::install()),
    ("test", |p| {
        p.tests(command(
            "cargo",
            &[&["test", ALL, "--workspace", "--profile", CHECKED], PROGRAMS, SECRETS].concat(),
        ))
    }),
    ("programs", programs),
    ("constant-time", |p| p.tests(command("cargo", &["test", "--release", "--package", SECRETS[1]]))),
    ("bench-once", bench_once),
];

/// The steps that follow with `--deep` only.
const DEEP: &[(&str, Step)] = &[("upstream", |p| {
    p.passed += upstream::all()?;
    Ok(())
})];

/// The steps that run beside those, also one after another. Each builds in a target folder of its own, so that it does
/// not wait for cargo's lock, and most use one processor only: beside the others they take little time that is not idle.
const BESIDE: &[(&str, Step)] = &[
    ("openssl", |_| openssl::openssl()),
    ("miri", miri),
    ("aarch64", aarch64),
    ("loom", loom),
    ("fuzz", fuzz),
];

/// Which step must have ended before another begins.
const AFTER: &[(&str, &str)] = &[("programs", "openssl"), ("bench-once", "openssl")];

/// One failure does not hide the next.
const ALL: &str = "--no-fail-fast";

/// Real programs run once, in a step of their own: they take minutes, and it is the module that they test.
const PROGRAMS: &[&str] = &["--exclude", "millstream-tests"];

/// Judged as it ships, in a step of its own: the checks of the other profile branch on secrets.
const SECRETS: &[&str] = &["--exclude", "millstream-constant-time"];

/// What the steps have seen.
#[derive(Default)]
struct Pipeline {
    /// Whether it may take hours.
    deep: bool,
    skipped: Vec<String>,
    passed: u64,
    /// Steps that failed, and why.
    failed: Vec<String>,
}

/// Runs the pipeline, or the steps whose name contains `only`; with `deep`, what takes too long for each change too.
///
/// # Errors
/// Names the steps that failed.
pub fn ci(install: bool, only: Option<&str>, deep: bool) -> Result<(), String> {
    if install {
        setup::setup()?;
    }
    let mut pipeline = Pipeline { deep, ..Pipeline::default() };
    let chosen = |name: &str| only.is_none_or(|text| name.contains(text));
    let mut times = Times::default();
    let together = only.is_none();
    let mut beside =
        together.then(|| Beside::start(BESIDE.iter().map(|(name, _)| *name), deep)).transpose()?;
    // A single step runs here, where it can be watched.
    let alone = BESIDE.iter().filter(|_| !together);
    let long = DEEP.iter().filter(|_| deep);
    for (name, step) in alone.chain(STEPS).chain(long).filter(|(name, _)| chosen(name)) {
        if let Some(beside) = &mut beside {
            let first = AFTER.iter().find(|(step, _)| step == name).map(|(_, first)| *first);
            beside.collect(first, &mut pipeline, &mut times);
        }
        println!("\n==== {name}");
        let (start, used) = (Instant::now(), processor_time());
        let result = step(&mut pipeline);
        pipeline.note(name, result);
        times.add(name, start.elapsed(), Some(processor_time().saturating_sub(used)));
    }
    if let Some(mut beside) = beside {
        beside.collect_all(&mut pipeline, &mut times);
    }
    println!("\n==== summary");
    times.print(together && pipeline.failed.is_empty());
    pipeline.skipped.sort();
    pipeline.skipped.dedup();
    for line in &pipeline.skipped {
        println!("{line}");
    }
    if !pipeline.failed.is_empty() {
        return Err(pipeline.failed.join("\nxtask: "));
    }
    println!("{} passed, 0 failed, {} skipped", pipeline.passed, pipeline.skipped.len());
    Ok(())
}

/// How the line begins that ends each program of tests.
const PASSED: &str = "test result: ok. ";

/// Whether a line of a test program says how many tests passed, or that one could not run.
fn is_result(line: &str) -> bool {
    line.starts_with(PASSED) || line.starts_with("SKIPPED ")
}

impl Pipeline {
    /// Keeps why a step failed, if it did, for the end.
    fn note(&mut self, step: &str, result: Result<(), String>) {
        if let Err(why) = result {
            println!("==== {step} FAILED: {why}");
            self.failed.push(format!("step {step}: {why}"));
        }
    }

    /// Runs tests, counts those that passed, and keeps the lines that say what could not run.
    fn tests(&mut self, tests: std::process::Command) -> Result<(), String> {
        let lines = run_keeping(tests, is_result)?;
        self.count(lines.iter().map(String::as_str))
    }

    /// Counts what test programs have printed of tests that passed or could not run. Lines of any other kind are passed
    /// over.
    fn count<'l>(&mut self, lines: impl Iterator<Item = &'l str>) -> Result<(), String> {
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

    /// Has Miri execute the tests of packages that are named for it.
    fn interpret(&mut self, packages: &[&'static str], targets: &[&'static str]) -> Result<(), String> {
        let mut arguments = vec!["+nightly", "miri", "test", ALL];
        arguments.extend(packages.iter().flat_map(|package| ["--package", *package]));
        arguments.extend(targets);
        arguments.push("miri_");
        if !self.deep {
            arguments.extend(["--", "--skip", "miri_long_"]);
        }
        let mut tests = command("cargo", &arguments);
        tests
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .env("RUSTFLAGS", MIRI_FLAGS)
            .env("CARGO_TARGET_DIR", root().join("target/miri"));
        self.tests(tests)
    }

    fn skip(&mut self, why: &str) {
        println!("SKIPPED {why}");
        self.skipped.push(format!("SKIPPED {why}"));
    }
}

fn doc(_: &mut Pipeline) -> Result<(), String> {
    const ALL: &[&str] =
        &["doc", "--workspace", "--no-deps", "--document-private-items", "--profile", CHECKED];
    let mut doc = command("cargo", ALL);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run(doc)
}

/// Licences, bans and sources always; advisories where the database can be reached.
fn deny(pipeline: &mut Pipeline) -> Result<(), String> {
    if !works("cargo", &["deny", "--version"]) {
        pipeline.skip("cargo-deny is not installed: licences and advisories were not checked");
        return Ok(());
    }
    run(command("cargo", &["deny", "check", "licenses", "bans", "sources"]))?;
    if works("cargo", &["deny", "fetch", "db"]) {
        return run(command("cargo", &["deny", "check", "advisories"]));
    }
    pipeline.skip("the advisory database can't be reached: advisories were not checked");
    Ok(())
}

/// Unmodified programs on the provider, without features, and traced; and the provider under every libcrypto there is,
/// with the tests that `test` has built.
fn programs(pipeline: &mut Pipeline) -> Result<(), String> {
    let programs = pipeline.tests(command("cargo", &["test", ALL, "--release", "--package", PROGRAMS[1]]));
    for libcrypto in openssl::libraries()? {
        println!("\nThe provider under {}", libcrypto.display());
        let mut tests = command(
            "cargo",
            &["test", ALL, "--profile", CHECKED, "--package", "millstream-provider", "--lib", "--tests"],
        );
        tests.env("MILLSTREAM_TEST_LIBCRYPTO", libcrypto);
        pipeline.tests(tests)?;
    }
    programs
}

/// The rings, how a worker sleeps and is woken, and how a tally's rows are claimed, under every interleaving.
fn loom(pipeline: &mut Pipeline) -> Result<(), String> {
    let mut tests = command("cargo", &["test", ALL, "--release", "--package", "millstream-cwq"]);
    tests.args(["--test", "loom", "--test", "loom_mailbox", "--test", "loom_tally"]);
    tests.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", root().join("target/loom"));
    pipeline.tests(tests)
}

/// Every bench once, results compared, nothing timed: one object at a time, many, those in another process, OpenSSL's, what observing costs, and programs for SPARC; and whether a planted leak shows in time.
fn bench_once(pipeline: &mut Pipeline) -> Result<(), String> {
    const BENCH: &[&str] = &["run", "--release", "--quiet", "--package", "millstream-bench", "--"];
    pipeline.tests(command("cargo", &[BENCH, &["--check-only", "--all-kernels"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["many", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["timing", "--check-only"]].concat()))?;
    run(command("cargo", &["build", "--release", "--quiet", "--package", "millstream-cli"]))?;
    pipeline.tests(command("cargo", &[BENCH, &["isolated", "--check-only"]].concat()))?;
    run(command("cargo", &["build", "--release", "--quiet", "--package", "millstream-provider"]))?;
    pipeline.tests(command("cargo", &[BENCH, &["openssl", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["observe", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["sparc", "--check-only"]].concat()))
}

const AARCH64: &str = "aarch64-unknown-linux-gnu";

fn aarch64(pipeline: &mut Pipeline) -> Result<(), String> {
    let sysroot = command("rustc", &["--print", "target-libdir", "--target", AARCH64]).output();
    let std =
        sysroot.is_ok_and(|out| std::path::Path::new(String::from_utf8_lossy(&out.stdout).trim()).exists());
    let tools =
        works("aarch64-linux-gnu-gcc", &["--version"]) && works("qemu-aarch64-static", &["--version"]);
    if !std || !tools {
        pipeline
            .skip("aarch64: the target, its linker or qemu-user is missing: kernels neither built nor run");
        return Ok(());
    }
    // Everything must build; the kernels and what is under them run too.
    let faces = ["millstream-cli", "millstream-capi", "millstream-provider"];
    let mut arguments = vec!["check", "--target", AARCH64];
    arguments.extend(faces.iter().flat_map(|face| ["--package", face]));
    let folder = root().join("target/aarch64");
    let mut builds = command("cargo", &arguments);
    builds.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    builds.env("CARGO_TARGET_DIR", &folder);
    run(builds)?;
    let packages = ["--package", "millstream-cpu", "--package", "millstream-engines"];
    let mut arguments = vec!["test", ALL, "--release", "--target", AARCH64];
    arguments.extend(packages);
    let mut tests = command("cargo", &arguments);
    tests.env("CARGO_TARGET_DIR", &folder);
    tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc").env(
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
        "qemu-aarch64-static -cpu max -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib",
    );
    pipeline.tests(tests)
}

/// The features under which Miri executes the vector kernels; it knows nothing of IFMA. Two of the
/// crates that tests compare with use their portable code, because their kernels call
/// aeskeygenassist and sha1rnds4, which it does not know either.
const MIRI_FLAGS: &str = "-Ctarget-feature=+aes,+pclmulqdq,+sha,+sse4.2,+avx2,+bmi1,+bmi2,+vaes,+vpclmulqdq,\
     +avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vbmi,+avx512vbmi2,+gfni \
     --cfg aes_backend=\"soft\" --cfg sha1_backend=\"soft\"";

fn miri(pipeline: &mut Pipeline) -> Result<(), String> {
    if !works("cargo", &["+nightly", "miri", "--version"]) {
        pipeline.skip(
            "miri is not installed: the vector kernels, the accelerator and buffers were not interpreted",
        );
        return Ok(());
    }
    pipeline.interpret(&["millstream-engines", "millstream-cwq", "millstream-accelerator"], &[])?;
    // Of these the libraries only: their other tests are processes that fork.
    pipeline.interpret(&["millstream-shm", "millstream"], &["--lib"])
}

/// Each fuzz target for a short while, from its seeds.
fn fuzz(pipeline: &mut Pipeline) -> Result<(), String> {
    if !works("cargo", &["+nightly", "fuzz", "--version"]) {
        pipeline.skip("cargo-fuzz is not installed: file formats, control words and rings were not fuzzed");
        return Ok(());
    }
    let listed = command("cargo", &["+nightly", "fuzz", "list"]).output().map_err(|e| e.to_string())?;
    let targets = String::from_utf8_lossy(&listed.stdout).into_owned();
    if targets.trim().is_empty() {
        return Err("cargo fuzz list names no target".to_owned());
    }
    for target in targets.lines() {
        let time = if pipeline.deep { "-max_total_time=300" } else { "-max_total_time=5" };
        let limits = ["--", time, "-max_len=4096", "-verbosity=0", "-print_final_stats=1"];
        let mut arguments = vec!["+nightly", "fuzz", "run", target];
        // What is found goes into the first folder, which is not kept with the sources.
        let (found, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
        if root().join(&seeds).is_dir() {
            std::fs::create_dir_all(root().join(&found)).map_err(|e| format!("{found}: {e}"))?;
            arguments.extend([found.as_str(), seeds.as_str()]);
        }
        arguments.extend(limits);
        run(command("cargo", &arguments))?;
        // In the words of a test program, so that it is counted where this step runs beside others too.
        println!("{PASSED}1 passed; fuzz target {target}");
        pipeline.passed += 1;
    }
    Ok(())
}
