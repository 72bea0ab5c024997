//! The outcomes of files that wait for their turn, and what their threads tell of them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Error;
use crate::progress::Progress;

/// The number of files by which threads may be ahead of the output.
const AHEAD: usize = 4096;

/// The time between two looks at a large file's progress.
const LOOK: Duration = Duration::from_millis(200);

/// The outcome of a file.
#[derive(Debug)]
pub(super) enum Outcome<T> {
    /// The result, or the reason why there is none.
    Done(Result<T, Error>),
    /// The file was not touched: it is special, or can't be opened. The caller's thread has to read it.
    Left,
}

/// A file in the line.
enum Place<T> {
    /// Nothing is known yet.
    Open,
    /// A large file is being read.
    Reading { len: u64, done: Arc<AtomicU64> },
    /// The file's turn can come.
    Ready(Outcome<T>),
}

/// The files in their order, from the first whose outcome was not taken.
pub(crate) struct Line<T> {
    len: usize,
    next: AtomicUsize,
    /// The number of outcomes that were taken.
    taken: AtomicUsize,
    abandoned: AtomicBool,
    places: Mutex<VecDeque<Place<T>>>,
    /// Tells the caller's thread that the first place has changed.
    first: Condvar,
    /// Tells the others that there is room.
    room: Condvar,
}

impl<T> Line<T> {
    pub(super) fn new(len: usize) -> Self {
        let places = (0..len.min(AHEAD)).map(|_| Place::Open).collect();
        Line {
            len,
            next: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            abandoned: AtomicBool::new(false),
            places: Mutex::new(places),
            first: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// Gives a thread its next file, or `None` when there is none left.
    pub(super) fn next(&self) -> Option<usize> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.len && !self.abandoned.load(Ordering::Relaxed)).then_some(index)
    }

    /// Returns true when no file is left to be given to a thread.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.len
    }

    /// Returns true when the line has a place for the file, so that its thread need not wait for one.
    pub(super) fn has_room(&self, index: usize) -> bool {
        index < self.taken.load(Ordering::Relaxed) + AHEAD
    }

    /// Waits for a place. A thread that holds outcomes back must give them first, because the output may be
    /// waiting for them. Returns false when nobody wants the file any more.
    pub(super) fn wait_for_room(&self, index: usize) -> bool {
        let full =
            |_: &mut VecDeque<Place<T>>| !self.abandoned.load(Ordering::Relaxed) && !self.has_room(index);
        drop(self.room.wait_while(self.places(), full));
        !self.abandoned.load(Ordering::Relaxed)
    }

    /// Puts outcomes at their places.
    pub(super) fn give(&self, outcomes: impl IntoIterator<Item = (usize, Outcome<T>)>) {
        let mut places = self.places();
        let taken = self.taken.load(Ordering::Relaxed);
        let mut is_first = false;
        for (index, outcome) in outcomes {
            is_first |= index == taken;
            places[index - taken] = Place::Ready(outcome);
        }
        drop(places);
        if is_first {
            self.first.notify_one();
        }
    }

    /// Tells that a large file of `len` bytes is being read, and returns the counter of what was done.
    pub(crate) fn reading(&self, index: usize, len: u64) -> Arc<AtomicU64> {
        let done = Arc::new(AtomicU64::new(0));
        let mut places = self.places();
        let at = index - self.taken.load(Ordering::Relaxed);
        places[at] = Place::Reading { len, done: Arc::clone(&done) };
        self.first.notify_one();
        done
    }

    /// Takes all outcomes from the front that are ready.
    pub(super) fn take(&self) -> Vec<Outcome<T>> {
        let mut places = self.places();
        let mut outcomes = Vec::new();
        while let Some(place) = places.pop_front() {
            let Place::Ready(outcome) = place else {
                places.push_front(place);
                break;
            };
            outcomes.push(outcome);
        }
        let taken = self.taken.load(Ordering::Relaxed) + outcomes.len();
        let len = (self.len - taken).min(AHEAD);
        places.resize_with(len, || Place::Open);
        self.taken.store(taken, Ordering::Relaxed);
        drop(places);
        // Nobody waits for a place where every file has had one from the beginning.
        if !outcomes.is_empty() && self.len > AHEAD {
            self.room.notify_all();
        }
        outcomes
    }

    /// Waits until the first place is ready, with a bar while it is a large file.
    pub(super) fn wait(&self, quiet: bool) {
        let open = |places: &mut VecDeque<Place<T>>| matches!(places.front(), Some(Place::Open));
        let mut places = self.first.wait_while(self.places(), open).unwrap_or_else(PoisonError::into_inner);
        let Some(Place::Reading { len, done }) = places.front() else { return };
        let done = Arc::clone(done);
        let bar = Progress::bar(Some(*len), quiet);
        let mut shown = 0;
        while let Some(Place::Reading { .. }) = places.front() {
            let now = done.load(Ordering::Relaxed);
            bar.advance(now - shown);
            shown = now;
            places = self.first.wait_timeout(places, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        bar.finish(true);
    }

    fn places(&self) -> MutexGuard<'_, VecDeque<Place<T>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the threads end when the caller takes no more outcomes.
pub(super) struct Abandon<'a, T>(pub(super) &'a Line<T>);

impl<T> Drop for Abandon<'_, T> {
    fn drop(&mut self) {
        let places = self.0.places();
        self.0.abandoned.store(true, Ordering::Relaxed);
        drop(places);
        self.0.room.notify_all();
    }
}
