//! What is known of the code that a process makes while it runs.

use std::collections::HashMap;
use std::io;

use super::breakpoints::Table;
use super::findings::{Findings, Module};
use super::guard::SpaceMemory;
use crate::code::Counts;
use crate::code::generated::{Generated, Origin, Stretch};
use crate::memory::Memory;

/// What one space has made.
#[derive(Debug)]
pub(super) struct Made {
    pub machine: Generated,
    /// Which of the findings' modules it is, by who tells.
    modules: Vec<(Origin, usize)>,
    /// What was counted of a stretch, by its start: it may be told again, better.
    counted: HashMap<u64, (usize, Counts, Counts)>,
}

impl Made {
    /// Nothing yet.
    pub fn new(pid: i32) -> Made {
        Made { machine: Generated::new(pid), modules: Vec::new(), counted: HashMap::new() }
    }

    /// What the machine calls the code at an address.
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
        findings.modules.push(Module { path, ..Module::default() });
        let module = findings.modules.len() - 1;
        self.modules.push((origin, module));
        module
    }

    /// What a stretch holds now in place of what it held.
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

/// Memory as the program knows it: with what stands under our breakpoints.
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
