//! Costs and ratios, as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Row, WAYS};
use crate::record::{Circumstances, rounded};

/// The highest ratio for a program that runs on.
const STEADY: f64 = 1.01;

/// Formats one load: alone, and the time that each way adds, or the ratio for a load that runs on.
pub fn line(row: &Row) -> String {
    let alone = row.nanoseconds(0).unwrap_or(f64::NAN);
    let mut text = format!("{:<22}{:>12}", row.load.name, time(alone));
    for way in 1..WAYS.len() {
        let figure = match row.load.steady {
            true => row.ratio(way).map(|ratio| format!("{ratio:.3} times")),
            false => row.nanoseconds(way).map(|all| format!("+{}", time((all - alone).max(0.0)))),
        };
        let _ = write!(text, "{:>16}", figure.unwrap_or_else(|| "-".into()));
    }
    text
}

/// Formats a time like `15.6 us`.
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n >= 1e6 => format!("{:.2} ms", n / 1e6),
        n if n >= 1e3 => format!("{:.2} us", n / 1e3),
        n => format!("{n:.1} ns"),
    }
}

/// Returns the ways by which a load that runs on exceeds its limit.
fn slower(rows: &[Row]) -> Vec<String> {
    let steady = rows.iter().filter(|row| row.load.steady);
    let all = steady.flat_map(|row| (1..WAYS.len()).map(move |way| (row, way)));
    all.filter_map(|(row, way)| {
        let ratio = row.ratio(way)?;
        (ratio > STEADY).then(|| format!("{}, {}: {ratio:.3}", row.load.name, WAYS[way].name))
    })
    .collect()
}

pub fn markdown(about: &Circumstances, rounds: u32, rows: &[Row]) -> String {
    let mut text = String::from("# What observing costs\n\n");
    for line in about.lines() {
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(
        text,
        "- {rounds} rounds in turns; what each way adds to one of a kind is the difference of the medians, and what runs on is \
         told as the median of each round's ratio of processor time to that alone\n\n## Targets\n\n```text"
    );
    let slower = slower(rows);
    let word = if slower.is_empty() { "met" } else { "missed" };
    let _ = writeln!(text, "{word:<7}a program that runs on loses less than one hundredth");
    slower.iter().for_each(|slower| text += &format!("       {slower}\n"));
    text += "```\n\n## Costs\n\n```text\n";
    let _ = write!(text, "{:<22}", "");
    for way in WAYS {
        let width = if way.name == "alone" { 12 } else { 16 };
        let _ = write!(text, "{:>width$}", way.name);
    }
    text.push('\n');
    rows.iter().for_each(|row| text += &(line(row) + "\n"));
    text + "```\n"
}

pub fn json(about: &Circumstances, rounds: u32, rows: &[Row]) -> Value {
    let way = |row: &Row, way: usize| {
        json!({
            "way": WAYS[way].name,
            "nanoseconds": row.nanoseconds(way).map(rounded),
            "over_alone": row.ratio(way).map(rounded),
        })
    };
    json!({
        "about": about.json(),
        "effort": {"rounds": rounds},
        "loads": rows.iter().map(|row| json!({
            "load": row.load.name,
            "ways": (0..WAYS.len()).map(|index| way(row, index)).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "missed": slower(rows),
    })
}
