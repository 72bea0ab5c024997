//! Records of many objects in flight, as JSON and as tables to read.

use std::fmt::Write;

use millstream_measure::statistics::median;
use serde_json::{Value, json};

use super::fixed::Fixed;
use super::measure::{Cell, Measured};
use super::report::{self, Judged};
use super::targets::Verdict;
use crate::measure::Effort;
use crate::record::{Circumstances, rounded};

/// Returns everything about a run as JSON.
pub fn json(about: &Circumstances, effort: Effort, cells: &[Cell], judged: &Judged) -> Value {
    json!({
        "about": about.json(),
        "effort": {"rounds": effort.rounds, "seconds_per_row": effort.seconds},
        "cells": cells.iter().map(cell).collect::<Vec<_>>(),
        "targets": judged.verdicts.iter().map(target).collect::<Vec<_>>(),
        "fixed": judged.fixed.as_ref().map(Fixed::json),
    })
}

fn cell(cell: &Cell) -> Value {
    let place = &cell.place;
    let ghz = (!cell.ghz.is_empty()).then(|| rounded(median(cell.ghz.clone())));
    json!({
        "case": place.work.name(),
        "bytes": place.sizes.to_string(),
        "in_flight": place.depth,
        "keys": place.keys.name(),
        "core_ghz": ghz,
        "rows": cell.rows.iter().map(|row| measured(cell, row)).collect::<Vec<_>>(),
    })
}

fn measured(cell: &Cell, row: &Measured) -> Value {
    json!({
        "name": row.name(),
        "call": row.call,
        "median_ns": rounded(row.median_ns()),
        "best_ns": rounded(row.best_ns()),
        "ratio_to_ours": cell.ours().map(|ours| rounded(row.ratio_to(ours))),
        "best_ratio_to_ours": cell.ours().map(|ours| rounded(row.best_ratio_to(ours))),
    })
}

fn target(verdict: &Verdict) -> Value {
    json!({
        "target": verdict.target.text,
        "compared": verdict.compared,
        "missed": verdict.missed.iter().map(|finding| json!({
            "place": finding.place,
            "against": finding.against,
            "figure": rounded(finding.figure),
            "best_figure": rounded(finding.best_figure),
        })).collect::<Vec<_>>(),
    })
}

/// Returns the same as tables to read.
pub fn markdown(about: &Circumstances, effort: Effort, tables: &[&[Cell]], judged: &Judged) -> String {
    let mut text = String::from("# Many objects in flight\n\n");
    for line in about.lines() {
        writeln!(text, "- {line}").expect("a string takes everything");
    }
    writeln!(
        text,
        "- {} rounds, {} s for each row in each cell; nanoseconds an object takes, medians; a ratio is how \
         many times as long as ours a peer's best row takes, the median of each round's; `*`: below its \
         target\n\n## Targets\n\n```text\n{}```\n\n## Tables\n\n```text",
        effort.rounds,
        effort.seconds,
        report::judged(judged),
    )
    .expect("a string takes everything");
    for cells in tables {
        text.push_str(&report::table(cells));
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push_str("\n```\n");
    text
}
