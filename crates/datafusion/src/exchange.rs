//! Columns of DataFusion's Arrow as those of `millstream-columns`, and back: by the structures of the C data interface, without a copy.
//!
//! Ref. the Arrow C data interface.
//!
//! # Safety
//! Each version of Arrow has the structures `ArrowArray` and `ArrowSchema` as types of its own, laid out as C has them. A value of one
//! version's type is one of the other's: it is moved, so that there is one owner, and it leads to the same memory, with the function that
//! lets it go.
#![allow(unsafe_code)]

use std::mem::{ManuallyDrop, transmute_copy};

use arrow::array::{Array, ArrayRef, make_array};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use datafusion_common::{DataFusionError, Result};
use millstream_columns::ArrayData;
use millstream_columns::c_data::{self, export, import, import_type};

/// Takes a column of DataFusion over.
pub(crate) fn to_columns(array: &dyn Array) -> Result<ArrayData> {
    let (array, schema) = to_ffi(&array.to_data())?;
    // SAFETY: the head of the file.
    let (array, schema): (c_data::FFI_ArrowArray, c_data::FFI_ArrowSchema) =
        unsafe { (moved(array), moved(schema)) };
    let kind = import_type(&schema).map_err(failed)?;
    // SAFETY: Arrow has just made it of a column.
    unsafe { import(array, &kind) }.map_err(failed)
}

/// Gives a column to DataFusion.
pub(crate) fn from_columns(column: &ArrayData) -> Result<ArrayRef> {
    let (array, schema) = export(column).map_err(failed)?;
    // SAFETY: the head of the file.
    let (array, schema): (FFI_ArrowArray, FFI_ArrowSchema) = unsafe { (moved(array), moved(schema)) };
    // SAFETY: Arrow has just made it of a column.
    Ok(make_array(unsafe { from_ffi(array, &schema) }?))
}

/// Returns an error of the functions as DataFusion's.
pub(crate) fn failed(error: millstream_columns::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Moves a structure of the C data interface to its type in another version of Arrow.
///
/// # Safety
/// `A` and `B` are types for the same structure.
unsafe fn moved<A, B>(from: A) -> B {
    const { assert!(size_of::<A>() == size_of::<B>() && align_of::<A>() == align_of::<B>()) };
    let from = ManuallyDrop::new(from);
    // SAFETY: the caller vouches for the types, and what was moved is not dropped.
    unsafe { transmute_copy::<A, B>(&from) }
}
