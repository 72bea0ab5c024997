//! Closes sockets that may hold descriptors of strangers, on threads that serve nobody. Kernels before Linux
//! 6.16 can't refuse such descriptors.
//!
//! Closing such a socket closes the descriptors in its queue, which takes as long as a stranger likes. So it
//! happens on a few threads that start when there is something to close and end when there is nothing more. A
//! signal interrupts them again and again, because a TCP socket does not linger for a thread that has a
//! signal pending. A descriptor that ignores signals (a pipe whose lock is held by a page fault that somebody
//! serves, a file system in user space) keeps its thread, and the other sockets wait, parked. When [`FULL`]
//! sockets are held, no newcomer is let in until there is room again; clients that are in are served as ever.
//! The process never waits for any of this, not even when it ends.
//!
//! # Safety
//! The one system call without a safe wrapper passes no memory: it sends this process a signal that has a
//! handler.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::thread::gettid;

/// The number of threads that close at a time.
const CLOSERS: usize = 8;
/// The number of held sockets at which newcomers are no longer let in.
const FULL: usize = 256;
/// The pause between interrupts of closing threads: the first one and the longest. It grows as long as
/// nothing comes of them.
const NUDGES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));
/// The signal's default is to be ignored, so it harms nobody who does not expect it.
const NUDGE: libc::c_int = libc::SIGURG;

/// A socket to be closed, and the user it belonged to.
struct Doomed {
    descriptor: OwnedFd,
    uid: Option<u32>,
}

/// A thread that is closing something.
struct Busy {
    thread: i32,
    uid: Option<u32>,
}

#[derive(Default)]
struct State {
    parked: VecDeque<Doomed>,
    busy: Vec<Busy>,
    /// The threads that close, including those that have yet to begin.
    closers: usize,
    /// True while the thread that looks after them runs.
    is_kept: bool,
    closed: u64,
}

impl State {
    fn held(&self) -> usize {
        self.parked.len() + self.busy.len()
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// The threads that close sockets, and the sockets that wait for them. Clones share both.
#[derive(Clone, Default)]
pub(crate) struct Disposal(Arc<Shared>);

impl Disposal {
    /// Closes a socket some time later, on another thread.
    pub(crate) fn take(&self, descriptor: OwnedFd, uid: Option<u32>) {
        let mut state = self.0.lock();
        state.parked.push_back(Doomed { descriptor, uid });
        if !state.is_kept {
            let shared = self.0.clone();
            // Without a thread the socket stays parked, and the next call tries again.
            state.is_kept = start("keeper", move || shared.keep()).is_ok();
        }
        self.0.changed.notify_all();
    }

    /// Returns true when so many sockets wait to be closed that no newcomer may be let in.
    pub(crate) fn is_full(&self) -> bool {
        self.0.lock().held() >= FULL
    }

    /// Returns how many of a user's sockets wait to be closed.
    pub(crate) fn held_of(&self, uid: u32) -> usize {
        let state = self.0.lock();
        let parked = state.parked.iter().map(|doomed| doomed.uid);
        let all = parked.chain(state.busy.iter().map(|busy| busy.uid));
        all.filter(|held| *held == Some(uid)).count()
    }
}

/// Starts a thread that nobody waits for.
pub(crate) fn start(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).stack_size(64 << 10).spawn(body).map(drop)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts closing threads and interrupts them, until nothing is left. It closes nothing itself.
    fn keep(self: Arc<Self>) {
        // All that counts is that a handler exists. Without one, threads wait as long as strangers make them.
        let _ = signal_hook::flag::register(NUDGE, Arc::default());
        let (mut pause, mut closed) = (NUDGES.0, 0);
        let mut state = self.lock();
        while state.held() > 0 || state.closers > 0 {
            if !state.parked.is_empty() && state.closers < CLOSERS {
                let shared = self.clone();
                state.closers += usize::from(start("closer", move || shared.close()).is_ok());
            }
            pause = if state.closed > closed { NUDGES.0 } else { NUDGES.1.min(2 * pause) };
            closed = state.closed;
            for busy in &state.busy {
                nudge(busy.thread);
            }
            let waited = self.changed.wait_timeout(state, pause);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_kept = false;
    }

    /// Closes parked sockets until there are none.
    fn close(&self) {
        let thread = gettid().as_raw_nonzero().get();
        let mut state = self.lock();
        while let Some(Doomed { descriptor, uid }) = state.parked.pop_front() {
            state.busy.push(Busy { thread, uid });
            drop(state);
            drop(descriptor);
            state = self.lock();
            state.busy.retain(|busy| busy.thread != thread);
            state.closed += 1;
        }
        state.closers -= 1;
        self.changed.notify_all();
    }
}

/// Interrupts a thread of this process. If that one has ended and another process has its number, that
/// process is not disturbed.
fn nudge(thread: i32) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: see the file's head.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, NUDGE) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::time::Instant;

    /// Makes a TCP socket that takes that long to close. The other end does not read.
    fn lingering(seconds: u64) -> (OwnedFd, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let deaf = listener.accept().unwrap().0;
        stream.set_nonblocking(true).unwrap();
        while stream.write(&[0; 1 << 16]).is_ok() {}
        stream.set_nonblocking(false).unwrap();
        let linger = Some(Duration::from_secs(seconds));
        rustix::net::sockopt::set_socket_linger(&stream, linger).unwrap();
        (stream.into(), deaf)
    }

    #[test]
    fn closing_is_interrupted_and_holds_up_nobody() {
        let disposal = Disposal::default();
        let mut deaf = Vec::new();
        let begin = Instant::now();
        for _ in 0..2 * CLOSERS {
            let (here, there) = millstream_shm::pair().unwrap();
            let (stranger, other) = lingering(600);
            there.send(b"here", &[stranger.as_fd()]).unwrap();
            deaf.push(other);
            drop(stranger);
            disposal.take(here.into(), Some(7));
        }
        assert_eq!(disposal.held_of(8), 0);
        while disposal.0.lock().held() > 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "a signal does not end the lingering");
            thread::sleep(Duration::from_millis(5));
        }
        // The threads end by themselves.
        while disposal.0.lock().is_kept {
            assert!(begin.elapsed() < Duration::from_secs(60), "the threads do not end");
            thread::sleep(Duration::from_millis(5));
        }
        assert!(!disposal.is_full());
    }

    #[test]
    fn so_many_are_held_and_then_nobody_is_let_in() {
        let disposal = Disposal::default();
        let null = || std::fs::File::open("/dev/null").unwrap().into();
        // This keeps the threads from starting, as if no socket could be closed.
        disposal.0.lock().is_kept = true;
        for _ in 0..FULL {
            assert!(!disposal.is_full());
            disposal.take(null(), Some(7));
        }
        assert!(disposal.is_full());
        assert_eq!(disposal.held_of(7), FULL);
    }
}
