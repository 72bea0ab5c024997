//! A worker's process, as its broker sees it.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use millstream_broker::worker::{self, Config};
use millstream_protocol::{Message, Order, QueueCounts, Report};
use millstream_shm::{Socket, pair};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// The first argument of a worker.
pub const WORKER: &str = "worker";
/// The first argument of a process that echoes what it is sent.
pub const ECHO: &str = "echo";

/// Runs the worker's own side. Its control socket is its standard input.
pub fn worker() -> ExitCode {
    let mut config = Config::new(0);
    let mut arguments = std::env::args().skip(2);
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        let micros = || Duration::from_micros(value.parse().expect("microseconds"));
        match name.as_str() {
            "--cpu" => config.cpu = Some(value.parse().expect("a processor")),
            "--spin-us" => config.spin = micros(),
            "--flush-us" => config.flush = micros(),
            "--key-memory" => config.key_memory = value.parse().expect("bytes"),
            "--tokens" => config.tokens = value == "yes",
            "--deny" => config.deny = Some(value),
            "--probe" => config.probe = Some(crate::sandbox::probe(&value)),
            // The parent has set it as the environment already, because a process reads its environment when
            // it begins.
            "--features" | "--queue" => {}
            "--hidden" => no_hidden_memory(),
            _ => panic!("no such option: {name}"),
        }
    }
    match worker::run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("worker: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes this process believe that it runs on a kernel without `memfd_secret`.
fn no_hidden_memory() {
    let rules = [(libc::SYS_memfd_secret, Vec::new())].into_iter().collect();
    let answer = SeccompAction::Errno(libc::ENOSYS as u32);
    let processor = std::env::consts::ARCH.try_into().expect("a processor with filters");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, processor).expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    seccompiler::apply_filter(&program).expect("applied");
}

/// A running worker.
pub struct Worker {
    pub child: Child,
    pub control: Socket,
    pub sandbox: String,
    pub key_memory: String,
}

/// The most that anything may take here before the test fails.
pub const LIMIT: Duration = Duration::from_secs(20);

impl Worker {
    /// Starts a worker, and waits until it is ready.
    pub fn start(options: &[&str]) -> Worker {
        Worker::try_start(options).unwrap_or_else(|status| panic!("the worker is not ready: {status}"))
    }

    /// Starts a worker. Returns how it ended if it never was ready.
    pub fn try_start(options: &[&str]) -> Result<Worker, ExitStatus> {
        let (mut worker, ready) = Worker::spawn(options, Stdio::inherit());
        if ready.is_some() { Ok(worker) } else { Err(worker.ended()) }
    }

    /// Starts a worker, and waits until it is ready or has ended.
    pub fn spawn(options: &[&str], messages: Stdio) -> (Worker, Option<()>) {
        let (control, theirs) = pair().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        for (name, variable) in [("--features", "MILLSTREAM_HWCAP"), ("--queue", "MILLSTREAM_QUEUE")] {
            if let Some(at) = options.iter().position(|option| *option == name) {
                command.env(variable, options[at + 1]);
            }
        }
        command.arg(WORKER).args(options).stdin(Stdio::from(OwnedFd::from(theirs))).stderr(messages);
        let child = command.spawn().unwrap();
        drop(command);
        let mut worker = Worker { child, control, sandbox: String::new(), key_memory: String::new() };
        let ready = worker.report().map(|report| match report {
            Report::Ready { sandbox, key_memory, .. } => {
                (worker.sandbox, worker.key_memory) = (sandbox, key_memory);
            }
            other => panic!("{other:?} before it is ready"),
        });
        (worker, ready)
    }

    /// Returns the next report; none when it has ended.
    pub fn report(&self) -> Option<Report> {
        assert!(self.control.wait(Some(LIMIT)).unwrap(), "the worker says nothing");
        let received = self.control.receive().ok()??;
        Some(Report::decode(&received.bytes).unwrap())
    }

    /// Sends an order and returns the answer; none when it has ended. A grant's last counts come before the answer.
    pub fn order(&self, order: &Order, descriptors: &[BorrowedFd<'_>]) -> Option<Report> {
        self.control.send(&order.encode(), descriptors).ok()?;
        match self.report() {
            Some(Report::Counts { .. }) if matches!(order, Order::Drop { .. }) => self.report(),
            answer => answer,
        }
    }

    /// Sends an order that must be obeyed.
    #[track_caller]
    pub fn obeys(&self, order: &Order, descriptors: &[BorrowedFd<'_>]) {
        assert_eq!(self.order(order, descriptors), Some(Report::Done {}), "{order:?}");
    }

    /// Sends an order that must be refused, and returns the reason.
    #[track_caller]
    pub fn refuses(&self, order: &Order, descriptors: &[BorrowedFd<'_>]) -> String {
        match self.order(order, descriptors) {
            Some(Report::Failed { why }) => why,
            other => panic!("{other:?} in answer to {order:?}"),
        }
    }

    /// Returns its counts: how often it slept, and each grant's figures.
    pub fn counts(&self) -> (u64, Vec<(u64, QueueCounts)>) {
        self.control.send(&Order::Count {}.encode(), &[]).unwrap();
        let Some(Report::Worker { sleeps, .. }) = self.report() else { panic!("no figures of the worker") };
        let mut grants = Vec::new();
        loop {
            match self.report() {
                Some(Report::Counts { grant, counts }) => grants.push((grant, counts)),
                Some(Report::Done {}) => return (sleeps, grants),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Runs `body` while the worker is stopped.
    pub fn stopped(&self, body: impl FnOnce()) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        body();
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < LIMIT, "the worker does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the worker's directory in /proc, which only root may read for a process that can't be dumped.
    pub fn described(&self, test: &str) -> Option<String> {
        if rustix::process::geteuid().is_root() {
            return Some(format!("/proc/{}", self.child.id()));
        }
        println!("SKIPPED {test}: only root can look into a worker");
        None
    }

    /// Returns the processor time it has used.
    pub fn cpu_time(&self) -> Duration {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<_> = text.rsplit(") ").next().unwrap().split(' ').collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(10 * ticks)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker that has ended already can't be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
