//! The bounds of a turn, and the bill for its words.

use crate::cost::{Costs, PER_NANOSECOND};
use crate::held::MOST_HELD;
use crate::queue::QUANTUM;

/// The cost that a turn's words may have where several queues offer words and turns are not bounded.
const MOST_COST: i64 = 16 << 20;

/// Grants share the accelerator as long as no more turns than this were one grant's alone.
pub(crate) const SHARED: u32 = 256;

/// Turns are so many times as short, by default, while a grant has few words at a time beside others that have many.
const BRISK: u64 = 16;

/// The longest turns, in nanoseconds. An accelerator that serves clients who don't trust each other has such bounds:
/// see [`Accelerator::bound_turns`](crate::Accelerator::bound_turns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The longest turn while the words of one grant are all there is. A newcomer may have to wait so long.
    pub alone: u64,
    /// The longest turn while several grants have work.
    pub shared: u64,
    /// The longest turn while several grants have work and one of them waits for few words at a time.
    pub brisk: u64,
    /// The words that fill lanes, where words take so long that a turn with a few more would delay them all: then a turn takes half of what
    /// is offered, in groups of so many, and the other half comes while it is executed. With 0 a turn takes what it finds.
    pub group: usize,
    /// The most bytes of a slice of a long object, and of an object that is executed at once.
    pub bytes: u32,
}

impl Default for Turns {
    /// Half a millisecond, 16 microseconds, one microsecond, no groups, and 256 KiB.
    fn default() -> Self {
        let shared = 16_000;
        Turns { alone: 500_000, shared, brisk: shared / BRISK, group: 0, bytes: 256 * 1024 }
    }
}

impl Turns {
    /// Returns the turns of an accelerator for private keys, whose operations take so long that a default turn ends with the first of
    /// them: as long as lanes full of RSA take, so that the operations of several clients go side by side. Eight lanes take four
    /// operations of RSA. One more would take half as long as these four.
    pub fn of_private_keys() -> Self {
        Turns { alone: 8_000_000, shared: 16_000_000, brisk: 8_000_000, group: 4, ..Turns::default() }
    }

    /// Returns the cost that the queues of a grant may take in one round. It grows with turns.
    fn quantum(self) -> i64 {
        QUANTUM * (self.shared as i64 / Turns::default().shared as i64).max(1)
    }

    /// Returns the most that a queue has saved up when it gets back what it was charged too much for the words of a turn. Operations with keys are charged several
    /// times too much where they go side by side, and all of that comes back. Where turns are short, a queue does not take so much at once.
    #[inline]
    pub(crate) fn most_back(self, weight: u32, charged: i64) -> i64 {
        let most = self.quantum() * i64::from(weight);
        if self.group > 0 { most.max(charged) } else { most }
    }
}

/// The bounds of an accelerator's turns, and the bill of the present one.
pub(crate) struct Bounds {
    pub(crate) turns: Turns,
    /// Counts nanoseconds.
    pub(crate) clock: Box<dyn FnMut() -> u64 + Send>,
    pub(crate) costs: Costs,
    /// The grant whose words were taken last.
    last: usize,
    /// The number of turns for which several grants are still taken to have work.
    pub(crate) shared: u32,
    /// The number of turns that are still brisk, because a grant waits for few words at a time.
    pub(crate) brisk: u32,
    pub(crate) bill: Bill,
}

impl Bounds {
    pub(crate) fn new(turns: Turns, clock: impl FnMut() -> u64 + Send + 'static, costs: Costs) -> Self {
        let clock = Box::new(clock);
        Bounds { turns, clock, costs, last: usize::MAX, shared: 0, brisk: 0, bill: Bill::default() }
    }

    /// Notes that words of a grant were taken.
    #[inline]
    pub(crate) fn taken_from(&mut self, grant: usize) {
        if self.last != grant {
            (self.last, self.shared) = (grant, SHARED);
        }
    }

    /// Makes the next turns brisk, because a grant had few words, and waits for them.
    #[inline]
    pub(crate) fn hurry(&mut self) {
        self.brisk = SHARED;
    }

    /// Returns the limits of the next turn. `staged` is the size of staging memory, `held` the number of words that were taken before,
    /// and `offered` counts the words that queues offer.
    #[inline]
    pub(crate) fn limits(&self, staged: usize, held: usize, offered: impl FnOnce() -> usize) -> Limits {
        let shared = self.shared > 0;
        let reckoned = |nanoseconds: u64| PER_NANOSECOND * nanoseconds as i64;
        let (alone, among) = (reckoned(self.turns.alone), reckoned(self.turns.shared));
        let brisk = reckoned(self.turns.brisk);
        let (cost, word, slice) = match shared {
            // The last word of a turn may be longer than all before it: in slices it would take longer than at once.
            true if self.brisk > 0 => (brisk, brisk * 3 / 2, brisk * 3 / 4),
            true => (among, among * 3 / 4, among * 3 / 4),
            // Lanes may be filled with objects that are long each.
            false => (alone, alone / 2, alone / 8),
        };
        let staged = u32::try_from(staged / 4).unwrap_or(u32::MAX);
        let words = match self.turns.group {
            0 => MOST_HELD,
            group => (held + offered().div_ceil(2).next_multiple_of(group).max(group)).min(MOST_HELD),
        };
        Limits {
            bounded: true,
            shared,
            words,
            grouped: self.turns.group > 0,
            cost,
            few: brisk,
            quantum: self.turns.quantum().min(cost),
            word,
            slice,
            bytes: self.turns.bytes.min(staged),
        }
    }
}

/// Charges for words before it is known how long they take, by queue. The turn that executes them settles the bill.
#[derive(Default)]
pub(crate) struct Bill {
    /// Charges for words that are held until lanes are full.
    held: Charges,
    /// Charges for words that this turn executes.
    pub(crate) turn: Charges,
    /// The nanoseconds that the words of this turn took that outlast turns.
    pub(crate) outlasting_took: u64,
}

/// Charges by queue. Words that outlast turns are executed after the others, and their time is measured apart: so whoever has small words in the same turn does
/// not pay for what the table says wrong about them.
#[derive(Default)]
pub(crate) struct Charges {
    pub(crate) outlasting: Vec<(u32, i64)>,
    pub(crate) others: Vec<(u32, i64)>,
}

impl Charges {
    fn both(&mut self) -> [&mut Vec<(u32, i64)>; 2] {
        [&mut self.outlasting, &mut self.others]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.outlasting.is_empty() && self.others.is_empty()
    }
}

impl Bill {
    /// Charges a queue for words that were taken from it: so much for those that are held, so much of that for those that outlast turns, and so much for what is
    /// not held.
    #[inline]
    pub(crate) fn add(&mut self, queue: u32, held: i64, outlasting: i64, others: i64) {
        let Bill { held: of_held, turn, .. } = self;
        let lists = [&mut of_held.outlasting, &mut of_held.others, &mut turn.others];
        for (list, cost) in lists.into_iter().zip([outlasting, held - outlasting, others]) {
            if cost > 0 {
                list.push((queue, cost));
            }
        }
    }

    /// Moves the charges for held words to this turn, which executes them.
    #[inline]
    pub(crate) fn executed(&mut self) {
        for (to, from) in self.turn.both().into_iter().zip(self.held.both()) {
            to.append(from);
        }
    }

    /// Forgets the charges of this turn, which nobody settles.
    pub(crate) fn clear(&mut self) {
        self.turn.both().into_iter().for_each(Vec::clear);
        self.outlasting_took = 0;
    }

    /// Returns true when no words are held that were charged for.
    #[cfg(test)]
    pub(crate) fn holds_nothing(&self) -> bool {
        self.held.is_empty()
    }

    /// Forgets the charges of a queue that is gone.
    pub(crate) fn forget(&mut self, queue: usize) {
        for list in self.held.both() {
            list.retain(|(of, _)| *of as usize != queue);
        }
    }
}

/// The limits of one turn.
pub(crate) struct Limits {
    /// True when the turn ends once it has taken so much, even if one grant is alone.
    pub(crate) bounded: bool,
    /// True when several grants have work.
    pub(crate) shared: bool,
    /// The words that may be held when the turn ends.
    pub(crate) words: usize,
    /// True when words are taken in groups that fill lanes.
    pub(crate) grouped: bool,
    /// The cost of all that the turn may take.
    pub(crate) cost: i64,
    /// A queue that takes less has few words.
    pub(crate) few: i64,
    /// The cost that the queues of a grant of weight 1 may take in one round: no more than a turn, so that a grant that
    /// waits for few words at a time waits for one turn of the others.
    pub(crate) quantum: i64,
    /// The most that a word may cost that is executed at once.
    pub(crate) word: i64,
    /// The most that a slice may cost.
    pub(crate) slice: i64,
    /// The most bytes of either.
    pub(crate) bytes: u32,
}

impl Limits {
    /// The limits where turns are not bounded: they hold only while several queues offer words.
    pub(crate) const UNBOUNDED: Limits = Limits {
        bounded: false,
        shared: false,
        words: MOST_HELD,
        grouped: false,
        cost: MOST_COST,
        few: 0,
        quantum: QUANTUM,
        word: i64::MAX,
        slice: i64::MAX,
        bytes: u32::MAX,
    };

    /// Returns true when a word of that cost, if it is alone, and of so many bytes is too long for a turn.
    #[inline(always)]
    pub(crate) fn is_long(&self, alone: i64, bytes: i64) -> bool {
        alone > self.word || bytes > i64::from(self.bytes)
    }
}
