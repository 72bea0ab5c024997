//! The loop of an accelerator's thread.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Instant;

use millstream_accelerator::{Accelerator, FlushPolicy, QueueId};

use super::client::{Client, Command, Shared};
use crate::queue::ThreadConfig;
use crate::queue::driver::LocalAccelerator;

/// What the thread has.
pub(super) struct Worker {
    shared: Arc<Shared>,
    config: ThreadConfig,
    accelerator: LocalAccelerator,
    clients: Vec<(QueueId, Arc<Client>)>,
    began: Instant,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, config: ThreadConfig) -> Self {
        let deadline = u64::try_from(config.flush_deadline.as_nanos()).unwrap_or(u64::MAX);
        let policy = FlushPolicy { deadline, ..FlushPolicy::default() };
        let accelerator = Accelerator::new(shared.features, policy);
        Worker { shared, config, accelerator, clients: Vec::new(), began: Instant::now() }
    }

    pub(super) fn run(mut self) {
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
