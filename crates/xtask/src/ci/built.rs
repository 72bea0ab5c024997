//! Programs of tests that cargo has built, and that run without it, so that several run at a time.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::run::{command, output};

/// A program of tests.
pub struct Built {
    /// The folder of its package and the name of the target, as `cli/isolated`.
    pub name: String,
    program: PathBuf,
    /// The folder of its package, in which it runs.
    folder: PathBuf,
}

/// A line of cargo's about something that it has built.
#[derive(Deserialize)]
struct Artifact {
    executable: Option<PathBuf>,
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds the tests that these arguments of cargo's name.
///
/// # Errors
/// When cargo fails, or names no test.
pub fn build(arguments: &[&str]) -> Result<Vec<Built>, String> {
    let told = ["--no-run", "--message-format=json-render-diagnostics"];
    let text = output(command("cargo", &[arguments, &told].concat()))?;
    let built: Vec<Built> = text.lines().filter_map(test).collect();
    if built.is_empty() { Err("cargo has built no test".to_owned()) } else { Ok(built) }
}

/// Returns the program of tests that a line of cargo's is about, if it is about one.
fn test(line: &str) -> Option<Built> {
    let artifact: Artifact = serde_json::from_str(line).ok()?;
    let program = artifact.executable.filter(|_| artifact.profile.test)?;
    let folder = artifact.manifest_path.parent()?.to_owned();
    let package = folder.file_name().map(Path::new)?.display();
    Some(Built { name: format!("{package}/{}", artifact.target.name), program, folder })
}

impl Built {
    /// Returns the name of the target.
    pub fn suite(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// Returns the command that cargo would run.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        if let Some(deps) = self.program.parent() {
            command.env("LD_LIBRARY_PATH", deps);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_tests_are_told_from_other_artifacts() {
        let line = |executable: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"x","manifest_path":"/w/crates/cli/Cargo.toml",
                "target":{{"kind":["test"],"name":"isolated"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
            .replace('\n', " ")
        };
        let found = test(&line(r#""/w/target/checked/deps/isolated-1""#, true)).expect("a program of tests");
        assert_eq!((&*found.name, found.suite()), ("cli/isolated", "isolated"));
        assert_eq!(found.folder, Path::new("/w/crates/cli"));
        assert!(test(&line("null", true)).is_none() && test(&line(r#""/w/program""#, false)).is_none());
        assert!(test(r#"{"reason":"build-finished","success":true}"#).is_none());
    }
}
