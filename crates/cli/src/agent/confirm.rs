//! The question to the user before each signature, by the program that OpenSSH asks with.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The longest time for an answer.
const LONGEST: Duration = Duration::from_secs(60);

/// The program that asks.
pub struct Confirm {
    program: OsString,
}

impl Confirm {
    /// Finds the program in `SSH_ASKPASS`; none when it names none.
    pub fn find() -> Option<Self> {
        let program = std::env::var_os("SSH_ASKPASS").filter(|program| !program.is_empty())?;
        Some(Confirm { program })
    }

    /// Asks whether a key may be used. Returns true if the answer was yes, within a minute.
    pub fn ask(&self, key: &str) -> bool {
        let mut ask = Command::new(&self.program);
        ask.arg(format!("Allow use of key {key}?")).env("SSH_ASKPASS_PROMPT", "confirm");
        let ask = ask.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let Ok(mut ask) = ask else { return false };
        let end = Instant::now() + LONGEST;
        loop {
            match ask.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
                _ => {
                    // The program may have ended by itself just now.
                    let _ = ask.kill();
                    let _ = ask.wait();
                    return false;
                }
            }
        }
    }
}
