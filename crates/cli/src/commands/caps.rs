//! `millstream caps`: the processor's features, as `isainfo -v` printed them, and the reason for each kernel.

use std::fmt::Write;

use millstream::engines;
use millstream_cpu::{Feature, FeatureSet, Features, processor_name};
use millstream_engines::{Engine, Kernel, Timing};
use serde_json::{Value, json};

use crate::commands::print;
use crate::error::Error;

/// Show the processor's features and the kernel chosen for each algorithm
///
/// For each algorithm: the kernel that this process uses, and why each faster one is not used: the processor
/// lacks features, MILLSTREAM_HWCAP masks them, or the kernel's time depends on secrets.
#[derive(clap::Args)]
pub(super) struct Caps {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

impl Caps {
    pub(super) fn run(self) -> Result<(), Error> {
        let report = Report::new(Features::active()?);
        if self.json {
            return print(format!("{:#}\n", report.json()));
        }
        print(report.text())
    }
}

struct Report {
    processor: String,
    present: FeatureSet,
    masked: FeatureSet,
    missing: FeatureSet,
    engines: Vec<Choice>,
}

struct Choice {
    engine: &'static dyn Engine,
    chosen: &'static Kernel,
    /// The kernels placed before the chosen one.
    passed_over: Vec<(&'static Kernel, Why)>,
}

struct Why {
    lacks: FeatureSet,
    masked: FeatureSet,
    variable_time: bool,
}

impl Report {
    fn new(active: Features) -> Self {
        let (hardware, active_set) = (Features::hardware().set(), active.set());
        let choice = |engine: &'static dyn Engine| {
            let chosen = engine.chosen(active);
            let before = engine.kernels().into_iter().take_while(|kernel| kernel.name != chosen.name);
            let why = |kernel: &'static Kernel| Why {
                lacks: kernel.requires.difference(hardware),
                masked: kernel.requires.intersection(hardware).difference(active_set),
                variable_time: kernel.timing == Timing::Variable,
            };
            Choice { engine, chosen, passed_over: before.map(|kernel| (kernel, why(kernel))).collect() }
        };
        Report {
            processor: processor_name(),
            present: active_set,
            masked: hardware.difference(active_set),
            missing: own_architecture().difference(hardware),
            engines: engines().map(choice).collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let none_or = |set: FeatureSet| if set.is_empty() { "none".to_owned() } else { set.to_string() };
        let _ = writeln!(text, "Processor  {}", self.processor);
        let _ = writeln!(text, "Present    {}", none_or(self.present));
        let _ = writeln!(text, "Masked     {}", none_or(self.masked));
        let _ = writeln!(text, "Missing    {}", none_or(self.missing));
        let names = self.engines.iter().map(|c| c.engine.algorithm().name.len());
        let kernels = self.engines.iter().map(|c| c.chosen.name.len());
        let (a, k) = (names.max().unwrap_or(0).max(9), kernels.max().unwrap_or(0).max(6));
        let _ =
            writeln!(text, "\n{:a$}  {:17}  {:k$}  Faster ones not used", "Algorithm", "Standing", "Kernel");
        for choice in &self.engines {
            let algorithm = choice.engine.algorithm();
            let standing = algorithm.standing.to_string();
            let line = format!("{:a$}  {standing:17}  {:k$}  ", algorithm.name, choice.chosen.name);
            let reasons: Vec<_> = choice
                .passed_over
                .iter()
                .map(|(kernel, why)| format!("{}: {}", kernel.name, why.text()))
                .collect();
            let indent = format!("\n{}", " ".repeat(line.len()));
            let _ = writeln!(text, "{}", format!("{line}{}", reasons.join(&indent)).trim_end());
        }
        text
    }

    fn json(&self) -> Value {
        json!({
            "version": 1,
            "processor": self.processor,
            "architecture": std::env::consts::ARCH,
            "features": {
                "present": names(self.present),
                "masked": names(self.masked),
                "missing": names(self.missing),
            },
            "algorithms": self.engines.iter().map(Choice::json).collect::<Vec<_>>(),
        })
    }
}

impl Choice {
    fn json(&self) -> Value {
        let algorithm = self.engine.algorithm();
        let passed_over = self.passed_over.iter().map(|(kernel, why)| {
            json!({
                "kernel": kernel.name,
                "lacks": names(why.lacks),
                "masked": names(why.masked),
                "variable_time": why.variable_time,
            })
        });
        let kernels = self.engine.kernels().into_iter().map(|kernel| {
            json!({ "name": kernel.name, "requires": names(kernel.requires), "timing": timing(kernel.timing) })
        });
        json!({
            "name": algorithm.name,
            "standing": algorithm.standing.to_string(),
            "standard": algorithm.standard,
            "key_bits": algorithm.key_bits,
            "kernel": self.chosen.name,
            "requires": names(self.chosen.requires),
            "constant_time": self.chosen.timing == Timing::Constant,
            "note": self.chosen.note,
            "not_used": passed_over.collect::<Vec<_>>(),
            "kernels": kernels.collect::<Vec<_>>(),
        })
    }
}

/// The word for a kernel's timing in JSON.
fn timing(timing: Timing) -> &'static str {
    match timing {
        Timing::Constant => "constant",
        Timing::Variable => "variable",
        Timing::VariableByNature => "variable by nature",
    }
}

impl Why {
    fn text(&self) -> String {
        let mut reasons = Vec::new();
        if !self.lacks.is_empty() {
            reasons.push(format!("lacks {}", self.lacks));
        }
        if !self.masked.is_empty() {
            reasons.push(format!("masked {}", self.masked));
        }
        if self.variable_time {
            reasons.push("variable time".to_owned());
        }
        reasons.join(", ")
    }
}

fn names(set: FeatureSet) -> Vec<&'static str> {
    set.iter().map(Feature::name).collect()
}

/// Returns the features that a processor of this architecture could have.
fn own_architecture() -> FeatureSet {
    let first_of_arm = Feature::ALL.iter().position(|&f| f == Feature::Neon).unwrap_or(Feature::ALL.len());
    let (x86, arm) = Feature::ALL.split_at(first_of_arm);
    if cfg!(target_arch = "x86_64") {
        FeatureSet::of(x86)
    } else if cfg!(target_arch = "aarch64") {
        FeatureSet::of(arm).union(FeatureSet::of(&[Feature::Aes, Feature::Sm4]))
    } else {
        FeatureSet::EMPTY
    }
}
