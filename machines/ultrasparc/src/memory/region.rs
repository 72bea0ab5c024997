//! Parts of a program's memory that the host's kernel reads or writes while the program goes on.
//!
//! # Safety
//! A region has no reference into memory, only an address for the kernel, and holds the reservation in which it lies.
//! While a region is left, that reservation is never unmapped, and its addresses are given to nothing but the
//! program's memory: mapping, unmapping and sharing replace pages of the reservation in their place. If one thread of
//! the program has the kernel write to a page that another removes meanwhile, the bytes go to no page of the program,
//! or to one that was mapped there since, as on Linux.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::page::{Access, Fault, MAPPED, pages_of};
use super::{Memory, Reservation};

/// A range of a program's memory that could be read, or written, when it was made.
pub struct Region {
    at: *mut u8,
    length: usize,
    writable: bool,
    /// `None` if the region is empty.
    _reservation: Option<Arc<Reservation>>,
}

impl Region {
    /// A region of no bytes.
    #[must_use]
    pub fn empty() -> Region {
        Region { at: std::ptr::null_mut(), length: 0, writable: true, _reservation: None }
    }

    /// The number of bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length as u64
    }

    /// True if it could be written.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The host's address.
    pub(crate) fn place(&self) -> *mut u8 {
        self.at
    }
}

impl Memory {
    /// A range that can be read, or written.
    ///
    /// # Errors
    /// The first address that can't.
    pub fn region(&mut self, address: u64, length: usize, access: Access) -> Result<Region, Fault> {
        if length == 0 {
            return Ok(Region::empty());
        }
        let at = self.span(address, length, access.bit(), access)?;
        let writable = access == Access::Write;
        if writable {
            self.written(address, length as u64);
        }
        Ok(Region { at, length, writable, _reservation: self.reservation.clone() })
    }

    /// Notes that the kernel may have written a region, whatever is mapped there now. Blocks made from it become
    /// stale, and pages that were removed meanwhile are zeroed.
    pub(crate) fn written(&mut self, address: u64, length: u64) {
        for page in pages_of(address, length) {
            self.forget_code(page);
            if self.table()[page] & MAPPED == 0 {
                self.give_back(page..page + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PAGE_BYTES, Protection};
    use super::*;

    const AT: u64 = 1 << 20;

    #[test]
    fn what_is_written_to_a_removed_page_is_gone() {
        let mut memory = Memory::new().unwrap();
        memory.map(AT, PAGE_BYTES, Protection::DATA);
        let region = memory.region(AT + 8, 8, Access::Write).unwrap();
        assert!(region.is_writable() && region.length() == 8);
        assert!(memory.region(AT + PAGE_BYTES - 4, 8, Access::Write).is_err());
        memory.unmap(AT, PAGE_BYTES);
        // SAFETY: the region is eight bytes of the reservation.
        unsafe { region.place().cast::<u64>().write(7) };
        memory.written(AT + 8, 8);
        memory.map(AT, PAGE_BYTES, Protection::DATA);
        assert_eq!(memory.load_u64(AT + 8), Ok(0));
    }

    #[test]
    fn a_region_outlives_its_memory() {
        let mut memory = Memory::new().unwrap();
        memory.map(AT, PAGE_BYTES, Protection::DATA);
        let region = memory.region(AT, 8, Access::Write).unwrap();
        drop(memory);
        // SAFETY: the region holds the reservation.
        unsafe { region.place().write(1) };
    }
}
