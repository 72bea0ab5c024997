//! Code that a process makes while it runs: what its machine tells of it is watched, too.

use std::collections::HashMap;
use std::io;
use std::time::Instant;

use super::breakpoints::{Armed, Original, Table};
use super::findings::{Findings, Mode, Module};
use super::guard::{Guard, SpaceMemory};
use super::modules::{Modules, Spot, function_of};
use super::space::Space;
use crate::code::generated::{Generated, Origin, Stretch};
use crate::code::{Classes, Counts};
use crate::memory::Memory;

/// What one space has made.
#[derive(Debug)]
pub(super) struct Made {
    machine: Generated,
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

    /// What is known of the machine's code.
    pub fn machine(&self) -> &Generated {
        &self.machine
    }

    /// What the machine calls the code at an address.
    pub fn name_at(&self, memory: &dyn Memory, address: u64) -> Option<String> {
        self.machine.name_at(memory, address)
    }

    fn module(&mut self, origin: Origin, pid: i32, findings: &mut Findings) -> usize {
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
    fn count(&mut self, stretch: &Stretch, module: usize, findings: &mut Findings) {
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

/// Asks the machine of a space what it has made, and arms that. The modules that came into the findings.
pub(super) fn look(
    space: &mut Space,
    modules: &mut Modules,
    guard: &mut Guard,
    findings: &mut Findings,
) -> Vec<usize> {
    let started = Instant::now();
    let pid = space.pid();
    let mut made = space.made.take().unwrap_or_else(|| Made::new(pid));
    let before = findings.modules.len();
    let stretches =
        made.machine.look(&AsItWas { memory: &space.memory, table: &space.table }, &space.modules);
    for stretch in stretches {
        let module = made.module(stretch.origin, pid, findings);
        made.count(&stretch, module, findings);
        arm(&stretch, module, space, modules, guard, findings);
        findings.cost.images += 1;
    }
    space.made = Some(made);
    findings.cost.looking += started.elapsed();
    (before..findings.modules.len()).collect()
}

fn arm(
    stretch: &Stretch,
    module: usize,
    space: &mut Space,
    modules: &mut Modules,
    guard: &mut Guard,
    findings: &mut Findings,
) {
    let mode = findings.mode;
    for spot in spots(stretch, module, mode, findings) {
        let Some(original) = spot.original else { continue };
        // What was told before of the same place is known by that.
        if space.table.get(spot.address).is_some_and(|known| known.original == original) {
            continue;
        }
        space.table.know(spot.address, original, modules.spots.len());
        let armed = space.table.arm(&space.memory, &mut guard.record(space.id), spot.address);
        if matches!(armed, Ok(Armed::Stands)) {
            findings.cost.armed += 1;
        } else {
            findings.modules[module].unwatchable += 1;
        }
        modules.spots.push(spot);
    }
}

/// The places of a stretch. Their functions come into the findings; one that is told again is the same.
fn spots(stretch: &Stretch, module: usize, mode: Mode, findings: &mut Findings) -> Vec<Spot> {
    let mut spots: Vec<Spot> = Vec::new();
    let mut indices: HashMap<usize, usize> = HashMap::new();
    for site in &stretch.sites {
        let index = *indices.entry(site.function).or_insert_with(|| {
            let function = function_of(&stretch.functions[site.function], None);
            let functions = &mut findings.modules[module].functions;
            let same =
                functions.iter().position(|f| (f.address, &f.name) == (function.address, &function.name));
            same.unwrap_or_else(|| {
                functions.push(function);
                functions.len() - 1
            })
        });
        let function = &mut findings.modules[module].functions[index];
        function.present = function.present.union(site.classes);
        let (address, classes, original) = (site.address, site.classes, Original::new(site.bytes()));
        spots.push(Spot {
            address,
            module,
            function: index,
            classes,
            entry: false,
            original,
            unwatchable: false,
        });
    }
    if mode == Mode::Once {
        return spots;
    }
    for (of_stretch, index) in indices {
        let found = &stretch.functions[of_stretch];
        if !found.entry_proven {
            continue;
        }
        findings.modules[module].functions[index].entries.get_or_insert(0);
        if let Some(spot) = spots.iter_mut().find(|spot| spot.address == found.start) {
            spot.entry = true;
            continue;
        }
        let code = stretch.bytes.get((found.start - stretch.start) as usize..).unwrap_or(&[]);
        let original = Original::first(code, found.start);
        let (address, classes) = (found.start, Classes::NONE);
        spots.push(Spot {
            address,
            module,
            function: index,
            classes,
            entry: true,
            original,
            unwatchable: false,
        });
    }
    spots
}
