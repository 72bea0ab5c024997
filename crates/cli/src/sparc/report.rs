//! The report on a program at its end, on standard error or in a file.

use std::collections::BTreeMap;

use millstream_ultrasparc::counts::{self, Counts, Image, Name, Paths};
use millstream_ultrasparc::cpu::Cpu;
use serde_json::{Map, Value, json};

use super::{count, mix};

/// The parts of a report.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Wanted {
    /// Count instructions by kind, and the crypto instructions by name
    #[arg(long)]
    pub mix: bool,
    /// Count entries into the functions whose names match, as in '*_t4_*' or 'libc.so.6:mem*'
    #[arg(long, value_name = "GLOB")]
    pub count: Option<String>,
    /// Name the crypto instructions of the program and its libraries that were never reached
    #[arg(long)]
    pub unreached: bool,
}

impl Wanted {
    /// Returns true when any part is wanted.
    pub fn any(&self) -> bool {
        self.mix || self.count.is_some() || self.unreached
    }
}

/// The counts of a program and of those that it became by `exec`.
#[derive(Debug, Default)]
pub struct Report {
    wanted: Wanted,
    instructions: Counts,
    entries: BTreeMap<Name, u64>,
    paths: BTreeMap<Name, Paths>,
}

impl Report {
    /// Makes an empty report.
    pub fn new(wanted: Wanted) -> Report {
        Report { wanted, ..Report::default() }
    }

    /// Adds the counts of the program in memory. It must be called before that is replaced, and at the end.
    pub fn add(&mut self, cpu: &Cpu, images: &[Image]) {
        self.instructions += &Counts::of(cpu.blocks());
        if let Some(pattern) = &self.wanted.count {
            for (name, count) in counts::entries(cpu.blocks(), images, pattern) {
                *self.entries.entry(name).or_default() += count;
            }
        }
        if self.wanted.unreached {
            self.paths.extend(counts::crypto_paths(cpu.blocks(), images));
        }
    }

    /// Formats it for people.
    pub fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.wanted.mix {
            parts.push(mix::text(&self.instructions));
        }
        if let Some(pattern) = &self.wanted.count {
            parts.push(match self.entries.is_empty() {
                true => format!("no function that matches {pattern:?} was entered\n"),
                false => count::text(&self.entries),
            });
        }
        if self.wanted.unreached {
            parts.push(match self.paths.is_empty() {
                true => "no function has crypto instructions\n".to_owned(),
                false => count::paths_text(&self.paths),
            });
        }
        parts.join("\n")
    }

    /// Returns it for programs.
    pub fn json(&self) -> Value {
        let mut report = Map::new();
        report.insert("version".into(), json!(1));
        report.insert("instructions".into(), json!(self.instructions.total()));
        report.insert("crypto".into(), json!(self.instructions.crypto()));
        if self.wanted.mix {
            report.insert("mix".into(), mix::classes(&self.instructions));
            report.insert("rows".into(), mix::rows(&self.instructions));
        }
        if self.wanted.count.is_some() {
            report.insert("functions".into(), count::json(&self.entries));
        }
        if self.wanted.unreached {
            report.insert("unreached".into(), count::unreached_json(&self.paths));
        }
        report.into()
    }
}

#[cfg(test)]
mod tests {
    use millstream_ultrasparc::cpu::block::Executed;

    use super::*;

    fn report() -> Report {
        let wanted = Wanted { mix: true, count: Some("*".into()), unreached: true };
        let words = [0x8400_4003, 0x8400_4003, 0xc202_2000];
        let name = |function: &str| Name { library: "program".into(), function: function.into() };
        Report {
            wanted,
            instructions: Counts::of([Executed { start: 0, words: &words, executions: 4, annulled: 0 }]),
            entries: BTreeMap::from([(name("main"), 1), (name("aes"), 7), (name("begin"), 1)]),
            paths: BTreeMap::from([
                (
                    name("aes"),
                    Paths { present: 2, reached: 1, executions: 9, unreached: [("aes_kexpand0", 1)].into() },
                ),
                (
                    name("camellia"),
                    Paths { present: 3, unreached: [("camellia_f", 3)].into(), ..Paths::default() },
                ),
            ]),
        }
    }

    #[test]
    fn people_get_tables() {
        let expected = "\
CLASS    INSTRUCTIONS   SHARE
integer             8  66.7 %
load                4  33.3 %
all                12

LIBRARY  FUNCTION  ENTRIES
program  begin           1
program  main            1
program  aes             7

LIBRARY  FUNCTION  PRESENT  REACHED  EXECUTED  NEVER EXECUTED
program  aes             2        1         9  aes_kexpand0 1
program  camellia        3        0         0  all
";
        assert_eq!(report().text(), expected);
    }

    #[test]
    fn programs_get_json() {
        let json = report().json();
        assert_eq!(json["instructions"], 12);
        assert_eq!(json["mix"], json!({ "integer": 8, "load": 4 }));
        assert_eq!(json["rows"]["add"], 8);
        assert_eq!(json["functions"][0], json!({ "library": "program", "function": "aes", "entries": 7 }));
        assert_eq!(json["unreached"][1]["instructions"], json!({ "camellia_f": 3 }));
    }

    #[test]
    fn nothing_is_said_in_words() {
        let wanted = Wanted { mix: false, count: Some("x*".into()), unreached: true };
        let expected = "no function that matches \"x*\" was entered\n\nno function has crypto instructions\n";
        assert_eq!(Report::new(wanted).text(), expected);
    }
}
