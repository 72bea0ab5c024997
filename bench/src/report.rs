//! The report: a table for each case, and the targets met and missed.

use std::fmt::Write;

use crate::measure::{Cell, Measured};
use crate::targets::{self, Verdict};

/// Formats a case's cells as a table. Our row gives times, and the peers' rows give the ratio of their times
/// to ours (the median of each round's ratio). `*` marks a ratio below its target. Without a row of ours, the
/// peers' rows give their own times.
pub fn table(cells: &[Cell]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let case = first.case.name();
    let mut text = String::new();
    line(&mut text, &case, "bytes", cells, |cell| format!("{} ", cell.size));
    if cells.iter().any(|cell| cell.ours().is_some()) {
        let ours = |f: &dyn Fn(&Cell, &Measured) -> String| {
            let f = |cell: &Cell| cell.ours().map_or("- ".to_owned(), |row| f(cell, row));
            cells.iter().map(f).collect::<Vec<_>>()
        };
        let kernel = calls(cells, crate::measure::OURS);
        cells_line(&mut text, "millstream", "ns", &ours(&|_, row| significant(row.median_ns())), &kernel);
        cells_line(&mut text, "", "best ns", &ours(&|_, row| significant(row.best_ns())), "");
        cells_line(&mut text, "", "GB/s", &ours(&|cell, row| gigabytes(cell.size, row.median_ns())), "");
        let cycles = |cell: &Cell, row: &Measured| {
            cell.best_cycles_per_byte(row).map_or("- ".to_owned(), |cycles| format!("{cycles:.2} "))
        };
        cells_line(&mut text, "", "cycles/B", &ours(&cycles), "");
    }
    for peer in peers(cells) {
        let find = |cell: &Cell, f: &dyn Fn(&Cell, &Measured) -> String| {
            cell.rows.iter().find(|row| row.name == peer).map_or("- ".to_owned(), |row| f(cell, row))
        };
        let what = if first.ours().is_some() { "ratio" } else { "ns" };
        let values: Vec<String> =
            cells.iter().map(|cell| find(cell, &|cell, row| ratio(cell, row))).collect();
        let (name, call) = match peer.strip_prefix(crate::measure::OURS) {
            Some(kernel) => (kernel.trim_start(), "our other kernel".to_owned()),
            None => (&peer[..], calls(cells, &peer)),
        };
        cells_line(&mut text, name, what, &values, &call);
    }
    text
}

/// Returns the peers of a case, in order.
fn peers(cells: &[Cell]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in cells.iter().flat_map(|cell| &cell.rows) {
        if row.name != crate::measure::OURS && !names.contains(&row.name) {
            names.push(row.name.clone());
        }
    }
    names
}

/// Returns the calls or kernels that a row used, over all sizes.
fn calls(cells: &[Cell], name: &str) -> String {
    let mut calls: Vec<&str> = Vec::new();
    for row in cells.iter().flat_map(|cell| &cell.rows).filter(|row| row.name == name) {
        if !calls.contains(&row.call.as_str()) {
            calls.push(&row.call);
        }
    }
    calls.join("; ")
}

fn ratio(cell: &Cell, row: &Measured) -> String {
    let Some(ratio) = cell.ratio(row) else { return significant(row.median_ns()) };
    let asked = targets::asked(&cell.case.name(), cell.size, &row.name);
    let mark = if asked.is_some_and(|asked| !targets::reaches(ratio, asked)) { '*' } else { ' ' };
    format!("{ratio:.2}{mark}")
}

fn line(text: &mut String, name: &str, unit: &str, cells: &[Cell], f: impl Fn(&Cell) -> String) {
    let values: Vec<String> = cells.iter().map(f).collect();
    cells_line(text, name, unit, &values, "");
}

/// Formats one line of the table. The last character of each value is its mark.
fn cells_line(text: &mut String, name: &str, unit: &str, values: &[String], note: &str) {
    write!(text, "{name:<26}{unit:>8}").expect("a string takes everything");
    for value in values {
        write!(text, "{value:>12}").expect("a string takes everything");
    }
    let trimmed = format!("  {note}");
    text.push_str(if note.is_empty() { "" } else { &trimmed });
    text.truncate(text.trim_end().len());
    text.push('\n');
}

/// Formats nanoseconds for a table.
pub fn significant(ns: f64) -> String {
    match ns {
        _ if ns < 100.0 => format!("{ns:.1} "),
        _ => format!("{ns:.0} "),
    }
}

fn gigabytes(size: usize, ns: f64) -> String {
    format!("{:.2} ", size as f64 / ns)
}

/// Formats the targets, met and missed.
pub fn targets(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.compared > 0) {
        let (target, missed) = (verdict.target, verdict.missed.len());
        let word = if missed == 0 { "met" } else { "missed" };
        writeln!(text, "{word:<7}{}: {} of {}", target.text, verdict.compared - missed, verdict.compared)
            .expect("a string takes everything");
        let lowest = verdict.lowest.iter().filter(|_| missed == 0);
        for finding in verdict.missed.iter().take(12).chain(lowest) {
            writeln!(
                text,
                "         {} of {} bytes: {:.2} times {} (best batches {:.2}), asked {:.1}",
                finding.case, finding.size, finding.ratio, finding.peer, finding.best_ratio, target.at_least,
            )
            .expect("a string takes everything");
        }
        if missed > 12 {
            writeln!(text, "         and {} more", missed - 12).expect("a string takes everything");
        }
    }
    text
}
