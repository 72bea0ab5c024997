//! A word that takes longer than a turn may: it is executed in slices, and others have their turns in between.
//!
//! What an operation has come to between two slices is private: a chaining value, a counter, the state of a hash. Each byte
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
use crate::check::{CheckedWord, Pieces, Source};
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
    /// What was opened, or zeros in its place, is written.
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
    /// What one byte costs.
    per_byte: i64,
    phase: Phase,
    /// Bytes of this phase that are done.
    done: u32,
    /// Where what it opens is held until its tag was compared.
    place: Option<Place>,
    /// What came of the comparison, where something was opened.
    verdict: Status,
    /// What seals the state in which a message is left off, where it is one under a key.
    sealer: Option<Box<Sealer>>,
}

/// A slice of an operation, which one turn executes.
pub(crate) struct Slice {
    pub(crate) queue: u32,
    pub(crate) grant: u32,
    pub(crate) long: Box<Long>,
    pub(crate) len: u32,
    /// Its place in staging memory.
    begin: usize,
    /// How the operation ended, once it has.
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

    /// What tracepoints and statistics have of it.
    pub(crate) fn about(&self) -> About {
        About { bytes: self.checked.source.len(), ..About::of(&self.word, 0) }
    }

    /// Whether its plaintext has to be held in private memory.
    pub(crate) fn opens(&self) -> bool {
        self.checked.reverse && matches!(self.checked.opcode, Opcode::Aead | Opcode::MacThenDecrypt)
    }

    /// Whether it may go on: what is opened needs a place for its plaintext before its first slice.
    pub(crate) fn may_go_on(&mut self, grant: usize, openings: &mut Openings) -> bool {
        if self.opens() && self.place.is_none() {
            self.place = openings.take(grant, self.checked.source.len());
            return self.place.is_some();
        }
        true
    }

    /// Whether it has a place that another could have.
    pub(crate) fn has_place(&self) -> bool {
        self.place.is_some()
    }

    /// It ends, or is ended: it gives its place back, or waits for none any more.
    pub(crate) fn end(&mut self, grant: usize, openings: &mut Openings) {
        match self.place.take() {
            Some(place) => openings.give_back(grant, place),
            None if self.opens() => openings.leave_line(grant),
            None => {}
        }
    }

    /// The bytes of a slice that costs no more than that, and has no more than so many bytes; at least one block.
    pub(crate) fn next_len(&self, cost: i64, most: u32) -> u32 {
        let per_byte = if self.phase == Phase::Out { COPY_COST } else { self.per_byte };
        let most = (cost / per_byte).clamp(32, i64::from(most).max(32)) as u32;
        let left = self.total() - self.done;
        if left <= most || self.phase != Phase::Data {
            return left.min(most);
        }
        self.whole_blocks(self.done + most) - self.done
    }

    /// What a slice of so many bytes costs.
    pub(crate) fn cost(&self, len: u32) -> i64 {
        let per_byte = if self.phase == Phase::Out { COPY_COST } else { self.per_byte };
        per_byte * i64::from(len)
    }

    /// Where a slice of the data ends that would end there, so that the cipher sees whole blocks, and that what remains is
    /// no less than one.
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

    /// The bytes of this phase.
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
        let spans = match self.checked.source {
            Source::Span(span) => {
                whole = [span];
                &whole[..]
            }
            Source::Gather { .. } => &self.pieces,
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

    /// Where in the destination bytes of this phase go.
    fn destination(&self, len: u32) -> Span {
        Span { at: self.checked.destination.at + self.done, len }
    }
}

impl Drop for Long {
    fn drop(&mut self) {
        self.chain.zeroize();
    }
}
