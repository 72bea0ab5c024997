//! The time that each step took, beside its time in the last run.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::run::root;

/// The steps that have ended.
#[derive(Default)]
pub struct Times {
    steps: Vec<(String, Duration, Option<Duration>)>,
}

impl Times {
    /// Notes a step, its duration, and the processor time it used where that is known.
    pub fn add(&mut self, step: &str, took: Duration, used: Option<Duration>) {
        println!("==== {step} took {:.1} s", took.as_secs_f64());
        self.steps.push((step.to_owned(), took, used));
    }

    /// Prints a line for each step. A run of the whole pipeline (`keep`) is stored, and the next run is compared with
    /// it.
    pub fn print(&self, whole: Duration, keep: bool) {
        let last = last();
        for (step, took, used) in &self.steps {
            let mut line = format!("{step:12} {:7.1} s", took.as_secs_f64());
            if let Some(used) = used {
                line += &format!(", {:7.1}{OF_PROCESSORS}", used.as_secs_f64());
            }
            if let Some(before) = last.get(step) {
                line += &format!(", last time {before:.1} s");
            }
            println!("{line}");
        }
        let minutes = whole.as_secs_f64() / 60.0;
        println!("{minutes:.1} minutes in all");
        if keep {
            let lines = self.steps.iter().map(|(step, took, _)| format!("{step} {}\n", took.as_secs_f64()));
            // A failure to write leaves the next run without a comparison, and does no other harm.
            let _ = std::fs::write(file(), lines.collect::<String>());
        }
    }
}

/// The text behind a step's processor time in its line.
const OF_PROCESSORS: &str = " s of processor time";

/// Returns the processor time that a step's own run printed of it.
pub fn said(step: &str, text: &str) -> Option<Duration> {
    let line = text
        .lines()
        .rev()
        .find(|line| line.split(' ').next() == Some(step) && line.contains(OF_PROCESSORS))?;
    let seconds = line.split(OF_PROCESSORS).next()?.rsplit(' ').next()?;
    seconds.parse().ok().map(Duration::from_secs_f64)
}

fn file() -> PathBuf {
    root().join("target/ci/times")
}

/// The seconds that each step took in the last run of the whole pipeline, if there was one.
fn last() -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(step, seconds)| Some((step.to_owned(), seconds.parse().ok()?))).collect()
}

/// The processor time of all programs that this one ran and waited for.
pub fn processor_time() -> Duration {
    // proc(5): `cutime` and `cstime` are fields 16 and 17.
    processor_time_of("self", 16..=17)
}

/// The processor time of another process, which nobody has waited for yet, and of all programs that it ran and waited for.
pub fn processor_time_within(process: u32) -> Duration {
    // `utime` and `stime` come before those.
    processor_time_of(&process.to_string(), 14..=17)
}

fn processor_time_of(process: &str, fields: RangeInclusive<usize>) -> Duration {
    const TICKS_PER_S: u64 = 100;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in parentheses, may have spaces. What follows it begins with field 3.
    let all = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = all.zip(3..).filter(|(_, number)| fields.contains(number));
    let ticks: u64 = ticks.filter_map(|(field, _)| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_beside_the_others_says_its_processor_time() {
        let text = "miri is not this\nmiri           746.4 s,   701.5 s of processor time, last time 1037.1 s\n1 passed\n";
        assert_eq!(said("miri", text), Some(Duration::from_millis(701_500)));
        assert_eq!(said("loom", text), None);
    }

    #[test]
    fn a_process_and_what_it_waited_for_is_counted() {
        let before = processor_time_within(std::process::id());
        let mut work = std::process::Command::new("sh");
        work.args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"]);
        assert!(work.status().expect("sh runs").success());
        assert!(processor_time_within(std::process::id()) > before);
    }
}
