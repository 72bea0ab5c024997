//! Columns of values at hand, and the values of columns: for callers without arrays of Arrow's.

use arrow_data::ArrayData;

use crate::error::Error;
use crate::results::{Content, Offsets};
use crate::values::Values;

/// Returns a column of these values, as Utf8 if they are text and otherwise as Binary, or the same with large offsets where they have
/// 2 GiB and more.
///
/// ```
/// use millstream_columns::{from_values, values};
///
/// let column = from_values(&[Some(b"a value"), None], false)?;
/// assert_eq!(values(&column)?, [Some(&b"a value"[..]), None]);
/// # Ok::<(), millstream_columns::Error>(())
/// ```
///
/// # Errors
/// [`Error::Malformed`] for text that is not UTF-8.
pub fn from_values(values: &[Option<&[u8]>], text: bool) -> Result<ArrayData, Error> {
    let lengths = values.iter().map(|value| value.map_or(0, <[u8]>::len));
    let large = lengths.clone().sum::<usize>() > i32::MAX as usize;
    let offsets = Offsets::new(lengths, large)?;
    let bytes = values.iter().flatten().copied().collect::<Vec<_>>().concat();
    let valid = values.iter().map(Option::is_some).collect::<Vec<bool>>();
    let nulls = valid.contains(&false).then(|| valid.into());
    offsets.column(if text { Content::Text } else { Content::Binary }, bytes, nulls)
}

/// Returns the values of a column of text or binary, or of a dictionary of it.
///
/// # Errors
/// [`Error::Type`].
pub fn values(column: &ArrayData) -> Result<Vec<Option<&[u8]>>, Error> {
    let values = Values::new("the column", column)?;
    Ok((0..values.len).map(|row| values.is_valid(row).then(|| values.get(row))).collect())
}
