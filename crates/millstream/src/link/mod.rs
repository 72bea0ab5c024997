//! The client's side of a grant: the mapped memory, the sockets, and what is known of its end.

mod keys;
mod tokens;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use millstream_accelerator::Handle;
use millstream_protocol::{STATE_LIVE, STATE_REVOKED};
use millstream_shm::{self as shm, Doorbell, Mapping, Rings, Socket, Words};

use crate::grant::{GrantInfo, GrantState};
use crate::heap::Heap;
use crate::refusal::Refusal;

/// The time after a grant's end for which its worker may still be busy with words it took. After it the client gives up
/// what the worker still writes.
const GRACE: Duration = Duration::from_secs(1);

/// The memory and the sockets that came with a grant.
pub(crate) struct Received {
    pub(crate) arena: Arc<Mapping>,
    pub(crate) rings: Arc<Mapping>,
    pub(crate) state: Arc<Mapping>,
    pub(crate) doorbell: Doorbell,
    pub(crate) keys: Socket,
    pub(crate) service: Arc<Socket>,
}

/// A queue of a grant that nobody has: its number, and where its rings stand.
pub(crate) struct Parked {
    pub(crate) index: u32,
    pub(crate) position: (u64, u64),
}

/// A grant as its client has it. When the last owner drops it, and the last buffer of its arena, the broker's socket is closed,
/// and with that the grant ends.
pub(crate) struct Link {
    /// The number of forks when the grant came.
    forks: u64,
    /// The state page.
    state: Words,
    /// True when the state page is not to be waited for: the broker is gone, or a ring is corrupt.
    gone: AtomicBool,
    /// When the end was noticed.
    noticed: OnceLock<Instant>,
    /// Buffers have it too: when it is closed, the broker gives their memory back to the system.
    service: Arc<Socket>,
    keys: Socket,
    /// Answers to requests about keys that came too late, or are still to come.
    owed: Mutex<u32>,
    /// Keys that are to be destroyed and that the worker was not told of.
    discarded: Mutex<Vec<Handle>>,
    limit: Duration,
    spin: Duration,
    demote_from: usize,
    pub(crate) doorbell: Doorbell,
    pub(crate) heap: Arc<Heap>,
    pub(crate) rings: Arc<Mapping>,
    pub(crate) layout: Rings,
    parked: Mutex<Vec<Parked>>,
    info: GrantInfo,
    path: PathBuf,
}

impl Link {
    pub(crate) fn new(
        received: Received,
        layout: Rings,
        info: GrantInfo,
        path: PathBuf,
        limit: Duration,
        (spin, demote_from): (Duration, usize),
    ) -> Option<Self> {
        let Received { arena, rings, state, doorbell, keys, service } = received;
        // The first is the last to be taken.
        let parked = (0..info.queues).rev().map(|index| Parked { index, position: (0, 0) }).collect();
        Some(Link {
            forks: shm::forks(),
            state: state.words(0, 1)?,
            gone: AtomicBool::new(false),
            noticed: OnceLock::new(),
            heap: Heap::shared(arena, service.clone()),
            service,
            keys,
            owed: Mutex::new(0),
            discarded: Mutex::new(Vec::new()),
            limit,
            spin,
            demote_from,
            doorbell,
            rings,
            layout,
            parked: Mutex::new(parked),
            info,
            path,
        })
    }

    pub(crate) fn grant(&self) -> &GrantInfo {
        &self.info
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn spin(&self) -> Duration {
        self.spin
    }

    pub(crate) fn demote_from(&self) -> usize {
        self.demote_from
    }

    pub(crate) fn state(&self) -> GrantState {
        self.look_at_service();
        match self.refusal() {
            None => GrantState::Live,
            Some(Refusal::Revoked) => GrantState::Revoked,
            Some(_) => GrantState::Gone,
        }
    }

    /// Why nothing is taken any more, if so: three loads of lines that seldom change.
    #[inline(always)]
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        let live = shm::forks() == self.forks
            && self.state[0].load(Ordering::Acquire) == STATE_LIVE
            && !self.gone.load(Ordering::Relaxed);
        if live { None } else { Some(self.why()) }
    }

    #[cold]
    fn why(&self) -> Refusal {
        if shm::forks() != self.forks {
            return Refusal::Forked;
        }
        match self.state[0].load(Ordering::Acquire) {
            STATE_REVOKED => Refusal::Revoked,
            _ => Refusal::Gone,
        }
    }

    /// The worker is not to be reckoned with any more, whatever the state page says.
    pub(crate) fn mark_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Looks whether the broker is there: a system call.
    #[cold]
    pub(crate) fn look_at_service(&self) {
        if shm::forks() == self.forks && self.service.is_closed() {
            self.mark_gone();
        }
    }

    /// Returns true when no completion will come any more: the grant has ended, and its worker let go of it or had a
    /// second for it.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        self.refusal().is_some_and(|why| self.is_over_after(why))
    }

    #[cold]
    fn is_over_after(&self, why: Refusal) -> bool {
        why == Refusal::Forked
            || self.noticed.get_or_init(Instant::now).elapsed() >= GRACE
            || self.keys.is_closed()
    }

    /// Returns true when the worker touches the memory no more: it alone has the other end of the key socket, and
    /// closes it when it has let go of the grant, at the latest by dying. A forked child has memory of its own.
    pub(crate) fn is_settled(&self) -> bool {
        shm::forks() != self.forks || self.keys.is_closed()
    }

    fn parked(&self) -> MutexGuard<'_, Vec<Parked>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A queue that nobody has.
    pub(crate) fn take_queue(&self) -> Option<Parked> {
        self.parked().pop()
    }

    /// A queue comes back: nothing of it is in flight.
    pub(crate) fn park_queue(&self, parked: Parked) {
        self.parked().push(parked);
    }
}
