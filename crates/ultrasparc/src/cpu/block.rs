//! Basic blocks of instructions made ready, and how they are found again.

use crate::cpu::{Cpu, Op};
use crate::isa::Word;

/// Instructions that are executed by one handler where they follow one another in a block, because together they are
/// quicker.
///
/// Each family may have a list; [`FUSIONS`] is all of them, tried in order, so a longer sequence comes first. What `make`
/// answers must do exactly what the instructions would. It may trap having changed nothing: they are then executed one
/// by one, which finds the one that traps, and so nothing else has to be done for precise traps. A control transfer can
/// only be the last of them; its delay slot is not part of the sequence.
pub struct Fusion {
    /// The names of the rows, in the order of execution. A name that ends in `*` stands for all rows that begin so.
    pub rows: &'static [&'static str],
    /// Makes one op of the instructions' words, the first of which is at that address, or does not.
    pub make: fn(&[Word], u64) -> Option<Op>,
}

/// The families' fusions.
pub const FUSIONS: &[&[Fusion]] = &[];

/// What was executed: see [`Cpu::blocks`].
#[derive(Clone, Copy, Debug)]
pub struct Executed<'a> {
    /// The address of the first word.
    pub start: u64,
    /// The words, one after another in memory.
    pub words: &'a [u32],
    /// How often they were executed.
    pub executions: u64,
    /// How often, of these, the last word was annulled.
    pub annulled: u64,
}

/// The blocks.
#[derive(Default)]
pub(crate) struct Cache {}

impl Cpu {
    /// What was executed so far: runs of words with their counts. The same word may be in several.
    pub fn blocks(&self) -> impl Iterator<Item = Executed<'_>> {
        let _ = &self.cache;
        std::iter::empty()
    }
}
