//! Operations inside of ASYNC_JOBs: one waits until others of its kind have joined it, and all are computed side by side.
//!
//! A job puts its work in the list of its thread and pauses. A job that is resumed and finds its work undone does the
//! whole list; a job that finds the list full does it at once. A program may also drop a job that it has paused, and
//! free its buffers. So the list has copies, which are cheap compared with one operation after the other.

pub mod chains;
pub mod signatures;

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::LocalKey;

use crate::libcrypto::Job;

/// Work that is done beside others of its kind.
trait Work: Send + Sized + 'static {
    /// The most jobs that wait: as many as fill the lanes of the widest kernel.
    const FULL: usize;

    /// Returns the list of this thread.
    fn list() -> &'static LocalKey<RefCell<Vec<Shared<Self>>>>;
    /// Tells whether it was done.
    fn is_done(&self) -> bool;
    /// Does all of it. None was done before.
    fn run(works: &mut [&mut Self]);
}

/// The work in a list, shared with the job that waits for it.
type Shared<W> = Arc<Mutex<W>>;

/// Waits until others have joined, and has the work done.
fn gather<W: Work>(job: &Job, work: W) -> Shared<W> {
    let work = Arc::new(Mutex::new(work));
    if join(&work) < W::FULL {
        job.pause();
    }
    if !lock(&work).is_done() {
        // A job that was resumed on another thread may not be in that thread's list.
        let mut all = list::<W>();
        if !all.iter().any(|other| Arc::ptr_eq(other, &work)) {
            all.push(Arc::clone(&work));
        }
        run(&all);
    }
    work
}

// These two are not inlined: a job may be resumed on another thread, where an address in this thread's storage would be
// wrong.

/// Puts the work into the thread's list, and returns how many there are.
#[inline(never)]
fn join<W: Work>(work: &Shared<W>) -> usize {
    W::list().with_borrow_mut(|list| {
        list.push(Arc::clone(work));
        list.len()
    })
}

/// Takes the thread's list.
#[inline(never)]
fn list<W: Work>() -> Vec<Shared<W>> {
    W::list().take()
}

fn lock<W>(work: &Shared<W>) -> MutexGuard<'_, W> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does all work that is undone.
fn run<W: Work>(all: &[Shared<W>]) {
    // Jobs may be resumed on other threads than they were paused on, so two threads may have the same works in their
    // lists, each in its own order. All lock them in the order of their addresses, or two could wait for each other.
    let mut all: Vec<_> = all.iter().collect();
    all.sort_unstable_by_key(|work| Arc::as_ptr(work).addr());
    let mut works: Vec<_> = all.into_iter().map(lock).collect();
    let undone = works.iter_mut().map(|work| &mut **work).filter(|work| !work.is_done());
    W::run(&mut undone.collect::<Vec<_>>());
}
