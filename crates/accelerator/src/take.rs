//! Taking words from queues, so that each gets its share of the time.

use std::ops::Deref;

use millstream_cwq::ring::Word;
use millstream_cwq::{ControlWord, Flags, Opcode, Status};

use crate::accelerator::Accelerator;
use crate::alike::Alike;
use crate::arena::Arena;
use crate::bounds::{Bounds, Limits};
use crate::check::gathered_len;
use crate::cost::{NULL_COST, PER_NANOSECOND, cost, is_at_once, is_keyed_piece, outlasts_turns};
use crate::grant::Grant;
use crate::held::HeldWord;
use crate::jobs::FULL_LANES;
use crate::long::{Long, Openings, Slice};
use crate::queue::{AS_RECKONED, Queue};
use crate::status::failed;
use crate::trace::{self, About};
use crate::visit::{Visit, is_null};
use crate::way::Way;

/// The bytes of the words that are taken before any is executed: enough for lanes to be full of 8 KB objects, little enough
/// for staging memory to be bounded.
const MOST_BYTES: i64 = 4 << 20;

/// A debt that more than one turn has made: a millisecond.
const DEEP: i64 = 1_000_000 * PER_NANOSECOND;

/// The cost of a byte of an operation in slices, where it was not measured.
const UNMEASURED: i64 = 16;

/// The most long operations of all queues that are under way. Each has a state and perhaps keys, up to 24 KiB. The later half
/// is for grants that have none.
const MOST_LONG_OF_ALL: usize = 512;

impl<A: Arena, M: Deref<Target = [Word]>> Accelerator<A, M> {
    /// Deficit round-robin: in each round every queue takes words up to what it has saved up, and rounds go on
    /// until no more words are offered, or enough was taken. So queues share when there is more than enough, and
    /// lanes fill when there is not.
    #[inline]
    pub(crate) fn take(&mut self) {
        (self.taken_cost, self.taken_bytes, self.takers) = (0, 0, 0);
        let limits = self.limits();
        // A hurried queue goes first only every other turn, so that the others have most of the time. Where words go in groups, its
        // word would be alone in the lanes.
        let hurried = if self.hurries || limits.grouped { None } else { self.hurried.take() };
        self.hurries = false;
        if hurried.is_some_and(|place| self.take_first(place, &limits)) {
            return;
        }
        loop {
            let before = self.progress();
            (self.indebted, self.left_some) = (false, false);
            if self.round(1, &limits) {
                return;
            }
            // Words that came meanwhile wait for the next turn, which nobody else delays.
            if !limits.bounded && !self.left_some {
                return;
            }
            if self.progress() == before {
                let Some(rounds) = self.rounds_to_wait(limits.quantum) else { return };
                if self.round(rounds, &limits) || self.progress() == before {
                    return;
                }
            }
            if self.held.len() >= limits.words || self.taken_bytes >= MOST_BYTES {
                return;
            }
            // A queue that is alone takes nobody's time, so it goes on where turns are not bounded.
            if self.taken_cost >= limits.cost && (limits.bounded || self.takers > 1) {
                return;
            }
        }
    }

    /// Counts held words, ended words, long operations and slices. A round that changes none of them found nothing.
    #[inline(always)]
    fn progress(&self) -> [usize; 4] {
        [self.held.len(), self.ended, self.under_way, self.slices.len()]
    }

    /// Gives every queue that many quanta, and takes from each. Returns true when the turn is over. Queues that had few words
    /// do not wait for the words of those that have many: these begin the next turn.
    #[inline]
    fn round(&mut self, quanta: i64, limits: &Limits) -> bool {
        let queues = self.active.len();
        let mut next = if self.turn < queues { self.turn } else { 0 };
        for _ in 0..queues {
            let at = next;
            next = if at + 1 < queues { at + 1 } else { 0 };
            if self.hurries && self.has_many(self.active[at] as usize) {
                self.turn = at;
                return true;
            }
            let cut_short = self.take_from(self.active[at] as usize, quanta, limits);
            if self.hurries {
                self.hurried = Some(at);
            }
            let enough = limits.bounded && self.taken_cost >= limits.cost;
            if enough || self.held.len() >= limits.words {
                // The next turn goes on with the queue that was cut short, or begins with the one that had no turn.
                self.turn = if cut_short { at } else { next };
                return true;
            }
        }
        false
    }

    /// Takes from a queue before its turn, if it had few words when it last had some. Returns true when it has few again, which
    /// then are executed without waiting for others.
    #[inline]
    fn take_first(&mut self, place: usize, limits: &Limits) -> bool {
        let Some(index) = self.active.get(place).map(|index| *index as usize) else { return false };
        let Some(queue) = self.queues.at_mut(index).filter(|queue| limits.shared && !queue.has_many) else {
            return false;
        };
        if !queue.can_go_on() {
            return false;
        }
        self.take_from(index, 1, limits);
        if self.hurries {
            self.hurried = Some(place);
        }
        self.hurries
    }

    /// Returns true when a queue has words, and had many when it last had some.
    #[cold]
    #[inline(never)]
    fn has_many(&mut self, index: usize) -> bool {
        self.queues.at_mut(index).is_some_and(|queue| queue.has_many && queue.can_go_on())
    }

    /// Returns after how many rounds the first queue that offers words has saved up enough, where big objects have
    /// left all of them in debt.
    #[cold]
    #[inline(never)]
    fn rounds_to_wait(&mut self, quantum: i64) -> Option<i64> {
        if !self.indebted {
            return None;
        }
        let Accelerator { active, queues, .. } = self;
        let rounds = active.iter().filter_map(|index| {
            let queue = queues.at_mut(*index as usize)?;
            let offers = !queue.long.is_empty() || queue.offers() && queue.room() > 0;
            (offers && queue.deficit <= 0).then(|| 1 - queue.deficit / queue.quantum(quantum))
        });
        rounds.min()
    }

    /// Takes words from a queue up to what it has saved up. Returns true when it had to stop before that because no more
    /// can be held.
    #[inline]
    fn take_from(&mut self, index: usize, quanta: i64, limits: &Limits) -> bool {
        let mut visit = Visit { may_begin: self.may_begin(index), ..Visit::default() };
        let left = limits.cost - self.taken_cost;
        let Accelerator { queues, grants, slices, openings, .. } = self;
        let Some(queue) = queues.at_mut(index) else { return false };
        let Some(grant) = grants.at(queue.grant) else { return false };
        let (Ok(ready), Ok(_)) = (queue.submissions.ready(), queue.completions.room()) else {
            // A corrupt ring is not served. Its long operations end, so that they hold no place that others wait for.
            self.end_long_at(index, Status::Revoked);
            return false;
        };
        let ready = if grant.paused { 0 } else { ready };
        give_share(queue, quanta, limits);
        if ready == 0 && queue.owed == 0 && queue.long.is_empty() {
            queue.deficit = queue.deficit.min(0);
            return false;
        }
        if queue.owed > 0 || !queue.long.is_empty() {
            defer_debts(queue, openings);
        }
        visit.fills_lanes = limits.grouped && ready >= FULL_LANES;
        let offers = ready > 0 || !queue.long.is_empty();
        self.indebted |= offers && queue.deficit <= 0;
        if !queue.long.is_empty() {
            visit.taken_cost = take_slices(queue, index as u32, limits, left, slices, openings);
        }
        if ready > 0 {
            self.take_words(index, &mut visit, limits, left);
        }
        self.leave(index, &visit, offers, limits)
    }

    /// Takes words from a queue that has some, until its deficit or `left`, the rest of the turn, is used up.
    #[inline(always)]
    fn take_words(&mut self, index: usize, visit: &mut Visit, limits: &Limits, left: i64) {
        let Accelerator {
            features, queues, grants, held, slices, openings, bounds, under_way, executor, ..
        } = self;
        let Some(queue) = queues.at_mut(index) else { return };
        let Some(grant) = grants.at(queue.grant) else { return };
        let slow = if limits.shared { queue.slow } else { AS_RECKONED };
        let fast = executor.way == Way::Fast;
        while queue.deficit > 0 {
            if held.len() >= limits.words || limits.bounded && visit.taken_cost >= left {
                queue.in_turn = true;
                break;
            }
            // Every word that is taken must find room for its completion.
            if !visit.finds_room(queue) {
                break;
            }
            if fast && queue.submissions.knows_more() {
                let before = held.len();
                visit.take_alike(queue, index as u32, held, limits, left);
                if held.len() > before {
                    continue;
                }
            }
            // A long word that can't begin stays in the ring, and the words behind it wait with it.
            if visit.may_not_begin(queue) && limits.next_is_sliced(queue, grant, bounds.as_deref()) {
                break;
            }
            let Ok(Some(words)) = queue.submissions.pop() else { break };
            let word = ControlWord::from_words(words);
            visit.room -= 1;
            if is_null(&words) {
                let cost = NULL_COST * slow / AS_RECKONED;
                visit.complete_null(queue, &word, cost);
                if fast && queue.submissions.knows_more() {
                    visit.complete_nulls(queue, cost, if limits.bounded { left } else { i64::MAX });
                }
                continue;
            }
            let gathered = if word.has(Flags::GATHER) { gathered_len(&word, &grant.arena) } else { 0 };
            let (mut cost, bytes) = cost(&word, gathered, queue.arena_len);
            trace::start(queue.label, &About::of(&word, word.source_len), word.tag);
            queue.held += 1;
            let alone = bounds.as_ref().map_or(0, |bounds| bounds.costs.alone(&word, bytes));
            if limits.is_sliced(&word, alone, bytes) {
                let per_byte = bounds.as_ref().map_or(UNMEASURED, |bounds| bounds.costs.per_byte(&word));
                // The bytes are charged slice by slice.
                visit.charge(queue, cost - bytes.min(cost));
                let begun = Long::begin(*features, &word, gathered, grant, per_byte, openings.as_ref());
                visit.begin_long(queue, &word, begun, under_way);
                continue;
            }
            if limits.shared {
                cost = visit.in_advance(cost, alone) * slow / AS_RECKONED;
            }
            visit.charge(queue, cost);
            visit.held_cost += cost;
            if outlasts_turns(&word) {
                visit.outlasting_cost += cost;
            }
            visit.taken_bytes += bytes;
            let mut cancelled = false;
            if is_cancel(&word) {
                cancelled = cancel(held, index, &word);
                if !cancelled && cancel_long(queue, index, &word, slices, openings) {
                    *under_way -= 1;
                    visit.refused += 1;
                    cancelled = true;
                }
            }
            queue.alike = Alike::of(&word, bounds.as_ref().map(|bounds| &bounds.costs));
            held.push(HeldWord {
                words,
                gathered,
                queue: index as u32,
                grant: queue.grant as u32,
                cancelled,
            });
        }
    }

    /// Ends a visit of a queue. Returns true when it was cut short.
    #[inline(always)]
    fn leave(&mut self, index: usize, visit: &Visit, offers: bool, limits: &Limits) -> bool {
        let Visit { ended, refused, taken_cost, held_cost, outlasting_cost, taken_bytes, .. } = *visit;
        let Some(queue) = self.queues.at_mut(index) else { return false };
        if limits.shared && taken_cost > 0 {
            let left_some = queue.in_turn || queue.deficit <= 0 && queue.offers();
            queue.has_many = left_some || taken_cost >= limits.few || !queue.long.is_empty();
        }
        self.left_some |= queue.in_turn || queue.deficit <= 0 || !queue.long.is_empty();
        if !queue.in_turn {
            // An unused share is not saved up, so that no queue can take much at once. A debt stays.
            queue.deficit = queue.deficit.min(0);
        }
        queue.dirty |= ended > 0;
        queue.stats.operations += ended as u64;
        queue.used |= offers;
        queue.submissions.release();
        let (cut_short, of_grant) = (queue.in_turn, queue.grant);
        let newly_unquiet = taken_cost > 0 && !queue.unquiet;
        queue.unquiet |= newly_unquiet;
        queue.busy |= taken_cost > 0;
        let hurries = limits.shared && taken_cost > 0 && !queue.has_many;
        self.ended += ended + refused;
        self.taken_cost += taken_cost;
        self.taken_bytes += taken_bytes;
        if newly_unquiet {
            self.unquiet.push(index as u32);
        }
        if taken_cost > 0 {
            self.takers += 1;
            self.hurries |= hurries;
            if let Some(bounds) = &mut self.bounds {
                bounds.taken_from(of_grant);
                if hurries {
                    bounds.hurry();
                }
                bounds.bill.add(index as u32, held_cost, outlasting_cost, taken_cost - held_cost);
            }
        }
        cut_short
    }
}

/// Gives a queue its share of a round, unless it goes on with a turn that was cut short.
#[inline(always)]
fn give_share<M: Deref<Target = [Word]>>(queue: &mut Queue<M>, quanta: i64, limits: &Limits) {
    if !std::mem::take(&mut queue.in_turn) {
        let share = quanta.saturating_mul(queue.quantum(limits.quantum));
        queue.deficit = queue.deficit.saturating_add(share);
    }
}

impl<A: Arena, M: Deref<Target = [Word]>> Accelerator<A, M> {
    /// Returns how many long operations a queue's grant may begin. Once half of all are under way, a grant may begin one if
    /// it has none.
    #[inline]
    fn may_begin(&self, queue: usize) -> usize {
        let free = MOST_LONG_OF_ALL.saturating_sub(self.under_way);
        if free > MOST_LONG_OF_ALL / 2 {
            free - MOST_LONG_OF_ALL / 2
        } else {
            self.may_begin_last(queue, free)
        }
    }

    #[cold]
    #[inline(never)]
    fn may_begin_last(&self, queue: usize, free: usize) -> usize {
        let Some(grant) = self.queues.at(queue).and_then(|queue| self.grants.at(queue.grant)) else {
            return 0;
        };
        let has_one =
            grant.queues.iter().any(|id| self.queues.get(*id).is_some_and(|queue| queue.under_way > 0));
        if has_one { 0 } else { free.min(1) }
    }
}

/// Ends the long operation of a queue that a word names, even if its next slice was taken in this turn. Returns true if there
/// is one.
#[cold]
#[inline(never)]
fn cancel_long<M: Deref<Target = [Word]>>(
    queue: &mut Queue<M>,
    index: usize,
    word: &ControlWord,
    slices: &mut Vec<Slice>,
    openings: &mut Option<Openings>,
) -> bool {
    let tag = cancelled_tag(word);
    let in_turn = |slice: &Slice| slice.queue as usize == index && slice.long.tag() == tag;
    let found = queue
        .take_long(tag)
        .or_else(|| slices.iter().position(in_turn).map(|at| slices.swap_remove(at).long));
    let Some(mut long) = found else { return false };
    if let Some(openings) = openings {
        long.end(queue.grant, openings);
    }
    queue.under_way -= 1;
    queue.post(long.about(), failed(long.tag(), Status::Cancelled));
    true
}

/// Defers the debt of a queue while it has a place in which something is opened, so that no client keeps a place by staying
/// in debt. A queue that is deep in debt leaves the line for such places.
#[cold]
#[inline(never)]
fn defer_debts<M: Deref<Target = [Word]>>(queue: &mut Queue<M>, openings: &mut Option<Openings>) {
    if queue.long.iter().any(|long| long.has_place()) {
        if queue.deficit <= 0 {
            queue.owed = queue.owed.saturating_add(1 - queue.deficit);
            queue.deficit = 1;
        }
        return;
    }
    queue.deficit = queue.deficit.saturating_sub(std::mem::take(&mut queue.owed));
    if queue.deficit < -DEEP
        && let Some(openings) = openings
    {
        openings.leave_line(queue.grant);
    }
}

/// Takes a slice of each long operation of a queue, as far as the queue may and the turn has room. Returns their cost.
#[cold]
#[inline(never)]
fn take_slices<M: Deref<Target = [Word]>>(
    queue: &mut Queue<M>,
    index: u32,
    limits: &Limits,
    left: i64,
    slices: &mut Vec<Slice>,
    openings: &mut Option<Openings>,
) -> i64 {
    let mut taken = 0;
    for _ in 0..queue.long.len() {
        if queue.deficit <= 0 || taken >= left {
            queue.in_turn = queue.deficit > 0;
            break;
        }
        let Some(mut long) = queue.long.pop_front() else { break };
        if let Some(openings) = openings
            && !long.may_go_on(queue.grant, openings)
        {
            queue.long.push_back(long);
            continue;
        }
        let len = long.next_len(limits.slice, limits.bytes);
        let cost = long.cost(len);
        queue.deficit -= cost;
        taken += cost;
        slices.push(Slice::new(index, queue.grant as u32, long, len));
    }
    taken
}

impl Limits {
    /// Returns true when a word is executed in slices: it is too long for a turn, or it is a piece of a message under a key.
    #[inline]
    fn is_sliced(&self, word: &ControlWord, alone: i64, bytes: i64) -> bool {
        self.is_long(alone, bytes) && !is_at_once(word) || is_keyed_piece(word)
    }

    /// Returns true when the next word of a queue would be executed in slices.
    #[cold]
    #[inline(never)]
    fn next_is_sliced<A: Arena, M: Deref<Target = [Word]>>(
        &self,
        queue: &mut Queue<M>,
        grant: &Grant<A>,
        bounds: Option<&Bounds>,
    ) -> bool {
        // `pop` would also see a word that came since the last look, so this must look again.
        let _ = queue.submissions.ready();
        let Some(words) = queue.submissions.peek(0) else { return false };
        let word = ControlWord::from_words(words);
        let gathered = if word.has(Flags::GATHER) { gathered_len(&word, &grant.arena) } else { 0 };
        let (_, bytes) = cost(&word, gathered, queue.arena_len);
        self.is_sliced(&word, bounds.map_or(0, |bounds| bounds.costs.alone(&word, bytes)), bytes)
    }
}

/// Returns true when a word cancels another, and nothing is wrong with it.
fn is_cancel(word: &ControlWord) -> bool {
    let ControlWord { key, mac_key, tag, .. } = *word;
    word.opcode == Opcode::Cancel as u8
        && *word == ControlWord { opcode: Opcode::Cancel as u8, key, mac_key, tag, ..ControlWord::default() }
}

/// Returns the tag that a cancelling word names.
fn cancelled_tag(word: &ControlWord) -> u64 {
    u64::from(word.key) | u64::from(word.mac_key) << 32
}

/// Marks the held word of the same queue whose tag another word names. Returns true if it was found.
fn cancel(held: &mut [HeldWord], queue: usize, word: &ControlWord) -> bool {
    let tag = cancelled_tag(word);
    let found = held.iter_mut().find(|taken| {
        let same = taken.queue as usize == queue && taken.tag() == tag && !taken.cancelled;
        same && taken.word().opcode != Opcode::Cancel as u8
    });
    found.map(|taken| taken.cancelled = true).is_some()
}
