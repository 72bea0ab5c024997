//! The bells of threads that sleep in an epoll, and of parked ones.

use std::sync::OnceLock;
use std::thread::Thread;

use millstream_shm::Doorbell;

use crate::mailbox::Bell;

impl Bell for Doorbell {
    fn ring(&self) {
        Doorbell::ring(self);
    }
}

/// Wakes a parked thread.
#[derive(Debug, Default)]
pub struct Unpark(OnceLock<Thread>);

impl Unpark {
    /// Names the thread that the bell wakes: the calling one, before anybody else knows that it is there.
    pub fn wakes_this_thread(&self) {
        self.0.get_or_init(std::thread::current);
    }
}

impl Bell for Unpark {
    fn ring(&self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}
