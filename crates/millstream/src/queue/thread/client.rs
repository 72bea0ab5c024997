//! The clients' side of an accelerator's thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use millstream_accelerator::{GrantId, Handle, QueueId};
use millstream_cwq::Algorithm;
use millstream_cwq::ring::Consumer;
use millstream_host::Bell;

use super::serving::Shared;
use super::sleeper::{Bed, Sleeper};
use crate::Error;
use crate::heap::{Exclusive, Heap};
use crate::key::KeyOptions;
use crate::queue::parts::RingMemory;
use crate::refusal::Refusal;

/// A grant of an accelerator's thread: a heap and keys, which its queues share. It ends with its last owner.
pub(crate) struct ThreadGrant {
    shared: Arc<Shared>,
    grant: GrantId,
    heap: Arc<Heap>,
}

impl ThreadGrant {
    /// Has the thread serve a heap.
    pub(super) fn add(shared: &Arc<Shared>, heap: Arc<Heap>, key_slots: usize) -> Result<Self, Refusal> {
        let arena = Exclusive(heap.clone());
        let grant = shared.ask(move |serving| serving.accelerator.add_grant(arena, key_slots));
        let grant = grant.ok_or_else(|| shared.why())?;
        Ok(ThreadGrant { shared: shared.clone(), grant, heap })
    }

    pub(super) fn heap(&self) -> &Arc<Heap> {
        &self.heap
    }

    /// `generated` says that the key exists nowhere else.
    pub(crate) fn insert_key(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
        generated: bool,
    ) -> Result<Handle, Error> {
        let key = Box::new(options.prepared(self.shared.features, algorithm, key, generated)?);
        let grant = self.grant;
        let answer = self.shared.ask(move |serving| serving.accelerator.insert_prepared(grant, *key).ok());
        answer.ok_or_else(|| self.shared.why())?.ok_or(Error::KeySlots)
    }

    pub(crate) fn remove_key(&self, handle: Handle) -> bool {
        let grant = self.grant;
        let answer = self.shared.ask(move |serving| serving.accelerator.remove_key(grant, handle));
        answer.unwrap_or(false)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.shared.has_ended()
    }

    /// Returns true in a forked child of the process that has the thread.
    #[inline(always)]
    pub(super) fn is_parents(&self) -> bool {
        self.shared.is_parents()
    }
}

impl Drop for ThreadGrant {
    fn drop(&mut self) {
        let grant = self.grant;
        self.shared.ask(move |serving| serving.accelerator.remove_grant(grant));
    }
}

/// A queue's side of an accelerator's thread.
pub(crate) struct Client {
    grant: Arc<ThreadGrant>,
    queue: Mutex<Option<QueueId>>,
    bed: Arc<Bed>,
}

impl Client {
    /// Has a grant's thread serve a queue's rings.
    pub(super) fn join(
        grant: &Arc<ThreadGrant>,
        rings: (RingMemory, RingMemory),
        weight: u32,
    ) -> Result<Arc<Self>, Refusal> {
        let (id, bed) = (grant.grant, Arc::new(Bed::default()));
        let of_thread = bed.clone();
        let queue = grant.shared.ask(move |serving| serving.add_queue(id, rings, weight, of_thread));
        let queue = Mutex::new(Some(queue.flatten().ok_or(Refusal::Gone)?));
        Ok(Arc::new(Client { grant: grant.clone(), queue, bed }))
    }

    pub(crate) fn insert_key(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
    ) -> Result<Handle, Error> {
        self.grant.insert_key(algorithm, key, options, false)
    }

    pub(crate) fn remove_key(&self, handle: Handle) -> bool {
        self.grant.remove_key(handle)
    }

    /// Takes the queue away. After it the accelerator touches none of its memory.
    pub(crate) fn leave(&self) {
        if self.is_parents() {
            return;
        }
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(queue) = queue {
            self.grant.shared.ask(move |serving| serving.remove_queue(queue));
        }
    }

    /// Why nothing is taken.
    #[cold]
    pub(crate) fn why(&self) -> Refusal {
        self.grant.shared.why()
    }

    /// Returns true in a forked child of the process that has the thread.
    #[inline(always)]
    pub(crate) fn is_parents(&self) -> bool {
        self.grant.is_parents()
    }

    /// Returns true when the thread has ended, or is not of this process: no completion will come any more.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.grant.has_ended()
    }

    /// Wakes the accelerator.
    #[cold]
    pub(crate) fn ring(&self) {
        self.grant.shared.mailbox.bell().ring();
    }

    /// Waits until completions come: for a while by looking, then asleep, for so long at most.
    pub(crate) fn park<const W: usize>(&self, completions: &mut Consumer<RingMemory, W>, most: Duration) {
        const LOOKS: u32 = 2000;
        const LIMIT: Duration = Duration::from_millis(100);
        for _ in 0..LOOKS {
            if completions.ready() != Ok(0) || self.has_ended() {
                return;
            }
            std::hint::spin_loop();
        }
        self.bed.lie_down(Sleeper::Thread(thread::current()));
        if completions.sleep() == Ok(true) && !self.has_ended() {
            // The accelerator says when; the limit is for one that has ended meanwhile.
            thread::park_timeout(LIMIT.min(most));
        }
        completions.wake();
    }

    /// Has a task woken when completions come. Returns true when some are there already.
    pub(crate) fn wake_task<const W: usize>(
        &self,
        completions: &mut Consumer<RingMemory, W>,
        waker: &Waker,
    ) -> bool {
        self.bed.lie_down(Sleeper::Task(waker.clone()));
        completions.sleep() != Ok(true) || self.has_ended()
    }
}
