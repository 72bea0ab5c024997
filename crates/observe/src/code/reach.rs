//! What code that is proven says of code that no table tells of.
//!
//! Functions written in assembly language often have neither a size nor an entry for unwinding, and stripping takes their
//! symbols. But somebody calls them, or takes their address to call them later. A call is proof of an instruction. An
//! address may be that of a table, so it counts only where a function may begin, and where nobody loads from; and like
//! every other entry only if all that is reached from there is possible.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::bounds::Functions;
use super::flow;
use super::survey::{Code, of_region};

/// More code is not decoded for this; a program so large has the tables.
const MOST_BYTES: usize = 128 << 20;
/// What is found may lead to more, which is followed so often.
const MOST_ROUNDS: usize = 16;
/// Where assemblers and compilers begin functions whose address is taken.
const ALIGNMENT: u64 = 16;

pub(super) fn is_worth_it(code: &[Code]) -> bool {
    code.iter().map(|code| code.bytes.len()).sum::<usize>() <= MOST_BYTES
}

/// Decodes everything, and adds the functions that are reached. Returns where else functions are entered: in their middle,
/// by others.
pub(super) fn everywhere(
    functions: &mut Functions,
    code: &[Code],
    executable: &[Range<u64>],
    is_absolute: bool,
) -> Vec<u64> {
    let mut search = Search::default();
    for _ in 0..MOST_ROUNDS {
        let entries: Vec<u64> = search.entered.iter().copied().collect();
        for (range, members) in functions.regions() {
            search.look_at(functions, code, range, &members, &entries, is_absolute);
        }
        let starts = search.starts(functions, code);
        if starts.is_empty() {
            break;
        }
        functions.add(starts, executable);
    }
    search.entered.into_iter().collect()
}

#[derive(Default)]
struct Search {
    done: HashSet<(u64, u64)>,
    called: BTreeSet<u64>,
    pointed_to: BTreeSet<u64>,
    loaded_from: BTreeSet<u64>,
    entered: BTreeSet<u64>,
}

impl Search {
    fn look_at(
        &mut self,
        functions: &Functions,
        code: &[Code],
        range: Range<u64>,
        members: &Range<usize>,
        entries: &[u64],
        is_absolute: bool,
    ) {
        let within = |code: &&Code| code.start <= range.start && range.end <= code.end();
        let Some(code) = code.iter().find(within) else { return };
        if !self.done.insert((range.start, range.end)) {
            return;
        }
        let look = flow::references;
        let found = of_region(functions, code, &range, members, entries, is_absolute, look);
        self.called.extend(found.leaves_to);
        self.pointed_to.extend(found.points_to);
        self.loaded_from.extend(found.loads_from);
    }

    /// Starts that are new; the rest of what was called is entered in the middle of something.
    fn starts(&mut self, functions: &Functions, code: &[Code]) -> Vec<u64> {
        let is_code = |address: &u64| code.iter().any(|code| (code.start..code.end()).contains(address));
        let may_start = |address: &u64| {
            let inside = functions.at(*address).map(|function| &functions.list[function]);
            inside.is_none_or(|function| function.is_endless() && function.start != *address)
        };
        let (starts, middles): (Vec<u64>, Vec<u64>) =
            std::mem::take(&mut self.called).into_iter().filter(is_code).partition(may_start);
        self.entered.extend(middles.into_iter().filter(|address| !functions.starts_at(*address)));
        let pointed_to = std::mem::take(&mut self.pointed_to).into_iter().filter(is_code);
        let pointed_to = pointed_to
            .filter(|address| address % ALIGNMENT == 0 && functions.at(*address).is_none())
            .filter(|address| !self.loaded_from.contains(address));
        starts.into_iter().chain(pointed_to).collect()
    }
}
