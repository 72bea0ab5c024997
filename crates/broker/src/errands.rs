//! Slow work on the memory of grants, on threads that serve nobody.
//!
//! Taking memory from the system lasts as long as its size says. The duration of other work is up to the
//! tenant who has the memory, too. Punching a hole waits in line for all others who do, and walks every
//! mapping of the memory in every process; writing a word there waits for a hole that somebody else is
//! punching. Neither can be interrupted. So this work happens on a few threads, which start when there is
//! something to do. Each account uses at most one of them at a time, and its errands are done in the order in
//! which they came, so a tenant can hold up nobody but itself. The event loop hears of errands that are done.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use millstream_shm::Memory;
use rustix::event::{EventfdFlags, eventfd};

use crate::disposal::start;
use crate::grant::Sleepers;
use crate::ledger::Account;

/// The number of threads that do errands at a time.
const MOST: usize = 16;
/// The time that a thread waits for more to do.
const PATIENCE: Duration = Duration::from_secs(1);

/// The kinds of errands.
pub(crate) enum What {
    /// Takes the memory of a new grant from the system.
    Take([Arc<Memory>; 2]),
    /// Wakes those who wait for completions of a grant that has ended, so that they look at its state.
    Wake(Sleepers),
    /// Gives memory back to the system.
    Free([Arc<Memory>; 2]),
}

impl What {
    fn run(self) -> io::Result<()> {
        match self {
            What::Take(memory) => memory.iter().try_for_each(|memory| memory.commit()),
            What::Wake(sleepers) => sleepers.wake(),
            What::Free(memory) => {
                let results = memory.map(|memory| memory.discard());
                results.into_iter().collect()
            }
        }
    }
}

/// An errand for a grant that is new, or that has ended.
pub(crate) struct Errand {
    pub(crate) grant: u64,
    /// The user whose grant it is.
    pub(crate) uid: u32,
    pub(crate) what: What,
}

/// A finished errand.
pub(crate) struct Done {
    pub(crate) grant: u64,
    pub(crate) uid: u32,
    pub(crate) kind: Kind,
    pub(crate) result: io::Result<()>,
}

/// The kind of a finished errand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Take,
    Wake,
    Free,
}

impl Errand {
    fn run(self) -> Done {
        let Errand { grant, uid, what } = self;
        let kind = match what {
            What::Take(_) => Kind::Take,
            What::Wake(_) => Kind::Wake,
            What::Free(_) => Kind::Free,
        };
        Done { grant, uid, kind, result: what.run() }
    }
}

#[derive(Default)]
struct State {
    /// The errands of each account. An account that a thread works for has an entry even when there are no
    /// more errands.
    lines: BTreeMap<Account, VecDeque<Errand>>,
    /// The accounts that have errands and no thread, in turn.
    turns: VecDeque<Account>,
    threads: usize,
    /// The number of threads that wait.
    idle: usize,
    done: Vec<Done>,
}

struct Shared {
    state: Mutex<State>,
    /// Signals that there is something to do, or that it has been done.
    changed: Condvar,
    bell: OwnedFd,
}

/// The errands, and the threads that do them.
pub(crate) struct Errands(Arc<Shared>);

impl Errands {
    /// Starts without any.
    ///
    /// # Errors
    /// Too many descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Errands(Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), bell })))
    }

    /// Queues an errand behind all others of that account.
    pub(crate) fn send(&self, account: Account, errand: Errand) {
        let mut state = self.0.lock();
        let State { lines, turns, .. } = &mut *state;
        let line = lines.entry(account).or_insert_with(|| {
            turns.push_back(account);
            VecDeque::new()
        });
        line.push_back(errand);
        if state.turns.len() > state.idle && state.threads < MOST {
            let shared = self.0.clone();
            // Without a thread the errand waits, and the next call tries again.
            state.threads += usize::from(start("errands", move || shared.run()).is_ok());
        }
        self.0.changed.notify_all();
    }

    /// Returns the errands that were done since the last call.
    pub(crate) fn done(&self) -> Vec<Done> {
        // The value only tells how often the bell rang, if at all.
        let _ = rustix::io::read(&self.0.bell, &mut [0; 8]);
        std::mem::take(&mut self.0.lock().done)
    }

    /// Waits until everything is done, or the time has come.
    pub(crate) fn finish(&self, limit: Instant) {
        let mut state = self.0.lock();
        while !state.lines.is_empty() && state.threads > 0 {
            let left = limit.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.0.wait(state, left);
        }
    }
}

impl AsFd for Errands {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.bell.as_fd()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, limit: Duration) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, limit);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Does errands until there have been none for a while.
    fn run(&self) {
        let mut state = self.lock();
        let mut until = Instant::now() + PATIENCE;
        loop {
            if let Some(account) = state.turns.pop_front() {
                state = self.work(state, account);
                until = Instant::now() + PATIENCE;
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state.idle += 1;
            state = self.wait(state, left);
            state.idle -= 1;
        }
        state.threads -= 1;
        self.changed.notify_all();
    }

    /// Does the next errand of an account, and puts the account behind the others.
    fn work<'a>(&'a self, mut state: MutexGuard<'a, State>, account: Account) -> MutexGuard<'a, State> {
        let errand = state.lines.get_mut(&account).and_then(VecDeque::pop_front);
        drop(state);
        let done = errand.map(Errand::run);
        let mut state = self.lock();
        state.done.extend(done);
        if state.lines.get(&account).is_none_or(VecDeque::is_empty) {
            state.lines.remove(&account);
        } else {
            state.turns.push_back(account);
        }
        self.changed.notify_all();
        // A full bell has been rung already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::Shares;
    use millstream_protocol::{Grant as Terms, STATE_GONE};

    fn sleepers() -> Sleepers {
        let terms = Terms { queues: 1, depth: 16, arena_bytes: 4096, ..Terms::default() };
        Shares::new(&terms).unwrap().end(STATE_GONE)
    }

    fn memory(bytes: usize) -> Arc<Memory> {
        let memory = Memory::new("test", bytes).unwrap();
        memory.commit().unwrap();
        Arc::new(memory)
    }

    #[test]
    fn each_account_is_served_in_order_and_the_bell_rings() {
        let errands = Errands::new().unwrap();
        let freed = memory(1 << 20);
        for grant in 0..20 {
            let account = Account(7 + (grant % 2) as u32);
            let wake = Errand { grant, uid: 7, what: What::Wake(sleepers()) };
            errands.send(account, wake);
            let free = What::Free([freed.clone(), memory(4096)]);
            errands.send(account, Errand { grant, uid: 7, what: free });
        }
        errands.finish(Instant::now() + Duration::from_secs(30));
        assert_eq!(freed.committed().unwrap(), 0);
        let mut rung = [0; 8];
        assert_eq!(rustix::io::read(&errands.0.bell, &mut rung).unwrap(), 8);
        assert_eq!(u64::from_ne_bytes(rung), 40);
        let done = errands.done();
        assert!(done.iter().all(|done| done.result.is_ok()));
        for parity in 0..2 {
            let its = done.iter().filter(|done| done.grant % 2 == parity);
            let its: Vec<_> = its.map(|done| (done.grant, done.kind)).collect();
            assert!(its.is_sorted() && its.len() == 20, "{its:?}");
        }
        assert!(errands.done().is_empty());
        // The threads end by themselves.
        let begin = Instant::now();
        while errands.0.lock().threads > 0 {
            assert!(begin.elapsed() < Duration::from_secs(30), "they do not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn one_account_has_one_thread_and_others_have_theirs() {
        let errands = Errands::new().unwrap();
        // The first account looks as if a thread worked for it, one that never ends.
        errands.0.lock().lines.insert(Account(1), VecDeque::new());
        for (account, grant) in [(1, 1), (2, 2), (1, 3), (3, 4)] {
            let what = What::Free([memory(4096), memory(4096)]);
            errands.send(Account(account), Errand { grant, uid: account, what });
        }
        let begin = Instant::now();
        let mut grants = Vec::new();
        while grants.len() < 2 {
            assert!(begin.elapsed() < Duration::from_secs(30), "the others wait for it");
            grants.extend(errands.done().iter().map(|done| done.grant));
            std::thread::sleep(Duration::from_millis(5));
        }
        grants.sort_unstable();
        assert_eq!(grants, [2, 4]);
        errands.finish(Instant::now() + Duration::from_millis(20));
        assert_eq!(errands.0.lock().lines[&Account(1)].len(), 2);
    }
}
