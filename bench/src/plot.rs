//! Draws a picture: throughput over size, with one panel for each main algorithm and one line for each row.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

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
const COLUMNS: usize = 3;
const PANEL: (u32, u32) = (480, 340);

/// Colours that people with any colour vision can tell apart; ours is black.
const PEERS: [(&str, RGBColor); 6] = [
    ("openssl-3.0", RGBColor(0, 114, 178)),
    ("openssl-3.6", RGBColor(86, 180, 233)),
    ("aws-lc", RGBColor(230, 159, 0)),
    ("ring", RGBColor(204, 121, 167)),
    ("rustcrypto", RGBColor(213, 94, 0)),
    ("ipsec-mb", RGBColor(0, 158, 115)),
];

/// Draws the picture.
///
/// # Errors
/// Fails when nothing that has a panel was measured, or the file can't be written.
pub fn draw<'a>(path: &'a Path, cells: &[Cell]) -> Result<(), Box<dyn Error + 'a>> {
    let panels: Vec<(&str, Vec<&Cell>)> = PANELS
        .iter()
        .map(|&name| (name, cells.iter().filter(|cell| cell.case.name() == name).collect::<Vec<_>>()))
        .filter(|(_, cells)| cells.len() > 1)
        .collect();
    if panels.is_empty() {
        return Err("nothing to draw: none of the main algorithms was measured at two sizes".into());
    }
    let rows = panels.len().div_ceil(COLUMNS);
    let size = (PANEL.0 * COLUMNS.min(panels.len()) as u32, PANEL.1 * rows as u32);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, (name, cells)) in root.split_evenly((rows, COLUMNS.min(panels.len()))).iter().zip(&panels) {
        panel(area, name, cells)?;
    }
    root.present()?;
    Ok(())
}

pub type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn panel<'a>(area: &Area<'a>, name: &str, cells: &[&Cell]) -> Result<(), Box<dyn Error + 'a>> {
    let sizes = cells.iter().map(|cell| cell.size as f64);
    let (low, high) = sizes.fold((f64::MAX, 0f64), |(low, high), size| (low.min(size), high.max(size)));
    let speeds =
        || cells.iter().flat_map(|cell| cell.rows.iter().map(|row| cell.size as f64 / row.median_ns()));
    let (slow, fast) =
        speeds().fold((f64::MAX, 0f64), |(low, high), speed| (low.min(speed), high.max(speed)));
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{name}, GB/s over bytes"), ("sans-serif", 16))
        .margin(12)
        .margin_right(28)
        .x_label_area_size(28)
        .y_label_area_size(48)
        .build_cartesian_2d((low..high).log_scale().base(2.0), (slow * 0.8..fast * 1.25).log_scale())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_label_formatter(&|size| format!("{size:.0}"))
        .y_label_formatter(&|speed| format!("{speed:.2}"))
        .draw()?;
    let lines = PEERS.iter().copied().chain([(OURS, BLACK)]);
    for (peer, colour) in lines {
        let points: Vec<(f64, f64)> = cells
            .iter()
            .filter_map(|cell| {
                let row = cell.rows.iter().find(|row| row.name == peer)?;
                Some((cell.size as f64, cell.size as f64 / row.median_ns()))
            })
            .collect();
        if points.is_empty() {
            continue;
        }
        let style = colour.stroke_width(if peer == OURS { 3 } else { 1 });
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(peer)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .draw()?;
    Ok(())
}
