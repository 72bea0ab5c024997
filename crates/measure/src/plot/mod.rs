//! Pictures: panels of curves over logarithmic axes, as SVG.
//!
//! No two curves of a panel look alike, each has its name at its end, and the picture names what it was measured on.
//! It is drawn for a light page and has a style sheet for a dark one.

mod ends;
mod look;

use std::error::Error;

use plotters::prelude::*;

use look::{Area, Failure, INK, Look, PAPER, SAMPLE};

const COLUMNS: usize = 2;
const PANEL: (u32, u32) = (790, 420);
/// The width of the part of a panel that holds the names.
const NAMES: u32 = 250;
/// The height of the line that says what was measured where.
const FOOT: u32 = 30;
/// The part of a panel, above and below, in which no name stands.
const TITLE: i32 = 40;

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

/// Draws the picture as SVG. The line below the panels says what was measured, where and when.
///
/// # Errors
/// Fails when there is nothing to draw.
pub fn svg(panels: &[Panel], about: &str) -> Result<String, String> {
    let drawable: Vec<&Panel> =
        panels.iter().filter(|panel| panel.curves.iter().any(|(_, points)| !points.is_empty())).collect();
    if drawable.is_empty() {
        return Err("nothing was measured that could be drawn".to_owned());
    }
    let mut text = String::new();
    draw(&mut text, &drawable, about).map_err(|error| error.to_string())?;
    Ok(look::for_dark_pages(&text))
}

fn draw(text: &mut String, panels: &[&Panel], about: &str) -> Result<(), Box<dyn Error>> {
    let columns = COLUMNS.min(panels.len());
    let rows = panels.len().div_ceil(columns);
    let height = PANEL.1 * rows as u32;
    let root = SVGBackend::with_string(text, (PANEL.0 * columns as u32, height + FOOT)).into_drawing_area();
    let fail = |error: Failure| error.to_string();
    root.fill(&PAPER).map_err(fail)?;
    let (top, foot) = root.split_vertically(height);
    for (area, panel) in top.split_evenly((rows, columns)).iter().zip(panels) {
        draw_panel(area, panel).map_err(fail)?;
    }
    foot.draw(&Text::new(about.to_owned(), (14, 8), ("sans-serif", 13))).map_err(fail)?;
    root.present().map_err(fail)?;
    Ok(())
}

/// A curve in the pixels of its panel: its name, look and points.
type Curve<'a> = (&'a str, Look, Vec<(i32, i32)>);

fn draw_panel(area: &Area<'_>, panel: &Panel) -> Result<(), Failure> {
    let (chart, _) = area.split_horizontally(PANEL.0 - NAMES);
    let curves = draw_axes(&chart, panel)?;
    for (_, look, points) in &curves {
        look.draw(area, points)?;
    }
    draw_names(area, &curves)
}

/// Draws the axes, and returns the curves as they lie between them.
fn draw_axes<'p>(area: &Area<'_>, panel: &'p Panel) -> Result<Vec<Curve<'p>>, Failure> {
    let all = || panel.curves.iter().flat_map(|(_, points)| points);
    let range = |f: fn(&(f64, f64)) -> f64| {
        all().map(f).filter(|v| v.is_finite()).fold((f64::MAX, 0f64), |(a, b), v| (a.min(v), b.max(v)))
    };
    let ((left, right), (low, high)) = (range(|p| p.0), range(|p| p.1));
    // A single value needs room on both sides, too.
    let (left, right) = if left < right { (left, right) } else { (left / 2.0, left * 2.0) };
    let (low, high) = (low / 1.3, high * 1.3);
    let vertical = (low..high).log_scale().with_key_points(round_values(low, high));
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 16))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(66)
        .build_cartesian_2d((left..right).log_scale().base(2.0), vertical)?;
    chart
        .configure_mesh()
        .light_line_style(PAPER)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK)
        .x_desc(panel.x)
        .y_desc(panel.y)
        .x_labels(8)
        .y_labels(10)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y}"))
        .draw()?;
    let (x, y) = area.get_pixel_range();
    let pixel = |point: &(f64, f64)| {
        let (right, down) = chart.backend_coord(point);
        (right - x.start, down - y.start)
    };
    let named = panel.curves.iter().enumerate().filter(|(_, (_, points))| !points.is_empty());
    Ok(named
        .map(|(i, (name, points))| (name.as_str(), Look::of(i), points.iter().map(pixel).collect()))
        .collect())
}

/// Draws the name of each curve beside the chart, as near to the curve's end as other names allow.
fn draw_names(area: &Area<'_>, curves: &[Curve<'_>]) -> Result<(), Failure> {
    let ends: Vec<(i32, i32)> = curves.iter().filter_map(|(_, _, points)| points.last().copied()).collect();
    let heights: Vec<i32> = ends.iter().map(|end| end.1).collect();
    let places = ends::apart(&heights, TITLE, PANEL.1 as i32 - TITLE);
    let left = (PANEL.0 - NAMES) as i32 + 8;
    for (((name, look, _), end), y) in curves.iter().zip(&ends).zip(places) {
        let lead = look.colour().mix(0.5).stroke_width(1);
        area.draw(&PathElement::new([(end.0 + 5, end.1), (left - 3, y)], lead))?;
        look.sample(area, (left, y))?;
        area.draw(&Text::new((*name).to_owned(), (left + SAMPLE + 8, y - 7), ("sans-serif", 13)))?;
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
        let panel = Panel { title: "<t>".into(), x: "bytes", y: "GB", curves };
        let text = svg(&[panel], "A processor & a date").unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        assert!(text.contains("a&lt;b &amp; &quot;c&quot;") && text.contains("&lt;t&gt;"), "{text}");
        assert!(text.contains("A processor &amp; a date") && text.contains("prefers-color-scheme: dark"));
        assert!(svg(&[], "").is_err());
    }

    /// The names stand in the part of the panel that has no curves, each below the other.
    #[test]
    fn names_stand_apart_beside_the_chart() {
        let curve = |i: usize| (format!("way {i}"), vec![(16.0, 1.0), (64.0, 2.0 + 0.01 * i as f64)]);
        let panel = Panel { title: "t".into(), x: "bytes", y: "GB", curves: (0..9).map(curve).collect() };
        let text = svg(&[panel], "").unwrap();
        let mut places: Vec<(i32, i32)> = Vec::new();
        for element in text.split("<text ").filter(|element| element.contains("way ")) {
            let number = |name: &str| {
                let rest = element.split_once(&format!("{name}=\"")).unwrap().1;
                rest.split_once('"').unwrap().0.parse::<i32>().unwrap()
            };
            places.push((number("x"), number("y")));
        }
        places.sort_by_key(|place| place.1);
        assert_eq!(places.len(), 9);
        assert!(places.iter().all(|place| place.0 > (PANEL.0 - NAMES) as i32), "{places:?}");
        assert!(places.windows(2).all(|two| two[1].1 - two[0].1 >= 14), "{places:?}");
    }
}
