//! What a context has done: counted in the context, and added to the process's rows now and then.

use std::sync::{Arc, OnceLock};

use millstream::tally::{Place, Row, Tally};

use crate::provider::Provider;

/// So many operations are added at once.
const OPERATIONS: u64 = 64;

/// Or so many bytes: beside the time that they take, to add them is nothing, and what a context has not added is not seen.
const BYTES: u64 = 4096;

/// The rows of an algorithm: found once.
pub struct Rows([OnceLock<Row>; 2]);

impl Rows {
    pub const fn new() -> Self {
        Rows([OnceLock::new(), OnceLock::new()])
    }

    /// The row for a place. An algorithm has one kernel there as long as the process lives.
    pub fn row(&self, provider: Provider, place: Place, algorithm: &str, kernel: &str) -> Row {
        let found = &self.0[matches!(place, Place::Isolated) as usize];
        *found.get_or_init(|| tally(provider).row(place, algorithm, kernel))
    }
}

/// Has the configured file open from here on.
pub fn open(provider: Provider) {
    tally(provider);
}

/// Where this process counts: the configured file if it can be had.
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
    /// Counts for that row from now on.
    pub fn bind(&mut self, row: Row) {
        self.flush();
        self.row = Some(row);
    }

    /// One more operation of so many bytes.
    #[inline]
    pub fn add(&mut self, bytes: usize) {
        self.operations += 1;
        self.bytes += bytes as u64;
        if self.operations >= OPERATIONS || self.bytes >= BYTES {
            self.flush();
        }
    }

    /// Bytes of an operation that goes on.
    #[inline]
    pub fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.bytes >= BYTES {
            self.flush();
        }
    }

    /// Adds what was counted to the row.
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

/// A copy has done nothing yet.
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
