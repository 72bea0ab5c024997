//! The way of a worker's queue from its grant and back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Queue;
use super::driver::Driver;
use super::isolated::Isolated;
use super::parts::Parts;
use super::slot::Slot;
use crate::Error;
use crate::heap::Buffer;
use crate::link::{Link, Parked};
use crate::refusal::Refusal;

/// The longest time that a queue that is dropped waits for what is in flight.
const LEAVING: Duration = Duration::from_secs(1);

impl Queue {
    /// Takes the next queue of a grant.
    pub(crate) fn isolated(link: &Arc<Link>) -> Result<Queue, Error> {
        if let Some(why) = link.refusal() {
            return Err(why.into());
        }
        let parked = link.take_queue().ok_or(Error::QueuesTaken)?;
        let Parked { index, position } = parked;
        let depth = link.grant().depth;
        match Parts::over(link.heap.clone(), &link.rings, link.layout, index, depth, position) {
            Ok(parts) => {
                let isolated = Isolated::new(link.clone(), index);
                Ok(Queue::over(parts, Driver::Isolated(Box::new(isolated))))
            }
            Err(error) => {
                link.park_queue(parked);
                Err(error)
            }
        }
    }

    /// Returns true while the worker has words of this queue, or completions of it are in the ring.
    fn is_busy(&self) -> bool {
        self.cancels > 0 || self.slots.iter().any(Slot::is_live)
    }

    /// Leaves the worker. Before the buffers of operations in flight are free again it must have done with them: takes
    /// back what has not begun, and waits for the rest. What does not end in time is abandoned. A queue with nothing in
    /// flight goes back to its grant.
    pub(super) fn leave_worker(&mut self) {
        let Driver::Isolated(isolated) = &mut self.driver else { return };
        let (link, index) = isolated.leave();
        if link.refusal() == Some(Refusal::Forked) {
            return;
        }
        for slot in 0..self.slots.len() {
            self.detach(self.slots[slot].ticket());
        }
        let until = Instant::now() + LEAVING;
        while self.is_busy() && Instant::now() < until {
            // All are detached, so what has ended is dropped in there.
            let over = self.drive();
            while let Some(done) = if over { self.last() } else { self.reap() } {
                drop(done);
            }
            if over {
                break;
            }
            if self.is_busy()
                && let Driver::Isolated(isolated) = &mut self.driver
            {
                isolated.park(&mut self.completions, Duration::MAX);
            }
        }
        if self.is_busy() && !link.is_settled() {
            self.abandon();
            return;
        }
        self.completions.release();
        if link.refusal().is_none() && !self.is_busy() {
            link.park_queue(Parked {
                index,
                position: (self.submissions.position(), self.completions.position()),
            });
        }
    }

    /// Leaves to the worker what it may still write to.
    #[cold]
    fn abandon(&mut self) {
        for slot in &mut self.slots {
            let cold =
                slot.cold.as_mut().into_iter().flat_map(|cold| cold.more.iter_mut().chain(&mut cold.extra));
            slot.source.iter_mut().chain(&mut slot.destination).chain(cold).for_each(Buffer::abandon);
        }
        self.places.abandon();
    }
}
