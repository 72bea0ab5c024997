//! Many objects in one call.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

mod convert;
pub mod operation;

use millstream::Operation as Inner;

use self::convert::inner;
pub use self::operation::{Kind, KindCode, Operation};
use super::{Out, guard};
use crate::failure::Failure;
use crate::status::Status;

/// The number of operations that are executed at a time: as many as the widest lanes take.
const MANY: usize = 512;

/// Executes `count` operations; those of one kind go side by side wherever that pays. All are done on return, with
/// their `status`, and where there are `value` and `tag`, in place. Outputs and tags of an operation must not overlap
/// anything that another operation of the batch names: that is not checked. One list is allocated for
/// the call, and nothing for an operation unless it combines a cipher and an HMAC.
///
/// Returns MILLSTREAM_STATUS_OK when all succeeded, else the status of the first that did not; the others are executed all the
/// same. Fails with nothing executed with MILLSTREAM_STATUS_NULL (`operations`), MILLSTREAM_STATUS_SIZE,
/// MILLSTREAM_STATUS_FEATURES. An operation's `status` is what the function of its name fails with
/// (millstream_encrypt(), millstream_seal() ...), MILLSTREAM_STATUS_ARGUMENT (no such kind), or MILLSTREAM_STATUS_RESERVED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_batch(operations: *mut Operation, count: usize) -> Status {
    guard(|| {
        if operations.is_null() && count > 0 {
            return Err(Failure::Null("operations"));
        }
        if count > isize::MAX as usize / size_of::<Operation>() {
            return Err(Failure::Size("operations", count));
        }
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise; not NULL, and no longer than an object can be.
        let operations = unsafe { std::slice::from_raw_parts_mut(operations, count) };
        let (mut first, mut list) = (None, Vec::with_capacity(MANY.min(count)));
        for (i, chunk) in operations.chunks_mut(MANY).enumerate() {
            // SAFETY: the caller's promise for each operation.
            unsafe { run(chunk, i * MANY, &mut first, &mut list)? };
            list.clear();
        }
        first.map_or(Ok(()), |(place, failure)| Err(Failure::Operation(place, Box::new(failure))))
    })
}

/// Makes a list of operations from those of C, executes it, and takes the results over. `first` receives the first
/// failure and its place.
///
/// # Safety
/// What the operations name is valid for `'a`, as the caller promised, and the list is gone after it.
#[inline(always)]
unsafe fn run<'a>(
    operations: &mut [Operation],
    begin: usize,
    first: &mut Option<(usize, Failure)>,
    list: &mut Vec<Inner<'a>>,
) -> Result<(), Failure> {
    for (i, operation) in operations.iter_mut().enumerate() {
        operation.status = Status::Ok.into();
        // SAFETY: as the caller says.
        if let Err(failure) = unsafe { inner(operation, list) } {
            operation.status = failure.status().into();
            first.get_or_insert((begin + i, failure));
            list.push(Inner::null());
        }
    }
    millstream::batch(list)?;
    for (i, (operation, done)) in operations.iter_mut().zip(list.iter()).enumerate() {
        if operation.status != Status::Ok.into() {
            continue;
        }
        let result = match done.result() {
            // SAFETY: the tag's room is the caller's promise, and nothing reads it any more.
            Ok(()) => unsafe { take_over(operation, done) },
            Err(error) => Err(error.into()),
        };
        if let Err(failure) = result {
            operation.status = failure.status().into();
            if first.as_ref().is_none_or(|(place, _)| *place > begin + i) {
                *first = Some((begin + i, failure));
            }
        }
    }
    Ok(())
}

/// Copies the result to the place that C gave.
///
/// # Safety
/// The operation's tag has as much room as it says.
#[inline(always)]
unsafe fn take_over(operation: &mut Operation, done: &Inner<'_>) -> Result<(), Failure> {
    operation.value = done.value();
    let long = [
        Kind::PartialDigest,
        Kind::SignRsa,
        Kind::DecryptRsa,
        Kind::PublicKeyRsa,
        Kind::SignMlDsa,
        Kind::SignSlhDsa,
    ];
    if long.map(|kind| kind as u32).contains(&operation.kind.0) {
        operation.tag_length = done.value() as usize;
        return Ok(());
    }
    let tag = done.tag();
    if tag.is_empty() {
        return Ok(());
    }
    // SAFETY: as the caller says. The room was found to lie apart from what the operation names.
    let room = unsafe { Out::new("tag", operation.tag, operation.tag_length)?.get() };
    crate::direct::room(room, tag.len())?.copy_from_slice(tag);
    operation.tag_length = tag.len();
    Ok(())
}
