//! A program run without features of the processor: by the answers to CPUID, by variables, or by both.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use millstream_observe::capability::{Capabilities, Withheld};
use millstream_observe::knobs::{self, Setting};
use millstream_observe::processor;
use serde_json::{Value, json};

use super::features::names;
use super::table::{count, enumerated};
use crate::programs::child;

/// How a program is kept from features.
#[derive(Debug)]
pub struct Way {
    /// What it is kept from; nothing, for a run that is to be compared with another.
    pub withheld: Withheld,
    /// Whether CPUID is answered.
    pub cpuid: bool,
    /// Why not, where that was not wished.
    pub why_not: Option<String>,
    /// The variables.
    pub settings: Vec<Setting>,
}

/// How it went.
#[derive(Debug)]
pub struct Outcome {
    /// How the program ended.
    pub status: ExitStatus,
    /// How long that took.
    pub time: Duration,
    /// What was answered, where that was the way.
    pub answers: Option<Answers>,
    /// The instruction that ended it by SIGILL, where that is known.
    pub illegal: Option<String>,
}

/// What was answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answers {
    /// CPUID instructions.
    pub cpuids: u64,
    /// Programs: one for each exec.
    pub programs: u64,
}

impl Way {
    /// Both layers, or the variables alone where that is wished or nothing else is possible.
    pub fn new(withheld: Withheld, knobs_only: bool) -> Way {
        let why_not = if knobs_only { None } else { unsupported() };
        let cpuid = !knobs_only && why_not.is_none();
        let mut settings =
            knobs::settings(withheld, processor::capabilities(), &|name| std::env::var_os(name));
        // What the answers to CPUID do anyway need not be paid for with a line that the program would not have printed.
        settings.retain(|setting| !cpuid || setting.side_effect.is_none());
        Way { withheld, cpuid, why_not, settings }
    }

    /// The same with nothing withheld: what it costs is the same.
    pub fn nothing_withheld(&self) -> Way {
        Way { withheld: Withheld::default(), cpuid: self.cpuid, why_not: None, settings: Vec::new() }
    }

    /// Runs a program so.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn run(&self, command: &mut Command) -> io::Result<Outcome> {
        command.envs(self.settings.iter().map(|setting| (setting.variable, &setting.value)));
        let began = Instant::now();
        let (status, answers) = match self.cpuid {
            true => answered(command, self.withheld)?,
            false => (child::run(command)?, None),
        };
        Ok(Outcome { status, time: began.elapsed(), answers, illegal: None })
    }

    /// What the program can't have that the processor has.
    pub fn taken(&self) -> Capabilities {
        self.withheld.all().intersection(processor::capabilities())
    }

    /// What acted, in a line.
    pub fn text(&self, answers: Option<Answers>) -> String {
        let answered = answers.map(|answers| {
            let programs = count(answers.programs, "program");
            format!("CPUID answered {} in {programs}", times(answers.cpuids))
        });
        let variables: Vec<&str> = self.settings.iter().map(|setting| setting.variable).collect();
        let set = (!variables.is_empty()).then(|| format!("{} set", enumerated(variables)));
        let acted: Vec<String> = answered.into_iter().chain(set).collect();
        let taken = self.taken();
        if taken.is_empty() {
            return "this processor has nothing of what was to be withheld".to_owned();
        }
        let acted = if acted.is_empty() { "nothing could be done".to_owned() } else { acted.join("; ") };
        format!("without {taken}: {acted}")
    }

    /// The same for programs.
    pub fn json(&self, answers: Option<Answers>) -> Value {
        let setting = |setting: &Setting| {
            json!({
                "variable": setting.variable,
                "value": setting.value.to_string_lossy(),
                "library": setting.library,
            })
        };
        json!({
            "asked": names(self.withheld.asked()),
            "withheld": names(self.taken()),
            "cpuid": answers.map(|answers| json!({ "answered": answers.cpuids, "programs": answers.programs })),
            "why_no_cpuid": self.why_not,
            "knobs": self.settings.iter().map(setting).collect::<Vec<_>>(),
        })
    }
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        number => format!("{number} times"),
    }
}

/// Why CPUID can't be answered here.
fn unsupported() -> Option<String> {
    Some("not yet".into())
}

fn answered(command: &mut Command, withheld: Withheld) -> io::Result<(ExitStatus, Option<Answers>)> {
    let _ = withheld;
    Ok((child::run(command)?, None))
}

/// That only the variables acted, though more was wished.
pub fn only_variables(why: &str) -> String {
    format!(
        "{why}; only programs whose library reads one of the variables lack the features (--knobs-only says that this is wished)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_acted_is_told() {
        let mut way = Way::new(Withheld::without("crypto").unwrap(), true);
        assert!(!way.cpuid && way.why_not.is_none());
        let has_any = !way.taken().is_empty();
        let text = way.text(Some(Answers { cpuids: 72, programs: 1 }));
        assert_eq!(
            text.contains("CPUID answered 72 times in 1 program; OPENSSL_ia32cap, "),
            has_any,
            "{text}"
        );
        way.settings.clear();
        assert_eq!(way.text(None).contains("nothing could be done"), has_any);
        let json = way.json(Some(Answers { cpuids: 1, programs: 2 }));
        assert_eq!((&json["cpuid"]["answered"], &json["cpuid"]["programs"]), (&json!(1), &json!(2)));
    }
}
