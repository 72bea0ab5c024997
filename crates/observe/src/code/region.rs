//! Executable bytes, and the regions in which they are decoded: one function, or several that overlap.

use std::ops::Range;

use super::bounds::Functions;
use super::find;

/// Executable bytes and their address.
pub(super) struct Code {
    pub start: u64,
    pub bytes: Vec<u8>,
}

impl Code {
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Returns the addresses that may hold an instruction of a class, in order.
    pub fn candidates(&self) -> Vec<u64> {
        find::all_candidates(&self.bytes).into_iter().map(|place| self.start + place as u64).collect()
    }

    /// Returns the bytes of a range that lies within.
    pub fn at(&self, range: &Range<u64>) -> &[u8] {
        &self.bytes[(range.start - self.start) as usize..(range.end - self.start) as usize]
    }
}

/// A stretch of code to decode: one function, or several that overlap.
pub(super) struct Region<'a> {
    pub start: u64,
    pub code: &'a [u8],
    /// The functions in the region, ordered by their start. The flag is true for a function with a known end,
    /// which may be swept.
    pub functions: &'a [(Range<u64>, bool)],
    /// More addresses at which the region is known to be entered.
    pub entries: &'a [u64],
    /// True when the code is at the address it was linked for, so that its constants may be addresses.
    pub is_absolute: bool,
    /// Returns true when a function begins at an address outside the region.
    pub starts_at: &'a dyn Fn(u64) -> bool,
    /// Returns true when a function might begin at an address outside the region. References to other
    /// addresses are not collected.
    pub may_start: &'a dyn Fn(u64) -> bool,
}

impl Default for Region<'_> {
    fn default() -> Self {
        let never = &|_| false;
        Region {
            start: 0,
            code: &[],
            functions: &[],
            entries: &[],
            is_absolute: false,
            starts_at: never,
            may_start: never,
        }
    }
}

/// Builds the region of some functions and passes it to `look`. `entries` are sorted, and may lie anywhere.
pub(super) fn of_region<T>(
    functions: &Functions,
    code: &Code,
    range: &Range<u64>,
    members: &Range<usize>,
    entries: &[u64],
    is_absolute: bool,
    look: impl FnOnce(&Region<'_>) -> T,
) -> T {
    let list: Vec<_> = functions.list[members.clone()]
        .iter()
        .map(|function| (function.start..function.end, !function.is_endless()))
        .collect();
    let first = entries.partition_point(|entry| *entry < range.start);
    let count = entries[first..].partition_point(|entry| *entry < range.end);
    look(&Region {
        start: range.start,
        code: code.at(range),
        functions: &list,
        entries: &entries[first..first + count],
        is_absolute,
        starts_at: &|address| functions.starts_at(address),
        ..Region::default()
    })
}
