//! The work on a column: cut into tasks that fit into a processor's cache, and spread over threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::error::{Error, Fault};
use crate::values::Values;

/// The most rows of a task.
const ROWS: usize = 4096;

/// Bytes of values after which a task ends.
const BYTES: usize = 1 << 18;

/// The values that are handed to an engine in one call: their jobs, of some 150 bytes each, fit into the nearest cache.
pub(crate) const WINDOW: usize = 128;

/// Returns the most threads that a call uses: the processors that this process may run on, and no more than
/// `MILLSTREAM_THREADS` says where it is set.
///
/// # Errors
/// [`Error::Threads`] when the variable is no number from 1 on.
pub fn threads() -> Result<usize, Error> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let Some(given) = std::env::var_os("MILLSTREAM_THREADS") else { return Ok(processors) };
    match given.to_str().and_then(|given| given.trim().parse().ok()) {
        Some(most @ 1usize..) => Ok(processors.min(most)),
        _ => Err(Error::Threads { given: given.to_string_lossy().into_owned() }),
    }
}

/// Cuts the rows of a column into tasks.
pub(crate) fn cut(values: &Values<'_>) -> Vec<Range<usize>> {
    let mut tasks = Vec::with_capacity(values.len.div_ceil(ROWS));
    let mut begin = 0;
    while begin < values.len {
        let most = values.len.min(begin + ROWS);
        if values.bytes(begin..most).is_some_and(|bytes| bytes <= BYTES) {
            tasks.push(begin..most);
            begin = most;
            continue;
        }
        let (mut end, mut bytes) = (begin, 0);
        while end < most && bytes < BYTES {
            bytes += values.get(end).len();
            end += 1;
        }
        tasks.push(begin..end);
        begin = end;
    }
    tasks
}

/// Does all tasks, the first ones first, on as many threads as there are tasks and [`threads`] allows. The calling thread is one
/// of them.
pub(crate) fn spread<T: Send>(tasks: Vec<T>, work: impl Fn(T) + Sync) -> Result<(), Error> {
    let count = if tasks.len() < 2 { 1 } else { threads()?.min(tasks.len()) };
    if count == 1 {
        tasks.into_iter().for_each(work);
        return Ok(());
    }
    let tasks = Mutex::new(tasks.into_iter());
    let run = || {
        loop {
            let next = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(task) = next else { return };
            work(task);
        }
    };
    thread::scope(|scope| {
        for _ in 1..count {
            // The threads that there are do the part of one that can not be had.
            if thread::Builder::new().name("millstream-columns".into()).spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
    Ok(())
}

/// The treatment of rows that fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The call fails and names the first such row.
    #[default]
    Fail,
    /// Such a row becomes null.
    Null,
}

/// The rows that failed so far.
#[derive(Debug)]
pub(crate) struct Failures {
    on_error: OnError,
    /// The least row that failed, or `u64::MAX`.
    least: AtomicU64,
    rows: Mutex<Vec<(usize, Fault)>>,
}

impl Failures {
    pub(crate) fn new(on_error: OnError) -> Self {
        Failures { on_error, least: AtomicU64::new(u64::MAX), rows: Mutex::default() }
    }

    /// Notes a row that failed.
    #[cold]
    pub(crate) fn note(&self, row: usize, fault: Fault) {
        let before = self.least.fetch_min(row as u64, Ordering::Relaxed);
        if self.on_error == OnError::Null || (row as u64) < before {
            self.rows.lock().unwrap_or_else(PoisonError::into_inner).push((row, fault));
        }
    }

    /// Returns true if the result of a task that begins at `row` would be thrown away. (A row before it may still fail, so a task
    /// that began earlier goes on, and the row that is named does not depend on threads.)
    pub(crate) fn are_before(&self, row: usize) -> bool {
        self.on_error == OnError::Fail && self.least.load(Ordering::Relaxed) < row as u64
    }

    /// Returns the rows to be null, in any order.
    ///
    /// # Errors
    /// [`Error::Row`] if none may be.
    pub(crate) fn finish(self) -> Result<Vec<(usize, Fault)>, Error> {
        let rows = self.rows.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (self.on_error, rows.iter().min_by_key(|(row, _)| *row)) {
            (OnError::Fail, Some((row, fault))) => Err(Error::Row { row: *row as u64, fault: *fault }),
            _ => Ok(rows),
        }
    }
}
