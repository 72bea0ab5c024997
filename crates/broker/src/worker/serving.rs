//! The accelerator's thread: it looks at the rings of all grants, executes, wakes clients, and sleeps.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_accelerator::{Accelerator, FlushPolicy, QueueId};
use millstream_cpu::Features;
use millstream_cwq::Completion;
use millstream_cwq::ring::Producer;
use millstream_shm::{Words, sleep};
use rustix::event::{Timespec, epoll};

use super::mailbox::{End, Mailbox};
use super::memory::SharedArena;

/// How long it goes on taking words when it is to finish: a client that never stops submitting must not keep it.
const FINISH: Duration = Duration::from_secs(2);

/// How long it sleeps at first, and at most, where words wait but their client takes no completions.
const BLOCKED: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// How many words are taken at once: the lanes of most algorithms. Clients prepare the next meanwhile.
const AT_ONCE: usize = 16;

/// How the thread behaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) spin: Duration,
    pub(super) flush: Duration,
}

/// What is known of a queue beside what its accelerator knows.
struct Client {
    /// The number of its grant.
    grant: u64,
    /// For the word that its client sleeps on; nothing is pushed here.
    completions: Producer<Words, { Completion::WORDS }>,
}

/// What is counted for a grant beside what its accelerator counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bells {
    /// How often its client was woken.
    pub(super) wakes: u64,
    /// How often its doorbell woke this thread.
    pub(super) doorbells: u64,
}

/// What the thread has. Commands reach it between two steps.
pub(super) struct Serving {
    pub(super) accelerator: Accelerator<SharedArena, Words>,
    clients: HashMap<QueueId, Client>,
    bells: HashMap<u64, Bells>,
    sleeps: u64,
    mailbox: Arc<Mailbox>,
    /// All doorbells, and the mailbox's.
    epoll: Arc<OwnedFd>,
    events: Vec<epoll::Event>,
    pace: Pace,
    began: Instant,
    blocked: Duration,
    /// Whether it went to work since something last ended, and nothing came of it: a client without room.
    in_vain: bool,
}

/// The number of the mailbox's bell among those of grants.
pub(super) const MAILBOX: u64 = u64::MAX;

impl Serving {
    pub(super) fn new(features: Features, pace: Pace, mailbox: Arc<Mailbox>, epoll: Arc<OwnedFd>) -> Self {
        let deadline = u64::try_from(pace.flush.as_nanos()).unwrap_or(u64::MAX);
        let mut accelerator = Accelerator::new(features, FlushPolicy { deadline, ..FlushPolicy::default() });
        accelerator.take_at_most(AT_ONCE);
        Serving {
            accelerator,
            clients: HashMap::new(),
            bells: HashMap::new(),
            sleeps: 0,
            mailbox,
            epoll,
            events: Vec::with_capacity(32),
            pace,
            began: Instant::now(),
            blocked: BLOCKED.0,
            in_vain: false,
        }
    }

    /// A queue was added; its client may sleep on its completions.
    pub(super) fn attend(
        &mut self,
        queue: QueueId,
        grant: u64,
        completions: Producer<Words, { Completion::WORDS }>,
    ) {
        self.clients.insert(queue, Client { grant, completions });
        self.bells.entry(grant).or_default();
    }

    /// A grant's queues are gone. Its clients look, if they sleep, what became of them.
    pub(super) fn leave(&mut self, grant: u64) -> Bells {
        self.clients.retain(|_, client| {
            if client.grant == grant {
                sleep::wake(client.completions.sleep_word());
            }
            client.grant != grant
        });
        self.bells.remove(&grant).unwrap_or_default()
    }

    pub(super) fn bells_mut(&mut self, grant: u64) -> &mut Bells {
        self.bells.entry(grant).or_default()
    }

    pub(super) fn sleeps(&self) -> u64 {
        self.sleeps
    }

    /// Serves until it is told to end.
    pub(super) fn run(mut self) {
        let mut idle_since = None;
        let end = loop {
            if self.mailbox.is_told()
                && let Some(end) = self.obey()
            {
                break end;
            }
            if self.accelerator.step(self.now()) > 0 {
                self.wake_seen();
                idle_since = None;
                self.in_vain = false;
                self.blocked = BLOCKED.0;
            } else if self.accelerator.held() == 0 {
                self.idle(&mut idle_since);
            } else {
                self.wake_clients();
                std::hint::spin_loop();
            }
        };
        if end == End::Finish {
            let begin = Instant::now();
            while self.accelerator.step(u64::MAX) > 0 && begin.elapsed() < FINISH {}
        }
        self.accelerator.flush();
        for client in self.clients.values() {
            sleep::wake(client.completions.sleep_word());
        }
    }

    /// Nanoseconds, where anything depends on them: asking costs more than an empty step.
    #[inline]
    fn now(&self) -> u64 {
        if self.pace.flush.is_zero() { 0 } else { self.began.elapsed().as_nanos() as u64 }
    }

    /// Does what the control thread wants.
    #[cold]
    fn obey(&mut self) -> Option<End> {
        let (commands, end) = self.mailbox.take();
        for command in commands {
            command(self);
        }
        // Grants that moved here may have brought clients that sleep.
        self.wake_clients();
        end
    }

    /// Wakes every client that sleeps and has completions.
    fn wake_clients(&mut self) {
        let Serving { accelerator, clients, bells, .. } = self;
        accelerator.wake_clients(|queue| wake(clients, bells, queue));
    }

    /// Wakes those that are seen to sleep, and does not wait for what was written to be on its way.
    fn wake_seen(&mut self) {
        let Serving { accelerator, clients, bells, .. } = self;
        accelerator.wake_seen(|queue| wake(clients, bells, queue));
    }

    /// Nothing to do: looks again for a while, then sleeps.
    fn idle(&mut self, since: &mut Option<Instant>) {
        self.wake_clients();
        // A clock is asked once for many looks.
        const LOOKS: u32 = 32;
        for _ in 0..LOOKS {
            if self.accelerator.has_work() && !std::mem::replace(&mut self.in_vain, true) {
                return;
            }
            if self.mailbox.is_told() {
                return;
            }
            std::hint::spin_loop();
        }
        let now = Instant::now();
        if now.duration_since(*since.get_or_insert(now)) < self.pace.spin {
            return;
        }
        if self.accelerator.sleep() {
            // Woken for nothing, it sleeps again at once.
            self.wait(None);
        } else if self.accelerator.step(self.now()) > 0 {
            self.wake_clients();
            *since = None;
        } else if self.accelerator.sleep_blocked() {
            // Nobody rings when there is room again.
            self.wait(Some(self.blocked));
            self.blocked = BLOCKED.1.min(2 * self.blocked);
        }
    }

    /// Sleeps until a doorbell rings, or the limit.
    #[cold]
    fn wait(&mut self, limit: Option<Duration>) {
        self.sleeps += 1;
        let limit = limit.map(|limit| Timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: i64::from(limit.subsec_nanos()),
        });
        self.events.clear();
        // A signal ends it too: then it looks, and sleeps again.
        let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), limit.as_ref());
        self.accelerator.wake();
        for event in &self.events {
            // What is packed is copied first.
            let data = event.data;
            if let Some(bells) = self.bells.get_mut(&data.u64()) {
                bells.doorbells += 1;
            }
        }
    }
}

fn wake(clients: &HashMap<QueueId, Client>, bells: &mut HashMap<u64, Bells>, queue: QueueId) {
    let Some(client) = clients.get(&queue) else { return };
    sleep::wake(client.completions.sleep_word());
    bells.entry(client.grant).or_default().wakes += 1;
}

/// Waits for doorbells: for each no more than that it rang, never how often, so nothing is ever read there.
pub(super) fn listen(epoll: &OwnedFd, bell: impl AsFd, number: u64) -> io::Result<()> {
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    Ok(epoll::add(epoll, bell, epoll::EventData::new_u64(number), flags)?)
}
