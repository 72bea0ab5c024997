//! A broker in a process of its own, and what the system says of processes.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream_broker::{Broker, Config, Stop, WorkerCommand};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use tempfile::TempDir;

use crate::client::Client;

/// How long anything may take here.
pub const LIMIT: Duration = Duration::from_secs(20);

/// The broker's own side.
pub fn serve(arguments: &[OsString]) {
    let text = |at: usize| arguments[at].to_str().unwrap();
    let this = std::env::current_exe().unwrap();
    let worker = WorkerCommand { program: this, arguments: vec![arguments[6].clone()] };
    let mut config = Config::new(PathBuf::from(&arguments[0]), worker);
    config.accelerators = text(1).parse().unwrap();
    config.policy = Some(PathBuf::from(&arguments[2])).filter(|path| !path.as_os_str().is_empty());
    config.metrics = text(3).parse().ok();
    if let Ok(files) = text(4).parse() {
        setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum: Some(files) }).unwrap();
    }
    if text(5) == "inherited" {
        config.listener = Some(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    }
    let stop = Stop::new().unwrap();
    stop.on_signals().unwrap();
    match Broker::start(config) {
        Ok(broker) => {
            // Whoever waits for the end of this output knows that it serves.
            println!("serving");
            broker.run(&stop).unwrap();
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    }
}

/// How a broker is started.
#[derive(Default)]
pub struct Setting {
    pub workers: usize,
    pub policy: Option<&'static str>,
    pub metrics: Option<String>,
    pub files: Option<u64>,
    pub listener: Option<OwnedFd>,
    /// Whether its workers are real ones.
    pub real: bool,
}

/// A broker, which ends with this.
pub struct Service {
    pub directory: TempDir,
    pub child: Child,
}

impl Service {
    pub fn with(setting: Setting) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Other users are to reach it.
        fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let policy = setting.policy.map(|text| {
            let path = directory.path().join("policy.toml");
            fs::write(&path, text).unwrap();
            path
        });
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("as-broker").arg(socket_in(directory.path()));
        command.arg(setting.workers.max(1).to_string());
        command.arg(policy.unwrap_or_default());
        command.arg(setting.metrics.unwrap_or_default());
        command.arg(setting.files.map_or(String::new(), |files| files.to_string()));
        command.arg(if setting.listener.is_some() { "inherited" } else { "" });
        command.arg(if setting.real { "as-worker" } else { "as-stub" });
        command.stdin(setting.listener.map_or_else(Stdio::null, Stdio::from)).stdout(Stdio::piped());
        let mut child = command.process_group(0).spawn().unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert_eq!(line, "serving\n", "the broker did not start");
        Service { directory, child }
    }

    pub fn new() -> Self {
        Service::with(Setting::default())
    }

    pub fn socket(&self) -> PathBuf {
        socket_in(self.directory.path())
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.socket())
    }

    pub fn signal(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// Waits until the broker has ended, and says how.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        eventually("the broker ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The socket's directory is one that the broker makes.
fn socket_in(directory: &Path) -> PathBuf {
    directory.join("run").join("millstream.sock")
}

pub fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

/// Tries again and again until it is so.
pub fn eventually<T>(what: &str, mut is_so: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = is_so() {
            return found;
        }
        assert!(begin.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A line of `/proc/PID/status`, without its name.
pub fn status_line(pid: u32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} in {text}")).trim().to_owned()
}

/// Processor time of a process, in clock ticks.
pub fn ticks(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
