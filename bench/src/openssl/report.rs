//! Ratios, targets met and missed, as text and as JSON.

use std::fmt::Write as _;

use millstream_measure::statistics::median;
use serde_json::{Value, json};

use super::Arguments;
use super::cases::{Case, TARGETS, Which};
use super::drive::Turns;
use super::side::{OpenSsl, Whose};
use crate::record::{Circumstances, rounded};
use crate::targets::reaches;

/// The ratio that pipelines must reach over one at a time.
const PIPELINED: f64 = 3.0;

/// Bytes a second in one round.
#[derive(Clone, Copy, Default)]
pub struct Measured {
    ours: Option<f64>,
    default: Option<f64>,
    masked: Option<f64>,
}

impl Measured {
    pub fn set(&mut self, whose: Whose, figure: Option<f64>) {
        match whose {
            Whose::Ours => self.ours = figure,
            Whose::Default => self.default = figure,
            Whose::Masked => self.masked = figure,
        }
    }
}

/// One case at one size with one OpenSSL.
pub struct Cell {
    openssl: String,
    order: Vec<u32>,
    pub case: Case,
    pub size: usize,
    kernel: Option<String>,
    pub turns: Vec<Measured>,
}

impl Cell {
    pub fn new(openssl: &OpenSsl, case: Case, size: usize, kernel: Option<String>) -> Cell {
        Cell {
            openssl: openssl.version.clone(),
            order: openssl.order(),
            case,
            size,
            kernel,
            turns: Vec::new(),
        }
    }

    pub fn is_of(&self, openssl: &OpenSsl, case: &Case) -> bool {
        self.openssl == openssl.version && self.case == *case
    }

    /// Returns the median of each round's ratio of ours to another.
    fn ratio(&self, of: impl Fn(&Measured) -> Option<f64>) -> Option<f64> {
        let ratios: Vec<f64> = self.turns.iter().filter_map(|turn| Some(turn.ours? / of(turn)?)).collect();
        (!ratios.is_empty()).then(|| median(ratios))
    }

    fn over_default(&self) -> Option<f64> {
        self.ratio(|turn| turn.default)
    }

    fn over_masked(&self) -> Option<f64> {
        self.ratio(|turn| turn.masked)
    }

    /// Returns our gigabytes a second.
    fn gigabytes(&self) -> Option<f64> {
        let ours: Vec<f64> = self.turns.iter().filter_map(|turn| turn.ours).collect();
        (!ours.is_empty()).then(|| median(ours) / 1e9)
    }

    fn json(&self) -> Value {
        json!({
            "openssl": self.openssl, "case": self.case.name(), "bytes": self.size, "kernel": self.kernel,
            "gigabytes_per_s": self.gigabytes().map(rounded),
            "over_default": self.over_default().map(rounded),
            "over_default_without_aes_instructions": self.over_masked().map(rounded),
        })
    }
}

/// The times of streams in pipes beside one at a time.
pub struct Pipes {
    pub openssl: String,
    pub name: &'static str,
    pub pipes: usize,
    pub bytes: usize,
    pub turns: Turns,
}

impl Pipes {
    fn ratio(&self) -> Option<f64> {
        let turns = self.turns.as_ref().ok().filter(|turns| !turns.is_empty())?;
        Some(median(turns.iter().map(|(one, many)| one / many).collect()))
    }
}

/// A target, the number of comparisons that it applies to, and those that missed it.
pub struct Judged {
    text: &'static str,
    at_least: f64,
    compared: usize,
    /// The missed comparisons, with the ratio if there is an implementation at all.
    missed: Vec<(String, Option<f64>)>,
}

impl Judged {
    fn new(text: &'static str, at_least: f64, all: Vec<(String, Option<f64>)>) -> Judged {
        let compared = all.len();
        let missed = all
            .into_iter()
            .filter(|(_, ratio)| ratio.is_none_or(|ratio| !reaches(ratio, at_least)))
            .collect();
        Judged { text, at_least, compared, missed }
    }

    fn lines(&self) -> String {
        let word = match (self.compared, self.missed.is_empty()) {
            (0, _) => "-",
            (_, true) => "met",
            (_, false) => "missed",
        };
        let reached = self.compared - self.missed.len();
        let mut text = format!("{word:<7}{} ({reached} of {})\n", self.text, self.compared);
        for (what, ratio) in &self.missed {
            let _ = match ratio {
                Some(ratio) => writeln!(text, "       {what}: {ratio:.2}"),
                None => writeln!(text, "       {what}: not offered"),
            };
        }
        text
    }
}

/// Evaluates all targets.
pub fn judge(cells: &[Cell], pipes: &[Pipes]) -> Vec<Judged> {
    let newest = cells.iter().map(|cell| &cell.order).max().cloned().unwrap_or_default();
    let mut judged: Vec<Judged> = Vec::new();
    for target in TARGETS {
        let mut all = Vec::new();
        for cell in cells {
            let mut which = Vec::new();
            which.extend(
                cell.order
                    .starts_with(&[3, 0])
                    .then_some([Which::First, Which::Masked])
                    .into_iter()
                    .flatten(),
            );
            // The newest counts only if it is not the first as well.
            which.extend((cell.order == newest && !cell.order.starts_with(&[3, 0])).then_some(Which::Newest));
            let ratio = if target.which == Which::Masked { cell.over_masked() } else { cell.over_default() };
            if target.covers(&which, &cell.case, cell.size) && (ratio.is_some() || cell.kernel.is_none()) {
                all.push((format!("{} of {} bytes", cell.case.name(), cell.size), ratio));
            }
        }
        judged.push(Judged::new(target.text, target.at_least, all));
    }
    let piped = pipes.iter().filter_map(|pipes| {
        let Pipes { openssl, name, bytes, pipes: count, .. } = pipes;
        Some((format!("OpenSSL {openssl}: {name} of {bytes} bytes in {count} pipes"), Some(pipes.ratio()?)))
    });
    judged.push(Judged::new("pipelines of 8 or more: 3.0 times one at a time", PIPELINED, piped.collect()));
    judged
}

/// Formats one case's row: ratios over the default provider by size, and our throughput at the greatest.
pub fn line<'a>(cells: impl Iterator<Item = &'a Cell>) -> String {
    let cells: Vec<&Cell> = cells.collect();
    let Some(last) = cells.last() else { return String::new() };
    let mut text = format!("{:<26}", last.case.name());
    let Some(kernel) = &last.kernel else { return text + "not offered" };
    for cell in &cells {
        let _ = match cell.over_default() {
            Some(ratio) => write!(text, "{ratio:>8.2}"),
            None => write!(text, "{:>8}", "-"),
        };
    }
    let _ = write!(text, "{:>9.2} GB/s  {kernel}", last.gigabytes().unwrap_or(f64::NAN));
    if cells.iter().any(|cell| cell.over_masked().is_some()) {
        text += "\n  without AES instructions";
        for cell in &cells {
            let _ = write!(text, "{:>8.1}", cell.over_masked().unwrap_or(f64::NAN));
        }
    }
    text
}

pub fn markdown(
    about: &Circumstances,
    arguments: &Arguments,
    cells: &[Cell],
    pipes: &[Pipes],
    judged: &[Judged],
) -> String {
    let mut text = String::from("# The OpenSSL provider beside the default one\n\n");
    for line in about.lines() {
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(
        text,
        "- `openssl speed` on processor {}, {} rounds of {} s for each side, in turns; a figure is how many times as many bytes a \
         second of processor time as the default provider of the same OpenSSL, the median of each round's ratio\n\n\
         ## Targets\n\n```text",
        arguments.cpu, arguments.rounds, arguments.seconds
    );
    judged.iter().for_each(|judged| text += &judged.lines());
    text += "```\n";
    for of_one in cells.chunk_by(|a, b| a.openssl == b.openssl) {
        let _ = writeln!(text, "\n## OpenSSL {}\n\n```text", of_one[0].openssl);
        let sizes: String = arguments.sizes.iter().map(|size| format!("{size:>8}")).collect();
        let _ = writeln!(text, "{:<26}{sizes}     at the last", "bytes");
        for case in of_one.chunk_by(|a, b| a.case == b.case) {
            let _ = writeln!(text, "{}", line(case.iter()));
        }
        text += "```\n";
    }
    text += "\n## Pipelines\n\n```text\n";
    for one in pipes {
        let what =
            format!("OpenSSL {}, {} of {} bytes, {} pipes", one.openssl, one.name, one.bytes, one.pipes);
        if let (Ok(turns), Some(ratio)) = (&one.turns, one.ratio()) {
            let single = median(turns.iter().map(|turn| turn.0).collect());
            let many = median(turns.iter().map(|turn| turn.1).collect());
            let times = format!("{single:>8.0} ns singly, {many:>7.0} ns in pipes");
            let _ = writeln!(text, "{what:<66}{ratio:>6.2} times  {times}");
        }
    }
    let mut absent: Vec<String> = Vec::new();
    for one in pipes {
        let why = one.turns.as_ref().err().map(|why| format!("OpenSSL {}: {why}", one.openssl));
        absent.extend(why.filter(|why| !absent.contains(why)));
    }
    absent.iter().for_each(|why| text += &format!("{why}\n"));
    text + "```\n"
}

pub fn json(
    about: &Circumstances,
    arguments: &Arguments,
    cells: &[Cell],
    pipes: &[Pipes],
    judged: &[Judged],
) -> Value {
    json!({
        "about": about.json(),
        "effort": {"rounds": arguments.rounds, "seconds": arguments.seconds, "cpu": arguments.cpu},
        "cells": cells.iter().map(Cell::json).collect::<Vec<_>>(),
        "pipelines": pipes.iter().map(|one| json!({
            "openssl": one.openssl, "cipher": one.name, "pipes": one.pipes, "bytes": one.bytes,
            "over_one_at_a_time": one.ratio().map(rounded), "absent": one.turns.as_ref().err(),
        })).collect::<Vec<_>>(),
        "targets": judged.iter().map(|judged| json!({
            "target": judged.text, "at_least": judged.at_least, "compared": judged.compared,
            "missed": judged.missed.iter().map(|(what, ratio)| json!({"what": what, "ratio": ratio.map(rounded)}))
                .collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}
