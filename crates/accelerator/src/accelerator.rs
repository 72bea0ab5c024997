//! The accelerator: takes control words from queues, executes them, posts completions.

use std::fmt;
use std::ops::Deref;

use millstream_cpu::Features;
use millstream_cwq::ring::{Corrupt, Word};
use millstream_cwq::{Algorithm, AlgorithmSet, Status};
use zeroize::Zeroizing;

use crate::arena::Arena;
use crate::bounds::Bounds;
use crate::grant::{Calm, Grant, GrantConfig, GrantId, MovedQueue, QueueId, policy};
use crate::held::{HeldWord, MOST_HELD};
use crate::key::Key;
use crate::limits::Clock;
use crate::long::{Openings, Reserve, Slice};
use crate::purpose::Purpose;
use crate::queue::Queue;
use crate::run::Executor;
use crate::slab::Slab;
use crate::slot_errors::{ExportError, InsertError, SlotsFull};
use crate::slots::{Handle, KeySlots, PreparedKey};
use crate::source::FillRandom;
use crate::staging::Staging;
use crate::stats::{Filled, QueueStats};
use crate::status::failed;
use crate::trace::About;
use crate::unit::Unit;
use crate::way::Way;

/// The policy that says when taken words are executed. Lanes that are only partly filled take as long as full ones, so
/// it may pay to wait for more; an operation then ends later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushPolicy {
    /// Words are executed at once when that many are held.
    pub full: usize,
    /// Fewer words are executed when the first of them was taken so long ago, in the unit of [`Accelerator::step`]'s
    /// `now`. With 0 every step executes what it took.
    pub deadline: u64,
}

impl Default for FlushPolicy {
    fn default() -> Self {
        FlushPolicy { full: MOST_HELD, deadline: 0 }
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
/// // The client asks for the SHA-256 digest of the 3 bytes at 0, to be written to 64.
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
    pub(crate) features: Features,
    pub(crate) policy: FlushPolicy,
    pub(crate) grants: Slab<Grant<A>>,
    pub(crate) queues: Slab<Queue<M>>,
    /// The queues that every step looks at: all but those that sleep and those that are calm.
    pub(crate) active: Vec<u32>,
    /// The grants that have calm queues, and whose turn it is among them: see [`Accelerator::look_at_calm`].
    pub(crate) calm: Vec<u32>,
    pub(crate) calm_turn: usize,
    /// Steps since the last search for queues that have become calm.
    pub(crate) steps: u32,
    /// The queues that have words held or under way, or completions that their clients were not told of.
    pub(crate) unquiet: Vec<u32>,
    /// The place among the active queues at which the next round begins.
    pub(crate) turn: usize,
    /// Words taken and not executed.
    pub(crate) held: Vec<HeldWord>,
    /// Slices that are executed in this turn.
    pub(crate) slices: Vec<Slice>,
    /// Long operations that are under way.
    pub(crate) under_way: usize,
    /// The places for what is opened in slices; none where turns are not bounded.
    pub(crate) openings: Option<Openings>,
    /// Operations that have ever ended.
    pub(crate) ended: usize,
    /// Steps since it was last certain that no client sleeps that should not.
    pub(crate) unsure: u32,
    /// The cost of the words taken in this turn.
    pub(crate) taken_cost: i64,
    /// The bytes of the words taken in this turn.
    pub(crate) taken_bytes: i64,
    /// The number of queues that gave words in this turn.
    pub(crate) takers: usize,
    /// True when words were taken whose client has few at a time, and waits for them.
    pub(crate) hurries: bool,
    /// The place among the active queues that the last such words came from. The queue there is served before its turn.
    pub(crate) hurried: Option<usize>,
    /// True when a queue has words that it may not take yet, because it took too much before.
    pub(crate) indebted: bool,
    /// True when a queue may have words that were not taken.
    pub(crate) left_some: bool,
    /// The time at which the first of the held words was taken.
    pub(crate) held_since: u64,
    /// The bounds of turns, where there are any.
    pub(crate) bounds: Option<Box<Bounds>>,
    /// The time, once a grant's keys are used within limits.
    pub(crate) clock: Option<Clock>,
    pub(crate) executor: Executor,
}

impl<A: Arena, M: Deref<Target = [Word]>> Accelerator<A, M> {
    /// Makes an accelerator with the best kernels that `features` allow.
    pub fn new(features: Features, policy: FlushPolicy) -> Self {
        Accelerator {
            features,
            policy,
            grants: Slab::new(),
            queues: Slab::new(),
            active: Vec::new(),
            calm: Vec::new(),
            calm_turn: 0,
            steps: 0,
            unquiet: Vec::new(),
            turn: 0,
            held: Vec::with_capacity(MOST_HELD),
            slices: Vec::new(),
            under_way: 0,
            openings: None,
            ended: 0,
            taken_cost: 0,
            taken_bytes: 0,
            takers: 0,
            hurries: false,
            hurried: None,
            indebted: false,
            left_some: false,
            held_since: 0,
            unsure: 0,
            bounds: None,
            clock: None,
            executor: Executor::new(Unit::new(features)),
        }
    }

    /// Takes the memory that objects need from here on, for an accelerator whose turns are bounded and that needs another
    /// amount than [`Reserve::default`]. Call it before [`Accelerator::bound_turns`], and before any word is taken.
    pub fn reserve(&mut self, reserve: Reserve) {
        self.executor.stage.memory = Staging::reserved(reserve.staging);
        self.openings = Some(Openings::new(reserve));
    }

    /// Returns the features that the kernels were chosen for.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Gives the accelerator a generator of random bytes, or mixes a seed into the one that it has: see
    /// [`Unit::seed`].
    pub fn seed(&mut self, seed: &[u8; 32]) {
        self.executor.unit.seed(seed);
    }

    /// Returns true when the generator wants another seed by the count of the bytes that it gave out, or for presignatures, some time after the
    /// machine may have been copied. The age of a seed is the host's to watch.
    #[inline]
    pub fn wants_seed(&mut self) -> bool {
        self.executor.unit.wants_seed()
    }

    /// Has the accelerator take its random bytes from a function of its host.
    pub fn set_random(&mut self, fill: FillRandom) {
        self.executor.unit.set_random(fill);
    }

    /// Adds an arena, with room for that many keys of any algorithm.
    pub fn add_grant(&mut self, arena: A, key_slots: usize) -> GrantId {
        self.add_grant_with(arena, GrantConfig::new(key_slots))
    }

    /// Adds an arena, with what the configuration allows.
    pub fn add_grant_with(&mut self, arena: A, config: GrantConfig) -> GrantId {
        let GrantConfig { key_slots, algorithms, key_memory, label, presigns } = config;
        let keys = KeySlots::with_memory(key_slots, key_memory);
        let (policy, queues) = (policy(algorithms), Vec::new());
        GrantId(self.grants.insert(Grant {
            arena,
            keys,
            policy,
            label,
            presigns,
            queues,
            paused: false,
            calm: Calm::default(),
        }))
    }

    /// Takes a grant and its queues away. Its keys are zeroised; words that were taken and not executed
    /// complete as revoked, as far as the completion rings have room.
    pub fn remove_grant(&mut self, id: GrantId) {
        let Some(mut grant) = self.grants.remove(id.0) else { return };
        self.calm.retain(|grant| *grant as usize != id.0.index());
        for queue in std::mem::take(&mut grant.queues) {
            self.remove_queue(QueueId(queue));
        }
        drop(grant);
        self.forget_staged();
        self.forget_needless_presignatures();
    }

    /// Changes which algorithms a grant may use, and returns true if there is such a grant. Words that are held already are
    /// judged by what is allowed when they are executed.
    pub fn set_algorithms(&mut self, id: GrantId, algorithms: AlgorithmSet) -> bool {
        let grant = self.grants.get_mut(id.0);
        grant.map(|grant| grant.policy = policy(algorithms)).is_some()
    }

    /// Chooses the way that words take from here on. Without this it is [`Way::Fast`].
    pub fn set_way(&mut self, way: Way) {
        self.executor.way = way;
    }

    /// Adds a queue to a grant. A grant's share is the mean of its queues' weights among those of all grants: more queues
    /// give a grant no more of the accelerator.
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

    /// Changes a queue's share, and returns true if there is such a queue.
    pub fn set_weight(&mut self, id: QueueId, weight: u32) -> bool {
        self.queues.get_mut(id.0).map(|queue| queue.weight = weight.max(1)).is_some()
    }

    /// Takes a queue away. Words that were taken from it and not executed, or not to the end, complete as revoked.
    pub fn remove_queue(&mut self, id: QueueId) {
        self.end_long(id, Status::Revoked);
        let Accelerator { queues, held, ended, grants, .. } = self;
        let Some(queue) = queues.get_mut(id.0) else { return };
        held.retain(|held| {
            let gone = held.queue as usize == id.0.index();
            if gone {
                queue.post(About::of(&held.word(), 0), failed(held.tag(), Status::Revoked));
                *ended += 1;
            }
            !gone
        });
        queue.show();
        let grant = queue.grant;
        if let Some(grant) = grants.at_mut(grant) {
            grant.queues.retain(|queue| *queue != id.0);
        }
        self.forget_queue(id);
        self.share_out(grant);
    }

    /// Takes a queue out of all lists, and lets its memory go.
    pub(crate) fn forget_queue(&mut self, id: QueueId) -> Option<Queue<M>> {
        for list in [&mut self.active, &mut self.unquiet] {
            list.retain(|queue| *queue as usize != id.0.index());
        }
        self.forget_calm(id);
        if let Some(bounds) = &mut self.bounds {
            bounds.bill.forget(id.0.index());
        }
        self.queues.remove(id.0)
    }

    /// Divides a grant's share among its queues.
    pub(crate) fn share_out(&mut self, grant: usize) {
        let Accelerator { grants, queues, .. } = self;
        let Some(grant) = grants.at(grant) else { return };
        for id in &grant.queues {
            if let Some(queue) = queues.get_mut(*id) {
                queue.siblings = grant.queues.len() as i64;
            }
        }
    }

    /// Puts a key in a slot of a grant. Its bytes are not known, so it can't be exported, nor move to another process, nor
    /// take messages in pieces: see [`Accelerator::insert_raw_key`].
    ///
    /// # Errors
    /// [`InsertError`].
    pub fn insert_key(&mut self, grant: GrantId, key: Key) -> Result<Handle, InsertError> {
        let grant = self.may_hold(grant, key.algorithm())?;
        grant.keys.insert(key).map_err(|SlotsFull| InsertError::SlotsFull)
    }

    /// Puts a key in a slot for less than all that its algorithm can, or with nonces that the accelerator makes.
    ///
    /// # Errors
    /// [`InsertError`].
    pub fn insert_key_for(
        &mut self,
        grant: GrantId,
        key: Key,
        purpose: Purpose,
    ) -> Result<Handle, InsertError> {
        self.may_hold(grant, key.algorithm())?.keys.insert_for(key, purpose)
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

    /// Returns the grant, if it may hold keys of an algorithm.
    fn may_hold(&mut self, id: GrantId, algorithm: Algorithm) -> Result<&mut Grant<A>, InsertError> {
        let grant = self.grants.get_mut(id.0).ok_or(InsertError::NoGrant)?;
        // `Algorithm::None` is in no policy. Expanding a key for it fails.
        let allowed = grant.policy.as_ref().is_none_or(|policy| policy.contains(algorithm));
        if algorithm != Algorithm::None && !allowed {
            return Err(InsertError::Policy(algorithm));
        }
        Ok(grant)
    }

    /// Returns the bytes of a grant's key, if it was made to be exported.
    ///
    /// # Errors
    /// [`ExportError`].
    pub fn export_key(&self, grant: GrantId, handle: Handle) -> Result<Zeroizing<Vec<u8>>, ExportError> {
        self.grants.get(grant.0).ok_or(ExportError::NoKey)?.keys.export(handle)
    }

    /// Zeroises a key of a grant, and returns true if there was one. Words in flight that name it fail with
    /// [`Status::Key`].
    pub fn remove_key(&mut self, grant: GrantId, handle: Handle) -> bool {
        self.grants.get_mut(grant.0).is_some_and(|grant| grant.keys.remove(handle))
    }

    /// Returns how many keys a grant holds.
    pub fn keys(&self, grant: GrantId) -> usize {
        self.grants.get(grant.0).map_or(0, |grant| grant.keys.len())
    }

    /// Returns the counts of a queue; none if there is no such queue.
    pub fn stats(&self, id: QueueId) -> Option<QueueStats> {
        let queue = self.queues.get(id.0)?;
        let waiting = queue.submissions.waiting().unwrap_or(0) as u64;
        Some(QueueStats { held: queue.held as u64, waiting, ..queue.stats.clone() })
    }

    /// Returns how full lanes were since the accelerator was made.
    pub fn filled(&self) -> Filled {
        self.executor.filled()
    }

    /// Returns how many words were taken and have not ended: they wait for lanes to fill, or are executed in slices.
    pub fn held(&self) -> usize {
        self.held.len() + self.under_way
    }
}

impl<A, M> fmt::Debug for Accelerator<A, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues = self.queues.iter().count();
        write!(f, "Accelerator({queues} queues, {} words held)", self.held.len())
    }
}
