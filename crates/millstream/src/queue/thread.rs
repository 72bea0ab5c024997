//! An accelerator on a thread of its own.
//!
//! The thread looks at the rings of its queues; operations and completions pass without a lock and without a
//! system call while it is awake. Everything else (new queues, keys) goes as commands through a mutex that it
//! looks into only when it is told to.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use millstream_accelerator::{Accelerator, FlushPolicy, GrantId, Handle, PreparedKey, QueueId};
use millstream_cpu::Features;
use millstream_cwq::Algorithm;
use millstream_cwq::ring::Consumer;

use super::buffer::{Exclusive, Heap};
use super::{Config, Driver, KeyOptions, LocalAccelerator, Parts, Queue, Refusal, RingMemory};
use crate::Error;

/// How an accelerator's thread behaves.
#[derive(Clone, Copy, Debug)]
pub struct ThreadConfig {
    /// The processor it is pinned to.
    pub cpu: Option<usize>,
    /// How long it looks at empty rings before it sleeps. Waking it costs its client a system call.
    pub spin: Duration,
    /// How long an operation may wait for others to fill lanes with.
    pub flush_deadline: Duration,
}

impl Default for ThreadConfig {
    fn default() -> Self {
        ThreadConfig { cpu: None, spin: Duration::from_micros(50), flush_deadline: Duration::ZERO }
    }
}

/// What a thread is asked for beside operations. Each is answered.
enum Command {
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
struct Shared {
    features: Features,
    commands: Mutex<Vec<Command>>,
    /// Whether there are commands, or an end is wanted.
    told: AtomicBool,
    stop: AtomicBool,
    ended: AtomicBool,
    /// How many forks there had been when the thread was started: a forked child has no such thread, and its copies of the
    /// locks here may be held for ever.
    forks: u64,
}

impl Shared {
    /// Whether this is a forked child of the process that has the thread.
    #[inline(always)]
    fn is_parents(&self) -> bool {
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
    fn is_parents(&self) -> bool {
        self.shared.is_parents()
    }

    /// A queue of this grant.
    pub(crate) fn queue(self: &Arc<Self>, depth: usize, weight: u32) -> Result<Queue, Error> {
        if self.is_parents() {
            return Err(Refusal::Forked.into());
        }
        let parts = Parts::local(self.heap.clone(), depth)?;
        let client =
            Arc::new(Client { grant: self.clone(), queue: Mutex::new(None), sleeper: Mutex::new(None) });
        let rings = (parts.submissions.clone(), parts.completions.clone());
        let (grant, of_command) = (self.grant, client.clone());
        let command = |reply| Command::AddQueue { grant, rings, weight, client: of_command, reply };
        let queue = self.shared.ask(&self.thread, command).flatten().ok_or(Refusal::Gone)?;
        *client.queue.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
        Ok(parts.queue(Driver::Thread(client)))
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
    pub(super) fn insert_key(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
    ) -> Result<Handle, Error> {
        self.grant.insert_key(algorithm, key, options, false)
    }

    pub(super) fn remove_key(&self, handle: Handle) -> bool {
        self.grant.remove_key(handle)
    }

    /// Takes the queue away. After it the accelerator touches none of its memory.
    pub(super) fn leave(&self) {
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
    pub(super) fn why(&self) -> Refusal {
        self.grant.shared.why()
    }

    /// Whether this is a forked child of the process that has the thread.
    #[inline(always)]
    pub(super) fn is_parents(&self) -> bool {
        self.grant.is_parents()
    }

    /// Whether the thread has ended, or is not of this process: no completion will come any more.
    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.grant.has_ended()
    }

    /// Wakes the accelerator.
    #[cold]
    pub(super) fn ring(&self) {
        self.grant.thread.unpark();
    }

    /// Waits until completions come: for a while by looking, then asleep.
    pub(super) fn park<const W: usize>(&self, completions: &mut Consumer<RingMemory, W>) {
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
    pub(super) fn wake_task<const W: usize>(
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

    fn wake(&self) {
        // Not under the lock: a waker is somebody else's code.
        let sleeper = self.sleeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        match sleeper {
            Some(Sleeper::Thread(thread)) => thread.unpark(),
            Some(Sleeper::Task(waker)) => waker.wake(),
            None => {}
        }
    }
}

/// An accelerator on a thread of its own, which serves any number of queues. When it is dropped it ends what was
/// submitted and [flushed](Queue::flush), and the thread; operations submitted later are refused.
///
/// Its queues share by what their operations cost, but its turns are not bounded, as those of a worker are: all of its clients are
/// one program, which trusts itself. An operation is executed at once, however long its object is, others wait until it is done, and
/// whatever an arena holds can be opened. Clients that don't trust each other need
/// workers: see [`isolated`](crate::isolated).
///
/// ```
/// use millstream::hash::Hash;
/// use millstream::queue::{AcceleratorThread, Config, Request, ThreadConfig};
///
/// let accelerator = AcceleratorThread::spawn(millstream::features()?, ThreadConfig::default())?;
/// let mut queue = accelerator.queue(Config::default())?;
/// let mut message = queue.buffer(3)?;
/// message.copy_from_slice(b"abc");
/// queue.submit(Request::digest(Hash::Sha256, message))?;
/// let done = queue.wait().unwrap();
/// assert_eq!(done.tag()[..4], [0xba, 0x78, 0x16, 0xbf]);
/// # Ok::<(), millstream::Error>(())
/// ```
pub struct AcceleratorThread {
    shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
}

impl AcceleratorThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Thread`] when it can't be started, or not be pinned.
    pub fn spawn(features: Features, config: ThreadConfig) -> Result<Self, Error> {
        millstream_shm::watch_forks().map_err(|error| Error::Thread(error.kind()))?;
        let shared = Arc::new(Shared {
            features,
            commands: Mutex::new(Vec::new()),
            told: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            forks: millstream_shm::forks(),
        });
        let (ready, started) = sync_channel(1);
        let of_thread = shared.clone();
        let body = move || {
            let pinned = pin(config.cpu);
            let go = pinned.is_ok();
            let _ = ready.send(pinned);
            let _end = End(of_thread.clone());
            if go {
                Worker::new(of_thread, config).run();
            }
        };
        let handle = thread::Builder::new()
            .name("millstream".to_owned())
            .spawn(body)
            .map_err(|error| Error::Thread(error.kind()))?;
        let this = AcceleratorThread { shared, handle: Some(handle) };
        match started.recv() {
            Ok(Ok(())) => Ok(this),
            Ok(Err(kind)) => Err(Error::Thread(kind)),
            Err(_) => Err(Error::Thread(std::io::ErrorKind::Other)),
        }
    }

    /// A new queue.
    ///
    /// # Errors
    /// [`Refusal::ArenaFull`] when arena and depth together are more than 4 GiB; [`Refusal::Gone`];
    /// [`Refusal::Forked`] in a forked child, which has no such thread.
    pub fn queue(&self, config: Config) -> Result<Queue, Error> {
        self.grant(&config, 1)?.queue(config.depth(), config.weight)
    }

    /// A grant for that many queues, each as deep as `config` says.
    pub(crate) fn grant(&self, config: &Config, queues: usize) -> Result<Arc<ThreadGrant>, Error> {
        if self.shared.is_parents() {
            return Err(Refusal::Forked.into());
        }
        let heap = Parts::heap(config, queues, true)?;
        let thread = self.handle.as_ref().map(JoinHandle::thread).ok_or(Refusal::Gone)?.clone();
        let (arena, key_slots) = (Exclusive(heap.clone()), config.key_slots);
        let grant = self.shared.ask(&thread, |reply| Command::AddGrant { arena, key_slots, reply });
        let grant = grant.ok_or_else(|| self.shared.why())?;
        Ok(Arc::new(ThreadGrant { shared: self.shared.clone(), thread, grant, heap }))
    }
}

impl Drop for AcceleratorThread {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.told.store(true, Ordering::Release);
        if let Some(handle) = self.handle.take() {
            if self.shared.is_parents() {
                // There is no such thread here to wait for.
                std::mem::forget(handle);
                return;
            }
            handle.thread().unpark();
            // A panic of the thread has been told to its clients already.
            let _ = handle.join();
        }
    }
}

impl fmt::Debug for AcceleratorThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = self.shared.ended.load(Ordering::Relaxed);
        write!(f, "AcceleratorThread({})", if ended { "ended" } else { "running" })
    }
}

fn pin(cpu: Option<usize>) -> Result<(), std::io::ErrorKind> {
    cpu.map_or(Ok(()), |cpu| millstream_shm::pin(cpu).map_err(|error| error.kind()))
}

/// Says that the thread has ended, however that came. No command is left without an answer.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        let mut commands = self.0.commands.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.ended.store(true, Ordering::Release);
        // Their answers can't come any more: who waits for one gets an error.
        commands.clear();
    }
}

/// What the thread has.
struct Worker {
    shared: Arc<Shared>,
    config: ThreadConfig,
    accelerator: LocalAccelerator,
    clients: Vec<(QueueId, Arc<Client>)>,
    began: Instant,
}

impl Worker {
    fn new(shared: Arc<Shared>, config: ThreadConfig) -> Self {
        let deadline = u64::try_from(config.flush_deadline.as_nanos()).unwrap_or(u64::MAX);
        let policy = FlushPolicy { deadline, ..FlushPolicy::default() };
        let accelerator = Accelerator::new(shared.features, policy);
        Worker { shared, config, accelerator, clients: Vec::new(), began: Instant::now() }
    }

    fn run(mut self) {
        let mut idle_since = None;
        loop {
            if self.shared.told.load(Ordering::Relaxed) && self.shared.told.swap(false, Ordering::Acquire) {
                self.obey();
                if self.shared.stop.load(Ordering::Acquire) {
                    break;
                }
            }
            let ended = self.accelerator.step(self.now());
            if ended > 0 {
                self.wake_seen();
                idle_since = None;
            } else if self.accelerator.held() == 0 {
                self.idle(&mut idle_since);
            } else {
                self.wake_clients();
                std::hint::spin_loop();
            }
        }
        // What was submitted before the end is done.
        while self.accelerator.step(u64::MAX) > 0 || self.accelerator.flush() > 0 {}
        let clients = std::mem::take(&mut self.clients);
        drop(self);
        for (_, client) in clients {
            client.wake();
        }
    }

    /// Nanoseconds, where anything depends on them: asking costs more than an empty step.
    #[inline]
    fn now(&self) -> u64 {
        if self.config.flush_deadline.is_zero() { 0 } else { self.began.elapsed().as_nanos() as u64 }
    }

    /// Nothing to do: looks again for a while, then sleeps.
    fn idle(&mut self, since: &mut Option<Instant>) {
        self.wake_clients();
        // A clock is asked once for many looks.
        const LOOKS: u32 = 32;
        for _ in 0..LOOKS {
            if self.accelerator.has_work() || self.shared.told.load(Ordering::Relaxed) {
                return;
            }
            std::hint::spin_loop();
        }
        let now = Instant::now();
        if now.duration_since(*since.get_or_insert(now)) < self.config.spin {
            return;
        }
        if self.accelerator.sleep() {
            if !self.shared.told.load(Ordering::Acquire) {
                thread::park();
            }
            self.accelerator.wake();
        }
        *since = None;
    }

    /// Wakes every client that sleeps and has completions.
    fn wake_clients(&mut self) {
        let Worker { accelerator, clients, .. } = self;
        accelerator.wake_clients(|queue| wake(clients, queue));
    }

    /// Wakes those that are seen to sleep, and does not wait for what was written to be on its way.
    fn wake_seen(&mut self) {
        let Worker { accelerator, clients, .. } = self;
        accelerator.wake_seen(|queue| wake(clients, queue));
    }

    #[cold]
    fn obey(&mut self) {
        let commands =
            std::mem::take(&mut *self.shared.commands.lock().unwrap_or_else(PoisonError::into_inner));
        for command in commands {
            // Who asked may have gone; that is its affair.
            match command {
                Command::AddGrant { arena, key_slots, reply } => {
                    let _ = reply.send(self.accelerator.add_grant(arena, key_slots));
                }
                Command::RemoveGrant { grant, reply } => {
                    self.accelerator.remove_grant(grant);
                    let _ = reply.send(());
                }
                Command::AddQueue { grant, rings: (submissions, completions), weight, client, reply } => {
                    let queue = self.accelerator.add_queue(grant, submissions, completions, weight).ok();
                    self.clients.extend(queue.map(|queue| (queue, client)));
                    let _ = reply.send(queue);
                }
                Command::RemoveQueue { queue, reply } => {
                    self.accelerator.remove_queue(queue);
                    self.clients.retain(|(of, _)| *of != queue);
                    let _ = reply.send(());
                }
                Command::InsertKey { grant, key, reply } => {
                    let _ = reply.send(self.accelerator.insert_prepared(grant, *key).ok());
                }
                Command::RemoveKey { grant, handle, reply } => {
                    let _ = reply.send(self.accelerator.remove_key(grant, handle));
                }
            }
        }
    }
}

fn wake(clients: &[(QueueId, Arc<Client>)], queue: QueueId) {
    clients.iter().filter(|(of, _)| *of == queue).for_each(|(_, client)| client.wake());
}
