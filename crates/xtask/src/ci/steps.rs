//! The steps of the pipeline that are more than one command.

use std::path::Path;

use super::pipeline::{ALL, BENCHES, ON_RELEASE, PASSED, PROGRAMS, Pipeline};
use crate::run::{CHECKED, RELEASE, command, root, run, works};
use crate::{openssl, release};

/// Runs the tests of the workspace, and those inside the library of the engines, which are left out there: they would have all
/// kernels compiled once more, and need no optimisation. Runs the suites of queues and workers on the general way, too.
pub fn test(pipeline: &mut Pipeline) -> Result<(), String> {
    let all = [&["test", ALL, "--workspace", "--profile", CHECKED], ON_RELEASE].concat();
    let tests = pipeline.tests(command("cargo", &all));
    let mut engines = command("cargo", ENGINES_WITHIN);
    engines.env(STACK.0, STACK.1);
    pipeline.tests(engines)?;
    let mut general = command("cargo", &[&["test", ALL, "--profile", CHECKED], OF_WORDS].concat());
    general.env("MILLSTREAM_QUEUE", "general");
    pipeline.tests(general)?;
    tests
}

/// The suites that send words through accelerators: published vectors, rules, schedules, residue, hostile clients, recovery.
const OF_WORDS: &[&str] = &[
    "--package=millstream-accelerator",
    "--package=millstream",
    "--package=millstream-cli",
    "--test=accelerator",
    "--test=secrets",
    "--test=queue",
    "--test=shared",
    "--test=isolated",
];

/// The command for the tests inside the library of the engines.
const ENGINES_WITHIN: &[&str] =
    &["test", ALL, "--profile", "tasks", "--package", "millstream-engines", "--lib"];

/// Room for what is not optimised: tables of values that would otherwise be registers.
const STACK: (&str, &str) = ("RUST_MIN_STACK", "67108864");

pub fn doc(_: &mut Pipeline) -> Result<(), String> {
    const ALL: &[&str] =
        &["doc", "--workspace", "--no-deps", "--document-private-items", "--profile", RELEASE];
    let mut doc = command("cargo", ALL);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run(doc)
}

/// Makes pages of the book below `target/book`. The step `links` has checked its chapters already.
pub fn book(pipeline: &mut Pipeline) -> Result<(), String> {
    if !works("mdbook", &["--version"]) {
        pipeline.skip("mdbook is not installed: the book's chapters and links were checked, and no pages were made of them");
        return Ok(());
    }
    run(command("mdbook", &["build", "docs"]))
}

/// Checks licences, bans and sources always, and advisories if the database can be reached.
pub fn deny(pipeline: &mut Pipeline) -> Result<(), String> {
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

/// Runs unmodified programs on the provider, without features, and traced. Runs the provider under every libcrypto
/// there is, with the tests that `test` has built.
pub fn programs(pipeline: &mut Pipeline) -> Result<(), String> {
    let tests = command("cargo", &["test", ALL, "--release", "--package", PROGRAMS]);
    let programs = pipeline.tests_but_long("programs", tests);
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

/// Tests the rings, a worker's sleeping and waking, and the claiming of a tally's rows, under every interleaving.
pub fn loom(pipeline: &mut Pipeline) -> Result<(), String> {
    let mut tests = command("cargo", &["test", ALL, "--release", "--package", "millstream-cwq"]);
    tests.args(["--test", "loom", "--test", "loom_mailbox", "--test", "loom_tally"]);
    tests.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", root().join("target/loom"));
    pipeline.tests(tests)
}

/// Runs the benches' own tests, and every bench once, compares results, and times nothing: one object at a time, many,
/// those in another process, OpenSSL's, nginx's handshakes, the cost of observing, and programs for SPARC. Checks too that
/// a planted leak shows in time.
pub fn bench_once(pipeline: &mut Pipeline) -> Result<(), String> {
    const BENCH: &[&str] = &["run", "--release", "--quiet", "--package", BENCHES, "--"];
    pipeline.tests(command("cargo", &["test", ALL, "--release", "--package", BENCHES]))?;
    pipeline.tests(command("cargo", &[BENCH, &["--check-only", "--all-kernels"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["many", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["timing", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["publickey", "--check-only"]].concat()))?;
    run(command("cargo", &["build", "--release", "--quiet", "--package", "millstream-cli"]))?;
    pipeline.tests(command("cargo", &[BENCH, &["isolated", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["private-keys", "--check-only"]].concat()))?;
    run(command("cargo", &["build", "--release", "--quiet", "--package", "millstream-provider"]))?;
    pipeline.tests(command("cargo", &[BENCH, &["openssl", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["handshakes", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["observe", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["sparc", "--check-only"]].concat()))
}

/// Makes the packages from the release that the steps before have built, and tries them in a clean system.
pub fn release(pipeline: &mut Pipeline) -> Result<(), String> {
    let checked = release::check()?;
    pipeline.passed += checked.passed;
    checked.skipped.iter().for_each(|why| pipeline.skip(why));
    Ok(())
}

const AARCH64: &str = "aarch64-unknown-linux-gnu";

pub fn aarch64(pipeline: &mut Pipeline) -> Result<(), String> {
    let sysroot = command("rustc", &["--print", "target-libdir", "--target", AARCH64]).output();
    let std = sysroot.is_ok_and(|out| Path::new(String::from_utf8_lossy(&out.stdout).trim()).exists());
    let tools =
        works("aarch64-linux-gnu-gcc", &["--version"]) && works("qemu-aarch64-static", &["--version"]);
    if !std || !tools {
        pipeline
            .skip("aarch64: the target, its linker or qemu-user is missing: kernels neither built nor run");
        return Ok(());
    }
    // Every crate must build, and the kernels and the crates under them run too.
    let faces = ["millstream-cli", "millstream-capi", "millstream-provider", "millstream-pkcs11"];
    let mut arguments = vec!["check", "--target", AARCH64];
    arguments.extend(faces.iter().flat_map(|face| ["--package", face]));
    let folder = root().join("target/aarch64");
    let mut builds = command("cargo", &arguments);
    builds.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    builds.env("CARGO_TARGET_DIR", &folder);
    run(builds)?;
    let packages = ["millstream-cpu", "millstream-kernel", "millstream-engines", "millstream-publickey"];
    let packages = packages.iter().flat_map(|package| ["--package", package]).collect::<Vec<_>>();
    for arguments in [[&["test", ALL, "--release"], &*packages].concat(), ENGINES_WITHIN.to_vec()] {
        let mut tests = command("cargo", &arguments);
        tests.args(["--target", AARCH64]).env("CARGO_TARGET_DIR", &folder).env(STACK.0, STACK.1);
        tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc").env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            "qemu-aarch64-static -cpu max -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib",
        );
        pipeline.tests(tests)?;
    }
    Ok(())
}

/// The features under which Miri executes the vector kernels; it knows nothing of IFMA. Two of the
/// crates that tests compare with use their portable code, because their kernels call
/// aeskeygenassist and sha1rnds4, which it does not know either.
const MIRI_FLAGS: &str = "-Ctarget-feature=+aes,+pclmulqdq,+sha,+sse4.2,+avx2,+bmi1,+bmi2,+vaes,+vpclmulqdq,\
     +avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vbmi,+avx512vbmi2,+gfni \
     --cfg aes_backend=\"soft\" --cfg sha1_backend=\"soft\"";

pub fn miri(pipeline: &mut Pipeline) -> Result<(), String> {
    if !works("cargo", &["+nightly", "miri", "--version"]) {
        pipeline.skip(
            "miri is not installed: the vector kernels, the accelerator and buffers were not interpreted",
        );
        return Ok(());
    }
    interpret(
        pipeline,
        &[
            "millstream-kernel",
            "millstream-engines",
            "millstream-publickey",
            "millstream-cwq",
            "millstream-accelerator",
        ],
        &["--lib", "--tests"],
    )?;
    // Only the libraries run here, because the other tests of these crates are processes that fork.
    interpret(pipeline, &["millstream-shm", "millstream"], &["--lib"])
}

/// Has Miri execute the tests that are named for it.
fn interpret(pipeline: &mut Pipeline, packages: &[&str], targets: &[&str]) -> Result<(), String> {
    let mut arguments = vec!["+nightly", "miri", "test", ALL];
    arguments.extend(packages.iter().flat_map(|package| ["--package", *package]));
    arguments.extend(targets);
    arguments.push("miri_");
    let mut tests = command("cargo", &arguments);
    tests
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("RUSTFLAGS", MIRI_FLAGS)
        .env("CARGO_TARGET_DIR", root().join("target/miri"));
    pipeline.tests_but_long("miri", tests)
}

/// Runs each fuzz target for a short while, from its seeds.
pub fn fuzz(pipeline: &mut Pipeline) -> Result<(), String> {
    if !works("cargo", &["+nightly", "fuzz", "--version"]) {
        pipeline.skip("cargo-fuzz is not installed: file formats, control words and rings were not fuzzed");
        return Ok(());
    }
    let listed = command("cargo", &["+nightly", "fuzz", "list"]).output().map_err(|e| e.to_string())?;
    let targets = String::from_utf8_lossy(&listed.stdout).into_owned();
    if targets.trim().is_empty() {
        return Err("cargo fuzz list names no target".to_owned());
    }
    // All targets are built at once, on both processors, and each run then finds its program.
    run(command("cargo", &["+nightly", "fuzz", "build"]))?;
    for target in targets.lines() {
        let time = if pipeline.deep { "-max_total_time=300" } else { "-max_total_time=5" };
        let limits = ["--", time, "-max_len=4096", "-verbosity=0", "-print_final_stats=1"];
        let mut arguments = vec!["+nightly", "fuzz", "run", target];
        // The fuzzer writes new inputs to the first folder, which is not kept with the sources.
        let (found, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
        if root().join(&seeds).is_dir() {
            std::fs::create_dir_all(root().join(&found)).map_err(|e| format!("{found}: {e}"))?;
            arguments.extend([found.as_str(), seeds.as_str()]);
        }
        arguments.extend(limits);
        run(command("cargo", &arguments))?;
        // The line has the form of a test program's, so that it is counted if this step runs beside others too.
        println!("{PASSED}1 passed; fuzz target {target}");
        pipeline.passed += 1;
    }
    Ok(())
}
