//! Threads that compute packets, and lines that give them out in the order in which they came: one reader, many workers, as Solaris's
//! `crypto_taskq_threads` has it.
//!
//! A batch of packets gets a ticket when it is handed in. Any worker takes any batch, so one association is computed by all of them. Whoever
//! finishes the batch whose turn it is gives it out, and all that are ready behind it.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::compute::Lane;
use crate::fate::Fate;
use crate::job::Job;
use crate::place::Place;

/// The batches under way for each worker, before a reader waits.
const DEPTH: usize = 4;

/// A function that takes computed packets, in their order.
type Sink = Box<dyn FnMut(Vec<Job>) + Send>;

/// Threads that compute packets.
pub struct Workers {
    pool: Arc<Pool>,
    threads: Vec<JoinHandle<()>>,
}

struct Pool {
    place: Place,
    workers: usize,
    waiting: Mutex<Waiting>,
    more: Condvar,
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<Batch>,
    is_over: bool,
}

struct Batch {
    line: Arc<Shared>,
    ticket: u64,
    jobs: Vec<Job>,
}

impl Workers {
    /// Starts so many threads. With none, whoever hands packets in computes them.
    ///
    /// # Errors
    /// The system's, when a thread can't be started.
    pub fn start(place: Place, workers: usize) -> io::Result<Self> {
        let pool =
            Arc::new(Pool { place, workers, waiting: Mutex::new(Waiting::default()), more: Condvar::new() });
        let mut started = Workers { pool: pool.clone(), threads: Vec::new() };
        for number in 0..workers {
            let pool = pool.clone();
            let thread = std::thread::Builder::new().name(format!("esp-worker-{number}"));
            // Threads that were started before one that can't be are ended by the drop.
            started.threads.push(thread.spawn(move || pool.work())?);
        }
        Ok(started)
    }

    /// Makes a line, whose packets are given to `sink` in the order in which they are handed in.
    pub fn line(&self, sink: impl FnMut(Vec<Job>) + Send + 'static) -> Line {
        let order = Order { next: 0, ready: BTreeMap::new(), sink: Some(Box::new(sink)) };
        let shared = Shared { order: Mutex::new(order), moved: Condvar::new() };
        Line {
            pool: self.pool.clone(),
            shared: Arc::new(shared),
            ticket: 0,
            own: Lane::new(&self.pool.place),
        }
    }
}

impl Drop for Workers {
    /// Ends the threads after what was handed in.
    fn drop(&mut self) {
        lock(&self.pool.waiting).is_over = true;
        self.pool.more.notify_all();
        for thread in self.threads.drain(..) {
            // A worker's panics are caught, so there is nothing to hear of.
            let _ = thread.join();
        }
    }
}

impl Pool {
    fn work(&self) {
        let mut lane = Lane::new(&self.place);
        while let Some(batch) = self.next() {
            let Batch { line, ticket, mut jobs } = batch;
            compute(&mut lane, &mut jobs);
            line.end(ticket, jobs);
        }
    }

    fn next(&self) -> Option<Batch> {
        let mut waiting = lock(&self.waiting);
        loop {
            if let Some(batch) = waiting.batches.pop_front() {
                return Some(batch);
            }
            if waiting.is_over {
                return None;
            }
            waiting = self.more.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Computes a batch. A panic drops its packets, so that those behind them go on.
fn compute(lane: &mut Lane, jobs: &mut [Job]) {
    if catch_unwind(AssertUnwindSafe(|| lane.run(jobs))).is_err() {
        jobs.iter_mut().for_each(|job| job.result = Err(Fate::Engine));
    }
}

/// Packets that leave the workers in the order in which they come: those of one reader.
pub struct Line {
    pool: Arc<Pool>,
    shared: Arc<Shared>,
    ticket: u64,
    own: Lane,
}

struct Shared {
    order: Mutex<Order>,
    moved: Condvar,
}

struct Order {
    /// The ticket whose turn it is.
    next: u64,
    /// Batches that are computed and wait for their turn.
    ready: BTreeMap<u64, Vec<Job>>,
    /// The sink, unless some thread is giving packets to it now.
    sink: Option<Sink>,
}

impl Line {
    /// Hands packets in. Waits while as many are under way as keep the workers busy.
    pub fn hand_in(&mut self, mut jobs: Vec<Job>) {
        let ticket = self.ticket;
        self.ticket += 1;
        if self.pool.workers == 0 {
            compute(&mut self.own, &mut jobs);
            return self.shared.end(ticket, jobs);
        }
        self.shared.wait_for(ticket.saturating_sub((DEPTH * self.pool.workers) as u64));
        lock(&self.pool.waiting).batches.push_back(Batch { line: self.shared.clone(), ticket, jobs });
        self.pool.more.notify_one();
    }

    /// Waits until all that was handed in was given out.
    pub fn drain(&mut self) {
        self.shared.wait_for(self.ticket);
    }
}

impl Shared {
    /// Waits until all tickets below this one were given out.
    fn wait_for(&self, ticket: u64) {
        let mut order = lock(&self.order);
        while order.next < ticket {
            order = self.moved.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes a computed batch, and gives out those whose turn it is.
    fn end(&self, ticket: u64, jobs: Vec<Job>) {
        let mut order = lock(&self.order);
        order.ready.insert(ticket, jobs);
        // Another thread that is giving packets out takes these, too.
        let Some(mut sink) = order.sink.take() else { return };
        while let Some(jobs) = {
            let next = order.next;
            order.ready.remove(&next)
        } {
            drop(order);
            // A sink that panics loses a batch, and goes on with the next.
            let _ = catch_unwind(AssertUnwindSafe(|| sink(jobs)));
            order = lock(&self.order);
            order.next += 1;
            self.moved.notify_all();
        }
        order.sink = Some(sink);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
