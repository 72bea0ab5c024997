//! What tracing found: which functions of which modules hold crypto instructions, which of them ran, and what that says.

use std::fmt;
use std::time::Duration;

pub use super::notes::Note;
pub use super::verdicts::{Question, Unwatched, Verdict};
use crate::code::{Bounds, CarryLess, Classes, Counts};

/// How sites are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// A site's breakpoint goes when it fires: nearly no cost. Says what ran, not how often.
    #[default]
    Once,
    /// Each entry of a function that holds crypto instructions is counted.
    Count,
    /// As `Once`, with what fired armed again ten times a second. Says in how many of the samples a function ran.
    Rate,
}

impl Mode {
    /// The name of its option.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Once => "once",
            Mode::Count => "count",
            Mode::Rate => "rate",
        }
    }
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// How sites were watched.
    pub mode: Mode,
    /// For how long.
    pub duration: Duration,
    /// Each program of each process, in the order they began.
    pub processes: Vec<Process>,
    /// Each file with executable code, and generated code, that any of them had mapped; in the order they came.
    pub modules: Vec<Module>,
    /// How often what fired was armed again, with [`Mode::Rate`].
    pub samples: u32,
    /// What the processor itself counted, where it does.
    pub counters: Vec<Counter>,
    /// What tracing did and cost.
    pub cost: Cost,
    /// What a reader should know.
    pub notes: Vec<Note>,
    /// Classes that this processor has not: whether their instructions could be watched does not matter.
    pub lacking: Classes,
}

/// One program that a process ran: an exec makes another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its command line, shortened.
    pub command: String,
    /// When it began to be watched, since the start.
    pub began: Duration,
    /// For how long it was.
    pub watched: Duration,
    /// Whether it was running before.
    pub attached: bool,
    /// Whether it ended, rather than was let go or became another program.
    pub ended: bool,
    /// The modules it had, by their index.
    pub modules: Vec<usize>,
}

/// A file with executable code, or code that was made at run time.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Module {
    /// Its path, as the process sees it; for generated code what made it.
    pub path: String,
    /// The library it is or contains, with its version where that is known.
    pub library: Option<String>,
    /// Its build id, in hexadecimal.
    pub build_id: Option<String>,
    /// The classes it holds instructions of, wherever these are.
    pub present: Classes,
    /// Functions with crypto instructions, in the order of their addresses.
    pub functions: Vec<Function>,
    /// How many instructions of each class were watched.
    pub watched: Counts,
    /// How many were seen whose place is not proven, so that nobody can say whether they ran.
    pub unproved: Counts,
    /// How many places could not be watched: shared memory, or code that changed.
    pub unwatchable: usize,
}

/// A function with crypto instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name for people, or `fn_` and its address.
    pub name: String,
    /// Its symbol as the file has it, where that is another.
    pub symbol: Option<String>,
    /// Where it begins, as the file has it.
    pub address: u64,
    /// What says where it begins and ends.
    pub bounds: Bounds,
    /// The classes it holds instructions of.
    pub present: Classes,
    /// What it multiplies without carries for, as far as its numbers say it.
    pub carry_less: CarryLess,
    /// Those of them that ran.
    pub ran: Classes,
    /// Those of them that ran for something else than noise.
    pub worked: Classes,
    /// How often it was entered; with [`Mode::Count`] only, and where its entry could be watched. Of functions that serve
    /// hash tables alone the first thousand are counted.
    pub entries: Option<u64>,
    /// In how many samples it ran, with [`Mode::Rate`].
    pub samples: u32,
    /// How often in a second a thread enters it while it is busy with it, at least; with [`Mode::Rate`]. It is told from the
    /// middle one of the times between two hits, which a stop makes some microseconds longer: above 100,000 it says no more
    /// than that.
    pub rate: Option<u64>,
    /// How many breakpoints fired in it.
    pub hits: u64,
    /// When it ran first, since the start.
    pub first: Option<Duration>,
    /// Who called it, at different hits; the nearest caller first.
    pub callers: Vec<Vec<String>>,
    /// What it ran for, as far as that was seen.
    pub origins: Vec<Origin>,
    /// Entries by process, with [`Mode::Count`].
    pub by_process: Vec<(i32, u64)>,
}

/// What crypto instructions ran for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The work of the program, as far as can be told.
    Work,
    /// A random generator: AES in counter mode makes its output, a hash mixes its input.
    Random,
    /// A hash table: AES rounds make good hashes of keys.
    HashTable,
    /// A checksum: carry-less multiplication makes CRCs fast.
    Checksum,
    /// A library tried whether it computes rightly, at its start.
    SelfTest,
}

impl Origin {
    /// Whether it is no answer to the question whether a program's cryptography is accelerated.
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

/// What a counter of the processor said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// What it counts instructions of.
    pub classes: Classes,
    /// Its name in the processor's documentation.
    pub event: &'static str,
    /// How many were counted, scaled up for the time that the counter was shared.
    pub count: u64,
    /// Whether instructions count that were begun and never finished.
    pub speculative: bool,
}

/// What tracing did, and the time it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cost {
    /// Files and pieces of generated code that were looked through.
    pub images: usize,
    /// Those of them that a cache knew.
    pub known: usize,
    /// The time that took.
    pub scanning: Duration,
    /// Breakpoints written, again and again counted.
    pub armed: u64,
    /// Breakpoints that fired.
    pub fired: u64,
    /// The time in which a thread was stopped for one.
    pub stopped: Duration,
    /// The time that looking for new code took.
    pub looking: Duration,
}

/// A function of [`Findings`]: the index of its module, and its own there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// Index into [`Findings::modules`].
    pub module: usize,
    /// Index into [`Module::functions`].
    pub function: usize,
}

impl Findings {
    /// A function.
    pub fn function(&self, at: At) -> &Function {
        &self.modules[at.module].functions[at.function]
    }

    /// Functions that ran any crypto instruction, by module, in the order of their addresses.
    pub fn ran(&self) -> Vec<At> {
        self.that(|function| !function.ran.is_empty())
    }

    /// Adds a note, once: what is known of the same thing becomes one.
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
