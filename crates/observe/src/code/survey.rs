//! The search through the code of an image: only regions that may hold an instruction of a class are decoded.

use std::ops::Range;

use super::bounds::Functions;
use super::classes::{Class, Counts};
use super::find;
use super::flow::{self, Outcome, Region};
use super::pointers::Pointers;
use super::reach;
use super::sites::{self, Site};

/// Executable bytes, and where they are.
pub(super) struct Code {
    pub start: u64,
    pub bytes: Vec<u8>,
}

impl Code {
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The bytes of a range that lies in it.
    pub fn at(&self, range: &Range<u64>) -> &[u8] {
        &self.bytes[(range.start - self.start) as usize..(range.end - self.start) as usize]
    }
}

/// What was found.
pub(super) struct Survey {
    pub functions: Functions,
    pub sites: Vec<Site>,
    pub proven: Counts,
    pub unproved: Counts,
}

impl Survey {
    /// Searches through all code. What data says of it is asked for only where that is needed.
    pub fn of(
        functions: Functions,
        code: &[Code],
        executable: &[Range<u64>],
        is_absolute: bool,
        pointers: impl FnOnce() -> Pointers,
    ) -> Survey {
        let mut survey = Survey::new(functions);
        survey.search(code, &[], is_absolute);
        // Where something stays unproved, all that other code says of it is looked at too.
        if survey.unproved.iter().any(|(class, _)| is_wanted(class)) && reach::is_worth_it(code) {
            let mut functions = survey.functions;
            let entries = reach::everywhere(&mut functions, code, executable, is_absolute, pointers());
            survey = Survey::new(functions);
            survey.search(code, &entries, is_absolute);
        }
        survey.sites.sort_by_key(|site| site.address);
        survey
    }

    fn new(functions: Functions) -> Survey {
        Survey { functions, sites: Vec::new(), proven: Counts::default(), unproved: Counts::default() }
    }

    fn search(&mut self, code: &[Code], entries: &[u64], is_absolute: bool) {
        let regions = self.functions.regions();
        for code in code {
            self.search_in(code, &regions, entries, is_absolute);
        }
    }

    fn search_in(
        &mut self,
        code: &Code,
        regions: &[(Range<u64>, Range<usize>)],
        entries: &[u64],
        is_absolute: bool,
    ) {
        let mut candidates = Vec::new();
        find::candidates(&code.bytes, |place| candidates.push(code.start + place as u64));
        let mut rest = candidates.as_slice();
        let mut covered = code.start;
        for (range, members) in regions {
            if range.start >= code.end() || range.end <= code.start {
                continue;
            }
            rest = self.between(code, covered..range.start, rest);
            let range = range.start..range.end.min(code.end());
            let count = rest.partition_point(|candidate| *candidate < range.end);
            if count > 0 {
                let outcome =
                    of_region(&self.functions, code, &range, members, entries, is_absolute, flow::analyse);
                self.take(code, members, &outcome);
            }
            rest = &rest[count..];
            covered = range.end;
        }
        self.between(code, covered..code.end(), rest);
    }

    /// Counts what there seems to be where nothing says that there is a function; returns the candidates behind it.
    fn between<'a>(&mut self, code: &Code, range: Range<u64>, candidates: &'a [u64]) -> &'a [u64] {
        let count = candidates.partition_point(|candidate| *candidate < range.end);
        if count > 0 && range.start < range.end {
            let code = code.at(&range);
            let nothing = Region { code, start: range.start, ..Region::default() };
            self.unproved.merge(&flow::analyse(&nothing).unproved);
        }
        &candidates[count..]
    }

    fn take(&mut self, code: &Code, members: &Range<usize>, outcome: &Outcome) {
        let functions = &self.functions;
        let read = |address: u64, length: usize| code.at(&(address..address + length as u64));
        let (sites, proven) = sites::of(&outcome.proven, |address| functions.at(address), read);
        self.sites.extend(sites);
        self.proven.merge(&proven);
        self.unproved.merge(&outcome.unproved);
        for function in &mut self.functions.list[members.clone()] {
            let at = outcome.proven.binary_search_by_key(&function.start, |proven| proven.address);
            function.entry_proven = at.is_ok();
        }
    }
}

/// Whether proof of a class is worth decoding everything. PadLock's instructions are in many programs and run in few.
fn is_wanted(class: Class) -> bool {
    class.is_proof() && class != Class::Padlock
}

/// Looks in some way at the region of some functions. `entries` are sorted, and may lie anywhere.
pub(super) fn of_region<T>(
    functions: &Functions,
    code: &Code,
    range: &Range<u64>,
    members: &Range<usize>,
    entries: &[u64],
    is_absolute: bool,
    look: impl FnOnce(&Region<'_>) -> T,
) -> T {
    let list: Vec<_> = functions.list[members.clone()]
        .iter()
        .map(|function| (function.start..function.end, !function.is_endless()))
        .collect();
    let first = entries.partition_point(|entry| *entry < range.start);
    let count = entries[first..].partition_point(|entry| *entry < range.end);
    look(&Region {
        start: range.start,
        code: code.at(range),
        functions: &list,
        entries: &entries[first..first + count],
        is_absolute,
        starts_at: &|address| functions.starts_at(address),
    })
}
