//! A stretch of code that was made at run time, and its contents.

use std::ops::Range;

use crate::code::bounds::{Bounds, Function};
use crate::code::classes::Counts;
use crate::code::find;
use crate::code::outcome;
use crate::code::region::Region;
use crate::code::sites::{self, Site};

/// The source that describes generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// OpenJDK's virtual machine, which describes the code in its own memory.
    HotSpot,
    /// The file `/tmp/perf-PID.map`, which many programs write for profilers.
    PerfMap,
}

/// A stretch of generated code as it was when it was read. Addresses are those of the process.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// The first address.
    pub start: u64,
    /// The bytes at that time. The machine also discards code, so a breakpoint may only be written where
    /// these bytes still stand.
    pub bytes: Vec<u8>,
    /// The source of this stretch.
    pub origin: Origin,
    /// The functions in it.
    pub functions: Vec<Function>,
    /// The places to stop at. A site's function is an index into `functions`.
    pub sites: Vec<Site>,
    /// The number of instructions of each class that are proven to be there.
    pub proven: Counts,
    /// The number of further instructions that seem to be there.
    pub unproved: Counts,
}

/// A function that a machine made.
pub(in crate::code) struct Made {
    pub start: u64,
    pub name: String,
    /// The bytes of stack that the running function takes, the return address included; 0 where that is
    /// unknown.
    pub frame_size: u64,
}

/// A function as a machine describes it: its start, an upper bound of its end, and its name.
pub(super) type Told = (Range<u64>, String);

/// Searches code that a machine described. Returns `None` when it holds no instruction of a class.
pub(super) fn stretch(start: u64, bytes: Vec<u8>, origin: Origin, told: &[Told]) -> Option<Stretch> {
    let mut candidates = Vec::new();
    find::candidates(&bytes, |place| candidates.push(start + place as u64));
    if candidates.is_empty() {
        return None;
    }
    // Generated code has tables among its functions, so it is followed and never swept.
    let functions: Vec<_> = told.iter().map(|(range, _)| (range.clone(), false)).collect();
    let region =
        Region { start, code: &bytes, functions: &functions, is_absolute: true, ..Region::default() };
    let outcome = outcome::analyse(&region, &candidates);
    let at = |address: u64| told.partition_point(|(range, _)| range.start <= address).checked_sub(1);
    let read = |address: u64, length: usize| &bytes[(address - start) as usize..][..length];
    let (sites, proven) = sites::of(&outcome.proven, at, read);
    let unproved = outcome.unproved;
    if proven.total() == 0 && unproved.total() == 0 {
        return None;
    }
    let functions = told.iter().zip(&outcome.entries).map(|((range, name), is_proven)| Function {
        start: range.start,
        end: range.end,
        name: Some(name.as_str().into()),
        bounds: Bounds::Jit,
        entry_proven: *is_proven,
    });
    let functions = functions.collect();
    Some(Stretch { start, bytes, origin, functions, sites, proven, unproved })
}
