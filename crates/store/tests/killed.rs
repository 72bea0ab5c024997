//! A real process with a real file is killed at every write, and at random times. What it has acknowledged is there.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{OFFICER, USER, attributes, secret, user, vault};
use millstream_store::{Error, File, token};
use redb::StorageBackend;
use redb::backends::FileBackend;

const FILE: &str = "MILLSTREAM_TEST_STORE";
const STEPS: &str = "MILLSTREAM_TEST_STEPS";

/// A file whose process kills itself in place of a certain operation.
#[derive(Debug)]
struct Deadly {
    file: FileBackend,
    left: Arc<AtomicU64>,
}

impl Deadly {
    fn step(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
    }
}

impl StorageBackend for Deadly {
    fn len(&self) -> std::io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.step();
        self.file.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.step();
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.step();
        self.file.write(offset, data)
    }

    fn close(&self) -> std::io::Result<()> {
        self.file.close()
    }
}

/// The process that is killed. It is no test unless another test starts it.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else { return };
    let steps: u64 = std::env::var(STEPS).unwrap().parse().unwrap();
    let left = Arc::new(AtomicU64::new(steps));
    let name = path.clone();
    let mut file = File::with_backends(&path, move || {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&name).unwrap();
        Ok(Deadly { file: FileBackend::new(file).unwrap(), left: left.clone() })
    })
    .unwrap();
    let mut token = user(&mut file).unwrap();
    let first = token.file().tokens().next().unwrap().objects;
    for i in first..first + 40 {
        token.add(&attributes(i), &secret(i)).unwrap();
        // Standard output is the other test's pipe: past the harness, which would keep lines to itself.
        let line = format!("added {i}\n");
        rustix::io::write(rustix::stdio::stdout(), line.as_bytes()).unwrap();
    }
    rustix::io::write(rustix::stdio::stdout(), b"whole\n").unwrap();
}

/// Runs the writer on a file and returns how many objects it acknowledged, and true if it came to its end.
fn run(path: &Path, steps: u64, patience: Option<Duration>) -> (usize, bool) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--nocapture", "--test-threads=1"])
        .env(FILE, path)
        .env(STEPS, steps.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || out.lines().map_while(Result::ok).collect::<Vec<_>>());
    if let Some(patience) = patience {
        std::thread::sleep(patience);
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let lines = reader.join().unwrap();
    let is_whole = lines.iter().any(|line| line == "whole");
    assert!(is_whole || status.signal() == Some(9), "the writer failed: {status}: {lines:?}");
    (lines.iter().filter(|line| line.contains("added ")).count(), is_whole)
}

/// Compares a store with the number of objects that were acknowledged, and returns how many it has.
fn check(path: &Path, acknowledged: usize, what: &str) -> usize {
    let mut file = File::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(file.damage().is_empty(), "{what}: {:?}", file.damage());
    let mut token = user(&mut file).unwrap_or_else(|error| panic!("{what}: {error}"));
    let objects = token.file().tokens().next().unwrap().objects;
    let one_more = acknowledged..=acknowledged + 1;
    assert!(one_more.contains(&objects), "{what}: {objects} objects, {acknowledged} acknowledged");
    for i in 0..objects {
        let object = token.find(&attributes(i).label).unwrap();
        let (is, bytes) = token.read(object).unwrap();
        assert_eq!((is, &bytes[..]), (attributes(i), &secret(i)[..]), "{what}");
    }
    objects
}

/// A try is counted before a PIN is compared, so a process that is killed at the wrong time can have spent tries. Ten deaths in a row would
/// lock the token, so each trial has a store of its own.
fn fresh(folder: &Path) -> PathBuf {
    let path = folder.join("tokens");
    let _ = std::fs::remove_file(&path);
    drop(common::store(&path));
    path
}

#[test]
fn a_process_that_is_killed_at_every_step_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut steps = 0;
    loop {
        let path = fresh(folder.path());
        let (acknowledged, is_whole) = run(&path, steps, None);
        check(&path, acknowledged, &format!("killed at step {steps}"));
        if is_whole {
            break;
        }
        // Each step of the first objects, then some of each of the later ones.
        steps += if steps < 150 { 1 } else { 7 };
    }
    assert!(steps > 200, "only {steps} steps");
}

#[test]
fn a_process_that_is_killed_at_any_time_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut path = fresh(folder.path());
    let (mut total, mut killed) = (0, 0);
    for trial in 0..40u64 {
        let patience = Duration::from_micros(2_000 + trial * 7_919 % 60_000);
        let (acknowledged, is_whole) = run(&path, u64::MAX, Some(patience));
        killed += u32::from(!is_whole);
        // The opening takes the tries back that a killed process has spent.
        total = check(&path, total + acknowledged, &format!("trial {trial}"));
        if total > 300 {
            (path, total) = (fresh(folder.path()), 0);
        }
    }
    assert!(killed > 10, "only {killed} processes were killed in time");
}

/// Nothing has the store's name before the store is whole.
#[test]
fn a_process_that_is_killed_while_it_makes_a_store_leaves_none_or_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    for trial in 0..60u64 {
        let path = folder.path().join("tokens");
        let _ = std::fs::remove_file(&path);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "maker", "--nocapture"])
            .env(FILE, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(500 + trial * 311 % 12_000));
        child.kill().unwrap();
        child.wait().unwrap();
        match File::open(&path) {
            Ok(file) => assert_eq!(file.tokens().count(), 0),
            Err(Error::Missing(_)) => {}
            Err(error) => panic!("trial {trial}: {error}"),
        }
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| name == "tokens"), "{left:?}");
    }
}

/// The process that makes a store.
#[test]
fn maker() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else { return };
    File::create(&path).unwrap();
    std::io::stdout().flush().unwrap();
    let _ = (OFFICER, USER, vault(), token::now());
}
