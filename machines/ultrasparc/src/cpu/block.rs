//! Basic blocks of instructions made ready, and how they are found again.
//!
//! A block ends with a control transfer and the instruction in its delay slot, or before anything that can't be in
//! its middle: the next page, or a control transfer in a delay slot. Blocks are linked to their successors when
//! execution first goes there. `flush`, and changes of what a page permits, make blocks dead; their counts stay.

use std::collections::HashMap;

use crate::cpu::pair::{compare_branch, pair};
use crate::cpu::{Cpu, Op, Trap};
use crate::isa::{self, Class, Decode, FUSIONS, Fusion, Word};
use crate::memory::PAGE_BYTES;

/// Words that were executed, with their counts: see [`Cpu::blocks`].
///
/// The counts are exact. If a trap left a block in the middle, the words before it are counted; the one that trapped
/// and those after it are not, because they will be executed again, or never. A software trap counts as executed.
/// Blocks that were flushed or whose pages changed keep their words and counts.
#[derive(Clone, Copy, Debug)]
pub struct Executed<'a> {
    /// The address of the first word.
    pub start: u64,
    /// The words, one after another in memory.
    pub words: &'a [u32],
    /// The number of times that they were executed.
    pub executions: u64,
    /// The number of these executions in which the last word was annulled.
    pub annulled: u64,
}

/// The longest block, in words without the delay slot.
const LONGEST: usize = 64;

/// Stands for no block, in a link that is not known yet.
pub(crate) const NONE: u32 = u32::MAX;

/// The size of the table of recently found blocks.
const RECENT: usize = 1 << 13;

/// A basic block.
pub(crate) struct Block {
    /// The ops that are executed in order.
    pub ops: Box<[Op]>,
    /// The op in the delay slot, which does nothing if the block ends otherwise.
    pub delay: Op,
    /// The numbers of the blocks that follow: first if the last transfer is not taken, then if it is.
    pub links: [u32; 2],
    /// The addresses at which execution goes on, in the same order.
    pub next: [u64; 2],
    /// The number of times that it was entered.
    pub executions: u64,
    /// The number of times that its delay slot was annulled.
    pub annulled: u64,
    /// The address of the first word.
    pub start: u64,
    /// True if no op could be made: its instructions are executed by [`Cpu::step`].
    pub stepped: bool,
    dead: bool,
    /// For each op, the place of its first word in the block; at the end, the place of the delay slot.
    pub places: Box<[u8]>,
    words: Box<[u32]>,
}

/// All blocks of a program, and the tables that find them by address.
#[derive(Default)]
pub(crate) struct Cache {
    pub blocks: Vec<Block>,
    places: HashMap<u64, u32>,
    recent: Vec<(u64, u32)>,
    /// Single instructions that were executed by themselves, by address and word.
    singles: HashMap<(u64, u32), u64>,
}

impl Cache {
    /// Finds the block at an address, and makes it first if there is none.
    pub fn find(&mut self, cpu: &mut Cpu, address: u64) -> Result<u32, Trap> {
        let place = (address >> 2) as usize % RECENT;
        match self.recent.get(place) {
            Some(&(there, number)) if there == address => return Ok(number),
            Some(_) => {}
            None => self.recent = vec![(u64::MAX, NONE); RECENT],
        }
        let number = match self.places.get(&address) {
            Some(&number) => number,
            None => self.make(cpu, address)?,
        };
        self.recent[place] = (address, number);
        Ok(number)
    }

    fn make(&mut self, cpu: &mut Cpu, address: u64) -> Result<u32, Trap> {
        let number = self.blocks.len() as u32;
        let block = Block::new(cpu, address)?;
        cpu.memory.mark_code(address);
        cpu.memory.mark_code(block.last());
        self.blocks.push(block);
        self.places.insert(address, number);
        Ok(number)
    }

    /// Makes the blocks of these pages dead.
    pub fn forget(&mut self, pages: &[u64]) {
        let of = |address: u64| pages.contains(&(address / PAGE_BYTES * PAGE_BYTES));
        for block in &mut self.blocks {
            if !block.dead && (of(block.start) || of(block.last())) {
                block.dead = true;
                self.places.remove(&block.start);
                (block.ops, block.places) = (Box::default(), Box::default());
            }
        }
        for at in 0..self.blocks.len() {
            self.blocks[at].links = self.blocks[at].links.map(|link| match self.blocks.get(link as usize) {
                Some(block) if !block.dead => link,
                _ => NONE,
            });
        }
        self.recent.fill((u64::MAX, NONE));
    }

    /// Counts an instruction that was executed by itself.
    pub fn count(&mut self, address: u64, word: u32) {
        *self.singles.entry((address, word)).or_default() += 1;
    }

    /// Corrects the count of a block that was entered and left after its first `words` words.
    pub fn count_part(&mut self, number: u32, words: usize) {
        let block = &mut self.blocks[number as usize];
        block.executions -= 1;
        for (place, &word) in block.words.iter().take(words).enumerate() {
            *self.singles.entry((block.start + 4 * place as u64, word)).or_default() += 1;
        }
    }
}

impl Block {
    fn new(cpu: &Cpu, start: u64) -> Result<Block, Trap> {
        let mut made = Making { start, address: start, words: Vec::new(), rows: Vec::new() };
        let end = made.collect(cpu)?;
        Ok(made.finish(end))
    }

    /// The address of the last word.
    fn last(&self) -> u64 {
        self.start + 4 * (self.words.len() as u64).saturating_sub(1)
    }
}

/// The way in which a block ends.
enum End {
    /// The block ends with a control transfer and its delay slot.
    Transfer,
    /// The block ends with its last word, and execution goes on after it.
    Open,
}

/// A block that is being made.
struct Making {
    start: u64,
    address: u64,
    words: Vec<u32>,
    rows: Vec<Option<&'static isa::Instruction>>,
}

impl Making {
    /// Takes words up to the end of the block.
    fn collect(&mut self, cpu: &Cpu) -> Result<End, Trap> {
        loop {
            let word = match cpu.memory.fetch(self.address) {
                Ok(word) => word,
                Err(_) if !self.words.is_empty() => return Ok(End::Open),
                Err(fault) => return Err(Trap::Memory(fault)),
            };
            let row = isa::find(word).filter(|row| cpu.has(row.needs));
            match row {
                Some(isa::Instruction { decode: Decode::Control(_), .. }) => {
                    let slot = cpu.memory.fetch(self.address + 4).ok();
                    let in_slot = slot.and_then(isa::find).filter(|row| cpu.has(row.needs));
                    let couple = in_slot.is_some_and(|row| matches!(row.decode, Decode::Control(_)));
                    let Some(slot) = slot.filter(|_| !couple) else { return Ok(End::Open) };
                    self.take(word, row);
                    self.take(slot, in_slot);
                    return Ok(End::Transfer);
                }
                _ => self.take(word, row),
            }
            let ends = row.is_none_or(|row| row.class == Class::Trap);
            if ends || self.words.len() == LONGEST || self.address.is_multiple_of(PAGE_BYTES) {
                return Ok(End::Open);
            }
        }
    }

    fn take(&mut self, word: u32, row: Option<&'static isa::Instruction>) {
        self.words.push(word);
        self.rows.push(row);
        self.address += 4;
    }

    /// Makes the words ready.
    fn finish(self, end: End) -> Block {
        let slot = match end {
            End::Transfer => Some(self.words.len() - 1),
            End::Open => None,
        };
        let (mut ops, mut places) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < slot.unwrap_or(self.words.len()) {
            places.push(at as u8);
            let (op, taken) = self.fused(at, slot).unwrap_or_else(|| (self.op(at), 1));
            ops.push(op);
            at += taken;
        }
        places.push(at as u8);
        let target = ops.last().map_or(0, |op: &Op| op.imm);
        Block {
            stepped: ops.is_empty(),
            ops: ops.into(),
            delay: slot.map_or_else(Op::nothing, |slot| self.op(slot)),
            links: [NONE; 2],
            next: [self.address, target],
            executions: 0,
            annulled: 0,
            start: self.start,
            dead: false,
            places: places.into(),
            words: self.words.into(),
        }
    }

    fn op(&self, at: usize) -> Op {
        let (word, address) = (self.words[at], self.start + 4 * at as u64);
        match self.rows[at].map(|row| row.decode) {
            Some(Decode::Plain(make) | Decode::Control(make)) => make(Word(word), address),
            None => Op::illegal(word),
        }
    }

    /// Puts several words into one op, if a fusion or a pair fits; answers how many.
    fn fused(&self, at: usize, slot: Option<usize>) -> Option<(Op, usize)> {
        self.sequence(at, slot).or_else(|| {
            let transfer = slot.map(|slot| slot - 1);
            let compares = |at: usize| transfer == Some(at + 1) && self.compare(at).is_some();
            let op = match transfer {
                _ if at + 1 >= slot.unwrap_or(self.words.len()) || compares(at + 1) => None,
                Some(transfer) if transfer == at + 1 => self.compare(at),
                _ => self.two(at).and_then(|(names, words)| pair(names, words)),
            };
            op.map(|op| (op, 2))
        })
    }

    /// The names and words of two instructions.
    fn two(&self, at: usize) -> Option<([&'static str; 2], [Word; 2])> {
        let (first, second) = (self.rows.get(at)?.as_ref()?, self.rows.get(at + 1)?.as_ref()?);
        Some(([first.name, second.name], [Word(self.words[at]), Word(self.words[at + 1])]))
    }

    /// A compare and the branch that ends the block.
    fn compare(&self, at: usize) -> Option<Op> {
        let (names, words) = self.two(at)?;
        compare_branch(names, words, self.op(at + 1))
    }

    /// The first fusion that fits at a word, and how many words it takes.
    fn sequence(&self, at: usize, slot: Option<usize>) -> Option<(Op, usize)> {
        let left = &self.rows[at..slot.unwrap_or(self.rows.len())];
        let fits = |fusion: &&Fusion| {
            left.len() >= fusion.rows.len()
                && fusion.rows.iter().zip(left).all(|(name, row)| row.is_some_and(|row| row.name == *name))
        };
        FUSIONS.iter().copied().flatten().filter(fits).find_map(|fusion| {
            let words: Vec<Word> = self.words[at..][..fusion.rows.len()].iter().copied().map(Word).collect();
            (fusion.make)(&words, self.start + 4 * at as u64).map(|op| (op, words.len()))
        })
    }
}

impl Cpu {
    /// Lists what was executed so far: runs of words with their counts. The same word may be in several.
    pub fn blocks(&self) -> impl Iterator<Item = Executed<'_>> {
        let blocks = self.cache.blocks.iter().filter(|block| block.executions > 0).map(|block| Executed {
            start: block.start,
            words: &block.words,
            executions: block.executions,
            annulled: block.annulled,
        });
        let singles = self.cache.singles.iter().map(|((start, word), executions)| Executed {
            start: *start,
            words: std::slice::from_ref(word),
            executions: *executions,
            annulled: 0,
        });
        blocks.chain(singles)
    }

    /// Starts the counts of [`Cpu::blocks`] again from zero.
    pub fn reset_counts(&mut self) {
        for block in &mut self.cache.blocks {
            (block.executions, block.annulled) = (0, 0);
        }
        self.cache.singles.clear();
    }
}
