//! Draws a picture: throughput over size, with one panel for each main algorithm and one curve for each row.

use std::path::Path;

use millstream_measure::plot::{self, Panel};

use crate::measure::{Cell, OURS};

/// The cases that get a panel, if they were measured.
const PANELS: [&str; 9] = [
    "aes-128-gcm-seal",
    "aes-256-gcm-open",
    "aes-128-ctr",
    "aes-128-cbc-decrypt",
    "aes-256-xts-encrypt",
    "chacha20-poly1305-seal",
    "sha256",
    "hmac-sha256",
    "3des-cbc-decrypt",
];

/// The rows that get a curve, ours first. In every panel each has the same look.
const ROWS: [&str; 7] = [OURS, "openssl-3.0", "openssl-3.6", "aws-lc", "ring", "rustcrypto", "ipsec-mb"];

/// Draws the picture. The caption stands below it.
///
/// # Errors
/// Fails when nothing that has a panel was measured, or the file can't be written.
pub fn draw(path: &Path, cells: &[Cell], caption: &str) -> Result<(), String> {
    let panels: Vec<Panel> = PANELS.iter().filter_map(|name| panel(name, cells)).collect();
    if panels.is_empty() {
        return Err("nothing to draw: none of the main algorithms was measured at two sizes".into());
    }
    write(path, &panels, caption)
}

/// Writes a picture to a file.
///
/// # Errors
/// Names the file that can't be written.
pub fn write(path: &Path, panels: &[Panel], caption: &str) -> Result<(), String> {
    let svg = plot::svg(panels, caption)?;
    std::fs::write(path, svg).map_err(|e| format!("{}: {e}", path.display()))
}

fn panel(name: &str, cells: &[Cell]) -> Option<Panel> {
    let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.case.name() == name).collect();
    if cells.len() < 2 {
        return None;
    }
    let point = |cell: &&Cell, peer: &str| {
        let row = cell.rows.iter().find(|row| row.name == peer)?;
        Some((cell.size as f64, cell.size as f64 / row.median_ns()))
    };
    let curve = |peer: &&str| {
        let points = cells.iter().filter_map(|cell| point(cell, peer)).collect();
        (peer.to_string(), points)
    };
    let curves = ROWS.iter().map(curve).collect();
    Some(Panel { title: name.to_owned(), x: "bytes", y: "GB a second", curves })
}
