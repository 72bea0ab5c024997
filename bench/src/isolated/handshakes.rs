//! TLS handshakes of nginx: with its own OpenSSL, with its private key in a worker, and with all of its keys there. The whole
//! server, and the workers with it, has one processor; the clients have the other.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use millstream_cpu::Features;
use millstream_measure::statistics::{median, quantile};
use millstream_testkit::refuse_built_for_tests;
use serde_json::json;

use super::clients::Clients;
use super::nginx::{self, Nginx};
use super::running::{Server, output};
use super::s_server::{self, SServer};
use super::{Common, Figure, Service};
use crate::record::{self, Circumstances};

#[derive(clap::Args)]
pub struct Arguments {
    /// The server
    #[arg(long, value_name = "PATH", default_value = "/usr/sbin/nginx")]
    nginx: PathBuf,
    /// The program 'openssl' whose server is measured in place of nginx, with as many processes as nginx has workers
    #[arg(long, value_name = "PATH", conflicts_with = "nginx")]
    openssl: Option<PathBuf>,
    /// Agree by X25519MLKEM768 in place of X25519, which needs OpenSSL 3.5
    #[arg(long, requires = "openssl")]
    hybrid: bool,
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
    if let Some(program) = &arguments.openssl {
        refuse_built_for_tests(program)?;
    }
    let group = if arguments.hybrid { "X25519MLKEM768" } else { "X25519" };
    let mut figures = Vec::new();
    for (key, words) in KEYS {
        let folder = service.folder.join(key);
        make_certificate(&folder, words)?;
        let start = |name: &str, front: &[String]| {
            let (workers, cpu, folder) = (arguments.workers, server, folder.as_path());
            match &arguments.openssl {
                Some(program) => SServer { program, workers, cpu, folder, front, group }.start(),
                None => {
                    let (program, environment) = (arguments.nginx.as_path(), &[]);
                    Nginx { program, workers, cpu, folder, front, key: None, environment }.start(name)
                }
            }
        };
        let servers = [
            start("own", &[])?,
            start("private", &isolated("--isolated=private"))?,
            start("all", &isolated("--isolated"))?,
        ];
        for server in &servers {
            let count = server.ports.len() as u32;
            let clients = Clients { ports: &server.ports, count, cpu: clients, hybrid: arguments.hybrid };
            clients.turn(Duration::from_millis(1))?;
        }
        if !common.check_only {
            figures.extend(compare(arguments, key, &servers, clients)?);
        }
    }
    if common.check_only {
        println!("test result: ok. {} passed; 0 failed", KEYS.len());
        return Ok(());
    }
    let version = match &arguments.openssl {
        Some(program) => s_server::version(program)?,
        None => nginx::version(&arguments.nginx)?,
    };
    let about = Circumstances::now(features, vec![version], Vec::new()).beside(1.0);
    let mut text = String::new();
    about.lines().iter().for_each(|line| text += &format!("- {line}\n"));
    let _ = writeln!(
        text,
        "- {} clients on processor {clients}; {} {}, and the workers with the keys, on {server}; TLS 1.3, {group}\n\n```text",
        arguments.clients,
        arguments.workers,
        if arguments.openssl.is_some() { "processes of s_server" } else { "workers of nginx" }
    );
    figures.iter().for_each(|figure| text += &(figure.line().trim_end().to_owned() + "\n"));
    text += "```\n";
    print!("{text}");
    if common.recording.wanted()? {
        let value = json!({ "about": about.json(), "cpus": common.cpus, "workers": arguments.workers,
                            "clients": arguments.clients,
                            "figures": figures.iter().map(Figure::json).collect::<Vec<_>>() });
        let text = format!("# TLS handshakes with the private key in another process\n\n{text}");
        let name = if arguments.hybrid { "-handshakes-hybrid" } else { "-handshakes" };
        record::keep(&about, name, &value, text)?;
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
            let (ports, count) = (server.ports.as_slice(), arguments.clients);
            let clients = Clients { ports, count, cpu, hybrid: arguments.hybrid };
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
                what: format!("{key} handshakes, {isolated}, over the server's own OpenSSL"),
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
