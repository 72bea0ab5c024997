//! The checks of arrays that come in: Arrow's own, after quicker ones that nearly all columns pass.
//!
//! Ref. the Arrow columnar format, version 1.5: variable-size binary, views.

use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use crate::error::Error;

/// Refuses offsets, views and places beyond their buffers, and text that is not UTF-8. The offsets of spans are known to rise.
///
/// Arrow's check looks at each value on its own, which takes as long as hashing it does.
pub(super) fn check(data: &ArrayData) -> Result<(), Error> {
    let is_plain = match data.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => true,
        DataType::Utf8 => spans_are_ascii::<i32>(data),
        DataType::LargeUtf8 => spans_are_ascii::<i64>(data),
        DataType::Utf8View => views_are_plain(&data.buffers()[0], &data.buffers()[1..], true),
        DataType::BinaryView => views_are_plain(&data.buffers()[0], &data.buffers()[1..], false),
        _ => false,
    };
    if is_plain { Ok(data.validate()?) } else { Ok(data.validate_full()?) }
}

/// Returns true if all bytes between the first offset and the last are ASCII.
fn spans_are_ascii<O: ArrowNativeType>(data: &ArrayData) -> bool {
    if data.is_empty() {
        return true;
    }
    let offsets = data.buffers()[0].typed_data::<O>();
    let (first, last) = (offsets[0].as_usize(), offsets[data.len()].as_usize());
    data.buffers()[1].get(first..last).is_some_and(<[u8]>::is_ascii)
}

/// Returns true if every view is as the format has it and leads into a buffer, and every text is ASCII.
fn views_are_plain(views: &[u8], buffers: &[Buffer], text: bool) -> bool {
    let plain = |view: &[u8; 16]| {
        let view = u128::from_le_bytes(*view);
        let (len, inside) = (view as u32 as usize, view >> 32);
        if len <= 12 {
            let is_ascii = inside & (u128::MAX / 255 * 128) == 0;
            return inside >> (8 * len) == 0 && (is_ascii || !text);
        }
        let (buffer, first) = ((inside >> 32) as u32 as usize, (inside >> 64) as usize);
        let bytes = buffers.get(buffer).and_then(|buffer| buffer.get(first..first + len));
        bytes.is_some_and(|bytes| {
            bytes.starts_with(&(inside as u32).to_le_bytes()) && (!text || bytes.is_ascii())
        })
    };
    views.as_chunks().0.iter().all(plain)
}
