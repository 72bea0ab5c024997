//! `millstream encrypt` and `decrypt` of many files in one call, beside `cp` of the same files and beside a call for each.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::turns::Comparison;

/// The number of files for which a process each is started.
const FEW: usize = 200;

/// A goal: the name of a comparison, and the least ratio of the other's time to ours.
const GOALS: [(&str, f64); 4] = [
    ("encrypt of 20000 files of 1 to 4 KiB, beside cp", 0.5),
    ("decrypt of 20000 files of 1 to 4 KiB, beside cp", 0.5),
    ("encrypt of 200 files of 1 to 4 KiB, beside itself for each", 10.0),
    ("encrypt of 200 files of 1 to 4 KiB, beside openssl enc for each", 10.0),
];

/// Measures all comparisons, for the record.
///
/// # Errors
/// Fails when there is no room for the files, when a command fails, or when a file is not the same after both ways.
pub fn measure(
    binary: &Path,
    key: &Path,
    folder: &Path,
    small: &[PathBuf],
    rounds: u32,
) -> Result<Value, String> {
    let (sealed, fresh) = (folder.join("sealed-files"), folder.join("fresh"));
    fs::create_dir(&sealed).map_err(|e| format!("{}: {e}", sealed.display()))?;
    let files = |paths: &[PathBuf]| paths.iter().map(|path| path.into()).collect::<Vec<OsString>>();
    let ours = |command: &str, to: &Path, paths: &[PathBuf]| {
        let words = [binary.as_os_str(), command.as_ref(), "-k".as_ref(), key.as_os_str()];
        let words = words.into_iter().chain(["--output-dir".as_ref(), to.as_os_str()]).map(OsString::from);
        words.chain(files(paths)).collect::<Vec<_>>()
    };
    let copy = |paths: &[PathBuf]| {
        let words = ["cp".as_ref(), "-t".as_ref(), fresh.as_os_str()].map(OsString::from);
        words.into_iter().chain(files(paths)).collect::<Vec<_>>()
    };
    let each = |script: &str| {
        let words = ["sh", "-ec", script, "each"].map(OsString::from);
        let places = [fresh.as_os_str(), key.as_os_str(), binary.as_os_str()].map(OsString::from);
        words.into_iter().chain(places).chain(files(&small[..FEW])).collect::<Vec<_>>()
    };
    let loop_of = |command: &str| {
        format!(
            "to=$1 key=$2 own=$3; shift 3; for file; do {command} -in \"$file\" -out \"$to/${{file##*/}}\"; done"
        )
    };
    let own = loop_of("\"$own\" encrypt -k \"$key\"").replace("-in ", "-i ").replace("-out ", "-o ");
    // A key of bytes needs no key derivation, which would take most of the time.
    let (hex, iv) = ("00112233445566778899aabbccddeeff", "0f0e0d0c0b0a09080706050403020100");
    let openssl = loop_of(&format!("openssl enc -aes-128-ctr -K {hex} -iv {iv}"));

    run(&ours("encrypt", &sealed, small))?;
    let names = small.iter().filter_map(|path| path.file_name());
    let encrypted: Vec<PathBuf> = names.map(|name| sealed.join(name).with_added_extension("enc")).collect();
    let others = [
        (ours("encrypt", &fresh, small), copy(small)),
        (ours("decrypt", &fresh, &encrypted), copy(&encrypted)),
        (ours("encrypt", &fresh, &small[..FEW]), each(&own)),
        (ours("encrypt", &fresh, &small[..FEW]), each(&openssl)),
    ];
    let mut results = Vec::new();
    for (goal, (ours, theirs)) in GOALS.into_iter().zip(others) {
        results.push(Comparison { goal, ours, theirs, fresh: Some(fresh.clone()) }.run(rounds)?);
    }
    same(&ours("decrypt", &fresh, &encrypted), &fresh, small)?;
    Ok(json!(results))
}

/// Checks that the files are what they were after both ways.
fn same(decrypt: &[OsString], opened: &Path, small: &[PathBuf]) -> Result<(), String> {
    let _ = fs::remove_dir_all(opened);
    fs::create_dir(opened).map_err(|e| format!("{}: {e}", opened.display()))?;
    run(decrypt)?;
    for path in small {
        let name = path.file_name().unwrap_or_default();
        if fs::read(path).ok() != fs::read(opened.join(name)).ok() {
            return Err(format!("{}: it did not decrypt to the original", path.display()));
        }
    }
    Ok(())
}

fn run(words: &[OsString]) -> Result<(), String> {
    let status = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{}: {status}", words[0].to_string_lossy())),
        Err(e) => Err(format!("{}: {e}", words[0].to_string_lossy())),
    }
}
