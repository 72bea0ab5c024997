//! The kernel's description of a process or thread in `/proc/PID/status`.

use rustix::process::Pid;

/// The file's text.
pub(crate) struct Status(String);

impl Status {
    /// Reads the status of a process or a thread. Returns `None` if no such number exists.
    pub(crate) fn of(pid: Pid) -> Option<Status> {
        let text = std::fs::read(format!("/proc/{pid}/status")).ok()?;
        Some(Status(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Returns the value of a line.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
    }

    /// Returns true when the file has a line of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// Returns the first number of a line.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.field(name)?.split_whitespace().next()?.parse().ok()
    }

    /// Returns true when the process has not ended.
    pub(crate) fn lives(&self) -> bool {
        self.field("State").is_some_and(|state| !state.starts_with(['Z', 'X']))
    }

    /// Returns true when the program has a handler for a signal.
    pub(crate) fn handles(&self, signal: i32) -> bool {
        let set = self.field("SigCgt").and_then(|set| u64::from_str_radix(set, 16).ok()).unwrap_or(0);
        set >> (signal - 1) & 1 == 1
    }
}
