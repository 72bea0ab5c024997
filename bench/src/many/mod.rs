//! Many objects in flight: for one algorithm and length at a time, every way of putting them through
//! Millstream is measured beside every such way of the peers.

mod crossover;
mod fixed;
mod measure;
mod objects;
mod plot;
mod record;
mod report;
mod rows;
mod targets;
mod work;

use std::path::PathBuf;

use millstream_cpu::{Features, Mask};

use crate::glob;
use crate::measure::{Effort, OURS};
use crate::record::{Circumstances, FOLDER, Recording, write};
use fixed::Fixed;
use measure::{Cell, Place};
use report::Judged;
use rows::{Row, Rows};
use work::{Keys, Sizes, Work};

/// The default lengths.
const SIZES: [Sizes; 6] = [
    Sizes::Equal(16),
    Sizes::Equal(64),
    Sizes::Equal(256),
    Sizes::Equal(1024),
    Sizes::Equal(8192),
    Sizes::Imix,
];

/// The default numbers in flight.
const DEPTHS: [usize; 7] = [1, 2, 4, 16, 32, 64, 256];

/// The lengths and numbers that are compared when nothing is timed: lengths that end in the middle of a
/// lane's work, and numbers that leave lanes empty.
const CHECKED_SIZES: [Sizes; 6] =
    [Sizes::Equal(16), Sizes::Equal(48), Sizes::Equal(64), Sizes::Equal(112), Sizes::Equal(272), Sizes::Imix];
const CHECKED_DEPTHS: [usize; 4] = [1, 3, 17, 65];

#[derive(clap::Args)]
pub struct Arguments {
    /// Only cases whose name matches one of these patterns, as in 'aes-*-cbc-encrypt'
    #[arg(long, alias = "filter", value_name = "GLOB", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Lengths in bytes, or 'imix'
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    sizes: Vec<Sizes>,
    /// Objects in flight
    #[arg(long, value_name = "N", value_delimiter = ',')]
    depth: Vec<usize>,
    /// One key for all objects, or one for each
    #[arg(long, value_delimiter = ',', value_enum)]
    keys: Vec<Keys>,
    /// Only rows whose name matches one of these patterns, as in 'ipsec-mb *,millstream *'
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    rows: Vec<String>,
    /// Number of turns of each row in each cell
    #[arg(long, value_name = "N", default_value_t = 51, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of each row in each cell
    #[arg(long, value_name = "S", default_value_t = 0.015)]
    seconds: f64,
    /// Begin each object that many bytes after a cache line's beginning
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..64))]
    offset: u16,
    /// Take features from our kernels, as in '-avx512f'; MILLSTREAM_HWCAP does the same
    #[arg(long, value_name = "MASK", allow_hyphen_values = true)]
    features: Option<String>,
    /// Compare the results of all rows and time nothing
    #[arg(long, conflicts_with_all = ["json", "record", "plot", "rounds", "seconds", "crossover"])]
    check_only: bool,
    /// Measure only our lanes against one object after another, and report the number of objects from which
    /// they win
    #[arg(long, conflicts_with_all = ["record", "plot", "rows", "depth"])]
    crossover: bool,
    /// Write every figure to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
    /// Draw time over objects in flight for the main algorithms into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// List cases, their rows and peers, and stop
    #[arg(long)]
    list: bool,
}

/// Runs the measurement. Slowness is never an error; a wrong result always is.
///
/// # Errors
/// Names the row whose result was wrong, or the file that could not be read or written.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.recording.wanted()?;
    let features = arguments.features()?;
    let (sources, absent) = rows::sources(features, arguments.crossover);
    let versions = sources.iter().map(|source| source.version()).collect();
    let about = Circumstances::now(features, versions, absent);
    for line in about.lines() {
        println!("{line}");
    }
    println!();
    if arguments.list {
        arguments.list(&sources);
        return Ok(());
    }
    let cells = arguments.measure(&sources)?;
    if cells.is_empty() {
        return Err("nothing to measure: no case matches; --list shows them".to_owned());
    }
    if arguments.check_only {
        let compared: usize =
            cells.iter().map(|cell| cell.rows.len().saturating_sub(1) * cell.place.depth).sum();
        println!("{} cells; {compared} objects compared, all equal", cells.len());
        return Ok(());
    }
    let turns = cells.iter().filter_map(Cell::ours).map(measure::Measured::unsteadiness);
    let about = about.with_turns(turns.collect());
    about.warn();
    arguments.write_out(features, &about, &cells)
}

impl Arguments {
    fn features(&self) -> Result<Features, String> {
        match &self.features {
            None => Features::active().map_err(|e| e.to_string()),
            Some(mask) => {
                let mask: Mask = mask.parse().map_err(|e: millstream_cpu::MaskError| e.to_string())?;
                Ok(Features::hardware().masked(mask))
            }
        }
    }

    fn works(&self) -> Vec<Work> {
        let mut all = Work::all();
        all.retain(|work| glob::any(&self.algorithms, &work.name()));
        all
    }

    fn effort(&self) -> Effort {
        Effort { rounds: self.rounds, seconds: self.seconds }
    }

    /// Returns the first of two lists unless it is empty.
    fn or<T: Clone>(asked: &[T], otherwise: &[T]) -> Vec<T> {
        if asked.is_empty() { otherwise.to_vec() } else { asked.to_vec() }
    }

    fn places(&self, work: Work) -> Vec<Vec<Place>> {
        let sizes = Self::or(&self.sizes, if self.check_only { &CHECKED_SIZES } else { &SIZES });
        let depths = match (self.crossover, self.check_only) {
            (true, _) => crossover::DEPTHS.to_vec(),
            (_, true) => Self::or(&self.depth, &CHECKED_DEPTHS),
            _ => Self::or(&self.depth, &DEPTHS),
        };
        let both = [Keys::Same, Keys::Different];
        let mut keys = Self::or(&self.keys, if self.check_only { &both } else { &both[..1] });
        if !work.has_key() {
            keys = vec![Keys::Same];
        }
        let taken = |sizes: &Sizes| sizes.of(12).into_iter().all(|len| work.takes(len));
        let sizes: Vec<Sizes> = sizes.into_iter().filter(taken).collect();
        let mut tables = Vec::new();
        for &keys in &keys {
            for &depth in &depths {
                tables.push(sizes.iter().map(|&sizes| Place { work, sizes, depth, keys }).collect());
            }
        }
        tables
    }

    /// Measures every case, printing each table when it is done.
    fn measure(&self, sources: &[Box<dyn Rows>]) -> Result<Vec<Cell>, String> {
        let works = self.works();
        let effort = (!self.check_only).then(|| self.effort());
        let wanted =
            |row: &Row| glob::any(&self.rows, &row.name()) && (!self.crossover || row.family == OURS);
        let mut cells = Vec::new();
        for (done, &work) in works.iter().enumerate() {
            let of_work = cells.len();
            for table in self.places(work) {
                let first = cells.len();
                for place in table {
                    let Place { sizes, depth, .. } = place;
                    let what = format!("{} bytes, {depth} in flight", sizes);
                    crate::progress(&format!("{} of {}: {}, {what}", done + 1, works.len(), work.name()));
                    let cell = measure::cell(place, sources, wanted, self.offset.into(), effort)?;
                    if !cell.rows.is_empty() {
                        cells.push(cell);
                    }
                }
                crate::progress("");
                if effort.is_some() && !self.crossover && cells.len() > first {
                    println!("{}", report::table(&cells[first..]));
                }
            }
            if self.crossover && cells.len() > of_work {
                println!("{}", crossover::table(&cells[of_work..]));
            }
        }
        Ok(cells)
    }

    fn list(&self, sources: &[Box<dyn Rows>]) {
        for work in self.works() {
            let place = Place { work, sizes: Sizes::Equal(64), depth: 64, keys: Keys::Same };
            println!("{}", work.name());
            for row in sources.iter().flat_map(|source| source.rows(&place)) {
                println!("    {:<24}{}", row.name(), row.call);
            }
        }
    }

    fn write_out(&self, features: Features, about: &Circumstances, cells: &[Cell]) -> Result<(), String> {
        let judged = Judged {
            verdicts: targets::verdicts(cells),
            fixed: Fixed::measure(features, cells, self.effort()),
        };
        if !self.crossover {
            print!("{}", report::judged(&judged));
        }
        let value = record::json(about, self.effort(), cells, &judged);
        let json = serde_json::to_string_pretty(&value).expect("values without odd keys") + "\n";
        if let Some(path) = &self.json {
            std::fs::write(path, &json).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        if let Some(path) = &self.plot {
            plot::draw(path, cells, &about.caption())?;
        }
        if self.recording.wanted()? {
            let same = |a: &Cell, b: &Cell| {
                let (a, b) = (&a.place, &b.place);
                a.work == b.work && a.depth == b.depth && a.keys == b.keys
            };
            let tables: Vec<&[Cell]> = cells.chunk_by(same).collect();
            let markdown = record::markdown(about, self.effort(), &tables, &judged);
            let stem = format!("{}-many{}", about.stem(), self.tier());
            let picture = PathBuf::from(FOLDER).join(format!("{stem}.svg"));
            for path in write(FOLDER.as_ref(), &stem, &[("json", json), ("md", markdown)])? {
                println!("recorded in {}", path.display());
            }
            match plot::draw(&picture, cells, &about.caption()) {
                Ok(()) => println!("drawn in {}", picture.display()),
                Err(why) => println!("no picture: {why}"),
            }
        }
        Ok(())
    }

    /// Returns the part of a record's name for masked features, such as `-without-avx512f`.
    fn tier(&self) -> String {
        let Some(mask) = &self.features else { return String::new() };
        let words: Vec<&str> = mask.split(['-', ' ', ',']).filter(|word| !word.is_empty()).collect();
        if words.is_empty() { String::new() } else { format!("-without-{}", words.join("-")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_agrees_on_every_object() {
        let (sources, absent) = rows::sources(Features::hardware(), false);
        for line in absent {
            println!("absent: {line}");
        }
        let mut compared = 0;
        for work in Work::all() {
            for keys in [Keys::Same, Keys::Different] {
                for (sizes, depth) in [(Sizes::Equal(48), 5), (Sizes::Imix, 33)] {
                    let place = Place { work, sizes, depth, keys };
                    let cell = measure::cell(place, &sources, |_| true, 1, None).unwrap();
                    assert!(
                        cell.ours().is_some() || work == Work::Null,
                        "{} has no row of ours",
                        work.name()
                    );
                    compared += cell.rows.len().saturating_sub(1) * depth;
                }
            }
        }
        println!("{compared} objects compared");
        assert!(compared > 4000, "only {compared} objects were compared");
    }
}
