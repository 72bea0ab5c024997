//! What takes long with the memory of grants: on threads that serve nobody.
//!
//! New memory is taken from the system for as long as its size says. How long other things take is up to the tenant who has the memory,
//! too. To make a hole of memory waits in line for all others who do, and looks through every mapping of it in every process; to write a word there waits until a hole is made that somebody else began. Neither can be interrupted. So it
//! happens on a few threads, which are started when there is something to do. Each account has one of them at a time, and its errands are done
//! in the order in which they came: one tenant holds up what is its own, and no other's. The event loop hears what has been done.

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

/// So many threads do errands at a time.
const MOST: usize = 16;
/// How long a thread waits for more to do.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is to be done.
pub(crate) enum What {
    /// The memory of a new grant is to be taken from the system.
    Take([Arc<Memory>; 2]),
    /// Who waits for completions of a grant that has ended is to look at its state.
    Wake(Sleepers),
    /// Memory is to be the system's again.
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

/// Something to be done for a grant: a new one, or one that has ended.
pub(crate) struct Errand {
    pub(crate) grant: u64,
    /// Whose it was.
    pub(crate) uid: u32,
    pub(crate) what: What,
}

/// What has been done.
pub(crate) struct Done {
    pub(crate) grant: u64,
    pub(crate) uid: u32,
    pub(crate) kind: Kind,
    pub(crate) result: io::Result<()>,
}

/// What an errand was.
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
    /// What is to be done for each account; one that a thread works for is there, too, whether or not there is more.
    lines: BTreeMap<Account, VecDeque<Errand>>,
    /// The accounts for which something is to be done and no thread works, in turn.
    turns: VecDeque<Account>,
    threads: usize,
    /// Those of them that wait.
    idle: usize,
    done: Vec<Done>,
}

struct Shared {
    state: Mutex<State>,
    /// There is something to do, or it has been done.
    changed: Condvar,
    bell: OwnedFd,
}

/// What is to be done, and the threads that do it.
pub(crate) struct Errands(Arc<Shared>);

impl Errands {
    /// None yet.
    ///
    /// # Errors
    /// Too many descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Errands(Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), bell })))
    }

    /// Has something done, after everything else for that account.
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
            // Without a thread it waits, and the next one tries again.
            state.threads += usize::from(start("errands", move || shared.run()).is_ok());
        }
        self.0.changed.notify_all();
    }

    /// What has been done since this was asked last.
    pub(crate) fn done(&self) -> Vec<Done> {
        // It says how often it rang, or that it did not.
        let _ = rustix::io::read(&self.0.bell, &mut [0; 8]);
        std::mem::take(&mut self.0.lock().done)
    }

    /// Waits until all is done, or the time has come.
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

    /// Does what is to be done, until for a while nothing is.
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

    /// Does the next thing for an account, which has its next turn after the others.
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
        // It has rung already where it can't any more.
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
        // As if a thread worked for the first, which does not end.
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
