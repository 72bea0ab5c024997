//! Where sockets are closed that may hold descriptors of strangers, on kernels that can't refuse those (Linux before
//! 6.16): on threads that serve nobody.
//!
//! To close such a socket closes what is in its queue, and that takes as long as a stranger likes. So it happens on a few
//! threads which are started when there is something to close and end when there is nothing more. A signal interrupts
//! them again and again: a TCP socket does not linger for a thread that has one pending. What does not heed signals (a pipe
//! whose lock is held by a page fault that somebody serves, a file system in user space) keeps its thread, and the other
//! sockets wait, parked. When [`FULL`] are held, nobody new is let in until there is room again; whoever is in
//! is served as ever. The process never waits for any of it, not even when it ends.
//!
//! # Safety
//! The one system call that has no safe wrapper names no memory: it sends this process a signal that has a handler.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::thread::gettid;

/// So many threads close at a time.
const CLOSERS: usize = 8;
/// When so many sockets are held, nobody new is let in.
const FULL: usize = 256;
/// How often those that close are interrupted, at first and at most: it is less often as long as nothing comes of it.
const NUDGES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));
/// Its default is to be ignored, so who does not expect it is not harmed.
const NUDGE: libc::c_int = libc::SIGURG;

/// A socket to be closed, and whose it was.
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
    /// Threads that close, whether or not they have begun.
    closers: usize,
    /// Whether the thread that looks after them is there.
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

/// Where sockets are closed. Copies are the same place.
#[derive(Clone, Default)]
pub(crate) struct Disposal(Arc<Shared>);

impl Disposal {
    /// Closes a socket some time, on another thread.
    pub(crate) fn take(&self, descriptor: OwnedFd, uid: Option<u32>) {
        let mut state = self.0.lock();
        state.parked.push_back(Doomed { descriptor, uid });
        if !state.is_kept {
            let shared = self.0.clone();
            // Without a thread it stays parked, and the next one tries again.
            state.is_kept = start("keeper", move || shared.keep()).is_ok();
        }
        self.0.changed.notify_all();
    }

    /// Whether so many sockets wait to be closed that nobody new is to be let in.
    pub(crate) fn is_full(&self) -> bool {
        self.0.lock().held() >= FULL
    }

    /// How many of a user's sockets wait to be closed.
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

    /// Starts threads that close and interrupts them, until nothing is left. It closes nothing itself.
    fn keep(self: Arc<Self>) {
        // That there is a handler is all that counts. Without one, threads wait as long as they are made to.
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

    /// Closes what is parked, until nothing is.
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

/// Interrupts a thread of this process. Where that one has ended, whoever has its number now is not disturbed.
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

    /// A TCP socket that takes that long to close, and the end that does not read.
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
        // As if none of them could be closed.
        disposal.0.lock().is_kept = true;
        for _ in 0..FULL {
            assert!(!disposal.is_full());
            disposal.take(null(), Some(7));
        }
        assert!(disposal.is_full());
        assert_eq!(disposal.held_of(7), FULL);
    }
}
