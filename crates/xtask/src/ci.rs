//! The whole pipeline. Whatever runs it, on a desk or elsewhere, only calls this.

use std::time::{Duration, Instant};

use crate::run::{command, root, run, run_keeping, works};
use crate::{deps, generate, openssl, setup, vectors};

type Step = fn(&mut Pipeline) -> Result<(), String>;

/// In the order in which faults are cheapest to find.
const STEPS: &[(&str, Step)] = &[
    ("fmt", |_| run(command("cargo", &["fmt", "--all", "--check"]))),
    ("deps", |_| deps::check()),
    ("clippy", |_| {
        run(command("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    }),
    ("doc", doc),
    ("deny", deny),
    ("vectors", |_| vectors::install()),
    ("openssl", |_| openssl::openssl()),
    ("test", |p| {
        p.tests(command(
            "cargo",
            &["test", ALL, "--workspace", "--profile", CHECKED, PROGRAMS[0], PROGRAMS[1]],
        ))
    }),
    ("programs", programs),
    ("loom", loom),
    ("generated", |_| generate::generate(true)),
    ("bench-once", bench_once),
    ("aarch64", aarch64),
    ("miri", miri),
    ("fuzz", fuzz),
];

/// As optimised as a release, so that tests of whole ciphers take no time, with overflow checks and assertions. The
/// release itself is what `programs` and `bench-once` run.
pub const CHECKED: &str = "checked";

/// One failure does not hide the next.
const ALL: &str = "--no-fail-fast";

/// Real programs run once, in a step of their own: they take minutes, and it is the module that they test.
const PROGRAMS: [&str; 2] = ["--exclude", "millstream-tests"];

/// What the steps have seen.
#[derive(Default)]
struct Pipeline {
    /// Whether it may take hours.
    deep: bool,
    skipped: Vec<String>,
    passed: u64,
}

/// Runs the pipeline, or the steps whose name contains `only`; with `deep`, what takes too long for each change too.
///
/// # Errors
/// Names the first step that failed.
pub fn ci(install: bool, only: Option<&str>, deep: bool) -> Result<(), String> {
    if install {
        setup::setup()?;
    }
    let mut pipeline = Pipeline { deep, ..Pipeline::default() };
    let mut times: Vec<(&str, Duration)> = Vec::new();
    for (name, step) in STEPS.iter().filter(|(name, _)| only.is_none_or(|o| name.contains(o))) {
        println!("\n==== {name}");
        let start = Instant::now();
        step(&mut pipeline).map_err(|why| format!("step {name}: {why}"))?;
        times.push((name, start.elapsed()));
    }
    println!("\n==== summary");
    for (name, time) in times {
        println!("{name:14} {:6.1} s", time.as_secs_f64());
    }
    pipeline.skipped.sort();
    pipeline.skipped.dedup();
    for line in &pipeline.skipped {
        println!("{line}");
    }
    println!("{} passed, 0 failed, {} skipped", pipeline.passed, pipeline.skipped.len());
    Ok(())
}

impl Pipeline {
    /// Runs tests, counts those that passed, and keeps the lines that say what could not run.
    fn tests(&mut self, tests: std::process::Command) -> Result<(), String> {
        let lines =
            run_keeping(tests, |line| line.starts_with("SKIPPED ") || line.starts_with("test result: ok. "))?;
        for line in lines {
            match line.strip_prefix("test result: ok. ") {
                Some(counts) => {
                    let passed = counts.split(' ').next().and_then(|n| n.parse::<u64>().ok());
                    self.passed += passed.ok_or_else(|| format!("not understood: {line}"))?;
                }
                None => self.skipped.push(line),
            }
        }
        Ok(())
    }

    fn skip(&mut self, why: &str) {
        println!("SKIPPED {why}");
        self.skipped.push(format!("SKIPPED {why}"));
    }
}

fn doc(_: &mut Pipeline) -> Result<(), String> {
    let mut doc = command("cargo", &["doc", "--workspace", "--no-deps", "--document-private-items"]);
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

/// Unmodified programs on the provider, without features, and traced; and the provider under every libcrypto there is.
fn programs(pipeline: &mut Pipeline) -> Result<(), String> {
    pipeline.tests(command("cargo", &["test", ALL, "--release", "--package", PROGRAMS[1]]))?;
    for libcrypto in openssl::libraries()? {
        println!("\nThe provider under {}", libcrypto.display());
        let mut tests = command("cargo", &["test", ALL, "--release", "--package", "millstream-provider"]);
        tests.env("MILLSTREAM_TEST_LIBCRYPTO", libcrypto);
        pipeline.tests(tests)?;
    }
    Ok(())
}

/// The rings under every interleaving of their two sides.
fn loom(pipeline: &mut Pipeline) -> Result<(), String> {
    let mut tests = command("cargo", &["test", "--release", "--package", "millstream-cwq", "--test", "loom"]);
    tests.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", root().join("target/loom"));
    pipeline.tests(tests)
}

/// Every bench once, results compared, nothing timed: one object at a time, many, those in another process, OpenSSL's, what observing costs, and programs for SPARC.
fn bench_once(pipeline: &mut Pipeline) -> Result<(), String> {
    const BENCH: &[&str] = &["run", "--release", "--quiet", "--package", "millstream-bench", "--"];
    pipeline.tests(command("cargo", &[BENCH, &["--check-only", "--all-kernels"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["many", "--check-only"]].concat()))?;
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
    let mut builds = command("cargo", &arguments);
    builds.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    run(builds)?;
    let packages = ["--package", "millstream-cpu", "--package", "millstream-engines"];
    let mut arguments = vec!["test", ALL, "--release", "--target", AARCH64];
    arguments.extend(packages);
    let mut tests = command("cargo", &arguments);
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
        pipeline.skip("miri is not installed: the vector kernels and the accelerator were not interpreted");
        return Ok(());
    }
    let mut arguments = vec!["+nightly", "miri", "test", ALL];
    for package in ["millstream-engines", "millstream-cwq", "millstream-accelerator"] {
        arguments.extend(["--package", package]);
    }
    arguments.push("miri_");
    if !pipeline.deep {
        arguments.extend(["--", "--skip", "miri_long_"]);
    }
    let mut tests = command("cargo", &arguments);
    tests
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("RUSTFLAGS", MIRI_FLAGS)
        .env("CARGO_TARGET_DIR", root().join("target/miri"));
    pipeline.tests(tests)
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
        arguments.extend(limits);
        run(command("cargo", &arguments))?;
        pipeline.passed += 1;
    }
    Ok(())
}
