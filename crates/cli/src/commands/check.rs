//! `millstream check`: runs a published vector through every kernel that this processor can run.

use std::fmt::Write;

use millstream::engines;
use millstream_cpu::Features;
use millstream_engines::Kernel;
use serde_json::json;

use crate::commands::print;
use crate::error::Error;

/// Test every kernel this processor can run against published answers
///
/// Prints a summary, and exits with 1 when a kernel gave a wrong answer. Kernels whose features
/// MILLSTREAM_HWCAP masks are not run.
#[derive(clap::Args)]
pub(super) struct Check {
    /// Print a line for each kernel
    #[arg(short, long)]
    verbose: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

struct Outcome {
    algorithm: &'static str,
    kernel: &'static Kernel,
    /// True when the answer was right; none where the kernel could not be run.
    right: Option<bool>,
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self.right {
            Some(true) => "ok",
            Some(false) => "FAILED",
            None => "not available",
        }
    }
}

impl Check {
    pub(super) fn run(self) -> Result<(), Error> {
        let features = Features::active()?;
        let mut results = Vec::new();
        for engine in engines() {
            for kernel in engine.kernels() {
                let right = engine.check(features, kernel.name);
                results.push(Outcome { algorithm: engine.algorithm().name, kernel, right });
            }
        }
        let failed = results.iter().filter(|r| r.right == Some(false)).count();
        print(if self.json { json(&results) } else { text(&results, self.verbose, features) })?;
        if failed > 0 { Err(Error::SelfTest(failed)) } else { Ok(()) }
    }
}

fn count(results: &[Outcome], right: Option<bool>) -> usize {
    results.iter().filter(|r| r.right == right).count()
}

fn text(results: &[Outcome], verbose: bool, features: Features) -> String {
    let mut text = String::new();
    for result in results.iter().filter(|r| verbose || r.right == Some(false)) {
        let lacking = result.kernel.requires.difference(features.set());
        let needs = if lacking.is_empty() { String::new() } else { format!(" (needs {lacking})") };
        let _ = writeln!(text, "{:20} {:28} {}{needs}", result.algorithm, result.kernel.name, result.word());
    }
    let [ok, failed, absent] = [Some(true), Some(false), None].map(|right| count(results, right));
    let _ = writeln!(
        text,
        "{} algorithms, {} kernels: {ok} ok, {failed} failed, {absent} not available on this processor",
        engines().count(),
        results.len()
    );
    text
}

fn json(results: &[Outcome]) -> String {
    let lines = results
        .iter()
        .map(|r| json!({ "algorithm": r.algorithm, "kernel": r.kernel.name, "result": r.word() }));
    let report = json!({
        "version": 1,
        "ok": count(results, Some(true)),
        "failed": count(results, Some(false)),
        "not_available": count(results, None),
        "kernels": lines.collect::<Vec<_>>(),
    });
    format!("{report:#}\n")
}
