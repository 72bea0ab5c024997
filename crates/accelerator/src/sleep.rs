//! Choosing the queues to look at, and waking clients.
//!
//! A queue that offers nothing for a while goes to sleep: its ring says that nobody looks, so its client rings, and only then
//! does the accelerator look at it again. Unused queues cost nothing, however many there are.
//!
//! A queue that had nothing for some steps, and does not sleep yet, is calm. Each step looks at only a few of the calm queues,
//! the grants in turn. So a step costs what the busy queues cost, and a client with thousands of queues that are hardly used
//! waits for them himself.

use std::ops::Deref;
use std::sync::atomic::Ordering;

use millstream_cwq::ring::Word;

use crate::accelerator::Accelerator;
use crate::arena::Arena;
use crate::grant::{Grant, GrantId, QueueId};
use crate::slab::Slab;

/// A busy accelerator makes certain after so many steps that no client sleeps that should be awake.
const FENCED: u32 = 16;

/// Every step looks at so many queues, whether they have something or not.
const FEW: usize = 16;

/// After so many steps the accelerator searches for queues that have become calm.
const CALMED: u32 = 16;

/// The number of calm queues that a step looks at.
const LOOKS: usize = 16;

impl<A: Arena, M: Deref<Target = [Word]>> Accelerator<A, M> {
    /// Looks at some of the calm queues, and now and then for others that have become calm.
    #[inline]
    pub(crate) fn look_about(&mut self) {
        if !self.calm.is_empty() {
            self.look_at_calm();
        }
        if self.active.len() > FEW {
            self.calm_down();
        }
    }

    /// Looks at the next calm queues, one of a grant after one of another. Returns true when any has something.
    #[cold]
    fn look_at_calm(&mut self) -> bool {
        let Accelerator { active, queues, grants, calm, calm_turn, .. } = self;
        let before = active.len();
        for _ in 0..LOOKS {
            if *calm_turn >= calm.len() {
                *calm_turn = 0;
            }
            let Some(index) = calm.get(*calm_turn) else { break };
            let Some(grant) = grants.at_mut(*index as usize) else { break };
            let of = &mut grant.calm;
            if of.turn >= of.queues.len() {
                of.turn = 0;
            }
            let Some(index) = of.queues.get(of.turn).copied() else {
                of.listed = false;
                calm.swap_remove(*calm_turn);
                continue;
            };
            if queues.at_mut(index as usize).is_some_and(|queue| queue.can_go_on()) {
                of.queues.swap_remove(of.turn);
                active.push(index);
            } else {
                of.turn += 1;
            }
            *calm_turn += 1;
        }
        active.len() > before
    }

    /// Makes those queues calm that have had nothing since the last call.
    #[cold]
    fn calm_down(&mut self) {
        self.steps += 1;
        if self.steps < CALMED {
            return;
        }
        self.steps = 0;
        let Accelerator { active, queues, grants, calm, .. } = self;
        active.retain(|index| {
            let Some(queue) = queues.at_mut(*index as usize) else { return false };
            if std::mem::take(&mut queue.busy) || !queue.is_quiet() || queue.can_go_on() {
                return true;
            }
            let Some(grant) = grants.at_mut(queue.grant) else { return true };
            grant.calm.queues.push(*index);
            if !std::mem::replace(&mut grant.calm.listed, true) {
                calm.push(queue.grant as u32);
            }
            false
        });
    }

    /// Takes a queue that is about to go out of the list of calm ones.
    pub(crate) fn forget_calm(&mut self, id: QueueId) {
        let Accelerator { queues, grants, .. } = self;
        if let Some(grant) = queues.get(id.0).and_then(|queue| grants.at_mut(queue.grant)) {
            grant.calm.queues.retain(|queue| *queue as usize != id.0.index());
        }
    }

    /// Calls `wake` for each queue whose client sleeps and has completions since the last call. It costs a fence for
    /// each queue that had completions, which waits until all earlier writes are on their way.
    pub fn wake_clients(&mut self, mut wake: impl FnMut(QueueId)) {
        self.unsure = 0;
        let Accelerator { unquiet, queues, .. } = self;
        unquiet.retain(|index| {
            let Some((id, queue)) = queues.named_mut(*index as usize) else { return false };
            if std::mem::take(&mut queue.told) && queue.completions.must_wake() {
                wake(QueueId(id));
            }
            queue.unquiet = !queue.is_quiet();
            queue.unquiet
        });
    }

    /// Wakes clients between two steps. It makes a fence only now and then, so it may overlook a client that has just gone to
    /// sleep. [`Accelerator::wake_clients`] must follow before the accelerator waits for anything.
    pub fn wake_seen(&mut self, mut wake: impl FnMut(QueueId)) {
        self.unsure += 1;
        if self.unsure >= FENCED {
            return self.wake_clients(wake);
        }
        for index in &self.unquiet {
            let Some((id, queue)) = self.queues.named_mut(*index as usize) else { continue };
            if queue.told && queue.completions.sees_sleeper() && queue.completions.must_wake() {
                queue.told = false;
                wake(QueueId(id));
            }
        }
    }

    /// Returns true when any queue that it looks at has words to take, or a long operation under way. Where many queues had
    /// nothing for some steps it looks at the next few: [`Accelerator::sleep`] looks at all.
    pub fn has_work(&mut self) -> bool {
        let Accelerator { active, queues, calm, .. } = self;
        active.iter().any(|index| queues.at_mut(*index as usize).is_some_and(|queue| queue.offers()))
            || !calm.is_empty() && self.look_at_calm()
    }

    /// Returns true when a producer filled a queue's ring with nonsense, so that it is not served any more.
    pub fn is_corrupt(&mut self, id: QueueId) -> bool {
        match self.queues.get_mut(id.0) {
            Some(queue) => queue.submissions.ready().is_err() || queue.completions.room().is_err(),
            None => true,
        }
    }

    /// Says on every ring that nobody looks at it, unless one has words. A caller that gets `true` waits for a
    /// wake-up, and calls [`Accelerator::wake`] after it.
    pub fn sleep(&mut self) -> bool {
        self.sleep_if(|_| false)
    }

    /// Goes to sleep like [`Accelerator::sleep`], but queues that have words and no room for their completions do not keep it
    /// awake. Nobody rings when they have room again, so a caller that gets `true` looks again after a while.
    pub fn sleep_blocked(&mut self) -> bool {
        self.sleep_if(|queue| queue.room() == 0)
    }

    fn sleep_if(&mut self, blocked: impl Fn(&mut crate::queue::Queue<M>) -> bool) -> bool {
        let Accelerator { active, queues, grants, under_way, .. } = self;
        let nothing = *under_way == 0
            && awake(active, grants).all(|index| {
                let Some(queue) = queues.at_mut(*index as usize) else { return true };
                queue.submissions.sleep() != Ok(false) || blocked(queue)
            });
        if nothing {
            self.forget_staged();
        } else {
            self.wake();
        }
        nothing
    }

    /// Says on every ring that the accelerator looks at it again, except for queues that went to sleep by themselves.
    pub fn wake(&mut self) {
        for index in awake(&self.active, &self.grants) {
            if let Some(queue) = self.queues.at_mut(*index as usize) {
                queue.submissions.wake();
            }
        }
    }

    /// Lets queues that have offered nothing since the last call go to sleep: nobody looks at them until
    /// [`Accelerator::attend`] names their grant, because its client has rung.
    pub fn rest(&mut self) {
        self.rest_if(|used| !used);
    }

    /// Lets all queues that have nothing go to sleep, where there are more than a few. It would take longer to mark every ring
    /// each time that the accelerator itself goes to sleep or is woken.
    pub fn rest_all(&mut self) {
        if self.queues() - self.resting() > FEW {
            self.rest_if(|_| true);
        }
    }

    fn rest_if(&mut self, may: impl Fn(bool) -> bool) {
        let Accelerator { active, queues, grants, calm, .. } = self;
        let mut stays = |index: &u32| {
            let Some(queue) = queues.at_mut(*index as usize) else { return false };
            if !may(std::mem::take(&mut queue.used)) || !queue.is_quiet() {
                return true;
            }
            // A corrupt ring is not served, so nobody needs to look at it.
            queue.asleep = queue.submissions.sleep() != Ok(false);
            !queue.asleep
        };
        active.retain(&mut stays);
        for index in calm {
            if let Some(grant) = grants.at_mut(*index as usize) {
                grant.calm.queues.retain(&mut stays);
            }
        }
    }

    /// Returns how many queues there are.
    #[inline]
    pub fn queues(&self) -> usize {
        self.queues.count()
    }

    /// Returns how many queues sleep by themselves.
    pub fn resting(&self) -> usize {
        self.queues.count() - awake(&self.active, &self.grants).count()
    }

    /// Wakes queues of a grant whose client has rung: those that slept and have words, or whose client has noticed that they
    /// slept. It costs a look at each of the grant's queues.
    pub fn attend(&mut self, grant: GrantId) {
        let Accelerator { active, queues, grants, .. } = self;
        let Some(grant) = grants.get(grant.0) else { return };
        for id in &grant.queues {
            let Some(queue) = queues.get_mut(*id).filter(|queue| queue.asleep) else { continue };
            // The client may write anything to this word. Only its own queue suffers.
            let rung = queue.submissions.sleep_word().load(Ordering::Relaxed) == 0;
            if rung || matches!(queue.submissions.ready(), Ok(1..)) {
                (queue.asleep, queue.used, queue.busy) = (false, true, true);
                queue.submissions.wake();
                active.push(id.index() as u32);
            }
        }
    }
}

/// Returns the queues that do not sleep.
fn awake<'a, A>(active: &'a [u32], grants: &'a Slab<Grant<A>>) -> impl Iterator<Item = &'a u32> {
    active.iter().chain(grants.iter().flat_map(|(_, grant)| &grant.calm.queues))
}
