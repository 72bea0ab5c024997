//! Runs a program without features of the processor: with answers to CPUID, with variables, or with both.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use millstream_observe::capability::{Capabilities, Withheld};
use millstream_observe::illegal::{Illegal, Refused};
use millstream_observe::knobs::{self, Setting};
use millstream_observe::process::{AttachError, Launch, Tracer};
use millstream_observe::processor;
use millstream_observe::without::{Masker, supported};
use serde_json::{Value, json};

use super::features::names;
use super::table::{count, few};
use crate::programs::child;

/// The signal with which an illegal instruction ends a program.
const SIGILL: i32 = 4;

/// The way in which features are withheld from a program.
#[derive(Debug)]
pub struct Way {
    /// The features to withhold; none for the run that is the standard of comparison.
    pub withheld: Withheld,
    /// True when CPUID is answered.
    cpuid: bool,
    /// The reason why not, if the user did not ask for that.
    why_not: Option<String>,
    /// All variables that withhold the features.
    settings: Vec<Setting>,
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The program's exit status.
    pub status: ExitStatus,
    /// The time it took.
    pub time: Duration,
    /// The answers that were given, if CPUID was answered.
    pub answers: Option<Answers>,
    /// The instruction that ended the program by SIGILL, if it is known.
    pub illegal: Option<Refused>,
}

/// The answers that were given.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// The number of CPUID instructions.
    pub cpuids: u64,
    /// The number of programs: one for each exec.
    pub programs: u64,
    /// Remarks on what did not go as planned.
    pub notes: Vec<String>,
}

impl Way {
    /// Uses both layers, or variables alone where the user asked for that or CPUID can't fault here.
    pub fn new(withheld: Withheld, knobs_only: bool) -> Way {
        let why_not = if knobs_only { None } else { supported().err().map(|error| error.to_string()) };
        let settings = knobs::settings(withheld, processor::capabilities(), &|name| std::env::var_os(name));
        Way { withheld, cpuid: !knobs_only && why_not.is_none(), why_not, settings }
    }

    /// Returns the same way with nothing withheld, whose cost is the same.
    pub fn nothing_withheld(&self) -> Way {
        Way { withheld: Withheld::default(), cpuid: self.cpuid, why_not: None, settings: Vec::new() }
    }

    /// Runs a program this way. If it can't be traced, only variables are set, and [`Way::why_not`] gives the
    /// reason.
    ///
    /// # Errors
    /// Fails when the program can't be started.
    pub fn run(&mut self, command: &mut Command, warn: &dyn Fn(&str)) -> io::Result<Outcome> {
        command.envs(self.settings().map(|setting| (setting.variable, setting.value.clone())));
        let began = Instant::now();
        if self.cpuid {
            match self.answered(command) {
                Err(error) if is_forbidden(&error) => {
                    self.fall_back(error.to_string());
                    self.warn(warn);
                    command.envs(self.settings().map(|setting| (setting.variable, setting.value.clone())));
                }
                outcome => return outcome,
            }
        }
        let status = child::run(command)?;
        Ok(Outcome { status, time: began.elapsed(), answers: None, illegal: None })
    }

    fn answered(&self, command: &mut Command) -> io::Result<Outcome> {
        let launch = Launch { filter: false, kill_with_us: true, stop_with_it: true };
        let mut watchers = (Masker::new(self.withheld), Illegal::default());
        let began = Instant::now();
        let mut tracer = Tracer::launch(command, launch)?;
        let status = tracer.run(&mut watchers)?;
        let time = began.elapsed();
        let illegal = watchers.1.of(tracer.pid()).filter(|_| status.signal() == Some(SIGILL)).cloned();
        let left = tracer.processes().names();
        // Processes that the program left running go on, and get true answers from now on.
        tracer.detach_all(&mut watchers)?;
        let report = watchers.0.report();
        let mut notes: Vec<String> = report.notes.iter().map(ToString::to_string).collect();
        if !left.is_empty() {
            let left: Vec<&str> = left.iter().map(String::as_str).collect();
            let left = few(&left, "other process");
            notes.push(format!("left running: {left}; it finds every feature from now on"));
        }
        let answers = Answers { cpuids: report.answers(), programs: report.programs, notes };
        Ok(Outcome { status, time, answers: Some(answers), illegal })
    }

    /// Falls back to variables, because tracing is not possible.
    pub fn fall_back(&mut self, why: String) {
        (self.cpuid, self.why_not) = (false, Some(why));
    }

    /// Returns why only variables act although the user asked for more.
    pub fn why_not(&self) -> Option<&str> {
        self.why_not.as_deref()
    }

    /// Warns that only variables act, if the user did not ask for that.
    pub fn warn(&self, warn: &dyn Fn(&str)) {
        if let Some(why) = &self.why_not {
            warn(&format!(
                "{why}; so only programs whose library reads a variable lack the features (with --knobs-only this is not reported)"
            ));
        }
    }

    /// Returns the variables to set. Those with a side effect, a line that the program would not have printed
    /// otherwise, are left out where answers to CPUID do the same.
    fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(|setting| !self.cpuid || setting.side_effect.is_none())
    }

    /// Returns the withheld features that the processor has.
    pub fn taken(&self) -> Capabilities {
        self.withheld.all().intersection(processor::capabilities())
    }

    /// Describes in a line what acted.
    pub fn text(&self, answers: Option<&Answers>) -> String {
        let taken = self.taken();
        if taken.is_empty() {
            return "this processor has none of the features to withhold".to_owned();
        }
        let answered = answers.filter(|answers| answers.programs > 0).map(|answers| {
            let programs = count(answers.programs, "program");
            match answers.cpuids {
                // The auxiliary vector was edited then. Nobody knows how often a program reads it.
                0 => format!("hidden from {programs}"),
                cpuids => format!("CPUID answered {} in {programs}", times(cpuids)),
            }
        });
        let variables: Vec<&str> = self.settings().map(|setting| setting.variable).collect();
        let set = (!variables.is_empty()).then(|| format!("{} set", few(&variables, "other variable")));
        let acted: Vec<String> = answered.into_iter().chain(set).collect();
        let acted = if acted.is_empty() { "nothing could be done".to_owned() } else { acted.join("; ") };
        format!("without {}: {acted}", few(&names(taken), "other feature"))
    }

    /// Returns the same for programs.
    pub fn json(&self, answers: Option<&Answers>) -> Value {
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
            "knobs": self.settings().map(setting).collect::<Vec<_>>(),
            "notes": answers.map_or(&[][..], |answers| &answers.notes[..]),
        })
    }
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        number => format!("{number} times"),
    }
}

/// Returns true when tracing failed, and not the start of the program.
pub fn is_forbidden(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<AttachError>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_acted_is_told() {
        let mut way = Way::new(Withheld::without("aes").unwrap(), true);
        assert!(!way.cpuid && way.why_not.is_none());
        let has_any = !way.taken().is_empty();
        let answers = Answers { cpuids: 72, programs: 1, notes: Vec::new() };
        let text = way.text(Some(&answers));
        assert_eq!(
            text.contains("CPUID answered 72 times in 1 program; OPENSSL_ia32cap, "),
            has_any,
            "{text}"
        );
        assert_eq!(text.contains("JAVA_TOOL_OPTIONS"), has_any, "{text}");
        let json = way.json(Some(&answers));
        assert_eq!((&json["cpuid"]["answered"], &json["cpuid"]["programs"]), (&json!(72), &json!(1)));
        way.cpuid = true;
        assert!(!way.text(None).contains("JAVA_TOOL_OPTIONS"));
        way.fall_back("no".into());
        assert_eq!(way.text(None).contains("JAVA_TOOL_OPTIONS"), has_any);
        way.settings.clear();
        assert_eq!(way.text(None).contains("nothing could be done"), has_any);
    }
}
