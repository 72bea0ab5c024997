//! What tracing found: which functions of which modules hold crypto instructions, which of them ran, and what that says.

use std::fmt;
use std::time::Duration;

pub use super::notes::Note;
use crate::code::{Bounds, CarryLess, Class, Classes, Counts, known};

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

/// What people ask about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// Does it use hardware AES?
    Aes,
    /// Does it use carry-less multiplication, as GCM does?
    CarryLess,
    /// Does it use hardware SHA-1 or SHA-256?
    Sha,
    /// Does it use hardware SHA-512?
    Sha512,
    /// Does it use hardware SM3 or SM4?
    Chinese,
    /// Does it use GF(2^8) transforms?
    Gfni,
    /// Does it use the instructions for long numbers, as public keys do?
    LongNumbers,
    /// Does it use the CRC32c step?
    Crc32,
    /// Does it take random numbers from the processor?
    Randomness,
}

impl Question {
    /// All, in the order of reports.
    pub const ALL: &[Question] = &[
        Question::Aes,
        Question::CarryLess,
        Question::Sha,
        Question::Sha512,
        Question::Chinese,
        Question::Gfni,
        Question::LongNumbers,
        Question::Crc32,
        Question::Randomness,
    ];

    /// What is asked for, for people.
    pub const fn label(self) -> &'static str {
        match self {
            Question::Aes => "hardware AES",
            Question::CarryLess => "carry-less multiply",
            Question::Sha => "hardware SHA-1/SHA-256",
            Question::Sha512 => "hardware SHA-512",
            Question::Chinese => "hardware SM3/SM4",
            Question::Gfni => "GF(2^8) transforms",
            Question::LongNumbers => "long-number arithmetic",
            Question::Crc32 => "CRC32c steps",
            Question::Randomness => "the processor's random numbers",
        }
    }

    /// The classes that answer it.
    pub fn classes(self) -> Classes {
        let classes: &[Class] = match self {
            Question::Aes => &[Class::Aes, Class::Vaes, Class::Keylocker, Class::Padlock],
            Question::CarryLess => &[Class::Pclmul, Class::Vpclmul],
            Question::Sha => &[Class::Sha],
            Question::Sha512 => &[Class::Sha512],
            Question::Chinese => &[Class::Sm3, Class::Sm4],
            Question::Gfni => &[Class::Gfni],
            Question::LongNumbers => &[Class::Ifma, Class::Adx, Class::Mulx],
            Question::Crc32 => &[Class::Crc32],
            Question::Randomness => &[Class::Rdrand],
        };
        classes.iter().copied().collect()
    }
}

/// A function of [`Findings`]: the index of its module, and its own there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// Index into [`Findings::modules`].
    pub module: usize,
    /// Index into [`Module::functions`].
    pub function: usize,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes: these functions ran such instructions, what was entered most first.
    Yes(Vec<At>),
    /// Such instructions ran, but only for these: the program's own cryptography was not seen to use them.
    OnlyNoise(Vec<At>, Vec<Origin>),
    /// No, although there is code with such instructions: these functions did not run them.
    Unused(Vec<At>),
    /// No, and there is no such code.
    Absent,
    /// Nothing was seen, and something could not be watched.
    Unknown(Unwatched),
}

/// What could not be watched.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Unwatched {
    /// Such instructions whose place is not proven.
    pub unproved: u64,
    /// Places where no breakpoint could be written.
    pub unwatchable: usize,
    /// Programs that were not watched at all: a note says why.
    pub processes: usize,
    /// Code that was not watched for another reason: those of [`Findings::notes`] that say it.
    pub code: Vec<Note>,
}

impl Unwatched {
    /// Whether all was watched.
    pub fn is_nothing(&self) -> bool {
        *self == Unwatched::default()
    }
}

impl Findings {
    /// The answer to a question.
    pub fn verdict(&self, question: Question) -> Verdict {
        let classes = question.classes();
        let counted = self
            .counters
            .iter()
            .any(|counter| !classes.intersection(counter.classes).is_empty() && counter.count > 0);
        let mut worked = self.that(|function| !function.worked.intersection(classes).is_empty());
        if !worked.is_empty() {
            worked.sort_by_key(|at| std::cmp::Reverse(self.weight(*at)));
            return Verdict::Yes(worked);
        }
        let ran = self.that(|function| !function.ran.intersection(classes).is_empty());
        if !ran.is_empty() {
            let mut origins: Vec<Origin> =
                ran.iter().flat_map(|at| self.function(*at).origins.iter().copied()).collect();
            origins.sort_unstable();
            origins.dedup();
            return Verdict::OnlyNoise(ran, origins);
        }
        let unwatched = self.unwatched(classes);
        if !unwatched.is_nothing() || counted {
            return Verdict::Unknown(unwatched);
        }
        let present = self.that(|function| !function.present.intersection(classes).is_empty());
        if present.is_empty() { Verdict::Absent } else { Verdict::Unused(present) }
    }

    /// Whether nothing tells if these functions, which answer a question with yes, made a checksum: they multiply without carries, and
    /// neither AES in their module nor their numbers, names or callers say what for.
    pub fn is_perhaps_checksum(&self, question: Question, at: &[At]) -> bool {
        let is_open = |at: &At| {
            let function = self.function(*at);
            let ciphers = self.modules[at.module].present.intersection(Class::aes_rounds());
            let mut names = function.callers.iter().flatten().chain([&function.name]);
            function.carry_less == CarryLess::Unknown
                && ciphers.is_empty()
                && !names.any(|name| known::is_field_arithmetic(name))
        };
        question == Question::CarryLess && at.iter().all(is_open)
    }

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

    fn that(&self, wanted: impl Fn(&Function) -> bool) -> Vec<At> {
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

    /// By what functions are ordered: entries, then samples, then hits.
    fn weight(&self, at: At) -> (u64, u32, u64) {
        let function = self.function(at);
        (function.entries.unwrap_or(0), function.samples, function.hits)
    }

    fn unwatched(&self, classes: Classes) -> Unwatched {
        let classes = classes.difference(self.lacking);
        let of = |counts: &Counts| classes.iter().map(|class| u64::from(counts.of(class))).sum::<u64>();
        let unproved = self.modules.iter().map(|module| of(&module.unproved)).sum();
        let concerned = self.modules.iter().filter(|m| !m.present.intersection(classes).is_empty());
        let lost = self.notes.iter().filter(|note| matches!(note, Note::Lost { .. }));
        Unwatched {
            unproved,
            unwatchable: concerned.map(|module| module.unwatchable).sum(),
            processes: lost.count(),
            code: self.notes.iter().filter(|note| self.concerns(note, classes)).cloned().collect(),
        }
    }

    /// Whether a note says that code which may have had instructions of these classes was not watched.
    fn concerns(&self, note: &Note, classes: Classes) -> bool {
        match note {
            Note::MayHold { classes: held, .. } => !held.intersection(classes).is_empty(),
            Note::Rewritable { .. } | Note::Gone { .. } => !classes.is_empty(),
            Note::ChecksItself { path } => {
                let mut modules = self.modules.iter();
                modules.any(|m| m.path == *path && !m.present.intersection(classes).is_empty())
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(present: &[Class], worked: &[Class], noise: &[Class]) -> Function {
        let set = |classes: &[Class]| classes.iter().copied().collect::<Classes>();
        let mut origins = Vec::new();
        if !noise.is_empty() {
            origins.push(Origin::Random);
        }
        if !worked.is_empty() {
            origins.push(Origin::Work);
        }
        Function {
            name: "f".into(),
            symbol: None,
            address: 0x1000,
            bounds: Bounds::Symbol,
            present: set(present),
            carry_less: CarryLess::Unknown,
            ran: set(worked).union(set(noise)),
            worked: set(worked),
            entries: None,
            samples: 0,
            rate: None,
            hits: 1,
            first: None,
            callers: Vec::new(),
            origins,
            by_process: Vec::new(),
        }
    }

    fn findings(functions: Vec<Function>) -> Findings {
        let present = functions.iter().fold(Classes::NONE, |set, function| set.union(function.present));
        Findings { modules: vec![Module { functions, present, ..Module::default() }], ..Findings::default() }
    }

    #[test]
    fn what_nothing_speaks_for_may_be_a_checksum() {
        let multiplies = [Class::Pclmul];
        let is_perhaps = |change: fn(&mut Findings)| {
            let mut found = findings(vec![function(&multiplies, &multiplies, &[])]);
            change(&mut found);
            let Verdict::Yes(at) = found.verdict(Question::CarryLess) else { panic!("{found:?}") };
            found.is_perhaps_checksum(Question::CarryLess, &at)
        };
        assert!(is_perhaps(|_| ()));
        assert!(!is_perhaps(|found| found.modules[0].present.insert(Class::Vaes)));
        assert!(!is_perhaps(|found| found.modules[0].functions[0].carry_less = CarryLess::Cipher));
        assert!(!is_perhaps(|found| found.modules[0].functions[0].name = "gcm_ghash_clmul".into()));
        assert!(!is_perhaps(
            |found| found.modules[0].functions[0].callers = vec![vec!["PolyvalHash".into(), "gf2m".into()]]
        ));
        let aes = findings(vec![function(&[Class::Aes], &[Class::Aes], &[])]);
        assert!(!aes.is_perhaps_checksum(Question::Aes, &[At { module: 0, function: 0 }]));
    }

    #[test]
    fn verdicts() {
        let aes = [Class::Aes];
        let all = findings(vec![function(&aes, &[], &aes), function(&aes, &aes, &[])]);
        assert_eq!(all.verdict(Question::Aes), Verdict::Yes(vec![At { module: 0, function: 1 }]));
        let noise = findings(vec![function(&aes, &[], &aes)]);
        let at = vec![At { module: 0, function: 0 }];
        assert_eq!(noise.verdict(Question::Aes), Verdict::OnlyNoise(at.clone(), vec![Origin::Random]));
        let mut unused = findings(vec![function(&aes, &[], &[])]);
        assert_eq!(unused.verdict(Question::Aes), Verdict::Unused(at));
        assert_eq!(unused.verdict(Question::Sha), Verdict::Absent);
        unused.lacking = [Class::Padlock].into_iter().collect();
        unused.modules[0].unproved.add(Class::Padlock);
        assert!(matches!(unused.verdict(Question::Aes), Verdict::Unused(_)), "nobody can run it here");
        unused.modules[0].unproved.add(Class::Aes);
        let unknown = Verdict::Unknown(Unwatched { unproved: 1, ..Unwatched::default() });
        assert_eq!(unused.verdict(Question::Aes), unknown);
        assert_eq!(unused.verdict(Question::Sha), Verdict::Absent);
        unused.modules[0].unwatchable = 2;
        assert_eq!(unused.verdict(Question::Sha), Verdict::Absent, "those hold no SHA");
        unused.note(Note::Lost { pid: 7, why: "it is a 32-bit program".into() });
        let unknown = Verdict::Unknown(Unwatched { processes: 1, ..Unwatched::default() });
        assert_eq!(unused.verdict(Question::Sha), unknown);
    }

    #[test]
    fn memory_without_a_file_takes_the_no_away() {
        let is_unknown = |findings: &Findings, question| match findings.verdict(question) {
            Verdict::Unknown(unwatched) => !unwatched.code.is_empty(),
            _ => false,
        };
        let mut held = findings(Vec::new());
        held.note(Note::MayHold { pid: 7, bytes: 4096, classes: Class::Aes.into() });
        assert!(is_unknown(&held, Question::Aes));
        assert_eq!(held.verdict(Question::Sha), Verdict::Absent, "it holds none of that");
        held.lacking = Class::Aes.into();
        assert_eq!(held.verdict(Question::Aes), Verdict::Absent, "nobody can run it here");
        for note in [Note::Rewritable { pid: 7, bytes: 4096 }, Note::Gone { pid: 7 }] {
            let mut rewritten = findings(Vec::new());
            rewritten.note(note);
            assert!(is_unknown(&rewritten, Question::Sha));
            rewritten.lacking = Class::Sha.into();
            assert_eq!(rewritten.verdict(Question::Sha), Verdict::Absent, "nobody can run it here");
        }
        let mut checks = findings(vec![function(&[Class::Aes], &[], &[])]);
        checks.modules[0].path = "/usr/bin/fips".into();
        checks.note(Note::ChecksItself { path: "/usr/bin/fips".into() });
        assert!(is_unknown(&checks, Question::Aes));
        assert_eq!(checks.verdict(Question::Sha), Verdict::Absent);
    }

    #[test]
    fn every_class_answers_one_question() {
        for class in Class::ALL {
            let answered = Question::ALL.iter().filter(|question| question.classes().has(*class));
            assert_eq!(answered.count(), 1, "{class:?}");
        }
    }

    #[test]
    fn a_note_stands_once() {
        let mut findings = Findings::default();
        findings.note(Note::LateCode);
        findings.note(Note::LateCode);
        assert_eq!(findings.notes.len(), 1);
    }
}
