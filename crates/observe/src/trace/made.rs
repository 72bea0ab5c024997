//! Knowledge of the code that a process makes while it runs.

use std::collections::HashMap;
use std::io;

use super::breakpoints::Table;
use super::findings::{Findings, Module};
use super::guard::SpaceMemory;
use crate::code::Counts;
use crate::code::generated::{Generated, Origin, Stretch};
use crate::memory::Memory;

/// The generated code of one space.
#[derive(Debug)]
pub(super) struct Made {
    pub machine: Generated,
    /// The index of the findings' module for each source.
    modules: Vec<(Origin, usize)>,
    /// The module and the counts for each stretch, by its start, because a stretch may be reported again in
    /// more detail.
    counted: HashMap<u64, (usize, Counts, Counts)>,
}

impl Made {
    /// Knows nothing yet.
    pub fn new(pid: i32) -> Made {
        Made { machine: Generated::new(pid), modules: Vec::new(), counted: HashMap::new() }
    }

    /// Returns the machine's name for the code at an address.
    pub fn name_at(&self, memory: &dyn Memory, address: u64) -> Option<String> {
        self.machine.name_at(memory, address)
    }

    pub fn module(&mut self, origin: Origin, pid: i32, findings: &mut Findings) -> usize {
        if let Some((_, module)) = self.modules.iter().find(|(known, _)| *known == origin) {
            return *module;
        }
        let path = match origin {
            Origin::HotSpot => format!("[code that HotSpot made in process {pid}]"),
            Origin::PerfMap => format!("[code that process {pid} made]"),
        };
        findings.modules.push(Module { path: path.into(), ..Module::default() });
        let module = findings.modules.len() - 1;
        self.modules.push((origin, module));
        module
    }

    /// Replaces the counts of a stretch.
    pub fn count(&mut self, stretch: &Stretch, module: usize, findings: &mut Findings) {
        self.counted.insert(stretch.start, (module, stretch.proven, stretch.unproved));
        let found = &mut findings.modules[module];
        (found.watched, found.unproved) = (Counts::default(), Counts::default());
        for (_, proven, unproved) in self.counted.values().filter(|counted| counted.0 == module) {
            found.watched.merge(proven);
            found.unproved.merge(unproved);
        }
        found.present = found.watched.iter().chain(found.unproved.iter()).map(|(class, _)| class).collect();
    }
}

/// The process's memory without our breakpoints: the original bytes stand in their place.
pub(super) struct AsItWas<'a> {
    pub memory: &'a SpaceMemory,
    pub table: &'a Table,
}

impl Memory for AsItWas<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.memory.read(address, buffer)?;
        let end = address.saturating_add(buffer.len() as u64);
        for (at, breakpoint) in self.table.between(address..end) {
            let byte = &mut buffer[(at - address) as usize];
            if breakpoint.armed && *byte == super::breakpoints::INT3 {
                *byte = breakpoint.original.bytes()[0];
            }
        }
        Ok(())
    }
}
