//! Suites of tests that run side by side, because each of them mostly waits for the programs that it tests.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::pipeline::Pipeline;
use super::times::processor_time_within;
use crate::run::{at, root};

/// The suites of tests that run at a time. A processor is enough for two, and more of them would make limits of time fail.
pub const OF_TESTS: usize = 2;

/// The same of suites of real programs, which wait for these and for each other a third of the time.
pub const OF_PROGRAMS: usize = 3;

/// The suites that take longest, which begin first so that none of them is left at the end.
const LONG: &[&str] = &["sparc", "pkcs11", "clients", "sandbox", "store", "trace"];

#[derive(Deserialize)]
struct Manifest {
    test: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// Returns the suites that the manifest in a folder of the workspace names, the long ones first.
///
/// # Errors
/// When the manifest can't be read, or names none.
pub fn of(folder: &str) -> Result<Vec<String>, String> {
    let path = root().join(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(at(&path))?;
    let manifest: Manifest = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut suites: Vec<String> = manifest.test.into_iter().map(|target| target.name).collect();
    suites.sort_by_key(|name| LONG.iter().position(|long| long == name).unwrap_or(LONG.len()));
    Ok(suites)
}

/// Runs a command for each suite, so many `at_once`, passes the output of each on when it has ended, and counts its tests.
///
/// # Errors
/// Names the suites that failed.
pub fn run(
    pipeline: &mut Pipeline,
    at_once: usize,
    suites: Vec<String>,
    command: impl Fn(&str) -> Command + Sync,
) -> Result<(), String> {
    let left = Mutex::new(VecDeque::from(suites));
    let ended = Mutex::new((pipeline, Vec::new()));
    let work = || {
        loop {
            // The lock is held for this statement only.
            let next = left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(suite) = next else { return };
            let begin = Instant::now();
            let result = run_to_end(command(&suite));
            let took = begin.elapsed().as_secs_f64();
            let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            let (pipeline, failed) = &mut *ended;
            let used = result.as_ref().map(|(_, used)| used.as_secs_f64()).unwrap_or_default();
            println!("\n== {suite}, {took:.1} s, {used:.1} s of processors");
            match result {
                Ok((output, _)) => {
                    // A closed pipe must not end the step that is being watched.
                    let _ = std::io::stdout().write_all(&output.stdout);
                    let _ = std::io::stderr().write_all(&output.stderr);
                    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
                    if let Err(why) = pipeline.count(texts.iter().flat_map(|text| text.lines())) {
                        failed.push(format!("{suite}: {why}"));
                    }
                    if !output.status.success() {
                        failed.push(suite);
                    }
                }
                Err(error) => failed.push(format!("{suite}: {error}")),
            }
        }
    };
    thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    let (_, failed) = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed.is_empty() { Ok(()) } else { Err(format!("suites that failed: {}", failed.join(", "))) }
}

/// Runs a command to its end, and returns what it wrote and its processor time.
fn run_to_end(mut command: Command) -> std::io::Result<(Output, Duration)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let process = child.id();
    let read = |stream: &mut dyn Read| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).map(|_| all)
    };
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = thread::scope(|scope| {
        let other = scope.spawn(|| err.as_mut().map_or(Ok(Vec::new()), |err| read(err)));
        let stdout = out.as_mut().map_or(Ok(Vec::new()), |out| read(out));
        (stdout, other.join().expect("the reader does not panic"))
    });
    // Both streams are closed, so it has next to nothing left to do; when somebody has waited for it, this is gone.
    let used = processor_time_within(process);
    let status = child.wait()?;
    Ok((Output { status, stdout: stdout?, stderr: stderr? }, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_suites_are_found_and_the_long_ones_begin() {
        let suites = of("tests").expect("the manifest is read");
        assert!(suites.len() > 20 && suites.contains(&"nginx".to_owned()), "{suites:?}");
        assert_eq!(suites[..2], ["sparc", "pkcs11"]);
        for long in LONG {
            assert!(suites.iter().any(|suite| suite == long), "{long} is no suite");
        }
    }

    #[test]
    fn tests_are_counted_and_failures_are_named() {
        let mut pipeline = Pipeline::default();
        let shell = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            shell
        };
        let all = || ["echo 'test result: ok. 3 passed; x'", "exit 1", "echo 'SKIPPED no such thing'"];
        let result = run(&mut pipeline, OF_TESTS, all().map(str::to_owned).into(), shell);
        assert_eq!(result, Err("suites that failed: exit 1".to_owned()));
        assert_eq!((pipeline.passed, &*pipeline.skipped), (3, &["SKIPPED no such thing".to_owned()][..]));
    }
}
