//! The report on what was hidden from programs, and on what went wrong.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;

use rustix::process::Pid;

use crate::capability::Capabilities;

/// A report on what was hidden from programs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of CPUIDs answered, or words of the auxiliary vector edited, by process.
    pub answered: HashMap<Pid, u64>,
    /// The number of programs, launched or executed, from which features were hidden.
    pub programs: u64,
    /// Withheld features that the processor has and a program asked for.
    pub hidden: Capabilities,
    /// Notes on programs with which something went wrong.
    pub notes: Vec<Note>,
}

impl Report {
    /// Returns the number of CPUIDs answered in all processes.
    pub fn answers(&self) -> u64 {
        self.answered.values().sum()
    }
}

/// A program with which something went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The process.
    pub pid: Pid,
    /// The program's file, if it is known.
    pub program: Option<OsString>,
    /// The cause.
    pub why: Why,
}

/// The cause of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The program was already running and may have asked before.
    Running,
    /// CPUID could not be made to fault, so the program sees all features. The text is the kernel's error.
    Unmasked(String),
    /// The program was let go while CPUID still faults, and will end when it executes one. The text is the
    /// kernel's error.
    LeftMasked(String),
    /// The program ran without the privileges of its file, because it was traced.
    LostPrivileges,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.program {
            Some(program) => write!(f, "{} (process {}) ", program.display(), self.pid)?,
            None => write!(f, "process {} ", self.pid)?,
        }
        match &self.why {
            Why::Running => f.write_str("was already running, and may have asked for features before"),
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
