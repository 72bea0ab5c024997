//! Moving a grant from one accelerator to another, in this process or in the next. Its client notices nothing.

use std::ops::Deref;

use millstream_cwq::Status;
use millstream_cwq::ring::{Corrupt, Word};

use crate::accelerator::Accelerator;
use crate::arena::Arena;
use crate::grant::{Calm, Grant, GrantConfig, GrantId, MovedQueue, Position, QueueId, Released, policy};
use crate::queue::Queue;
use crate::slots::KeySlots;

impl<A: Arena, M: Deref<Target = [Word]>> Accelerator<A, M> {
    /// Gives a grant up, for another accelerator to go on with: executes what is held, shows the completions, and takes
    /// the grant and its queues away. Words that were not taken stay in their rings. Long operations that are under way are
    /// cancelled: see [`Accelerator::pause`]. None if there is no such grant.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use millstream_accelerator::{Accelerator, FlushPolicy, GrantConfig, KeySlots, LocalArena};
    /// use millstream_cpu::Features;
    /// use millstream_cwq::{Algorithm, Completion, ControlWord, ring};
    ///
    /// let rings: (Arc<[_]>, Arc<[_]>) =
    ///     (ring::memory::<{ ControlWord::WORDS }>(8).into(), ring::memory::<{ Completion::WORDS }>(8).into());
    /// let arena = Arc::new(LocalArena::new(4096));
    ///
    /// let mut here = Accelerator::new(Features::hardware(), FlushPolicy::default());
    /// let grant = here.add_grant(arena.clone(), 16);
    /// here.add_queue(grant, rings.0.clone(), rings.1.clone(), 1)?;
    /// let key = here.insert_raw_key(grant, Algorithm::AesGcm, &[7; 16], false)?;
    ///
    /// let released = here.release_grant(grant).unwrap();
    /// // The slots go to the other process, and for each queue its rings, weight, position and statistics.
    /// let slots = released.keys.into_moved();
    /// let queues = released.queues.into_iter().map(|(_, queue)| (rings.0.clone(), rings.1.clone(), queue));
    ///
    /// let mut there = Accelerator::new(Features::hardware(), FlushPolicy::default());
    /// let keys = KeySlots::from_moved(there.features(), 16, None, slots)?;
    /// let (grant, queues) = there.adopt_grant(arena, GrantConfig::new(16), queues, keys)?;
    /// assert_eq!(queues.len(), 1);
    /// assert!(there.remove_key(grant, key), "the same handle");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release_grant(&mut self, id: GrantId) -> Option<Released> {
        let of_grant = self.grants.get(id.0)?.queues.clone();
        self.flush();
        let queues = of_grant.into_iter().filter_map(|id| {
            self.end_long(QueueId(id), Status::Cancelled);
            let mut queue = self.forget_queue(QueueId(id))?;
            queue.show();
            queue.submissions.release();
            let position = Position {
                submissions: queue.submissions.position(),
                completions: queue.completions.position(),
            };
            Some((QueueId(id), MovedQueue { weight: queue.weight, position, stats: queue.stats }))
        });
        let queues = queues.collect();
        self.forget_staged();
        self.forget_presignatures();
        self.calm.retain(|grant| *grant as usize != id.0.index());
        Some(Released { queues, keys: self.grants.remove(id.0)?.keys })
    }

    /// Takes no more words of a grant that is about to be released. Returns how many of its long operations are still under
    /// way.
    pub fn pause(&mut self, id: GrantId) -> usize {
        let Accelerator { grants, queues, .. } = self;
        let Some(grant) = grants.get_mut(id.0) else { return 0 };
        grant.paused = true;
        grant.queues.iter().filter_map(|id| queues.get(*id)).map(|queue| queue.under_way).sum()
    }

    /// Goes on with a grant that another accelerator gave up: with its arena, its keys, and the rings and positions of its
    /// queues. The keys' handles stay valid; the identifiers of grant and queues are new. Clients
    /// that sleep are woken by the next [`Accelerator::wake_clients`].
    ///
    /// # Errors
    /// [`Corrupt`] in the cases of [`Accelerator::add_queue`]; then the grant is not there, and its keys are zeroised.
    pub fn adopt_grant(
        &mut self,
        arena: A,
        config: GrantConfig,
        queues: impl IntoIterator<Item = (M, M, MovedQueue)>,
        keys: KeySlots,
    ) -> Result<(GrantId, Vec<QueueId>), Corrupt> {
        let GrantConfig { algorithms, label, presigns, .. } = config;
        let grant = GrantId(self.grants.insert(Grant {
            arena,
            keys,
            policy: policy(algorithms),
            label,
            presigns,
            queues: Vec::new(),
            paused: false,
            calm: Calm::default(),
        }));
        let mut ids = Vec::new();
        for (submissions, completions, moved) in queues {
            match self.resume_queue(grant, submissions, completions, moved) {
                Ok(id) => ids.push(id),
                Err(corrupt) => {
                    self.remove_grant(grant);
                    return Err(corrupt);
                }
            }
        }
        Ok((grant, ids))
    }

    /// Adds a queue at its position.
    pub(crate) fn resume_queue(
        &mut self,
        grant: GrantId,
        submissions: M,
        completions: M,
        moved: MovedQueue,
    ) -> Result<QueueId, Corrupt> {
        let of = self.grants.get(grant.0).ok_or(Corrupt)?;
        let mut queue = Queue::resume(grant.0.index(), submissions, completions, moved)?;
        (queue.arena_len, queue.label) = (of.arena.len(), of.label);
        // The accelerator that served it before may have said that it sleeps.
        queue.submissions.wake();
        let id = QueueId(self.queues.insert(queue));
        self.active.push(id.0.index() as u32);
        self.unquiet.push(id.0.index() as u32);
        if let Some(of) = self.grants.get_mut(grant.0) {
            of.queues.push(id.0);
        }
        self.share_out(grant.0.index());
        Ok(id)
    }
}
