//! Code that a program makes while it runs: what virtual machines tell of theirs.
//!
//! Nothing is guessed from memory that happens to be executable: code counts where the machine that made it says
//! where a function begins.

pub(super) mod hotspot;
mod perf_map;
mod stretch;

use super::modules::Modules;
use crate::memory::Memory;
use hotspot::HotSpot;
use perf_map::PerfMap;
use stretch::Made;
pub use stretch::{Origin, Stretch};

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
