//! Code that a program makes while it runs, as its virtual machine describes it.
//!
//! Executable memory alone proves nothing. Code counts only where the machine that made it says where a
//! function begins.

pub(super) mod hotspot;
mod perf_map;
mod stretch;

use super::modules::Modules;
use crate::memory::Memory;
use hotspot::HotSpot;
use perf_map::PerfMap;
use stretch::Made;
pub use stretch::{Origin, Stretch};

/// The generated code of one process.
#[derive(Debug)]
pub struct Generated {
    hotspot: Option<HotSpot>,
    perf_map: PerfMap,
}

impl Generated {
    /// Prepares to read the process with this number. Nothing is read yet.
    pub fn new(pid: i32) -> Generated {
        Generated { hotspot: None, perf_map: PerfMap::new(pid) }
    }

    /// Returns the stretches that are new or better known since the last look. A stretch replaces an earlier
    /// one with the same start. A look that finds nothing new costs a few reads, so it may be taken ten times
    /// a second.
    pub fn look(&mut self, memory: &dyn Memory, modules: &Modules) -> Vec<Stretch> {
        if self.hotspot.is_none() {
            self.hotspot = modules.iter().find_map(|module| HotSpot::of(memory, module));
        }
        let mut stretches = self.hotspot.as_mut().map_or_else(Vec::new, |hotspot| hotspot.look(memory));
        stretches.extend(self.perf_map.look(memory, modules));
        stretches
    }

    /// Returns the machine's name for the code at an address: a Java method or a routine.
    pub fn name_at(&self, memory: &dyn Memory, address: u64) -> Option<String> {
        self.made_at(memory, address).map(|made| made.name)
    }

    /// Returns the function at an address.
    pub(super) fn made_at(&self, memory: &dyn Memory, address: u64) -> Option<Made> {
        let by_hotspot = || self.hotspot.as_ref()?.made_at(memory, address);
        by_hotspot().or_else(|| self.perf_map.made_at(address))
    }
}
