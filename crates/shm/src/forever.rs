//! A file's memory, mapped until the process ends.
//!
//! # Safety
//! A mapping that is never removed may be referred to for ever. Others write to it at any moment, so it is
//! reached as atomic words only. The size of a file on a disk can't be sealed. The length is compared when
//! the file is mapped, and if somebody cuts the file off later, an access faults with SIGBUS: that ends the
//! process, but breaks no rule of memory.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags, mmap};

/// Maps the file's first `count` words for reading and writing. Forked children keep the mapping.
///
/// # Errors
/// Fails when the file is shorter, and with the system's errors.
pub(crate) fn words(file: &File, count: usize) -> io::Result<&'static [AtomicU64]> {
    let len = 8 * count;
    if file.metadata()?.len() < len as u64 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the system's choice touches no other.
    let base = unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, file, 0)? };
    let first = NonNull::new(base.cast::<AtomicU64>()).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: `count` words were just mapped, page-aligned, and nobody unmaps them.
    Ok(unsafe { std::slice::from_raw_parts(first.as_ptr(), count) })
}
