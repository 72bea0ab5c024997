//! A line of a table on one thread: how much a turn computes, and the times of the turns.

use std::time::Instant;

use millstream_measure::clock::{Clock, core_ghz};

use super::Prepared;
use super::objects::Objects;

/// The most single operations that are timed in one turn.
const MOST_SAMPLES: usize = 512;

/// A line of the cell on one thread.
pub(super) struct Line {
    pub(super) prepared: Prepared,
    /// The number of objects that are in flight together.
    pub(super) depth: usize,
    /// The least number of objects whose mean length is that of all.
    pub(super) least: usize,
    /// The number of objects that are computed in a turn, and the repetitions.
    pub(super) part: usize,
    pub(super) times: usize,
    /// The first object of the next turn.
    pub(super) next: usize,
    pub(super) timed: Timed,
}

/// The time of a turn, and its number of objects.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) objects: usize,
    pub(super) begin: Instant,
    pub(super) end: Instant,
}

/// The results of a line, on one thread and then on all.
pub(super) struct Timed {
    pub(super) way: &'static str,
    pub(super) depth: usize,
    pub(super) call: String,
    pub(super) turns: Vec<Turn>,
    /// The nanoseconds of single operations.
    pub(super) samples: Vec<f64>,
    pub(super) ghz: Vec<f64>,
}

impl Line {
    pub(super) fn new(way: &'static str, depth: usize, pattern: usize, prepared: Prepared) -> Line {
        let call = prepared.call.clone();
        let timed = Timed { way, depth, call, turns: Vec::new(), samples: Vec::new(), ghz: Vec::new() };
        let least = depth / gcd(depth, pattern) * pattern;
        Line { prepared, depth, least, part: least, times: 1, next: 0, timed }
    }

    /// Finds out how much can be computed in `turn_ns`, which also warms everything up. Returns how long a
    /// turn will take, in nanoseconds.
    pub(super) fn calibrate(&mut self, objects: &mut Objects, turn_ns: f64) -> f64 {
        self.part = self.least;
        let least_ns = self.quickest_of_three(objects, turn_ns);
        let parts = ((turn_ns / least_ns) as usize).max(1);
        if parts * self.least < objects.len() {
            self.part = parts * self.least;
            return parts as f64 * least_ns;
        }
        self.part = objects.len();
        loop {
            let ns = self.quickest_of_three(objects, turn_ns);
            if ns > turn_ns / 8.0 || self.times >= 1 << 28 {
                let one_ns = ns / self.times as f64;
                self.times = ((turn_ns / one_ns) as usize).max(1);
                return one_ns * self.times as f64;
            }
            self.times *= 2;
        }
    }

    /// Returns the quickest of three runs, so that an interruption does not pass for slowness, or of fewer
    /// where one takes too long.
    fn quickest_of_three(&mut self, objects: &mut Objects, turn_ns: f64) -> f64 {
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            least = least.min(self.several(objects).1.ns());
            if least > turn_ns {
                break;
            }
        }
        least
    }

    /// Computes the next part of the objects, `times` times. Returns false when that failed.
    pub(super) fn several(&mut self, objects: &mut Objects) -> (bool, Turn) {
        let first = if self.next + self.part > objects.len() { 0 } else { self.next };
        self.next = first + self.part;
        let begin = Instant::now();
        let good = self.prepared.runner.run(objects, first..self.next, self.times);
        (good, Turn { objects: self.part * self.times, begin, end: Instant::now() })
    }

    /// Times many operations together, and then some one by one.
    pub(super) fn turn(&mut self, objects: &mut Objects, clock: &Clock, latency_ns: f64) -> bool {
        self.timed.ghz.extend(core_ghz());
        let (mut good, turn) = self.several(objects);
        self.timed.turns.push(turn);
        let (begin, mut at) = (Instant::now(), 0);
        let ns_per_tick = clock.ns_per_tick();
        for _ in 0..MOST_SAMPLES {
            let which = at..at + self.depth;
            let runner = &mut self.prepared.runner;
            let ticks = clock.ticks_of(|| good &= runner.run(objects, which, 1));
            self.timed.samples.push(ticks as f64 * ns_per_tick);
            at = (at + self.depth) % objects.len();
            if begin.elapsed().as_nanos() as f64 > latency_ns {
                break;
            }
        }
        good
    }
}

impl Turn {
    pub(super) fn ns(&self) -> f64 {
        (self.end.duration_since(self.begin).as_nanos() as f64).max(1.0)
    }
}

impl Timed {
    /// Adds the results of another thread from the same time.
    pub(super) fn add(&mut self, other: &Timed) {
        for (own, others) in self.turns.iter_mut().zip(&other.turns) {
            own.objects += others.objects;
            (own.begin, own.end) = (own.begin.min(others.begin), own.end.max(others.end));
        }
        self.samples.extend(&other.samples);
        self.ghz.extend(&other.ghz);
    }
}

/// Returns the greatest common divisor.
pub(super) fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
