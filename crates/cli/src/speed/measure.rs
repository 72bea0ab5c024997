//! Measures a cell: every way is prepared on the same objects, its results are compared with ours, and then
//! all ways are timed in turns.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};

use millstream_cpu::Features;
use millstream_measure::clock::Clock;
use millstream_measure::disturbance::Disturbance;
use millstream_measure::statistics::quantile;

use super::Way;
use super::algorithm::{Algorithm, Case};
use super::line::{Line, Timed, gcd};
use super::objects::{FORGOTTEN, Objects};
use super::sizes::Size;
use super::ways::direct;
use crate::error::Error;

/// The number of turns of each line, if its objects are quick enough. They are short, so that most of them
/// pass between two interruptions.
const TURNS: usize = 201;

/// The number of turns with several threads, which don't begin at exactly the same time.
const TURNS_TOGETHER: usize = 41;

/// The fewest turns from which a figure is taken.
const FEWEST_TURNS: usize = 3;

/// The part of a line's time in which single operations are timed.
const LATENCY_PART: f64 = 0.25;

/// The most memory for the objects of a cell, in bytes.
const MOST_BYTES: usize = 256 << 20;

/// The settings that are the same in every cell of a run.
pub struct Setting<'a> {
    /// The features that our kernels may use.
    pub features: Features,
    /// The ways to measure.
    pub ways: Vec<&'a dyn Way>,
    /// The numbers of objects in flight, for the ways to which they matter.
    pub depths: Vec<usize>,
    /// The number of threads that compute at the same time.
    pub threads: usize,
    /// The time for each line of each cell, in seconds.
    pub seconds: f64,
}

/// The result of one way, with one number of objects in flight, in one cell.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The algorithm's name.
    pub algorithm: String,
    /// True when objects were decrypted or opened.
    pub decrypts: bool,
    /// The objects' length.
    pub size: Size,
    /// The mean length, in bytes.
    pub bytes: f64,
    /// The way's name.
    pub way: &'static str,
    /// Objects in flight.
    pub depth: usize,
    /// The number of threads.
    pub threads: usize,
    /// The kernel or the calls.
    pub call: String,
    /// Objects a second, over all threads, in the fastest tenth of the turns.
    pub objects_per_s: f64,
    /// The speed of the fastest tenth of the turns over that of the median one.
    pub spread: f64,
    /// The core's clock in GHz, where it could be measured.
    pub ghz: Option<f64>,
    /// The median time of an operation, in nanoseconds.
    pub p50_ns: f64,
    /// The time that 99 of 100 operations did not exceed, in nanoseconds.
    pub p99_ns: f64,
}

impl Measured {
    /// Returns the time that each thread spent on an object, in nanoseconds.
    pub fn ns(&self) -> f64 {
        1e9 * self.threads as f64 / self.objects_per_s
    }

    /// Returns the same in cycles of the core.
    pub fn cycles(&self) -> Option<f64> {
        self.ghz.map(|ghz| self.ns() * ghz)
    }

    /// Returns the throughput without tags, in gigabytes (10^9 bytes) a second over all threads.
    pub fn gb_per_s(&self) -> f64 {
        self.objects_per_s * self.bytes / 1e9
    }
}

/// Returns the most unsteady of the figures, if its turns differ too much.
pub fn unsteady(cells: &[Measured]) -> Option<Disturbance> {
    let worst = cells.iter().max_by(|a, b| a.spread.total_cmp(&b.spread))?;
    let what = format!("the turns of {} of {}, {},", worst.algorithm, worst.size, worst.way);
    Disturbance::spread(what, 1.0, worst.spread)
}

/// Compares and times one cell. Ways that don't know the algorithm give no result.
///
/// # Errors
/// Fails when a result differs from that of our direct call, or when a way can't be used.
pub fn cell(setting: &Setting<'_>, case: &Case, size: Size) -> Result<Vec<Measured>, Error> {
    let shared = Shared {
        setting,
        case,
        size,
        objects: objects_in_cell(setting, case, size)?,
        barrier: Barrier::new(setting.threads),
        turns: AtomicUsize::new(if setting.threads == 1 { TURNS } else { TURNS_TOGETHER }),
        ready: AtomicUsize::new(0),
        work: Mutex::new(Vec::new()),
        failure: Mutex::new(None),
    };
    let mut threads: Vec<Vec<Timed>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..setting.threads).map(|_| scope.spawn(|| shared.thread())).collect();
        let own = shared.thread();
        let others = others.into_iter().map(|other| match other.join() {
            Ok(timed) => timed,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(own).chain(others).collect()
    });
    if let Some(error) = shared.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let first = std::mem::take(&mut threads[0]);
    let lines = first.into_iter().enumerate().map(|(i, mut timed)| {
        for other in &threads[1..] {
            timed.add(&other[i]);
        }
        measured(timed, setting, case, size)
    });
    Ok(lines.collect())
}

/// Returns a number of objects that every depth and the mix of lengths divide.
fn objects_in_cell(setting: &Setting<'_>, case: &Case, size: Size) -> Result<usize, Error> {
    let pattern = size.pattern(case.algorithm.block_bytes());
    let count = setting.depths.iter().try_fold(pattern.len(), |a, &b| (a / gcd(a, b)).checked_mul(b));
    let bytes = pattern.iter().max().unwrap_or(&0) + 256;
    match count {
        Some(count) if count.saturating_mul(2 * bytes) <= MOST_BYTES => Ok(count),
        _ => Err(Error::Usage(format!(
            "{} bytes with these numbers in flight would need more than {} MB; take fewer or shorter \
             objects, and numbers that are multiples of each other",
            size,
            MOST_BYTES >> 20
        ))),
    }
}

/// The state that the threads of a cell share.
struct Shared<'a> {
    setting: &'a Setting<'a>,
    case: &'a Case,
    size: Size,
    objects: usize,
    barrier: Barrier,
    /// The number of turns that the slowest thread can afford.
    turns: AtomicUsize,
    /// The number of times that a thread was ready for a turn.
    ready: AtomicUsize,
    /// The part of the objects that each line computes in a turn, and the repetitions: the least that any
    /// thread found, and the same for all, so that none waits for the others.
    work: Mutex<Vec<(usize, usize)>>,
    failure: Mutex<Option<Error>>,
}

impl Shared<'_> {
    /// Does the whole work of one thread in the cell. Every thread has the same lines, and all threads wait
    /// for each other line by line.
    fn thread(&self) -> Vec<Timed> {
        let mut objects = Objects::new(self.case, self.size, self.objects);
        let lines = self.prepare(&mut objects);
        let mut lines = lines.unwrap_or_else(|error| self.fail(error));
        self.barrier.wait();
        if self.failed() {
            return Vec::new();
        }
        let turn_ns = self.setting.seconds * 1e9 / self.turns.load(Ordering::Relaxed) as f64;
        self.barrier.wait();
        let mut all_ns = 0.0;
        for line in &mut lines {
            self.barrier.wait();
            all_ns += line.calibrate(&mut objects, turn_ns * (1.0 - LATENCY_PART)).max(turn_ns);
        }
        let budget_ns = self.setting.seconds * 1e9 * lines.len() as f64;
        let affordable = (budget_ns / all_ns.max(1.0)) as usize;
        self.turns.fetch_min(affordable.max(FEWEST_TURNS), Ordering::Relaxed);
        self.agree(&mut lines);
        let clock = Clock::start();
        let mut good = true;
        for turn in 0..self.turns.load(Ordering::Relaxed) {
            for i in 0..lines.len() {
                // Each turn begins with another line.
                let i = (turn + i) % lines.len();
                self.begin_together();
                good &= lines[i].turn(&mut objects, &clock, turn_ns * LATENCY_PART);
            }
        }
        if !good {
            let what = format!("{}: an operation failed that had succeeded before", self.what());
            return self.fail(Error::Mismatch { what });
        }
        lines.into_iter().map(|line| line.timed).collect()
    }

    /// Prepares every way that knows the case, and compares its results with ours.
    fn prepare(&self, objects: &mut Objects) -> Result<Vec<Line>, Error> {
        let features = self.setting.features;
        if self.case.decrypts() {
            let reversed = self.case.reversed();
            let mut encrypted = Objects::new(&reversed, self.size, self.objects);
            direct::prepare(features, &reversed)?.runner.run(&mut encrypted, 0..self.objects, 1);
            objects.take_inputs(&encrypted);
        }
        let mut ours = direct::prepare(features, self.case)?;
        objects.forget_results();
        if !ours.runner.run(objects, 0..self.objects, 1) {
            let what = format!("{}: direct ({}) refused an object", self.what(), ours.call);
            return Err(Error::Mismatch { what });
        }
        let expected: Vec<Vec<u8>> = (0..self.objects).map(|i| objects.result(i).to_vec()).collect();
        let mut lines = Vec::new();
        for way in &self.setting.ways {
            let depths = if way.has_depth() { &self.setting.depths[..] } else { &[1] };
            for &depth in depths {
                let Some(mut prepared) = way.prepare(self.case, objects, depth)? else { continue };
                objects.forget_results();
                let good = prepared.runner.run(objects, 0..self.objects, 1);
                prepared.runner.collect(objects);
                self.compare(way.name(), &prepared.call, &ours.call, good, objects, &expected)?;
                let pattern = self.size.pattern(self.case.algorithm.block_bytes()).len();
                lines.push(Line::new(way.name(), depth, pattern, prepared));
            }
        }
        Ok(lines)
    }

    fn compare(
        &self,
        way: &str,
        call: &str,
        ours: &str,
        good: bool,
        objects: &Objects,
        expected: &[Vec<u8>],
    ) -> Result<(), Error> {
        let who = format!("{}: {way} ({call})", self.what());
        if !good {
            let what = format!("{who} refused an object that direct ({ours}) computed");
            return Err(Error::Mismatch { what });
        }
        if self.case.algorithm == Algorithm::Random {
            return self.compare_random(&who, objects, expected);
        }
        let differs = (0..self.objects).find(|&i| objects.result(i) != expected[i]);
        let Some(i) = differs else { return Ok(()) };
        let at = objects.result(i).iter().zip(&expected[i]).position(|(a, b)| a != b).unwrap_or(0);
        let what = format!("{who} and direct ({ours}) gave different results: object {i}, byte {at}");
        Err(Error::Mismatch { what })
    }

    /// Fails when random bytes were not written, or are those of another way or object: 16 bytes are never the same twice.
    fn compare_random(&self, who: &str, objects: &Objects, expected: &[Vec<u8>]) -> Result<(), Error> {
        let mut seen: HashSet<&[u8]> = expected.iter().filter_map(|bytes| bytes.get(..16)).collect();
        seen.insert(&FORGOTTEN);
        let repeats =
            (0..self.objects).find(|&i| objects.result(i).get(..16).is_some_and(|own| !seen.insert(own)));
        let Some(i) = repeats else { return Ok(()) };
        Err(Error::Mismatch { what: format!("{who} gave bytes that are not new: object {i}") })
    }

    /// Waits for the other threads. The end of the wait spins, because waking up takes a good part of a turn.
    fn begin_together(&self) {
        self.barrier.wait();
        let threads = self.setting.threads;
        let ready = self.ready.fetch_add(1, Ordering::AcqRel) + 1;
        let all = ready.next_multiple_of(threads);
        let mut spins = 0;
        while self.ready.load(Ordering::Acquire) < all {
            spins += 1;
            match spins % 1000 {
                // There may be more threads than processors.
                0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }

    /// Makes every thread compute as much in a turn as the others.
    fn agree(&self, lines: &mut [Line]) {
        {
            let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
            work.resize(lines.len(), (usize::MAX, usize::MAX));
            for (least, line) in work.iter_mut().zip(&*lines) {
                *least = (*least).min((line.part, line.times));
            }
        }
        self.barrier.wait();
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        for (line, &(part, times)) in lines.iter_mut().zip(&*work) {
            (line.part, line.times) = (part, times);
        }
    }

    fn what(&self) -> String {
        let unit = if matches!(self.size, Size::Bytes(_)) { " bytes" } else { "" };
        let way = if self.case.decrypts() { ", decrypting" } else { "" };
        format!("{} of {}{unit}{way}", self.case.name, self.size)
    }

    fn fail<T>(&self, error: Error) -> Vec<T> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        Vec::new()
    }

    fn failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// Returns the figures of a line whose turns were timed.
fn measured(mut timed: Timed, setting: &Setting<'_>, case: &Case, size: Size) -> Measured {
    let mut speeds: Vec<f64> = timed.turns.iter().map(|t| t.objects as f64 * 1e9 / t.ns()).collect();
    for values in [&mut speeds, &mut timed.ghz, &mut timed.samples] {
        values.sort_by(f64::total_cmp);
    }
    Measured {
        algorithm: case.name.clone(),
        decrypts: case.decrypts(),
        size,
        bytes: size.mean_bytes(case.algorithm.block_bytes()),
        way: timed.way,
        depth: timed.depth,
        threads: setting.threads,
        call: timed.call,
        // Slower turns were disturbed by other work of the machine.
        objects_per_s: quantile(&speeds, 0.9),
        spread: quantile(&speeds, 0.9) / quantile(&speeds, 0.5),
        ghz: (!timed.ghz.is_empty()).then(|| quantile(&timed.ghz, 0.9)),
        p50_ns: quantile(&timed.samples, 0.50),
        p99_ns: quantile(&timed.samples, 0.99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::Prepared;
    use crate::speed::algorithm::{Algorithm, names};
    use crate::speed::line::Turn;
    use crate::speed::objects::Io;
    use crate::speed::ways::direct::Direct;
    use millstream_engines::modes::Direction;
    use std::time::{Duration, Instant};

    fn case(name: &str, direction: Direction) -> Case {
        Case { name: name.to_owned(), algorithm: Algorithm::from_name(name).unwrap(), direction }
    }

    fn setting<'a>(ways: Vec<&'a dyn Way>, threads: usize) -> Setting<'a> {
        let features = Features::hardware();
        Setting { features, ways, depths: vec![1, 4], threads, seconds: 1e-6 }
    }

    /// A way that computes a wrong result for one object of four.
    struct Wrong(fn(&mut Io<'_>) -> bool);

    impl Way for Wrong {
        fn name(&self) -> &'static str {
            "wrong"
        }

        fn has_depth(&self) -> bool {
            true
        }

        fn prepare(&self, case: &Case, _: &mut Objects, _: usize) -> Result<Option<Prepared>, Error> {
            let mut right = direct::prepare(Features::hardware(), case)?;
            let (wrong, mut count) = (self.0, 0);
            struct Runs<F>(F);
            impl<F: FnMut(&mut Objects, usize) -> bool> super::super::Runner for Runs<F> {
                fn run(&mut self, objects: &mut Objects, which: std::ops::Range<usize>, _: usize) -> bool {
                    which.fold(true, |good, i| (self.0)(objects, i) & good)
                }
            }
            let run = move |objects: &mut Objects, i: usize| {
                count += 1;
                let good = right.runner.run(objects, i..i + 1, 1);
                good & (count != 4 || wrong(&mut objects.io(i)))
            };
            Ok(Some(Prepared { call: "by mistake".to_owned(), runner: Box::new(Runs(run)) }))
        }
    }

    #[test]
    fn a_wrong_result_is_an_error_that_names_all_there_is_to_know() {
        let wrong = Wrong(|io| {
            io.result[5] ^= 1;
            true
        });
        let direct = Direct { features: Features::hardware() };
        let ways: Vec<&dyn Way> = vec![&direct, &wrong];
        let case = case("sha256", Direction::Encrypt);
        for threads in [1, 3] {
            let error =
                cell(&setting(ways.clone(), threads), &case, Size::Bytes(64)).unwrap_err().to_string();
            for word in ["sha256", "64 bytes", "wrong", "by mistake", "direct", "object 3", "byte 5"] {
                assert!(error.contains(word), "no '{word}' in {error}");
            }
        }
        let refuses = Wrong(|_| false);
        let error = cell(&setting(vec![&refuses], 1), &case, Size::Bytes(64)).unwrap_err().to_string();
        assert!(error.contains("wrong") && error.contains("refused"), "{error}");
    }

    #[test]
    fn every_algorithm_both_ways_and_through_all_lengths() {
        let direct = Direct { features: Features::hardware() };
        for name in names() {
            let algorithm = Algorithm::from_name(&name).unwrap();
            let sizes = [Size::Bytes(16), Size::Bytes(1040), Size::Imix];
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                if direction == Direction::Decrypt && !algorithm.has_two_directions() {
                    continue;
                }
                for size in sizes {
                    let lines = cell(&setting(vec![&direct], 1), &case(&name, direction), size).unwrap();
                    assert_eq!(lines.len(), 1, "{name}");
                    let line = &lines[0];
                    assert!(line.objects_per_s > 0.0 && line.p50_ns <= line.p99_ns, "{name} {line:?}");
                }
            }
        }
    }

    #[test]
    fn depths_must_fit_together() {
        let direct = Direct { features: Features::hardware() };
        let mut setting = setting(vec![&direct], 1);
        let case = case("aes-128-ctr", Direction::Encrypt);
        setting.depths = vec![1, 3, 4];
        assert_eq!(objects_in_cell(&setting, &case, Size::Bytes(64)).unwrap(), 12);
        assert_eq!(objects_in_cell(&setting, &case, Size::Imix).unwrap(), 12);
        setting.depths = vec![4001, 4003, 4007];
        let error = cell(&setting, &case, Size::Bytes(64)).unwrap_err();
        assert!(error.to_string().contains("multiples"), "{error}");
    }

    #[test]
    fn threads_together_take_from_the_first_begin_to_the_last_end() {
        let begin = Instant::now();
        let turn = |from: u64, to: u64| Turn {
            objects: 10,
            begin: begin + Duration::from_nanos(from),
            end: begin + Duration::from_nanos(to),
        };
        let timed = |turn| Timed {
            way: "",
            depth: 1,
            call: String::new(),
            turns: vec![turn],
            samples: vec![],
            ghz: vec![],
        };
        let mut one = timed(turn(5, 100));
        one.add(&timed(turn(0, 60)));
        assert_eq!((one.turns[0].objects, one.turns[0].ns()), (20, 100.0));
    }
}
