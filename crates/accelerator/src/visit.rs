//! One visit of a queue, from which an accelerator takes words.

use std::ops::Deref;

use millstream_cwq::ring::Word;
use millstream_cwq::{Completion, ControlWord, Opcode, Status, VERSION};

use crate::bounds::Limits;
use crate::held::HeldWord;
use crate::long::Long;
use crate::queue::{AS_RECKONED, Queue};
use crate::status::failed;
use crate::trace::{self, About};

/// The number of completions of words without an engine that are shown at a time, while more such words are taken.
const SHOWN: usize = 32;

/// The most long operations of one queue that are under way.
const MOST_LONG: usize = 16;

/// One visit of a queue: what was taken so far, and what may still be.
#[derive(Default)]
pub(crate) struct Visit {
    /// The completions for which there is room, as far as is known.
    pub(crate) room: usize,
    /// The number of long operations that the queue's grant may still begin.
    pub(crate) may_begin: usize,
    /// True when the queue offers so many words that it fills the lanes of keys by itself.
    pub(crate) fills_lanes: bool,
    /// Words that asked for nothing, and have completed.
    pub(crate) ended: usize,
    /// Words that completed in another way without being held, and those that were cancelled.
    pub(crate) refused: usize,
    pub(crate) taken_cost: i64,
    /// The part of it that is for held words.
    pub(crate) held_cost: i64,
    /// The part of that for words that outlast turns.
    pub(crate) outlasting_cost: i64,
    pub(crate) taken_bytes: i64,
}

impl Visit {
    #[inline(always)]
    pub(crate) fn finds_room<M: Deref<Target = [Word]>>(&mut self, queue: &mut Queue<M>) -> bool {
        if self.room == 0 {
            self.room = queue.room();
        }
        self.room > 0
    }

    #[inline(always)]
    pub(crate) fn may_not_begin<M>(&self, queue: &Queue<M>) -> bool {
        queue.under_way >= MOST_LONG || self.may_begin == 0
    }

    /// Returns the cost with which a word is charged before it is executed beside those of other grants. Lanes may turn out to be empty, so that is the cost of
    /// a word that is alone, unless its queue has enough for them. Words of few kinds go to lanes of keys, so that few of these words are alone all the same.
    #[inline(always)]
    pub(crate) fn in_advance(&self, cost: i64, alone: i64) -> i64 {
        if self.fills_lanes { cost } else { cost.max(alone) }
    }

    #[inline(always)]
    pub(crate) fn charge<M>(&mut self, queue: &mut Queue<M>, cost: i64) {
        queue.deficit -= cost;
        self.taken_cost += cost;
    }

    /// Completes a word that asks for nothing.
    #[inline(always)]
    pub(crate) fn complete_null<M: Deref<Target = [Word]>>(
        &mut self,
        queue: &mut Queue<M>,
        word: &ControlWord,
        cost: i64,
    ) {
        let done = Completion { tag: word.tag, ..Completion::default() };
        trace::null(queue.label, &NULL, word.tag);
        let _ = queue.completions.push(&done.to_words());
        self.charge(queue, cost);
        self.ended += 1;
        if self.ended.is_multiple_of(SHOWN) {
            show_some(queue);
        }
    }

    /// Completes the words that follow and ask for nothing too, as long as the queue may take some, there is room, and less than
    /// `left` was taken.
    #[inline(always)]
    pub(crate) fn complete_nulls<M: Deref<Target = [Word]>>(
        &mut self,
        queue: &mut Queue<M>,
        cost: i64,
        left: i64,
    ) {
        let most = self.room.min(SHOWN - self.ended % SHOWN);
        let (mut reader, mut writer) = (queue.submissions.reader(), queue.completions.writer());
        let mut taken = 0;
        while taken < most && queue.deficit > 0 && self.taken_cost < left {
            let Some(words) = reader.peek().filter(is_null) else { break };
            let [.., tag] = words;
            let done = Completion { tag, ..Completion::default() };
            if !writer.push(&done.to_words()) {
                break;
            }
            reader.advance();
            taken += 1;
            queue.deficit -= cost;
            self.taken_cost += cost;
            trace::null(queue.label, &NULL, tag);
        }
        reader.finish();
        writer.finish();
        self.room -= taken;
        self.ended += taken;
        if taken > 0 && self.ended.is_multiple_of(SHOWN) {
            show_some(queue);
        }
    }

    /// Takes words from a queue as long as they are like the last one, and nothing about them is special. The next word stays in
    /// the ring: whoever takes it reads it anew, and believes only that. `left` is the rest of the turn.
    ///
    /// This is a function of its own so that all that a word needs is in registers.
    #[inline(never)]
    pub(crate) fn take_alike<M: Deref<Target = [Word]>>(
        &mut self,
        queue: &mut Queue<M>,
        index: u32,
        held: &mut Vec<HeldWord>,
        limits: &Limits,
        left: i64,
    ) {
        let Some(alike) = queue.alike else { return };
        let longest = alike.longest(limits.word).min(limits.bytes.into());
        let (shared, arena_len) = (limits.shared, queue.arena_len);
        let slow = if shared { queue.slow } else { AS_RECKONED };
        // Words are taken as long as less than that was spent, so that a long word in the end makes a debt.
        let budget = if limits.bounded { queue.deficit.min(left - self.taken_cost) } else { queue.deficit };
        let most = self.room.min(limits.words - held.len());
        let (grant, label) = (queue.grant as u32, queue.label);
        let mut reader = queue.submissions.reader();
        let (mut taken, mut spent, mut taken_bytes) = (0, 0, 0);
        while taken < most && spent < budget {
            // The word is copied first and judged where it lies then, because it would take half of all registers.
            let Some(words) = reader.peek() else { break };
            held.push(HeldWord { words, gathered: 0, queue: index, grant, cancelled: false });
            let bytes = alike.bytes(&words, arena_len);
            if !alike.fits(&words) || bytes > longest {
                held.pop();
                break;
            }
            reader.advance();
            taken += 1;
            let [.., tag] = words;
            trace::start(label, &alike.about(&words), tag);
            let mut cost = alike.cost(bytes);
            if shared {
                cost = self.in_advance(cost, alike.alone(bytes)) * slow / AS_RECKONED;
            }
            spent += cost;
            taken_bytes += bytes;
        }
        reader.finish();
        self.charge(queue, spent);
        self.held_cost += spent;
        self.taken_bytes += taken_bytes;
        queue.held += taken;
        self.room -= taken;
    }

    /// Puts a long operation among those of its queue, or completes its word with the status that ended it.
    #[inline(always)]
    pub(crate) fn begin_long<M: Deref<Target = [Word]>>(
        &mut self,
        queue: &mut Queue<M>,
        word: &ControlWord,
        begun: Result<Box<Long>, Status>,
        under_way: &mut usize,
    ) {
        let begun = match begun {
            // The word was shorter when `next_is_sliced` saw it: the client changed it after publishing it.
            Ok(_) if self.may_not_begin(queue) => Err(Status::TooLong),
            begun => begun,
        };
        match begun {
            Ok(long) => {
                queue.long.push_back(long);
                queue.under_way += 1;
                *under_way += 1;
                self.may_begin -= 1;
            }
            Err(status) => {
                queue.post(About::of(word, 0), failed(word.tag, status));
                self.refused += 1;
            }
        }
    }
}

/// The facts of a word that asks for nothing.
const NULL: About = About { bytes: 0, opcode: Opcode::Null as u8, algorithm: 0 };

/// Shows completions of words without an engine. The client takes these while the next are made.
#[inline]
fn show_some<M: Deref<Target = [Word]>>(queue: &mut Queue<M>) {
    queue.submissions.release();
    queue.completions.publish();
    queue.told = true;
}

/// Returns true when a word asks for nothing and breaks no rule, so that it needs no engine.
#[inline(always)]
pub(crate) fn is_null(words: &[u64; ControlWord::WORDS]) -> bool {
    const NULL: u64 = ControlWord { version: VERSION, ..ControlWord::from_words([0; 8]) }.to_words()[0];
    let [first, middle @ .., _tag] = words;
    let mut rest = 0;
    for word in middle {
        rest |= word;
    }
    *first == NULL && rest == 0
}
