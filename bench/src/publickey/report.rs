//! The results: a table for each case, and the goals met and missed.

use std::fmt::Write;

use millstream_measure::statistics::median;
use serde_json::{Value, json};

use super::{Arguments, Measured, Row};
use crate::record::{Circumstances, rounded};

/// A goal: a case, the operations in flight, the beginning of the peer's name, and the least ratio of its time to ours.
const GOALS: &[(&str, usize, &str, f64)] = &[
    ("rsa-2048-sign", 8, "openssl", 3.0),
    ("rsa-2048-sign", 8, "crypto_mb", 1.0),
    ("rsa-2048-sign", 1, "openssl", 1.3),
    ("x25519-agree", 8, "crypto_mb", 1.0),
    ("x25519-agree", 1, "openssl", 1.0),
    ("ed25519-sign", 8, "crypto_mb", 1.3),
    ("ed25519-sign", 1, "openssl", 1.0),
    ("ed25519-sign", 1, "graviola", 1.0),
    ("ed25519-verify", 8, "crypto_mb", 1.2),
    ("ed25519-verify", 1, "openssl", 1.0),
    ("ed25519-verify", 1, "graviola", 1.0),
    ("p256-sign", 8, "crypto_mb", 1.6),
    ("p256-sign", 1, "openssl", 1.0),
    ("p256-verify", 8, "crypto_mb", 1.3),
    ("p256-verify", 1, "openssl", 1.0),
    ("p256-agree", 8, "crypto_mb", 1.3),
    ("p256-agree", 1, "openssl", 1.0),
    ("p384-sign", 1, "openssl", 1.0),
    ("p384-verify", 1, "openssl", 1.0),
    ("p384-agree", 1, "openssl", 1.0),
    ("p521-sign", 1, "openssl", 1.0),
    ("p521-verify", 1, "openssl", 1.0),
    ("p521-agree", 1, "openssl", 1.0),
    ("rsa-2048-verify", 1, "openssl", 1.0),
    ("rsa-3072-sign", 1, "openssl", 1.0),
    ("rsa-4096-sign", 1, "openssl", 1.0),
    ("ml-kem-768-generate", 8, "aws-lc", 1.8),
    ("ml-kem-768-encapsulate", 8, "aws-lc", 2.0),
    ("ml-kem-768-decapsulate", 8, "aws-lc", 3.0),
    ("ml-kem-768-generate", 1, "aws-lc", 1.0),
    ("ml-kem-768-encapsulate", 1, "aws-lc", 1.0),
    ("ml-kem-768-decapsulate", 1, "aws-lc", 1.0),
    ("ml-dsa-65-sign", 8, "aws-lc", 2.0),
    ("ml-dsa-65-sign", 8, "openssl-4", 10.0),
    ("ml-dsa-65-verify", 8, "aws-lc", 5.0),
    ("ml-dsa-65-sign", 1, "aws-lc", 1.0),
    ("ml-dsa-65-verify", 1, "aws-lc", 1.0),
    ("slh-dsa-sha2-128s-sign", 1, "openssl-4", 2.5),
    ("slh-dsa-sha2-128f-sign", 1, "openssl-4", 2.5),
];

fn ours(measured: &Measured) -> impl Iterator<Item = &Row> {
    measured.rows.iter().filter(|row| row.name == "millstream")
}

fn others(measured: &Measured) -> impl Iterator<Item = &Row> {
    measured.rows.iter().filter(|row| row.name != "millstream")
}

fn in_flight(width: usize) -> &'static str {
    if width == 1 { "one" } else { "eight in flight" }
}

/// Formats a case: our times, and how many times as long each peer takes.
pub fn table(measured: &Measured) -> String {
    let mut text = format!("{:<18}{:>10}", measured.case.name(), "us");
    for row in others(measured) {
        let _ = write!(text, "{:>14}", row.name);
    }
    text.push('\n');
    for row in ours(measured) {
        let _ = write!(text, "  {:<16}{:>10.2}", in_flight(row.width), median(row.times.clone()) / 1e3);
        for other in others(measured) {
            let _ = write!(text, "{:>14.2}", measured.ratio(row, other));
        }
        let _ = writeln!(text, "  {}", row.call);
    }
    text
}

/// Formats the goals that were measured.
pub fn goals(all: &[Measured]) -> String {
    let mut text = String::new();
    for &(name, width, peer, least) in GOALS {
        let Some(measured) = all.iter().find(|measured| measured.case.name() == name) else { continue };
        let Some(row) = ours(measured).find(|row| row.width == width) else { continue };
        for other in others(measured).filter(|other| other.name.starts_with(peer)) {
            let ratio = measured.ratio(row, other);
            let word = if ratio >= least { "met" } else { "missed" };
            let flight = in_flight(width);
            let _ = writeln!(
                text,
                "{word:<7}{name}, {flight}: {ratio:.2} times {}, asked {least:.1}",
                other.name
            );
        }
    }
    text
}

pub fn markdown(about: &Circumstances, arguments: &Arguments, all: &[Measured]) -> String {
    let mut text = String::from("# Public keys\n\n");
    about.lines().iter().for_each(|line| text += &format!("- {line}\n"));
    let _ = write!(
        text,
        "- {} rounds in turns of {} ms; a library's figure is how many times as long as ours an operation takes there, one at a time or with crypto_mb eight, the \
         median of each round's ratio\n\n## Goals\n\n```text\n{}```\n\n## Tables\n\n```text\n",
        arguments.rounds,
        arguments.milliseconds,
        goals(all),
    );
    let tables: Vec<String> = all.iter().map(table).collect();
    text + &tables.join("\n") + "```\n"
}

pub fn json(about: &Circumstances, arguments: &Arguments, all: &[Measured]) -> Value {
    let row = |row: &Row| {
        json!({
            "name": row.name,
            "call": row.call,
            "in_flight": row.width,
            "median_ns": rounded(median(row.times.clone())),
            "best_ns": rounded(row.times.iter().copied().fold(f64::INFINITY, f64::min)),
        })
    };
    let case = |measured: &Measured| {
        let ratios: Vec<Value> = ours(measured)
            .flat_map(|row| others(measured).map(move |other| (row, other)))
            .map(|(row, other)| {
                json!({"in_flight": row.width, "name": other.name, "ratio": rounded(measured.ratio(row, other))})
            })
            .collect();
        json!({
            "case": measured.case.name(),
            "rows": measured.rows.iter().map(row).collect::<Vec<_>>(),
            "ratios": ratios,
        })
    };
    json!({
        "about": about.json(),
        "effort": {"rounds": arguments.rounds, "milliseconds": arguments.milliseconds},
        "cases": all.iter().map(case).collect::<Vec<_>>(),
    })
}
