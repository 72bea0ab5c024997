//! `millstream digest` of many files beside `sha256sum` and `b3sum`, and of one beside `openssl dgst`, in turns.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::turns::{Comparison, make};

/// The number of small files, and the range of their lengths in bytes.
const SMALL: (usize, usize, usize) = (20_000, 1 << 10, 4 << 10);
/// The number of large files, and the length of each in bytes.
const LARGE: (usize, usize) = (16, 64 << 20);

/// A goal: the name of a comparison, and the least ratio of the other's time to ours.
const GOALS: [(&str, f64); 4] = [
    ("20000 files of 1 to 4 KiB, beside sha256sum", 1.5),
    ("20000 files of 1 to 4 KiB, beside b3sum with 2 threads", 1.5),
    ("16 files of 64 MiB, beside itself on one processor", 1.9),
    ("1 file of 64 MiB, beside openssl dgst", 1.0),
];

/// Measures all comparisons whose programs there are. Returns them for the record, and the programs that there aren't.
///
/// # Errors
/// Fails when there is no room for the files, when a command fails, or when digests differ.
pub fn measure(
    binary: &Path,
    folder: &Path,
    small: &[PathBuf],
    rounds: u32,
) -> Result<(Value, Vec<String>), String> {
    let large = make(&folder.join("large"), LARGE.0, |_| LARGE.1)?;
    same(binary, &small[..1000])?;
    let command = |words: &[&str], files: &[PathBuf]| -> Vec<OsString> {
        words.iter().map(OsString::from).chain(files.iter().map(|file| file.into())).collect()
    };
    let ours = |files: &[PathBuf]| {
        let program = std::iter::once(binary.as_os_str().to_owned());
        program.chain(command(&["digest", "-a", "sha256"], files)).collect::<Vec<_>>()
    };
    let alone = command(&["taskset", "-c", "0"], &[]).into_iter().chain(ours(&large)).collect();
    let others = [
        (ours(small), command(&["sha256sum"], small)),
        (ours(small), command(&["b3sum", "--num-threads", "2"], small)),
        (ours(&large), alone),
        (ours(&large[..1]), command(&["openssl", "dgst", "-sha256"], &large[..1])),
    ];
    let mut absent = Vec::new();
    let mut results = Vec::new();
    for (goal, (ours, theirs)) in GOALS.into_iter().zip(others) {
        let program = theirs[0].to_string_lossy().into_owned();
        if Command::new(&program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
        {
            absent.push(format!("{program}: it is not installed"));
            continue;
        }
        results.push(Comparison { goal, ours, theirs, fresh: None }.run(rounds)?);
    }
    Ok((json!(results), absent))
}

/// Makes the small files.
///
/// # Errors
/// Fails when there is no room for them.
pub fn small(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (count, least, most) = SMALL;
    make(&folder.join("small"), count, |random| least + random.below(most - least + 1))
}

/// Checks that ours are the digests of `sha256sum`.
fn same(binary: &Path, files: &[PathBuf]) -> Result<(), String> {
    let output = |command: &mut Command| -> Result<Vec<u8>, String> {
        let output = command.args(files).output().map_err(|e| format!("{command:?}: {e}"))?;
        if output.status.success() { Ok(output.stdout) } else { Err(format!("sha256: {}", output.status)) }
    };
    let theirs = output(&mut Command::new("sha256sum"))?;
    let ours = output(Command::new(binary).args(["digest", "-a", "sha256"]))?;
    // Theirs begins a line, ours ends one.
    let theirs =
        String::from_utf8_lossy(&theirs).lines().map(|line| line[..64].to_owned()).collect::<Vec<_>>();
    let ours = String::from_utf8_lossy(&ours);
    let same = ours.lines().map(|line| line.rsplit(' ').next().unwrap_or_default()).eq(theirs.iter());
    if same { Ok(()) } else { Err("our digests are not those of sha256sum".to_owned()) }
}
