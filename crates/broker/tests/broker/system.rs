//! A broker in a process of its own, and the system's view of processes.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream_broker::{Broker, Config, MetricsConfig, Stop, WorkerCommand};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use tempfile::TempDir;

use crate::client::Client;

/// The most that anything may take here.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Runs the broker's own side.
pub fn serve(arguments: &[OsString]) {
    let text = |at: usize| arguments[at].to_str().unwrap();
    let this = std::env::current_exe().unwrap();
    let worker = WorkerCommand { program: this, arguments: vec![arguments[6].clone()] };
    let mut config = Config::new(PathBuf::from(&arguments[0]), worker);
    config.accelerators = text(1).parse().unwrap();
    config.policy = Some(PathBuf::from(&arguments[2])).filter(|path| !path.as_os_str().is_empty());
    let mut words = text(3).split_whitespace();
    config.metrics = words.next().map(|address| {
        let hosts = words.clone().filter(|word| *word != "names").map(str::to_owned).collect();
        let names = words.any(|word| word == "names");
        MetricsConfig { hosts, names, ..MetricsConfig::new(address.parse().unwrap()) }
    });
    if let Ok(files) = text(4).parse() {
        setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum: Some(files) }).unwrap();
    }
    if text(5) == "inherited" {
        config.listener = Some(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    }
    config.refuse_descriptors = arguments.get(7).is_none_or(|word| word != "old-kernel");
    log_beside(&config.socket);
    if let Some(stuck) = std::env::var("TRIAL_STUCK_MS").ok().and_then(|text| text.parse().ok()) {
        config.stuck = Duration::from_millis(stuck);
    }
    if let Some(private) = std::env::var("TRIAL_PRIVATE").ok().and_then(|text| text.parse().ok()) {
        config.private_accelerators = private;
    }
    let stop = Stop::new().unwrap();
    stop.on_signals().unwrap();
    match Broker::start(config) {
        Ok(broker) => {
            // The parent reads this line to know that the broker serves.
            println!("serving");
            broker.run(&stop).unwrap();
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    }
}

/// Writes the log to a file that [`Service::log`] finds.
fn log_beside(socket: &Path) {
    let file = fs::File::options().create(true).append(true).open(log_of(socket)).unwrap();
    let lines = tracing_subscriber::fmt().with_writer(std::sync::Mutex::new(file));
    lines.with_ansi(false).without_time().with_target(false).init();
}

fn log_of(socket: &Path) -> PathBuf {
    let run = socket.parent().unwrap();
    run.with_file_name("log")
}

/// The setting of a broker.
#[derive(Default)]
pub struct Setting {
    pub workers: usize,
    /// The number of workers for private keys.
    pub private: usize,
    pub policy: Option<&'static str>,
    /// The address of the metrics, the names under which they may be asked for, and `names` if each grant is
    /// to be listed.
    pub metrics: Option<String>,
    pub files: Option<u64>,
    pub listener: Option<OwnedFd>,
    /// True for real workers.
    pub real: bool,
    /// True to behave as on a kernel that can't refuse descriptors.
    pub old_kernel: bool,
    /// The time after which a worker is stuck, if not the usual one.
    pub stuck: Option<Duration>,
}

/// A broker, which is killed when this is dropped.
pub struct Service {
    pub directory: TempDir,
    pub child: Child,
}

impl Service {
    pub fn with(setting: Setting) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Other users must be able to reach it.
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
        command.args(setting.old_kernel.then_some("old-kernel"));
        command.env("TRIAL_PRIVATE", setting.private.to_string());
        command.envs(setting.stuck.map(|stuck| ("TRIAL_STUCK_MS", stuck.as_millis().to_string())));
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

    /// Returns its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(log_of(&self.socket())).unwrap()
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.socket())
    }

    pub fn signal(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// Waits until the broker has ended, and returns its status.
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

/// Returns the path of the socket, in a directory that the broker makes.
fn socket_in(directory: &Path) -> PathBuf {
    directory.join("run").join("millstream.sock")
}

/// Sends a signal to a worker. After SIGSTOP, waits until it has stopped: a running thread goes on for a
/// moment, in which an operation can finish.
pub fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
    if signal == Signal::STOP {
        let state = || std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        eventually("that it stops", || state().contains("State:\tT").then_some(()));
    }
}

/// Tries again and again until there is a result.
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

/// Returns a line of `/proc/PID/status`, without its name.
pub fn status_line(pid: u32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} in {text}")).trim().to_owned()
}

/// Returns the processor time of a process, in clock ticks.
pub fn ticks(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Returns the time that processors spent on processes, not counting the time they had to wait for one.
pub fn processor_time(pids: &[u32]) -> Duration {
    let tasks = pids.iter().flat_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).unwrap());
    tasks.map(|task| on_processors(&task.unwrap().path())).sum()
}

/// Returns the same for one thread.
fn on_processors(task: &Path) -> Duration {
    let text = fs::read_to_string(task.join("schedstat")).unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// Attaches and leaves again and again. The cost of a grant is measured in processor time, because on a busy
/// machine most of the elapsed time is waiting. In the service it is less than a millisecond, apart from the
/// system's time for the memory, which is measured here. A grant never waits for time to pass.
pub fn grants_are_quick(service: &Service, what: &str) {
    const BATCHES: usize = 20;
    const GRANTS: u32 = 10;
    let mut pids: Vec<u32> = service.client().status().0.iter().map(|worker| worker.pid).collect();
    pids.push(service.child.id());
    let (mut times, mut spent, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        let mut bytes = 0;
        let before = processor_time(&pids);
        for _ in 0..GRANTS {
            let client = service.client();
            let begin = Instant::now();
            bytes = client.attach().grant.arena_bytes as usize;
            times.push(begin.elapsed());
        }
        spent.push((processor_time(&pids) - before) / GRANTS);
        let before = on_processors("/proc/thread-self".as_ref());
        for _ in 0..GRANTS {
            millstream_shm::Memory::new("as a grant's", bytes).unwrap().commit().unwrap();
        }
        memory.push((on_processors("/proc/thread-self".as_ref()) - before) / GRANTS);
    }
    times.sort();
    spent.sort();
    memory.sort();
    let (spent, memory) = (spent[0], memory[0]);
    println!(
        "{what}: best {:?}, median {:?}, worst {:?}; {spent:?} of processors, {memory:?} for its memory alone",
        times[0],
        times[times.len() / 2],
        times[times.len() - 1]
    );
    assert!(spent < Duration::from_millis(1) + 2 * memory, "{spent:?} of processors for a grant");
    assert!(times[0] < Duration::from_millis(20), "{:?} at best", times[0]);
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
