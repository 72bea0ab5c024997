//! Measures one cell: all rows of it are compared, object by object, and then timed in turns.

use millstream_engines::Crossover;
use millstream_measure::clock;
use millstream_measure::statistics::median;

use super::objects::{Memory, Objects, Originals};
use super::rows::{self, Row, Rows};
use crate::measure::{Effort, OURS, affordable, hex};

pub use super::rows::Cell as Place;

/// The result of one row in one cell.
pub struct Measured {
    pub family: &'static str,
    pub way: &'static str,
    pub call: String,
    /// For lanes, the crossover from which they are used.
    pub crossover: Option<Crossover>,
    /// The nanoseconds of an object in each round.
    pub ns: Vec<f64>,
}

impl Measured {
    pub fn median_ns(&self) -> f64 {
        median(self.ns.clone())
    }

    /// Returns the ratio of the median turn's time to that of the best, which is near 1 on an idle machine.
    pub fn unsteadiness(&self) -> f64 {
        self.median_ns() / self.best_ns()
    }

    pub fn best_ns(&self) -> f64 {
        self.ns.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the ratio of its time to that of `other`: the median of each round's ratio.
    pub fn ratio_to(&self, other: &Measured) -> f64 {
        median(self.ns.iter().zip(&other.ns).map(|(mine, others)| mine / others).collect())
    }

    /// Returns the ratio of the best batches.
    pub fn best_ratio_to(&self, other: &Measured) -> f64 {
        self.best_ns() / other.best_ns()
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.family, self.way)
    }
}

/// The results of all rows for an algorithm, a length and a number in flight.
pub struct Cell {
    pub place: Place,
    pub rows: Vec<Measured>,
    pub ghz: Vec<f64>,
}

impl Cell {
    /// Returns our row that counts: that of the lane manager, which picks lanes or direct calls by itself.
    pub fn ours(&self) -> Option<&Measured> {
        const PREFERRED: [&str; 3] = ["lanes", "direct", "batch"];
        PREFERRED.into_iter().find_map(|way| self.row(OURS, way))
    }

    pub fn row(&self, family: &str, way: &str) -> Option<&Measured> {
        self.rows.iter().find(|row| row.family == family && row.way == way)
    }

    /// Returns the fastest row of a family.
    pub fn best_of(&self, family: &str) -> Option<&Measured> {
        let rows = self.rows.iter().filter(|row| row.family == family);
        rows.min_by(|a, b| a.median_ns().total_cmp(&b.median_ns()))
    }
}

/// Compares all rows of a cell and, if there is an effort, times them.
///
/// # Errors
/// Names the row whose object differs from the first row's, and where it differs.
pub fn cell(
    place: Place,
    sources: &[Box<dyn Rows>],
    wanted: impl Fn(&Row) -> bool,
    offset: usize,
    effort: Option<Effort>,
) -> Result<Cell, String> {
    let mut rows: Vec<Row> = sources.iter().flat_map(|source| source.rows(&place)).filter(wanted).collect();
    let mut memory = Memory::new(place.work, place.sizes, place.depth, place.keys, offset);
    let (mut objects, originals) = memory.objects();
    compare(&place, &mut objects, &originals, &mut rows)?;
    originals.restore(&mut objects);
    let (ns, ghz) = match effort {
        Some(effort) => take_turns(&mut objects, &mut rows, effort),
        None => (vec![Vec::new(); rows.len()], Vec::new()),
    };
    let measured = |(row, ns): (Row, _)| {
        let Row { family, way, call, crossover, .. } = row;
        Measured { family, way, call, crossover, ns }
    };
    Ok(Cell { place, rows: rows.into_iter().zip(ns).map(measured).collect(), ghz })
}

/// Runs every row once on the same objects.
fn compare(
    place: &Place,
    objects: &mut Objects<'_>,
    originals: &Originals<'_>,
    rows: &mut [Row],
) -> Result<(), String> {
    /// The results of every object and its tag, and the row they came from.
    type Results = (String, Vec<(Vec<u8>, Vec<u8>)>);
    let mut expected: Option<Results> = None;
    for row in rows {
        originals.restore(objects);
        row.run.load(objects);
        row.run.batch(objects, 1);
        row.run.store(objects);
        let results = (0..place.depth).map(|i| {
            let (output, tag) = originals.result(objects, i);
            (output.to_vec(), tag.to_vec())
        });
        let results: Vec<_> = results.collect();
        let Some((first, expected)) = &expected else {
            expected = Some((row.name(), results));
            continue;
        };
        for (i, (result, expected)) in results.iter().zip(expected).enumerate() {
            let what = || {
                let rows::Cell { work, sizes, depth, keys } = place;
                let (name, keys) = (work.name(), keys.name());
                format!(
                    "{name} of {sizes} bytes, {depth} in flight, {keys}: object {i} of {} ({})",
                    row.name(),
                    row.call
                )
            };
            if let Some(at) = result.0.iter().zip(&expected.0).position(|(a, b)| a != b) {
                return Err(format!("{} differs from {first}'s at output byte {at}", what()));
            }
            if result.1 != expected.1 {
                let (tag, theirs) = (hex(&result.1), hex(&expected.1));
                return Err(format!("{} has the tag {tag}, {first}'s has {theirs}", what()));
            }
        }
    }
    Ok(())
}

/// Times the rows in turns, beginning each round with another one. Returns nanoseconds per object for each
/// row and round, and the core's clock for each round.
fn take_turns(objects: &mut Objects<'_>, rows: &mut [Row], effort: Effort) -> (Vec<Vec<f64>>, Vec<f64>) {
    let count = objects.list.len() as f64;
    let batch_ns = effort.seconds * 1e9 / f64::from(effort.rounds);
    let (mut times, mut round_ns) = (Vec::new(), 0.0);
    for row in rows.iter_mut() {
        let pass_ns = pass_ns(objects, row, batch_ns);
        times.push((batch_ns / pass_ns).max(1.0) as u32);
        round_ns += batch_ns.max(pass_ns);
    }
    let rounds = affordable(effort, rows.len(), round_ns);
    let mut ns = vec![Vec::with_capacity(rounds); rows.len()];
    let mut ghz = Vec::new();
    for round in 0..rounds {
        ghz.extend(clock::core_ghz());
        for turn in 0..rows.len() {
            let i = (round + turn) % rows.len();
            let spent = clock::time_ns(|| rows[i].run.batch(objects, times[i]));
            ns[i].push(spent / f64::from(times[i]) / count);
        }
    }
    (ns, ghz)
}

/// Returns about how long all objects take once, which also warms the row up.
fn pass_ns(objects: &mut Objects<'_>, row: &mut Row, batch_ns: f64) -> f64 {
    let mut times = 1u32;
    loop {
        let first = clock::time_ns(|| row.run.batch(objects, times));
        let least = if first > batch_ns {
            first
        } else {
            first.min(clock::time_ns(|| row.run.batch(objects, times)))
        };
        if least > batch_ns / 8.0 || times >= 1 << 24 {
            return least.max(1.0) / f64::from(times);
        }
        times *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::many::work::{Keys, Sizes, Work};

    #[test]
    fn one_wrong_object_is_an_error() {
        let place = Place { work: Work::all()[0], sizes: Sizes::Imix, depth: 20, keys: Keys::Same };
        let row = |wrong: Option<usize>| {
            Row::new(OURS, "test", "call", move |objects: &mut Objects<'_>| {
                for (i, object) in objects.list.iter_mut().enumerate() {
                    let mut data = object.data.pass();
                    *data.output().last_mut().expect("not empty") = u8::from(wrong == Some(i));
                }
            })
        };
        let mut memory = Memory::new(place.work, place.sizes, place.depth, place.keys, 0);
        let (mut objects, originals) = memory.objects();
        assert_eq!(compare(&place, &mut objects, &originals, &mut [row(None), row(None)]), Ok(()));
        let error = compare(&place, &mut objects, &originals, &mut [row(None), row(Some(6))]).unwrap_err();
        assert!(error.contains("object 6") && error.contains("byte 1503"), "{error}");
    }
}
