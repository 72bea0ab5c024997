//! The Python package: its wheel, built by maturin, and its tests, with the engines of tables from Python's registry.
//!
//! Everything is in a virtual environment below `target`, which is made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{CHECKED, STACK, at, command, root, run, run_keeping};

/// The packages that the tests need, beside pip's own.
const PACKAGES: &[&str] = &[
    "maturin>=1.9,<2",
    "auditwheel",
    "pytest",
    "pyarrow",
    "duckdb",
    "polars",
    "datafusion",
    "pandas",
    "cryptography",
    "tink",
    "ray[data]",
];

/// The package of the engine that takes long to install and to start.
const SPARK: &str = "pyspark";

/// Builds the wheel, installs it in the environment, and runs the tests.
///
/// # Errors
/// When a package can't be had, the wheel can't be built, or a test fails.
pub fn python(release: bool) -> Result<(), String> {
    environment()?;
    wheel(release)?;
    run(pytest(None))
}

/// Runs the tests that need a cluster of Spark or Ray, or a service, and tells the number of those that passed.
///
/// # Errors
/// The errors of [`python`]; also when the service's program can't be built.
pub fn clusters() -> Result<u64, String> {
    environment()?;
    wheel(false)?;
    run(pip(&[SPARK]))?;
    let mut tests = pytest(Some("spark or ray or service"));
    tests.env("MILLSTREAM_TEST_SERVICE", service()?);
    let (lines, result) = run_keeping(tests);
    result?;
    let passed = lines.iter().rev().find_map(|line| line.split_once(" passed")?.0.parse().ok());
    passed.ok_or_else(|| "pytest does not say how many tests passed".to_owned())
}

fn folder() -> PathBuf {
    root().join("target/python")
}

/// Returns the path of a program of the environment.
fn program(name: &str) -> String {
    folder().join("bin").join(name).to_string_lossy().into_owned()
}

/// Makes the environment, unless it is there.
fn environment() -> Result<(), String> {
    // The file is written last, so an environment that was made in part is made again.
    let whole = folder().join("packages");
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(&whole).is_ok_and(|found| found == wanted) {
        println!("{} is there already", folder().display());
        return Ok(());
    }
    run(command("python3", &["-m", "venv", "--clear", &folder().to_string_lossy()]))?;
    run(pip(PACKAGES))?;
    fs::write(&whole, &wanted).map_err(at(&whole))
}

/// Installs packages in the environment.
fn pip(packages: &[&str]) -> Command {
    let mut pip = command(&program("pip"), &["install", "--quiet", "--disable-pip-version-check"]);
    // Most of what is installed is never imported, so compiling all of it takes longer than the tests.
    pip.arg("--no-compile").args(packages);
    pip
}

/// Builds the wheel, and installs it in the environment.
fn wheel(release: bool) -> Result<(), String> {
    let wheels = root().join("target/wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).map_err(at(&wheels))?;
    }
    let mut maturin = command(&program("maturin"), &["build", "--quiet", "--out", &wheels.to_string_lossy()]);
    // The pipeline has compiled most of it for its other tests.
    maturin.args(["--profile", if release { "release" } else { CHECKED }]);
    maturin.arg("--manifest-path").arg(root().join("crates/python/Cargo.toml"));
    run(maturin)?;
    let wheel = only_wheel(&wheels)?;
    check_tag(command(&program("auditwheel"), &["show", &wheel.to_string_lossy()]), &wheel)?;
    let mut install = pip(&["--force-reinstall", "--no-deps"]);
    install.arg(wheel);
    run(install)
}

/// Returns the tests: those with a marker, or those without.
fn pytest(marker: Option<&str>) -> Command {
    let mut pytest = command(&program("python"), &["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    pytest.args(marker.map(|marker| ["-m", marker]).into_iter().flatten());
    pytest.current_dir(root().join("crates/python")).env(STACK.0, STACK.1);
    pytest
}

/// Builds the program that is a service with tokens, and returns its path.
fn service() -> Result<String, String> {
    let package = ["test", "--profile", CHECKED, "--package", "millstream-columns", "--test", "service"];
    let mut cargo = command("cargo", &package);
    cargo.args(["--no-run", "--message-format", "json"]);
    let output = cargo.output().map_err(|error| format!("cargo: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let path = said.lines().find_map(|line| line.split_once("\"executable\":\"")?.1.split('"').next());
    path.map(str::to_owned).ok_or_else(|| {
        format!("the service's program was not built: {}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Checks that the wheel needs no newer C library, and no other library, than its tag says: auditwheel finds a tag that is no later.
fn check_tag(mut auditwheel: Command, wheel: &Path) -> Result<(), String> {
    let output = auditwheel.output().map_err(|error| format!("auditwheel: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    // auditwheel breaks its lines within sentences.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = said
        .split_once("is consistent with the following platform tag: \"")
        .and_then(|(_, rest)| rest.split('"').next());
    let (found, named) = (found.and_then(glibc), glibc(&wheel.to_string_lossy()));
    match (found, named) {
        (Some(found), Some(named)) if found <= named => Ok(()),
        _ => Err(format!(
            "{}: its tag is not that of a manylinux wheel which auditwheel finds (glibc {named:?} and {found:?}): {said}",
            wheel.display()
        )),
    }
}

/// Returns the version of the C library in a tag as `manylinux_2_34_x86_64`.
fn glibc(tag: &str) -> Option<(u32, u32)> {
    let mut numbers = tag.rsplit_once("manylinux_")?.1.split('_').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Returns the wheel that was built.
fn only_wheel(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    let mut wheels = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "whl"));
    match (wheels.next(), wheels.next()) {
        (Some(wheel), None) => Ok(wheel),
        _ => Err(format!("{}: not one wheel", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_tells_the_version_of_the_c_library() {
        assert_eq!(glibc("millstream-0.1.0-cp39-abi3-manylinux_2_34_x86_64.whl"), Some((2, 34)));
        assert_eq!(glibc("manylinux_2_5_x86_64"), Some((2, 5)));
        assert_eq!(glibc("millstream-0.1.0-cp39-abi3-linux_x86_64.whl"), None);
    }
}
