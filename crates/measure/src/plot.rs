//! Pictures: panels of curves over logarithmic axes, as SVG.

use std::error::Error;

use plotters::prelude::*;

const COLUMNS: usize = 2;
const PANEL: (u32, u32) = (790, 420);
/// The width of the part of a panel that holds the names.
const NAMES: u32 = 230;
/// The most points that are drawn as dots. With more of them, the curve alone is drawn.
const MOST_DOTS: usize = 40;

/// Colours that people with any colour vision can tell apart. Black is for our direct calls.
const COLOURS: [RGBColor; 7] = [
    BLACK,
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// A panel: titles, and curves of points with their names.
pub struct Panel {
    /// The title above the panel.
    pub title: String,
    /// The label of the horizontal axis.
    pub x: &'static str,
    /// The label of the vertical axis.
    pub y: &'static str,
    /// The curves' names, and their points from left to right.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

/// Draws the picture as SVG.
///
/// # Errors
/// Fails when there is nothing to draw.
pub fn svg(panels: &[Panel]) -> Result<String, String> {
    let drawable: Vec<&Panel> = panels.iter().filter(|panel| !panel.curves.is_empty()).collect();
    if drawable.is_empty() {
        return Err("nothing was measured that could be drawn".to_owned());
    }
    let mut text = String::new();
    draw(&mut text, &drawable).map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(text: &mut String, panels: &[&Panel]) -> Result<(), Box<dyn Error>> {
    let columns = COLUMNS.min(panels.len());
    let rows = panels.len().div_ceil(columns);
    let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32);
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    let fail = |error: DrawingAreaErrorKind<_>| error.to_string();
    root.fill(&WHITE).map_err(fail)?;
    for (area, panel) in root.split_evenly((rows, columns)).iter().zip(panels) {
        draw_panel(area, panel).map_err(|error| error.to_string())?;
    }
    root.present().map_err(fail)?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Failure = DrawingAreaErrorKind<std::io::Error>;

fn draw_panel(area: &Area<'_>, panel: &Panel) -> Result<(), Failure> {
    let (chart, names) = area.split_horizontally(PANEL.0 - NAMES);
    draw_names(&names, panel)?;
    draw_curves(&chart, panel)
}

fn draw_curves(area: &Area<'_>, panel: &Panel) -> Result<(), Failure> {
    let all = || panel.curves.iter().flat_map(|(_, points)| points);
    let range = |f: fn(&(f64, f64)) -> f64| {
        all().map(f).filter(|v| v.is_finite()).fold((f64::MAX, 0f64), |(a, b), v| (a.min(v), b.max(v)))
    };
    let ((left, right), (low, high)) = (range(|p| p.0), range(|p| p.1));
    // A single value needs room on both sides, too.
    let (left, right) = if left < right { (left, right) } else { (left / 2.0, left * 2.0) };
    let (low, high) = (low / 2.0, high * 2.0);
    let vertical = (low..high).log_scale().with_key_points(round_values(low, high));
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 16))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(66)
        .build_cartesian_2d((left..right).log_scale().base(2.0), vertical)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc(panel.x)
        .y_desc(panel.y)
        .x_labels(8)
        .y_labels(10)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y}"))
        .draw()?;
    for ((_, points), colour) in panel.curves.iter().zip(COLOURS.iter().cycle()) {
        let dots = if points.len() > MOST_DOTS { 0 } else { 3 };
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
        chart.draw_series(line.point_size(dots))?;
    }
    Ok(())
}

/// Draws the names of the curves beside the chart, where they hide nothing.
fn draw_names(area: &Area<'_>, panel: &Panel) -> Result<(), Failure> {
    for (i, ((name, _), colour)) in panel.curves.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let y = 50 + 20 * i as i32;
        area.draw(&PathElement::new([(0, y), (18, y)], colour.stroke_width(2)))?;
        area.draw(&Text::new(name.clone(), (24, y - 7), ("sans-serif", 13)))?;
    }
    Ok(())
}

/// Returns the marks between two values: the powers of ten, and if these are few, two and five times each.
fn round_values(low: f64, high: f64) -> Vec<f64> {
    let steps: &[i32] = if high / low > 1e3 { &[1] } else { &[1, 2, 5] };
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    // The values are parsed from text, because products have digits that nobody wants to read.
    let values =
        decades.flat_map(|n| steps.iter().filter_map(move |step| format!("{step}e{n}").parse().ok()));
    values.filter(|value| (low..=high).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_inside() {
        assert_eq!(round_values(0.3, 7.0), [0.5, 1.0, 2.0, 5.0]);
        assert_eq!(round_values(0.003, 20.0), [0.01, 0.1, 1.0, 10.0]);
    }

    #[test]
    fn one_point_alone_and_names_with_signs_of_markup() {
        let curves = vec![("a<b & \"c\"".to_owned(), vec![(64.0, 2.0)])];
        let text = svg(&[Panel { title: "<t>".into(), x: "bytes", y: "GB", curves }]).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        assert!(text.contains("a&lt;b &amp; &quot;c&quot;") && text.contains("&lt;t&gt;"), "{text}");
        assert!(svg(&[]).is_err());
    }
}
