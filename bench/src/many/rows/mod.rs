//! The rows: each way of putting many objects through Millstream or a peer.

mod batch;
#[cfg(ipsec_mb)]
mod ipsec_mb;
mod isal;
mod lanes;
mod openssl;
pub mod ours;
mod queue;
mod values;

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
    /// Processes every object `times` times. If a queue works that way, objects may be taken up again before
    /// others have ended. All have ended when this returns.
    fn batch(&mut self, objects: &mut Objects<'_>, times: u32);

    /// Takes the objects' data, if the row has memory of its own for it. This is not timed.
    fn load(&mut self, _objects: &Objects<'_>) {}

    /// Gives the results back. This is not timed.
    fn store(&self, _objects: &mut Objects<'_>) {}
}

/// A closure processes all objects once.
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
    /// Millstream or the peer, such as `ipsec-mb`. A family's best row counts.
    pub family: &'static str,
    /// The way: `direct`, `lanes`, `job`, `burst` ...
    pub way: &'static str,
    /// The kernel or the call.
    pub call: String,
    /// For lanes, the crossover from which they are used.
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

    /// Makes a row that processes one object after another.
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

/// The parameters that all rows of a cell share.
#[derive(Clone, Copy)]
pub struct Cell {
    pub work: Work,
    pub sizes: Sizes,
    pub depth: usize,
    pub keys: Keys,
}

impl Cell {
    /// Makes a value from each key.
    pub fn each_key<T>(&self, make: impl FnMut(usize) -> T) -> Vec<T> {
        (0..self.keys.count(self.depth)).map(make).collect()
    }
}

/// A source of rows.
pub trait Rows {
    /// Returns the family and the exact version that was measured.
    fn version(&self) -> (String, String);
    /// Returns its rows for a cell; none where it lacks the algorithm.
    fn rows(&self, cell: &Cell) -> Vec<Row>;
}

/// Returns every available source of rows, ours first, and a line for each that is missing.
///
/// To find crossovers, our only rows are the lane managers, as they are and one by one.
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
    add(Ok(Box::new(peers::rustcrypto::RustCrypto)));
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
