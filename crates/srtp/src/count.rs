//! Counting of packets in the file that `millstream run` reads.

use std::path::Path;
use std::sync::OnceLock;

use millstream::tally::{Place, Row, Tally};

/// The environment variable that names the file.
const VARIABLE: &str = "MILLSTREAM_TALLY";

/// The counter of an algorithm, which counts nothing where no file is named.
pub struct Counter(Option<Row>);

impl Counter {
    /// Finds the counter of an algorithm and kernel.
    pub fn new(algorithm: &str, kernel: &str) -> Self {
        static TALLY: OnceLock<Option<Tally>> = OnceLock::new();
        // A program whose packets can't be counted goes on without.
        let open = || Tally::open(Path::new(&std::env::var_os(VARIABLE)?)).ok();
        Counter(TALLY.get_or_init(open).map(|tally| tally.row(Place::InProcess, algorithm, kernel)))
    }

    /// Counts a packet of so many bytes.
    #[inline]
    pub fn add(&self, bytes: usize) {
        if let Some(row) = &self.0 {
            row.add(1, bytes as u64);
        }
    }
}
