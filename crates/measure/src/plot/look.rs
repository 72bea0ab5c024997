//! The looks of curves: colour, dashes and markers, on light and dark pages.

use plotters::element::DashedPathElement;
use plotters::prelude::*;

/// A part of the picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// A failure to draw.
pub type Failure = DrawingAreaErrorKind<std::io::Error>;

/// The colour of a light page.
pub const PAPER: RGBColor = WHITE;
/// The colour of text and axes on it, and of the first curve, which is that of our direct calls.
pub const INK: RGBColor = BLACK;

/// Colours that people with any colour vision can tell apart, on light and on dark pages.
const COLOURS: [RGBColor; 7] = [
    INK,
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(190, 100, 150),
    RGBColor(176, 120, 0),
    RGBColor(122, 130, 140),
];

/// The style sheet for dark pages. It wins over the colours that the elements name.
const DARK: &str = "<style>@media (prefers-color-scheme: dark) {\
    [fill=\"#FFFFFF\"] { fill: #0D1117 } [stroke=\"#FFFFFF\"] { stroke: #0D1117 }\
    [fill=\"#000000\"] { fill: #E6EDF3 } [stroke=\"#000000\"] { stroke: #E6EDF3 } }</style>";

/// The least distance between two markers of a curve, in pixels. Points in between have none.
const MARKERS_APART: i32 = 20;

/// The width of a sample.
pub const SAMPLE: i32 = 32;

/// The pixels of a dash and of the gap behind it; none for a line without gaps.
const DASHES: [Option<(i32, i32)>; 3] = [None, Some((7, 4)), Some((2, 4))];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Dot,
    Square,
    Triangle,
    Ring,
    Cross,
}

const MARKERS: [Marker; 5] = [Marker::Dot, Marker::Square, Marker::Triangle, Marker::Ring, Marker::Cross];

/// The look of one curve among others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    colour: usize,
    dash: usize,
    marker: Marker,
}

impl Look {
    /// Returns the look of the curve with this number. Those of the first 105 curves differ.
    pub fn of(number: usize) -> Look {
        let (colours, dashes) = (COLOURS.len(), DASHES.len());
        Look {
            colour: number % colours,
            dash: number / colours % dashes,
            marker: MARKERS[number % MARKERS.len()],
        }
    }

    pub fn colour(self) -> RGBColor {
        COLOURS[self.colour]
    }

    /// Draws a curve through these points.
    pub fn draw(self, area: &Area<'_>, points: &[(i32, i32)]) -> Result<(), Failure> {
        self.line(area, points)?;
        let mut last = None;
        for &point in points {
            if last.is_none_or(|last| point.0 - last >= MARKERS_APART) {
                self.mark(area, point)?;
                last = Some(point.0);
            }
        }
        Ok(())
    }

    /// Draws a short piece of the curve, for its name.
    pub fn sample(self, area: &Area<'_>, (x, y): (i32, i32)) -> Result<(), Failure> {
        self.line(area, &[(x, y), (x + SAMPLE, y)])?;
        self.mark(area, (x + SAMPLE / 2, y))
    }

    fn line(self, area: &Area<'_>, points: &[(i32, i32)]) -> Result<(), Failure> {
        let style = self.colour().stroke_width(2);
        match DASHES[self.dash] {
            Some((dash, gap)) => area.draw(&DashedPathElement::new(points.iter().copied(), dash, gap, style)),
            None => area.draw(&PathElement::new(points, style)),
        }
    }

    fn mark(self, area: &Area<'_>, (x, y): (i32, i32)) -> Result<(), Failure> {
        let (filled, hollow) = (self.colour().filled(), self.colour().stroke_width(2));
        match self.marker {
            Marker::Dot => area.draw(&Circle::new((x, y), 4, filled)),
            Marker::Square => area.draw(&Rectangle::new([(x - 3, y - 3), (x + 4, y + 4)], filled)),
            Marker::Triangle => area.draw(&TriangleMarker::new((x, y), 5, filled)),
            Marker::Ring => {
                area.draw(&Circle::new((x, y), 4, PAPER.filled()))?;
                area.draw(&Circle::new((x, y), 4, hollow))
            }
            Marker::Cross => area.draw(&Cross::new((x, y), 4, hollow)),
        }
    }
}

/// Returns the picture with a style sheet for dark pages.
pub fn for_dark_pages(svg: &str) -> String {
    match svg.split_once(">\n") {
        Some((opening, rest)) => format!("{opening}>\n{DARK}\n{rest}"),
        None => svg.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_curves_look_alike() {
        let looks: Vec<Look> = (0..105).map(Look::of).collect();
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "{i}: {look:?}");
        }
        // Neighbours differ in two ways, so that one suffices for whoever can't see the other.
        let differ = |a: Look, b: Look| (a.colour != b.colour) & (a.marker != b.marker);
        assert!(looks.windows(2).all(|two| differ(two[0], two[1])));
    }

    /// WCAG 2.1 asks for a contrast of 3 for what is drawn.
    #[test]
    fn every_colour_can_be_seen_on_light_and_dark_pages() {
        let dark = RGBColor(0x0D, 0x11, 0x17);
        for colour in &COLOURS[1..] {
            for page in [PAPER, dark] {
                assert!(
                    contrast(*colour, page) >= 3.0,
                    "{colour:?} on {page:?}: {}",
                    contrast(*colour, page)
                );
            }
        }
        assert!(contrast(RGBColor(0xE6, 0xED, 0xF3), dark) > 7.0);
        // The style sheet replaces what the elements are drawn with.
        assert!(DARK.contains("#0D1117") && DARK.contains("#FFFFFF") && DARK.contains("#000000"));
    }

    fn contrast(a: RGBColor, b: RGBColor) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
        let linear = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }
}
