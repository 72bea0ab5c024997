//! `millstream encrypt` beside `cp`, on the same file in turns; then many files: encrypted, decrypted and digested.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use millstream_cpu::Features;
use millstream_measure::clock;
use millstream_measure::statistics::median;
use millstream_testkit::Random;
use serde_json::json;

use crate::record::{self, Circumstances, Recording};
use crate::{digests, sealed};

/// The highest ratio of the command's time to that of `cp`.
const AT_MOST: f64 = 1.5;

#[derive(clap::Args)]
pub struct Arguments {
    /// Size of the file, with K, M or G for powers of 1024
    #[arg(long, default_value = "1G", value_parser = parse_size)]
    size: u64,
    /// The folder for the files; with tmpfs the disk plays no part
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// The command
    #[arg(long, default_value = "target/release/millstream")]
    binary: PathBuf,
    /// Number of turns of each command
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    recording: Recording,
}

fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, &text[digits.len()..]),
        None => (text, ""),
    };
    let number: u64 = digits.parse().map_err(|_| "a number, with K, M or G".to_owned())?;
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => 0,
    };
    number.checked_mul(1 << shift).ok_or_else(|| "too large".to_owned())
}

/// The files of one run, removed at its end.
struct Files {
    folder: PathBuf,
    plain: PathBuf,
    key: PathBuf,
    copy: PathBuf,
    sealed: PathBuf,
    opened: PathBuf,
}

impl Files {
    fn new(folder: &Path, size: u64) -> std::io::Result<Files> {
        let folder = folder.join(format!("millstream-bench-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        let at = |name: &str| folder.join(name);
        let (plain, key, copy) = (at("plain"), at("key"), at("copy"));
        let (sealed, opened) = (at("sealed"), at("opened"));
        let files = Files { plain, key, copy, sealed, opened, folder };
        let mut random = Random::new(4);
        let mut key = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&files.key)?;
        key.write_all(&random.bytes(32))?;
        let mut plain = BufWriter::new(File::create(&files.plain)?);
        let mut left = size;
        while left > 0 {
            let piece = random.bytes(left.min(1 << 20) as usize);
            plain.write_all(&piece)?;
            left -= piece.len() as u64;
        }
        plain.flush()?;
        Ok(files)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Files that can't be removed are left, because there is nobody to tell.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Measures and reports.
///
/// # Errors
/// Fails when a command can't be run or fails, or when the encrypted file does not decrypt to the original.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.recording.wanted()?;
    let features = Features::active().map_err(|e| e.to_string())?;
    let mut about = Circumstances::now(features, vec![("cp".to_owned(), cp_version())], Vec::new());
    for line in about.lines() {
        println!("{line}");
    }
    let files = Files::new(&arguments.dir, arguments.size)
        .map_err(|e| format!("{}: {e}", arguments.dir.display()))?;
    let (mut cp, mut encrypt) = (Vec::new(), Vec::new());
    for round in 0..=arguments.rounds {
        let copied = timed(Command::new("cp").arg(&files.plain).arg(&files.copy), &files.copy)?;
        let sealed = timed(&mut sealing(arguments, &files), &files.sealed)?;
        // The first round only warms up.
        if round > 0 {
            println!("round {round}: cp {copied:.3} s, encrypt {sealed:.3} s, ratio {:.2}", sealed / copied);
            cp.push(copied);
            encrypt.push(sealed);
        }
    }
    round_trip(arguments, &files)?;
    let ratio = median(encrypt.iter().zip(&cp).map(|(e, c)| e / c).collect());
    let best = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let best_ratio = best(&encrypt) / best(&cp);
    let word = if ratio <= AT_MOST { "met" } else { "missed" };
    println!(
        "{word:<7}encrypt of {} bytes takes at most {AT_MOST} times cp: {ratio:.2} times (best runs {best_ratio:.2})",
        arguments.size
    );
    let small = digests::small(&files.folder)?;
    let (binary, rounds) = (&arguments.binary, arguments.rounds);
    let many = sealed::measure(binary, &files.key, &files.folder, &small, rounds)?;
    let (digests, absent) = digests::measure(binary, &files.folder, &small, rounds)?;
    absent.iter().for_each(|why| println!("absent: {why}"));
    about.absent = absent;
    about.warn();
    if arguments.recording.wanted()? {
        let value = json!({
            "about": about.json(), "bytes": arguments.size, "folder": arguments.dir,
            "cp_seconds": cp, "encrypt_seconds": encrypt, "ratio": ratio, "best_ratio": best_ratio,
            "many": many, "digests": digests,
        });
        let text = serde_json::to_string_pretty(&value).expect("values without odd keys") + "\n";
        let stem = about.stem() + "-file";
        for path in record::write(record::FOLDER.as_ref(), &stem, &[("json", text)])? {
            println!("recorded in {}", path.display());
        }
    }
    Ok(())
}

fn sealing(arguments: &Arguments, files: &Files) -> Command {
    let mut command = Command::new(&arguments.binary);
    command.args(["encrypt", "-k"]).arg(&files.key);
    command.arg("-i").arg(&files.plain).arg("-o").arg(&files.sealed);
    command
}

/// Returns the seconds that a command takes to make a file that did not exist.
fn timed(command: &mut Command, output: &Path) -> Result<f64, String> {
    if output.exists() {
        std::fs::remove_file(output).map_err(|e| format!("{}: {e}", output.display()))?;
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let mut status = None;
    let ns = clock::elapsed_ns(|| status = Some(command.stdin(Stdio::null()).status()));
    match status.expect("the command was run") {
        Ok(status) if status.success() => Ok(ns / 1e9),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(e) => Err(format!("{name}: {e}")),
    }
}

/// Checks that the last encrypted file decrypts to the original.
fn round_trip(arguments: &Arguments, files: &Files) -> Result<(), String> {
    let mut command = Command::new(&arguments.binary);
    command.args(["decrypt", "-k"]).arg(&files.key);
    command.arg("-i").arg(&files.sealed).arg("-o").arg(&files.opened);
    timed(&mut command, &files.opened)?;
    let same = Command::new("cmp").arg("-s").arg(&files.plain).arg(&files.opened).status();
    match same {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("what was encrypted did not decrypt to the original".to_owned()),
        Err(e) => Err(format!("cmp: {e}")),
    }
}

fn cp_version() -> String {
    let output = Command::new("cp").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("1G"), Ok(1 << 30));
        assert_eq!(parse_size("17"), Ok(17));
        assert!(parse_size("1T").is_err() && parse_size("").is_err() && parse_size("99999999999G").is_err());
    }
}
