//! The provider's counts.

use std::fmt;
use std::path::Path;

use millstream::tally::{Counted, Place, Tally};

/// Rows of a tally.
#[derive(Clone)]
pub struct Counters(Vec<Counted>);

impl Counters {
    /// Reads a tally.
    #[track_caller]
    pub fn read(path: &Path) -> Counters {
        Counters(Tally::open(path).unwrap_or_else(|e| panic!("{e}")).read())
    }

    /// Returns the operations and bytes of an algorithm, in the process and isolated. A `*` in its name
    /// stands for anything.
    pub fn of(&self, algorithm: &str) -> (u64, u64) {
        self.sum(|row| matches(&row.algorithm, algorithm))
    }

    /// Returns the operations and bytes that workers computed.
    pub fn isolated(&self) -> (u64, u64) {
        self.sum(|row| matches!(row.place, Place::Isolated))
    }

    fn sum(&self, of: impl Fn(&Counted) -> bool) -> (u64, u64) {
        let rows = self.0.iter().filter(|row| of(row));
        rows.fold((0, 0), |(operations, bytes), row| (operations + row.operations, bytes + row.bytes))
    }

    /// Requires at least so many operations and bytes of an algorithm.
    #[track_caller]
    pub fn require(&self, algorithm: &str, operations: u64, bytes: u64) -> &Counters {
        let counted = self.of(algorithm);
        assert!(
            counted.0 >= operations && counted.1 >= bytes,
            "{algorithm}: {counted:?} where {operations} operations of {bytes} bytes are due, of\n{self}"
        );
        self
    }

    /// Requires that a worker computed at least so much.
    #[track_caller]
    pub fn require_isolated(&self, algorithm: &str, operations: u64, bytes: u64) -> &Counters {
        let only = self.0.iter().filter(|row| matches!(row.place, Place::Isolated)).cloned().collect();
        Counters(only).require(algorithm, operations, bytes);
        self
    }

    /// Does the same for operations with keys in the process.
    #[track_caller]
    pub fn require_local(&self, algorithm: &str, operations: u64, bytes: u64) -> &Counters {
        let only = self.0.iter().filter(|row| matches!(row.place, Place::InProcess)).cloned().collect();
        Counters(only).require(algorithm, operations, bytes);
        self
    }

    /// Requires that nothing was counted.
    #[track_caller]
    pub fn require_none(&self) {
        assert!(self.0.is_empty(), "nothing should be counted:\n{self}");
    }
}

/// Returns true when a name is the wanted one, in which a `*` stands for anything.
fn matches(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (name.to_ascii_lowercase(), wanted.to_ascii_lowercase());
    let mut pieces = wanted.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
        last = Some(piece);
    }
    last.map_or(rest.is_empty(), |piece| piece.is_empty() || name.ends_with(piece))
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Counted { place, algorithm, kernel, operations, bytes } in &self.0 {
            writeln!(f, "    {place:?} {algorithm} {kernel}: {operations} operations, {bytes} bytes")?;
        }
        Ok(())
    }
}
