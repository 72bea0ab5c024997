//! Executable bytes, and the regions of them that are looked at: a function, or several that overlap.

use std::ops::Range;

use super::bounds::Functions;
use super::find;

/// Executable bytes, and where they are.
pub(super) struct Code {
    pub start: u64,
    pub bytes: Vec<u8>,
}

impl Code {
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Where it may hold an instruction of a class, in order.
    pub fn candidates(&self) -> Vec<u64> {
        find::all_candidates(&self.bytes).into_iter().map(|place| self.start + place as u64).collect()
    }

    /// The bytes of a range that lies in it.
    pub fn at(&self, range: &Range<u64>) -> &[u8] {
        &self.bytes[(range.start - self.start) as usize..(range.end - self.start) as usize]
    }
}

/// A stretch of code to look at: one function, or several that overlap.
pub(super) struct Region<'a> {
    pub start: u64,
    pub code: &'a [u8],
    /// The functions in it, ordered by their start. What is known to end where it is said to may be swept.
    pub functions: &'a [(Range<u64>, bool)],
    /// Where else something is known to enter.
    pub entries: &'a [u64],
    /// Whether the code is at the address it was linked for, so that numbers in it may be addresses.
    pub is_absolute: bool,
    /// Whether a function begins at an address outside.
    pub starts_at: &'a dyn Fn(u64) -> bool,
    /// Whether a function might begin at an address outside: what else is said of it is of no use to anybody.
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

/// Looks in some way at the region of some functions. `entries` are sorted, and may lie anywhere.
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
