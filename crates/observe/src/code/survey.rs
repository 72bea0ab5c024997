//! The search through an image's code. Only regions that may hold an instruction of a class are decoded.

use std::ops::Range;

use super::bounds::Functions;
use super::classes::{Class, Counts};
use super::outcome::{self, Outcome};
use super::parallel;
use super::pointers::Pointers;
use super::reach;
use super::region::{Code, Region, of_region};
use super::sites::{self, Site};

/// The results of the search.
pub(super) struct Survey {
    pub functions: Functions,
    pub sites: Vec<Site>,
    pub proven: Counts,
    pub unproved: Counts,
}

impl Survey {
    /// Searches all code. `pointers` is called only where the data's addresses are needed.
    pub fn of(
        functions: Functions,
        code: &[Code],
        executable: &[Range<u64>],
        is_absolute: bool,
        pointers: impl FnOnce() -> Pointers,
    ) -> Survey {
        let candidates: Vec<Vec<u64>> = code.iter().map(Code::candidates).collect();
        let mut survey = Survey::new(functions);
        survey.search(code, &candidates, &[], is_absolute);
        // If instructions stay unproved, the rest of the code and the data are asked for more entries.
        if survey.unproved.iter().any(|(class, _)| is_wanted(class)) && reach::is_worth_it(code) {
            let mut functions = survey.functions;
            let entries = reach::everywhere(&mut functions, code, executable, is_absolute, pointers());
            survey = Survey::new(functions);
            survey.search(code, &candidates, &entries, is_absolute);
        }
        survey.sites.sort_by_key(|site| site.address);
        survey
    }

    fn new(functions: Functions) -> Survey {
        Survey { functions, sites: Vec::new(), proven: Counts::default(), unproved: Counts::default() }
    }

    fn search(&mut self, code: &[Code], candidates: &[Vec<u64>], entries: &[u64], is_absolute: bool) {
        let regions = self.functions.regions();
        for (code, candidates) in code.iter().zip(candidates) {
            self.search_in(code, candidates, &regions, entries, is_absolute);
        }
    }

    fn search_in(
        &mut self,
        code: &Code,
        candidates: &[u64],
        regions: &[(Range<u64>, Range<usize>)],
        entries: &[u64],
        is_absolute: bool,
    ) {
        let parts = parts_with(code, candidates, regions);
        let outcomes = parallel::map(&parts, 16, |part| {
            let Some(members) = &part.members else {
                // No function is known here, so nothing can be proven.
                let nothing =
                    Region { code: code.at(&part.range), start: part.range.start, ..Region::default() };
                return outcome::analyse(&nothing, part.candidates);
            };
            let look = |region: &Region<'_>| outcome::analyse(region, part.candidates);
            of_region(&self.functions, code, &part.range, members, entries, is_absolute, look)
        });
        for (part, outcome) in parts.iter().zip(outcomes) {
            match &part.members {
                Some(members) => self.take(code, members, &outcome),
                None => self.unproved.merge(&outcome.unproved),
            }
        }
    }

    fn take(&mut self, code: &Code, members: &Range<usize>, outcome: &Outcome) {
        let functions = &self.functions;
        let read = |address: u64, length: usize| code.at(&(address..address + length as u64));
        let (sites, proven) = sites::of(&outcome.proven, |address| functions.at(address), read);
        self.sites.extend(sites);
        self.proven.merge(&proven);
        self.unproved.merge(&outcome.unproved);
        for (function, is_proven) in self.functions.list[members.clone()].iter_mut().zip(&outcome.entries) {
            function.entry_proven = *is_proven;
        }
    }
}

/// A part of the code with candidates in it: a region of functions, or the gap between two.
struct Part<'a> {
    range: Range<u64>,
    /// The functions in it; `None` for a gap.
    members: Option<Range<usize>>,
    candidates: &'a [u64],
}

/// Returns the parts of the code that hold candidates.
fn parts_with<'a>(
    code: &Code,
    candidates: &'a [u64],
    regions: &[(Range<u64>, Range<usize>)],
) -> Vec<Part<'a>> {
    let mut rest = candidates;
    let mut parts = Vec::new();
    let mut put = |range: Range<u64>, members: Option<Range<usize>>| {
        let (inside, behind) = rest.split_at(rest.partition_point(|candidate| *candidate < range.end));
        rest = behind;
        if !inside.is_empty() && range.start < range.end {
            parts.push(Part { range, members, candidates: inside });
        }
    };
    let mut covered = code.start;
    for (range, members) in regions {
        if range.start < code.end() && code.start < range.end {
            put(covered..range.start, None);
            covered = range.end.min(code.end());
            put(range.start..covered, Some(members.clone()));
        }
    }
    put(covered..code.end(), None);
    parts
}

/// Returns true when proof of a class is worth decoding everything. PadLock's instructions are in many
/// programs and run in few.
fn is_wanted(class: Class) -> bool {
    class.is_proof() && class != Class::Padlock
}
