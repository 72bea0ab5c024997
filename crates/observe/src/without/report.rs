//! What was kept from programs, and what went otherwise than wanted.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;

use rustix::process::Pid;

use crate::capability::Capabilities;

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
