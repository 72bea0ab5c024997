//! TLS handshakes of nginx: with its own OpenSSL, with its private key in a worker, and with all of its keys there. The whole
//! server, and the workers with it, has one processor; the clients have the other.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use millstream_cpu::Features;
use millstream_measure::statistics::{median, quantile};
use serde_json::json;

use super::clients::Clients;
use super::nginx::{self, Nginx, Server};
use super::running::output;
use super::{Common, Figure, Service};
use crate::record::{self, Circumstances};

#[derive(clap::Args)]
pub struct Arguments {
    /// The server
    #[arg(long, value_name = "PATH", default_value = "/usr/sbin/nginx")]
    nginx: PathBuf,
    /// nginx's workers
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    workers: u32,
    /// Clients, each of which has one handshake under way
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    clients: u32,
    /// Number of turns of each server
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a turn
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    seconds: f64,
    #[command(flatten)]
    common: Common,
}

/// The keys of the servers' certificates: our name, and the words with which `openssl req` makes one.
pub const KEYS: &[(&str, &[&str])] = &[
    ("p-256", &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]),
    ("rsa-2048", &["-newkey", "rsa:2048"]),
];

/// Measures and reports.
///
/// # Errors
/// When a server can't be started, or a handshake fails.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    let common = &arguments.common;
    common.recording.wanted()?;
    let features = Features::active().map_err(|e| e.to_string())?;
    let [clients, server] = common.processors()?;
    let command = common.command()?;
    let service = Service::start(&command, server)?;
    let isolated = |keys: &str| {
        let (command, socket) = (command.display().to_string(), service.socket.display().to_string());
        [&command, "run", keys, "--socket", &socket, "--"].map(str::to_owned)
    };
    let mut figures = Vec::new();
    for (key, words) in KEYS {
        let folder = service.folder.join(key);
        make_certificate(&folder, words)?;
        let start = |name: &str, front: &[String]| {
            let (program, workers, environment) = (arguments.nginx.as_path(), arguments.workers, &[]);
            Nginx { program, workers, cpu: server, folder: &folder, front, key: None, environment }
                .start(name)
        };
        let servers = [
            start("own", &[])?,
            start("private", &isolated("--isolated=private"))?,
            start("all", &isolated("--isolated"))?,
        ];
        for server in &servers {
            Clients { port: server.port, count: 1, cpu: clients }.turn(Duration::from_millis(1))?;
        }
        if !common.check_only {
            figures.extend(compare(arguments, key, &servers, clients)?);
        }
    }
    if common.check_only {
        println!("test result: ok. {} passed; 0 failed", KEYS.len());
        return Ok(());
    }
    let about = Circumstances::now(features, vec![nginx::version(&arguments.nginx)?], Vec::new()).beside(1.0);
    let mut text = String::new();
    about.lines().iter().for_each(|line| text += &format!("- {line}\n"));
    let _ = writeln!(
        text,
        "- {} clients on processor {clients}; {} workers of nginx, and the workers with the keys, on {server}; TLS 1.3, X25519\n\n```text",
        arguments.clients, arguments.workers
    );
    figures.iter().for_each(|figure| text += &(figure.line().trim_end().to_owned() + "\n"));
    text += "```\n";
    print!("{text}");
    if common.recording.wanted()? {
        let value = json!({ "about": about.json(), "cpus": common.cpus, "workers": arguments.workers,
                            "clients": arguments.clients,
                            "figures": figures.iter().map(Figure::json).collect::<Vec<_>>() });
        let text = format!("# TLS handshakes with the private key in another process\n\n{text}");
        record::keep(&about, "-handshakes", &value, text)?;
    }
    Ok(())
}

/// The names of the servers with isolated keys.
const ISOLATED: [&str; 2] = ["private key isolated", "all keys isolated"];

/// Measures the servers in turns: the rates of those with isolated keys over that of the first, and the slowest handshakes.
fn compare(
    arguments: &Arguments,
    key: &str,
    servers: &[Server; 3],
    cpu: usize,
) -> Result<Vec<Figure>, String> {
    let (mut rates, mut tails): ([Vec<f64>; 3], [Vec<f64>; 3]) = Default::default();
    for _ in 0..arguments.rounds {
        for (i, server) in servers.iter().enumerate() {
            let clients = Clients { port: server.port, count: arguments.clients, cpu };
            let mut took = clients.turn(Duration::from_secs_f64(arguments.seconds))?;
            took.sort_by(f64::total_cmp);
            rates[i].push(took.len() as f64 / arguments.seconds);
            tails[i].push(quantile(&took, 0.99));
        }
    }
    let over = |turns: &[Vec<f64>; 3], i: usize| {
        median(turns[i].iter().zip(&turns[0]).map(|(ours, own)| ours / own).collect())
    };
    let figures = ISOLATED.iter().enumerate().flat_map(|(i, isolated)| {
        let (i, of) = (i + 1, |turns: &[Vec<f64>; 3], i: usize| median(turns[i].clone()));
        [
            Figure {
                what: format!("{key} handshakes, {isolated}, over nginx's own OpenSSL"),
                value: over(&rates, i),
                unit: "times",
                wish: Some((false, 1.0)),
                detail: format!("{:.0} a second, own {:.0}", of(&rates, i), of(&rates, 0)),
            },
            Figure {
                what: "  the slowest of a hundred, likewise".to_owned(),
                value: over(&tails, i),
                unit: "times",
                wish: None,
                detail: format!("{:.2} ms, own {:.2} ms", of(&tails, i), of(&tails, 0)),
            },
        ]
    });
    Ok(figures.collect())
}

/// Makes a key and a certificate that it signs itself, in a folder of their own.
///
/// # Errors
/// The folder can't be made, or `openssl` fails.
pub fn make_certificate(folder: &Path, words: &[&str]) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut request = Command::new("openssl");
    request.args(["req", "-x509", "-nodes", "-subj", "/CN=localhost", "-keyout", "key.pem"]);
    output(request.args(["-out", "certificate.pem"]).args(words).current_dir(folder)).map(drop)
}
