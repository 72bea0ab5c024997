//! Watches the code that a process makes while it runs, as far as its virtual machine describes it.

use std::collections::HashMap;
use std::time::Instant;

use super::breakpoints::{Armed, Original};
use super::findings::{Findings, Mode};
use super::guard::Guard;
use super::made::{AsItWas, Made};
use super::modules::{Modules, Spot, function_of};
use super::space::Space;
use crate::code::Classes;
use crate::code::generated::Stretch;

/// Asks a space's virtual machine for new code, and arms it. Returns the modules that are new in the
/// findings.
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
        // The place is known already, with the same instruction.
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

/// Returns the places of a stretch, and puts their functions into the findings. A function that is already
/// there is used again.
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
