//! Draws a picture: time per object over the number in flight, with a panel for each main algorithm.

use std::path::Path;

use millstream_measure::plot::Panel;

use super::measure::{Cell, Measured};
use crate::measure::OURS;
use crate::plot;

/// The cases that get a panel, if they were measured at more than one depth.
const PANELS: [&str; 12] = [
    "aes-128-cbc-encrypt",
    "aes-128-ctr",
    "aes-128-gcm-seal",
    "sha1",
    "sha256",
    "hmac-sha256",
    "md5",
    "sha512",
    "aes-128-cbc-encrypt-hmac-sha1",
    "3des-cbc-encrypt",
    "kasumi-f8",
    "aes-128-cmac",
];
/// The length that is drawn if it was measured; otherwise the one next to it.
const BYTES: usize = 256;

/// The rows that get a curve. A family's best row is drawn, and of ours also the direct calls.
const ROWS: [(&str, Option<&str>); 5] =
    [(OURS, None), (OURS, Some("direct")), ("ipsec-mb", None), ("isa-l", None), ("openssl-3.0", None)];

/// Draws the picture. The caption stands below it.
///
/// # Errors
/// Fails when nothing that has a panel was measured, or the file can't be written.
pub fn draw(path: &Path, cells: &[Cell], caption: &str) -> Result<(), String> {
    let cells = PANELS.iter().map(|&name| panel_cells(name, cells)).filter(|cells| cells.len() > 1);
    let panels: Vec<Panel> = cells.map(|cells| panel(&cells)).collect();
    if panels.is_empty() {
        return Err(
            "nothing to draw: none of the main algorithms was measured with two numbers in flight".into()
        );
    }
    plot::write(path, &panels, caption)
}

/// Returns the cells of a case at one length, under the first kind of keys that was measured.
fn panel_cells<'c>(name: &str, cells: &'c [Cell]) -> Vec<&'c Cell> {
    let named: Vec<&Cell> = cells.iter().filter(|cell| cell.place.work.name() == name).collect();
    let lengths = named.iter().filter_map(|cell| cell.place.sizes.equal());
    let Some(bytes) = lengths.min_by_key(|bytes| bytes.abs_diff(BYTES)) else { return Vec::new() };
    let keys = named[0].place.keys;
    let same = |cell: &&Cell| cell.place.sizes.equal() == Some(bytes) && cell.place.keys == keys;
    named.into_iter().filter(same).collect()
}

fn find<'c>(cell: &'c Cell, family: &str, way: Option<&str>) -> Option<&'c Measured> {
    match way {
        Some(way) => cell.row(family, way),
        None if family == OURS => cell.ours(),
        None => cell.best_of(family),
    }
}

fn panel(cells: &[&Cell]) -> Panel {
    let curve = |&(family, way): &(&str, Option<&str>)| {
        let point = |cell: &&Cell| Some((cell.place.depth as f64, find(cell, family, way)?.median_ns()));
        let name = way.map_or(family.to_owned(), |way| format!("{family}, {way}"));
        (name, cells.iter().filter_map(point).collect())
    };
    let place = &cells[0].place;
    let title = format!("{} of {} bytes", place.work.name(), place.sizes);
    Panel { title, x: "objects in flight", y: "ns an object", curves: ROWS.iter().map(curve).collect() }
}
