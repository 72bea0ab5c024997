//! A ring of control words in memory, and the operation whose words are being taken from it.

use super::Kind;
use super::codes::Model;
use super::control_word::{Control, ControlWord, WORD_BYTES};
use super::diagnostics::Latches;
use super::fault::Fault;
use super::operation::{Block, Limits, Task};
use super::physical::{BusError, Page, Physical, write_word};

/// The place of a ring of words, and how far it was read.
#[derive(Default)]
pub(crate) struct Ring {
    pub head: u64,
    pub tail: u64,
    pub first: u64,
    /// The address of the last word, not of the end.
    pub last: u64,
    /// The operation whose words are being taken, and the place of its first word.
    block: Option<Block>,
    begun: u64,
    /// Bytes of source that the last word added.
    pub brought: usize,
}

impl Ring {
    /// A ring of that many words.
    pub fn new(base: u64, words: u64) -> Ring {
        Ring { head: base, tail: base, first: base, last: base + (words - 1) * WORD_BYTES, ..Ring::default() }
    }

    /// The place after another.
    pub fn after(&self, place: u64) -> u64 {
        if place == self.last { self.first } else { place + WORD_BYTES }
    }

    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// True if an operation's first words were taken and its last was not.
    pub fn in_block(&self) -> bool {
        self.block.is_some()
    }

    /// Goes back to the beginning of the operation under way, which is then done again from there.
    pub fn abort(&mut self) {
        if self.block.take().is_some() {
            self.head = self.begun;
        }
    }

    /// Drops the operation under way, because it ended or failed.
    pub fn forget_block(&mut self) {
        self.block = None;
    }

    /// The kind of work of a word at the head.
    pub fn kind(&self, model: Model, word: &ControlWord) -> Kind {
        let task = match &self.block {
            Some(block) => Ok(block.task()),
            None => Task::of(model, word.control),
        };
        task.map_or(Kind::Refused, Kind::Control)
    }

    /// Executes the word at the head as far as memory is concerned, and leaves the head. Answers if to interrupt.
    pub fn execute(
        &mut self,
        model: Model,
        limits: Option<&Limits>,
        word: &ControlWord,
        memory: &mut dyn Physical,
        latches: &mut Latches,
    ) -> Result<bool, Fault> {
        let ends = word.control.end_of_block();
        let before = self.block.as_ref().map_or(0, Block::bytes);
        self.brought = 0;
        let taken = match self.block.take() {
            Some(mut block) => block.go_on(limits, word, memory).map(|()| block),
            None => {
                self.begun = self.head;
                Block::begin(model, limits, word, memory)
            }
        };
        let block = taken?;
        self.brought = block.bytes() - before;
        if !ends {
            self.block = Some(block);
            return Ok(false);
        }
        let results = block.results(limits, memory)?;
        for (_, address, bytes) in &results.writes {
            memory.write(*address, bytes)?;
        }
        *latches = results.latches;
        Ok(block.interrupt)
    }
}

/// Writes the status of a word into a user's queue, where the process sees it.
pub(crate) fn mark(page: &mut Page<'_>, place: u64, control: Control) -> Result<(), BusError> {
    write_word(page, place, control.0)
}
