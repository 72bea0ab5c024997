//! Disturbances of a measurement: a hypervisor, other programs, and figures that differ from turn to turn.
//!
//! ```
//! use millstream_measure::disturbance::Watch;
//!
//! let watch = Watch::start();
//! // Measure something here.
//! for disturbance in watch.seen() {
//!     eprintln!("warning: {disturbance}");
//! }
//! ```

use std::fmt;
use std::time::{Duration, Instant};

/// The part of all processors' time that a hypervisor may keep without a remark.
const STOLEN: f64 = 0.01;
/// The part of all processors' time that other programs may use without a remark.
const OTHERS: f64 = 0.1;
/// The part of its time that the measuring thread may wait for a processor without a remark.
const WAITED: f64 = 0.02;
/// The ratio between high and low figures that needs no remark.
const SPREAD: f64 = 1.25;
/// A measurement below this length is too short for the kernel's clocks, which tick every 10 milliseconds.
const SHORTEST: Duration = Duration::from_millis(100);

/// Something that disturbed a measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Disturbance {
    /// A hypervisor kept processors from this machine.
    Stolen {
        /// The part of all processors' time, in percent.
        percent: f64,
    },
    /// Other programs computed meanwhile.
    Others {
        /// The number of processors that they used, in the mean.
        processors: f64,
        /// The number of processors there are.
        of: usize,
    },
    /// The thread that measures could run and had no processor.
    Waited {
        /// The part of its time, in percent.
        percent: f64,
    },
    /// Figures that should be equal differ.
    Spread {
        /// The figures, as `pairs of runs`.
        what: String,
        /// The ratio of high ones to low ones.
        times: f64,
    },
}

impl Disturbance {
    /// Returns the disturbance, if figures differ this much.
    #[must_use]
    pub fn spread(what: impl Into<String>, low: f64, high: f64) -> Option<Disturbance> {
        let times = high / low;
        (times > SPREAD && times.is_finite()).then(|| Disturbance::Spread { what: what.into(), times })
    }

    /// Returns a word that programs can look for.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Disturbance::Stolen { .. } => "stolen",
            Disturbance::Others { .. } => "others",
            Disturbance::Waited { .. } => "waited",
            Disturbance::Spread { .. } => "spread",
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disturbance::Stolen { percent } => write!(
                f,
                "the hypervisor kept {percent:.0} % of the processors' time for others: repeat it when the host is quieter"
            ),
            Disturbance::Others { processors, of } => write!(
                f,
                "other programs used {processors:.1} of {of} processors meanwhile: end them, or repeat it on an idle machine"
            ),
            Disturbance::Waited { percent } => write!(
                f,
                "the measurement waited for a processor {percent:.0} % of the time: end other programs, or use fewer threads"
            ),
            Disturbance::Spread { what, times } => write!(
                f,
                "{what} differ by a factor of {times:.1}: repeat it on an idle machine, and for longer"
            ),
        }
    }
}

/// A look at the machine before a measurement.
pub struct Watch {
    before: Snapshot,
    helpers: f64,
}

impl Watch {
    /// Looks at the machine before the measurement.
    #[must_use]
    pub fn start() -> Watch {
        Watch { before: Snapshot::take(), helpers: 0.0 }
    }

    /// Allows for processes that are part of the measurement and may use so many processors, such as a worker.
    #[must_use]
    pub fn beside(mut self, helpers: f64) -> Watch {
        self.helpers = helpers;
        self
    }

    /// Returns what has disturbed the measurement since then.
    #[must_use]
    pub fn seen(&self) -> Vec<Disturbance> {
        Snapshot::take().since(&self.before, self.helpers)
    }
}

/// The kernel's counters at one moment. Those that it does not show are none.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    at: Instant,
    machine: Option<Machine>,
    /// The processor time of this process and of its children that have ended, in clock ticks.
    own: Option<u64>,
    /// The time for which this thread waited for a processor.
    waited: Option<Duration>,
}

/// The time of all processors, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Machine {
    processors: usize,
    total: u64,
    idle: u64,
    stolen: u64,
}

impl Snapshot {
    fn take() -> Snapshot {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Snapshot {
            at: Instant::now(),
            machine: machine(&read("/proc/stat")),
            own: own(&read("/proc/self/stat")),
            waited: waited(&read("/proc/thread-self/schedstat")),
        }
    }

    /// Compares two looks.
    fn since(&self, before: &Snapshot, helpers: f64) -> Vec<Disturbance> {
        let mut seen = Vec::new();
        let elapsed = self.at.duration_since(before.at);
        if elapsed < SHORTEST {
            return seen;
        }
        if let Some((now, then)) = self.machine.zip(before.machine) {
            let own = self.own.zip(before.own).map(|(now, then)| now.saturating_sub(then));
            seen.extend(now.shared(then, own, helpers));
        }
        if let Some((now, then)) = self.waited.zip(before.waited) {
            let part = now.saturating_sub(then).as_secs_f64() / elapsed.as_secs_f64();
            seen.extend((part > WAITED).then_some(Disturbance::Waited { percent: 100.0 * part }));
        }
        seen
    }
}

impl Machine {
    /// Returns how the time since then was shared with others.
    fn shared(self, then: Machine, own: Option<u64>, helpers: f64) -> Vec<Disturbance> {
        let passed = |f: fn(&Machine) -> u64| f(&self).saturating_sub(f(&then)) as f64;
        let (total, idle, stolen) = (passed(|m| m.total), passed(|m| m.idle), passed(|m| m.stolen));
        if total == 0.0 {
            return Vec::new();
        }
        let kept =
            (stolen / total > STOLEN).then_some(Disturbance::Stolen { percent: 100.0 * stolen / total });
        let others = own.map(|own| (total - idle - stolen - own as f64) / total * self.processors as f64);
        let crowd = others.filter(|others| others - helpers > OTHERS * self.processors as f64);
        let crowd = crowd.map(|processors| Disturbance::Others { processors, of: self.processors });
        kept.into_iter().chain(crowd).collect()
    }
}

/// Reads `/proc/stat`.
///
/// Ref. proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; a guest's time is in user and nice already.
fn machine(text: &str) -> Option<Machine> {
    let all = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = all.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    let [_, _, _, idle, iowait, _, _, stolen] = fields[..] else { return None };
    let processors = text.lines().filter(|line| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    Some(Machine { processors: processors.count(), total: fields.iter().sum(), idle: idle + iowait, stolen })
}

/// Reads `/proc/self/stat`.
///
/// Ref. proc_pid_stat(5): utime, stime, cutime and cstime are the fields 14 to 17. The name in field 2 may hold anything.
fn own(text: &str) -> Option<u64> {
    let (_, fields) = text.rsplit_once(')')?;
    let times: Vec<u64> =
        fields.split_whitespace().skip(11).take(4).map_while(|field| field.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum())
}

/// Reads `schedstat` of a thread: nanoseconds on a processor, nanoseconds in the queue for one, and time slices.
fn waited(text: &str) -> Option<Duration> {
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processors; the numbers of the first line in the order of proc_stat(5).
    fn stat(user: u64, idle: u64, stolen: u64) -> String {
        format!(
            "cpu  {user} 0 0 {idle} 0 0 0 {stolen} 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\ncpu1 1 0 0 1 0 0 0 0 0 0\n\
             intr 5\nctxt 9\n"
        )
    }

    /// A process whose name looks like fields, with processor time of its own and of its children.
    fn own_stat(user: u64, children: u64) -> String {
        format!("7 (a) 9 (b c) R 1 7 7 0 -1 0 0 0 0 0 {user} 0 {children} 0 20 0 1 0 100")
    }

    fn at(stat: &str, own_text: &str, wait_ms: u64, begin: Instant, ms: u64) -> Snapshot {
        Snapshot {
            at: begin + Duration::from_millis(ms),
            machine: machine(stat),
            own: own(own_text),
            waited: waited(&format!("123 {} 4\n", wait_ms * 1_000_000)),
        }
    }

    #[test]
    fn texts_of_the_kernel() {
        let expected = Machine { processors: 2, total: 1120, idle: 900, stolen: 20 };
        assert_eq!(machine(&stat(200, 900, 20)), Some(expected));
        assert_eq!(own(&own_stat(30, 4)), Some(34));
        assert_eq!(waited("1 2000000 3"), Some(Duration::from_millis(2)));
        assert_eq!(
            (machine(""), machine("cpu  1 2 3"), own("7 (x) R"), waited("")),
            (None, None, None, None)
        );
    }

    #[test]
    fn an_idle_machine_disturbs_nothing() {
        let begin = Instant::now();
        let before = at(&stat(0, 0, 0), &own_stat(0, 0), 0, begin, 0);
        // One of two processors worked for a second, and this process was it.
        let after = at(&stat(101, 99, 0), &own_stat(60, 40), 1, begin, 1000);
        assert_eq!(after.since(&before, 0.0), []);
    }

    #[test]
    fn others_a_hypervisor_and_a_queue_are_seen() {
        let begin = Instant::now();
        let before = at(&stat(0, 0, 0), &own_stat(0, 0), 0, begin, 0);
        let after = at(&stat(180, 0, 20), &own_stat(60, 0), 300, begin, 1000);
        let seen = after.since(&before, 0.0);
        assert_eq!(
            seen,
            [
                Disturbance::Stolen { percent: 10.0 },
                Disturbance::Others { processors: 1.2, of: 2 },
                Disturbance::Waited { percent: 30.0 },
            ]
        );
        let text: Vec<String> = seen.iter().map(Disturbance::to_string).collect();
        assert!(text[0].starts_with("the hypervisor kept 10 % of the processors' time"), "{text:?}");
        assert!(
            text[1].starts_with("other programs used 1.2 of 2 processors meanwhile: end them"),
            "{text:?}"
        );
        assert!(text[2].starts_with("the measurement waited for a processor 30 % of the time"), "{text:?}");
    }

    #[test]
    fn a_helper_is_no_other_program() {
        let begin = Instant::now();
        let before = at(&stat(0, 0, 0), &own_stat(0, 0), 0, begin, 0);
        let after = at(&stat(200, 0, 0), &own_stat(100, 0), 0, begin, 1000);
        assert_eq!(after.since(&before, 1.0), []);
        assert_eq!(after.since(&before, 0.0).len(), 1);
    }

    #[test]
    fn a_short_measurement_is_not_judged() {
        let begin = Instant::now();
        let before = at(&stat(0, 0, 0), &own_stat(0, 0), 0, begin, 0);
        assert_eq!(at(&stat(9, 0, 9), &own_stat(0, 0), 50, begin, 90).since(&before, 0.0), []);
    }

    #[test]
    fn figures_that_differ_much_are_told() {
        assert_eq!(Disturbance::spread("pairs of runs", 1.0, 1.2), None);
        let spread = Disturbance::spread("pairs of runs", 1.54, 3.5).unwrap();
        assert!(
            spread.to_string().starts_with("pairs of runs differ by a factor of 2.3: repeat it"),
            "{spread}"
        );
        assert_eq!(Disturbance::spread("turns", 0.0, 1.0), None);
    }

    #[test]
    fn this_kernel_shows_its_counters() {
        let now = Snapshot::take();
        assert!(now.machine.is_some_and(|machine| machine.processors > 0 && machine.total > 0), "{now:?}");
        assert!(now.own.is_some(), "{now:?}");
    }
}
