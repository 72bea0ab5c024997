//! Code that a program makes while it runs: what virtual machines tell of theirs.
//!
//! Nothing is guessed from memory that happens to be executable: code counts where the machine that made it says
//! where a function begins.

pub(super) mod hotspot;
mod perf_map;

use std::ops::Range;

use super::bounds::{Bounds, Function};
use super::classes::Counts;
use super::find;
use super::flow::Region;
use super::outcome;
use super::sites::{self, Site};
use super::unwind::Modules;
use crate::memory::Memory;
use hotspot::HotSpot;
use perf_map::PerfMap;

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

/// What one process has made.
#[derive(Debug)]
pub struct Generated {
    hotspot: Option<HotSpot>,
    perf_map: PerfMap,
}

impl Generated {
    /// That of the process with this number. Nothing is looked at yet.
    pub fn new(pid: i32) -> Generated {
        Generated { hotspot: None, perf_map: PerfMap::new(pid) }
    }

    /// What is new since the last look, or is now known better: it takes the place of what was told with the same start.
    /// Where nothing is new this costs a few reads, so it can be asked ten times a second.
    pub fn look(&mut self, memory: &dyn Memory, modules: &Modules) -> Vec<Stretch> {
        if self.hotspot.is_none() {
            self.hotspot = modules.iter().find_map(|module| HotSpot::of(memory, module));
        }
        let mut stretches = self.hotspot.as_mut().map_or_else(Vec::new, |hotspot| hotspot.look(memory));
        stretches.extend(self.perf_map.look(memory, modules));
        stretches
    }

    /// What the machine calls the code at an address: a Java method, a routine.
    pub fn name_at(&self, memory: &dyn Memory, address: u64) -> Option<String> {
        self.made_at(memory, address).map(|made| made.name)
    }

    /// The function at an address.
    pub(super) fn made_at(&self, memory: &dyn Memory, address: u64) -> Option<Made> {
        let by_hotspot = || self.hotspot.as_ref()?.made_at(memory, address);
        by_hotspot().or_else(|| self.perf_map.made_at(address))
    }
}

/// A function that a machine made.
pub(super) struct Made {
    pub start: u64,
    pub name: String,
    /// How many bytes of stack it takes once it runs, with the address to return to; 0 where that is not known.
    pub frame_size: u64,
}

/// A function that a machine told of: where it begins, where it ends at the latest, and its name.
type Told = (Range<u64>, String);

/// Looks at code that a machine told of. `None` where it holds no instruction of a class.
fn stretch(start: u64, bytes: Vec<u8>, origin: Origin, told: &[Told]) -> Option<Stretch> {
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
