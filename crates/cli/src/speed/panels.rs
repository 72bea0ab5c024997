//! The measurements as curves: a panel for each algorithm, a curve for each way.

use millstream_measure::plot::Panel;

use super::measure::Measured;

/// Draws throughput over the objects' length, or over the number in flight where there is one length only.
/// Each algorithm has a panel.
pub fn panels(cells: &[Measured]) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    let one_length = cells.iter().all(|cell| cell.size == cells[0].size);
    for cell in cells {
        let direction = if cell.decrypts { ", decrypting" } else { "" };
        let length = if one_length { format!(", {} bytes", cell.size) } else { String::new() };
        let title = format!("{}{direction}{length}", cell.algorithm);
        if panels.last().is_none_or(|panel| panel.title != title) {
            let x = if one_length { "objects in flight" } else { "bytes" };
            panels.push(Panel { title, x, y: "GB a second", curves: Vec::new() });
        }
        let panel = panels.last_mut().expect("one was pushed");
        let (name, x) = match one_length {
            true => (cell.way.to_owned(), cell.depth as f64),
            false if cell.depth > 1 => (format!("{}, {} in flight", cell.way, cell.depth), cell.bytes),
            false => (cell.way.to_owned(), cell.bytes),
        };
        let point = (x, cell.gb_per_s());
        match panel.curves.iter_mut().find(|(own, _)| *own == name) {
            Some((_, points)) => points.push(point),
            None => panel.curves.push((name, vec![point])),
        }
    }
    for (_, points) in panels.iter_mut().flat_map(|panel| &mut panel.curves) {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    panels
}
