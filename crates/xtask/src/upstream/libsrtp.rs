//! libsrtp's own test programs, on the system's OpenSSL. A recipe is one command of `make runtest`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::compare::{Results, matches};
use super::process::{logged, processors, watch};
use super::product::Counted;
use super::suite::{List, Names, Outcome, Run};
use super::tap::{Test, Verdict};

/// The time that all recipes together may take.
const LIMIT_S: u32 = 900;

/// Runs each command of a script's arguments, which are a name and a line in turn. The output and the exit status of
/// each go to files of that name in the folder that the first argument names.
const EACH: &str = "folder=$1; shift; while [ $# -gt 0 ]; do (eval \"$2\") >\"$folder/$1.log\" 2>&1; \
    echo $? >\"$folder/$1.status\"; shift 2; done";

/// Builds libsrtp with OpenSSL, in its source.
///
/// # Errors
/// When that fails.
pub fn build(source: &Path, log: &Path) -> Result<(), String> {
    logged(Command::new("./configure").arg("--enable-openssl").current_dir(source), log)?;
    logged(Command::new("make").arg(format!("-j{}", processors())).arg("test").current_dir(source), log)
}

/// The names of the commands that fit.
///
/// # Errors
/// When make does not say which commands there are, or none fits.
pub fn recipes(source: &Path, list: &List, only: Option<&str>) -> Names {
    let names = commands(source)?.into_iter().map(|(name, _)| name);
    let chosen = names.filter(|name| match only {
        Some(pattern) => matches(pattern, name),
        None => !list.leave_out.iter().any(|pattern| matches(pattern, name)),
    });
    let chosen: Vec<String> = chosen.collect();
    if chosen.is_empty() { Err("no test program fits".into()) } else { Ok(chosen) }
}

/// Runs the recipes. Returns their results and the work that Millstream counted.
///
/// # Errors
/// When they can't be run, or Millstream had no part in it.
pub fn run(run: &Run) -> Outcome {
    let service = run.service()?;
    let report = run.folder.join("table.json");
    let mut script = run.command(service.as_ref(), &report, LIMIT_S, "sh");
    script.args(["-c", EACH, "sh"]).arg(run.folder).current_dir(run.source);
    for (name, line) in commands(run.source)? {
        if run.recipes.contains(&name) {
            script.args([name, line]);
        }
    }
    let ended = || run.recipes.iter().filter(|name| status(run.folder, name).exists()).count();
    watch(&mut script, &run.folder.join("script.log"), |_| run.progress(ended()))?;
    let results = run.recipes.iter().map(|name| Ok((name.clone(), result(run.folder, name)?)));
    let results = results.collect::<Result<Results, String>>()?;
    let counted = run.product.map(|_| Counted::read(&report)).transpose()?;
    Ok((results, counted))
}

/// Returns the file with a recipe's output.
pub fn output(folder: &Path, recipe: &str) -> PathBuf {
    folder.join(format!("{recipe}.log"))
}

fn status(folder: &Path, recipe: &str) -> PathBuf {
    folder.join(format!("{recipe}.status"))
}

/// Returns the commands of `make runtest`, each with its program's name.
fn commands(source: &Path) -> Result<Vec<(String, String)>, String> {
    let output =
        Command::new("make").args(["-n", "runtest"]).env_remove("MAKEFLAGS").current_dir(source).output();
    let output = output.map_err(|e| format!("make: {e}"))?;
    let commands = tests(&String::from_utf8_lossy(&output.stdout));
    if commands.is_empty() { Err("make -n runtest names no test program".into()) } else { Ok(commands) }
}

/// Returns the commands that start test programs in this folder, among those that make would run.
fn tests(said: &str) -> Vec<(String, String)> {
    let lines = said.lines().take_while(|line| !line.starts_with("make"));
    let mut found = Vec::new();
    for line in lines {
        let program = line.strip_prefix("cd test; ").unwrap_or(line).split_whitespace().next().unwrap_or("");
        if program.contains("test/") {
            let name = program.rsplit('/').next().unwrap_or(program);
            found.push((name.to_owned(), line.to_owned()));
        }
    }
    found
}

/// Reads a program's output and its exit status.
fn result(folder: &Path, name: &str) -> Result<Test, String> {
    let read = |path: PathBuf| {
        let text = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok::<String, String>(String::from_utf8_lossy(&text).into_owned())
    };
    let ended_well = read(status(folder, name)).is_ok_and(|code| code.trim() == "0");
    Ok(parse(name, &read(output(folder, name))?, ended_well))
}

/// Reads the tests that a program reports as passed or failed, in order.
fn parse(name: &str, said: &str, ended_well: bool) -> Test {
    const ENDS: &[(&str, Verdict)] = &[
        ("passed", Verdict::Passed),
        ("[   OK   ]", Verdict::Passed),
        ("failed", Verdict::Failed),
        ("[ FAILED ]", Verdict::Failed),
    ];
    let mut parts = Vec::new();
    for line in said.lines().map(str::trim_end) {
        let end = ENDS.iter().find_map(|(end, verdict)| Some((line.strip_suffix(end)?, *verdict)));
        if let Some((name, verdict)) = end {
            let number = u32::try_from(parts.len()).unwrap_or(u32::MAX).saturating_add(1);
            let name = name.trim().trim_end_matches('.').to_owned();
            parts.push(Test { number, name, verdict, parts: Vec::new() });
        }
    }
    let verdict = if ended_well { Verdict::Passed } else { Verdict::Failed };
    Test { number: 0, name: name.to_owned(), verdict, parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_make() {
        let said = "echo \"running\"\ncrypto/test/cipher_driver -v\ntest/test_srtp\n\
            cd test;  /s/test/rtpw_test.sh -w /s/test/words.txt\necho \"test/x passed.\"\n\
            make -C crypto runtest\ntest/env # print\n";
        let names: Vec<String> = tests(said).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["cipher_driver", "test_srtp", "rtpw_test.sh"]);
    }

    #[test]
    fn a_line_says_what_passed() {
        let said =
            "running self-test for AES...passed\n# rate 5\nTest a()... [   OK   ]\ntesting b...failed\n";
        let test = parse("x", said, false);
        let parts: Vec<(&str, Verdict)> = test.parts.iter().map(|part| (&*part.name, part.verdict)).collect();
        let expected = [
            ("running self-test for AES", Verdict::Passed),
            ("Test a()", Verdict::Passed),
            ("testing b", Verdict::Failed),
        ];
        assert_eq!(parts, expected);
        assert_eq!((test.verdict, parse("x", said, true).verdict), (Verdict::Failed, Verdict::Passed));
    }
}
