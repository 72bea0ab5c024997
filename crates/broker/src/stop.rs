//! How a broker that serves is told to stop, or to read its policy again.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

/// Tells [`Broker::run`](crate::Broker::run) to stop. Copies tell the same one.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    stop: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
    /// A byte here wakes the broker.
    bell: UnixStream,
    heard: UnixStream,
}

impl Stop {
    /// One that nothing tells anything yet.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn new() -> io::Result<Self> {
        let (bell, heard) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        Ok(Stop(Arc::new(Inner { stop: Arc::default(), reload: Arc::default(), bell, heard })))
    }

    /// SIGTERM and SIGINT stop it, and SIGHUP makes it read its policy, from now on.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn on_signals(&self) -> io::Result<()> {
        for (signal, said) in [(SIGTERM, &self.0.stop), (SIGINT, &self.0.stop), (SIGHUP, &self.0.reload)] {
            // In this order: who is woken finds what was said.
            flag::register(signal, said.clone())?;
            pipe::register(signal, self.0.bell.try_clone()?)?;
        }
        Ok(())
    }

    /// Stop.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// Read the policy again.
    pub fn reload(&self) {
        self.0.reload.store(true, Ordering::SeqCst);
        self.ring();
    }

    fn ring(&self) {
        // Where it is full the broker has much to hear already.
        let _ = (&self.0.bell).write(&[0]);
    }

    /// Forgets how often it rang.
    pub(crate) fn quiet(&self) {
        let mut bytes = [0; 64];
        while (&self.0.heard).read(&mut bytes).is_ok_and(|len| len == bytes.len()) {}
    }

    pub(crate) fn is_said(&self) -> bool {
        self.0.stop.load(Ordering::SeqCst)
    }

    pub(crate) fn take_reload(&self) -> bool {
        self.0.reload.swap(false, Ordering::SeqCst)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.heard.as_fd()
    }
}
