//! A context's work: counted in the context, and added to the process's rows now and then.

use std::sync::{Arc, OnceLock};

use millstream::tally::{Place, Row, Tally};

use crate::provider::Provider;

/// The number of operations after which they are added to the row.
const OPERATIONS: u64 = 64;

/// The number of bytes after which they are added. Adding costs nothing beside the time that they take, and nobody sees
/// counts that a context has not added.
const BYTES: u64 = 4096;

/// The rows of an algorithm, each found once.
pub struct Rows([OnceLock<Row>; 2]);

impl Rows {
    pub const fn new() -> Self {
        Rows([OnceLock::new(), OnceLock::new()])
    }

    /// Returns the row for a place. An algorithm has one kernel there as long as the process lives.
    pub fn row(&self, provider: Provider, place: Place, algorithm: &str, kernel: &str) -> Row {
        let found = &self.0[matches!(place, Place::Isolated) as usize];
        *found.get_or_init(|| tally(provider).row(place, algorithm, kernel))
    }
}

/// Opens the configured file now.
pub fn open(provider: Provider) {
    tally(provider);
}

/// Returns the file in which this process counts: the configured one if it can be opened, else one of its own.
fn tally(provider: Provider) -> &'static Tally {
    static TALLY: OnceLock<Arc<Tally>> = OnceLock::new();
    TALLY.get_or_init(|| {
        let file = provider.configuration().tally.as_deref();
        let opened = file.and_then(|path| Tally::open(path).ok());
        Arc::new(opened.unwrap_or_else(Tally::private))
    })
}

/// A context's own counters.
#[derive(Default)]
pub struct Count {
    row: Option<Row>,
    operations: u64,
    bytes: u64,
}

impl Count {
    /// Counts in that row from now on.
    pub fn bind(&mut self, row: Row) {
        self.flush();
        self.row = Some(row);
    }

    /// Counts one more operation of so many bytes.
    #[inline]
    pub fn add(&mut self, bytes: usize) {
        self.operations += 1;
        self.bytes += bytes as u64;
        if self.operations >= OPERATIONS || self.bytes >= BYTES {
            self.flush();
        }
    }

    /// Counts bytes of an operation that goes on.
    #[inline]
    pub fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.bytes >= BYTES {
            self.flush();
        }
    }

    /// Adds the counts to the row.
    #[cold]
    pub fn flush(&mut self) {
        if let Some(row) = self.row
            && self.operations + self.bytes > 0
        {
            row.add(self.operations, self.bytes);
        }
        self.operations = 0;
        self.bytes = 0;
    }
}

/// A copy begins with no counts of its own.
impl Clone for Count {
    fn clone(&self) -> Self {
        Count { row: self.row, operations: 0, bytes: 0 }
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.flush();
    }
}
