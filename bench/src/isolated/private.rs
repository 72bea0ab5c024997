//! Private keys in the service: the cost of one operation beside the same in this process, and how much many processes get out of
//! one worker beside a core of OpenSSL.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream::isolated::{Attach, Exportable};
use millstream::publickey::{ecdsa, rsa};
use millstream::queue::{KeyHandle, Queue, Request};
use millstream::{Operation, SignatureScheme};
use millstream_cpu::Features;
use millstream_measure::statistics::median;
use millstream_testkit::keys::RSA_2048;
use serde_json::json;

use super::{Common, Figure, Service, beside, pin};
use crate::record::{self, Circumstances};

#[derive(clap::Args)]
pub struct Arguments {
    /// Processes that sign at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    clients: u32,
    /// Number of turns of each way
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a turn
    #[arg(long, value_name = "S", default_value_t = 0.5)]
    seconds: f64,
    #[command(flatten)]
    common: Common,
}

/// One of the processes that sign.
#[derive(clap::Args)]
pub struct Signer {
    socket: PathBuf,
    kind: String,
    cpu: usize,
}

/// The keys that are measured.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    P256,
    Rsa2048,
}

/// The time for which a client with a processor of its own looks for a signature before it sleeps: to be woken takes as long as
/// several of P-256. The processes that share one look for as long as is usual.
const LOOK: Duration = Duration::from_millis(1);

const DIGEST: [u8; 32] = [7; 32];

impl Kind {
    const ALL: [Kind; 2] = [Kind::P256, Kind::Rsa2048];

    fn name(self) -> &'static str {
        match self {
            Kind::P256 => "p-256",
            Kind::Rsa2048 => "rsa-2048",
        }
    }

    /// The name of the same in `openssl speed`.
    fn in_openssl(self) -> &'static str {
        match self {
            Kind::P256 => "ecdsap256",
            Kind::Rsa2048 => "rsa2048",
        }
    }

    fn key(self) -> (Algorithm, Vec<u8>) {
        match self {
            Kind::P256 => (Algorithm::P256, vec![3; 32]),
            Kind::Rsa2048 => (Algorithm::Rsa, RSA_2048.to_vec()),
        }
    }

    fn scheme(self) -> SignatureScheme {
        match self {
            Kind::P256 => SignatureScheme::Ecdsa { hash: Hash::Sha256, deterministic: false },
            Kind::Rsa2048 => SignatureScheme::RsaPkcs1 { hash: Some(Hash::Sha256) },
        }
    }
}

/// A key in the service, and a queue to it.
struct Isolated {
    queue: Queue,
    key: KeyHandle,
    kind: Kind,
}

impl Isolated {
    fn attach(socket: PathBuf, kind: Kind, spin: Duration) -> Result<Self, millstream::Error> {
        let accelerator =
            Attach { socket: Some(socket), private_keys: true, spin, ..Attach::default() }.attach()?;
        let (algorithm, bytes) = kind.key();
        let key = accelerator.import_key(algorithm, &bytes, Exportable::No)?;
        Ok(Isolated { queue: accelerator.queue()?, key, kind })
    }

    fn sign(&mut self) -> Result<Vec<u8>, millstream::Error> {
        let mut digest = self.queue.buffer(DIGEST.len())?;
        digest.copy_from_slice(&DIGEST);
        let request = match self.kind {
            Kind::P256 => Request::sign_with(self.key, self.kind.scheme(), digest),
            Kind::Rsa2048 => {
                let place = self.queue.buffer(256)?;
                Request::sign_rsa(self.key, self.kind.scheme(), digest, place)
            }
        };
        self.queue.submit(request)?;
        let done = self.queue.wait().ok_or(millstream::queue::Refusal::Gone)?;
        done.check()?;
        Ok(match &done.buffers.destination {
            Some(place) => place[..done.value as usize].to_vec(),
            None => done.tag().to_vec(),
        })
    }

    /// Returns the nanoseconds of an operation that does nothing, and so of the way there and back.
    fn trip_ns(&mut self, times: u32) -> Result<f64, millstream::Error> {
        let begin = Instant::now();
        for _ in 0..times {
            self.queue.submit(Request::null())?;
            self.queue.wait().ok_or(millstream::queue::Refusal::Gone)?;
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(times))
    }
}

/// The same key in this process.
enum Direct {
    P256(ecdsa::PrivateKey),
    Rsa(Box<rsa::PrivateKey>),
}

impl Direct {
    fn new(features: Features, kind: Kind) -> Result<Self, String> {
        let (_, bytes) = kind.key();
        let key = match kind {
            Kind::P256 => ecdsa::PrivateKey::new(features, ecdsa::Curve::P256, &bytes).map(Direct::P256),
            Kind::Rsa2048 => {
                rsa::PrivateKey::from_pkcs1(features, &bytes).map(|key| Direct::Rsa(Box::new(key)))
            }
        };
        key.map_err(|error| error.to_string())
    }

    fn sign(&self, kind: Kind) -> Result<Vec<u8>, millstream::Error> {
        let mut place = [0; 256];
        let mut operation = [match self {
            Direct::P256(key) => Operation::sign_ecdsa(key, Hash::Sha256, false, &DIGEST),
            Direct::Rsa(key) => Operation::sign_rsa(key, kind.scheme(), &DIGEST, &mut place),
        }];
        millstream::batch(&mut operation)?;
        operation[0].result()?;
        let (tag, value) = (operation[0].tag().to_vec(), operation[0].value() as usize);
        drop(operation);
        Ok(if tag.is_empty() { place[..value].to_vec() } else { tag })
    }

    fn verify(&self, signature: &[u8]) -> Result<(), String> {
        let verified = match self {
            Direct::P256(key) => {
                key.public().verify(&ecdsa::Message::digest(Hash::Sha256, &DIGEST), signature)
            }
            Direct::Rsa(key) => {
                key.public_key().verify_pkcs1_digest_vartime(Hash::Sha256, &DIGEST, signature)
            }
        };
        verified.map_err(|error| format!("a signature of the service: {error}"))
    }
}

/// Signs until standard input ends, once it has had a line; says how many signatures that were.
///
/// # Errors
/// When the service can't be reached, or refuses.
pub fn sign(arguments: &Signer) -> Result<(), String> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == arguments.kind).ok_or("no such key")?;
    pin(arguments.cpu);
    let mut isolated = Isolated::attach(arguments.socket.clone(), kind, Attach::default().spin)
        .map_err(|error| error.to_string())?;
    isolated.sign().map_err(|error| error.to_string())?;
    println!("ready");
    let mut line = String::new();
    while std::io::stdin().lock().read_line(&mut line).map_err(|e| e.to_string())? > 0 {
        let seconds = line.trim().parse().map_err(|_| "no number of seconds".to_owned())?;
        let (begin, mut signed, limit) = (Instant::now(), 0_u64, Duration::from_secs_f64(seconds));
        while begin.elapsed() < limit {
            isolated.sign().map_err(|error| error.to_string())?;
            signed += 1;
        }
        println!("{}", signed as f64 / begin.elapsed().as_secs_f64());
        line.clear();
    }
    Ok(())
}

/// The processes that sign at a time.
struct Signers(Vec<(Child, BufReader<std::process::ChildStdout>)>);

impl Signers {
    fn start(service: &Service, kind: Kind, count: u32, cpu: usize) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut signers = Signers(Vec::new());
        for _ in 0..count {
            let mut command = Command::new(&program);
            command.arg("signer").arg(&service.socket).args([kind.name(), &cpu.to_string()]);
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|e| format!("{}: {e}", program.display()))?;
            let output = child.stdout.take().ok_or("no output")?;
            signers.0.push((child, BufReader::new(output)));
        }
        signers.lines()?;
        Ok(signers)
    }

    /// Returns the next line of each.
    fn lines(&mut self) -> Result<Vec<String>, String> {
        let line = |(_, output): &mut (Child, BufReader<_>)| {
            let mut line = String::new();
            match output.read_line(&mut line) {
                Ok(1..) => Ok(line),
                _ => Err("a process that signs has ended".to_owned()),
            }
        };
        self.0.iter_mut().map(line).collect()
    }

    /// Has all sign for so long. Returns how many signatures a second all made together.
    fn rate(&mut self, seconds: f64) -> Result<f64, String> {
        for (child, _) in &mut self.0 {
            let input = child.stdin.as_mut().ok_or("no input")?;
            writeln!(input, "{seconds}").map_err(|e| e.to_string())?;
        }
        let lines = self.lines()?;
        lines.iter().map(|line| line.trim().parse::<f64>().map_err(|e| e.to_string())).sum()
    }
}

impl Drop for Signers {
    fn drop(&mut self) {
        for (child, _) in &mut self.0 {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// Measures and reports.
///
/// # Errors
/// When the service can't be started, or a signature does not verify.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    let common = &arguments.common;
    common.recording.wanted()?;
    let features = Features::active().map_err(|e| e.to_string())?;
    let [clients, worker] = common.processors()?;
    let command = common.command()?;
    let service = Service::start(&command, worker)?;
    pin(clients);
    let mut figures = Vec::new();
    for kind in Kind::ALL {
        let mut isolated = Isolated::attach(service.socket.clone(), kind, LOOK).map_err(|e| e.to_string())?;
        let direct = Direct::new(features, kind)?;
        for signature in [isolated.sign(), direct.sign(kind)] {
            direct.verify(&signature.map_err(|e| e.to_string())?)?;
        }
        if common.check_only {
            continue;
        }
        figures.push(one(&mut isolated, &direct, arguments)?);
        drop(isolated);
        figures.push(many(&service, kind, arguments, clients, worker)?);
    }
    drop(service);
    if let Some(figure) =
        presigned(&Service::start_with(&command, &[worker], Some(PRECOMPUTE))?, features, arguments)?
    {
        figures.push(figure);
    }
    if !common.check_only {
        figures.push(beside::packets(&command, [clients, worker], arguments.rounds)?);
    }
    if common.check_only {
        println!("test result: ok. {} passed; 0 failed", Kind::ALL.len() + 1);
        return Ok(());
    }
    let about = Circumstances::now(features, Vec::new(), Vec::new()).beside(1.0);
    let mut text = String::new();
    about.lines().iter().for_each(|line| text += &format!("- {line}\n"));
    let _ = writeln!(text, "- clients on processor {clients}, worker on {worker}\n\n```text");
    figures.iter().for_each(|figure| text += &(figure.line().trim_end().to_owned() + "\n"));
    text += "```\n";
    print!("{text}");
    if common.recording.wanted()? {
        let value = json!({ "about": about.json(), "cpus": common.cpus,
                            "figures": figures.iter().map(Figure::json).collect::<Vec<_>>() });
        record::keep(
            &about,
            "-private-keys",
            &value,
            format!("# Private keys in another process\n\n{text}"),
        )?;
    }
    Ok(())
}

/// Measures one signature at a time beside the same in this process and the way there and back.
fn one(isolated: &mut Isolated, direct: &Direct, arguments: &Arguments) -> Result<Figure, String> {
    let kind = isolated.kind;
    let (mut ours, mut here, mut trips, mut ratios) = (vec![], vec![], vec![], vec![]);
    for _ in 0..arguments.rounds {
        let turn = |sign: &mut dyn FnMut() -> Result<Vec<u8>, millstream::Error>| {
            let (begin, mut signed) = (Instant::now(), 0_u32);
            while begin.elapsed().as_secs_f64() < arguments.seconds / 2.0 {
                sign().map_err(|error| error.to_string())?;
                signed += 1;
            }
            Ok::<_, String>(begin.elapsed().as_nanos() as f64 / f64::from(signed))
        };
        let there = turn(&mut || isolated.sign())?;
        let own = turn(&mut || direct.sign(kind))?;
        let trip = isolated.trip_ns(20_000).map_err(|error| error.to_string())?;
        ratios.push(there / (own + trip));
        ours.push(there);
        here.push(own);
        trips.push(trip);
    }
    let detail = format!(
        "isolated {:.2} us, here {:.2} us, there and back {:.2} us",
        median(ours) / 1e3,
        median(here) / 1e3,
        median(trips) / 1e3
    );
    let what = format!("{} sign, one in flight, over here and the way", kind.name());
    Ok(Figure { what, value: median(ratios), unit: "times", wish: Some((true, 1.05)), detail })
}

/// The policy of a service that computes nonces before they are needed.
const PRECOMPUTE: &str = "[default]\nprecompute = \"on\"\nattaches_per_s = 0\n";

/// The longest wait until presignatures are there.
const READY: Duration = Duration::from_secs(10);

/// Signatures in a burst: fewer than a worker keeps presignatures.
const BURST: u32 = 100;

/// Measures signatures of P-256 for which the nonces are there, one at a time, in bursts with pauses in which the worker computes the
/// next; and how long signatures take that come now and then, some of them while the worker does that.
fn presigned(service: &Service, features: Features, arguments: &Arguments) -> Result<Option<Figure>, String> {
    let text = |error: millstream::Error| error.to_string();
    let mut isolated = Isolated::attach(service.socket.clone(), Kind::P256, LOOK).map_err(text)?;
    let direct = Direct::new(features, Kind::P256)?;
    let counts = || {
        // The service answers from a survey, which may be some time old.
        std::thread::sleep(Duration::from_millis(50));
        let status = millstream::isolated::Service::connect(Some(&service.socket))
            .and_then(|mut service| service.status())
            .map_err(|error| error.to_string())?;
        let worker = status.workers.into_iter().find(|worker| worker.private_keys);
        Ok::<_, String>(worker.ok_or("no worker for private keys")?.presigned)
    };
    let pause = |isolated: &mut Isolated| {
        std::thread::sleep(Duration::from_millis(3));
        // The worker is awake again for what is measured.
        isolated.trip_ns(500).map_err(|error| error.to_string())
    };
    // A signature asks for presignatures. Where the worker's processor is busy it makes them late.
    let begin = Instant::now();
    let before = loop {
        isolated.sign().map_err(text)?;
        pause(&mut isolated)?;
        let counts = counts()?;
        if counts.ready >= u64::from(BURST / 2) || begin.elapsed() > READY {
            break counts;
        }
    };
    for _ in 0..BURST / 2 {
        direct.verify(&isolated.sign().map_err(text)?)?;
    }
    let taken = counts()?.taken - before.taken;
    if taken < u64::from(BURST / 2) {
        return Err(format!("{taken} of {} signatures were made with presignatures", BURST / 2));
    }
    if arguments.common.check_only {
        return Ok(None);
    }
    let (mut signatures, mut trips, mut steady, mut waits) = (vec![], vec![], vec![], vec![]);
    for _ in 0..arguments.rounds {
        let begin = Instant::now();
        while begin.elapsed().as_secs_f64() < arguments.seconds / 4.0 {
            trips.push(pause(&mut isolated)?);
            let burst = Instant::now();
            for _ in 0..BURST {
                isolated.sign().map_err(text)?;
            }
            signatures.push(burst.elapsed().as_nanos() as f64 / f64::from(BURST));
        }
        let (begin, mut signed) = (Instant::now(), 0_u32);
        while begin.elapsed().as_secs_f64() < arguments.seconds / 4.0 {
            isolated.sign().map_err(text)?;
            signed += 1;
        }
        steady.push(begin.elapsed().as_nanos() as f64 / f64::from(signed));
        for turn in 0..500 {
            // The gaps are 25 to 49 us long, so that many signatures come when the worker has begun to fill its pool.
            let gap = Instant::now();
            while gap.elapsed() < Duration::from_micros(25 + turn % 25) {
                std::hint::spin_loop();
            }
            let one = Instant::now();
            isolated.sign().map_err(text)?;
            waits.push(one.elapsed().as_nanos() as f64);
        }
    }
    waits.sort_by(f64::total_cmp);
    let of = |percent: usize| waits[(waits.len() - 1) * percent / 100] / 1e3;
    let value = median(signatures) / 1e3;
    let detail = format!(
        "there and back {:.2} us; without a pause {:.2} us; every 25 to 49 us: half of them {:.2} us, 90 of 100 {:.2} us, 99 of 100 {:.2} us",
        median(trips) / 1e3,
        median(steady) / 1e3,
        of(50),
        of(90),
        of(99),
    );
    let what = "p-256 sign with pool, one in flight".to_owned();
    Ok(Some(Figure { what, value, unit: "us", wish: Some((true, 1.5)), detail }))
}

/// Measures many processes on one worker beside one core of OpenSSL, in turns.
fn many(
    service: &Service,
    kind: Kind,
    arguments: &Arguments,
    clients: usize,
    worker: usize,
) -> Result<Figure, String> {
    let mut signers = Signers::start(service, kind, arguments.clients, clients)?;
    let (mut ours, mut theirs, mut ratios) = (vec![], vec![], vec![]);
    for _ in 0..arguments.rounds.min(5) {
        let rate = signers.rate(arguments.seconds)?;
        let peer = openssl(kind, worker)?;
        ratios.push(rate / peer);
        ours.push(rate);
        theirs.push(peer);
    }
    let detail = format!("{:.0} a second, one core of OpenSSL {:.0}", median(ours), median(theirs));
    let what = format!("{} sign, {} processes on one worker", kind.name(), arguments.clients);
    Ok(Figure { what, value: median(ratios), unit: "times", wish: Some((false, 3.0)), detail })
}

/// Returns how many signatures a second the system's OpenSSL makes on a processor.
fn openssl(kind: Kind, cpu: usize) -> Result<f64, String> {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), "openssl", "speed", "-mr", "-seconds", "1", kind.in_openssl()]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("openssl speed: {e}"))?;
    let mut text = String::new();
    let output = child.stdout.as_mut().ok_or("no output of openssl speed")?;
    output.read_to_string(&mut text).map_err(|e| e.to_string())?;
    child.wait().map_err(|e| e.to_string())?;
    // `+F2:` is RSA, `+F4:` ECDSA: number, bits, signatures a second, and verifications.
    let line = text.lines().find(|line| line.starts_with("+F2:") || line.starts_with("+F4:"));
    let rate = line.and_then(|line| line.split(':').nth(3)?.parse::<f64>().ok());
    rate.filter(|rate| *rate > 1.0).ok_or(format!("openssl speed says: {text}"))
}
