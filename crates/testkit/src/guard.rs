//! Buffers between two pages that may not be touched.
//!
//! # Safety
//! A [`Guarded`] owns one mapping; `start..start + len` lies in its readable and writable middle,
//! and the borrow rules of the slices it lends are those of the value.
#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

/// `len` bytes that end, or begin, exactly at an inaccessible page: a kernel that reads or writes
/// one byte too many dies on the spot.
#[derive(Debug)]
pub struct Guarded {
    map: NonNull<u8>,
    map_len: usize,
    start: NonNull<u8>,
    len: usize,
}

impl Guarded {
    /// A buffer whose end touches the guard page.
    pub fn at_end(bytes: &[u8]) -> Self {
        Guarded::new(bytes, true)
    }

    /// A buffer whose beginning touches the guard page.
    pub fn at_start(bytes: &[u8]) -> Self {
        Guarded::new(bytes, false)
    }

    fn new(bytes: &[u8], at_end: bool) -> Self {
        let page = rustix::param::page_size();
        let middle = bytes.len().next_multiple_of(page).max(page);
        let map_len = middle + 2 * page;
        // SAFETY: a fresh anonymous mapping; only its middle is made accessible.
        let (map, start) = unsafe {
            let map = mmap_anonymous(std::ptr::null_mut(), map_len, ProtFlags::empty(), MapFlags::PRIVATE)
                .expect("mmap of a guarded buffer")
                .cast::<u8>();
            let flags = MprotectFlags::READ | MprotectFlags::WRITE;
            mprotect(map.add(page).cast(), middle, flags).expect("mprotect of a guarded buffer");
            let start = map.add(if at_end { page + middle - bytes.len() } else { page });
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
            (map, start)
        };
        Guarded {
            map: NonNull::new(map).expect("a mapping"),
            map_len,
            start: NonNull::new(start).expect("inside a mapping"),
            len: bytes.len(),
        }
    }
}

impl Deref for Guarded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: see the head of this file.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: see the head of this file.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no slice of it outlives `self`.
        unsafe { munmap(self.map.as_ptr().cast(), self.map_len).expect("munmap of a guarded buffer") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_its_bytes_at_either_end() {
        for len in [0, 1, 4095, 4096, 4097] {
            let bytes = vec![7; len];
            let mut end = Guarded::at_end(&bytes);
            assert_eq!(*end, *bytes);
            end.fill(8);
            assert_eq!(*Guarded::at_start(&bytes), *bytes);
            if len > 0 {
                assert!((end.as_ptr() as usize + len).is_multiple_of(rustix::param::page_size()));
            }
        }
    }
}
