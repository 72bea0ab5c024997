//! Running other programs.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The profile of tests: what computes is as optimised as in a release, so that tests of whole ciphers take no time, with overflow
/// checks and assertions. The release itself is what real programs and the benches run.
pub const CHECKED: &str = "checked";

/// The profile that ships.
pub const RELEASE: &str = "release";

/// The room that threads need for what is not optimised: tables of values that would otherwise be registers.
pub const STACK: (&str, &str) = ("RUST_MIN_STACK", "67108864");

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists")
}

/// A command that runs in the workspace's root.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    // The toolchain that runs xtask must not be forced on nightly steps.
    if arguments.first().is_some_and(|a| a.starts_with('+')) {
        command.env_remove("RUSTUP_TOOLCHAIN");
    }
    command
}

/// Returns true if a program runs with these arguments and succeeds.
pub fn works(program: &str, arguments: &[&str]) -> bool {
    command(program, arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a command to its end.
///
/// # Errors
/// When it can't be started or fails, naming it.
pub fn run(mut command: Command) -> Result<(), String> {
    eprintln!("+ {}", shown(&command));
    let status = command.status().map_err(|e| format!("{}: {e}", shown(&command)))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", shown(&command))) }
}

/// Runs a command to its end, passes its output on, and returns its lines (standard output before standard error)
/// beside the result, so that a command which fails can still be read.
///
/// # Errors
/// The result is one when the command can't be started or fails.
pub fn run_keeping(mut command: Command) -> (Vec<String>, Result<(), String>) {
    let text = shown(&command);
    eprintln!("+ {text}");
    let mut child = match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(e) => return (Vec::new(), Err(format!("{text}: {e}"))),
    };
    let error = child.stderr.take().expect("stderr is piped");
    let reader = std::thread::spawn(move || tee(error, std::io::stderr()));
    let output = child.stdout.take().expect("stdout is piped");
    let mut lines = tee(output, std::io::stdout());
    lines.extend(reader.join().expect("the reader does not panic"));
    let result = match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{text}: {status}")),
        Err(e) => Err(format!("{text}: {e}")),
    };
    (lines, result)
}

fn tee(from: impl std::io::Read, mut to: impl Write) -> Vec<String> {
    let mut lines = Vec::new();
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        // A closed pipe must not end the step that is being watched.
        let _ = writeln!(to, "{line}");
        lines.push(line);
    }
    lines
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end, and returns what it wrote to standard output.
///
/// # Errors
/// When it can't be started or fails, naming it, or when it wrote no text.
pub fn output(mut command: Command) -> Result<String, String> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|e| format!("{}: {e}", shown(&command)))?;
    if !output.status.success() {
        return Err(format!("{}: {}", shown(&command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|e| format!("{}: {e}", shown(&command)))
}

/// Puts the name of a file before what went wrong with it.
pub fn at(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |e| format!("{}: {e}", path.display())
}
