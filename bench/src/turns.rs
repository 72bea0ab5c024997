//! Two commands in turns, on files that are made for them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use millstream_measure::clock;
use millstream_measure::statistics::median;
use millstream_testkit::Random;
use serde_json::{Value, json};

/// Two commands for the same files, and what is compared by them.
pub struct Comparison {
    /// The name of the comparison, and the least ratio of the other's time to ours.
    pub goal: (&'static str, f64),
    /// Our command.
    pub ours: Vec<OsString>,
    /// The other's.
    pub theirs: Vec<OsString>,
    /// A folder that is empty before each command.
    pub fresh: Option<PathBuf>,
}

impl Comparison {
    /// Runs both in turns, and tells how the goal is met.
    ///
    /// # Errors
    /// Fails when a command fails.
    pub fn run(&self, rounds: u32) -> Result<Value, String> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let pair = (self.timed(&self.ours)?, self.timed(&self.theirs)?);
            // The first round only warms up.
            if round > 0 {
                ours.push(pair.0);
                theirs.push(pair.1);
            }
        }
        let ratio = median(theirs.iter().zip(&ours).map(|(theirs, ours)| theirs / ours).collect());
        let (name, least) = self.goal;
        let word = if ratio >= least { "met" } else { "missed" };
        println!(
            "{word:<7}{name}: {ratio:.2} times as fast, at least {least} ({:.4} s and {:.4} s)",
            median(ours.clone()),
            median(theirs.clone())
        );
        Ok(json!({
            "name": name, "at_least": least, "ratio": ratio, "seconds": ours, "other_seconds": theirs,
        }))
    }

    fn timed(&self, words: &[OsString]) -> Result<f64, String> {
        if let Some(folder) = &self.fresh {
            // There is none before the first.
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        timed(words)
    }
}

/// Makes `count` files in a new folder.
///
/// # Errors
/// Fails when there is no room for them.
pub fn make(folder: &Path, count: usize, len: impl Fn(&mut Random) -> usize) -> Result<Vec<PathBuf>, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    fs::create_dir(folder).map_err(failed)?;
    let mut random = Random::new(count as u64);
    let mut paths = Vec::with_capacity(count);
    for number in 0..count {
        let path = folder.join(format!("f{number:05}"));
        let len = len(&mut random);
        fs::write(&path, random.bytes(len)).map_err(failed)?;
        paths.push(path);
    }
    Ok(paths)
}

/// Returns the seconds of a whole process.
fn timed(words: &[OsString]) -> Result<f64, String> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut status = None;
    let ns = clock::elapsed_ns(|| status = Some(command.status()));
    match status.expect("the command was run") {
        Ok(status) if status.success() => Ok(ns / 1e9),
        Ok(status) => Err(format!("{}: {status}", words[0].to_string_lossy())),
        Err(e) => Err(format!("{}: {e}", words[0].to_string_lossy())),
    }
}
