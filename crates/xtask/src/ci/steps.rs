//! The steps of the pipeline that are more than one command.

use std::path::{Path, PathBuf};

use super::pipeline::{ALL, BENCHES, ELSEWHERE, ORDINARY, PASSED, PROGRAMS, Pipeline, TABLES, TASKS};
use super::{built, suites};
use crate::install::build::{CLOUD_OF_BACKUP, Extent};
use crate::run::{CHECKED, RELEASE, STACK, command, output, root, run, works};
use crate::{openssl, release, twice};

/// Runs the tests of the workspace, and those inside the engines, which are left out there: they would have all kernels compiled
/// once more, and need no optimisation. Runs the suites of queues and workers on the general way, too. Several suites run
/// at a time, because many of them wait for processes.
pub fn test(pipeline: &mut Pipeline) -> Result<(), String> {
    let all = [&["test", ALL, "--workspace", "--profile", CHECKED], ELSEWHERE].concat();
    let built = built::build(&all)?;
    let general = built.iter().filter(|built| OF_WORDS.contains(&built.suite()));
    let general: Vec<String> = general.map(|built| format!("{}{GENERAL}", built.name)).collect();
    let mut suites: Vec<String> = built.iter().map(|built| built.name.clone()).collect();
    if let Some(long) = LONG_TESTS.iter().find(|long| !suites.iter().any(|suite| suite == *long)) {
        return Err(format!("{long} is no suite of tests"));
    }
    suites.sort_by_key(|name| LONG_TESTS.iter().position(|long| long == name).unwrap_or(LONG_TESTS.len()));
    suites.splice(LONG_TESTS.len()..LONG_TESTS.len(), [EXAMPLES, WITHIN, OF_TASKS].map(str::to_owned));
    suites.extend(general);
    let deep = pipeline.deep;
    suites::run(pipeline, suites::OF_TESTS, suites, |name| {
        let of_cargo = |arguments: &[&str]| {
            let mut cargo = command("cargo", arguments);
            cargo.env(STACK.0, STACK.1);
            cargo
        };
        let (suite, is_general) = match name.strip_suffix(GENERAL) {
            Some(suite) => (suite, true),
            None => (name, false),
        };
        match built.iter().find(|built| built.name == suite) {
            Some(built) if is_general => {
                let mut tests = built.command();
                tests.env("MILLSTREAM_QUEUE", "general");
                tests.args(NOT_OF_WORDS.iter().flat_map(|tests| ["--skip", tests]));
                if !deep && built.name == AROUND_WORDS.0 {
                    tests.args(AROUND_WORDS.1.iter().flat_map(|tests| ["--skip", tests]));
                }
                tests
            }
            Some(built) => {
                let mut tests = built.command();
                if deep && WITH_LONG.contains(&&*built.name) {
                    tests.arg("--include-ignored");
                }
                tests
            }
            None if name == WITHIN => of_cargo(KERNELS_WITHIN),
            None if name == OF_TASKS => of_cargo(THESE_TASKS),
            // The same packages as above: for fewer of them cargo would choose other features, and compile much once more.
            None => of_cargo(&[&all[..], &["--doc"]].concat()),
        }
    })
}

/// The suites that have tests for `--deep` only, which are ignored otherwise.
const WITH_LONG: &[&str] = &["publickey/slhdsa_vectors", "cli/backup", "cli/esp", "columns/columns"];

/// The text behind the name of a suite that runs on the general way of queues.
const GENERAL: &str = ", on the general way";

/// The names of what cargo runs itself.
const EXAMPLES: &str = "the examples in the documentation";
const WITHIN: &str = "inside the engines";
const OF_TASKS: &str = "development tasks";

/// The suites that take longest, which begin first so that none of them is left at the end. The first compiles the release.
const LONG_TESTS: &[&str] = &[
    "capi/installed",
    "observe/trace",
    "broker/broker",
    "cli/isolated",
    "broker/worker",
    "store/power",
    "ultrasparc/threads",
    "cli/keys",
    "cli/docs",
    "observe/code",
];

/// The suites that send words through accelerators: published vectors, rules, schedules, residue, hostile clients, recovery.
const OF_WORDS: &[&str] = &["accelerator", "secrets", "queue", "shared", "isolated"];

/// The tests of those suites that are not about the way of words: what a token asks of its user takes long on purpose.
const NOT_OF_WORDS: &[&str] = &["tokens::", "holders::", "presignatures::"];

/// A suite and its tests that are about what stands around the words: the service, its workers and their memory. They run on the fast way,
/// and with `--deep` a second time on the general one. What hostile clients send runs on both.
const AROUND_WORDS: (&str, &[&str]) = ("cli/isolated", &["private_keys::", "recovery::", "secrets::"]);

/// The command for the tests of this package.
const THESE_TASKS: &[&str] = &["test", ALL, "--profile", "tasks", "--package", TASKS];

/// The command for the tests inside the library of the engines, which is not optimised for them. What they stand on is there already.
const KERNELS_WITHIN: &[&str] = &[
    "test",
    ALL,
    "--profile",
    CHECKED,
    "--config",
    "profile.checked.package.millstream-engines.opt-level=0",
    "--package",
    "millstream-engines",
    "--lib",
];

/// Checks that nothing is compiled twice. Only the nightly cargo tells what it would compile.
pub fn twice(pipeline: &mut Pipeline) -> Result<(), String> {
    if !works("cargo", &["+nightly", "--version"]) {
        pipeline.skip("the nightly toolchain is not installed: nobody looked for what is compiled twice");
        return Ok(());
    }
    twice::check()
}

pub fn doc(_: &mut Pipeline) -> Result<(), String> {
    document(ORDINARY, CHECKED)
}

/// Makes the documentation, behind the step that ran clippy in the same profile. Clippy has looked at all libraries that rustdoc reads
/// first, and left what the compiler would leave: with clippy's driver in the compiler's place, as `cargo clippy` sets it, cargo finds that
/// there is nothing to do for them.
fn document(packages: &[&str], profile: &str) -> Result<(), String> {
    let how = ["--no-deps", "--document-private-items", "--profile", profile];
    let mut doc = command("cargo", &[&["doc"], packages, &how].concat());
    doc.env("RUSTDOCFLAGS", "-D warnings");
    let sysroot = output(command("rustc", &["--print", "sysroot"]))?;
    doc.env("RUSTC_WORKSPACE_WRAPPER", Path::new(sysroot.trim()).join("bin/clippy-driver"));
    doc.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
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
    // The picture of who needs a crate twice would hide the faults of the other steps.
    run(command("cargo", &["deny", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"]))?;
    if works("cargo", &["deny", "fetch", "db"]) {
        return run(command("cargo", &["deny", "check", "advisories"]));
    }
    pipeline.skip("the advisory database can't be reached: advisories were not checked");
    Ok(())
}

/// The command for the tests of real programs.
const TESTS_OF_PROGRAMS: &[&str] = &["test", ALL, "--release", "--package", PROGRAMS];

/// The crates that the tests of real programs load and run, in the release. The packages are made of the same.
const RELEASED: &[&str] = &[
    "--package",
    "millstream-cli",
    "--package",
    "millstream-provider",
    "--package",
    "millstream-pkcs11",
    "--package",
    "millstream-srtp",
    "--package",
    "millstream-dpdk",
];

/// Builds the release and the tests of real programs. Each crate of a release is one unit of code, so most of this keeps one processor
/// busy: it runs beside the steps that need no release, and no program waits for it in its test.
pub fn release_build(_: &mut Pipeline) -> Result<(), String> {
    run(command("cargo", &[&["build", "--release"], RELEASED].concat()))?;
    run(command("cargo", &[TESTS_OF_PROGRAMS, &["--no-run"]].concat()))
}

/// Runs unmodified programs on the provider, without features, and traced. Runs the provider under every libcrypto
/// there is, with the tests that `test` has built.
pub fn programs(pipeline: &mut Pipeline) -> Result<(), String> {
    release_build(pipeline)?;
    let left_out = pipeline.left_out("programs");
    let under: Vec<(String, PathBuf)> = openssl::libraries(pipeline.deep)?
        .into_iter()
        .map(|libcrypto| (format!("the provider under {}", libcrypto.display()), libcrypto))
        .collect();
    let mut suites = suites::of("tests")?;
    // These are long, and wait for nothing.
    suites.splice(0..0, under.iter().map(|(name, _)| name.clone()));
    suites::run(pipeline, suites::OF_PROGRAMS, suites, |suite| {
        match under.iter().find(|(name, _)| name == suite) {
            Some((_, libcrypto)) => {
                let provider = ["--package", "millstream-provider", "--lib", "--tests"];
                let mut tests =
                    command("cargo", &[&["test", ALL, "--profile", CHECKED], &provider[..]].concat());
                tests.env("MILLSTREAM_TEST_LIBCRYPTO", libcrypto);
                tests
            }
            None => {
                let mut tests = command("cargo", &[TESTS_OF_PROGRAMS, &["--test", suite]].concat());
                tests.args(&left_out);
                tests
            }
        }
    })
}

/// Tests the rings, a worker's sleeping and waking, and the claiming of a tally's rows, under every interleaving. Half of the model
/// checker's dependencies are there to print, and the profile leaves them as they are.
pub fn loom(pipeline: &mut Pipeline) -> Result<(), String> {
    let mut tests = command("cargo", &["test", ALL, "--profile", CHECKED, "--package", "millstream-cwq"]);
    tests.args(["--test", "loom", "--test", "loom_mailbox", "--test", "loom_tally"]);
    tests.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", root().join("target/loom"));
    pipeline.tests(tests)
}

/// Runs clippy over the benches and their own tests, and every bench once, compares results, and times nothing: one object at a time, many,
/// those in another process, OpenSSL's, nginx's handshakes, the cost of observing, and programs for SPARC. Checks too that
/// a planted leak shows in time.
pub fn bench_once(pipeline: &mut Pipeline) -> Result<(), String> {
    const BENCH: &[&str] = &["run", "--release", "--quiet", "--package", BENCHES, "--"];
    let package = ["--package", BENCHES];
    super::clippy(&package, RELEASE)?;
    document(&package, RELEASE)?;
    pipeline.tests(command("cargo", &["test", ALL, "--release", "--package", BENCHES]))?;
    pipeline.tests(command("cargo", &[BENCH, &["--check-only", "--all-kernels"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["many", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["timing", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["publickey", "--check-only"]].concat()))?;
    run(command("cargo", &["build", "--release", "--quiet", "--package", "millstream-cli"]))?;
    pipeline.tests(command("cargo", &[BENCH, &["isolated", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["private-keys", "--check-only"]].concat()))?;
    run(command("cargo", &["build", "--release", "--quiet", "--package", "millstream-pkcs11"]))?;
    pipeline.tests(command("cargo", &[BENCH, &["tokens", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["programs", "--check-only"]].concat()))?;
    run(command("cargo", &["build", "--release", "--quiet", "--package", "millstream-provider"]))?;
    pipeline.tests(command("cargo", &[BENCH, &["openssl", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["handshakes", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["observe", "--check-only"]].concat()))?;
    pipeline.tests(command("cargo", &[BENCH, &["sparc", "--check-only"]].concat()))
}

/// Tests backups in a real S3 server. Compiling what speaks to it takes longer than an ordinary run has.
pub fn backup_stores(pipeline: &mut Pipeline) -> Result<(), String> {
    pipeline.tests(command(
        "cargo",
        &["test", "--profile", CHECKED, "--package", "millstream-backup", "--features", CLOUD_OF_BACKUP],
    ))
}

/// Tests tables, with those that PyArrow writes and reads. Compiling Parquet takes longer than an ordinary run has.
pub fn tables(pipeline: &mut Pipeline) -> Result<(), String> {
    let command_of = ["--package", "millstream-cli", "--features", "tables"];
    let lints = ["--all-targets", "--profile", CHECKED, "--", "-D", "warnings"];
    for packages in [&["--package", TABLES][..], &command_of] {
        run(command("cargo", &[&["clippy"], packages, &lints].concat()))?;
    }
    document(&["--package", TABLES], CHECKED)?;
    let test = ["test", ALL, "--profile", CHECKED];
    pipeline.tests(command("cargo", &[&test[..], &["--package", TABLES]].concat()))?;
    pipeline.tests(command("cargo", &[&test[..], &command_of, &["--test", "columns"]].concat()))
}

/// Tests a package in the engine of others that it is for, which takes minutes to compile.
pub fn apart(pipeline: &mut Pipeline, package: &str) -> Result<(), String> {
    let lints = ["--all-targets", "--profile", CHECKED, "--", "-D", "warnings"];
    run(command("cargo", &[&["clippy", "--package", package], &lints[..]].concat()))?;
    document(&["--package", package], CHECKED)?;
    pipeline.tests(command("cargo", &["test", ALL, "--profile", CHECKED, "--package", package]))
}

/// Tests tokens whose device secret is in a TPM, on swtpm. It is a feature that an ordinary run does not compile.
pub fn tokens_tpm(pipeline: &mut Pipeline) -> Result<(), String> {
    let has_library = works("pkg-config", &["--exists", "tss2-esys"]);
    if !has_library || !works("swtpm", &["--version"]) || !works("tpm2_clear", &["--version"]) {
        pipeline.skip("libtss2-dev, swtpm or tpm2-tools is not installed: no TPM opened a token");
        return Ok(());
    }
    let test = ["test", ALL, "--profile", CHECKED, "--features", TPM];
    pipeline.tests(command("cargo", &[&test[..], &["--package", "millstream-store"]].concat()))?;
    let of_cli = ["--package", "millstream-cli", "--test", "tpm"];
    pipeline.tests(command("cargo", &[&test[..], &of_cli].concat()))
}

/// The feature of the crates with tokens.
const TPM: &str = "tpm";

/// Makes the packages from the release that the steps before have built, and tries them in a clean system.
pub fn release(pipeline: &mut Pipeline) -> Result<(), String> {
    let extent = if pipeline.deep { Extent::Full } else { Extent::Small };
    let checked = release::check(extent)?;
    pipeline.passed += checked.passed;
    checked.skipped.iter().for_each(|why| pipeline.skip(why));
    Ok(())
}

const AARCH64: &str = "aarch64-unknown-linux-gnu";

/// The options for code that an emulator runs: it is as checked as the rest, and little optimised, because compiling takes longer than running.
const EMULATED: &[&str] = &[
    "--config",
    "profile.checked.package.millstream-engines.opt-level=1",
    "--config",
    "profile.checked.package.millstream-kernel.opt-level=1",
    "--config",
    "profile.checked.package.millstream-publickey.opt-level=1",
];

/// The suites that an ordinary run has an emulator execute: every kernel of AArch64 computes its known answers, and most of them published vectors. The
/// longest suites, and those of portable code, which the processor of the pipeline executes too, run with `--deep` only: each takes minutes there.
const OF_AARCH64_KERNELS: &[&str] = &[
    "aes_vectors",
    "camellia",
    "chacha20poly1305_lanes",
    "crc_kernels",
    "features",
    "gcm_kernels",
    "gcm_siv",
    "hash_kernels",
    "registry",
    "shake",
];

/// Builds for AArch64 what is installed, and has an emulator run the tests of kernels. The build scripts and macros are those that the steps
/// before have compiled, because the profile is the same.
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
    let faces =
        ["millstream-cli", "millstream-capi", "millstream-provider", "millstream-pkcs11", "millstream-srtp"];
    let mut arguments = vec!["check", "--profile", CHECKED, "--target", AARCH64];
    arguments.extend(faces.iter().flat_map(|face| ["--package", face]));
    let mut builds = command("cargo", &arguments);
    builds.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    run(builds)?;
    let packages = ["millstream-cpu", "millstream-kernel", "millstream-engines", "millstream-publickey"];
    let packages = packages.iter().flat_map(|package| ["--package", package]).collect::<Vec<_>>();
    let within = ["--package", "millstream-engines", "--package", "millstream-publickey", "--lib"];
    let of_kernels = OF_AARCH64_KERNELS.iter().flat_map(|suite| ["--test", suite]);
    let of_kernels: Vec<&str> = ["--package", "millstream-engines"].into_iter().chain(of_kernels).collect();
    let what: &[&[&str]] = if pipeline.deep { &[&packages, &within] } else { &[&of_kernels] };
    for what in what {
        let arguments = [&["test", ALL, "--profile", CHECKED], *what, EMULATED].concat();
        let mut tests = command("cargo", &arguments);
        tests.args(["--target", AARCH64]).env(STACK.0, STACK.1);
        tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc").env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            "qemu-aarch64-static -cpu max -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib",
        );
        pipeline.tests(tests)?;
    }
    Ok(())
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
        let time = if pipeline.deep { "-max_total_time=300" } else { "-max_total_time=30" };
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
