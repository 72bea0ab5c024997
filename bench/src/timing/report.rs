//! The results, to read and as JSON: a line for each row, with the worst of its trials.

use std::fmt::Write;

use millstream_engines::Timing;
use serde_json::{Value, json};

use super::{Arguments, Finding, LIMIT};
use crate::record::Circumstances;

/// A run that is over.
pub struct Run<'a> {
    pub about: &'a Circumstances,
    pub arguments: &'a Arguments,
    pub leak: &'a Finding,
    pub findings: &'a [Finding],
    /// Rows that this processor can't run: algorithm and kernel.
    pub missing: &'a [(&'static str, &'static str)],
}

/// The summary of a row's trials.
struct Row<'a> {
    worst: &'a Finding,
    trials: usize,
    samples: usize,
    again: usize,
    differs: bool,
}

impl Row<'_> {
    fn verdict(&self) -> &'static str {
        match (self.differs, self.worst.timing) {
            (false, _) => "no difference",
            (true, Timing::Constant) if self.worst.rejects => "differs, by rejection",
            (true, Timing::Constant) => "DIFFERS",
            (true, _) => "differs, as marked",
        }
    }
}

impl Run<'_> {
    /// Returns the rows in the registry's order, each with the trial that differs most.
    fn rows(&self) -> Vec<Row<'_>> {
        let rows = self.findings.chunk_by(|a, b| (a.algorithm, a.kernel) == (b.algorithm, b.kernel));
        rows.map(|trials| {
            // Trials that can be judged come before those that cannot.
            let key = |finding: &&Finding| (!finding.rejects, finding.differs, finding.t().abs());
            let worst = trials.iter().max_by(|a, b| key(a).partial_cmp(&key(b)).expect("numbers"));
            let worst = worst.expect("a chunk has a trial");
            Row {
                worst,
                trials: trials.len(),
                samples: trials.iter().map(|finding| finding.samples).sum(),
                again: trials.iter().filter(|finding| finding.measured > 1).count(),
                differs: worst.differs,
            }
        })
        .collect()
    }

    /// Formats the table.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<26}{:<28}{:>7}{:>10}{:>8}  {:<20}\n",
            "algorithm", "kernel", "trials", "samples", "t", "verdict"
        );
        for row in self.rows() {
            let (worst, t) = (row.worst, row.worst.t());
            let verdict = row.verdict();
            writeln!(
                text,
                "{:<26}{:<28}{:>7}{:>10}{t:>8.1}  {verdict:<20}",
                worst.algorithm, worst.kernel, row.trials, row.samples
            )
            .expect("into a string");
        }
        writeln!(text, "{}", self.summary()).expect("into a string");
        text
    }

    fn summary(&self) -> String {
        let constant =
            self.findings.iter().filter(|finding| finding.timing == Timing::Constant && !finding.rejects);
        let differs = constant.clone().filter(|finding| finding.differs).count();
        let rejects = self.findings.iter().filter(|finding| finding.rejects).count();
        let again = self.findings.iter().filter(|finding| finding.measured > 1).count();
        format!(
            "{} trials of rows in constant time: {differs} differ. {rejects} more draw public values by rejection, and may differ. {again} trials were measured again because |t| was {LIMIT} or more \
             once. The planted leak: t = {:.0} from {} samples. {} rows are not on this processor.",
            constant.count(),
            self.leak.t(),
            self.leak.samples,
            self.missing.len(),
        )
    }

    /// Formats the record to read.
    pub fn markdown(&self) -> String {
        let mut text = "# Time with fixed and with random secrets\n\n".to_owned();
        for line in self.about.lines() {
            writeln!(text, "- {line}").expect("into a string");
        }
        if let Some(note) = &self.arguments.note {
            writeln!(text, "- {note}").expect("into a string");
        }
        writeln!(text, "\n{}\n", self.summary()).expect("into a string");
        text.push_str(
            "| algorithm | kernel | trials | samples | measured again | worst t | of | verdict |\n",
        );
        text.push_str("| --- | --- | ---: | ---: | ---: | ---: | --- | --- |\n");
        for row in self.rows() {
            let worst = row.worst;
            writeln!(
                text,
                "| {} | {} | {} | {} | {} | {:.1} | {} | {} |",
                worst.algorithm,
                worst.kernel,
                row.trials,
                row.samples,
                row.again,
                worst.t(),
                worst.what,
                row.verdict()
            )
            .expect("into a string");
        }
        text
    }

    /// Returns every figure.
    pub fn json(&self) -> Value {
        json!({
            "about": self.about.json(),
            "note": self.arguments.note,
            "limit": LIMIT,
            "seconds": self.arguments.seconds,
            "planted": finding(self.leak),
            "trials": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "missing": self.missing.iter().map(|(algorithm, kernel)| json!({"algorithm": algorithm, "kernel": kernel}))
                .collect::<Vec<_>>(),
        })
    }
}

fn finding(finding: &Finding) -> Value {
    let tests: Vec<Value> = finding
        .tests
        .iter()
        .map(|test| json!({"percent": test.cut, "fixed_ns": rounded(test.fixed), "random_ns": rounded(test.random), "t": rounded(test.t)}))
        .collect();
    json!({
        "algorithm": finding.algorithm,
        "kernel": finding.kernel,
        "what": finding.what,
        "constant": finding.timing == Timing::Constant,
        "rejects": finding.rejects,
        "samples": finding.samples,
        "measured": finding.measured,
        "differs": finding.differs,
        "tests": tests,
    })
}

fn rounded(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}
