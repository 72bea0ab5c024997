//! Finds functions that no table mentions, through the proven code and the data that refer to them.
//!
//! Functions written in assembly language often have neither a size nor an unwinding entry, and stripping
//! takes their symbols. But other code calls them or takes their address, or a pointer in the data holds it
//! (`pointers`). A call proves that an instruction begins at its target, and so does an entry for the loader.
//! An address that is only taken may be that of a table. It counts only where a function seems to begin and
//! nothing loads from it. Like every other entry, it counts only if all code that it reaches is possible.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, Mnemonic};

use super::bounds::Functions;
use super::flow::{self, References};
use super::parallel;
use super::pointers::Pointers;
use super::region::{Code, Region, of_region};

/// The most code that is decoded for this. Larger programs have the tables.
const MOST_BYTES: usize = 128 << 20;
/// The number of rounds, as each function found may lead to more.
const MOST_ROUNDS: usize = 16;
/// The alignment that assemblers and compilers give functions whose address is taken.
const ALIGNMENT: u64 = 16;

pub(super) fn is_worth_it(code: &[Code]) -> bool {
    code.iter().map(|code| code.bytes.len()).sum::<usize>() <= MOST_BYTES
}

/// Decodes everything and adds the functions that are reached. Returns the other addresses at which code is
/// entered, in the middle of functions.
pub(super) fn everywhere(
    functions: &mut Functions,
    code: &[Code],
    executable: &[Range<u64>],
    is_absolute: bool,
    pointers: Pointers,
) -> Vec<u64> {
    let mut search = Search { called: pointers.called.into_iter().collect(), ..Search::default() };
    search.pointed_to.extend(pointers.pointed_to);
    let starts = search.starts(functions, code, is_absolute);
    functions.add(starts, executable);
    for _ in 0..MOST_ROUNDS {
        search.look(functions, code, is_absolute);
        let starts = search.starts(functions, code, is_absolute);
        if starts.is_empty() {
            break;
        }
        functions.add(starts, executable);
    }
    search.entered.into_iter().collect()
}

/// Returns true when a function seems to begin at `address`: the address has the mark of indirect targets, or
/// follows a filled gap or another function's return. In programs linked for fixed addresses, any number may
/// look like an address. There, a single byte before it is too little evidence, as it may be part of an
/// instruction.
fn looks_like_start(code: &[Code], address: u64, is_absolute: bool) -> bool {
    const MARK: [u8; 4] = [0xF3, 0x0F, 0x1E, 0xFA];
    const RETURN: u8 = 0xC3;
    let Some(code) = code.iter().find(|code| (code.start..code.end()).contains(&address)) else {
        return false;
    };
    let (before, behind) = code.bytes.split_at((address - code.start) as usize);
    let gap = (1..ALIGNMENT as usize).rev().find(|length| {
        let gap = before.len().checked_sub(*length).map(|start| &before[start..]);
        gap.is_some_and(is_filled)
    });
    let gap = gap.unwrap_or(0);
    let is_behind_return = before[..before.len() - gap].last() == Some(&RETURN);
    let is_behind_gap = if is_absolute { gap > 1 || (gap == 1 && is_behind_return) } else { gap > 0 };
    behind.starts_with(&MARK) || is_behind_gap || (is_behind_return && !is_absolute)
}

fn is_in(code: &[Code], address: u64) -> bool {
    code.iter().any(|code| (code.start..code.end()).contains(&address))
}

/// Returns true when the bytes are only what assemblers and linkers fill gaps with.
fn is_filled(gap: &[u8]) -> bool {
    let mut decoder = Decoder::new(64, gap, DecoderOptions::NONE);
    decoder.iter().all(|filler| matches!(filler.mnemonic(), Mnemonic::Int3 | Mnemonic::Nop))
}

#[derive(Default)]
struct Search {
    /// The regions that were searched, by their start: their end at that time, and the end of the bytes that
    /// the result depends on.
    done: HashMap<u64, (u64, u64)>,
    called: BTreeSet<u64>,
    pointed_to: BTreeSet<u64>,
    loaded_from: HashSet<u64>,
    entered: BTreeSet<u64>,
}

/// The number of regions that a thread takes at once.
const BATCH: usize = 64;

impl Search {
    /// Searches all regions that are new, or that were cut too short the last time.
    fn look(&mut self, functions: &Functions, code: &[Code], is_absolute: bool) {
        let entries: Vec<u64> = self.entered.iter().copied().collect();
        let within = |range: &Range<u64>| {
            code.iter().find(|code| code.start <= range.start && range.end <= code.end())
        };
        let is_known = |range: &Range<u64>| {
            self.done.get(&range.start).is_some_and(|(end, needs)| range.end <= *end && *needs <= range.end)
        };
        let regions = functions.regions().into_iter().filter(|(range, _)| !is_known(range));
        let todo: Vec<_> =
            regions.filter_map(|(range, members)| Some((within(&range)?, range, members))).collect();
        let may_start = |address| address % ALIGNMENT == 0 && is_in(code, address);
        let found = parallel::map(&todo, BATCH, |(code, range, members)| {
            let look = |region: &Region<'_>| flow::references(&Region { may_start: &may_start, ..*region });
            of_region(functions, code, range, members, &entries, is_absolute, look)
        });
        for ((_, range, _), References { leaves_to, points_to, loads_from, needs }) in
            todo.into_iter().zip(found)
        {
            self.done.insert(range.start, (range.end, needs));
            self.called.extend(leaves_to);
            self.pointed_to.extend(points_to);
            self.loaded_from.extend(loads_from);
        }
    }

    /// Returns the new starts. Other targets of calls become entries into the middle of functions.
    fn starts(&mut self, functions: &Functions, code: &[Code], is_absolute: bool) -> Vec<u64> {
        let is_code = |address: &u64| is_in(code, *address);
        let may_start = |address: &u64| {
            let inside = functions.at(*address).map(|function| &functions.list[function]);
            inside.is_none_or(|function| function.is_endless() && function.start != *address)
        };
        let (starts, middles): (Vec<u64>, Vec<u64>) =
            std::mem::take(&mut self.called).into_iter().filter(is_code).partition(may_start);
        self.entered.extend(middles.into_iter().filter(|address| !functions.starts_at(*address)));
        let pointed_to = std::mem::take(&mut self.pointed_to).into_iter().filter(is_code);
        let pointed_to = pointed_to
            .filter(|address| address % ALIGNMENT == 0 && !self.loaded_from.contains(address))
            .filter(may_start)
            .filter(|address| looks_like_start(code, *address, is_absolute));
        starts.into_iter().chain(pointed_to).collect()
    }
}
