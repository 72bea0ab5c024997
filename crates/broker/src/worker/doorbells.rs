//! The sleep of the accelerator's thread: in one epoll, for the doorbells of all grants and its mailbox.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use millstream_host::Sleep;
use rustix::event::{Timespec, epoll};

/// The number of the mailbox's bell among those of grants.
const MAILBOX: u64 = u64::MAX;

/// Makes an epoll for the mailbox's bell, and for doorbells that are added later.
pub(super) fn new_epoll(mailbox: impl AsFd) -> io::Result<Arc<OwnedFd>> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    listen(&epoll, mailbox, MAILBOX)?;
    Ok(Arc::new(epoll))
}

/// Has an epoll wake its waiter for a doorbell. The waiter learns that the bell rang, never how often, so nothing is ever
/// read there.
pub(super) fn listen(epoll: &OwnedFd, bell: impl AsFd, number: u64) -> io::Result<()> {
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    Ok(epoll::add(epoll, bell, epoll::EventData::new_u64(number), flags)?)
}

/// The doorbells, as their listener has them.
pub(super) struct Doorbells {
    epoll: Arc<OwnedFd>,
    events: Vec<epoll::Event>,
    /// The grants that have rung and were not attended to yet.
    rung: VecDeque<u64>,
    sleeps: u64,
}

impl Doorbells {
    pub(super) fn new(epoll: Arc<OwnedFd>) -> Self {
        Doorbells { epoll, events: Vec::with_capacity(32), rung: VecDeque::with_capacity(32), sleeps: 0 }
    }

    /// Returns how often the thread has slept.
    pub(super) fn sleeps(&self) -> u64 {
        self.sleeps
    }

    /// Returns true while there are grants that have rung and were not attended to.
    #[inline]
    pub(super) fn have_rung(&self) -> bool {
        !self.rung.is_empty()
    }

    /// Returns the next grant that has rung.
    pub(super) fn next_rung(&mut self) -> Option<u64> {
        self.rung.pop_front()
    }

    /// Hears who has rung, without waiting. Nobody is heard again before all that have rung were attended to.
    pub(super) fn hear(&mut self) {
        self.wait(Some(Timespec { tv_sec: 0, tv_nsec: 0 }));
    }

    fn wait(&mut self, limit: Option<Timespec>) {
        if self.have_rung() {
            return;
        }
        self.events.clear();
        // A signal ends the wait too: then the thread looks, and sleeps again.
        let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), limit.as_ref());
        for event in &self.events {
            // The event is packed, so its data is copied first.
            let data = event.data;
            self.rung.push_back(data.u64());
        }
    }
}

impl Sleep for Doorbells {
    const LOOKS_AGAIN: bool = false;

    #[cold]
    fn sleep(&mut self, limit: Option<Duration>) {
        self.sleeps += u64::from(!self.have_rung());
        self.wait(limit.map(|limit| Timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: i64::from(limit.subsec_nanos()),
        }));
    }
}
