//! A word that takes longer than a turn may: it is executed in slices, and others have their turns in between.
//!
//! The state of an operation between two slices is private: a chaining value, a counter, the state of a hash. Each byte
//! of the arena is read once. Keys in slots are looked up for every slice, so an operation whose key was removed ends with
//! [`Status::Key`]; keys that the word brought with it are kept. Plaintext that is not verified yet stays in private
//! memory until the tag was compared, which is why an object that is opened may have no more than [`MOST_OPENED`] bytes.
//!
//! Pieces of messages under a key are executed in slices, however short they are: an operation in slices has a state that
//! can be taken up and left off.

mod begin;
mod opening;
mod run;
mod state;

use millstream_cwq::{Completion, ControlWord, Opcode, Status};
use zeroize::Zeroize;

use self::opening::Place;
use self::state::{Cipher, Sum};
use crate::arena::{Arena, Span};
use crate::check::{CheckedWord, Pieces};
use crate::cost::COPY_COST;
use crate::sealer::Sealer;
use crate::trace::About;
use crate::word_keys::CarriedKeys;

pub(crate) use self::opening::Openings;
pub use self::opening::Reserve;
pub(crate) use self::run::run;

/// The longest object that is opened or verified before it is decrypted, in bytes: all of its plaintext is held in private
/// memory until its tag was compared. An accelerator with less of a [`Reserve`] opens less.
pub const MOST_OPENED: u32 = 16 << 20;

/// The parts of an operation, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Associated data is authenticated.
    Aad,
    /// The source is read, and its output written unless it must be verified first.
    Data,
    /// The opened plaintext is written, or zeros in its place.
    Out,
}

/// An operation under way.
pub(crate) struct Long {
    word: ControlWord,
    checked: CheckedWord,
    pieces: Pieces,
    carried: Option<CarriedKeys>,
    cipher: Cipher,
    sum: Sum,
    /// The chaining value or the counter before the next slice.
    chain: [u8; 16],
    /// The tag to compare with, read once.
    expected: Vec<u8>,
    /// The cost of one byte.
    per_byte: i64,
    phase: Phase,
    /// Bytes of this phase that are done.
    done: u32,
    /// The place that holds opened plaintext until the tag was compared.
    place: Option<Place>,
    /// The result of that comparison.
    verdict: Status,
    /// The sealer for the state in which a message under a key is left off.
    sealer: Option<Box<Sealer>>,
}

/// A slice of an operation, which one turn executes.
pub(crate) struct Slice {
    pub(crate) queue: u32,
    pub(crate) grant: u32,
    pub(crate) long: Box<Long>,
    pub(crate) len: u32,
    /// The beginning of its place in staging memory.
    begin: usize,
    /// The operation's completion, once it has ended.
    pub(crate) end: Option<Completion>,
}

impl Slice {
    pub(crate) fn new(queue: u32, grant: u32, long: Box<Long>, len: u32) -> Self {
        Slice { queue, grant, long, len, begin: 0, end: None }
    }
}

impl Long {
    pub(crate) fn tag(&self) -> u64 {
        self.word.tag
    }

    /// Returns the facts for tracepoints and statistics.
    pub(crate) fn about(&self) -> About {
        About { bytes: self.checked.source.len(), ..About::of(&self.word, 0) }
    }

    /// Returns true when its plaintext has to be held in private memory.
    pub(crate) fn opens(&self) -> bool {
        self.checked.reverse && matches!(self.checked.opcode, Opcode::Aead | Opcode::MacThenDecrypt)
    }

    /// Returns true when the operation may go on. One that opens needs a place for its plaintext before its first slice.
    pub(crate) fn may_go_on(&mut self, grant: usize, openings: &mut Openings) -> bool {
        if self.opens() && self.place.is_none() {
            self.place = openings.take(grant, self.checked.source.len());
            return self.place.is_some();
        }
        true
    }

    /// Returns true when the operation has a place that others wait for.
    pub(crate) fn has_place(&self) -> bool {
        self.place.is_some()
    }

    /// Gives the operation's place back, or takes it out of the line, because it has ended.
    pub(crate) fn end(&mut self, grant: usize, openings: &mut Openings) {
        match self.place.take() {
            Some(place) => openings.give_back(grant, place),
            None if self.opens() => openings.leave_line(grant),
            None => {}
        }
    }

    /// Returns the bytes of a slice that costs no more than `cost` and has no more than `most` bytes; at least one block.
    pub(crate) fn next_len(&self, cost: i64, most: u32) -> u32 {
        let per_byte = if self.phase == Phase::Out { COPY_COST } else { self.per_byte };
        let most = (cost / per_byte).clamp(32, i64::from(most).max(32)) as u32;
        let left = self.total() - self.done;
        if left <= most || self.phase != Phase::Data {
            return left.min(most);
        }
        self.whole_blocks(self.done + most) - self.done
    }

    /// Returns the cost of a slice of so many bytes.
    pub(crate) fn cost(&self, len: u32) -> i64 {
        let per_byte = if self.phase == Phase::Out { COPY_COST } else { self.per_byte };
        per_byte * i64::from(len)
    }

    /// Moves the end of a slice of the data, so that the cipher sees whole blocks and at least one block remains.
    fn whole_blocks(&self, end: u32) -> u32 {
        const BLOCK: u32 = 16;
        let clear = self.checked.clear;
        if end <= clear {
            return end;
        }
        let mut end = clear + (end - clear) / BLOCK * BLOCK;
        if self.total() - end < BLOCK && end >= clear + BLOCK {
            // The last two blocks of a data unit of XTS belong together.
            end -= BLOCK;
        }
        if end > self.done { end } else { self.total() }
    }

    /// Returns the bytes of this phase.
    fn total(&self) -> u32 {
        match self.phase {
            Phase::Aad => self.checked.aad.len,
            Phase::Data | Phase::Out => self.checked.source.len(),
        }
    }

    /// Copies the next bytes of the source.
    fn read_source<A: Arena>(&self, arena: &A, mut place: &mut [u8]) {
        let mut skip = self.done;
        let whole;
        let spans = match self.checked.source.span() {
            Some(span) => {
                whole = [span];
                &whole[..]
            }
            None => &self.pieces,
        };
        for span in spans {
            let passed = skip.min(span.len);
            skip -= passed;
            let len = ((span.len - passed) as usize).min(place.len());
            let (front, rest) = std::mem::take(&mut place).split_at_mut(len);
            if len > 0 {
                arena.read(span.at + passed, front);
            }
            place = rest;
        }
    }

    /// Returns the span of the destination that the next bytes go to.
    fn destination(&self, len: u32) -> Span {
        Span { at: self.checked.destination.at + self.done, len }
    }
}

impl Drop for Long {
    fn drop(&mut self) {
        self.chain.zeroize();
    }
}
