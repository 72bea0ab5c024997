//! Processes that count in one file at once, and the counts that killed ones leave behind.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use millstream_shm::tally::{Counted, Place, Tally};

const ALGORITHMS: [&str; 3] = ["AES-128-GCM", "AES-256-CTR", "SHA2-256"];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("count") => count(Path::new(&arguments[2]), 10_000),
        Some("count-for-ever") => count_for_ever(Path::new(&arguments[2])),
        _ => {
            all_that_is_added_at_once_is_counted();
            what_a_killed_process_counted_remains();
            println!("test result: ok. 2 passed; 0 failed; 0 ignored");
        }
    }
}

fn count(path: &Path, times: u64) {
    let tally = Tally::open(path).unwrap();
    for _ in 0..times {
        for algorithm in ALGORITHMS {
            tally.row(Place::InProcess, algorithm, "portable").add(1, 16);
        }
    }
}

fn count_for_ever(path: &Path) {
    count(path, 1000);
    println!("counted");
    loop {
        count(path, 1);
    }
}

fn child(what: &str, path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(what).arg(path).stdout(Stdio::piped()).spawn().unwrap()
}

fn fresh() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tally");
    (folder, path)
}

fn all_that_is_added_at_once_is_counted() {
    let (_folder, path) = fresh();
    let tally = Tally::create(&path).unwrap();
    let children: Vec<Child> = (0..6).map(|_| child("count", &path)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let expected = ALGORITHMS.map(|algorithm| Counted {
        place: Place::InProcess,
        algorithm: algorithm.into(),
        kernel: "portable".into(),
        operations: 60_000,
        bytes: 960_000,
    });
    assert_eq!(tally.read(), expected);
}

fn what_a_killed_process_counted_remains() {
    let (_folder, path) = fresh();
    let tally = Tally::create(&path).unwrap();
    let mut child = child("count-for-ever", &path);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "counted\n");
    // `kill` sends SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    let left = tally.read();
    assert_eq!(left.len(), 3);
    assert!(left.iter().all(|row| row.operations >= 1000), "{left:?}");
    count(&path, 5);
    assert_eq!(tally.read()[0].operations, left[0].operations + 5, "others go on");
}
