//! Tests whether a row takes another time for other secrets: each trial of `crates/constant-time` runs with
//! fixed and with random secrets in random turns.
//!
//! Ref. Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", DATE 2017.

mod report;
mod statistics;

use std::path::PathBuf;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use millstream_constant_time::{Trial, all, planted};
use millstream_cpu::Features;
use millstream_engines::Timing;
use millstream_testkit::Random;

use crate::record::{self, Circumstances, Recording};
use crate::{glob, progress};
use statistics::{Sample, Test};

/// The t above which a difference is not chance. There are thousands of tests in a run, so a row must also
/// show it again.
pub const LIMIT: f64 = 5.0;

/// The number of times that a trial is measured anew before a difference is believed.
const REPEATS: usize = 3;

/// The least t for the planted leak, which is gross.
const PLANTED: f64 = 10.0;

/// The most samples of a trial.
const MOST: usize = 200_000;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only algorithms whose name matches one of these patterns, as in 'aes-gcm*'
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Only kernels whose name matches one of these patterns
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    kernels: Vec<String>,
    /// Seconds for each trial; a trial that differs takes up to three times more
    #[arg(long, value_name = "S", default_value_t = 0.25)]
    seconds: f64,
    /// Run every trial a few times, find the planted leak, and judge nothing else
    #[arg(long, conflicts_with_all = ["json", "record", "seconds"])]
    check_only: bool,
    /// Write every figure to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
    /// Something about the machine that a reader of the record should know, such as its other load
    #[arg(long, value_name = "TEXT", requires = "record")]
    note: Option<String>,
}

/// The result of one trial.
pub struct Finding {
    pub algorithm: &'static str,
    pub kernel: &'static str,
    pub timing: Timing,
    pub what: String,
    /// True where the operation's standard has it draw public values until they fit.
    pub rejects: bool,
    pub samples: usize,
    /// The tests of the last measurement.
    pub tests: Vec<Test>,
    /// The number of measurements.
    pub measured: usize,
    /// True when fixed and random secrets were told apart each time, with the same sign.
    pub differs: bool,
}

impl Finding {
    /// Returns true where a difference is none that its standard explains.
    pub fn leaks(&self) -> bool {
        self.differs && !self.rejects
    }

    /// Returns the t that tells the classes apart best.
    pub fn t(&self) -> f64 {
        statistics::worst(&self.tests).map_or(0.0, |test| test.t)
    }
}

/// Measures and reports.
///
/// # Errors
/// Fails when the planted leak is not found, or when a row of constant time takes another time for other
/// secrets.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.recording.wanted()?;
    let features = Features::active().map_err(|e| e.to_string())?;
    let (mut trials, missing) = all(features)?;
    trials.retain(|trial| {
        glob::any(&arguments.algorithms, trial.algorithm())
            && glob::any(&arguments.kernels, trial.kernel().name)
    });
    if trials.is_empty() {
        return Err("nothing to measure: no row matches; `caps` shows them".to_owned());
    }
    let leak = find_planted()?;
    println!("the planted leak is found: t = {:.0}", leak.t());
    if arguments.check_only {
        for trial in &mut trials {
            measure(trial, Effort { time: Duration::ZERO, least: 4 }, 1);
        }
        println!("{} trials run with fixed and with random secrets; nothing was judged", trials.len());
        return Ok(());
    }
    let about = Circumstances::now(features, Vec::new(), Vec::new());
    about.lines().iter().for_each(|line| println!("{line}"));
    let (count, mut findings) = (trials.len(), Vec::new());
    for (done, trial) in trials.iter_mut().enumerate() {
        progress(&format!("{} of {count}: {} on {}", done + 1, trial.algorithm(), trial.kernel().name));
        findings.push(judge(trial, Duration::from_secs_f64(arguments.seconds)));
    }
    progress("");
    let missing: Vec<_> = missing.iter().map(|(algorithm, kernel)| (*algorithm, kernel.name)).collect();
    let run = report::Run { about: &about, arguments, leak: &leak, findings: &findings, missing: &missing };
    print!("{}", run.text());
    about.warn();
    write_out(arguments, &about, &run)?;
    verdict(&findings)
}

/// Fails with the rows of constant time that are not.
fn verdict(findings: &[Finding]) -> Result<(), String> {
    let leaks = findings.iter().filter(|finding| finding.leaks() && finding.timing == Timing::Constant);
    let leaks: Vec<_> =
        leaks.map(|f| format!("{} on {}, {}: t = {:.1}", f.algorithm, f.kernel, f.what, f.t())).collect();
    if leaks.is_empty() {
        return Ok(());
    }
    Err(format!(
        "time depends on secrets: {}; look at these with more --seconds on a quiet machine",
        leaks.join("; ")
    ))
}

/// The duration of a trial: its time, and the least number of runs.
#[derive(Clone, Copy)]
struct Effort {
    time: Duration,
    least: usize,
}

/// Finds the leak that this program plants.
fn find_planted() -> Result<Finding, String> {
    let mut trials = planted();
    let branch = trials.iter_mut().find(|trial| trial.what() == "branch").expect("it is planted");
    let mut best = 0.0_f64;
    for round in 1..=5 {
        let samples = measure(branch, Effort { time: Duration::ZERO, least: 2000 }, round);
        let finding = finding(branch, &samples, round as usize);
        if finding.t().abs() >= PLANTED {
            return Ok(finding);
        }
        best = best.max(finding.t().abs());
    }
    Err(format!(
        "the planted leak is not found: t = {best:.1} at best; nothing that this says of others is worth anything"
    ))
}

fn finding(trial: &Trial, samples: &[Sample], measured: usize) -> Finding {
    let tests = statistics::tests(samples);
    Finding {
        algorithm: trial.algorithm(),
        kernel: trial.kernel().name,
        timing: trial.kernel().timing,
        what: trial.what().to_owned(),
        rejects: trial.rejects(),
        samples: samples.len(),
        differs: statistics::worst(&tests).is_some_and(|test| test.t.abs() >= LIMIT),
        tests,
        measured,
    }
}

/// Measures a trial, and again while it seems to leak. A difference that was chance, or a neighbour's doing,
/// does not come back with the same sign.
fn judge(trial: &mut Trial, time: Duration) -> Finding {
    let effort = Effort { time, least: 500 };
    let mut sign = 0.0;
    let mut measured = 1;
    loop {
        let samples = measure(trial, effort, measured as u64);
        let mut finding = finding(trial, &samples, measured);
        finding.differs &= sign == 0.0 || sign == finding.t().signum();
        if !finding.leaks() || measured > REPEATS {
            return finding;
        }
        sign = finding.t().signum();
        measured += 1;
    }
}

/// Runs a trial with fixed and with random secrets, chosen by the toss of a coin each time.
fn measure(trial: &mut Trial, effort: Effort, seed: u64) -> Vec<Sample> {
    let mut random = Random::new(seed);
    // The fixed secrets count up: they are neither all zeros, which no key is, nor equal halves, which some
    // keys must not have.
    let fixed: Vec<u8> = (0..trial.len()).map(|i| i as u8).collect();
    let (mut other, mut buffer) = (vec![0; trial.len()], vec![0; trial.len()]);
    // The first runs find cold caches.
    let cold = if effort.time.is_zero() { effort.least / 10 } else { 50 };
    let (mut samples, mut runs, start) = (Vec::new(), 0, Instant::now());
    while samples.len() < effort.least || (start.elapsed() < effort.time && samples.len() < MOST) {
        // Both classes are made by the same instructions from the same places. If one of two buffers were
        // copied instead, the choice would show in the time of what follows, through the state of caches and
        // store buffers.
        random.fill(&mut other);
        let class = std::hint::black_box((random.next_u64() >> 63) as u8);
        let mask = class.wrapping_neg();
        for (byte, (fixed, other)) in buffer.iter_mut().zip(fixed.iter().zip(&other)) {
            *byte = fixed ^ ((fixed ^ other) & mask);
        }
        trial.prepare(&mut buffer);
        // All of that is written before the clock is read.
        fence(Ordering::SeqCst);
        let begin = Instant::now();
        trial.run(std::hint::black_box(&mut buffer));
        let nanoseconds = begin.elapsed().as_nanos() as f64;
        std::hint::black_box(&mut buffer);
        runs += 1;
        if runs > cold {
            samples.push(Sample { fixed: class == 0, nanoseconds });
        }
    }
    samples
}

fn write_out(arguments: &Arguments, about: &Circumstances, run: &report::Run<'_>) -> Result<(), String> {
    let json = serde_json::to_string_pretty(&run.json()).expect("values without odd keys") + "\n";
    if let Some(path) = &arguments.json {
        std::fs::write(path, &json).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    if arguments.recording.wanted()? {
        let files = [("json", json), ("md", run.markdown())];
        for path in record::write(record::FOLDER.as_ref(), &format!("{}-timing", about.stem()), &files)? {
            println!("recorded in {}", path.display());
        }
    }
    Ok(())
}
