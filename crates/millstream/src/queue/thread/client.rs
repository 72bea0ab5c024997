//! What the clients of an accelerator's thread have of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread::{self, Thread};
use std::time::Duration;

use millstream_accelerator::{GrantId, Handle, PreparedKey, QueueId};
use millstream_cpu::Features;
use millstream_cwq::Algorithm;
use millstream_cwq::ring::Consumer;

use crate::Error;
use crate::heap::{Exclusive, Heap};
use crate::key::KeyOptions;
use crate::queue::parts::RingMemory;
use crate::refusal::Refusal;

/// What a thread is asked for beside operations. Each is answered.
pub(super) enum Command {
    AddGrant {
        arena: Exclusive,
        key_slots: usize,
        reply: Reply<GrantId>,
    },
    RemoveGrant {
        grant: GrantId,
        reply: Reply<()>,
    },
    AddQueue {
        grant: GrantId,
        rings: (RingMemory, RingMemory),
        weight: u32,
        client: Arc<Client>,
        reply: Reply<Option<QueueId>>,
    },
    RemoveQueue {
        queue: QueueId,
        reply: Reply<()>,
    },
    InsertKey {
        grant: GrantId,
        key: Box<PreparedKey>,
        reply: Reply<Option<Handle>>,
    },
    RemoveKey {
        grant: GrantId,
        handle: Handle,
        reply: Reply<bool>,
    },
}

type Reply<T> = SyncSender<T>;

/// What the thread and its clients share.
pub(super) struct Shared {
    pub(super) features: Features,
    pub(super) commands: Mutex<Vec<Command>>,
    /// Whether there are commands, or an end is wanted.
    pub(super) told: AtomicBool,
    pub(super) stop: AtomicBool,
    ended: AtomicBool,
    /// How many forks there had been when the thread was started: a forked child has no such thread, and its copies of the
    /// locks here may be held for ever.
    forks: u64,
}

impl Shared {
    pub(super) fn new(features: Features) -> Self {
        Shared {
            features,
            commands: Mutex::new(Vec::new()),
            told: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            forks: millstream_shm::forks(),
        }
    }

    /// Tells the thread to end. Whoever does so unparks it.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.told.store(true, Ordering::Release);
    }

    /// Says that the thread has ended. The answers to commands that are left can't come any more: who waits for one gets
    /// an error.
    pub(super) fn end(&self) {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended.store(true, Ordering::Release);
        commands.clear();
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether this is a forked child of the process that has the thread.
    #[inline(always)]
    pub(super) fn is_parents(&self) -> bool {
        self.forks != millstream_shm::forks()
    }

    /// Whether nobody serves any more here.
    #[inline(always)]
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire) || self.is_parents()
    }

    /// Why nobody serves.
    #[cold]
    fn why(&self) -> Refusal {
        if self.is_parents() { Refusal::Forked } else { Refusal::Gone }
    }

    /// Sends a command and waits for the answer; none when the thread has ended, or is another process's.
    fn ask<T>(&self, thread: &Thread, command: impl FnOnce(Reply<T>) -> Command) -> Option<T> {
        if self.is_parents() {
            return None;
        }
        let (reply, answer) = sync_channel(1);
        {
            let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
            if self.ended.load(Ordering::Acquire) {
                return None;
            }
            commands.push(command(reply));
        }
        self.told.store(true, Ordering::Release);
        thread.unpark();
        answer.recv().ok()
    }
}

/// Whom to wake when completions have come.
enum Sleeper {
    Thread(Thread),
    Task(Waker),
}

/// A grant of an accelerator's thread: a heap and keys, which its queues share. It ends with its last owner.
pub(crate) struct ThreadGrant {
    shared: Arc<Shared>,
    thread: Thread,
    grant: GrantId,
    heap: Arc<Heap>,
}

impl ThreadGrant {
    /// Has the thread serve a heap.
    pub(super) fn add(
        shared: &Arc<Shared>,
        thread: Thread,
        heap: Arc<Heap>,
        key_slots: usize,
    ) -> Result<Self, Refusal> {
        let arena = Exclusive(heap.clone());
        let grant = shared.ask(&thread, |reply| Command::AddGrant { arena, key_slots, reply });
        let grant = grant.ok_or_else(|| shared.why())?;
        Ok(ThreadGrant { shared: shared.clone(), thread, grant, heap })
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
        let command = |reply| Command::InsertKey { grant, key, reply };
        let answer = self.shared.ask(&self.thread, command);
        answer.ok_or_else(|| self.shared.why())?.ok_or(Error::KeySlots)
    }

    pub(crate) fn remove_key(&self, handle: Handle) -> bool {
        let grant = self.grant;
        let answer = self.shared.ask(&self.thread, |reply| Command::RemoveKey { grant, handle, reply });
        answer.unwrap_or(false)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.shared.has_ended()
    }

    /// Whether this is a forked child of the process that has the thread.
    #[inline(always)]
    pub(super) fn is_parents(&self) -> bool {
        self.shared.is_parents()
    }
}

impl Drop for ThreadGrant {
    fn drop(&mut self) {
        let grant = self.grant;
        self.shared.ask(&self.thread, |reply| Command::RemoveGrant { grant, reply });
    }
}

/// A queue's side of an accelerator's thread.
pub(crate) struct Client {
    grant: Arc<ThreadGrant>,
    queue: Mutex<Option<QueueId>>,
    sleeper: Mutex<Option<Sleeper>>,
}

impl Client {
    /// Has a grant's thread serve a queue's rings.
    pub(crate) fn join(
        grant: &Arc<ThreadGrant>,
        rings: (RingMemory, RingMemory),
        weight: u32,
    ) -> Result<Arc<Self>, Refusal> {
        let client =
            Arc::new(Client { grant: grant.clone(), queue: Mutex::new(None), sleeper: Mutex::new(None) });
        let (id, of_command) = (grant.grant, client.clone());
        let command = |reply| Command::AddQueue { grant: id, rings, weight, client: of_command, reply };
        let queue = grant.shared.ask(&grant.thread, command).flatten().ok_or(Refusal::Gone)?;
        *client.queue.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
        Ok(client)
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
            let ThreadGrant { shared, thread, .. } = &*self.grant;
            shared.ask(thread, |reply| Command::RemoveQueue { queue, reply });
        }
    }

    /// Why nothing is taken.
    #[cold]
    pub(crate) fn why(&self) -> Refusal {
        self.grant.shared.why()
    }

    /// Whether this is a forked child of the process that has the thread.
    #[inline(always)]
    pub(crate) fn is_parents(&self) -> bool {
        self.grant.is_parents()
    }

    /// Whether the thread has ended, or is not of this process: no completion will come any more.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.grant.has_ended()
    }

    /// Wakes the accelerator.
    #[cold]
    pub(crate) fn ring(&self) {
        self.grant.thread.unpark();
    }

    /// Waits until completions come: for a while by looking, then asleep.
    pub(crate) fn park<const W: usize>(&self, completions: &mut Consumer<RingMemory, W>) {
        const LOOKS: u32 = 2000;
        for _ in 0..LOOKS {
            if completions.ready() != Ok(0) || self.has_ended() {
                return;
            }
            std::hint::spin_loop();
        }
        self.set_sleeper(Sleeper::Thread(thread::current()));
        if completions.sleep() == Ok(true) && !self.has_ended() {
            // The accelerator says when; the limit is for one that has ended meanwhile.
            thread::park_timeout(Duration::from_millis(100));
        }
        completions.wake();
    }

    /// Has a task woken when completions come; whether some are there already.
    pub(crate) fn wake_task<const W: usize>(
        &self,
        completions: &mut Consumer<RingMemory, W>,
        waker: &Waker,
    ) -> bool {
        self.set_sleeper(Sleeper::Task(waker.clone()));
        completions.sleep() != Ok(true) || self.has_ended()
    }

    fn set_sleeper(&self, sleeper: Sleeper) {
        *self.sleeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(sleeper);
    }

    pub(super) fn wake(&self) {
        // Not under the lock: a waker is somebody else's code.
        let sleeper = self.sleeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        match sleeper {
            Some(Sleeper::Thread(thread)) => thread.unpark(),
            Some(Sleeper::Task(waker)) => waker.wake(),
            None => {}
        }
    }
}
