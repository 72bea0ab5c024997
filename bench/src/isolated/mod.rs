//! Keys and accelerators in another process: the cost beside the local queue, and beside the machine's own
//! cost between two processes.

mod against;
mod bare;
mod beside;
mod clients;
mod flow;
pub mod handshakes;
mod hybrid;
mod nginx;
pub mod private;
pub mod programs;
mod running;
mod s_server;
pub mod tokens;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use millstream::isolated::{Accelerator, Attach};
use millstream::queue::{AcceleratorThread, Config, Queue, Request, ThreadConfig};
use millstream_cpu::Features;
use millstream_measure::statistics::median;
use serde_json::{Value, json};

use crate::record::{self, Circumstances, Recording, rounded};
use against::mediated;
use bare::Peer;
pub use bare::pin;
use flow::{Flow, Work};

/// The options that all benches of another process have in common.
#[derive(clap::Args)]
struct Common {
    /// The command whose 'serve' is the service
    #[arg(long, value_name = "PATH")]
    command: Option<PathBuf>,
    /// The processors of the clients, and of the worker with all that serves them
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',', num_args = 1, default_values_t = [0, 1])]
    cpus: Vec<usize>,
    /// Compare results and time nothing
    #[arg(long)]
    check_only: bool,
    #[command(flatten)]
    recording: Recording,
}

impl Common {
    /// Returns the processor of the clients and that of the worker.
    fn processors(&self) -> Result<[usize; 2], String> {
        self.cpus[..].try_into().map_err(|_| "two processors, as in --cpus 0,1".to_owned())
    }

    /// Returns the command whose service is measured.
    fn command(&self) -> Result<PathBuf, String> {
        crate::millstream(self.command.as_deref())
    }
}

#[derive(clap::Args)]
pub struct Arguments {
    /// Number of turns of each way
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a turn
    #[arg(long, value_name = "S", default_value_t = 0.01)]
    seconds: f64,
    /// Only these of aes-128-ecb, aes-128-cbc, hmac-sha256, sha256, aes-128-ctr, aes-128-gcm and copy
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Sizes in bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [64, 256, 1024, 4096, 8192, 16384])]
    sizes: Vec<usize>,
    /// Measure SoftHSM2 too, loaded and behind p11-kit's remote
    #[arg(long)]
    against: bool,
    #[command(flatten)]
    common: Common,
}

/// Bytes of the objects whose time with 32 in flight has a goal.
const SMALL: usize = 64;

/// Bytes from which on objects are compared with the local queue, or with a copy.
const WIDE: usize = 256;

/// Returns the goal for an object of [`SMALL`] bytes, in nanoseconds.
fn small(work: Work) -> Option<f64> {
    match work {
        Work::Ecb => Some(50.0),
        Work::Cbc | Work::Gcm => Some(65.0),
        Work::HmacSha256 => Some(110.0),
        _ => None,
    }
}

/// The service of this run.
struct Service {
    child: Child,
    folder: PathBuf,
    socket: PathBuf,
}

impl Service {
    fn start(command: &Path, cpu: usize) -> Result<Service, String> {
        Service::start_with(command, &[cpu], None)
    }

    /// Starts one with its workers on those processors, in turn, and the text of a policy.
    fn start_with(command: &Path, cpus: &[usize], policy: Option<&str>) -> Result<Service, String> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("millstream-bench-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let socket = folder.join("socket");
        let mut serve = Command::new(command);
        serve.args(["serve", "--quiet", "--socket"]).arg(&socket).args([
            "--accelerators",
            "1",
            "--pin",
            &cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        ]);
        if let Some(policy) = policy {
            let path = folder.join("policy.toml");
            std::fs::write(&path, policy).map_err(|e| format!("{}: {e}", path.display()))?;
            serve.arg("--policy").arg(path);
        }
        serve.stdin(Stdio::null()).stdout(Stdio::null());
        let child = serve.spawn().map_err(|e| format!("{}: {e}", command.display()))?;
        let service = Service { child, folder, socket };
        let begin = Instant::now();
        while service.attach(64, 1).is_err() {
            if begin.elapsed() > Duration::from_secs(10) {
                return Err("the service did not start within ten seconds".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(service)
    }

    fn attach(&self, depth: usize, queues: u32) -> Result<Accelerator, String> {
        let attach = Attach { socket: Some(self.socket.clone()), depth, queues, ..Attach::default() };
        attach.attach().map_err(|e| e.to_string())
    }

    /// Returns the processor time of the service and its workers, in nanoseconds.
    fn processor_ns(&self) -> u64 {
        let mut all = vec![self.child.id()];
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let listed = std::fs::read_to_string(children).unwrap_or_default();
        all.extend(listed.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        let of = |pid: u32| {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let each = tasks.filter_map(|task| {
                let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
                text.split(' ').next()?.parse::<u64>().ok()
            });
            each.sum::<u64>()
        };
        all.into_iter().map(of).sum()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// One figure and its target.
struct Figure {
    what: String,
    value: f64,
    unit: &'static str,
    /// The target: true for at most, and the value.
    wish: Option<(bool, f64)>,
    detail: String,
}

impl Figure {
    fn line(&self) -> String {
        let wish = match self.wish {
            None => String::new(),
            Some((most, limit)) => {
                let met = if most { self.value <= limit } else { self.value >= limit };
                let bound = if most { "at most" } else { "at least" };
                format!("{bound} {limit}: {}", if met { "met" } else { "MISSED" })
            }
        };
        format!("{:58} {:>10.3} {:6} {wish:24} {}", self.what, self.value, self.unit, self.detail)
    }

    fn json(&self) -> Value {
        json!({ "what": self.what, "value": rounded(self.value), "unit": self.unit, "detail": self.detail,
                "wish": self.wish.map(|(most, limit)| json!({ (if most { "at_most" } else { "at_least" }): limit })) })
    }
}

/// Measures and reports.
///
/// # Errors
/// When the service can't be started, or a result differs from the local queue's.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.common.recording.wanted()?;
    let features = Features::active().map_err(|e| e.to_string())?;
    let [client, worker] = arguments.common.processors()?;
    let command = arguments.common.command()?;
    // The fork must come before any thread is started.
    let mut peer = Peer::fork(worker)?;
    bare::pin(client);
    let service = Service::start(&command, worker)?;
    compare(&service, features)?;
    if arguments.common.check_only {
        println!("test result: ok. {} passed; 0 failed", Work::ALL.len());
        return Ok(());
    }
    // The worker is part of what is measured.
    let about = Circumstances::now(features, Vec::new(), Vec::new()).beside(1.0);
    let mut run =
        Run { arguments, features, service: &service, peer: &mut peer, worker, figures: Vec::new() };
    if client == worker {
        run.one_processor()?;
    } else {
        run.latency()?;
        run.null()?;
        run.throughput()?;
        run.waking()?;
    }
    run.grants()?;
    run.idle()?;
    let figures = std::mem::take(&mut run.figures);
    let mut text = String::new();
    for line in about.lines() {
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(text, "- client on processor {client}, worker on {worker}\n\n```text");
    figures.iter().for_each(|figure| text += &(figure.line().trim_end().to_owned() + "\n"));
    text += "```\n";
    let mut against = Value::Null;
    if arguments.against {
        let (value, tables) = mediated(&command, &service.socket, client, worker)?;
        against = value;
        let _ = write!(text, "\n## Beside SoftHSM2\n\n```text\n{tables}```\n");
    }
    print!("{text}");
    if arguments.common.recording.wanted()? {
        let value = json!({ "about": about.json(), "cpus": arguments.common.cpus, "against": against,
                            "figures": figures.iter().map(Figure::json).collect::<Vec<_>>() });
        let kind = if client == worker { "-isolated-one-processor" } else { "-isolated" };
        let text = format!("# Keys and accelerators in another process\n\n{text}");
        record::keep(&about, kind, &value, text)?;
    }
    Ok(())
}

/// Compares every kind of work through the isolated queue and the local one.
fn compare(service: &Service, features: Features) -> Result<(), String> {
    let (grant, local) = (service.attach(64, Work::ALL.len() as u32)?, local(features));
    for work in Work::ALL {
        let isolated = grant.queue().map_err(|e| e.to_string())?;
        let mut results = Vec::new();
        for queue in [local()?, isolated] {
            let mut flow = Flow::new(queue, work, 240, 4).map_err(|e| e.to_string())?;
            results.push(flow.result()?);
            flow.end();
        }
        if results[0] != results[1] {
            return Err(format!(
                "{}: the isolated queue gave another result than the local one",
                work.name()
            ));
        }
    }
    Ok(())
}

fn local(features: Features) -> impl Fn() -> Result<Queue, String> {
    move || Queue::inline(features, Config::default()).map_err(|e| e.to_string())
}

struct Run<'a> {
    arguments: &'a Arguments,
    features: Features,
    service: &'a Service,
    peer: &'a mut Peer,
    worker: usize,
    figures: Vec<Figure>,
}

impl Run<'_> {
    fn add(
        &mut self,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
        wish: Option<(bool, f64)>,
        detail: impl Into<String>,
    ) {
        let figure = Figure { what: what.into(), value, unit, wish, detail: detail.into() };
        eprintln!("{}", figure.line());
        self.figures.push(figure);
    }

    fn isolated(&self, work: Work, bytes: usize, depth: usize) -> Result<Flow, String> {
        let queue = self.service.attach(256, 1)?.queue().map_err(|e| e.to_string())?;
        Flow::new(queue, work, bytes, depth).map_err(|e| e.to_string())
    }

    /// Returns the number of operations in a turn.
    fn count(&self, flow: &mut Flow, depth: usize) -> Result<usize, String> {
        let ns = flow.ns(8 * depth)?.min(flow.ns(8 * depth)?);
        Ok(((self.arguments.seconds * 1e9 / ns) as usize).max(4 * depth))
    }

    fn latency(&mut self) -> Result<(), String> {
        let mut flow = self.isolated(Work::Cbc, 64, 1)?;
        let (mut bare, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        flow.single_ns(10_000)?;
        for _ in 0..self.arguments.rounds {
            let trip = self.peer.round_trip_ns(20_000);
            let single = flow.single_ns(10_000)?;
            bare.push(trip);
            ours.push(single);
            ratios.push(single / trip);
        }
        self.add("a cache line there and back, bare", median(bare), "ns", None, "");
        self.add("one aes-128-cbc of 64 bytes, submit to completion", median(ours), "ns", None, "");
        self.add("  over the bare round trip", median(ratios), "times", Some((true, 2.2)), "");
        Ok(())
    }

    fn null(&mut self) -> Result<(), String> {
        let mut flow = self.isolated(Work::Null, 0, 192)?;
        let times = self.count(&mut flow, 192)?;
        let mut inline = Flow::new(local(self.features)()?, Work::Null, 0, 192).map_err(|e| e.to_string())?;
        let (mut ours, mut here) = (Vec::new(), Vec::new());
        for _ in 0..self.arguments.rounds {
            ours.push(flow.ns(times)?);
            here.push(inline.ns(times)?);
        }
        let detail = format!("through the local queue {:.1} ns", median(here));
        let what = "a null operation, 192 in flight: a queue's fixed cost";
        self.add(what, median(ours), "ns", Some((true, 20.0)), detail);
        Ok(())
    }

    /// Measures isolated operations beside local ones, and beside a bare copy there and back.
    fn throughput(&mut self) -> Result<(), String> {
        const DEPTH: usize = 32;
        let config = ThreadConfig { cpu: Some(self.worker), ..ThreadConfig::default() };
        let thread = AcceleratorThread::spawn(self.features, config).map_err(|e| e.to_string())?;
        for work in [Work::Ecb, Work::Cbc, Work::HmacSha256, Work::Sha256, Work::Ctr, Work::Gcm, Work::Copy] {
            let named = &self.arguments.algorithms;
            if !named.is_empty() && !named.iter().any(|name| name == work.name()) {
                continue;
            }
            for &bytes in &self.arguments.sizes {
                if bytes == 0 || bytes > bare::LONGEST || !bytes.is_multiple_of(16) {
                    return Err(format!("{bytes} bytes: a multiple of 16, at most {}", bare::LONGEST));
                }
                let mut isolated = self.isolated(work, bytes, DEPTH)?;
                let on = |queue: Queue| Flow::new(queue, work, bytes, DEPTH).map_err(|e| e.to_string());
                let mut inline = on(local(self.features)()?)?;
                let mut beside = on(thread.queue(Config::default()).map_err(|e| e.to_string())?)?;
                let counts = [
                    self.count(&mut isolated, DEPTH)?,
                    self.count(&mut inline, DEPTH)?,
                    self.count(&mut beside, DEPTH)?,
                ];
                let (data, mut out) = (vec![5; bytes], vec![0; bytes]);
                let mut turns: [Vec<f64>; 4] = Default::default();
                for _ in 0..self.arguments.rounds {
                    // The worker and the bare peer share a processor, so each rests while the other is timed.
                    let bare = self.peer.copy_ns(bytes, DEPTH, counts[0], &data, &mut out);
                    let three = [isolated.ns(counts[0])?, inline.ns(counts[1])?, beside.ns(counts[2])?];
                    turns.iter_mut().zip(three.into_iter().chain([bare])).for_each(|(to, ns)| to.push(ns));
                }
                self.judge(work, bytes, turns.map(median));
                isolated.end();
            }
        }
        Ok(())
    }

    fn judge(&mut self, work: Work, bytes: usize, [isolated, inline, beside, bare]: [f64; 4]) {
        let gb = |ns: f64| bytes as f64 / ns;
        let detail = format!(
            "isolated {isolated:.0} ns, local queue {inline:.0} inline and {beside:.0} on a thread, bare copy {bare:.0} ({:.2} GB/s)",
            gb(bare)
        );
        let best = inline.min(beside);
        let what = format!("{} of {bytes}, 32 in flight", work.name());
        // A small object costs what a queue costs, and has a goal of its own.
        if bytes < WIDE {
            let wish = (bytes == SMALL).then(|| small(work)).flatten();
            return self.add(what, isolated, "ns", wish.map(|ns| (true, ns)), detail);
        }
        // Work that is slower than the copy is compared with the local queue, faster work with the copy.
        if best >= bare {
            self.add(
                what + ", part of the local queue",
                best / isolated,
                "times",
                Some((false, 0.85)),
                detail,
            );
        } else {
            self.add(what + ", part of the bare copy", bare / isolated, "times", Some((false, 0.8)), detail);
        }
    }

    /// Measures from an idle service to a completion, beside a bare wake-up.
    fn waking(&mut self) -> Result<(), String> {
        let mut queue = self.service.attach(64, 1)?.queue().map_err(|e| e.to_string())?;
        let (mut bare, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.arguments.rounds {
            std::thread::sleep(Duration::from_millis(10));
            let wake = self.peer.wake_ns();
            std::thread::sleep(Duration::from_millis(10));
            let begin = Instant::now();
            queue.submit(Request::null()).map_err(|e| e.to_string())?;
            while queue.poll().is_none() {
                std::hint::spin_loop();
            }
            let woken = begin.elapsed().as_nanos() as f64;
            bare.push(wake);
            ours.push(woken);
            ratios.push(woken / wake);
        }
        self.add("waking who sleeps on a futex, bare", median(bare) / 1e3, "us", None, "");
        self.add("an operation for a service that sleeps", median(ours) / 1e3, "us", None, "");
        self.add("  over the bare wake-up", median(ratios), "times", Some((true, 1.2)), "");
        Ok(())
    }

    fn grants(&mut self) -> Result<(), String> {
        let mut times = Vec::new();
        for _ in 0..self.arguments.rounds.max(10) {
            let begin = Instant::now();
            let grant = self.service.attach(256, 1)?;
            times.push(begin.elapsed().as_nanos() as f64 / 1e3);
            drop(grant);
            std::thread::sleep(Duration::from_millis(2));
        }
        self.add("a grant", median(times), "us", Some((true, 1000.0)), "");
        Ok(())
    }

    fn idle(&mut self) -> Result<(), String> {
        const SECONDS: u64 = 5;
        let _grant = self.service.attach(256, 4)?;
        // The threads that gave back earlier memory must have ended by then.
        std::thread::sleep(Duration::from_millis(1500));
        let before = self.service.processor_ns();
        std::thread::sleep(Duration::from_secs(SECONDS));
        let used = self.service.processor_ns().saturating_sub(before);
        let wish = Some((true, 0.0));
        self.add(
            "processor time of an idle service with a grant",
            used as f64 / SECONDS as f64 / 1e3,
            "us/s",
            wish,
            "",
        );
        Ok(())
    }

    fn one_processor(&mut self) -> Result<(), String> {
        for (work, bytes, depth) in
            [(Work::Cbc, 64, 1), (Work::Null, 0, 192), (Work::Cbc, 1024, 32), (Work::Gcm, 1024, 32)]
        {
            let mut flow = self.isolated(work, bytes, depth)?;
            let times = self.count(&mut flow, depth)?;
            let mut ours = Vec::new();
            for _ in 0..self.arguments.rounds {
                ours.push(flow.ns(times)?);
            }
            let what = format!("{} of {bytes}, {depth} in flight, both on one processor", work.name());
            self.add(what, median(ours), "ns", None, "");
            flow.end();
        }
        Ok(())
    }
}
