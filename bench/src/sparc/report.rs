//! Times and ratios, as text and as JSON.

use std::fmt::Write as _;

use millstream_measure::statistics::median;
use serde_json::{Value, json};

use super::Row;
use crate::record::{Circumstances, rounded};

/// Formats one load: qemu, ours, and how many times as fast ours is.
pub fn line(row: &Row) -> String {
    let mut text = format!(
        "{:<32}{:>12}{:>12}{:>9.2}",
        row.load.name,
        time(median(row.qemu.clone())),
        time(median(row.ours.clone())),
        row.ratio()
    );
    if let Some(mips) = row.mips() {
        let _ = write!(text, "{mips:>8.0}");
    }
    text
}

/// Formats a time like `15.6 ms`.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} us", s * 1e6),
    }
}

fn verdicts(rows: &[Row]) -> Vec<(bool, String)> {
    let verdict = |row: &Row| {
        let target = row.load.target?;
        Some((
            row.ratio() >= target,
            format!("{}: {:.2} times qemu, to be {target}", row.load.name, row.ratio()),
        ))
    };
    rows.iter().filter_map(verdict).collect()
}

pub fn markdown(about: &Circumstances, rounds: u32, rows: &[Row]) -> String {
    let mut text = String::from("# `millstream sparc` beside qemu-sparc64\n\n");
    for line in about.lines() {
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(
        text,
        "- {rounds} rounds in turns; medians; the ratio is the median of each round's; MIPS are all instructions over the whole \
         process's time. Under qemu, which has no crypto instructions, OpenSSL computes in software\n\n## Targets\n\n```text"
    );
    for (met, what) in verdicts(rows) {
        let _ = writeln!(text, "{:<7}{what}", if met { "met" } else { "missed" });
    }
    let _ = writeln!(text, "```\n\n## Times\n\n```text");
    let _ = writeln!(text, "{:<32}{:>12}{:>12}{:>9}{:>8}", "", "qemu", "millstream", "ratio", "MIPS");
    rows.iter().for_each(|row| text += &(line(row) + "\n"));
    text + "```\n"
}

pub fn json(about: &Circumstances, rounds: u32, rows: &[Row]) -> Value {
    json!({
        "about": about.json(),
        "effort": {"rounds": rounds},
        "loads": rows.iter().map(|row| json!({
            "load": row.load.name,
            "qemu_seconds": rounded(median(row.qemu.clone())),
            "millstream_seconds": rounded(median(row.ours.clone())),
            "ratio": rounded(row.ratio()),
            "mips": row.mips().map(rounded),
            "target": row.load.target,
        })).collect::<Vec<_>>(),
        "missed": verdicts(rows).into_iter().filter(|(met, _)| !met).map(|(_, what)| what).collect::<Vec<_>>(),
    })
}
