//! Memory for results, which are written once and as large as a column.
//!
//! # Safety
//! The kernel is given advice about the size of pages within a slice, which changes no byte of it.
#![allow(unsafe_code)]

use rustix::mm::{Advice, madvise};

/// The bytes of a large page on the processors at hand.
const LARGE: usize = 2 << 20;

/// Returns zeros, in large pages where the kernel has them. A column of new memory in small pages costs a fault for every 4 KiB, which
/// together take half as long as sealing the values.
pub(crate) fn zeros(len: usize) -> Vec<u8> {
    let mut room = vec![0; len];
    prefer_large_pages(&mut room);
    room
}

/// Returns an empty vector with room for `len` elements, in large pages where the kernel has them.
pub(crate) fn with_capacity<T>(len: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(len);
    prefer_large_pages(room.spare_capacity_mut());
    room
}

/// Asks for large pages for the part of a slice that is made of whole ones. Where there are none, nothing is lost.
fn prefer_large_pages<T>(room: &mut [T]) {
    let start = room.as_mut_ptr().cast::<u8>();
    let (first, end) = (start.addr().next_multiple_of(LARGE), start.addr() + size_of_val(room));
    let end = end - end % LARGE;
    if end > first {
        let at = start.wrapping_add(first - start.addr());
        // SAFETY: the range is inside of `room`, and the advice changes nothing that a program can read.
        let _ = unsafe { madvise(at.cast(), end - first, Advice::LinuxHugepage) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_zeros_whatever_its_length() {
        for len in [0, 1, LARGE - 1, LARGE, 3 * LARGE + 5] {
            let room = zeros(len);
            assert!(room.len() == len && room.iter().all(|byte| *byte == 0));
            let room: Vec<u32> = with_capacity(len);
            assert!(room.capacity() >= len && room.is_empty());
        }
    }
}
