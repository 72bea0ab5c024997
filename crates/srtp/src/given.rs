//! The edge to libsrtp2: bytes that it gives, and panics that must not reach it.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::{FAIL, Status};

/// Runs the inner part of a function; a panic is a failure.
pub fn guard(call: impl FnOnce() -> Status) -> Status {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(FAIL)
}

/// Returns bytes that libsrtp2 gave to be read.
///
/// # Safety
/// As libsrtp2 promises: they are as many, or there are none.
pub unsafe fn bytes<'a>(at: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(at, len) }
}

/// Returns bytes that libsrtp2 gave to be changed.
///
/// # Safety
/// As for [`bytes`].
pub unsafe fn bytes_mut<'a>(at: *mut u8, len: usize) -> &'a mut [u8] {
    if len == 0 {
        return &mut [];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts_mut(at, len) }
}
