//! A real service, and operations on it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream::isolated::{Accelerator, Attach, AttachError};

/// Returns the command that is tested.
pub fn millstream() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_millstream"));
    command.env_remove("MILLSTREAM_SOCKET").env_remove("MILLSTREAM_HWCAP").stdin(Stdio::null());
    command
}

/// The option for workers that serve private keys. Tests start none of them, unless they name it.
pub const PRIVATE: &str = "--private-accelerators";

/// `millstream serve` with a socket of its own. It is ended when this is dropped.
pub struct Service {
    child: Child,
    _folder: tempfile::TempDir,
    socket: PathBuf,
}

impl Service {
    pub fn start() -> Service {
        Service::with(&[])
    }

    /// Starts it with more options.
    pub fn with(options: &[&str]) -> Service {
        Service::as_command(|serve| {
            serve.args(options);
        })
    }

    /// Starts it with any other change to the command.
    pub fn as_command(prepare: impl FnOnce(&mut Command)) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("run").join("socket");
        std::fs::create_dir(socket.parent().unwrap()).unwrap();
        let mut serve = millstream();
        serve.args(["serve", "--quiet", "--socket"]).arg(&socket).stdout(Stdio::null());
        prepare(&mut serve);
        // Tests that kill workers want those alone that they attach to.
        if !serve.get_args().any(|argument| argument == PRIVATE) {
            serve.args([PRIVATE, "0"]);
        }
        let child = serve.spawn().unwrap();
        let service = Service { child, _folder: folder, socket };
        eventually("the service listens", || service.attach().is_ok());
        service
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns a folder for files of the test.
    pub fn folder(&self) -> &Path {
        self._folder.path()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn wanted(&self) -> Attach {
        // Other tests may have all processors, and the disk, for longer than a program waits by default.
        let limit = Duration::from_secs(60);
        Attach { socket: Some(self.socket.clone()), depth: 64, limit, ..Attach::default() }
    }

    pub fn attach(&self) -> Result<Accelerator, AttachError> {
        self.wanted().attach()
    }

    /// Returns the output of `millstream status --json`.
    pub fn status(&self) -> serde_json::Value {
        let output = millstream().args(["status", "--json", "--socket"]).arg(&self.socket).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Runs a command of the operator.
    pub fn operator(&self, arguments: &[&str]) {
        let output = millstream().args(arguments).arg("--socket").arg(&self.socket).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns the processes of its workers.
    pub fn workers(&self) -> Vec<u32> {
        children(self.pid())
    }

    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Waits for its end after a signal.
    pub fn wait(&mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let workers = self.workers();
        signal(self.pid(), "TERM");
        signal(self.pid(), "CONT");
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begin.elapsed() > Duration::from_secs(10) {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // A test that stopped a worker must not leave it behind.
        workers.into_iter().for_each(|pid| signal(pid, "CONT"));
    }
}

/// Sends a signal by name. The process may be gone already.
pub fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill").args([format!("-{name}"), pid.to_string()]).stderr(Stdio::null()).status();
}

pub fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Returns true when a process runs (and is no zombie).
pub fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| rest.split_whitespace().next().is_some_and(|state| state != "Z"))
}

/// Waits until a condition holds, and fails when it takes too long.
#[track_caller]
pub fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}: not within 20 seconds");
        std::thread::sleep(Duration::from_millis(5));
    }
}
