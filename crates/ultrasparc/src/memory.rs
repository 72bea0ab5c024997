//! A program's memory: one span of addresses in pages, big-endian.

/// What the processor's pages are long, and the unit of protection.
pub const PAGE_BYTES: u64 = 8192;

/// Why memory can't be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address.
    pub address: u64,
    /// What was tried.
    pub access: Access,
    /// Whether there is a page, which only does not permit it.
    pub mapped: bool,
}

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Access {
    Read,
    Write,
    Execute,
}
