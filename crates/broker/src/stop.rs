//! Tells a broker that serves to stop, or to read its policy again.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

/// Tells [`Broker::run`](crate::Broker::run) to stop. Clones tell the same broker.
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
    /// Makes one that says nothing yet.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn new() -> io::Result<Self> {
        let (bell, heard) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        Ok(Stop(Arc::new(Inner { stop: Arc::default(), reload: Arc::default(), bell, heard })))
    }

    /// Has SIGTERM and SIGINT stop the broker, and SIGHUP make it read its policy, from now on.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn on_signals(&self) -> io::Result<()> {
        for (signal, said) in [(SIGTERM, &self.0.stop), (SIGINT, &self.0.stop), (SIGHUP, &self.0.reload)] {
            // The order matters: a broker that is woken must find what was said.
            flag::register(signal, said.clone())?;
            pipe::register(signal, self.0.bell.try_clone()?)?;
        }
        Ok(())
    }

    /// Tells the broker to stop.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// Tells the broker to read its policy again.
    pub fn reload(&self) {
        self.0.reload.store(true, Ordering::SeqCst);
        self.ring();
    }

    fn ring(&self) {
        // When the socket is full the broker is going to wake anyway.
        let _ = (&self.0.bell).write(&[0]);
    }

    /// Takes the bytes that woke the broker.
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
