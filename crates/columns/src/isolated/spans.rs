//! Results whose lengths only making them tells, in any order of rows.

use std::ops::Range;

use arrow_data::ArrayData;
use zeroize::Zeroizing;

use crate::error::{Error, Fault};
use crate::results::{Content, Offsets, with_failed};
use crate::spread::Failures;
use crate::values::Values;

/// The results of rows, as they come. Zeroised on drop.
pub(super) struct Spans {
    bytes: Zeroizing<Vec<u8>>,
    rows: Vec<Range<usize>>,
}

impl Spans {
    pub(super) fn new(rows: usize) -> Self {
        Spans { bytes: Zeroizing::new(Vec::new()), rows: vec![0..0; rows] }
    }

    /// Keeps the result of a row.
    pub(super) fn put(&mut self, row: usize, value: &[u8]) {
        let begin = self.bytes.len();
        if self.bytes.capacity() - begin < value.len() {
            // A list that grew would leave a copy where it was.
            let mut larger = Zeroizing::new(Vec::with_capacity(2 * self.bytes.capacity() + value.len()));
            larger.extend_from_slice(&self.bytes);
            self.bytes = larger;
        }
        self.bytes.extend_from_slice(value);
        self.rows[row] = begin..self.bytes.len();
    }

    /// Returns the results as a column, where rows that failed are null.
    pub(super) fn column(
        self,
        values: &Values<'_>,
        content: Content,
        failures: Failures,
    ) -> Result<(ArrayData, Vec<(usize, Fault)>), Error> {
        let failed = failures.finish()?;
        let nulls = with_failed(values.nulls.clone(), values.len, &failed);
        let offsets = Offsets::new(self.rows.iter().map(Range::len), values.large)?;
        let mut out = Vec::with_capacity(self.bytes.len());
        self.rows.iter().for_each(|row| out.extend_from_slice(&self.bytes[row.clone()]));
        Ok((offsets.column(content, out, nulls)?, failed))
    }
}
