//! One queue, as its accelerator knows it.

use std::collections::VecDeque;
use std::ops::Deref;

use millstream_cwq::ring::{Consumer, Corrupt, Producer, Word};
use millstream_cwq::{Completion, ControlWord, Status};

use crate::alike::Alike;
use crate::grant::MovedQueue;
use crate::long::Long;
use crate::slab::Slab;
use crate::stats::QueueStats;
use crate::trace::{self, About};

/// The most that the queues of a grant of weight 1 may take in one round: see [`cost`](crate::cost).
pub(crate) const QUANTUM: i64 = 64 * 1024;

/// The value of [`Queue::slow`] while words take as long as was reckoned.
pub(crate) const AS_RECKONED: i64 = 16;

pub(crate) struct Queue<M> {
    pub(crate) grant: usize,
    pub(crate) submissions: Consumer<M, { ControlWord::WORDS }>,
    pub(crate) completions: Producer<M, { Completion::WORDS }>,
    pub(crate) weight: u32,
    /// The number of queues of its grant, itself among them, which share what the grant may take.
    pub(crate) siblings: i64,
    /// The cost that it may still take in this turn; it is negative after a big object.
    pub(crate) deficit: i64,
    /// A debt beside that, because it went on with an object that holds a place which others wait for.
    pub(crate) owed: i64,
    /// True when its turn was cut short because no more words could be held: it goes on with that turn.
    pub(crate) in_turn: bool,
    /// Bytes in its arena.
    pub(crate) arena_len: u32,
    /// The grant's name in tracepoints.
    pub(crate) label: u64,
    /// The facts of words like the last one that was held, where they need no closer look.
    pub(crate) alike: Option<Alike>,
    /// Words taken whose completions have no place in the ring yet.
    pub(crate) held: usize,
    /// True when a completion was pushed since the last publication.
    pub(crate) dirty: bool,
    /// True when completions were published since clients were last woken.
    pub(crate) told: bool,
    /// Long operations that wait for their next slice.
    pub(crate) long: VecDeque<Box<Long>>,
    /// The number of all its long operations, also those that a turn has taken a slice of.
    pub(crate) under_way: usize,
    /// True when it offered words since the last [`rest`](crate::Accelerator::rest).
    pub(crate) used: bool,
    /// The time that its words took lately beside other grants', in sixteenths of what was reckoned.
    pub(crate) slow: i64,
    /// True when it had much to do when words were last taken from it beside other grants'.
    pub(crate) has_many: bool,
    /// True when words were taken from it since the last search for calm queues.
    pub(crate) busy: bool,
    /// True when it is listed among the queues with words held or under way, or with clients to be told.
    pub(crate) unquiet: bool,
    /// True when nobody looks at it before its client rings.
    pub(crate) asleep: bool,
    pub(crate) stats: QueueStats,
}

impl<M: Deref<Target = [Word]>> Queue<M> {
    /// Makes a queue at its position. The caller fills in what it needs to know of its grant.
    pub(crate) fn resume(
        grant: usize,
        submissions: M,
        completions: M,
        MovedQueue { weight, position, stats }: MovedQueue,
    ) -> Result<Self, Corrupt> {
        let queue = Queue {
            grant,
            submissions: Consumer::resume(submissions, position.submissions)?,
            completions: Producer::resume(completions, position.completions)?,
            weight: weight.max(1),
            siblings: 1,
            deficit: 0,
            owed: 0,
            in_turn: false,
            arena_len: 0,
            label: 0,
            alike: None,
            held: 0,
            dirty: false,
            // The client may have gone to sleep before the queue moved.
            told: true,
            long: VecDeque::new(),
            under_way: 0,
            used: true,
            slow: AS_RECKONED,
            has_many: false,
            busy: true,
            unquiet: true,
            asleep: false,
            stats,
        };
        let holds_all = queue.completions.capacity() >= queue.submissions.capacity();
        if holds_all { Ok(queue) } else { Err(Corrupt) }
    }

    /// Returns for how many more words' completions there is room.
    #[inline]
    pub(crate) fn room(&mut self) -> usize {
        self.completions.room_for(self.held + 1).map_or(0, |room| room.saturating_sub(self.held))
    }
}

impl<M: Deref<Target = [Word]>> Queue<M> {
    /// Returns the cost that it may take in one round. `of_grant` is that of the queues of a grant of weight 1.
    #[inline]
    pub(crate) fn quantum(&self, of_grant: i64) -> i64 {
        let of_queues = of_grant * i64::from(self.weight);
        // A division takes as long as half of a visit, and most grants have one queue.
        let quantum = if self.siblings == 1 { of_queues } else { of_queues / self.siblings };
        quantum.max(1)
    }

    /// Learns how long its words took and how much was reckoned, so that later words are reckoned accordingly. A turn of small
    /// words, which take longer than the table says, then lasts no longer than others. One measurement counts little, because
    /// the thread may have waited for its processor.
    #[inline]
    pub(crate) fn learn(&mut self, measured: i64, reckoned: i64) {
        let measured = measured.clamp(0, 4 * reckoned);
        let now = i128::from(self.slow) * i128::from(measured) / i128::from(reckoned.max(1));
        self.slow = ((7 * self.slow + now as i64 + 4) / 8).clamp(AS_RECKONED, 16 * AS_RECKONED);
    }

    /// Writes a completion. There is room, because no more words were taken than had room.
    #[inline(always)]
    pub(crate) fn post(&mut self, about: About, completion: Completion) {
        trace::complete(self.label, &about, &completion);
        self.stats.operations += 1;
        if completion.status == Status::Ok as u16 {
            self.stats.bytes += u64::from(about.bytes);
        } else {
            count_failure(&mut self.stats, &completion);
        }
        // A ring that its other side made corrupt gets no completions, because it gets no service.
        let _ = self.completions.push(&completion.to_words());
        self.held = self.held.saturating_sub(1);
        self.dirty = true;
    }

    /// Writes completions as [`Queue::post`] does, one after another.
    #[inline(always)]
    pub(crate) fn post_all(&mut self, ends: impl Iterator<Item = (About, Completion)>) {
        let Queue { completions, stats, label, .. } = self;
        let mut writer = completions.writer();
        let (mut posted, mut bytes) = (0, 0);
        for (about, completion) in ends {
            trace::complete(*label, &about, &completion);
            posted += 1;
            if completion.status == Status::Ok as u16 {
                bytes += u64::from(about.bytes);
            } else {
                count_failure(stats, &completion);
            }
            // No more words were taken than had room.
            let _ = writer.push(&completion.to_words());
        }
        writer.finish();
        stats.operations += posted;
        stats.bytes += bytes;
        self.held = self.held.saturating_sub(posted as usize);
        self.dirty |= posted > 0;
    }

    /// Shows the completions that were posted.
    #[inline]
    pub(crate) fn show(&mut self) {
        if self.dirty {
            self.dirty = false;
            self.told = true;
            self.completions.publish();
        }
    }

    /// Returns true when it has anything to do.
    #[inline]
    pub(crate) fn offers(&mut self) -> bool {
        !self.long.is_empty() || matches!(self.submissions.ready(), Ok(1..))
    }

    /// Returns true when it has anything to do for which there is room.
    #[inline]
    pub(crate) fn can_go_on(&mut self) -> bool {
        self.under_way > 0 || self.offers() && self.room() > 0
    }

    /// Takes a long operation out that waits for its next slice, if there is one with this tag.
    #[cold]
    pub(crate) fn take_long(&mut self, tag: u64) -> Option<Box<Long>> {
        let at = self.long.iter().position(|long| long.tag() == tag)?;
        self.long.remove(at)
    }

    /// Returns true when it may be forgotten until its client rings: it has nothing under way, and its client knows all.
    pub(crate) fn is_quiet(&self) -> bool {
        self.held == 0 && self.under_way == 0 && !self.dirty && !self.told
    }
}

#[cold]
fn count_failure(stats: &mut QueueStats, completion: &Completion) {
    if let Some(status) = completion.status() {
        stats.failures[status.index()] += 1;
    }
}

/// Posts a word's completion to its queue, unless that is gone.
pub(crate) fn post<M: Deref<Target = [Word]>>(
    queues: &mut Slab<Queue<M>>,
    queue: u32,
    about: About,
    completion: Completion,
) {
    if let Some(queue) = queues.at_mut(queue as usize) {
        queue.post(about, completion);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use millstream_cwq::ring;

    use super::*;

    #[test]
    fn words_that_take_longer_than_reckoned_cost_more_and_a_single_delay_does_not_count_for_long() {
        let submissions: Arc<[Word]> = ring::memory::<{ ControlWord::WORDS }>(8).into();
        let completions: Arc<[Word]> = ring::memory::<{ Completion::WORDS }>(8).into();
        let mut queue = Queue::resume(0, submissions, completions, MovedQueue::default()).expect("rings");
        // Each word takes three times as long as a table says.
        for _ in 0..100 {
            queue.learn(3000, 1000 * queue.slow / AS_RECKONED);
        }
        assert!((40..=48).contains(&queue.slow), "{}", queue.slow);
        queue.learn(1 << 40, 1000);
        assert!(queue.slow < 80, "{}", queue.slow);
        for _ in 0..100 {
            queue.learn(500, 1000 * queue.slow / AS_RECKONED);
        }
        assert!(queue.slow < 24, "{}", queue.slow);
    }
}
