//! The questions that people ask about a program, and the findings' answers.

use super::findings::{At, Findings, Note, Origin};
use crate::code::{CarryLess, Class, Classes, Counts, known};

/// A question that people ask about a program.
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
    /// All questions, in the order of reports.
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

    /// Returns the words for it in reports.
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

    /// Returns the classes that answer it.
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

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes: these functions ran such instructions, the most entered first.
    Yes(Vec<At>),
    /// Such instructions ran, but only for these purposes. The program's own cryptography was not seen to use
    /// them.
    OnlyNoise(Vec<At>, Vec<Origin>),
    /// No, although there is code with such instructions. These functions did not run them.
    Unused(Vec<At>),
    /// No, and there is no such code.
    Absent,
    /// Nothing was seen, but something could not be watched.
    Unknown(Unwatched),
}

/// The parts of a program that could not be watched.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Unwatched {
    /// The number of such instructions whose place is not proven.
    pub unproved: u64,
    /// The number of places where no breakpoint could be written.
    pub unwatchable: usize,
    /// The number of programs that were not watched at all, each with a note.
    pub processes: usize,
    /// The notes from [`Findings::notes`] on other code that was not watched.
    pub code: Vec<Note>,
}

impl Unwatched {
    /// Returns true when everything was watched.
    pub fn is_nothing(&self) -> bool {
        *self == Unwatched::default()
    }
}

impl Findings {
    /// Returns the answer to a question.
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

    /// Returns true when these functions, which answer a question with yes, may have made a checksum: they
    /// use carry-less multiplication, and neither AES in their module nor their constants, names or callers
    /// reveal the purpose.
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

    /// Returns the sort key of functions: entries, then samples, then hits.
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

    /// Returns true when a note says that code with instructions of these classes may not have been watched.
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
    use crate::code::Bounds;
    use crate::trace::findings::{Function, Module};

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
}
