//! The measurements as tables, JSON and CSV.

use std::fmt::Write;

use millstream_measure::figures::{rounded, significant, thousands};
use serde_json::{Value, json};

use super::measure::Measured;
use super::sizes::Size;

/// The most columns of a table. With more lengths it is turned, and has a line for each length.
const MOST_COLUMNS: usize = 8;

/// One figure of a [`Measured`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Measure {
    /// 1000s of bytes a second, as `openssl speed` prints them
    Kb,
    /// Gigabytes (10^9 bytes) a second
    Gb,
    /// Operations a second
    Ops,
    /// Nanoseconds of a thread per object
    Ns,
    /// Cycles of the core per object
    Cycles,
    /// The median time of an operation in nanoseconds, from submission to result
    P50,
    /// The time that 99 of 100 operations did not exceed
    P99,
    /// The ratio of the isolated queue's operations a second to those of other ways that keep keys out of
    /// reach
    Times,
}

impl Measure {
    fn title(self) -> &'static str {
        match self {
            Measure::Kb => "1000s of bytes a second",
            Measure::Gb => "GB a second",
            Measure::Ops => "operations a second",
            Measure::Ns => "ns an object",
            Measure::Cycles => "cycles an object",
            Measure::P50 => "latency p50, ns",
            Measure::P99 => "latency p99, ns",
            Measure::Times => "isolated, times the ops",
        }
    }

    fn of(self, cell: &Measured) -> String {
        match self {
            Measure::Kb => format!("{:.2}k", cell.gb_per_s() * 1e6),
            Measure::Gb => significant(cell.gb_per_s()),
            Measure::Ops => thousands(cell.objects_per_s),
            Measure::Ns => significant(cell.ns()),
            Measure::Cycles => cell.cycles().map_or("-".to_owned(), significant),
            Measure::P50 => significant(cell.p50_ns),
            Measure::P99 => significant(cell.p99_ns),
            // The ratio is not of one cell.
            Measure::Times => "-".to_owned(),
        }
    }
}

/// A line of a table: a way, and the number of objects in flight.
type Line = (&'static str, usize);

/// A formatted line: its name, the number in flight, and a figure for each length.
type Row = (String, usize, Vec<String>);

/// The ways that also keep keys out of the program's reach, and the queue, which shows the cost of that.
const COMPARED: [&str; 4] = ["queue", "pkcs11", "softhsm", "p11-kit"];

/// Formats the tables of one algorithm, one for each measure.
pub fn tables(cells: &[Measured], measures: &[Measure]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let (mut lines, mut sizes) = (Vec::<Line>::new(), Vec::<Size>::new());
    for cell in cells {
        let line = (cell.way, cell.depth);
        if !lines.contains(&line) {
            lines.push(line);
        }
        if !sizes.contains(&cell.size) {
            sizes.push(cell.size);
        }
    }
    let mut text = format!("{}{}\n", first.algorithm, if first.decrypts { ", decrypting" } else { "" });
    for &(way, depth) in &lines {
        let calls = calls(cells, (way, depth)).join("; ");
        let _ = writeln!(text, "  {:16} {depth:>5} in flight  {calls}", way);
    }
    for &measure in measures {
        let rows = match measure {
            Measure::Times => times(cells, &lines, &sizes),
            _ => figures(cells, measure, &lines, &sizes),
        };
        let table = if sizes.len() > MOST_COLUMNS { turned } else { upright };
        if !rows.is_empty() {
            text += &table(measure, &rows, &sizes);
        }
    }
    text
}

/// Returns a row for each line.
fn figures(cells: &[Measured], measure: Measure, lines: &[Line], sizes: &[Size]) -> Vec<Row> {
    let figure = |line, size| found(cells, line, size).map_or("-".to_owned(), |cell| measure.of(cell));
    let row = |&line: &Line| {
        let (way, depth) = line;
        (way.to_owned(), depth, sizes.iter().map(|&size| figure(line, size)).collect())
    };
    lines.iter().map(row).collect()
}

/// Returns a row for each line of the isolated queue and each line that it is compared with.
fn times(cells: &[Measured], lines: &[Line], sizes: &[Size]) -> Vec<Row> {
    let mut rows = Vec::new();
    for isolated in lines.iter().filter(|line| line.0 == "isolated") {
        // Queues are comparable only with the same number in flight.
        let fair = |line: &&Line| line.0 != "queue" || line.1 == isolated.1;
        for other in lines.iter().filter(|line| COMPARED.contains(&line.0)).filter(fair) {
            let ratio = |&size: &Size| {
                let both = found(cells, *isolated, size).zip(found(cells, *other, size));
                both.map_or("-".to_owned(), |(ours, other)| {
                    significant(ours.objects_per_s / other.objects_per_s)
                })
            };
            rows.push((format!("over {}", other.0), isolated.1, sizes.iter().map(ratio).collect()));
        }
    }
    rows
}

/// Returns the kernels or calls of a line, over all lengths.
fn calls(cells: &[Measured], (way, depth): Line) -> Vec<&str> {
    let mut calls = Vec::new();
    for cell in cells.iter().filter(|cell| cell.way == way && cell.depth == depth) {
        if !calls.contains(&cell.call.as_str()) {
            calls.push(&cell.call);
        }
    }
    calls
}

fn found(cells: &[Measured], (way, depth): Line, size: Size) -> Option<&Measured> {
    cells.iter().find(|cell| cell.way == way && cell.depth == depth && cell.size == size)
}

/// Formats a line for each way, with a column for each length.
fn upright(measure: Measure, rows: &[Row], sizes: &[Size]) -> String {
    let width = if measure == Measure::Kb { 14 } else { 10 };
    let mut text = format!("\n{:24}", measure.title());
    for size in sizes {
        let _ = write!(text, "{size:>width$}");
    }
    text += " bytes\n";
    for (name, depth, figures) in rows {
        let _ = write!(text, "  {name:16}{depth:>6}");
        for figure in figures {
            let _ = write!(text, "{figure:>width$}");
        }
        text.push('\n');
    }
    text
}

/// Formats a line for each length, with a column for each way.
fn turned(measure: Measure, rows: &[Row], sizes: &[Size]) -> String {
    let mut text = format!("\n{:>10}", "bytes");
    for (name, depth, _) in rows {
        let _ = write!(text, "{:>20}", format!("{name} {depth}"));
    }
    let _ = writeln!(text, "  {}", measure.title());
    for (i, size) in sizes.iter().enumerate() {
        let _ = write!(text, "{size:>10}");
        for (_, _, figures) in rows {
            let _ = write!(text, "{:>20}", figures[i]);
        }
        text.push('\n');
    }
    text
}

/// Returns a cell's figures for other programs.
fn value(cell: &Measured) -> Value {
    let bytes = match cell.size {
        Size::Bytes(bytes) => json!(bytes),
        Size::Imix => json!("imix"),
    };
    json!({
        "algorithm": cell.algorithm,
        "direction": if cell.decrypts { "decrypt" } else { "encrypt" },
        "bytes": bytes,
        "mean_bytes": rounded(cell.bytes),
        "way": cell.way,
        "in_flight": cell.depth,
        "threads": cell.threads,
        "call": cell.call,
        "gb_per_s": rounded(cell.gb_per_s()),
        "objects_per_s": rounded(cell.objects_per_s),
        "ns_per_object": rounded(cell.ns()),
        "cycles_per_object": cell.cycles().map(rounded),
        "p50_ns": rounded(cell.p50_ns),
        "p99_ns": rounded(cell.p99_ns),
        "spread": rounded(cell.spread),
        "core_ghz": cell.ghz.map(rounded),
    })
}

/// Returns an array of all cells.
pub fn json(cells: &[Measured]) -> Value {
    cells.iter().map(value).collect()
}

const COLUMNS: [&str; 16] = [
    "algorithm",
    "direction",
    "bytes",
    "mean_bytes",
    "way",
    "in_flight",
    "threads",
    "call",
    "gb_per_s",
    "objects_per_s",
    "ns_per_object",
    "cycles_per_object",
    "p50_ns",
    "p99_ns",
    "spread",
    "core_ghz",
];

/// Formats a line of names and one for each cell (RFC 4180).
pub fn csv(cells: &[Measured]) -> String {
    let mut text = COLUMNS.join(",") + "\r\n";
    for cell in cells {
        let value = value(cell);
        let fields = COLUMNS.map(|column| match &value[column] {
            Value::Null => String::new(),
            Value::String(text) if text.contains([',', '"']) => format!("\"{}\"", text.replace('"', "\"\"")),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        text += &fields.join(",");
        text += "\r\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(size: Size, way: &'static str, depth: usize) -> Measured {
        Measured {
            algorithm: "aes-128-gcm".into(),
            decrypts: false,
            size,
            bytes: size.mean_bytes(1),
            way,
            depth,
            threads: 2,
            call: "a, \"b\"".into(),
            objects_per_s: 5e7,
            spread: 1.0,
            ghz: Some(3.0),
            p50_ns: 40.0,
            p99_ns: f64::NAN,
        }
    }

    #[test]
    fn figures_follow_from_each_other() {
        let cell = cell(Size::Bytes(64), "direct", 1);
        assert_eq!((cell.ns(), cell.cycles(), cell.gb_per_s()), (40.0, Some(120.0), 3.2));
        let shown = [Measure::Kb, Measure::Gb, Measure::Ops, Measure::Ns, Measure::Cycles, Measure::P99];
        assert_eq!(shown.map(|m| m.of(&cell)), ["3200000.00k", "3.20", "50.0 M", "40.0", "120", "-"]);
    }

    #[test]
    fn a_table_has_a_line_a_way_and_a_long_one_a_line_a_length() {
        let sizes = [Size::Bytes(16), Size::Imix];
        let cells: Vec<Measured> =
            sizes.iter().flat_map(|&size| [cell(size, "direct", 1), cell(size, "batch", 64)]).collect();
        let text = tables(&cells, &[Measure::Ns]);
        assert!(
            text.contains("        16      imix bytes\n  direct               1      40.0      40.0\n"),
            "{text}"
        );
        let many: Vec<Measured> = (1..=9).map(|n| cell(Size::Bytes(n), "direct", 1)).collect();
        let text = tables(&many, &[Measure::Ns]);
        assert!(text.contains("\n         9                40.0\n"), "{text}");
    }

    #[test]
    fn isolated_keys_are_compared_with_others_and_with_the_local_queue() {
        let mut cells: Vec<Measured> =
            [("queue", 1), ("queue", 32), ("isolated", 1), ("isolated", 32), ("softhsm", 1)]
                .into_iter()
                .map(|(way, depth)| cell(Size::Bytes(64), way, depth))
                .collect();
        cells[3].objects_per_s *= 8.0;
        let text = tables(&cells, &[Measure::Times]);
        let row = |other: &str, depth, times: &str| format!("  over {other:11}{depth:>6}{times:>10}\n");
        let rows =
            [("queue", 1, "1.00"), ("softhsm", 1, "1.00"), ("queue", 32, "8.00"), ("softhsm", 32, "8.00")];
        let rows: String = rows.iter().map(|&(other, depth, times)| row(other, depth, times)).collect();
        assert!(text.ends_with(&rows), "{text}");
        assert!(!tables(&cells[..2], &[Measure::Times]).contains("isolated"));
    }

    #[test]
    fn fields_with_commas_are_quoted() {
        let text = csv(&[cell(Size::Imix, "direct", 1)]);
        let line = text.split("\r\n").nth(1).unwrap();
        assert!(line.starts_with("aes-128-gcm,encrypt,imix,"), "{line}");
        assert!(line.contains(",\"a, \"\"b\"\"\",") && line.ends_with(",40.0,,1.0,3.0"), "{line}");
    }
}
