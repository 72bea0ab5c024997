//! One visit of a queue, from which an accelerator takes words.

use std::ops::Deref;

use millstream_cwq::ring::Word;
use millstream_cwq::{Completion, ControlWord, Status};

use crate::long::Long;
use crate::queue::Queue;
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
    /// Words that asked for nothing, and have completed.
    pub(crate) ended: usize,
    /// Words that completed in another way without being held, and those that were cancelled.
    pub(crate) refused: usize,
    pub(crate) taken_cost: i64,
    /// The part of it that is for held words.
    pub(crate) held_cost: i64,
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
        trace::start(queue.label, &About::of(word, 0), word.tag);
        trace::complete(queue.label, &About::of(word, 0), &done);
        let _ = queue.completions.push(&done.to_words());
        self.charge(queue, cost);
        self.ended += 1;
        if self.ended.is_multiple_of(SHOWN) {
            // The client takes these while the next are made.
            queue.submissions.release();
            queue.completions.publish();
            queue.told = true;
        }
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
