//! The rows: each way of putting many objects through Millstream or a peer.

mod batch;
#[cfg(ipsec_mb)]
mod ipsec_mb;
mod isal;
mod lanes;
mod openssl;
pub mod ours;
mod queue;

use std::hint::black_box;

use lanes::Path;
use millstream_cpu::Features;
use millstream_engines::Crossover;

use super::objects::{Object, Objects, Tag};
use super::work::{Keys, Sizes, Work};
use crate::measure::OURS;
use crate::peers;

/// A way of processing all objects in flight.
pub trait Run {
    /// Processes every object `times` times. Objects may be taken up again before others have
    /// ended, where a queue works that way; when this returns, all have ended.
    fn batch(&mut self, objects: &mut Objects<'_>, times: u32);

    /// Takes the objects' data, where the row has memory of its own for it. Not timed.
    fn load(&mut self, _objects: &Objects<'_>) {}

    /// Gives back what they have become. Not timed.
    fn store(&self, _objects: &mut Objects<'_>) {}
}

/// Closures process all objects once.
impl<F: FnMut(&mut Objects<'_>)> Run for F {
    fn batch(&mut self, objects: &mut Objects<'_>, times: u32) {
        for _ in 0..times {
            self(black_box(&mut *objects));
        }
        black_box(objects);
    }
}

/// One line of a cell.
pub struct Row {
    /// Millstream or the peer, as in `ipsec-mb`: its best row counts.
    pub family: &'static str,
    /// The way: `direct`, `lanes`, `job`, `burst` ...
    pub way: &'static str,
    /// The kernel or the call.
    pub call: String,
    /// Of lanes, from how many objects on they are used.
    pub crossover: Option<Crossover>,
    pub run: Box<dyn Run>,
}

impl Row {
    pub fn new(
        family: &'static str,
        way: &'static str,
        call: impl Into<String>,
        run: impl Run + 'static,
    ) -> Row {
        Row { family, way, call: call.into(), crossover: None, run: Box::new(run) }
    }

    /// One object after another.
    pub fn each(
        family: &'static str,
        way: &'static str,
        call: impl Into<String>,
        mut one: impl FnMut(&mut Object<'_>, &mut Tag) + 'static,
    ) -> Row {
        Row::new(family, way, call, move |objects: &mut Objects<'_>| {
            for (object, tag) in objects.list.iter_mut().zip(&mut objects.tags) {
                one(object, tag);
            }
        })
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.family, self.way)
    }
}

/// What is the same for all rows of a cell.
#[derive(Clone, Copy)]
pub struct Cell {
    pub work: Work,
    pub sizes: Sizes,
    pub depth: usize,
    pub keys: Keys,
}

impl Cell {
    /// A value made from each key.
    pub fn each_key<T>(&self, make: impl FnMut(usize) -> T) -> Vec<T> {
        (0..self.keys.count(self.depth)).map(make).collect()
    }
}

/// Makes rows for a cell.
pub trait Rows {
    /// The family and exactly which one was measured.
    fn version(&self) -> (String, String);
    /// Its rows for a cell: none where it lacks the algorithm.
    fn rows(&self, cell: &Cell) -> Vec<Row>;
}

/// Every source of rows that is there, ours first, and one line for each that is not.
///
/// For finding crossovers, our only rows are the lane managers, as they are and one by one.
pub fn sources(features: Features, crossover: bool) -> (Vec<Box<dyn Rows>>, Vec<String>) {
    let mut present: Vec<Box<dyn Rows>> = vec![Box::new(Ours { features, crossover })];
    let mut absent = Vec::new();
    let mut add = |found: Result<Box<dyn Rows>, String>| match found {
        Ok(source) => present.push(source),
        Err(why) => absent.push(why),
    };
    #[cfg(ipsec_mb)]
    add(ipsec_mb::load());
    #[cfg(not(ipsec_mb))]
    add(Err(concat!("ipsec-mb: ", env!("IPSEC_MB_ABSENT")).to_owned()));
    add(isal::load());
    add(peers::openssl::system().map(|library| Box::new(library) as Box<dyn Rows>));
    add(peers::openssl::built().map(|library| Box::new(library) as Box<dyn Rows>));
    (present, absent)
}

/// Millstream.
struct Ours {
    features: Features,
    crossover: bool,
}

impl Rows for Ours {
    fn version(&self) -> (String, String) {
        (OURS.to_owned(), env!("CARGO_PKG_VERSION").to_owned())
    }

    fn rows(&self, cell: &Cell) -> Vec<Row> {
        let features = self.features;
        let lanes = |path| lanes::row(cell, lanes::Choice { features, path });
        let rows = if self.crossover {
            [lanes(Path::OneByOne), lanes(Path::Best), None, None]
        } else {
            let (batch, queue) = (batch::row(cell, features), queue::row(cell, features));
            [ours::row(cell, features), lanes(Path::Best), batch, queue]
        };
        rows.into_iter().flatten().collect()
    }
}
