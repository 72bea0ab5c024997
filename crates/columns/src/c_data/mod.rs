//! Columns of other libraries of the same process, by the Arrow C data and stream interfaces.
//!
//! An array comes in without a copy: its buffers stay where they are, and its owner is told when the last of them is let go. What can be
//! told wrong without reading outside of a buffer is refused: pointers that are null, lengths and offsets that are negative, fall, or
//! overflow, spans beyond their buffer, places beyond their dictionary, text that is not UTF-8. The interface does not tell how
//! long buffers are, so a length that is larger than the memory behind it can't be found out.
//!
//! Ref. the Arrow C data interface, the Arrow C stream interface.
//!
//! # Safety
//! The structures of the interface are C's, and their fields say where memory lies. Whoever hands one over vouches that it is
//! either released or filled as the interface demands, but for what is listed above. Each pointer that is read here is one of the
//! structure's own, after it was compared with null; each buffer keeps the structure alive that it belongs to.
#![allow(unsafe_code)]

mod checks;
mod stream;

use std::ffi::{c_char, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::{iter, ptr};

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
pub use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::DataType;
pub use arrow_schema::ffi::FFI_ArrowSchema;

use crate::error::Error;
use checks::check;
pub use stream::Stream;

/// The fields of `struct ArrowArray`, of which Arrow's crate shows not all, and some only after it has trusted others.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const u8,
    children: *const *const Array,
    dictionary: *const Array,
    release: *const c_void,
    private_data: *const c_void,
}

/// The fields of `struct ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const Schema,
    dictionary: *const Schema,
    release: *const c_void,
    private_data: *const c_void,
}

const _: () = assert!(size_of::<Array>() == size_of::<FFI_ArrowArray>());
const _: () = assert!(size_of::<Schema>() == size_of::<FFI_ArrowSchema>());

/// The longest format that a type here has, `w:` and a number.
const LONGEST_FORMAT: usize = 16;

/// Returns the type that a schema tells.
///
/// # Errors
/// [`Error::Malformed`]; [`Error::Type`] is left to the functions that take columns, except where the interface itself must know the
/// layout: then it is [`Error::Malformed`] too, and names the format.
pub fn import_type(schema: &FFI_ArrowSchema) -> Result<DataType, Error> {
    // SAFETY: both are `struct ArrowSchema`; their sizes were compared above.
    let schema = unsafe { &*ptr::from_ref(schema).cast::<Schema>() };
    data_type(schema, true)
}

fn data_type(schema: &Schema, outer: bool) -> Result<DataType, Error> {
    if schema.release.is_null() {
        return Err(Error::malformed("the schema was released"));
    }
    if schema.n_children != 0 {
        return Err(Error::malformed(
            "the schema has children: give one column, and no struct, list or table",
        ));
    }
    let format = format(schema)?;
    if schema.dictionary.is_null() {
        return layout(&format);
    }
    if !outer {
        return Err(Error::malformed("a dictionary's values are a dictionary"));
    }
    let keys = match &*format {
        b"c" => DataType::Int8,
        b"C" => DataType::UInt8,
        b"s" => DataType::Int16,
        b"S" => DataType::UInt16,
        b"i" => DataType::Int32,
        b"I" => DataType::UInt32,
        b"l" => DataType::Int64,
        b"L" => DataType::UInt64,
        _ => return Err(Error::malformed("a dictionary's places are no integers")),
    };
    // SAFETY: the pointer is the structure's own, and was compared with null.
    let values = data_type(unsafe { &*schema.dictionary }, false)?;
    Ok(DataType::Dictionary(Box::new(keys), Box::new(values)))
}

fn format(schema: &Schema) -> Result<Vec<u8>, Error> {
    if schema.format.is_null() {
        return Err(Error::malformed("the schema has no format"));
    }
    let bytes = (0..=LONGEST_FORMAT).map(|at| {
        // SAFETY: a format ends with a zero, and nothing is read behind the first one.
        unsafe { schema.format.add(at).cast::<u8>().read() }
    });
    Ok(bytes.take_while(|byte| *byte != 0).collect())
}

fn layout(format: &[u8]) -> Result<DataType, Error> {
    Ok(match format {
        b"u" => DataType::Utf8,
        b"U" => DataType::LargeUtf8,
        b"vu" => DataType::Utf8View,
        b"z" => DataType::Binary,
        b"Z" => DataType::LargeBinary,
        b"vz" => DataType::BinaryView,
        [b'w', b':', width @ ..] => {
            let width = std::str::from_utf8(width).ok().and_then(|width| width.parse::<i32>().ok());
            match width {
                Some(width) if width >= 0 => DataType::FixedSizeBinary(width),
                _ => return Err(Error::malformed("a fixed width that is no number from 0 on")),
            }
        }
        other => {
            return Err(Error::malformed(format!(
                "its format is {:?}; give text or binary, or a dictionary of it",
                String::from_utf8_lossy(other)
            )));
        }
    })
}

/// Takes over an array of the type given.
///
/// # Errors
/// [`Error::Malformed`], with the rule that was broken. The array is released then.
///
/// # Safety
/// The structure is released, or its pointers are null or lead to what the interface demands, and its buffers are as long as it
/// says, as far as it says so.
pub unsafe fn import(array: FFI_ArrowArray, kind: &DataType) -> Result<ArrayData, Error> {
    let owner = Arc::new(array);
    // SAFETY: both are `struct ArrowArray`; their sizes were compared above.
    let fields = unsafe { &*Arc::as_ptr(&owner).cast::<Array>() };
    let data = Import { owner: &owner, array: fields }.data(kind)?;
    check(&data)?;
    Ok(data)
}

/// An array, or the dictionary of one, that is taken over.
struct Import<'a> {
    /// The outermost array, which owns all buffers.
    owner: &'a Arc<FFI_ArrowArray>,
    array: &'a Array,
}

impl Import<'_> {
    fn data(&self, kind: &DataType) -> Result<ArrayData, Error> {
        let array = self.array;
        if array.release.is_null() {
            return Err(Error::malformed("the array was released"));
        }
        let (len, first) = match (usize::try_from(array.length), usize::try_from(array.offset)) {
            (Ok(len), Ok(first)) => (len, first),
            _ => return Err(Error::malformed("a negative length or offset")),
        };
        // No element here has more than 16 bytes.
        if first.checked_add(len).and_then(|end| end.checked_add(1)).is_none_or(|end| end > MOST_BYTES / 16) {
            return Err(Error::malformed("a length that no memory has"));
        }
        if array.n_children != 0 {
            return Err(Error::malformed("the array has children: give one column"));
        }
        if array.dictionary.is_null() == matches!(kind, DataType::Dictionary(..)) {
            return Err(Error::malformed("only one of schema and array has a dictionary"));
        }
        let mut builder = ArrayData::builder(kind.clone()).len(len).nulls(self.nulls(first, len)?);
        match kind {
            DataType::Utf8 | DataType::Binary => {
                let (offsets, bytes) = self.spans::<i32>(first, len)?;
                builder = builder.add_buffer(offsets).add_buffer(bytes);
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                let (offsets, bytes) = self.spans::<i64>(first, len)?;
                builder = builder.add_buffer(offsets).add_buffer(bytes);
            }
            DataType::FixedSizeBinary(width) => {
                self.count(2)?;
                builder = builder.add_buffer(self.elements(1, first, len, *width as usize)?);
            }
            DataType::Utf8View | DataType::BinaryView => {
                let (views, buffers) = self.views(first, len)?;
                builder = builder.add_buffer(views).add_buffers(buffers);
            }
            DataType::Dictionary(keys, values) => {
                self.count(2)?;
                let width = keys.primitive_width().ok_or_else(|| Error::malformed("places of no width"))?;
                // SAFETY: the pointer is the structure's own, and was compared with null.
                let dictionary = unsafe { &*array.dictionary };
                let values = Import { owner: self.owner, array: dictionary }.data(values)?;
                builder = builder.add_buffer(self.elements(1, first, len, width)?).add_child_data(values);
            }
            other => return Err(Error::malformed(format!("a column of type {other}"))),
        }
        // Misaligned buffers are copied. The checks of Arrow's crate follow for the whole array at once.
        // SAFETY: `import` validates the array before anyone reads values from it.
        Ok(unsafe { builder.align_buffers(true).skip_validation(true).build()? })
    }

    /// Refuses another number of buffers.
    fn count(&self, needed: i64) -> Result<(), Error> {
        if self.array.n_buffers != needed {
            return Err(Error::malformed(format!(
                "{} buffers where its type has {needed}",
                self.array.n_buffers
            )));
        }
        Ok(())
    }

    /// Returns where a buffer lies, perhaps null. `at` is below the number of buffers.
    fn pointer(&self, at: usize) -> Result<*const u8, Error> {
        if self.array.buffers.is_null() {
            return Err(Error::malformed("no list of buffers"));
        }
        // SAFETY: the list is not null, and has as many pointers as there are buffers.
        Ok(unsafe { self.array.buffers.add(at).read() })
    }

    /// Returns `count` elements of `width` bytes from element `first` of a buffer on.
    fn elements(&self, at: usize, first: usize, count: usize, width: usize) -> Result<Buffer, Error> {
        let (skipped, len) = match (first.checked_mul(width), count.checked_mul(width)) {
            (Some(skipped), Some(len)) if skipped.saturating_add(len) <= MOST_BYTES => (skipped, len),
            _ => return Err(Error::malformed("a length that no memory has")),
        };
        let pointer = self.pointer(at)?;
        if len == 0 {
            return Ok(Buffer::from_vec(Vec::<u8>::new()));
        }
        let Some(pointer) = NonNull::new(pointer.cast_mut()) else {
            return Err(Error::malformed("a buffer that is null and should have elements"));
        };
        // SAFETY: the caller of `import` vouches for as many bytes, which the owner keeps alive.
        Ok(unsafe { Buffer::from_custom_allocation(pointer.add(skipped), len, self.owner.clone()) })
    }

    fn nulls(&self, first: usize, len: usize) -> Result<Option<NullBuffer>, Error> {
        if self.array.n_buffers < 1 {
            return Err(Error::malformed("an array without buffers"));
        }
        if self.array.null_count < -1 || self.array.null_count > self.array.length {
            return Err(Error::malformed("a number of nulls that is negative, or larger than the length"));
        }
        if self.pointer(0)?.is_null() {
            return match self.array.null_count {
                -1 | 0 => Ok(None),
                _ => Err(Error::malformed("nulls without a bitmap of them")),
            };
        }
        let bits = self.elements(0, 0, (first + len).div_ceil(8), 1)?;
        Ok(Some(NullBuffer::new(BooleanBuffer::new(bits, first, len))).filter(|nulls| nulls.null_count() > 0))
    }

    /// Returns the offsets and the bytes of an array of spans.
    fn spans<O: Offset>(&self, first: usize, len: usize) -> Result<(Buffer, Buffer), Error> {
        self.count(3)?;
        if len == 0 {
            return Ok((Buffer::from_vec(vec![0i64]), Buffer::from_vec(Vec::<u8>::new())));
        }
        let offsets = self.elements(1, first, len + 1, size_of::<O>())?;
        let (mut before, mut falls) = (0, false);
        for offset in offsets.chunks_exact(size_of::<O>()) {
            let offset = O::read(offset);
            falls |= offset < before;
            before = offset;
        }
        if falls {
            return Err(Error::malformed("an offset that is negative or smaller than the one before it"));
        }
        let bytes = self.elements(2, 0, usize::try_from(before).unwrap_or(usize::MAX), 1)?;
        Ok((offsets, bytes))
    }

    /// Returns the views and the buffers that they lead to.
    fn views(&self, first: usize, len: usize) -> Result<(Buffer, Vec<Buffer>), Error> {
        // The bitmap, the views, and the lengths of the buffers between them and the lengths.
        let count = match usize::try_from(self.array.n_buffers) {
            Ok(count @ 3..) if count < MOST_BYTES / 16 => count - 3,
            _ => return Err(Error::malformed("fewer than three buffers where views have three or more")),
        };
        let views = self.elements(1, first, len, 16)?;
        let lengths = self.elements(count + 2, 0, count, size_of::<i64>())?;
        let lengths = lengths.chunks_exact(size_of::<i64>()).map(i64::read);
        let buffers = iter::zip(2.., lengths).map(|(at, len)| match usize::try_from(len) {
            Ok(len) => self.elements(at, 0, len, 1),
            Err(_) => Err(Error::malformed("a buffer of a negative length")),
        });
        Ok((views, buffers.collect::<Result<_, _>>()?))
    }
}

const MOST_BYTES: usize = isize::MAX as usize;

/// An offset of 32 or 64 bits.
trait Offset {
    fn read(bytes: &[u8]) -> i64;
}

impl Offset for i32 {
    fn read(bytes: &[u8]) -> i64 {
        i32::from_ne_bytes(bytes.try_into().expect("four bytes")).into()
    }
}

impl Offset for i64 {
    fn read(bytes: &[u8]) -> i64 {
        i64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
    }
}

/// Returns a column as the structures of the C data interface.
///
/// # Errors
/// [`Error::Malformed`] for a type that the interface can't tell.
pub fn export(column: &ArrayData) -> Result<(FFI_ArrowArray, FFI_ArrowSchema), Error> {
    Ok((FFI_ArrowArray::new(column), export_type(column.data_type())?))
}

/// Returns a type as a schema of the C data interface, for a column that may have nulls.
///
/// # Errors
/// [`Error::Malformed`] for a type that the interface can't tell.
pub fn export_type(kind: &DataType) -> Result<FFI_ArrowSchema, Error> {
    Ok(FFI_ArrowSchema::try_from(kind)?.with_flags(arrow_schema::ffi::Flags::NULLABLE)?)
}
