//! The accelerator of a program's own thread, and its clients.

use std::sync::Arc;

use millstream_accelerator::{Accelerator, FlushPolicy, GrantId, QueueId};
use millstream_cpu::Features;
use millstream_host::{End, Hosted, Pace, Park, Unpark};

use super::sleeper::Bed;
use crate::queue::parts::{LocalAccelerator, RingMemory};

/// The way of commands to the thread.
pub(super) type Mailbox = millstream_host::Mailbox<Serving, Unpark>;

/// The accelerator of a program's own thread, and its clients.
pub(super) struct Serving {
    pub(super) accelerator: LocalAccelerator,
    clients: Vec<(QueueId, Arc<Bed>)>,
    pace: Pace,
    sleep: Park,
}

impl Serving {
    pub(super) fn new(features: Features, pace: Pace) -> Self {
        let deadline = u64::try_from(pace.flush.as_nanos()).unwrap_or(u64::MAX);
        let policy = FlushPolicy { deadline, ..FlushPolicy::default() };
        Serving { accelerator: Accelerator::new(features, policy), clients: Vec::new(), pace, sleep: Park }
    }

    /// Serves until the mailbox says to end.
    pub(super) fn run(mut self, mailbox: &Mailbox) {
        let pace = self.pace;
        let (End::Finish | End::Now) = millstream_host::run(&mut self, mailbox, pace);
        // Operations that were submitted before the end are done.
        while self.accelerator.step(u64::MAX) > 0 || self.accelerator.flush() > 0 {}
        let clients = std::mem::take(&mut self.clients);
        drop(self);
        for (_, bed) in clients {
            bed.wake();
        }
    }

    /// Serves a queue's rings; its client sleeps in `bed`.
    pub(super) fn add_queue(
        &mut self,
        grant: GrantId,
        (submissions, completions): (RingMemory, RingMemory),
        weight: u32,
        bed: Arc<Bed>,
    ) -> Option<QueueId> {
        let queue = self.accelerator.add_queue(grant, submissions, completions, weight).ok()?;
        self.clients.push((queue, bed));
        Some(queue)
    }

    pub(super) fn remove_queue(&mut self, queue: QueueId) {
        self.accelerator.remove_queue(queue);
        self.clients.retain(|(of, _)| *of != queue);
    }
}

impl Hosted for Serving {
    type Sleep = Park;

    #[inline]
    fn step(&mut self, now: u64) -> usize {
        self.accelerator.step(now)
    }

    #[inline]
    fn held(&self) -> usize {
        self.accelerator.held()
    }

    #[inline]
    fn has_work(&mut self) -> bool {
        self.accelerator.has_work()
    }

    #[inline]
    fn wake_clients(&mut self) {
        let Serving { accelerator, clients, .. } = self;
        accelerator.wake_clients(|queue| wake(clients, queue));
    }

    #[inline]
    fn wake_seen(&mut self) {
        let Serving { accelerator, clients, .. } = self;
        accelerator.wake_seen(|queue| wake(clients, queue));
    }

    fn fall_asleep(&mut self) -> bool {
        self.accelerator.sleep()
    }

    fn wake_up(&mut self) {
        self.accelerator.wake();
    }

    fn sleeper(&mut self) -> &mut Park {
        &mut self.sleep
    }
}

fn wake(clients: &[(QueueId, Arc<Bed>)], queue: QueueId) {
    clients.iter().filter(|(of, _)| *of == queue).for_each(|(_, bed)| bed.wake());
}
