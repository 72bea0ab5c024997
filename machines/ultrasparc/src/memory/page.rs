//! Pages: their length, what each permits, and the byte in the table that says so.

use std::ops::BitOr;

/// Bytes of one of the processor's pages, which is the unit of protection.
pub const PAGE_BYTES: u64 = 8192;

/// Bytes of the span: no address at or above it is ever mapped.
pub const SPAN_BYTES: u64 = 256 << 30;

pub(super) const PAGE_BITS: u32 = PAGE_BYTES.trailing_zeros();
pub(super) const PAGES: usize = (SPAN_BYTES / PAGE_BYTES) as usize;

/// Bits of a page's byte, beside its [`Protection`]: the page is a file's (see `file.rs`); it is mapped; blocks were
/// made from it.
pub(super) const FILE: u8 = 0x08;
pub(super) const MAPPED: u8 = 0x10;
pub(super) const CODE: u8 = 0x20;

/// The reason why memory can't be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address.
    pub address: u64,
    /// The kind of access.
    pub access: Access,
    /// True if there is a page, which only does not permit the access.
    pub mapped: bool,
    /// True if the page permits it, but the mapped file has ended.
    pub ended: bool,
}

/// Kinds of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Access {
    Read,
    Write,
    Execute,
}

impl Access {
    /// The bit of [`Protection`] that permits it.
    pub(super) const fn bit(self) -> u8 {
        match self {
            Access::Read => Protection::READ.0,
            Access::Write => Protection::WRITE.0,
            Access::Execute => Protection::EXECUTE.0,
        }
    }
}

/// The accesses that a page permits. The bits are those of `mmap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection(pub(super) u8);

impl Protection {
    /// Nothing.
    pub const NONE: Protection = Protection(0);
    /// Loads.
    pub const READ: Protection = Protection(1);
    /// Stores. Linux for sparc64 has no page that can be written and not read, nor executed and not read.
    pub const WRITE: Protection = Protection(2);
    /// Instructions.
    pub const EXECUTE: Protection = Protection(4);
    /// Data: loads and stores.
    pub const DATA: Protection = Protection(3);
    /// Everything.
    pub const ALL: Protection = Protection(7);

    /// Reads the argument of `mmap` or `mprotect`; other bits are left out.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Protection {
        Protection((bits & 7) as u8)
    }

    /// The bits for `mmap`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// The byte of a mapped page.
    pub(super) const fn page(self) -> u8 {
        MAPPED
            | self.0
            | if self.0 & (Protection::WRITE.0 | Protection::EXECUTE.0) != 0 { Protection::READ.0 } else { 0 }
    }
}

impl BitOr for Protection {
    type Output = Protection;

    fn bitor(self, other: Protection) -> Protection {
        Protection(self.0 | other.0)
    }
}

impl Protection {
    /// The byte of a mapped file's page, whose permissions are [`SHIFT`] bits beside their usual place.
    pub(super) const fn page_of_file(self) -> u8 {
        let page = self.page();
        page & !Protection::DATA.0 | (page & Protection::DATA.0) << SHIFT | FILE
    }
}

/// The distance between the permissions of a file's page and their usual place.
const SHIFT: u32 = 6;

/// The permissions in a page's byte, of a file or not.
pub(super) const fn permitted(page: u8) -> u8 {
    page | page >> SHIFT
}

/// The numbers of the pages that a range touches.
pub(super) fn pages_of(address: u64, length: u64) -> std::ops::Range<usize> {
    let end = address.saturating_add(length).min(SPAN_BYTES);
    let start = (address >> PAGE_BITS).min(PAGES as u64) as usize;
    start..(end.div_ceil(PAGE_BYTES) as usize).max(start)
}
