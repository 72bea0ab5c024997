//! Bounded runs of other projects' programs, with their output in a file.

use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// The time between two looks at a program's progress.
const GLANCE: Duration = Duration::from_millis(200);

/// Runs a step of a build, and adds its output to the log.
///
/// # Errors
/// When it fails.
pub fn logged(step: &mut Command, log: &Path) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", log.display());
    let file = File::options().create(true).append(true).open(log).map_err(fail)?;
    let status = apart(step, file).map_err(fail)?.status();
    let name = step.get_program().display();
    match status.map_err(|e| format!("{name}: {e}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("{name}: {status}; all it said is in {}", log.display())),
    }
}

/// Runs a command to its end with its output in a file, and now and then passes the output so far to `tell`.
///
/// # Errors
/// When it can't be started.
pub fn watch(command: &mut Command, log: &Path, tell: impl Fn(&str)) -> Result<ExitStatus, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", log.display());
    let file = File::create(log).map_err(fail)?;
    let child = apart(command, file).map_err(fail)?.spawn();
    let mut child = child.map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    loop {
        if let Some(status) = child.try_wait().map_err(fail)? {
            return Ok(status);
        }
        std::thread::sleep(GLANCE);
        if std::io::stderr().is_terminal() {
            let said = std::fs::read(log).unwrap_or_default();
            tell(&String::from_utf8_lossy(&said));
        }
    }
}

/// Returns the number of processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Sends all output of a command to a file, and removes the variables that steer this task.
fn apart(command: &mut Command, output: File) -> std::io::Result<&mut Command> {
    for variable in ["MAKEFLAGS", "MFLAGS", "CFLAGS", "LDFLAGS", "HARNESS_VERBOSE", "OPENSSL_CONF"] {
        command.env_remove(variable);
    }
    Ok(command.stdin(Stdio::null()).stderr(output.try_clone()?).stdout(output))
}
