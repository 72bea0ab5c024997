//! Runs `millstream run --without` and `trace` around any program.

use std::process::Command;
use std::sync::OnceLock;

use millstream_testkit::skip;
use serde_json::Value;

use crate::{Ended, Place, built, run};

/// Returns a command with `millstream WORDS --` before it.
pub fn under(words: &[&str], command: &Command) -> Command {
    let mut under = Command::new(&built().millstream);
    under.args(words).arg("--").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => under.env(name, value),
            None => under.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        under.current_dir(folder);
    }
    under
}

/// Returns a command without features, by the answers to CPUID and by variables.
pub fn without(features: &str, command: &Command) -> Command {
    under(&["run", "--quiet", "--without", features], command)
}

/// Returns true when the machine has everything that a test needs: features of the processor, and `cpuid` for
/// answering CPUID. Prints the missing ones otherwise.
pub fn here(test: &str, needs: &[&str]) -> bool {
    static LIST: OnceLock<Value> = OnceLock::new();
    let list = LIST.get_or_init(|| {
        let text = run(Command::new(&built().millstream).args(["run", "--list", "--json"]), b"").text();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    });
    let has = |need: &str| {
        let mut features = list["features"].as_array().into_iter().flatten();
        need == "cpuid" && list["cpuid"] == true
            || features.any(|feature| feature["name"] == need && feature["here"] == true)
    };
    let missing: Vec<&str> = needs.iter().copied().filter(|need| !has(need)).collect();
    if !missing.is_empty() {
        skip(&format!("{test}: this machine has not: {}", missing.join(", ")));
    }
    missing.is_empty()
}

/// Returns the speed that a subject prints, of its fastest repetition, in MB/s.
#[track_caller]
pub fn speed(ended: &Ended) -> f64 {
    let lines = ended.err.lines().filter_map(|line| line.strip_suffix(" MB/s"));
    let speed = lines.filter_map(|number| number.parse().ok()).next();
    speed.unwrap_or_else(|| panic!("{} says no speed:\n{}", ended.shown, ended.err))
}

/// Measures two commands in turns until a pair of neighbours is as expected, or the best of both sides are,
/// and returns the figures that decided. Neighbours run at the clock that the processor had at the time; the
/// best run at its highest one. So other work on the machine may delay the answer, but not change it.
pub fn in_turns(
    most: u32,
    best: fn(f64, f64) -> f64,
    is_met: impl Fn((f64, f64)) -> bool,
    mut pair: impl FnMut() -> (f64, f64),
) -> ((f64, f64), bool) {
    let mut all = pair();
    let mut now = all;
    for _ in 1..most {
        if let Some(met) = [now, all].into_iter().find(|pair| is_met(*pair)) {
            return (met, true);
        }
        now = pair();
        all = (best(all.0, now.0), best(all.1, now.1));
    }
    (all, is_met(now) || is_met(all))
}

/// Returns the tracer of a process, or 0.
pub fn tracer_of(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    line.and_then(|pid| pid.trim().parse().ok()).expect("it lives")
}

/// The findings of a trace.
pub struct Findings(pub Value);

/// Traces a command to its end. Returns its end and the findings.
#[track_caller]
pub fn trace(options: &[&str], command: &Command, input: &[u8]) -> (Ended, Findings) {
    let place = Place::new();
    let report = place.path("report");
    let report_text = report.to_str().expect("temporary folders have plain names");
    let words = [&["trace", "--quiet", "--json", "--report", report_text], options].concat();
    let ended = run(&mut under(&words, command), input);
    let found = Findings::read(&report);
    (ended, found)
}

impl Findings {
    /// Reads the findings from a file.
    #[track_caller]
    pub fn read(path: &std::path::Path) -> Findings {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Findings(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")))
    }

    /// Returns the functions that ran instructions of one of these classes, each with its library.
    pub fn ran(&self, classes: &[&str]) -> Vec<String> {
        self.functions("ran", classes)
    }

    /// Returns the functions that hold such instructions.
    pub fn present(&self, classes: &[&str]) -> Vec<String> {
        self.functions("present", classes)
    }

    /// Returns the answer to a question, such as `yes` or `unused`: whether hardware AES, or hardware SHA,
    /// was used.
    pub fn answer(&self, of_class: &str) -> &str {
        let mut answers = self.0["answers"].as_array().into_iter().flatten();
        let of_it = |answer: &&Value| named(&answer["classes"], &[of_class]);
        answers.find(of_it).and_then(|answer| answer["answer"].as_str()).unwrap_or("none")
    }

    /// Returns how often functions with such instructions were entered, as far as that was counted.
    pub fn entries(&self, classes: &[&str]) -> u64 {
        let all = self.each().filter(|(_, function)| named(&function["ran"], classes));
        all.map(|(_, function)| function["entries"].as_u64().unwrap_or(0)).sum()
    }

    /// Returns the remarks on the trace's own limits.
    pub fn notes(&self) -> String {
        let notes = self.0["notes"].as_array().into_iter().flatten();
        notes.filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
    }

    fn functions(&self, key: &str, classes: &[&str]) -> Vec<String> {
        let those = self.each().filter(|(_, function)| named(&function[key], classes));
        those.map(|(module, function)| format!("{}: {}", module["path"], function["name"])).collect()
    }

    fn each(&self) -> impl Iterator<Item = (&Value, &Value)> {
        let modules = self.0["modules"].as_array().into_iter().flatten();
        modules.flat_map(|module| {
            module["functions"].as_array().into_iter().flatten().map(move |function| (module, function))
        })
    }
}

fn named(list: &Value, names: &[&str]) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|name| names.iter().any(|n| name == n)))
}
