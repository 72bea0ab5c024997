//! The doorbell wakes an accelerator that sleeps.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

/// An eventfd that a sleeping accelerator watches in an epoll. The watch is edge-triggered and the counter is
/// never read, so nothing that other holders do with the descriptor can block or confuse the sleeper.
#[derive(Debug)]
pub struct Doorbell(OwnedFd);

impl Doorbell {
    /// Makes a new doorbell.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Doorbell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Takes over a doorbell that came from another process.
    pub fn received(descriptor: OwnedFd) -> Self {
        Doorbell(descriptor)
    }

    /// Rings the doorbell. This is a system call, so only ring when somebody sleeps.
    pub fn ring(&self) {
        // The write fails only when the counter is full, and then the bell has been ringing for long.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes another descriptor for the same doorbell.
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
