//! The number of objects in flight from which lanes win over one object after another, by length. Both go
//! through the lane manager, as jobs, because below its crossover it has nothing else to choose from.

use std::fmt::Write;

use super::measure::Cell;
use crate::measure::OURS;

/// The numbers in flight that are tried.
pub const DEPTHS: [usize; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64];

/// Formats all cells of one algorithm: the number in flight from which lanes take less time at every greater
/// number too, the crossover that its kernel has recorded, and the ratio of one-by-one time to lane time.
pub fn table(cells: &[Cell]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let Some(lanes) = first.row(OURS, "lanes") else { return String::new() };
    let mut text = format!("{:<30} {}\n", first.place.work.name(), lanes.call);
    let mut lengths: Vec<usize> = cells.iter().filter_map(|cell| cell.place.sizes.equal()).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut line = |name: &str, value: &dyn Fn(usize) -> String| {
        write!(text, "  {name:<28}").expect("a string takes everything");
        for &bytes in &lengths {
            write!(text, "{:>9}", value(bytes)).expect("a string takes everything");
        }
        text.push('\n');
    };
    line("bytes", &|bytes| bytes.to_string());
    line("lanes win from", &|bytes| measured(cells, bytes).map_or("never".to_owned(), |n| n.to_string()));
    line("recorded", &|bytes| match lanes.crossover {
        None => "-".to_owned(),
        Some(recorded) if recorded.objects(bytes) == usize::MAX => "never".to_owned(),
        Some(recorded) => recorded.objects(bytes).to_string(),
    });
    for &depth in &DEPTHS {
        line(&format!("{depth} in flight, ratio"), &|bytes| {
            let cell = at(cells, bytes, depth);
            cell.and_then(ratio).map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
        });
    }
    text
}

fn at(cells: &[Cell], bytes: usize, depth: usize) -> Option<&Cell> {
    cells.iter().find(|cell| cell.place.sizes.equal() == Some(bytes) && cell.place.depth == depth)
}

fn ratio(cell: &Cell) -> Option<f64> {
    Some(cell.row(OURS, "one by one")?.ratio_to(cell.row(OURS, "lanes")?))
}

/// The ratio from which lanes win. Less is chance.
const WIN: f64 = 1.02;

/// Returns the least number in flight from which on lanes win.
fn measured(cells: &[Cell], bytes: usize) -> Option<usize> {
    let mut from = None;
    for &depth in DEPTHS.iter().rev() {
        let Some(ratio) = at(cells, bytes, depth).and_then(ratio) else { continue };
        if ratio < WIN {
            break;
        }
        from = Some(depth);
    }
    from
}
