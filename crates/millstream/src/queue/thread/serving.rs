//! The accelerator of a program's own thread, and its clients.

use std::sync::Arc;

use millstream_accelerator::{Accelerator, FlushPolicy, GrantId, QueueId, Way};
use millstream_cpu::Features;
use millstream_host::{End, Hosted, Pace, Park, Unpark};

use super::sleeper::Bed;
use crate::queue::parts::{LocalAccelerator, RingMemory};
use crate::random;
use crate::refusal::Refusal;

/// The way of commands to the thread.
type Mailbox = millstream_host::Mailbox<Serving, Unpark>;

/// The state that the thread and its clients share.
pub(super) struct Shared {
    pub(super) features: Features,
    way: Way,
    pub(super) mailbox: Mailbox,
    /// The number of forks there had been when the thread was started: a forked child has no such thread, and its copies of
    /// the locks here may be held for ever.
    forks: u64,
}

impl Shared {
    pub(super) fn new(features: Features, way: Way) -> Self {
        Shared { features, way, mailbox: Mailbox::new(Unpark::default()), forks: millstream_shm::forks() }
    }

    /// Returns true in a forked child of the process that has the thread.
    #[inline(always)]
    pub(super) fn is_parents(&self) -> bool {
        self.forks != millstream_shm::forks()
    }

    /// Returns true when nobody serves any more here.
    #[inline(always)]
    pub(super) fn has_ended(&self) -> bool {
        self.mailbox.is_closed() || self.is_parents()
    }

    /// Returns the reason why nobody serves.
    #[cold]
    pub(super) fn why(&self) -> Refusal {
        if self.is_parents() { Refusal::Forked } else { Refusal::Gone }
    }

    /// Has something done on the thread, and waits for what comes of it; none when the thread has ended, or is another
    /// process's.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        command: impl FnOnce(&mut Serving) -> T + Send + 'static,
    ) -> Option<T> {
        if self.is_parents() { None } else { self.mailbox.ask(command) }
    }
}

/// The accelerator of a program's own thread, and its clients.
pub(super) struct Serving {
    // The accelerator goes first: it touches no memory of the clients any more when they are told.
    pub(super) accelerator: LocalAccelerator,
    clients: Clients,
    pace: Pace,
    sleep: Park,
}

/// The clients of the thread. When this is dropped, however that comes, the mailbox is closed and those who sleep are woken,
/// in this order: nobody who is woken sees a thread that serves, and sleeps again.
struct Clients {
    shared: Arc<Shared>,
    beds: Vec<(QueueId, Arc<Bed>)>,
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.shared.mailbox.close();
        self.beds.iter().for_each(|(_, bed)| bed.wake());
    }
}

impl Serving {
    pub(super) fn new(shared: Arc<Shared>, pace: Pace) -> Self {
        let deadline = u64::try_from(pace.flush.as_nanos()).unwrap_or(u64::MAX);
        let policy = FlushPolicy { deadline, ..FlushPolicy::default() };
        let mut accelerator = Accelerator::new(shared.features, policy);
        accelerator.set_way(shared.way);
        accelerator.set_random(random::fill);
        Serving { accelerator, clients: Clients { shared, beds: Vec::new() }, pace, sleep: Park }
    }

    /// Serves until the mailbox says to end.
    pub(super) fn run(mut self, mailbox: &Mailbox) {
        let pace = self.pace;
        let (End::Finish | End::Now) = millstream_host::run(&mut self, mailbox, pace);
        // Operations that were submitted before the end are done.
        while self.accelerator.step(u64::MAX) > 0 || self.accelerator.flush() > 0 {}
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
        self.clients.beds.push((queue, bed));
        Some(queue)
    }

    pub(super) fn remove_queue(&mut self, queue: QueueId) {
        self.accelerator.remove_queue(queue);
        self.clients.beds.retain(|(of, _)| *of != queue);
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
        accelerator.wake_clients(|queue| wake(&clients.beds, queue));
    }

    #[inline]
    fn wake_seen(&mut self) {
        let Serving { accelerator, clients, .. } = self;
        accelerator.wake_seen(|queue| wake(&clients.beds, queue));
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

fn wake(beds: &[(QueueId, Arc<Bed>)], queue: QueueId) {
    beds.iter().filter(|(of, _)| *of == queue).for_each(|(_, bed)| bed.wake());
}
