//! The columns that calls return: their buffers, and the parts of them that tasks fill.
//!
//! # Safety
//! A column of spans is built without Arrow's checks, which look at each value and take a tenth of the time of sealing it, on one thread.
//! The offsets are sums of lengths, so they rise and end with the bytes. Text is what this crate has encoded, or was
//! looked at value by value before it was noted as opened. Tests build with assertions, and have all of it checked.
#![allow(unsafe_code)]

use std::ops::Range;

use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use zeroize::optimization_barrier;

use crate::error::{Error, Fault};
use crate::room;
use crate::spread::cut;
use crate::values::Values;

/// The content of a column of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Binary,
    Text,
}

/// The offsets of a column of spans.
#[derive(Debug)]
pub(crate) enum Offsets {
    Small(Vec<i32>),
    Large(Vec<i64>),
}

impl Offsets {
    /// Returns offsets for values of the lengths given, in order.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn new(lengths: impl ExactSizeIterator<Item = usize>, large: bool) -> Result<Self, Error> {
        Offsets::of(lengths.len(), lengths, large)
    }

    /// Returns offsets for `count` values.
    fn of(count: usize, lengths: impl Iterator<Item = usize>, large: bool) -> Result<Self, Error> {
        let mut end = 0usize;
        if large {
            let mut offsets = room::with_capacity(count + 1);
            offsets.push(0);
            for len in lengths {
                end = end.saturating_add(len);
                offsets.push(end as i64);
            }
            return Ok(Offsets::Large(offsets));
        }
        let mut offsets = room::with_capacity(count + 1);
        offsets.push(0);
        for len in lengths {
            end = end.saturating_add(len);
            offsets.push(end as i32);
        }
        match i32::try_from(end) {
            Ok(_) => Ok(Offsets::Small(offsets)),
            Err(_) => Err(Error::TooLarge { bytes: end as u64 }),
        }
    }

    /// Returns where the value of a row begins, or where the last one ends.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> usize {
        match self {
            Offsets::Small(offsets) => offsets[row] as usize,
            Offsets::Large(offsets) => offsets[row] as usize,
        }
    }

    fn len(&self) -> usize {
        match self {
            Offsets::Small(offsets) => offsets.len(),
            Offsets::Large(offsets) => offsets.len(),
        }
    }

    /// Returns room for all values, filled with zeros.
    pub(crate) fn room(&self) -> Vec<u8> {
        room::zeros(self.get(self.len() - 1))
    }

    /// Splits the room for all values into those of each task.
    pub(crate) fn split<'o>(
        &self,
        values: &Values<'_>,
        mut out: &'o mut [u8],
    ) -> Vec<(Range<usize>, &'o mut [u8])> {
        let parts = cut(values).into_iter().map(|rows| {
            let len = self.get(rows.end) - self.get(rows.start);
            let (part, rest) = std::mem::take(&mut out).split_at_mut(len);
            out = rest;
            (rows, part)
        });
        parts.collect()
    }

    /// Returns the column of these spans of `bytes`.
    pub(crate) fn column(
        self,
        content: Content,
        bytes: Vec<u8>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayData, Error> {
        let len = self.len() - 1;
        let (offsets, kind) = match (self, content) {
            (Offsets::Small(offsets), Content::Binary) => (Buffer::from(offsets), DataType::Binary),
            (Offsets::Small(offsets), Content::Text) => (Buffer::from(offsets), DataType::Utf8),
            (Offsets::Large(offsets), Content::Binary) => (Buffer::from(offsets), DataType::LargeBinary),
            (Offsets::Large(offsets), Content::Text) => (Buffer::from(offsets), DataType::LargeUtf8),
        };
        let column = ArrayData::builder(kind).len(len).nulls(nulls).add_buffer(offsets);
        // SAFETY: the bytes are of these offsets, and text if the content is, as is said above.
        let column = unsafe { column.add_buffer(Buffer::from(bytes)).skip_validation(true).build()? };
        column.validate()?;
        debug_assert!(column.validate_full().is_ok(), "spans are as Arrow has them");
        Ok(column)
    }
}

/// Returns the column of values of `width` bytes each.
pub(crate) fn fixed(width: usize, bytes: Vec<u8>, nulls: Option<NullBuffer>) -> Result<ArrayData, Error> {
    let len = bytes.len() / width;
    let column = ArrayData::builder(DataType::FixedSizeBinary(width as i32)).len(len).nulls(nulls);
    Ok(column.add_buffer(Buffer::from(bytes)).build()?)
}

/// Returns the column with the places of `keys`, a dictionary, and with other values.
pub(crate) fn with_values(keys: &ArrayData, values: ArrayData) -> Result<ArrayData, Error> {
    let DataType::Dictionary(kind, _) = keys.data_type() else {
        return Err(Error::malformed("a dictionary's keys are asked of a column that is none"));
    };
    let kind = DataType::Dictionary(kind.clone(), Box::new(values.data_type().clone()));
    let builder = keys.clone().into_builder().data_type(kind);
    Ok(builder.child_data(vec![values]).build()?)
}

/// Returns the rows without a value after some have failed.
pub(crate) fn with_failed(
    nulls: Option<NullBuffer>,
    len: usize,
    failed: &[(usize, Fault)],
) -> Option<NullBuffer> {
    if failed.is_empty() {
        return nulls;
    }
    let mut valid = match nulls {
        Some(nulls) => nulls.iter().collect(),
        None => vec![true; len],
    };
    for (row, _) in failed {
        valid[*row] = false;
    }
    Some(valid.into())
}

/// The values of a task, whose lengths are known only when they are made. Zeroised on drop, as they may be plaintexts of a call that
/// fails.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) bytes: Vec<u8>,
    /// The length of each row's value.
    pub(crate) lengths: Vec<usize>,
}

impl Collected {
    /// Makes room for so many values of so many bytes, so that their bytes are written in one place only.
    pub(crate) fn reserve(&mut self, rows: usize, bytes: usize) {
        self.bytes.reserve(bytes);
        self.lengths.reserve(rows);
    }

    /// Appends the value of the next row.
    pub(crate) fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.lengths.push(value.len());
    }

    /// Puts the values of all tasks together.
    pub(crate) fn column(
        parts: Vec<Collected>,
        content: Content,
        large: bool,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayData, Error> {
        let count = parts.iter().map(|part| part.lengths.len()).sum();
        let lengths = parts.iter().flat_map(|part| part.lengths.iter().copied());
        let offsets = Offsets::of(count, lengths, large)?;
        let mut bytes = room::with_capacity(offsets.get(offsets.len() - 1));
        for part in parts {
            bytes.extend_from_slice(&part.bytes);
        }
        offsets.column(content, bytes, nulls)
    }
}

impl Drop for Collected {
    fn drop(&mut self) {
        // Volatile stores would go byte by byte.
        self.bytes.clear();
        self.bytes.resize(self.bytes.capacity(), 0);
        optimization_barrier(&self.bytes[..]);
    }
}
