//! What is known of a region's instructions of interest, after the flow through it was followed (`flow`).

use std::ops::Range;

use iced_x86::FlowControl;

use super::classes::{Class, Counts};
use super::find::LONGEST;
use super::flow::{INSIDE, PROVEN, STARTS, Search, TARGET, search};
use super::region::Region;

/// An instruction that is proven to begin where it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proven {
    pub address: u64,
    pub length: u8,
    pub class: Option<Class>,
    /// Something may jump here.
    pub is_target: bool,
    /// What comes next in memory does not always run next.
    pub ends_block: bool,
}

/// What is known after looking.
#[derive(Default)]
pub(super) struct Outcome {
    /// Those around the candidates, in the order of addresses.
    pub proven: Vec<Proven>,
    /// Instructions of a class that a sweep finds and that are not proven.
    pub unproved: Counts,
    /// Whether an instruction is proven to begin where a function does, for each of the region's.
    pub entries: Vec<bool>,
}

/// Looks at a region, where there are `candidates`: addresses in it, in order.
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

/// What is so far from the next candidate is passed over. A straight run of instructions that is longer has two places to stop at.
const FAR: u64 = 4096;
/// Before a candidate so much is looked at: a sweep that begins in the middle of an instruction has found its feet by then.
const RUN_UP: u64 = 256;

/// The parts of a region in which there are candidates.
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
        // Not in the middle of what is proven.
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
            // A sweep over what is not proven, which finds its feet again where something is.
            let length = if instruction.is_invalid() { 1 } else { instruction.len().max(1) };
            let until = marks[at + 1..].iter().take(length - 1).position(|known| known & STARTS != 0);
            at += until.map_or(length, |before| before + 1);
        }
    }
}
