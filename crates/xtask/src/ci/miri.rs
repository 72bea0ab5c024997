//! The step that has Miri interpret rings and buffers, and with `--deep` the accelerator and the vector kernels.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::pipeline::{ALL, Pipeline};
use crate::run::{at, command, root, works};

/// The features under which Miri executes the vector kernels; it knows nothing of IFMA. Two of the
/// crates that tests compare with use their portable code, because their kernels call
/// aeskeygenassist and sha1rnds4, which it does not know either.
const MIRI_FLAGS: &str = "-Ctarget-feature=+aes,+pclmulqdq,+sha,+sse4.2,+avx2,+bmi1,+bmi2,+vaes,+vpclmulqdq,\
     +avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vbmi,+avx512vbmi2,+gfni \
     --cfg aes_backend=\"soft\" --cfg sha1_backend=\"soft\"";

pub fn miri(pipeline: &mut Pipeline) -> Result<(), String> {
    if !works("cargo", &["+nightly", "miri", "--version"]) {
        pipeline.skip("miri is not installed: rings and buffers were not interpreted");
        return Ok(());
    }
    let crates: Vec<&str> = WHOLE.iter().chain(DEEP.iter().filter(|_| pipeline.deep)).copied().collect();
    let mut suites = BTreeSet::new();
    for krate in &crates {
        suites.extend(named(&root().join("crates").join(krate).join("tests"))?);
    }
    let suites: Vec<&str> = suites.iter().flat_map(|suite| ["--test", suite]).collect();
    interpret(pipeline, &crates, &[&["--lib"], &suites[..]].concat())?;
    // Only the libraries run here, because the other tests of these crates are processes that fork.
    let libraries: &[&str] = if pipeline.deep { &["shm", "millstream"] } else { &["shm"] };
    interpret(pipeline, libraries, &["--lib"])
}

/// The crates of which Miri executes the library's tests and the suites.
const WHOLE: &[&str] = &["kernel", "cwq"];

/// More of them, which it executes for a quarter of an hour: with `--deep` only. So is the crate `millstream`, for which it has to read
/// all the others first.
pub const DEEP: &[&str] = &["accelerator", "engines", "publickey"];

/// The beginning of the names of the tests that Miri executes.
const TESTS: &str = "miri_";

/// Returns the suites in a folder of tests whose sources have a test for Miri. The others have none to run, and each
/// would be compiled for some seconds.
fn named(tests: &Path) -> Result<Vec<String>, String> {
    let mut suites = Vec::new();
    for path in entries(tests)? {
        let (main, sources) =
            if path.is_dir() { (path.join("main.rs"), entries(&path)?) } else { (path.clone(), vec![path]) };
        let mut found = false;
        for source in sources.iter().filter(|source| source.extension().is_some_and(|end| end == "rs")) {
            found |= std::fs::read_to_string(source).map_err(at(source))?.contains(TESTS);
        }
        let suite = if main.ends_with("main.rs") {
            main.parent().and_then(Path::file_name)
        } else {
            main.file_stem()
        };
        if let Some(suite) = suite.filter(|_| found && main.exists()) {
            suites.push(suite.to_string_lossy().into_owned());
        }
    }
    Ok(suites)
}

/// Returns the entries of a folder. A folder that is not there has none.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let list = std::fs::read_dir(folder).map_err(at(folder))?;
    list.map(|entry| entry.map(|entry| entry.path()).map_err(at(folder))).collect()
}

/// Has Miri execute the tests that are named for it.
fn interpret(pipeline: &mut Pipeline, packages: &[&str], targets: &[&str]) -> Result<(), String> {
    let mut arguments = vec!["+nightly", "miri", "test", ALL];
    let packages: Vec<String> = packages
        .iter()
        .map(|name| if *name == "millstream" { (*name).to_owned() } else { format!("millstream-{name}") })
        .collect();
    arguments.extend(packages.iter().flat_map(|package| ["--package", package]));
    arguments.extend(targets);
    arguments.push(TESTS);
    let mut tests = command("cargo", &arguments);
    tests
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("RUSTFLAGS", MIRI_FLAGS)
        .env("CARGO_TARGET_DIR", root().join("target/miri"));
    pipeline.tests_but_long("miri", tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_with_a_test_for_miri_are_found() {
        let suites =
            |krate: &str| named(&root().join("crates").join(krate).join("tests")).expect("folders are read");
        assert!(suites("engines").contains(&"hash_kernels".to_owned()));
        assert!(!suites("engines").contains(&"rc4".to_owned()));
        // A suite of several files is named by its folder, and a folder that is no suite is none.
        assert_eq!(suites("accelerator"), ["accelerator"]);
        assert!(suites("no such crate").is_empty());
    }
}
