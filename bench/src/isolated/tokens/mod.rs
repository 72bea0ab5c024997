//! Tokens of the service by PKCS #11, beside SoftHSM2 in the same process and beside the queue that they go through.
//!
//! The modules have the same keys, and what they make is compared before anything is timed. The rows of a figure then take turns, and each figure is
//! the median of the ratios within a turn: the machine may be busy with other things, and both rows of a turn suffer then.

pub mod module;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use cryptoki_sys::*;
use millstream::isolated::Attach;
use millstream_cpu::Features;
use millstream_measure::statistics::median;
use serde_json::json;

use self::module::{Module, PIN, Value, number};
use super::flow::{Flow, Work};
use super::running::Running;
use super::{Common, Figure, Service, pin};
use crate::record::{self, Circumstances};

/// SoftHSM2, where distributions have it.
pub const SOFTHSM: &str = "/usr/lib/softhsm/libsofthsm2.so";

/// p11-kit's module, where Debian has it.
const P11_KIT: &str = "/usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-client.so";

/// Names the service that this process measures; the command starts itself with it.
const INSIDE: &str = "MILLSTREAM_BENCH_TOKENS";

/// The curve P-256, as an object identifier in DER.
const P256: &[u8] = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";

/// The sessions that are under way at once.
const SESSIONS: usize = 64;

#[derive(clap::Args)]
pub struct Arguments {
    /// Number of turns of each row
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a turn
    #[arg(long, value_name = "S", default_value_t = 0.2)]
    seconds: f64,
    /// The module of SoftHSM2
    #[arg(long, value_name = "PATH", default_value = SOFTHSM)]
    softhsm: PathBuf,
    /// The module by which p11-kit's server is reached, which has SoftHSM2 in a process of its own
    #[arg(long, value_name = "PATH", default_value = P11_KIT)]
    p11_kit: PathBuf,
    /// Our module [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Starts a service with a token and makes one of SoftHSM2, and measures in a process that finds both.
///
/// # Errors
/// When a token can't be made, or what the modules make differs.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    if let Some(socket) = std::env::var_os(INSIDE) {
        return inside(arguments, socket.as_ref());
    }
    arguments.common.recording.wanted()?;
    let [_, worker] = arguments.common.processors()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let store = folder.path().join("store");
    let policy = format!("[default]\nattaches_per_s = 0\n[tokens]\nstore = {store:?}\n");
    let service = Service::start_with(&arguments.common.command()?, &[worker, worker], Some(&policy))?;
    let attach = Attach { socket: Some(service.socket.clone()), ..Attach::default() };
    let made = attach.attach().map_err(|e| e.to_string())?.make_token("bench", b"271828", Some(PIN));
    made.map_err(|e| e.to_string())?;
    let config = softhsm(folder.path())?;
    let socket = folder.path().join("p11-kit");
    let mut server = Command::new("p11-kit");
    server.args(["server", "--foreground", "--provider"]).arg(&arguments.softhsm).arg("--name").arg(&socket);
    server.arg("pkcs11:token=bench").env("SOFTHSM2_CONF", &config);
    let log = folder.path().join("p11-kit.log");
    let _server = Running::start(&mut server, &log, || socket.exists())?;
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut again = Command::new(own);
    again
        .env("P11_KIT_SERVER_ADDRESS", format!("unix:path={}", socket.display()))
        .args(std::env::args_os().skip(1))
        .env(INSIDE, &service.socket)
        .env("MILLSTREAM_SOCKET", &service.socket)
        .env_remove("MILLSTREAM_STORE")
        .env("SOFTHSM2_CONF", config);
    let ended = again.status().map_err(|e| e.to_string())?;
    if ended.success() { Ok(()) } else { Err("the process that measures failed".to_owned()) }
}

/// Makes a token of SoftHSM2, and returns its configuration.
pub fn softhsm(folder: &Path) -> Result<PathBuf, String> {
    let (tokens, config) = (folder.join("softhsm"), folder.join("softhsm2.conf"));
    std::fs::create_dir(&tokens).map_err(|e| e.to_string())?;
    let text = format!(
        "directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n",
        tokens.display()
    );
    std::fs::write(&config, text).map_err(|e| e.to_string())?;
    let made = Command::new("softhsm2-util")
        .args(["--init-token", "--free", "--label", "bench", "--so-pin", "271828", "--pin", "314159"])
        .env("SOFTHSM2_CONF", &config)
        .output()
        .map_err(|e| format!("softhsm2-util: {e}; install softhsm2"))?;
    if !made.status.success() {
        return Err(format!("softhsm2-util: {}", String::from_utf8_lossy(&made.stderr)));
    }
    Ok(config)
}

/// A kind of signature that is measured, with its key in either token.
struct Case {
    name: &'static str,
    mechanism: CK_MECHANISM_TYPE,
    data: Vec<u8>,
    keys: [CK_OBJECT_HANDLE; 2],
}

/// Both modules, ours first, and SoftHSM2 behind p11-kit.
struct Modules([Module; 2], Module);

fn inside(arguments: &Arguments, socket: &Path) -> Result<(), String> {
    let features = Features::active().map_err(|e| e.to_string())?;
    let [client, worker] = arguments.common.processors()?;
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let ours = arguments.module.clone().unwrap_or_else(|| own.with_file_name("libmillstream_pkcs11.so"));
    let remote = Module::load(&arguments.p11_kit)?;
    let modules = Modules([Module::load(&ours)?, Module::load(&arguments.softhsm)?], remote);
    let about =
        Circumstances::now(features, vec![("SoftHSM2".to_owned(), version())], Vec::new()).beside(1.0);
    about.lines().iter().for_each(|line| println!("{line}"));
    let cases = [modules.hmac()?, modules.pair(true)?, modules.pair(false)?];
    let attach = Attach { socket: Some(socket.to_owned()), depth: 64, ..Attach::default() };
    let accelerator = attach.attach().map_err(|e| e.to_string())?;
    let queue = accelerator.queue().map_err(|e| e.to_string())?;
    let mut flow = Flow::new(queue, Work::HmacSha256, 64, 1).map_err(|e| e.to_string())?;
    modules.compare(&cases[0], &flow.result()?[..32])?;
    if arguments.common.check_only {
        println!("test result: ok. {} passed; 0 failed", cases.len());
        return Ok(());
    }
    let clock =
        Clock { rounds: arguments.rounds, limit: Duration::from_secs_f64(arguments.seconds), client, worker };
    let mut figures = modules.beside_the_queue(&cases[0], &mut flow, &clock)?;
    figures.push(modules.beside_another_process(&cases[0], &clock)?);
    for case in &cases[1..] {
        figures.extend(modules.beside_each_other(case, &clock)?);
    }
    figures.push(modules.asynchronous(&cases[2], &clock)?);
    let lines: Vec<String> = figures.iter().map(Figure::line).collect();
    lines.iter().for_each(|line| println!("{line}"));
    about.warn();
    if arguments.common.recording.wanted()? {
        let value =
            json!({ "about": about.json(), "figures": figures.iter().map(Figure::json).collect::<Vec<_>>() });
        let text = serde_json::to_string_pretty(&value).expect("values without odd keys") + "\n";
        let table = format!(
            "# Tokens by PKCS #11\n\n```text\n{}\n{}\n```\n",
            about.lines().join("\n"),
            lines.join("\n")
        );
        let stem = about.stem() + "-tokens";
        for path in record::write(record::FOLDER.as_ref(), &stem, &[("json", text), ("md", table)])? {
            println!("recorded in {}", path.display());
        }
    }
    Ok(())
}

/// Returns the version of SoftHSM2.
pub fn version() -> String {
    let said = Command::new("softhsm2-util").arg("--version").output();
    said.map_or_else(|_| "unknown".to_owned(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// The secret of a MAC, as an object.
fn hmac_key() -> [Value; 3] {
    [
        number(CKA_CLASS, CKO_SECRET_KEY),
        number(CKA_KEY_TYPE, CKK_GENERIC_SECRET),
        (CKA_VALUE, Work::HmacSha256.secret().to_vec()),
    ]
}

/// The turns, and the processors of the clients and of the worker.
struct Clock {
    rounds: u32,
    limit: Duration,
    client: usize,
    worker: usize,
}

impl Case {
    /// Returns how many signatures a second some threads make, each in a session of its own.
    fn rate(&self, module: Module, which: usize, threads: usize, clock: &Clock) -> Result<f64, String> {
        let ready = Barrier::new(threads);
        let work = |thread: usize| -> Result<f64, String> {
            pin(if thread == 0 { clock.client } else { clock.worker });
            let (session, mut out, mut made) = (module.open(0)?, [0; 512], 0_u32);
            module.sign(session, self.mechanism, self.keys[which], &self.data, &mut out)?;
            ready.wait();
            let begin = Instant::now();
            while begin.elapsed() < clock.limit {
                for _ in 0..4 {
                    module.sign(session, self.mechanism, self.keys[which], &self.data, &mut out)?;
                }
                made += 4;
            }
            let rate = f64::from(made) / begin.elapsed().as_secs_f64();
            module.close(session)?;
            Ok(rate)
        };
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
            running
                .into_iter()
                .map(|thread| thread.join().map_err(|_| "a thread ended early".to_owned())?)
                .sum()
        })
    }
}

impl Modules {
    /// Puts a key into both tokens.
    fn keep(&self, values: &[Value]) -> Result<[CK_OBJECT_HANDLE; 2], String> {
        let all = [&[(CKA_TOKEN, vec![1]), (CKA_PRIVATE, vec![1]), (CKA_SIGN, vec![1])], values].concat();
        let [ours, theirs] = self.0;
        Ok([ours.create(ours.open(0)?, &all)?, theirs.create(theirs.open(0)?, &all)?])
    }

    fn hmac(&self) -> Result<Case, String> {
        let data = (0..64).map(|i| (i * 13) as u8).collect();
        let keys = self.keep(&hmac_key())?;
        Ok(Case { name: "hmac-sha256 of 64 bytes", mechanism: CKM_SHA256_HMAC, data, keys })
    }

    /// Makes a key pair, brings it into both tokens, and checks what they sign with it.
    fn pair(&self, is_curve: bool) -> Result<Case, String> {
        let ours = self.0[0];
        let session = ours.open(0)?;
        let (name, generate, mechanism, of_public) = match is_curve {
            true => ("ecdsa p-256", CKM_EC_KEY_PAIR_GEN, CKM_ECDSA, vec![(CKA_EC_PARAMS, P256.to_vec())]),
            false => {
                let bits = vec![number(CKA_MODULUS_BITS, 2048), (CKA_PUBLIC_EXPONENT, vec![1, 0, 1])];
                ("rsa-2048", CKM_RSA_PKCS_KEY_PAIR_GEN, CKM_SHA256_RSA_PKCS, bits)
            }
        };
        let [public, private] = ours.pair(session, generate, &of_public)?;
        let kinds: &[CK_ATTRIBUTE_TYPE] = match is_curve {
            true => &[CKA_EC_PARAMS, CKA_VALUE],
            false => &[
                CKA_MODULUS,
                CKA_PUBLIC_EXPONENT,
                CKA_PRIVATE_EXPONENT,
                CKA_PRIME_1,
                CKA_PRIME_2,
                CKA_EXPONENT_1,
                CKA_EXPONENT_2,
                CKA_COEFFICIENT,
            ],
        };
        let key_type = if is_curve { CKK_EC } else { CKK_RSA };
        let mut values = vec![number(CKA_CLASS, CKO_PRIVATE_KEY), number(CKA_KEY_TYPE, key_type)];
        for kind in kinds {
            values.push(ours.read(session, private, *kind)?);
        }
        let case = Case { name, mechanism, data: vec![7; 32], keys: self.keep(&values)? };
        for (module, key) in self.0.iter().zip(case.keys) {
            let mut out = [0; 512];
            let len = module.sign(module.open(0)?, mechanism, key, &case.data, &mut out)?;
            ours.verify(session, mechanism, public, &case.data, &out[..len])?;
        }
        Ok(case)
    }

    /// Requires that both modules make that MAC.
    fn compare(&self, case: &Case, expected: &[u8]) -> Result<(), String> {
        for (module, key) in self.0.iter().zip(case.keys) {
            let mut out = [0; 512];
            let len = module.sign(module.open(0)?, case.mechanism, key, &case.data, &mut out)?;
            if out[..len] != *expected {
                return Err(format!("{}: the modules and the queue differ", case.name));
            }
        }
        Ok(())
    }

    /// Measures a MAC of one thread beside SoftHSM2 and beside the queue's own way there and back.
    fn beside_the_queue(&self, case: &Case, flow: &mut Flow, clock: &Clock) -> Result<Vec<Figure>, String> {
        pin(clock.client);
        let (mut over_queue, mut over_peer) = (vec![], vec![]);
        let (mut own, mut queue, mut peer) = (vec![], vec![], vec![]);
        for _ in 0..clock.rounds {
            let ours = 1e9 / case.rate(self.0[0], 0, 1, clock)?;
            let theirs = 1e9 / case.rate(self.0[1], 1, 1, clock)?;
            let trip = flow.ns((clock.limit.as_nanos() as f64 / ours) as usize + 1)?;
            over_queue.push(ours / trip);
            over_peer.push(theirs / ours);
            own.push(ours);
            queue.push(trip);
            peer.push(theirs);
        }
        let detail = format!(
            "{:.0} ns, the queue {:.0} ns, SoftHSM2 {:.0} ns",
            median(own),
            median(queue),
            median(peer)
        );
        let what = |than: &str| format!("{}, C_SignInit and C_Sign, {than}", case.name);
        let figure = |than, value, wish, detail| Figure {
            what: what(than),
            value,
            unit: "times",
            wish: Some(wish),
            detail,
        };
        Ok(vec![
            figure("over the queue's own latency", median(over_queue), (true, 1.5), detail),
            figure("as fast as SoftHSM2", median(over_peer), (false, 3.0), String::new()),
        ])
    }

    /// Measures the same MAC beside SoftHSM2 in a process of its own, which p11-kit serves.
    fn beside_another_process(&self, case: &Case, clock: &Clock) -> Result<Figure, String> {
        let Modules([ours, _], remote) = *self;
        let values = [&[(CKA_TOKEN, vec![0]), (CKA_PRIVATE, vec![1]), (CKA_SIGN, vec![1])], &hmac_key()[..]];
        let session = remote.open(0)?;
        let key = remote.create(session, &values.concat())?;
        let there = Case { keys: [key; 2], data: case.data.clone(), ..*case };
        let (mut expected, mut made) = ([0; 512], [0; 512]);
        ours.sign(ours.open(0)?, case.mechanism, case.keys[0], &case.data, &mut expected)?;
        remote.sign(session, case.mechanism, key, &case.data, &mut made)?;
        if expected != made {
            return Err(format!("{}: p11-kit gives another one", case.name));
        }
        let (mut ratios, mut peer) = (vec![], vec![]);
        for _ in 0..clock.rounds {
            let (own, theirs) = (case.rate(ours, 0, 1, clock)?, there.rate(remote, 0, 1, clock)?);
            ratios.push(own / theirs);
            peer.push(1e9 / theirs);
        }
        Ok(Figure {
            what: format!("{}, C_SignInit and C_Sign, as fast as SoftHSM2 behind p11-kit", case.name),
            value: median(ratios),
            unit: "times",
            wish: Some((false, 50.0)),
            detail: format!("p11-kit {:.0} ns", median(peer)),
        })
    }

    /// Measures signatures of one thread and of two, beside SoftHSM2.
    fn beside_each_other(&self, case: &Case, clock: &Clock) -> Result<Vec<Figure>, String> {
        let (mut ratios, mut scaling) = ([vec![], vec![]], [vec![], vec![]]);
        let mut rates = [[vec![], vec![]], [vec![], vec![]]];
        for _ in 0..clock.rounds {
            let mut turn = [[0.0; 2]; 2];
            for threads in [1, 2] {
                for which in [0, 1] {
                    let rate = case.rate(self.0[which], which, threads, clock)?;
                    turn[threads - 1][which] = rate;
                    rates[threads - 1][which].push(rate);
                }
                ratios[threads - 1].push(turn[threads - 1][0] / turn[threads - 1][1]);
            }
            for which in [0, 1] {
                scaling[which].push(turn[1][which] / turn[0][which]);
            }
        }
        let mut figures = Vec::new();
        for ((threads, ratios), rates) in [1, 2].into_iter().zip(ratios).zip(rates) {
            let [ours, theirs] = rates.map(median);
            figures.push(Figure {
                what: format!("{}, C_Sign, threads: {threads}, as fast as SoftHSM2", case.name),
                value: median(ratios),
                unit: "times",
                wish: Some((false, 1.0)),
                detail: format!("{ours:.0} a second, SoftHSM2 {theirs:.0}"),
            });
        }
        let [ours, theirs] = scaling.map(median);
        figures.push(Figure {
            what: format!("{}, C_Sign, 2 threads over 1", case.name),
            value: ours,
            unit: "times",
            wish: Some((false, 1.9)),
            detail: format!("one worker; SoftHSM2 {theirs:.2}"),
        });
        Ok(figures)
    }

    /// Measures one thread with many asynchronous sessions beside the same one at a time.
    fn asynchronous(&self, case: &Case, clock: &Clock) -> Result<Figure, String> {
        let (ours, key) = (self.0[0], case.keys[0]);
        let sessions: Vec<_> =
            (0..SESSIONS).map(|_| ours.open(CKF_ASYNC_SESSION)).collect::<Result<_, _>>()?;
        let mut places = vec![[0; 512]; SESSIONS];
        let (mut ratios, mut many, mut one) = (vec![], vec![], vec![]);
        pin(clock.client);
        for _ in 0..clock.rounds {
            let single = case.rate(ours, 0, 1, clock)?;
            let begin = |session: CK_SESSION_HANDLE, place: &mut [u8]| {
                ours.sign(session, case.mechanism, key, &case.data, place).map(drop)
            };
            for (session, place) in sessions.iter().zip(&mut places) {
                begin(*session, place)?;
            }
            let (start, mut made) = (Instant::now(), 0_u32);
            while start.elapsed() < clock.limit {
                // A session whose signature was collected begins the next one: all are in flight all the time.
                for (session, place) in sessions.iter().zip(&mut places) {
                    ours.collect(*session)?;
                    begin(*session, place)?;
                }
                made += SESSIONS as u32;
            }
            let rate = f64::from(made) / start.elapsed().as_secs_f64();
            for session in &sessions {
                ours.collect(*session)?;
            }
            ratios.push(rate / single);
            many.push(rate);
            one.push(single);
        }
        if places.iter().any(|place| place != &places[0]) {
            return Err("signatures of the same data differ".to_owned());
        }
        Ok(Figure {
            what: format!("{}, {SESSIONS} asynchronous sessions of one thread over one at a time", case.name),
            value: median(ratios),
            unit: "times",
            wish: Some((false, 3.0)),
            detail: format!("{:.0} a second, one at a time {:.0}", median(many), median(one)),
        })
    }
}
