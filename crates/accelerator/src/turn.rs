//! A turn: it takes words, executes them, shows completions, and charges the time it took.
//!
//! No turn that is bounded lasts much longer than its bound, whatever words the clients submit: longer ones
//! are executed in slices. While one grant is alone, turns are long enough to fill lanes; while several have work,
//! they are short, because each of them waits for the turns of the others.

use std::ops::Deref;

use millstream_cwq::ring::Word;
use millstream_cwq::{Completion, Status};

use crate::accelerator::Accelerator;
use crate::arena::Arena;
use crate::bounds::{Bounds, Limits, Turns};
use crate::cost::{Costs, PER_NANOSECOND};
use crate::grant::{GrantId, QueueId};
use crate::held::{HeldWord, MOST_HELD};
use crate::long::{self, Reserve};
use crate::queue::Queue;
use crate::slab::Slab;
use crate::status::failed;

impl<A: Arena, M: Deref<Target = [Word]>> Accelerator<A, M> {
    /// Bounds the time that a turn takes, from here on. `clock` counts nanoseconds. It measures the cost of this processor's
    /// engines here, which takes some milliseconds. Later it is read twice for each turn in which several grants have work, so
    /// that they share the time that their words took and not what a table says. Memory for objects is taken here, unless
    /// [`Accelerator::reserve`] took it.
    pub fn bound_turns(&mut self, turns: Turns, mut clock: impl FnMut() -> u64 + Send + 'static) {
        let costs = Costs::measured(&self.executor.unit, &mut clock);
        if self.openings.is_none() {
            self.reserve(Reserve::default());
        }
        self.bounds = Some(Box::new(Bounds::new(turns, clock, costs)));
        // The facts that queues keep of words were reckoned without these bounds.
        self.queues.iter_mut().for_each(|queue| queue.alike = None);
    }

    /// Returns the limits of this turn.
    #[inline]
    pub(crate) fn limits(&mut self) -> Limits {
        let Accelerator { active, queues, bounds, executor, held, .. } = self;
        let mut offered = || {
            let offers = |index: &u32| queues.at_mut(*index as usize)?.submissions.ready().ok();
            active.iter().filter_map(offers).sum()
        };
        match bounds {
            Some(bounds) => bounds.limits(executor.stage.memory.len(), held.len(), &mut offered),
            None => Limits::UNBOUNDED,
        }
    }

    /// Takes what the queues offer, each its share, and executes it unless the flush policy says to wait
    /// for more. `now` counts in any unit, the policy's. Returns how many operations ended.
    #[inline]
    pub fn step(&mut self, now: u64) -> usize {
        let before = self.ended;
        if self.held.is_empty() {
            self.held_since = now;
        }
        let shared = self.bounds.as_ref().is_some_and(|bounds| bounds.shared > 0);
        let began = if shared { self.clock() } else { 0 };
        self.look_about();
        self.take();
        if !self.held.is_empty() {
            let waited = now.saturating_sub(self.held_since) >= self.policy.deadline;
            if waited || self.held.len() >= self.policy.full.min(MOST_HELD) {
                self.execute();
            }
        }
        if !self.slices.is_empty() {
            self.execute_slices();
        }
        if self.ended != before {
            self.publish();
        }
        if shared {
            self.settle(began);
        } else if let Some(bounds) = &mut self.bounds {
            bounds.bill.clear();
        }
        self.ended.wrapping_sub(before)
    }

    /// Executes all held words, however few. Returns how many operations ended. Operations in slices go on with the next
    /// [`Accelerator::step`].
    pub fn flush(&mut self) -> usize {
        let before = self.ended;
        self.execute();
        if let Some(bounds) = &mut self.bounds {
            bounds.bill.clear();
        }
        self.publish();
        self.ended.wrapping_sub(before)
    }

    /// Charges a grant for work that was done for it beside its words, in nanoseconds.
    pub fn charge(&mut self, grant: GrantId, nanoseconds: u64) {
        let Accelerator { grants, queues, .. } = self;
        let Some(grant) = grants.get(grant.0) else { return };
        let cost = PER_NANOSECOND.saturating_mul(i64::try_from(nanoseconds).unwrap_or(i64::MAX));
        for id in &grant.queues {
            if let Some(queue) = queues.get_mut(*id) {
                queue.deficit = queue.deficit.saturating_sub(cost / queue.siblings);
            }
        }
    }

    fn clock(&mut self) -> u64 {
        self.bounds.as_mut().map_or(0, |bounds| (bounds.clock)())
    }

    /// Divides the time that a turn took among the queues whose words were executed in it, in the table's proportions. A queue
    /// that was charged too little is in debt for the rest.
    #[inline]
    fn settle(&mut self, began: u64) {
        let Accelerator { bounds, queues, taken_cost, .. } = self;
        let Some(bounds) = bounds else { return };
        if *taken_cost > 0 {
            bounds.shared -= 1;
            bounds.brisk = bounds.brisk.saturating_sub(1);
        }
        if bounds.bill.turn.is_empty() {
            return;
        }
        let taken = (bounds.clock)().saturating_sub(began);
        let Bounds { bill, turns, .. } = &mut **bounds;
        let apart = std::mem::take(&mut bill.outlasting_took).min(taken);
        divide(queues, *turns, apart, &mut bill.turn.outlasting);
        divide(queues, *turns, taken - apart, &mut bill.turn.others);
    }

    /// Executes what is held and posts the completions.
    #[inline]
    fn execute(&mut self) {
        if self.held.is_empty() {
            return;
        }
        self.ended += self.held.len();
        if let Some(bounds) = &mut self.bounds {
            bounds.bill.executed();
        }
        let Accelerator { executor, grants, queues, held, bounds, features, .. } = self;
        let outlasting = match bounds {
            Some(bounds) if !bounds.bill.turn.outlasting.is_empty() => bounds,
            _ => {
                executor.run(*features, grants, queues, held);
                held.clear();
                return;
            }
        };
        // The sort keeps the order of others.
        held.sort_by_key(HeldWord::outlasts_turns);
        let (short, long) = held.split_at(held.partition_point(|held| !held.outlasts_turns()));
        executor.run(*features, grants, queues, short);
        let began = (outlasting.clock)();
        executor.run(*features, grants, queues, long);
        outlasting.bill.outlasting_took = (outlasting.clock)().saturating_sub(began);
        held.clear();
    }

    /// Executes the slices of this turn. Operations that are not at their end go back to their queues.
    #[cold]
    #[inline(never)]
    fn execute_slices(&mut self) {
        let Accelerator { executor, grants, queues, slices, openings, under_way, ended, .. } = self;
        long::run(executor, grants, slices);
        for mut slice in slices.drain(..) {
            let Some(queue) = queues.at_mut(slice.queue as usize) else { continue };
            let Some(completion) = slice.end else {
                // An operation with a place that others wait for goes before those without one.
                match slice.long.has_place() {
                    true => queue.long.push_front(slice.long),
                    false => queue.long.push_back(slice.long),
                }
                continue;
            };
            if let Some(openings) = openings {
                slice.long.end(queue.grant, openings);
            }
            queue.under_way -= 1;
            *under_way -= 1;
            *ended += 1;
            queue.post(slice.long.about(), completion);
        }
    }

    /// Ends all long operations of a queue before their time.
    pub(crate) fn end_long(&mut self, id: QueueId, status: Status) {
        if self.queues.get(id.0).is_none() {
            return;
        }
        self.end_long_at(id.0.index(), status);
    }

    /// Ends all long operations of the queue in that place.
    pub(crate) fn end_long_at(&mut self, queue: usize, status: Status) {
        let Accelerator { queues, openings, under_way, ended, .. } = self;
        let Some(queue) = queues.at_mut(queue) else { return };
        while let Some(mut long) = queue.long.pop_front() {
            if let Some(openings) = openings {
                long.end(queue.grant, openings);
            }
            queue.under_way -= 1;
            *under_way -= 1;
            *ended += 1;
            let completion: Completion = failed(long.tag(), status);
            queue.post(long.about(), completion);
        }
    }

    /// Wipes what is left of objects in the executor's own memory.
    pub(crate) fn forget_staged(&mut self) {
        self.executor.forget();
    }

    /// Shows the completions that were posted.
    #[inline]
    pub(crate) fn publish(&mut self) {
        for index in &self.unquiet {
            if let Some(queue) = self.queues.at_mut(*index as usize) {
                queue.show();
            }
        }
    }
}

/// Divides the nanoseconds that words took among the queues that they are from, in the proportions in which these were charged.
fn divide<M: Deref<Target = [Word]>>(
    queues: &mut Slab<Queue<M>>,
    turns: Turns,
    nanoseconds: u64,
    charges: &mut Vec<(u32, i64)>,
) {
    let measured = PER_NANOSECOND.saturating_mul(nanoseconds.min(1 << 40) as i64);
    let total = charges.iter().map(|(_, charged)| i128::from(*charged)).sum::<i128>();
    for (index, charged) in charges.drain(..) {
        let Some(queue) = queues.at_mut(index as usize) else { continue };
        let own = (i128::from(measured) * i128::from(charged) / total) as i64;
        queue.learn(own, charged);
        // A share that is left of a turn that was cut short stays.
        let most = turns.most_back(queue.weight, charged).max(queue.deficit);
        queue.deficit = (queue.deficit + charged - own).min(most);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use millstream_cpu::Features;
    use millstream_cwq::{Algorithm, ControlWord, Opcode, ring};

    use super::*;
    use crate::accelerator::FlushPolicy;
    use crate::arena::LocalArena;
    use crate::bounds::SHARED;
    use crate::queue::QUANTUM;

    type Rings = Arc<[Word]>;
    type Own = Accelerator<LocalArena, Rings>;
    type Submissions = ring::Producer<Rings, { ControlWord::WORDS }>;

    /// An accelerator that executes when 10 units have passed, with two grants that both have work. Every turn lasts as many
    /// nanoseconds as the number says.
    fn shared() -> (Own, [(QueueId, Submissions); 2], Arc<AtomicU64>) {
        let policy = FlushPolicy { deadline: 10, ..FlushPolicy::default() };
        let mut accelerator = Accelerator::new(Features::none(), policy);
        let lasts = Arc::new(AtomicU64::new(0));
        let (tick, mut now) = (lasts.clone(), 0);
        accelerator.bound_turns(Turns::default(), move || {
            now += tick.load(Ordering::Relaxed);
            now
        });
        let queues = std::array::from_fn(|_| queue(&mut accelerator));
        if let Some(bounds) = &mut accelerator.bounds {
            bounds.shared = SHARED;
        }
        (accelerator, queues, lasts)
    }

    /// Adds a queue of a grant of its own. Nobody takes its completions.
    fn queue(accelerator: &mut Own) -> (QueueId, Submissions) {
        let grant = accelerator.add_grant(LocalArena::new(4096), 0);
        let submissions: Rings = ring::memory::<{ ControlWord::WORDS }>(16).into();
        let completions: Rings = ring::memory::<{ Completion::WORDS }>(32).into();
        let id = accelerator.add_queue(grant, submissions.clone(), completions, 1).expect("rings");
        (id, Submissions::new(submissions).expect("a ring"))
    }

    fn submit(submissions: &mut Submissions, words: u64) {
        let (opcode, algorithm) = (Opcode::Checksum as u8, Algorithm::IpChecksum as u8);
        let word = ControlWord { opcode, algorithm, source_len: 64, ..ControlWord::default() };
        for tag in 0..words {
            submissions.push(&ControlWord { tag, ..word }.to_words()).expect("room");
        }
        submissions.publish();
    }

    fn debt(accelerator: &Own, id: QueueId) -> i64 {
        -accelerator.queues.get(id.0).expect("a queue").deficit
    }

    #[test]
    fn words_in_groups_leave_half_for_the_next_turn() {
        let mut accelerator = Own::new(Features::none(), FlushPolicy::default());
        accelerator.bound_turns(Turns { group: 4, ..Turns::of_private_keys() }, || 0);
        let [mut first, mut second] = std::array::from_fn(|_| queue(&mut accelerator));
        // A turn takes eight of nine words: half of them, and more to fill a group.
        submit(&mut first.1, 4);
        submit(&mut second.1, 5);
        assert_eq!([accelerator.step(0), accelerator.step(0), accelerator.step(0)], [8, 1, 0]);
        submit(&mut first.1, 3);
        submit(&mut second.1, 4);
        assert_eq!([accelerator.step(0), accelerator.step(0)], [4, 3]);
        // Words that come meanwhile join those that were left.
        submit(&mut first.1, 4);
        submit(&mut second.1, 4);
        assert_eq!(accelerator.step(0), 4);
        submit(&mut first.1, 4);
        assert_eq!([accelerator.step(0), accelerator.step(0), accelerator.step(0)], [4, 4, 0]);
    }

    #[test]
    fn words_in_groups_wait_for_full_lanes_only_as_long_as_the_policy_says() {
        let mut accelerator = Own::new(Features::none(), FlushPolicy { full: 8, deadline: 10 });
        accelerator.bound_turns(Turns { group: 4, ..Turns::of_private_keys() }, || 0);
        let [mut first, mut second] = std::array::from_fn(|_| queue(&mut accelerator));
        submit(&mut first.1, 4);
        assert_eq!([accelerator.step(0), accelerator.step(9)], [0, 0]);
        submit(&mut second.1, 4);
        assert_eq!(accelerator.step(9), 8, "the lanes are full");
        submit(&mut first.1, 1);
        assert_eq!([accelerator.step(20), accelerator.step(29), accelerator.step(30)], [0, 0, 1]);
    }

    #[test]
    fn the_time_is_that_of_those_whose_words_were_in_the_lanes() {
        let (mut accelerator, [mut early, mut late], lasts) = shared();
        submit(&mut early.1, 3);
        assert_eq!(accelerator.step(0), 0, "they wait for more");
        submit(&mut late.1, 1);
        lasts.store(1_000_000, Ordering::Relaxed);
        assert_eq!(accelerator.step(10), 4);
        let debts = [debt(&accelerator, early.0), debt(&accelerator, late.0)];
        let whole = 1_000_000 * PER_NANOSECOND;
        // The rest of a quantum is not saved up, so nobody gets back twice what was charged in advance.
        let slack = 2 * QUANTUM;
        assert!(
            (debts[0] - whole * 3 / 4).abs() < slack && (debts[1] - whole / 4).abs() < slack,
            "{debts:?}"
        );
    }

    #[test]
    fn a_turn_that_only_takes_is_charged_to_nobody_twice() {
        let (mut accelerator, [mut early, late], lasts) = shared();
        lasts.store(1_000_000, Ordering::Relaxed);
        submit(&mut early.1, 2);
        assert_eq!(accelerator.step(0), 0);
        assert_eq!(accelerator.step(5), 0);
        assert!(debt(&accelerator, early.0) <= 0, "nothing was executed");
        assert_eq!(accelerator.step(10), 2);
        assert!(debt(&accelerator, early.0) > 1_000_000 * PER_NANOSECOND - 2 * QUANTUM);
        assert!(debt(&accelerator, late.0) <= 0);
        // A queue that is gone leaves nothing behind for the next one in its place.
        submit(&mut early.1, 2);
        while accelerator.held.is_empty() {
            accelerator.step(20);
        }
        accelerator.remove_queue(early.0);
        assert!(accelerator.bounds.as_ref().is_some_and(|bounds| bounds.bill.holds_nothing()));
    }
}
