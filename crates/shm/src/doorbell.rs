//! The doorbell: how an accelerator that sleeps is woken.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

/// An eventfd. Who sleeps waits for it in an epoll, edge-triggered, and never reads it: so it does not matter what
/// else its other holders do with it.
#[derive(Debug)]
pub struct Doorbell(OwnedFd);

impl Doorbell {
    /// A new one.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Doorbell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// One that came from another process.
    pub fn received(descriptor: OwnedFd) -> Self {
        Doorbell(descriptor)
    }

    /// Rings it: a system call, so only where somebody sleeps.
    pub fn ring(&self) {
        // When its counter is full it has been ringing for long.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Another descriptor for the same one.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn duplicate(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Doorbell> for OwnedFd {
    fn from(doorbell: Doorbell) -> OwnedFd {
        doorbell.0
    }
}
