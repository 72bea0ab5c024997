//! The common parts of the command's tests: a directory for each, and ways to call the command.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub const MILLSTREAM: &str = env!("CARGO_BIN_EXE_millstream");

/// A directory that is gone when the test ends.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    /// Makes one with the PINs of tokens in it: the user's in the file `pin`, and the officer's in `so`.
    pub fn with_pins() -> Self {
        let place = Place::new();
        place.key("pin", "1234\n");
        place.key("so", "officer\n");
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes a file that only its owner may read, as keys should be.
    pub fn key(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, bytes);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Returns the names of all files, sorted, including hidden ones.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `millstream` in this directory.
    pub fn millstream<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ended {
        self.run(MILLSTREAM, args, b"")
    }

    pub fn run<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Ended {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.0.path());
        ended(&mut command, input)
    }

    /// Runs a command line given as words, for commands without blanks in their arguments.
    pub fn words(&self, line: &str) -> Ended {
        self.words_with(line, b"")
    }

    pub fn words_with(&self, line: &str, input: &[u8]) -> Ended {
        self.run(MILLSTREAM, line.split_whitespace(), input)
    }
}

/// The beginnings of lines that say what disturbed a measurement.
const DISTURBED: [&str; 2] = ["millstream speed: warning: ", "millstream compare: warning: "];

/// The end of a command.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ended {
    /// Requires success, and nothing on standard error but what the machine's other programs did to a measurement.
    #[track_caller]
    pub fn good(self) -> Vec<u8> {
        let disturbed = |line: &&str| DISTURBED.iter().any(|begin| line.starts_with(begin));
        assert_eq!(
            (self.code, self.err.lines().filter(|line| !disturbed(line)).collect()),
            (Some(0), Vec::<&str>::new()),
            "with {} bytes on standard output",
            self.out.len()
        );
        self.out
    }

    #[track_caller]
    pub fn text(self) -> String {
        String::from_utf8(self.good()).unwrap()
    }

    /// Requires this exit code, nothing on standard output, and these words on standard error.
    #[track_caller]
    pub fn bad(self, code: i32, words: &[&str]) -> String {
        assert_eq!(self.code, Some(code), "{}", self.err);
        assert_eq!(self.out, b"", "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "no '{word}' in: {}", self.err);
        }
        self.err
    }
}

/// Runs a command with this standard input.
pub fn ended(command: &mut Command, input: &[u8]) -> Ended {
    let mut child = command
        .env_remove("MILLSTREAM_HWCAP")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that fails early doesn't read its input.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    Ended { code: status.code(), out: stdout, err: String::from_utf8(stderr).unwrap() }
}

/// A running service with the socket `s` in a directory of its own. It says nothing but errors.
pub struct Service {
    pub place: Place,
    pub child: Child,
}

impl Service {
    pub fn start(options: &str) -> Service {
        let place = Place::new();
        let mut command = Command::new(MILLSTREAM);
        command.args(["serve", "-q", "--ready-fd", "1", "--socket", "s"]).args(options.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).current_dir(place.path(""));
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "s\n");
        Service { place, child }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell command at a terminal of its own (script(1)), which a test reads and types at.
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    shown: Arc<(Mutex<Vec<u8>>, Condvar)>,
    seen: usize,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    pub fn new(place: &Place, shell: &str) -> Self {
        // The shell could not take back that a caller of the tests ignores a signal.
        let mut child = Command::new("env")
            .args(["--default-signal", "script", "-qec", shell, "/dev/null"])
            .current_dir(place.path(""))
            .env_remove("MILLSTREAM_HWCAP")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let keys = child.stdin.take().unwrap();
        let mut screen = child.stdout.take().unwrap();
        let shown = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let also = Arc::clone(&shown);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = screen.read(&mut bytes) {
                also.0.lock().unwrap().extend_from_slice(&bytes[..n]);
                also.1.notify_all();
            }
        });
        Terminal { child, keys, shown, seen: 0, reader: Some(reader) }
    }

    /// Waits until the terminal shows `text` after what was seen before, and returns the text in between.
    #[track_caller]
    pub fn see(&mut self, text: &str) -> String {
        self.see_all(&[text])
    }

    /// Waits until the terminal shows all the `texts` after what was seen before, in any order, and returns what it showed until the
    /// last of them began.
    #[track_caller]
    pub fn see_all(&mut self, texts: &[&str]) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        let mut shown = self.shown.0.lock().unwrap();
        loop {
            let fresh = &shown[self.seen..];
            let at = |text: &&str| fresh.windows(text.len()).position(|window| window == text.as_bytes());
            let all: Option<Vec<(usize, usize)>> =
                texts.iter().map(|text| at(text).map(|at| (at, at + text.len()))).collect();
            if let Some((at, end)) = all.and_then(|all| all.into_iter().max()) {
                let between = String::from_utf8_lossy(&fresh[..at]).into_owned();
                self.seen += end;
                return between;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {texts:?} in: {}", String::from_utf8_lossy(fresh));
            shown = self.shown.1.wait_timeout(shown, left).unwrap().0;
        }
    }

    pub fn type_in(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end. Returns the exit code, and everything that was shown.
    pub fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        (status.code(), String::from_utf8_lossy(&self.shown.0.lock().unwrap()).into_owned())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The child still runs when a test failed. The programs at the terminal get a SIGHUP.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns `len` bytes that look random and are the same in every run.
pub fn bytes(len: usize) -> Vec<u8> {
    millstream_testkit::Random::new(len as u64).bytes(len)
}

pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
