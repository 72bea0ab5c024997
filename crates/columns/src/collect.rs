//! The walk over a column whose results have lengths that only making them tells.

use std::ops::Range;
use std::sync::Mutex;

use arrow_data::ArrayData;

use crate::error::{Error, Fault};
use crate::results::{Collected, Content, with_failed};
use crate::spread::{Failures, OnError, cut, spread};
use crate::values::Values;

/// Makes the values of every task's rows, and puts them together. `work` appends a value, perhaps an empty one, for each row.
pub(crate) fn collect(
    values: &Values<'_>,
    on_error: OnError,
    content: Content,
    work: impl Fn(Range<usize>, &mut Collected, &Failures) + Sync,
) -> Result<(ArrayData, Vec<(usize, Fault)>), Error> {
    let failures = Failures::new(on_error);
    let tasks = cut(values);
    let parts: Vec<Mutex<Collected>> = tasks.iter().map(|_| Mutex::default()).collect();
    spread(tasks.into_iter().zip(&parts).collect(), |(rows, part)| {
        if !failures.are_before(rows.start) {
            let mut part = part.lock().expect("each task has a part of its own");
            part.reserve(rows.len(), values.bytes(rows.clone()).unwrap_or(0));
            work(rows, &mut part, &failures);
        }
    })?;
    let failed = failures.finish()?;
    let parts = parts.into_iter().map(|part| part.into_inner().expect("each task has ended"));
    let nulls = with_failed(values.nulls.clone(), values.len, &failed);
    Ok((Collected::column(parts.collect(), content, values.large, nulls)?, failed))
}
