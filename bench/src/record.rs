//! Records: the measurements, the machine and the versions, as JSON and as a table to read.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use millstream::Way;
use millstream_cpu::Features;
use millstream_measure::calendar;
use millstream_measure::disturbance::{Disturbance, Watch};
use millstream_measure::statistics::median;
use serde_json::{Value, json};

use crate::measure::{Cell, Effort, Measured};
use crate::report;
use crate::targets::Verdict;

/// The folder of the records.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/records");

/// Whether a run's figures are kept, and from which tree.
#[derive(clap::Args)]
pub struct Recording {
    /// Keep the figures in bench/records, in files that the date and the processor name
    #[arg(long)]
    record: bool,
    /// Keep them also when the tree has changes, in files that end in -draft
    #[arg(long, requires = "record")]
    draft: bool,
}

impl Recording {
    /// Returns whether the figures are to be kept. A run asks before it measures anything.
    ///
    /// # Errors
    /// When the tree has changes, so that nobody could repeat the run, and no draft was asked for.
    pub fn wanted(&self) -> Result<bool, String> {
        if self.record && !self.draft && commit().ends_with(CHANGES) {
            return Err("a record names the commit that was measured, and the tree has changes: commit them, or keep a \
                        draft with --draft"
                .to_owned());
        }
        Ok(self.record)
    }
}

/// Stands behind the commit of a tree that differs from it.
const CHANGES: &str = " with changes";

/// The circumstances of a run.
pub struct Circumstances {
    /// The run's command line, without which a figure means nothing.
    pub command: String,
    pub date: String,
    pub processor: String,
    pub features: Features,
    pub commit: String,
    pub peers: Vec<(String, String)>,
    pub absent: Vec<String>,
    watch: Watch,
    unsteady: Option<Disturbance>,
}

impl Circumstances {
    pub fn now(features: Features, peers: Vec<(String, String)>, absent: Vec<String>) -> Self {
        Circumstances {
            command: std::env::args().skip(1).collect::<Vec<_>>().join(" "),
            date: calendar::today(),
            processor: millstream_cpu::processor_name(),
            features,
            commit: commit(),
            peers,
            absent,
            watch: Watch::start(),
            unsteady: None,
        }
    }

    /// Allows for processes that are part of the measurement and may use so many processors.
    pub fn beside(mut self, helpers: f64) -> Self {
        self.watch = self.watch.beside(helpers);
        self
    }

    /// Adds how unsteady the turns of a figure were: each ratio is that of a median to the best turn.
    pub fn with_turns(mut self, ratios: Vec<f64>) -> Self {
        self.unsteady = Disturbance::spread("the turns of a figure", 1.0, median(ratios));
        self
    }

    /// Returns what has disturbed the run since it began.
    fn disturbed(&self) -> Vec<Disturbance> {
        self.watch.seen().into_iter().chain(self.unsteady.clone()).collect()
    }

    /// Says on standard error what has disturbed the run.
    pub fn warn(&self) {
        self.disturbed().iter().for_each(|what| eprintln!("millstream-bench: warning: {what}"));
    }

    /// Returns the line below a picture.
    pub fn caption(&self) -> String {
        format!("{}, {}, commit {}", self.processor, self.date, self.commit)
    }

    /// Returns the heading of a report, one fact a line. At the end of a run it also says what disturbed it.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("{}, commit {}", self.date, self.commit),
            format!("options: {}", if self.command.is_empty() { "none" } else { &self.command }),
            format!("processor: {}", self.processor),
            format!("features: {}", self.features.set()),
            format!("queues: {}", if on_general_way() { "the general way" } else { "the fast way" }),
            format!("built by {} with flags: {}", env!("RUSTC_VERSION"), flags()),
        ];
        lines.extend(self.peers.iter().map(|(name, version)| format!("{name}: {version}")));
        lines.extend(self.absent.iter().map(|why| format!("absent: {why}")));
        lines.extend(self.disturbed().iter().map(|what| format!("disturbed: {what}")));
        lines
    }

    /// Returns a name like `2026-11-21-amd-epyc-family-25-model-17-stepping-1`.
    pub fn stem(&self) -> String {
        let mut slug = String::new();
        for c in self.processor.to_lowercase().chars() {
            match c {
                'a'..='z' | '0'..='9' => slug.push(c),
                _ if !slug.ends_with('-') => slug.push('-'),
                _ => {}
            }
        }
        let general = if on_general_way() { "-general" } else { "" };
        let draft = if self.commit.ends_with(CHANGES) { "-draft" } else { "" };
        format!("{}-{}{general}{draft}", self.date, slug.trim_matches('-'))
    }

    pub fn json(&self) -> Value {
        json!({
            "date": self.date,
            "commit": self.commit,
            "options": self.command,
            "processor": self.processor,
            "features": self.features.set().to_string(),
            "queues": if on_general_way() { "general" } else { "fast" },
            "compiler": env!("RUSTC_VERSION"),
            "flags": flags(),
            "peers": self.peers.iter().map(|(name, version)| json!({"name": name, "version": version}))
                .collect::<Vec<_>>(),
            "absent": self.absent,
            "disturbed": self.disturbed().iter()
                .map(|what| json!({"kind": what.kind(), "text": what.to_string()})).collect::<Vec<_>>(),
        })
    }
}

/// Returns true when `MILLSTREAM_QUEUE` has queues take the general way. A queue says so if the variable can't be understood.
fn on_general_way() -> bool {
    Way::active() == Ok(Way::General)
}

fn flags() -> &'static str {
    match env!("COMPILER_FLAGS") {
        "" => "none",
        flags => flags,
    }
}

/// Returns the commit of the working tree, and whether it has changes.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(head) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| !s.is_empty());
    if changed { format!("{head}{CHANGES}") } else { head }
}

/// Returns everything about a run of direct calls.
pub fn direct(about: &Circumstances, effort: Effort, cells: &[Cell], verdicts: &[Verdict]) -> Value {
    json!({
        "about": about.json(),
        "effort": {"rounds": effort.rounds, "seconds_per_row": effort.seconds},
        "cells": cells.iter().map(cell).collect::<Vec<_>>(),
        "targets": verdicts.iter().map(target).collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell) -> Value {
    let ghz = (!cell.ghz.is_empty()).then(|| rounded(median(cell.ghz.clone())));
    json!({
        "case": cell.case.name(),
        "bytes": cell.size,
        "core_ghz": ghz,
        "rows": cell.rows.iter().map(|row| measured(cell, row)).collect::<Vec<_>>(),
    })
}

fn measured(cell: &Cell, row: &Measured) -> Value {
    json!({
        "name": row.name,
        "call": row.call,
        "median_ns": rounded(row.median_ns()),
        "best_ns": rounded(row.best_ns()),
        "median_cycles_per_byte": cell.median_cycles_per_byte(row).map(rounded),
        "best_cycles_per_byte": cell.best_cycles_per_byte(row).map(rounded),
        "ratio_to_ours": cell.ratio(row).map(rounded),
        "best_ratio_to_ours": cell.best_ratio(row).map(rounded),
    })
}

fn target(verdict: &Verdict) -> Value {
    json!({
        "target": verdict.target.text,
        "at_least": verdict.target.at_least,
        "compared": verdict.compared,
        "missed": verdict.missed.iter().map(|finding| json!({
            "case": finding.case,
            "bytes": finding.size,
            "peer": finding.peer,
            "ratio": rounded(finding.ratio),
            "best_ratio": rounded(finding.best_ratio),
        })).collect::<Vec<_>>(),
    })
}

/// Rounds to three decimals, which is more than the clock is good for.
pub fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Returns the same as tables to read.
pub fn markdown(about: &Circumstances, effort: Effort, by_case: &[&[Cell]], verdicts: &[Verdict]) -> String {
    let mut text = String::from("# Direct calls, one object at a time\n\n");
    for line in about.lines() {
        writeln!(text, "- {line}").expect("a string takes everything");
    }
    writeln!(
        text,
        "- {} rounds, {} s for each row in each cell; a peer's figure is how many times as long as ours \
         it takes, the median of each round's ratio; `*`: below its target\n\n## Targets\n\n```text\n{}```\n\n\
         ## Tables\n\n```text",
        effort.rounds,
        effort.seconds,
        report::targets(verdicts),
    )
    .expect("a string takes everything");
    for cells in by_case {
        text.push_str(&report::table(cells));
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push_str("\n```\n");
    text
}

/// Keeps a run's figures, as values and as a table, and prints the names of the files. The kind, such as
/// `-observe`, ends these names.
///
/// # Errors
/// Names the file that could not be written, and the reason.
pub fn keep(about: &Circumstances, kind: &str, value: &Value, text: String) -> Result<(), String> {
    let value = serde_json::to_string_pretty(value).map_err(|e| e.to_string())? + "\n";
    let stem = about.stem() + kind;
    for path in write(FOLDER.as_ref(), &stem, &[("json", value), ("md", text)])? {
        println!("recorded in {}", path.display());
    }
    Ok(())
}

/// Writes a record's files: `<stem>.json`, `<stem>.md` and others, without the folders of the machine.
///
/// # Errors
/// Names the file that could not be written, and the reason.
pub fn write(folder: &Path, stem: &str, files: &[(&str, String)]) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut written = Vec::new();
    for (extension, contents) in files {
        let path = folder.join(format!("{stem}.{extension}"));
        std::fs::write(&path, without_folders(contents)).map_err(|e| format!("{}: {e}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

/// Shortens absolute paths to the names of their files: where things lie on a machine says nothing of a figure. What lies in
/// /dev says what it is.
fn without_folders(text: &str) -> String {
    text.split_inclusive([' ', ',', '"', '(', ')', '=', '\n'])
        .map(|word| match word.rsplit_once('/') {
            Some((folder, name)) if folder.starts_with('/') && !folder.starts_with("/dev") => name,
            _ => word,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_files_and_no_folders() {
        let text =
            "options: isolated --socket=/tmp/a/socket --module \"/usr/lib/x/y.so\", 3 ns/byte in /dev/shm";
        let short = "options: isolated --socket=socket --module \"y.so\", 3 ns/byte in /dev/shm";
        assert_eq!(without_folders(text), short);
    }

    /// All that is kept, by whoever wrote it.
    #[test]
    fn records_name_no_folders() {
        let mut seen = 0;
        for entry in std::fs::read_dir(FOLDER).unwrap().map(Result::unwrap) {
            if matches!(entry.path().extension().and_then(|e| e.to_str()), Some("json" | "md")) {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                assert!(without_folders(&text) == text, "{}", entry.path().display());
                seen += 1;
            }
        }
        assert!(seen > 10);
    }
}
