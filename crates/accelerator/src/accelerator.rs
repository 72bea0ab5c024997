//! The accelerator: takes control words from queues, executes them, posts completions.

use std::fmt;
use std::ops::Deref;

use millstream_cpu::Features;
use millstream_cwq::ring::{Consumer, Corrupt, Producer, Word};
use millstream_cwq::{Algorithm, AlgorithmSet, Completion, ControlWord, Flags, Opcode, Status, VERSION};
use zeroize::Zeroizing;

use crate::arena::Arena;
use crate::cost::{NULL_COST, cost};
use crate::execute::{Executor, Taken};
use crate::grant::{Grant, GrantConfig, GrantId, MovedQueue, QueueId, policy};
use crate::key::Key;
use crate::places::Places;
use crate::plan::gathered_len;
use crate::slots::{ExportError, Handle, InsertError, KeySlots, PreparedKey, SlotsFull};
use crate::stats::{Filled, QueueStats};
use crate::trace::{self, About};
use crate::unit::Unit;

/// What the queues of a grant of weight 1 may take in one round: see [`cost`].
const QUANTUM: i64 = 64 * 1024;

/// The bytes of the words that are taken before any is executed: enough for lanes to be full of 8 KB objects, little enough
/// for staging memory to be bounded.
const MOST_BYTES: i64 = 4 << 20;

/// What they may cost where several queues offer words: about a millisecond, which a newcomer may have to wait.
const MOST_COST: i64 = 16 << 20;

/// The most words taken before any is executed.
const MOST_HELD: usize = 512;

/// Busy, it makes certain after so many steps that no client sleeps that should not.
const FENCED: u32 = 16;

/// How many completions of words that need no engine are shown at a time, while more such words are taken.
const SHOWN: usize = 32;

/// When words that were taken are executed. Lanes that are only partly filled take as long as full ones, so
/// it may pay to wait for more; an operation then ends later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushPolicy {
    /// At once when that many are held.
    pub full: usize,
    /// Else when the first of them was taken so long ago, in the unit of [`Accelerator::step`]'s `now`. With 0
    /// every step executes what it took.
    pub deadline: u64,
}

impl Default for FlushPolicy {
    fn default() -> Self {
        FlushPolicy { full: MOST_HELD, deadline: 0 }
    }
}

pub(crate) struct Queue<M> {
    pub(crate) grant: usize,
    pub(crate) submissions: Consumer<M, { ControlWord::WORDS }>,
    pub(crate) completions: Producer<M, { Completion::WORDS }>,
    pub(crate) weight: u32,
    /// Queues of its grant, itself among them: they share what the grant may take.
    siblings: i64,
    /// What it may still take in this turn; less than nothing after a big object.
    deficit: i64,
    /// Whether its turn was cut short because no more words could be held: it goes on with it.
    in_turn: bool,
    /// Bytes in its arena.
    pub(crate) arena_len: u32,
    /// The grant's name in tracepoints.
    pub(crate) label: u64,
    /// Words taken whose completions have no place in the ring yet.
    held: usize,
    /// Whether a completion was pushed since the last publication.
    dirty: bool,
    /// Whether completions were published since clients were last woken.
    told: bool,
    pub(crate) stats: QueueStats,
}

impl<M: Deref<Target = [Word]>> Queue<M> {
    /// A queue at its position; what it needs to know of its grant is left open.
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
            in_turn: false,
            arena_len: 0,
            label: 0,
            held: 0,
            dirty: false,
            // Its client may sleep since before it moved.
            told: true,
            stats,
        };
        let holds_all = queue.completions.capacity() >= queue.submissions.capacity();
        if holds_all { Ok(queue) } else { Err(Corrupt) }
    }

    /// For how many more words' completions there is room.
    #[inline]
    fn room(&mut self) -> usize {
        self.completions.room_for(self.held + 1).map_or(0, |room| room.saturating_sub(self.held))
    }
}

/// An accelerator without a thread, a clock or a system call: it works when it is told to.
///
/// ```
/// use std::sync::Arc;
/// use millstream_accelerator::{Accelerator, FlushPolicy, LocalArena};
/// use millstream_cpu::Features;
/// use millstream_cwq::{Completion, ControlWord, Opcode, Algorithm, Status, ring};
///
/// let (submissions, completions): (Arc<[_]>, Arc<[_]>) =
///     (ring::memory::<{ ControlWord::WORDS }>(8).into(), ring::memory::<{ Completion::WORDS }>(8).into());
/// let arena = Arc::new(LocalArena::new(4096));
///
/// let mut accelerator = Accelerator::new(Features::hardware(), FlushPolicy::default());
/// let grant = accelerator.add_grant(arena.clone(), 16);
/// accelerator.add_queue(grant, submissions.clone(), completions.clone(), 1)?;
///
/// // Another side of it all: the SHA-256 digest of the 3 bytes at 0, to 64.
/// use millstream_accelerator::Arena;
/// arena.write(0, b"abc");
/// let word = ControlWord {
///     opcode: Opcode::Hash as u8, hash: Algorithm::Sha256 as u8, source_len: 3, mac: 64, mac_len: 32, tag: 1,
///     ..ControlWord::default()
/// };
/// let mut queue = ring::Producer::new(submissions)?;
/// queue.push(&word.to_words())?;
/// queue.publish();
///
/// assert_eq!(accelerator.step(0), 1);
/// let mut done = ring::Consumer::new(completions)?;
/// let completion = Completion::from_words(done.pop()?.unwrap());
/// assert_eq!((completion.tag, completion.status()), (1, Some(Status::Ok)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Accelerator<A, M> {
    features: Features,
    policy: FlushPolicy,
    pub(crate) grants: Places<Grant<A>>,
    pub(crate) queues: Places<Queue<M>>,
    /// Whose turn it is.
    turn: usize,
    /// Words taken and not executed.
    held: Vec<Taken>,
    /// How many operations ended, ever.
    ended: usize,
    /// Steps since it was last certain that no client sleeps that should not.
    unsure: u32,
    /// How many words may be held in this turn; more where lanes are wide.
    most: usize,
    /// How many that is at first.
    take_at_most: usize,
    /// What the words taken in this turn cost.
    taken_cost: i64,
    /// How many bytes they are about.
    taken_bytes: i64,
    /// When the first of them was taken.
    held_since: u64,
    executor: Executor,
}

impl<A: Arena, M: Deref<Target = [Word]>> Accelerator<A, M> {
    /// An accelerator with the best kernels that `features` allow.
    pub fn new(features: Features, policy: FlushPolicy) -> Self {
        Accelerator {
            features,
            policy,
            grants: Places::new(),
            queues: Places::new(),
            turn: 0,
            held: Vec::with_capacity(MOST_HELD),
            ended: 0,
            taken_cost: 0,
            taken_bytes: 0,
            held_since: 0,
            unsure: 0,
            most: MOST_HELD,
            take_at_most: MOST_HELD,
            executor: Executor::new(Unit::new(features)),
        }
    }

    /// Takes no more than so many words before it executes them, at most 512, which it is at first. Where clients run
    /// beside the accelerator, on processors of their own, they prepare the next while these are executed:
    /// so as many as fill the lanes is best. Of what has wider lanes, DES and KASUMI, it takes more.
    pub fn take_at_most(&mut self, words: usize) {
        self.take_at_most = words.clamp(1, MOST_HELD);
    }

    /// The features its kernels were chosen for.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Adds an arena, with room for that many keys of any algorithm.
    pub fn add_grant(&mut self, arena: A, key_slots: usize) -> GrantId {
        self.add_grant_with(arena, GrantConfig::new(key_slots))
    }

    /// Adds an arena, for what the configuration allows.
    pub fn add_grant_with(&mut self, arena: A, config: GrantConfig) -> GrantId {
        let GrantConfig { key_slots, algorithms, key_memory, label } = config;
        let keys = KeySlots::with_memory(key_slots, key_memory);
        GrantId(self.grants.insert(Grant { arena, keys, policy: policy(algorithms), label }))
    }

    /// Takes a grant and its queues away. Its keys are zeroised; words that were taken and not executed
    /// complete as revoked, as far as the completion rings have room.
    pub fn remove_grant(&mut self, id: GrantId) {
        let Some(grant) = self.grants.remove(id.0) else { return };
        let of_grant = self.queues.iter().filter(|(_, queue)| queue.grant == id.0.index());
        for queue in of_grant.map(|(id, _)| QueueId(id)).collect::<Vec<_>>() {
            self.remove_queue(queue);
        }
        drop(grant);
        self.forget_staged();
    }

    /// Changes what a grant may use; whether there is such a grant. Words that are held already are judged by what is
    /// allowed when they are executed.
    pub fn set_algorithms(&mut self, id: GrantId, algorithms: AlgorithmSet) -> bool {
        let grant = self.grants.get_mut(id.0);
        grant.map(|grant| grant.policy = policy(algorithms)).is_some()
    }

    /// Adds a queue to a grant. A grant's share is the mean of its queues' weights among those of all grants: who has more
    /// queues has no more of the accelerator.
    ///
    /// # Errors
    /// [`Corrupt`] when the memory is not that of rings, there is no such grant, or the completion ring
    /// has less room than the submission ring.
    pub fn add_queue(
        &mut self,
        grant: GrantId,
        submissions: M,
        completions: M,
        weight: u32,
    ) -> Result<QueueId, Corrupt> {
        self.resume_queue(grant, submissions, completions, MovedQueue { weight, ..MovedQueue::default() })
    }

    /// Changes a queue's share; whether there is such a queue.
    pub fn set_weight(&mut self, id: QueueId, weight: u32) -> bool {
        self.queues.get_mut(id.0).map(|queue| queue.weight = weight.max(1)).is_some()
    }

    /// Takes a queue away. Words that were taken from it and not executed complete as revoked.
    pub fn remove_queue(&mut self, id: QueueId) {
        let Accelerator { queues, held, ended, .. } = self;
        let Some(queue) = queues.get_mut(id.0) else { return };
        held.retain(|taken| {
            let gone = taken.queue as usize == id.0.index();
            if gone {
                queue.post(About::of(&taken.word(), 0), failed(taken.tag(), Status::Revoked));
                *ended += 1;
            }
            !gone
        });
        let grant = queue.grant;
        self.publish();
        self.queues.remove(id.0);
        self.share_out(grant);
    }

    /// Divides a grant's share among its queues.
    pub(crate) fn share_out(&mut self, grant: usize) {
        let siblings = self.queues.iter_mut().filter(|(_, queue)| queue.grant == grant).count();
        for (_, queue) in self.queues.iter_mut().filter(|(_, queue)| queue.grant == grant) {
            queue.siblings = siblings as i64;
        }
    }

    /// Puts a key in a slot of a grant. Its bytes are not known, so it can't be exported, nor move to another process:
    /// see [`Accelerator::insert_raw_key`].
    ///
    /// # Errors
    /// [`InsertError`].
    pub fn insert_key(&mut self, grant: GrantId, key: Key) -> Result<Handle, InsertError> {
        let grant = self.may_hold(grant, key.algorithm())?;
        grant.keys.insert(key).map_err(|SlotsFull| InsertError::SlotsFull)
    }

    /// Puts a key that was expanded elsewhere in a slot of a grant.
    ///
    /// # Errors
    /// [`InsertError`].
    pub fn insert_prepared(&mut self, grant: GrantId, key: PreparedKey) -> Result<Handle, InsertError> {
        self.may_hold(grant, key.algorithm())?.keys.insert_prepared(key)
    }

    /// Expands a key into the grant's memory for keys, and puts it in a slot.
    ///
    /// # Errors
    /// [`InsertError`].
    pub fn insert_raw_key(
        &mut self,
        grant: GrantId,
        algorithm: Algorithm,
        bytes: &[u8],
        exportable: bool,
    ) -> Result<Handle, InsertError> {
        let features = self.features;
        let grant = self.may_hold(grant, algorithm)?;
        let key = PreparedKey::new(features, algorithm, bytes, exportable, grant.keys.memory())?;
        grant.keys.insert_prepared(key)
    }

    /// The grant, if it may hold keys of an algorithm.
    fn may_hold(&mut self, id: GrantId, algorithm: Algorithm) -> Result<&mut Grant<A>, InsertError> {
        let grant = self.grants.get_mut(id.0).ok_or(InsertError::NoGrant)?;
        // What takes no key has no place in a policy, and is refused by the engines.
        let allowed = grant.policy.is_none_or(|policy| policy.contains(algorithm));
        if algorithm != Algorithm::None && !allowed {
            return Err(InsertError::Policy(algorithm));
        }
        Ok(grant)
    }

    /// The bytes of a grant's key, if it was made to be exported.
    ///
    /// # Errors
    /// [`ExportError`].
    pub fn export_key(&self, grant: GrantId, handle: Handle) -> Result<Zeroizing<Vec<u8>>, ExportError> {
        self.grants.get(grant.0).ok_or(ExportError::NoKey)?.keys.export(handle)
    }

    /// Zeroises a key of a grant; whether there was one. Words in flight that name it fail with
    /// [`Status::Key`].
    pub fn remove_key(&mut self, grant: GrantId, handle: Handle) -> bool {
        self.grants.get_mut(grant.0).is_some_and(|grant| grant.keys.remove(handle))
    }

    /// How many keys a grant holds.
    pub fn keys(&self, grant: GrantId) -> usize {
        self.grants.get(grant.0).map_or(0, |grant| grant.keys.len())
    }

    /// What was counted of a queue; none if there is no such queue.
    pub fn stats(&self, id: QueueId) -> Option<QueueStats> {
        let queue = self.queues.get(id.0)?;
        let waiting = queue.submissions.waiting().unwrap_or(0) as u64;
        Some(QueueStats { held: queue.held as u64, waiting, ..queue.stats.clone() })
    }

    /// How full lanes were since the accelerator was made.
    pub fn filled(&self) -> Filled {
        self.executor.filled()
    }

    /// Takes what the queues offer, each its share, and executes it unless the flush policy says to wait
    /// for more. `now` counts in any unit, the policy's. Returns how many operations ended.
    #[inline]
    pub fn step(&mut self, now: u64) -> usize {
        let before = self.ended;
        let offering = self.offering();
        if self.held.is_empty() {
            if offering == 0 {
                return 0;
            }
            self.held_since = now;
        }
        if offering > 0 {
            self.take();
        }
        let waited = now.saturating_sub(self.held_since) >= self.policy.deadline;
        if waited || self.held.len() >= self.policy.full.min(MOST_HELD) {
            self.execute();
        }
        self.publish();
        self.ended.wrapping_sub(before)
    }

    /// Calls `wake` for each queue whose client sleeps and has completions since the last call. Costs a fence for
    /// each queue that had completions, and waits until what was written there is on its way.
    pub fn wake_clients(&mut self, mut wake: impl FnMut(QueueId)) {
        self.unsure = 0;
        for (id, queue) in self.queues.iter_mut() {
            if std::mem::take(&mut queue.told) && queue.completions.must_wake() {
                wake(QueueId(id));
            }
        }
    }

    /// The same, for between two steps: without a fence but now and then, so that a client that has just gone to sleep may
    /// be overlooked. [`Accelerator::wake_clients`] must follow before the accelerator waits for anything.
    pub fn wake_seen(&mut self, mut wake: impl FnMut(QueueId)) {
        self.unsure += 1;
        if self.unsure >= FENCED {
            return self.wake_clients(wake);
        }
        for (id, queue) in self.queues.iter_mut() {
            if queue.told && queue.completions.sees_sleeper() && queue.completions.must_wake() {
                queue.told = false;
                wake(QueueId(id));
            }
        }
    }

    /// Executes all that is held, however few. Returns how many operations ended.
    pub fn flush(&mut self) -> usize {
        let before = self.ended;
        self.execute();
        self.publish();
        self.ended.wrapping_sub(before)
    }

    /// How many words are held, waiting for lanes to fill.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Whether any queue has words to take.
    pub fn has_work(&mut self) -> bool {
        self.queues.iter_mut().any(|(_, queue)| matches!(queue.submissions.ready(), Ok(1..)))
    }

    /// Whether a producer filled a queue's ring with nonsense: it is not served any more.
    pub fn is_corrupt(&mut self, id: QueueId) -> bool {
        match self.queues.get_mut(id.0) {
            Some(queue) => queue.submissions.ready().is_err() || queue.completions.room().is_err(),
            None => true,
        }
    }

    /// Says on every ring that nobody looks at it, unless one has words. Whoever gets `true` waits for a
    /// wake-up, and calls [`Accelerator::wake`] after it.
    pub fn sleep(&mut self) -> bool {
        let nothing = self.queues.iter_mut().all(|(_, queue)| queue.submissions.sleep() != Ok(false));
        if nothing {
            self.forget_staged();
        } else {
            self.wake();
        }
        nothing
    }

    /// As [`Accelerator::sleep`], but queues that have words and no room for their completions do not keep it awake.
    /// Nobody rings when they have room again, so whoever gets `true` looks again after a while.
    pub fn sleep_blocked(&mut self) -> bool {
        let nothing = self.queues.iter_mut().all(|(_, queue)| {
            let empty = queue.submissions.sleep() != Ok(false);
            empty || queue.room() == 0
        });
        if nothing {
            self.forget_staged();
        } else {
            self.wake();
        }
        nothing
    }

    /// Says on every ring that it is looked at again.
    pub fn wake(&mut self) {
        for (_, queue) in self.queues.iter_mut() {
            queue.submissions.wake();
        }
    }

    /// Deficit round-robin: in each round every queue takes words up to what it has saved up, and rounds go on
    /// until no more words are offered, or enough was taken. So queues share when there is more than enough, and
    /// lanes fill when there is not.
    #[inline]
    fn take(&mut self) {
        (self.taken_cost, self.taken_bytes) = (0, 0);
        loop {
            let before = (self.held.len(), self.ended);
            self.round(1);
            if (self.held.len(), self.ended) == before {
                let Some(rounds) = self.rounds_to_wait() else { return };
                self.round(rounds);
                if (self.held.len(), self.ended) == before {
                    return;
                }
            }
            if self.held.len() >= self.most || self.taken_bytes >= MOST_BYTES {
                return;
            }
            // A queue that is alone takes nobody's time.
            let offering = self.offering();
            if offering == 0 || offering > 1 && self.taken_cost >= MOST_COST {
                return;
            }
        }
    }

    /// How many queues have words to take.
    #[inline]
    fn offering(&mut self) -> usize {
        let offers = |queue: &mut Queue<M>| matches!(queue.submissions.ready(), Ok(1..));
        self.queues.iter_mut().map(|(_, queue)| usize::from(offers(queue))).sum()
    }

    /// Gives every queue that many quanta, and takes from each.
    #[inline]
    fn round(&mut self, quanta: i64) {
        let queues = self.queues.len();
        let mut next = if self.turn < queues { self.turn } else { 0 };
        for _ in 0..queues {
            let index = next;
            next = if index + 1 < queues { index + 1 } else { 0 };
            let cut_short = self.take_from(index, quanta);
            if self.held.len() >= self.most {
                // Who was cut short goes on; else it begins with whoever had no turn.
                self.turn = if cut_short { index } else { next };
                return;
            }
        }
    }

    /// After how many rounds the first queue that offers words has saved up enough, where big objects have
    /// left all of them in debt.
    #[cold]
    fn rounds_to_wait(&mut self) -> Option<i64> {
        let offering = self.queues.iter_mut().filter_map(|(_, queue)| {
            let offers = matches!(queue.submissions.ready(), Ok(1..)) && queue.room() > 0;
            (offers && queue.deficit <= 0).then(|| 1 - queue.deficit / queue.quantum())
        });
        offering.min()
    }

    /// Takes words from a queue up to what it has saved up; whether it had to stop before that because no more
    /// can be held.
    #[inline]
    fn take_from(&mut self, index: usize, quanta: i64) -> bool {
        let Accelerator { queues, grants, held, most, .. } = self;
        let Some(queue) = queues.at_mut(index) else { return false };
        let Some(grant) = grants.at(queue.grant) else { return false };
        // A corrupt ring is not served.
        let (Ok(ready), Ok(_)) = (queue.submissions.ready(), queue.completions.room()) else { return false };
        if !std::mem::take(&mut queue.in_turn) {
            let share = quanta.saturating_mul(queue.quantum());
            queue.deficit = queue.deficit.saturating_add(share);
        }
        let (mut room, mut ended, mut taken_cost, mut taken_bytes) = (0, 0, 0, 0);
        while ready > 0 && queue.deficit > 0 {
            if held.len() >= *most {
                queue.in_turn = true;
                break;
            }
            if room == 0 {
                room = queue.room();
            }
            // Every word that is taken must find room for its completion.
            if room == 0 {
                break;
            }
            let Ok(Some(words)) = queue.submissions.pop() else { break };
            let word = ControlWord::from_words(words);
            room -= 1;
            if is_null(&words) {
                let done = Completion { tag: word.tag, ..Completion::default() };
                trace::start(queue.label, &About::of(&word, 0), word.tag);
                trace::complete(queue.label, &About::of(&word, 0), &done);
                let _ = queue.completions.push(&done.to_words());
                queue.deficit -= NULL_COST;
                taken_cost += NULL_COST;
                ended += 1;
                if ended % SHOWN == 0 {
                    // The client takes these while the next are made.
                    queue.submissions.release();
                    queue.completions.publish();
                    queue.told = true;
                }
                continue;
            }
            if is_wide(&word) {
                *most = MOST_HELD;
            }
            let gathered = if word.has(Flags::GATHER) { gathered_len(&word, &grant.arena) } else { 0 };
            let (cost, bytes) = cost(&word, gathered, queue.arena_len);
            queue.deficit -= cost;
            taken_cost += cost;
            taken_bytes += bytes;
            trace::start(queue.label, &About::of(&word, word.source_len), word.tag);
            let cancelled = is_cancel(&word) && cancel(held, index, &word);
            queue.held += 1;
            held.push(Taken { words, gathered, queue: index as u32, grant: queue.grant as u32, cancelled });
        }
        if !queue.in_turn {
            // What it had no use for is not saved up, so that no queue can take much at once; a debt stays.
            queue.deficit = queue.deficit.min(0);
        }
        queue.dirty |= ended > 0;
        queue.stats.operations += ended as u64;
        queue.submissions.release();
        let cut_short = queue.in_turn;
        self.ended += ended;
        self.taken_cost += taken_cost;
        self.taken_bytes += taken_bytes;
        cut_short
    }

    /// Executes what is held and posts the completions.
    #[inline]
    fn execute(&mut self) {
        if self.held.is_empty() {
            return;
        }
        self.ended += self.held.len();
        let Accelerator { executor, grants, queues, held, .. } = self;
        executor.run(self.features, grants, held, |queue, about, completion| {
            if let Some(queue) = queues.at_mut(queue as usize) {
                queue.post(about, completion);
            }
        });
        held.clear();
    }

    /// Wipes what is left of objects in the executor's own memory.
    pub(crate) fn forget_staged(&mut self) {
        self.executor.forget();
    }

    /// Shows the completions that were posted.
    #[inline]
    fn publish(&mut self) {
        for (_, queue) in self.queues.iter_mut() {
            if queue.dirty {
                queue.dirty = false;
                queue.told = true;
                queue.completions.publish();
            }
        }
    }
}

/// Whether a word's algorithm has lanes for hundreds of objects.
#[inline]
fn is_wide(word: &ControlWord) -> bool {
    const FIRST: u8 = Algorithm::DesEcb as u8;
    const LAST: u8 = Algorithm::KasumiF9 as u8;
    (FIRST..=LAST).contains(&word.algorithm)
}

/// Whether a word cancels another, and nothing is wrong with it.
fn is_cancel(word: &ControlWord) -> bool {
    let ControlWord { key, mac_key, tag, .. } = *word;
    word.opcode == Opcode::Cancel as u8
        && *word == ControlWord { opcode: Opcode::Cancel as u8, key, mac_key, tag, ..ControlWord::default() }
}

impl<M: Deref<Target = [Word]>> Queue<M> {
    /// What it may take in one round.
    #[inline]
    fn quantum(&self) -> i64 {
        (QUANTUM * i64::from(self.weight) / self.siblings).max(1)
    }

    /// Writes a completion; there is room, because no more words were taken than there was.
    #[inline(always)]
    fn post(&mut self, about: About, completion: Completion) {
        trace::complete(self.label, &about, &completion);
        self.stats.operations += 1;
        if completion.status == Status::Ok as u16 {
            self.stats.bytes += u64::from(about.bytes);
        } else {
            self.count_failure(&completion);
        }
        // A ring that its other side made corrupt gets no completions, as it gets no service.
        let _ = self.completions.push(&completion.to_words());
        self.held = self.held.saturating_sub(1);
        self.dirty = true;
    }

    #[cold]
    fn count_failure(&mut self, completion: &Completion) {
        if let Some(status) = completion.status() {
            self.stats.failures[status.index()] += 1;
        }
    }
}

/// Whether a word asks for nothing, in a way that breaks no rule: it needs no engine.
#[inline(always)]
fn is_null(words: &[u64; ControlWord::WORDS]) -> bool {
    const NULL: u64 = ControlWord { version: VERSION, ..ControlWord::from_words([0; 8]) }.to_words()[0];
    let [first, middle @ .., _tag] = words;
    let mut rest = 0;
    for word in middle {
        rest |= word;
    }
    *first == NULL && rest == 0
}

/// Marks the word with the tag that another names, if the same queue has it held; whether it was found.
fn cancel(held: &mut [Taken], queue: usize, word: &ControlWord) -> bool {
    let tag = u64::from(word.key) | u64::from(word.mac_key) << 32;
    let found = held.iter_mut().find(|taken| {
        let same = taken.queue as usize == queue && taken.tag() == tag && !taken.cancelled;
        same && taken.word().opcode != Opcode::Cancel as u8
    });
    found.map(|taken| taken.cancelled = true).is_some()
}

pub(crate) fn failed(tag: u64, status: Status) -> Completion {
    Completion { tag, status: status as u16, ..Completion::default() }
}

impl<A, M> fmt::Debug for Accelerator<A, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues = self.queues.iter().count();
        write!(f, "Accelerator({queues} queues, {} words held)", self.held.len())
    }
}
