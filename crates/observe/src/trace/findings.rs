//! The findings of a trace: which functions of which modules hold crypto instructions, which of them ran, and
//! for what.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

pub use super::notes::Note;
pub use super::verdicts::{Question, Unwatched, Verdict};
use crate::code::{Bounds, CarryLess, Classes, Counts};

/// The way in which sites are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// A site's breakpoint goes when it fires, which costs next to nothing. The findings say what ran, not
    /// how often.
    #[default]
    Once,
    /// Each entry of a function that holds crypto instructions is counted.
    Count,
    /// Like `Once`, but breakpoints that fired are armed again ten times a second. The findings say in how
    /// many of the samples a function ran.
    Rate,
}

impl Mode {
    /// Returns the name of the mode's option.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Once => "once",
            Mode::Count => "count",
            Mode::Rate => "rate",
        }
    }
}

/// The findings of a trace.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The way in which sites were watched.
    pub mode: Mode,
    /// The duration of the trace.
    pub duration: Duration,
    /// The programs of all processes, in the order in which they began.
    pub processes: Vec<Process>,
    /// The files with executable code, and the generated code, that any process had mapped, in order of
    /// appearance.
    pub modules: Vec<Module>,
    /// The number of times that breakpoints were armed again, with [`Mode::Rate`].
    pub samples: u32,
    /// The processor's own counts, where it has counters.
    pub counters: Vec<Counter>,
    /// The cost of tracing.
    pub cost: Cost,
    /// Remarks for the reader.
    pub notes: Vec<Note>,
    /// The classes that this processor lacks. It does not matter if their instructions could not be watched.
    pub lacking: Classes,
}

/// One program that a process ran. An exec begins another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process's number.
    pub pid: i32,
    /// The command line, shortened.
    pub command: OsString,
    /// The time from the start of the trace to the first watching of this program.
    pub began: Duration,
    /// The time for which it was watched.
    pub watched: Duration,
    /// True when it was already running.
    pub attached: bool,
    /// True when it ended, rather than being let go or executing another program.
    pub ended: bool,
    /// The modules that it had mapped, by their index.
    pub modules: Vec<usize>,
}

/// A file with executable code, or code that was made at run time.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Module {
    /// The path, as the process sees it, or a description of generated code.
    pub path: OsString,
    /// The library that it is or contains, with the version if that is known.
    pub library: Option<String>,
    /// The build id, in hexadecimal.
    pub build_id: Option<String>,
    /// The classes of all instructions in it.
    pub present: Classes,
    /// The functions with crypto instructions, in the order of their addresses.
    pub functions: Vec<Function>,
    /// The number of instructions of each class that were watched.
    pub watched: Counts,
    /// The number of instructions whose place is not proven, so that nothing tells whether they ran.
    pub unproved: Counts,
    /// The number of places that could not be watched, in shared memory or in code that changed.
    pub unwatchable: usize,
}

/// A function with crypto instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The name for people, or `fn_` and its address.
    pub name: String,
    /// The symbol in the file, if that differs from the name.
    pub symbol: Option<String>,
    /// The address in the file.
    pub address: u64,
    /// The source of its bounds.
    pub bounds: Bounds,
    /// The classes of its instructions.
    pub present: Classes,
    /// The purpose of its carry-less multiplication, as far as its constants reveal it.
    pub carry_less: CarryLess,
    /// The classes that ran.
    pub ran: Classes,
    /// The classes that ran for anything but noise.
    pub worked: Classes,
    /// The number of its entries, with [`Mode::Count`] and a watchable entry only. The count stops at a
    /// thousand for functions that serve hash tables alone.
    pub entries: Option<u64>,
    /// The number of samples in which it ran, with [`Mode::Rate`].
    pub samples: u32,
    /// A lower bound of its entries per second by a busy thread, with [`Mode::Rate`]. It is derived from the
    /// median time between two hits, which each stop lengthens by some microseconds. So above 100,000 it says
    /// no more than that.
    pub rate: Option<u64>,
    /// The number of breakpoints that fired in it.
    pub hits: u64,
    /// The time from the start of the trace to its first hit.
    pub first: Option<Duration>,
    /// The chains of callers at different hits, the nearest caller first.
    pub callers: Vec<Vec<String>>,
    /// The purposes that it ran for, as far as they are known.
    pub origins: Vec<Origin>,
    /// The entries by process, with [`Mode::Count`].
    pub by_process: Vec<(i32, u64)>,
}

/// The purpose of crypto instructions that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The program's own work, as far as that can be told.
    Work,
    /// A random generator, whose output AES in counter mode makes and whose input a hash mixes.
    Random,
    /// A hash table, whose keys AES rounds hash well.
    HashTable,
    /// A checksum: carry-less multiplication makes CRCs fast.
    Checksum,
    /// A library's test of itself at its start.
    SelfTest,
}

impl Origin {
    /// Returns true for purposes that don't answer whether a program's cryptography is accelerated.
    pub const fn is_noise(self) -> bool {
        !matches!(self, Origin::Work)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Work => "the program's work",
            Origin::Random => "the random generator",
            Origin::HashTable => "a hash table",
            Origin::Checksum => "a checksum",
            Origin::SelfTest => "a library's test of itself",
        })
    }
}

/// The value of one of the processor's counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The classes of instructions that it counts.
    pub classes: Classes,
    /// The event's name in the processor's documentation.
    pub event: &'static str,
    /// The count, scaled up for the time in which the counter served others.
    pub count: u64,
    /// True when the count includes instructions that were begun and never finished.
    pub speculative: bool,
}

/// The work of tracing, and the time it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cost {
    /// The number of files and pieces of generated code that were searched.
    pub images: usize,
    /// The number of them that a cache knew.
    pub known: usize,
    /// The time for searching them.
    pub scanning: Duration,
    /// The number of breakpoints written, repetitions included.
    pub armed: u64,
    /// The number of breakpoints that fired.
    pub fired: u64,
    /// The time in which threads were stopped for them.
    pub stopped: Duration,
    /// The time for finding new code.
    pub looking: Duration,
}

/// The place of a function in [`Findings`]: the indices of its module and of the function there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// Index into [`Findings::modules`].
    pub module: usize,
    /// Index into [`Module::functions`].
    pub function: usize,
}

impl Findings {
    /// Returns a function.
    pub fn function(&self, at: At) -> &Function {
        &self.modules[at.module].functions[at.function]
    }

    /// Returns the functions that ran any crypto instruction, by module, in the order of their addresses.
    pub fn ran(&self) -> Vec<At> {
        self.that(|function| !function.ran.is_empty())
    }

    /// Adds a note, merged with an earlier one on the same thing.
    pub fn note(&mut self, note: Note) {
        if !self.notes.iter_mut().any(|known| known.take_in(&note)) {
            self.notes.push(note);
        }
    }

    pub(super) fn that(&self, wanted: impl Fn(&Function) -> bool) -> Vec<At> {
        let modules = self.modules.iter().enumerate();
        modules
            .flat_map(|(module, found)| {
                let functions = found.functions.iter().enumerate();
                functions.map(move |(index, function)| (At { module, function: index }, function))
            })
            .filter(|(_, function)| wanted(function))
            .map(|(at, _)| at)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_stands_once() {
        let mut findings = Findings::default();
        findings.note(Note::LateCode);
        findings.note(Note::LateCode);
        assert_eq!(findings.notes.len(), 1);
    }
}
