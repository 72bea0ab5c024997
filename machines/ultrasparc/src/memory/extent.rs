//! The extents of pages that are shared with other processes.

use std::ops::Range;

use super::page::PAGE_BITS;

/// A run of shared pages.
#[derive(Clone)]
pub(super) struct Shared {
    pub pages: Range<usize>,
    /// True if this process may never write them.
    pub read_only: bool,
    /// True if they are a file's.
    pub of_file: bool,
}

impl Shared {
    /// The first address, and the number of bytes.
    pub fn extent(&self) -> (u64, u64) {
        ((self.pages.start as u64) << PAGE_BITS, (self.pages.len() as u64) << PAGE_BITS)
    }

    pub fn overlaps(&self, pages: &Range<usize>) -> bool {
        self.pages.start < pages.end && pages.start < self.pages.end
    }

    /// The parts of it that remain without some pages.
    pub fn without(self, pages: &Range<usize>) -> impl Iterator<Item = Shared> {
        let Range { start, end } = self.pages;
        [start..end.min(pages.start), start.max(pages.end)..end]
            .into_iter()
            .filter(|rest| !rest.is_empty())
            .map(move |pages| Shared { pages, ..self })
    }
}
