//! Keeps programs from seeing features, and what it says of that.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::io;

use rustix::process::Pid;

use super::arch::Kept;
use crate::capability::{Capabilities, Withheld};
use crate::process::{self, Began, Signal, Thread, Watcher};

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// CPUIDs answered, or words of the auxiliary vector edited, by process.
    pub answered: HashMap<Pid, u64>,
    /// Programs that were kept from seeing features: those launched and executed.
    pub programs: u64,
    /// What is withheld, was there, and was asked for.
    pub hidden: Capabilities,
    /// What went otherwise than wanted.
    pub notes: Vec<Note>,
}

impl Report {
    /// CPUIDs answered, of all processes.
    pub fn answers(&self) -> u64 {
        self.answered.values().sum()
    }
}

/// A program with which something went otherwise than wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The process.
    pub pid: Pid,
    /// The program's file, if that could be found out.
    pub program: Option<OsString>,
    /// What it was.
    pub why: Why,
}

/// What can go otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It ran before: what it asked it knows.
    Running,
    /// CPUID could not be made to fault: it sees all there is. With what the kernel said.
    Unmasked(String),
    /// It was let go and will end when it executes CPUID, because that still faults. With what the kernel said.
    LeftMasked(String),
    /// It would have run with privileges of its file's, and did not, because it was traced.
    LostPrivileges,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.program {
            Some(program) => write!(f, "{} (process {}) ", program.display(), self.pid)?,
            None => write!(f, "process {} ", self.pid)?,
        }
        match &self.why {
            Why::Running => f.write_str("ran before, and knows what the processor has"),
            Why::Unmasked(error) => {
                write!(f, "sees all features: CPUID could not be made to fault ({error})")
            }
            Why::LeftMasked(error) => write!(f, "was let go, and will end if it executes CPUID ({error})"),
            Why::LostPrivileges => f.write_str(
                "ran without the privileges of its file, which traced programs do not get; run this as root",
            ),
        }
    }
}

/// Keeps programs from seeing features.
#[derive(Debug)]
pub struct Masker {
    /// What this architecture's way needs.
    pub(super) kept: Kept,
    /// Whether this process may give what a program's file gives.
    root: bool,
    pub(super) report: Report,
}

impl Masker {
    /// For these features.
    pub fn new(withheld: Withheld) -> Masker {
        Masker {
            kept: Kept::new(withheld),
            root: rustix::process::geteuid().is_root(),
            report: Report::default(),
        }
    }

    /// What it did so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Once of each program: some are started often.
    fn note(&mut self, pid: Pid, why: Why) {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok().map(Into::into);
        let notes = &mut self.report.notes;
        if !notes.iter().any(|note| note.program == program && note.why == why) {
            notes.push(Note { pid, program, why });
        }
    }
}

impl Watcher for Masker {
    fn began(&mut self, thread: &mut Thread, how: Began) -> io::Result<()> {
        if how == Began::Attached {
            self.note(thread.pid, Why::Running);
            return Ok(());
        }
        if !self.root && has_privileges(thread.pid) {
            self.note(thread.pid, Why::LostPrivileges);
        }
        let masked = self.hide(thread);
        match masked {
            Ok(()) => self.report.programs += 1,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Err(error),
            Err(error) => self.note(thread.pid, Why::Unmasked(error.to_string())),
        }
        Ok(())
    }

    fn leaving(&mut self, thread: &mut Thread) -> io::Result<()> {
        match self.show(thread) {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {
                self.note(thread.pid, Why::LeftMasked(error.to_string()));
                Ok(())
            }
            result => result,
        }
    }

    fn signal(&mut self, thread: &mut Thread, signal: &Signal) -> io::Result<process::Answer> {
        if signal.number == libc::SIGSEGV {
            self.faulted(thread, signal)
        } else {
            Ok(process::Answer::NotMine)
        }
    }
}

/// Whether a program's file gives privileges that its process has not.
fn has_privileges(pid: Pid) -> bool {
    use std::os::unix::fs::MetadataExt;

    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2010;
    let path = format!("/proc/{pid}/exe");
    let Ok(file) = std::fs::metadata(&path) else { return false };
    let user = file.mode() & SET_USER != 0 && file.uid() != rustix::process::geteuid().as_raw();
    let group = file.mode() & SET_GROUP == SET_GROUP && file.gid() != rustix::process::getegid().as_raw();
    user || group
        || rustix::fs::getxattr(&path, "security.capability", &mut [0u8; 64]).is_ok_and(|length| length > 0)
}
