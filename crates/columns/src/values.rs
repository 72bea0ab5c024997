//! The values of a column as spans of bytes, whatever its layout.
//!
//! Ref. the Arrow columnar format, version 1.5: variable-size binary, views, fixed-size binary, dictionaries.

use std::ops::Range;

use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use crate::error::{Error, Fault};

/// A column's values, which borrow its buffers.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    layout: Layout<'a>,
    /// The rows without a value.
    pub(crate) nulls: Option<NullBuffer>,
    pub(crate) len: usize,
    /// True if the results get offsets of 64 bits: the column has them, or none that tell.
    pub(crate) large: bool,
}

#[derive(Debug)]
enum Layout<'a> {
    Offsets32 {
        offsets: &'a [i32],
        bytes: &'a [u8],
    },
    Offsets64 {
        offsets: &'a [i64],
        bytes: &'a [u8],
    },
    Fixed {
        width: usize,
        bytes: &'a [u8],
    },
    /// Views of 16 bytes.
    Views {
        views: &'a [u8],
        buffers: &'a [Buffer],
    },
    /// For each row its place in a dictionary.
    Dictionary {
        places: Vec<u32>,
        values: Box<Values<'a>>,
    },
}

impl<'a> Values<'a> {
    /// Returns the values of a column, which `column` names in errors.
    ///
    /// # Errors
    /// [`Error::Type`].
    pub(crate) fn new(name: &'static str, column: &'a ArrayData) -> Result<Self, Error> {
        let (first, len) = (column.offset(), column.len());
        let mut nulls = column.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let (layout, large) = match column.data_type() {
            // An empty column may have no offsets at all.
            DataType::Utf8 | DataType::Binary if len == 0 => (Layout::Fixed { width: 0, bytes: &[] }, false),
            DataType::LargeUtf8 | DataType::LargeBinary if len == 0 => {
                (Layout::Fixed { width: 0, bytes: &[] }, true)
            }
            DataType::Utf8 | DataType::Binary => {
                let offsets = &column.buffers()[0].typed_data()[first..=first + len];
                (Layout::Offsets32 { offsets, bytes: &column.buffers()[1] }, false)
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                let offsets = &column.buffers()[0].typed_data()[first..=first + len];
                (Layout::Offsets64 { offsets, bytes: &column.buffers()[1] }, true)
            }
            DataType::FixedSizeBinary(width) => {
                let width = width.as_usize();
                let bytes = &column.buffers()[0][first * width..(first + len) * width];
                (Layout::Fixed { width, bytes }, false)
            }
            DataType::Utf8View | DataType::BinaryView => {
                let views = &column.buffers()[0][16 * first..16 * (first + len)];
                (Layout::Views { views, buffers: &column.buffers()[1..] }, true)
            }
            DataType::Dictionary(..) => {
                let values = Values::new(name, &column.child_data()[0])?;
                let places = places(column)?;
                if values.nulls.is_some() {
                    nulls = Some(nulls_of_both(&places, nulls.as_ref(), values.nulls.as_ref()));
                }
                let large = values.large;
                (Layout::Dictionary { places, values: Box::new(values) }, large)
            }
            other => return Err(Error::Type { column: name, given: other.clone() }),
        };
        Ok(Values { layout, nulls, len, large })
    }

    /// Returns true if the row has a value.
    #[inline]
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    }

    /// Returns the bytes of a row. A row without a value has any bytes or none.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> &'a [u8] {
        match &self.layout {
            Layout::Offsets32 { offsets, bytes } => {
                &bytes[offsets[row].as_usize()..offsets[row + 1].as_usize()]
            }
            Layout::Offsets64 { offsets, bytes } => {
                &bytes[offsets[row].as_usize()..offsets[row + 1].as_usize()]
            }
            Layout::Fixed { width, bytes } => &bytes[row * width..(row + 1) * width],
            Layout::Views { views, buffers } => view(&views[16 * row..][..16], buffers),
            Layout::Dictionary { places, values } => {
                // A row without a value may have any place.
                let place = places[row] as usize;
                if place < values.len { values.get(place) } else { &[] }
            }
        }
    }

    /// Returns the bytes of all rows in a range, where the layout tells that without looking at each.
    pub(crate) fn bytes(&self, rows: Range<usize>) -> Option<usize> {
        match &self.layout {
            Layout::Offsets32 { offsets, .. } => Some((offsets[rows.end] - offsets[rows.start]).as_usize()),
            Layout::Offsets64 { offsets, .. } => Some((offsets[rows.end] - offsets[rows.start]).as_usize()),
            Layout::Fixed { width, .. } => Some(rows.len() * width),
            Layout::Views { .. } | Layout::Dictionary { .. } => None,
        }
    }

    /// Returns the bytes of a row that belongs to a row of another column, which has a value.
    pub(crate) fn beside(&self, name: &'static str, row: usize) -> Result<&'a [u8], Fault> {
        if self.is_valid(row) { Ok(self.get(row)) } else { Err(Fault::Null { column: name }) }
    }
}

/// Returns the place in the dictionary of each row. A row without a value may have any.
pub(crate) fn places(column: &ArrayData) -> Result<Vec<u32>, Error> {
    let DataType::Dictionary(keys, _) = column.data_type() else {
        return Err(Error::malformed("places are asked of a column that is no dictionary"));
    };
    fn read<T: ArrowNativeType>(column: &ArrayData, place: impl Fn(T) -> u32) -> Vec<u32> {
        let keys = &column.buffers()[0].typed_data::<T>()[column.offset()..][..column.len()];
        keys.iter().map(|key| place(*key)).collect()
    }
    Ok(match **keys {
        DataType::Int8 => read(column, |key: i8| key as u32),
        DataType::Int16 => read(column, |key: i16| key as u32),
        DataType::Int32 => read(column, |key: i32| key as u32),
        DataType::Int64 => read(column, |key: i64| u32::try_from(key).unwrap_or(u32::MAX)),
        DataType::UInt8 => read(column, |key: u8| key.into()),
        DataType::UInt16 => read(column, |key: u16| key.into()),
        DataType::UInt32 => read(column, |key: u32| key),
        DataType::UInt64 => read(column, |key: u64| u32::try_from(key).unwrap_or(u32::MAX)),
        ref other => return Err(Error::Type { column: "the keys of a dictionary", given: other.clone() }),
    })
}

/// Returns the rows without a value: those without a place, and those at a place without a value.
fn nulls_of_both(places: &[u32], rows: Option<&NullBuffer>, values: Option<&NullBuffer>) -> NullBuffer {
    let valid = places.iter().enumerate().map(|(row, place)| {
        rows.is_none_or(|rows| rows.is_valid(row))
            && values.is_none_or(|values| values.is_valid(*place as usize))
    });
    valid.collect::<Vec<bool>>().into()
}

/// Returns the bytes that a view leads to: its own last twelve, or a span of a buffer.
#[inline]
fn view<'a>(view: &'a [u8], buffers: &'a [Buffer]) -> &'a [u8] {
    let word = |at: usize| u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
    let len = word(0);
    if len <= 12 { &view[4..4 + len] } else { &buffers[word(8)].as_slice()[word(12)..][..len] }
}

/// A value that goes with each value of a column: associated data, a tweak, or a nonce.
#[derive(Clone, Copy, Debug, Default)]
pub enum Parameter<'a> {
    /// No such value.
    #[default]
    None,
    /// The same bytes for every row.
    Constant(&'a [u8]),
    /// The bytes of the same row of another column of the same length.
    Column(&'a ArrayData),
}

/// A [`Parameter`] with its values at hand.
#[derive(Debug)]
pub(crate) enum Beside<'a> {
    None,
    Constant(&'a [u8]),
    Column(Values<'a>),
}

impl<'a> Parameter<'a> {
    /// Returns the values for a column of `len` rows.
    pub(crate) fn values(self, name: &'static str, len: usize) -> Result<Beside<'a>, Error> {
        Ok(match self {
            Parameter::None => Beside::None,
            Parameter::Constant(bytes) => Beside::Constant(bytes),
            Parameter::Column(column) if column.len() != len => {
                return Err(Error::Length { column: name, given: column.len(), needed: len });
            }
            Parameter::Column(column) => Beside::Column(Values::new(name, column)?),
        })
    }

    /// Returns true if every row has the same value.
    pub(crate) fn is_constant(self) -> bool {
        !matches!(self, Parameter::Column(_))
    }
}

impl<'a> Beside<'a> {
    /// Returns the bytes for a row, if there are any.
    #[inline]
    pub(crate) fn get(&self, name: &'static str, row: usize) -> Result<Option<&'a [u8]>, Fault> {
        match self {
            Beside::None => Ok(None),
            Beside::Constant(bytes) => Ok(Some(bytes)),
            Beside::Column(values) => values.beside(name, row).map(Some),
        }
    }
}
