//! The result of running a program with and without features, for people and as JSON.

use millstream_measure::disturbance::Disturbance;
use millstream_measure::figures::{rounded, significant};
use serde_json::{Value, json};

use super::table::count;
use crate::speed::about::disturbances;

/// A relative difference below this does not count, however often it is seen.
const LEAST: f64 = 0.01;

/// The number of pairs whose agreement means something.
const ENOUGH: usize = 3;

/// A ratio that is convincing even with fewer pairs.
const PLAIN: f64 = 1.2;

/// One run, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The time from start to end.
    pub wall: f64,
    /// The processor time in user and kernel mode, of the program and the processes it waited for.
    pub cpu: f64,
}

/// The agreement of what the two ways wrote on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// The same bytes in every run.
    Same,
    /// Each way always wrote the same, but the two ways differ.
    Differ,
    /// Not even one way wrote the same each time.
    Vary,
}

/// All runs. Runs at the same index of both lists were made one beside the other.
#[derive(Debug)]
pub struct Comparison {
    /// The runs with all features.
    pub with: Vec<Sample>,
    /// The runs without some.
    pub without: Vec<Sample>,
    /// The agreement of the outputs.
    pub outputs: Outputs,
    /// Disturbances of the machine meanwhile.
    pub disturbed: Vec<Disturbance>,
}

/// The factor by which the program is slower without the features, and its certainty.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// The ratio of the medians.
    pub median: f64,
    /// The lowest and highest ratio of pairs, without a tenth at each end.
    pub spread: (f64, f64),
    /// True when these figures show a difference.
    pub differs: bool,
}

impl Comparison {
    /// Returns the ratio of one of the times.
    pub fn ratio(&self, time: impl Fn(&Sample) -> f64) -> Ratio {
        let of = |samples: &[Sample]| samples.iter().map(&time).map(|s| s.max(1e-6)).collect::<Vec<f64>>();
        let (with, without) = (of(&self.with), of(&self.without));
        let mut pairs: Vec<f64> = with.iter().zip(&without).map(|(with, without)| without / with).collect();
        pairs.sort_by(f64::total_cmp);
        let cut = pairs.len() / 10;
        let spread = (pairs[cut], pairs[pairs.len() - 1 - cut]);
        let median = median(&without) / median(&with);
        let one_sided = spread.0 > 1.0 + LEAST || spread.1 < 1.0 - LEAST;
        let plain = pairs.len() >= ENOUGH || !(1.0 / PLAIN..PLAIN).contains(&median);
        Ratio { median, spread, differs: one_sided && plain }
    }

    /// Returns what disturbed the comparison: what was seen of the machine, and pairs of runs that differ much.
    pub fn disturbances(&self) -> Vec<Disturbance> {
        let (low, high) = self.ratio(|s| s.wall).spread;
        let spread = Disturbance::spread("the factors of the pairs of runs", low, high);
        self.disturbed.iter().cloned().chain(spread).collect()
    }

    /// Formats the result. `subject` is the thing that makes the difference, and whether it is plural.
    pub fn text(&self, subject: &(String, bool)) -> String {
        let (wall, cpu) = (self.ratio(|s| s.wall), self.ratio(|s| s.cpu));
        let times = |time: fn(&Sample) -> f64| {
            let of = |samples: &[Sample]| seconds(median(&samples.iter().map(time).collect::<Vec<_>>()));
            (of(&self.with), of(&self.without))
        };
        let (with, without) = times(|s| s.wall);
        let runs = count(self.with.len() as u64, "run");
        let mut text = format!("{} ({with} against {without}, {runs} each)\n", sentence(subject, wall));
        let (with, without) = times(|s| s.cpu);
        text += &format!("  time        {}\n", spread(wall));
        text += &format!("  processor   {}, {with} against {without}\n", spread(cpu));
        text += match self.outputs {
            Outputs::Same => "  output      the same both ways\n",
            Outputs::Differ => "  output      NOT the same both ways\n",
            Outputs::Vary => "  output      different in every run, so it can't be compared\n",
        };
        if !wall.differs && !cpu.differs {
            text += "  hint        a program that runs for a fixed time does more work instead: compare what it prints\n";
        }
        text
    }

    /// Returns the content of [`Comparison::text`] as JSON.
    pub fn json(&self) -> Value {
        let samples = |samples: &[Sample]| {
            let of = |time: fn(&Sample) -> f64| samples.iter().map(time).map(rounded).collect::<Vec<_>>();
            json!({ "wall_s": of(|s| s.wall), "cpu_s": of(|s| s.cpu) })
        };
        let ratio = |ratio: Ratio| {
            json!({
                "median": rounded(ratio.median),
                "low": rounded(ratio.spread.0),
                "high": rounded(ratio.spread.1),
                "differs": ratio.differs,
            })
        };
        json!({
            "runs": self.with.len(),
            "with": samples(&self.with),
            "without": samples(&self.without),
            "wall_ratio": ratio(self.ratio(|s| s.wall)),
            "cpu_ratio": ratio(self.ratio(|s| s.cpu)),
            "disturbed": disturbances(&self.disturbances()),
            "output": match self.outputs {
                Outputs::Same => "same",
                Outputs::Differ => "different",
                Outputs::Vary => "varies",
            },
        })
    }
}

/// Formats a sentence like `hardware AES makes this program 4.2 times faster`.
fn sentence((subject, plural): &(String, bool), ratio: Ratio) -> String {
    let verb = |one: &'static str, many: &'static str| if *plural { many } else { one };
    if !ratio.differs {
        return format!(
            "{subject} {} no difference to this program that could be told from noise",
            verb("makes", "make")
        );
    }
    let (factor, word) = match ratio.median {
        median if median >= 1.0 => (median, "faster"),
        median => (1.0 / median, "SLOWER"),
    };
    let much = match factor {
        _ if factor < 1.5 => format!("{} % {word}", significant((factor - 1.0) * 100.0)),
        _ => format!("{} times {word}", tenths(factor)),
    };
    format!("{subject} {} this program {much}", verb("makes", "make"))
}

/// Formats a factor like `4.2` or `37`.
fn tenths(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}") } else { format!("{factor:.0}") }
}

fn spread(ratio: Ratio) -> String {
    let (low, high) = ratio.spread;
    let factor = format!("{} times as long without", significant(ratio.median));
    format!("{factor}, {} to {} in the pairs of runs", significant(low), significant(high))
}

/// Formats a time like `0.52 s` or `12 ms`.
fn seconds(time: f64) -> String {
    match time {
        _ if time >= 10.0 => format!("{time:.1} s"),
        _ if time >= 0.1 => format!("{time:.2} s"),
        _ => format!("{} ms", significant(time * 1e3)),
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = ((sorted.len() - 1) / 2, sorted.len() / 2);
    (sorted[low] + sorted[high]) / 2.0
}

/// Returns how lists of digests agree.
pub fn outputs<D: PartialEq>(with: &[D], without: &[D]) -> Outputs {
    let steady = |digests: &[D]| digests.windows(2).all(|pair| pair[0] == pair[1]);
    match (steady(with) && steady(without), with.first() == without.first()) {
        (true, true) => Outputs::Same,
        (true, false) => Outputs::Differ,
        (false, _) => Outputs::Vary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(with: &[f64], without: &[f64]) -> Comparison {
        let samples = |walls: &[f64]| walls.iter().map(|&wall| Sample { wall, cpu: wall }).collect();
        Comparison {
            with: samples(with),
            without: samples(without),
            outputs: Outputs::Same,
            disturbed: Vec::new(),
        }
    }

    fn said(with: &[f64], without: &[f64]) -> String {
        let text = comparison(with, without).text(&("hardware AES".into(), false));
        text.lines().next().unwrap().to_owned()
    }

    #[test]
    fn one_sentence_says_it() {
        assert_eq!(
            said(&[0.52, 0.51, 0.53], &[2.18, 2.19, 2.17]),
            "hardware AES makes this program 4.2 times faster (0.52 s against 2.18 s, 3 runs each)"
        );
        assert_eq!(
            said(&[1.0, 1.01, 1.0], &[1.12, 1.13, 1.12]),
            "hardware AES makes this program 12.0 % faster (1.00 s against 1.12 s, 3 runs each)"
        );
        assert!(said(&[2.0, 2.0, 2.0], &[1.0, 1.0, 1.0]).contains("2.0 times SLOWER"));
        assert!(said(&[0.001], &[0.1]).contains("100 times faster (1.00 ms against 0.10 s, 1 run each)"));
    }

    #[test]
    fn noise_is_no_difference() {
        for (with, without) in [
            (&[1.0, 1.1, 0.9][..], &[1.02, 1.0, 1.0][..]),
            (&[1.0, 1.0, 1.0], &[1.005, 1.005, 1.005]),
            // Two pairs agree by chance half of the time.
            (&[1.0, 1.0], &[1.05, 1.06]),
        ] {
            assert!(said(with, without).contains("no difference"), "{with:?} {without:?}");
        }
        assert!(said(&[1.0], &[1.5]).contains("1.5 times faster"));
    }

    #[test]
    fn one_odd_pair_in_ten_decides_nothing() {
        let (with, mut without) = (vec![1.0; 10], vec![2.0; 10]);
        without[3] = 0.9;
        assert!(comparison(&with, &without).ratio(|s| s.wall).differs);
        without[4] = 0.9;
        assert!(!comparison(&with, &without).ratio(|s| s.wall).differs);
    }

    #[test]
    fn pairs_that_differ_much_are_told() {
        assert_eq!(comparison(&[1.0; 3], &[2.0, 2.1, 2.2]).disturbances(), []);
        let mut busy = comparison(&[1.0; 3], &[1.54, 2.0, 3.5]);
        busy.disturbed.push(Disturbance::Stolen { percent: 7.0 });
        let seen = busy.disturbances();
        assert_eq!(seen.iter().map(Disturbance::kind).collect::<Vec<_>>(), ["stolen", "spread"]);
        assert_eq!(busy.json()["disturbed"][0]["kind"], "stolen");
        assert!(busy.json()["disturbed"][1]["text"].as_str().unwrap().contains("a factor of 2.3"));
    }

    #[test]
    fn outputs_are_compared_where_they_are_steady() {
        assert_eq!(outputs(&[1, 1], &[1, 1]), Outputs::Same);
        assert_eq!(outputs(&[1, 1], &[2, 2]), Outputs::Differ);
        assert_eq!(outputs(&[1, 2], &[1, 1]), Outputs::Vary);
    }
}
