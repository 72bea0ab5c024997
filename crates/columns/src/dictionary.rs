//! Functions with equal results for equal values, over the values of a dictionary.

use std::collections::HashMap;

use arrow_data::ArrayData;
use arrow_schema::DataType;

use crate::error::{Error, Fault};
use crate::results::with_values;
use crate::spread::OnError;
use crate::values::places;

/// Returns `column` with the values of its dictionary made anew by `each`, which says which of them failed. A value that no row has
/// may fail.
///
/// # Errors
/// [`Error::Row`] for the first row whose value failed, unless failures become null.
pub(crate) fn over_dictionary(
    column: &ArrayData,
    on_error: OnError,
    each: impl FnOnce(&ArrayData) -> Result<(ArrayData, Vec<(usize, Fault)>), Error>,
) -> Result<ArrayData, Error> {
    let (values, failed) = each(&column.child_data()[0])?;
    if on_error == OnError::Fail && !failed.is_empty() {
        let failed: HashMap<usize, Fault> = failed.into_iter().collect();
        let places = places(column)?;
        for (row, place) in places.iter().enumerate().filter(|(row, _)| column.is_valid(*row)) {
            if let Some(fault) = failed.get(&(*place as usize)) {
                return Err(Error::Row { row: row as u64, fault: *fault });
            }
        }
    }
    with_values(column, values)
}

/// Returns true if the column is a dictionary.
pub(crate) fn is_dictionary(column: &ArrayData) -> bool {
    matches!(column.data_type(), DataType::Dictionary(..))
}
