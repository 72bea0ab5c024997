//! Millstream as it is installed, for tests from outside.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the root of the workspace.
///
/// # Panics
/// When the sources have been moved away.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the sources are where they were")
}

/// Returns the profile that the running test was built in.
///
/// # Panics
/// When the test is not where cargo puts tests.
pub fn profile() -> String {
    // The folder that a test is built into bears the profile's name, but for one.
    let program = std::env::current_exe().expect("a program has a path");
    let folder = program.ancestors().nth(2).and_then(Path::file_name).and_then(|name| name.to_str());
    match folder.expect("cargo puts tests into a folder of the profile") {
        "debug" => "dev".to_owned(),
        profile => profile.to_owned(),
    }
}

/// Returns cargo, to be run in the root of the workspace.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// Runs `cargo xtask install` in the profile of the running test.
///
/// # Panics
/// When cargo can't be started.
pub fn install(arguments: &[&str]) -> Output {
    install_command(arguments).output().expect("cargo runs")
}

/// Returns `cargo xtask install` in the profile of the running test, to be changed and run.
pub fn install_command(arguments: &[&str]) -> Command {
    let mut cargo = cargo();
    cargo.args(["xtask", "install", "--profile", &profile()]).args(arguments);
    cargo
}

/// Runs `cargo xtask uninstall`.
///
/// # Panics
/// When cargo can't be started.
pub fn uninstall(arguments: &[&str]) -> Output {
    let mut cargo = cargo();
    cargo.args(["xtask", "uninstall"]).args(arguments);
    cargo.output().expect("cargo runs")
}
