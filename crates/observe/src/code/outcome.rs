//! Classifies a region's instructions of interest, after the flow through the region was followed (`flow`).

use std::ops::Range;

use iced_x86::FlowControl;

use super::classes::{Class, Counts};
use super::find::LONGEST;
use super::flow::{INSIDE, PROVEN, STARTS, Search, TARGET, search};
use super::region::Region;

/// An instruction that is proven to begin at its address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proven {
    pub address: u64,
    pub length: u8,
    pub class: Option<Class>,
    /// True when something may jump here.
    pub is_target: bool,
    /// True when the next instruction in memory does not always run next.
    pub ends_block: bool,
}

/// The results for one region.
#[derive(Default)]
pub(super) struct Outcome {
    /// The proven instructions around the candidates, in the order of addresses.
    pub proven: Vec<Proven>,
    /// Instructions of a class that a sweep finds without proof.
    pub unproved: Counts,
    /// For each of the region's functions, whether an instruction is proven to begin at its start.
    pub entries: Vec<bool>,
}

/// Searches a region around its `candidates`, which are addresses in order.
pub(super) fn analyse(region: &Region<'_>, candidates: &[u64]) -> Outcome {
    let search = search(region);
    let mut outcome = Outcome::default();
    for stretch in stretches(region, candidates) {
        outcome.look_at(&search, stretch);
    }
    let is_proven = |start| search.offset(start).is_some_and(|at| search.bytes[at] & PROVEN == STARTS);
    outcome.entries = region.functions.iter().map(|(function, _)| is_proven(function.start)).collect();
    outcome
}

/// The distance from one candidate to the next above which the bytes between are skipped. A longer straight
/// run of instructions becomes two sites.
const FAR: u64 = 4096;
/// The bytes to decode before a candidate. A sweep that begins inside an instruction has fallen into step by
/// then.
const RUN_UP: u64 = 256;

/// Returns the parts of a region that hold candidates.
fn stretches(region: &Region<'_>, candidates: &[u64]) -> impl Iterator<Item = Range<usize>> {
    candidates.chunk_by(|one, next| next - one < FAR).filter_map(|near| {
        let first = near.first()?.saturating_sub(RUN_UP).max(region.start) - region.start;
        let end = (near.last()? + LONGEST as u64).min(region.start + region.code.len() as u64) - region.start;
        Some(usize::try_from(first).ok()?..usize::try_from(end).ok()?)
    })
}

impl Outcome {
    fn look_at(&mut self, search: &Search<'_>, stretch: Range<usize>) {
        let marks = &search.bytes[..stretch.end];
        // A sweep does not begin in the middle of a proven instruction.
        let begins = |at: &usize| marks[*at] & PROVEN != INSIDE;
        let mut at = stretch.clone().find(begins).unwrap_or(stretch.end);
        while at < marks.len() {
            let instruction = search.decode(at);
            let class = Class::of(&instruction);
            if marks[at] & PROVEN == STARTS {
                self.proven.push(Proven {
                    address: instruction.ip(),
                    length: instruction.len() as u8,
                    class,
                    is_target: marks[at] & TARGET != 0,
                    ends_block: instruction.flow_control() != FlowControl::Next,
                });
                at += instruction.len();
                continue;
            }
            if let Some(class) = class {
                self.unproved.add(class);
            }
            // The sweep over unproven bytes falls back into step at the next proven instruction.
            let length = if instruction.is_invalid() { 1 } else { instruction.len().max(1) };
            let until = marks[at + 1..].iter().take(length - 1).position(|known| known & STARTS != 0);
            at += until.map_or(length, |before| before + 1);
        }
    }
}
