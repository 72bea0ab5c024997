//! A stretch of code that was made at run time, and what is in it.

use std::ops::Range;

use crate::code::bounds::{Bounds, Function};
use crate::code::classes::Counts;
use crate::code::find;
use crate::code::outcome;
use crate::code::region::Region;
use crate::code::sites::{self, Site};

/// Who says what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// OpenJDK's virtual machine, in its own memory.
    HotSpot,
    /// The file `/tmp/perf-PID.map`, which many write for profilers.
    PerfMap,
}

/// A stretch of code that was made at run time, as it was when it was looked at. Addresses are those of the process.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Its first address.
    pub start: u64,
    /// What was there. What makes code also throws it away: a breakpoint may only be put where these bytes still are.
    pub bytes: Vec<u8>,
    /// Who says so.
    pub origin: Origin,
    /// The functions in it.
    pub functions: Vec<Function>,
    /// Where to stop; the index of the function is one of `functions`.
    pub sites: Vec<Site>,
    /// How many instructions of each class are proven to be there.
    pub proven: Counts,
    /// How many more there seem to be.
    pub unproved: Counts,
}

/// A function that a machine made.
pub(in crate::code) struct Made {
    pub start: u64,
    pub name: String,
    /// How many bytes of stack it takes once it runs, with the address to return to; 0 where that is not known.
    pub frame_size: u64,
}

/// A function that a machine told of: where it begins, where it ends at the latest, and its name.
pub(super) type Told = (Range<u64>, String);

/// Looks at code that a machine told of. `None` where it holds no instruction of a class.
pub(super) fn stretch(start: u64, bytes: Vec<u8>, origin: Origin, told: &[Told]) -> Option<Stretch> {
    let mut candidates = Vec::new();
    find::candidates(&bytes, |place| candidates.push(start + place as u64));
    if candidates.is_empty() {
        return None;
    }
    // Such code has tables among its functions, so it is followed and never swept.
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
