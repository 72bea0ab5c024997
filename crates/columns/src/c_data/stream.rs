//! Columns in chunks, by the C stream interface.
//!
//! Ref. the Arrow C stream interface.
//!
//! # Safety
//! A stream's functions are those of whoever has made it, and are called only until it is released. The functions of our own
//! streams find their chunks behind the pointer that [`Stream::new`] has put there.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use arrow_data::ArrayData;
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::DataType;
use arrow_schema::ffi::FFI_ArrowSchema;

use super::{export_type, import, import_type};
use crate::error::Error;

/// `struct ArrowArrayStream`: the chunks of a column, one after another.
#[repr(C)]
#[derive(Debug)]
pub struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut FFI_ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut FFI_ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

// SAFETY: the interface lets a stream be used by any thread, one at a time.
unsafe impl Send for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the stream is not released yet, and this is the only call.
            unsafe { release(self) }
        }
    }
}

impl Stream {
    /// Takes a stream over, and leaves a released one in its place.
    ///
    /// # Safety
    /// The pointer leads to a stream that is released or filled as the interface demands.
    pub unsafe fn from_raw(stream: *mut Stream) -> Self {
        // SAFETY: the caller's.
        unsafe { ptr::replace(stream, Stream::released()) }
    }

    fn released() -> Self {
        Stream {
            get_schema: None,
            get_next: None,
            get_last_error: None,
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    /// Returns a stream of chunks of one type.
    pub fn new(kind: DataType, chunks: Vec<ArrayData>) -> Self {
        let chunks = Box::new(Chunks { kind, rest: chunks.into_iter() });
        Stream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release),
            private_data: Box::into_raw(chunks).cast(),
        }
    }

    /// Returns the type of the chunks.
    ///
    /// # Errors
    /// [`Error::Malformed`], also with the stream's own message.
    pub fn kind(&mut self) -> Result<DataType, Error> {
        let Some(get_schema) = self.get_schema.filter(|_| self.release.is_some()) else {
            return Err(Error::malformed("the stream was released, or has no schema"));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream is not released.
        let code = unsafe { get_schema(self, &mut schema) };
        if code != 0 {
            return Err(self.failure(code));
        }
        import_type(&schema)
    }

    /// Returns the next chunk, until there is none.
    ///
    /// # Errors
    /// [`Error::Malformed`], also with the stream's own message.
    ///
    /// # Safety
    /// The stream's arrays are as [`import`] demands.
    pub unsafe fn next(&mut self, kind: &DataType) -> Result<Option<ArrayData>, Error> {
        let Some(get_next) = self.get_next.filter(|_| self.release.is_some()) else {
            return Err(Error::malformed("the stream was released, or has no arrays"));
        };
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: the stream is not released.
        let code = unsafe { get_next(self, &mut array) };
        if code != 0 {
            return Err(self.failure(code));
        }
        if array.is_released() {
            return Ok(None);
        }
        // SAFETY: the caller's.
        unsafe { import(array, kind) }.map(Some)
    }

    #[cold]
    fn failure(&mut self, code: c_int) -> Error {
        let message = match self.get_last_error {
            // SAFETY: the stream is not released.
            Some(get_last_error) => unsafe { get_last_error(self) },
            None => ptr::null(),
        };
        if message.is_null() {
            return Error::malformed(format!("the stream failed with error {code}"));
        }
        // SAFETY: the message ends with a zero, and stays until the next call.
        let message = unsafe { CStr::from_ptr(message) };
        Error::malformed(format!("the stream failed: {}", message.to_string_lossy()))
    }
}

/// The chunks of a stream of ours.
struct Chunks {
    kind: DataType,
    rest: std::vec::IntoIter<ArrayData>,
}

/// Returns the chunks of a stream of ours.
///
/// # Safety
/// The stream is one that [`Stream::new`] has made, and is not released.
unsafe fn chunks<'a>(stream: *mut Stream) -> &'a mut Chunks {
    // SAFETY: the caller's.
    unsafe { &mut *(*stream).private_data.cast() }
}

unsafe extern "C" fn get_schema(stream: *mut Stream, schema: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: consumers call this for a stream that is not released.
    match export_type(&unsafe { chunks(stream) }.kind) {
        Ok(exported) => {
            // SAFETY: the consumer has room there.
            unsafe { ptr::write(schema, exported) };
            0
        }
        Err(_) => INVALID,
    }
}

/// The code of errors that are not the system's, `EINVAL`.
const INVALID: c_int = 22;

unsafe extern "C" fn get_next(stream: *mut Stream, array: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: consumers call this for a stream that is not released.
    let next = unsafe { chunks(stream) }.rest.next();
    let exported = next.map_or_else(FFI_ArrowArray::empty, |chunk| FFI_ArrowArray::new(&chunk));
    // SAFETY: the consumer has room there.
    unsafe { ptr::write(array, exported) };
    0
}

unsafe extern "C" fn get_last_error(_: *mut Stream) -> *const c_char {
    c"the type has no format in the C data interface".as_ptr()
}

unsafe extern "C" fn release(stream: *mut Stream) {
    // SAFETY: consumers release a stream once, and its chunks were a box.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Chunks>()));
        (*stream).release = None;
    }
}
