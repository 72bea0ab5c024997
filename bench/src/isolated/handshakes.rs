//! TLS handshakes of nginx: with its own OpenSSL, with its private key in a worker, and with all of its keys there. The whole
//! server, and the workers with it, has one processor; the clients have the other.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_cpu::Features;
use millstream_measure::statistics::{median, quantile};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use serde_json::json;

use super::{Common, Figure, Service, pin};
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
const KEYS: &[(&str, &[&str])] = &[
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
        let start = |name: &str, front: &[String]| Server::start(arguments, &folder, name, front, server);
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
    let about = Circumstances::now(features, vec![version(&arguments.nginx)?], Vec::new()).beside(1.0);
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

/// Makes a key and a certificate that it signs itself.
fn make_certificate(folder: &Path, words: &[&str]) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut request = Command::new("openssl");
    request.args([
        "req",
        "-x509",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-keyout",
        "key.pem",
        "-out",
        "certificate.pem",
    ]);
    let output = request.args(words).current_dir(folder).output().map_err(|e| format!("openssl: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Returns what nginx says of its version.
fn version(nginx: &Path) -> Result<(String, String), String> {
    let output = Command::new(nginx).arg("-v").output().map_err(|e| format!("{}: {e}", nginx.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(("nginx".to_owned(), text.trim().trim_start_matches("nginx version: ").to_owned()))
}

/// An nginx on a processor.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts nginx with `front` in front of it, on a port of its own.
    fn start(
        arguments: &Arguments,
        folder: &Path,
        name: &str,
        front: &[String],
        cpu: usize,
    ) -> Result<Server, String> {
        let port = free_port()?;
        let at = folder.join(name);
        std::fs::create_dir_all(&at).map_err(|e| format!("{}: {e}", at.display()))?;
        let (at, keys) = (at.display(), folder.display());
        let user = if is_root() { "user root;" } else { "" };
        let text = format!(
            "daemon off; worker_processes {}; {user} pid {at}/pid; error_log {at}/error.log;\n\
             events {{ worker_connections 512; }}\n\
             http {{ access_log off; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy;\n\
             fastcgi_temp_path {at}/fastcgi; uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;\n\
             server {{ listen 127.0.0.1:{port} ssl reuseport; ssl_certificate {keys}/certificate.pem;\n\
             ssl_certificate_key {keys}/key.pem; ssl_protocols TLSv1.3; ssl_session_tickets off; }} }}\n",
            arguments.workers
        );
        let configuration = folder.join(name).join("nginx.conf");
        let file = std::fs::write(&configuration, text);
        file.map_err(|e| format!("{}: {e}", configuration.display()))?;
        let mut server = Command::new("taskset");
        server.args(["-c", &cpu.to_string()]).args(front).arg(&arguments.nginx).arg("-c").arg(&configuration);
        server.arg("-e").arg(folder.join(name).join("error.log"));
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = server.spawn().map_err(|e| format!("taskset: {e}"))?;
        let mut server = Server { child, port };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.child.try_wait().map_err(|e| e.to_string())?;
            if ended.is_some() || begin.elapsed() > Duration::from_secs(10) {
                let log = std::fs::read_to_string(folder.join(name).join("error.log")).unwrap_or_default();
                return Err(format!("nginx does not serve: {log}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // The server listens before it has workers.
        std::thread::sleep(Duration::from_millis(500));
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// Root's nginx would otherwise change to a user who can't read the folder.
#[allow(unsafe_code)]
fn is_root() -> bool {
    // SAFETY: the call has no arguments and never fails.
    unsafe { libc::geteuid() == 0 }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| e.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|e| e.to_string())
}

/// Threads that connect again and again.
struct Clients {
    port: u16,
    count: u32,
    cpu: usize,
}

impl Clients {
    /// Returns the milliseconds of each handshake that ended within the time.
    fn turn(&self, time: Duration) -> Result<Vec<f64>, String> {
        let configuration = Arc::new(configuration()?);
        let begin = Instant::now();
        let client = || {
            pin(self.cpu);
            let mut took = Vec::new();
            while begin.elapsed() < time || took.is_empty() {
                let start = Instant::now();
                handshake(self.port, &configuration)?;
                took.push(start.elapsed().as_secs_f64() * 1e3);
            }
            Ok::<_, String>(took)
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.count).map(|_| scope.spawn(client)).collect();
            let mut all = Vec::new();
            for thread in threads {
                all.extend(thread.join().map_err(|_| "a client ended early".to_owned())??);
            }
            Ok(all)
        })
    }
}

/// One connection, to the end of the handshake: nginx has the client's last message, and answers that the connection closes.
fn handshake(port: u16, configuration: &Arc<ClientConfig>) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("a handshake: {e}");
    let mut socket = TcpStream::connect(("127.0.0.1", port)).map_err(fail)?;
    socket.set_nodelay(true).map_err(fail)?;
    let name = ServerName::try_from("localhost").map_err(|e| e.to_string())?;
    let mut connection = ClientConnection::new(configuration.clone(), name).map_err(|e| e.to_string())?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(fail)?;
    }
    connection.send_close_notify();
    while connection.wants_write() {
        connection.write_tls(&mut socket).map_err(fail)?;
    }
    socket.flush().map_err(fail)
}

/// TLS 1.3 with X25519, without resumption. The certificate and its signature are not looked at, so that the clients have
/// little to do.
fn configuration() -> Result<ClientConfig, String> {
    let mut provider = rustls::crypto::ring::default_provider();
    provider.kx_groups.retain(|group| group.name() == rustls::NamedGroup::X25519);
    let schemes = provider.signature_verification_algorithms.supported_schemes();
    let builder = ClientConfig::builder_with_provider(Arc::new(provider));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(|e| e.to_string())?;
    let verifier = Arc::new(Anyone { schemes });
    let mut configuration =
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    configuration.resumption = rustls::client::Resumption::disabled();
    Ok(configuration)
}

/// Takes any server for the right one.
#[derive(Debug)]
struct Anyone {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
