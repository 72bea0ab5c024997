//! The report: a table for each algorithm and number of objects in flight, and the targets.

use std::fmt::Write;

use super::fixed::Fixed;
use super::measure::{Cell, Measured};
use super::targets::{self, Verdict};
use crate::report::significant;

/// Formats the cells of one algorithm, number of objects and kind of keys as a table, with a column for each
/// length. It has the nanoseconds per object of each row and, for each peer, the ratio of its best row's time
/// to ours (the median of each round's ratio). `*` marks a ratio below its target.
pub fn table(cells: &[Cell]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let place = &first.place;
    let mut text = String::new();
    let keys = if place.work.has_key() { format!(", {}", place.keys.name()) } else { String::new() };
    writeln!(text, "{}, {} in flight{keys}", place.work.name(), place.depth).expect(ROOM);
    line(&mut text, "", "bytes", cells, |cell| format!("{} ", cell.place.sizes), "");
    for (family, way) in ways(cells) {
        let find =
            |cell: &Cell, f: &dyn Fn(&Measured) -> String| cell.row(family, way).map_or("- ".to_owned(), f);
        let name = format!("{family} {way}");
        let calls = calls(cells, family, way);
        line(&mut text, &name, "ns", cells, |cell| find(cell, &|row| significant(row.median_ns())), &calls);
    }
    let Some(ours) = cells.iter().find_map(Cell::ours) else { return text };
    let mut families: Vec<&str> = Vec::new();
    for family in cells.iter().flat_map(targets::families) {
        if !families.contains(&family) {
            families.push(family);
        }
    }
    let note = format!("its best row over {}", ours.way);
    for family in families {
        line(&mut text, family, "ratio", cells, |cell| ratio(cell, family), &note);
    }
    text
}

const ROOM: &str = "a string takes everything";

/// Returns the rows of all cells, in order.
fn ways(cells: &[Cell]) -> Vec<(&'static str, &'static str)> {
    let mut ways = Vec::new();
    for row in cells.iter().flat_map(|cell| &cell.rows) {
        if !ways.contains(&(row.family, row.way)) {
            ways.push((row.family, row.way));
        }
    }
    ways
}

/// Returns the calls or kernels of a row, over all lengths.
fn calls(cells: &[Cell], family: &str, way: &str) -> String {
    let mut calls: Vec<&str> = Vec::new();
    for row in cells.iter().filter_map(|cell| cell.row(family, way)) {
        if !calls.contains(&row.call.as_str()) {
            calls.push(&row.call);
        }
    }
    calls.join("; ")
}

fn ratio(cell: &Cell, family: &str) -> String {
    let (Some(ours), Some(best)) = (cell.ours(), cell.best_of(family)) else { return "- ".to_owned() };
    let ratio = best.ratio_to(ours);
    let mark = if targets::falls_short(cell, family, ratio) { '*' } else { ' ' };
    format!("{ratio:.2}{mark}")
}

/// Formats one line of a table. The last character of each value is its mark.
fn line(text: &mut String, name: &str, unit: &str, cells: &[Cell], f: impl Fn(&Cell) -> String, note: &str) {
    write!(text, "{name:<28}{unit:>6}").expect(ROOM);
    for cell in cells {
        write!(text, "{:>11}", f(cell)).expect(ROOM);
    }
    write!(text, "  {note}").expect(ROOM);
    text.truncate(text.trim_end().len());
    text.push('\n');
}

/// The targets, and the fixed costs of a queue where they were measured.
pub struct Judged {
    pub verdicts: Vec<Verdict>,
    pub fixed: Option<Fixed>,
}

/// Formats the targets, met and missed, and the fixed costs.
pub fn judged(judged: &Judged) -> String {
    targets(&judged.verdicts) + &judged.fixed.as_ref().map_or_else(String::new, Fixed::text)
}

fn targets(verdicts: &[Verdict]) -> String {
    const SHOWN: usize = 16;
    let mut text = String::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.compared > 0) {
        let (target, missed) = (verdict.target, verdict.missed.len());
        let word = if missed == 0 { "met" } else { "missed" };
        writeln!(text, "{word:<7}{}: {} of {}", target.text, verdict.compared - missed, verdict.compared)
            .expect(ROOM);
        let worst = verdict.worst.iter().filter(|_| missed == 0);
        for finding in verdict.missed.iter().take(SHOWN).chain(worst) {
            writeln!(
                text,
                "         {}: {:.2} {} {} (best batches {:.2})",
                finding.place,
                finding.figure,
                target.unit(),
                finding.against,
                finding.best_figure,
            )
            .expect(ROOM);
        }
        if missed > SHOWN {
            writeln!(text, "         and {} more", missed - SHOWN).expect(ROOM);
        }
    }
    text
}
