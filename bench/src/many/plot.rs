//! Draws a picture: time per object over the number in flight, with a panel for each main algorithm.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use super::measure::{Cell, Measured};
use crate::measure::OURS;
use crate::plot::Area;

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
const COLUMNS: usize = 3;
const PANEL: (u32, u32) = (480, 340);
/// The length that is drawn if it was measured; otherwise the one next to it.
const BYTES: usize = 256;

/// Colours that people with any colour vision can tell apart. Our row that counts is black. A family's best
/// row is drawn, and of ours also the direct calls.
const LINES: [(&str, Option<&str>, RGBColor); 5] = [
    ("openssl-3.0", None, RGBColor(86, 180, 233)),
    ("isa-l", None, RGBColor(230, 159, 0)),
    ("ipsec-mb", None, RGBColor(0, 158, 115)),
    (OURS, Some("direct"), RGBColor(213, 94, 0)),
    (OURS, None, BLACK),
];

/// Draws the picture.
///
/// # Errors
/// Fails when nothing that has a panel was measured, or the file can't be written.
pub fn draw<'a>(path: &'a Path, cells: &[Cell]) -> Result<(), Box<dyn Error + 'a>> {
    let panels: Vec<Vec<&Cell>> =
        PANELS.iter().map(|&name| panel_cells(name, cells)).filter(|cells| cells.len() > 1).collect();
    if panels.is_empty() {
        return Err(
            "nothing to draw: none of the main algorithms was measured with two numbers in flight".into()
        );
    }
    let rows = panels.len().div_ceil(COLUMNS);
    let columns = COLUMNS.min(panels.len());
    let root = SVGBackend::new(path, (PANEL.0 * columns as u32, PANEL.1 * rows as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, cells) in root.split_evenly((rows, columns)).iter().zip(&panels) {
        panel(area, cells)?;
    }
    root.present()?;
    Ok(())
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

fn panel<'a>(area: &Area<'a>, cells: &[&Cell]) -> Result<(), Box<dyn Error + 'a>> {
    let points = |(family, way): (&str, Option<&str>)| -> Vec<(f64, f64)> {
        let point = |cell: &&Cell| Some((cell.place.depth as f64, find(cell, family, way)?.median_ns()));
        cells.iter().filter_map(point).collect()
    };
    let all: Vec<(f64, f64)> = LINES.iter().flat_map(|&(family, way, _)| points((family, way))).collect();
    let span = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, 0f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (few, many) = span(&mut all.iter().map(|point| point.0));
    let (fast, slow) = span(&mut all.iter().map(|point| point.1));
    let place = &cells[0].place;
    let mut chart = ChartBuilder::on(area)
        .caption(
            format!("{} of {} bytes, ns over objects in flight", place.work.name(), place.sizes),
            ("sans-serif", 15),
        )
        .margin(12)
        .margin_right(28)
        .x_label_area_size(28)
        .y_label_area_size(56)
        .build_cartesian_2d((few..many).log_scale().base(2.0), (fast * 0.8..slow * 1.25).log_scale())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_label_formatter(&|depth| format!("{depth:.0}"))
        .y_label_formatter(&|ns| format!("{ns:.0}"))
        .draw()?;
    for (family, way, colour) in LINES {
        let points = points((family, way));
        if points.is_empty() {
            continue;
        }
        let style = colour.stroke_width(if family == OURS { 3 } else { 1 });
        let label = match way {
            Some(way) => format!("{family}, {way}"),
            None => family.to_owned(),
        };
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.8))
        .draw()?;
    Ok(())
}
