//! OpenSSH's server: whole logins, from the connection to the end of a command, with the host key in a file or in an agent.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::bed::{Bed, pin};
use super::{Arguments, Place, Row, output};
use crate::isolated::handshakes::KEYS;
use crate::isolated::running::{Running, free_port};

/// The server. It starts itself for each connection, so its path is whole.
const SSHD: &str = "/usr/sbin/sshd";

/// Returns what OpenSSH says of its version.
///
/// # Errors
/// There is no OpenSSH.
pub fn version() -> Result<(String, String), String> {
    let told = Command::new("ssh").arg("-V").output().map_err(|e| format!("ssh: {e}"))?;
    Ok(("OpenSSH".to_owned(), String::from_utf8_lossy(&told.stderr).trim().to_owned()))
}

/// A server, with the agent that has its key.
struct Server {
    port: u16,
    known_hosts: PathBuf,
    _running: Running,
    _agent: Option<Running>,
}

/// Measures logins with each kind of host key.
///
/// # Errors
/// A server or an agent can't be started, or nobody can log in.
pub fn run(arguments: &Arguments, bed: &Bed) -> Result<Vec<Row>, String> {
    let folder = bed.folder.path();
    let mut keygen = Command::new("ssh-keygen");
    output(keygen.args(["-q", "-t", "ed25519", "-N", "", "-f", "user"]).current_dir(folder))?;
    // The package's unit makes this folder. Only root's server wants it, and others can't make it.
    let _ = std::fs::create_dir("/run/sshd");
    let mut rows = Vec::new();
    for (key, _) in KEYS {
        let mut servers = Vec::new();
        for place in Place::ALL {
            let server = Server::start(bed, key, place)?;
            let before = bed.operations()?;
            server.login(bed)?;
            if place == Place::Millstream && bed.operations()? <= before {
                return Err("sshd: the service did not sign".to_owned());
            }
            servers.push(server);
        }
        if arguments.common.check_only {
            continue;
        }
        let what = format!("sshd, logins, host key {key}");
        rows.push(Row::measure(what, arguments.rounds, |at| {
            servers[at].logins(bed, arguments.logins, Duration::from_secs_f64(arguments.seconds))
        })?);
    }
    Ok(rows)
}

/// Returns a program on the processor of the servers, with the tokens' variables.
fn on_server(bed: &Bed, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &bed.processors[1].to_string()]).arg(program);
    bed.apply(&mut command);
    command
}

impl Server {
    fn start(bed: &Bed, key: &str, place: Place) -> Result<Server, String> {
        let keys = bed.folder.path().join(key);
        let at = keys.join(format!("sshd-{}", place.name()));
        std::fs::create_dir(&at).map_err(|e| format!("{}: {e}", at.display()))?;
        let line = output(
            Command::new("ssh-keygen").args(["-i", "-m", "PKCS8", "-f"]).arg(keys.join("public.pem")),
        )?;
        let port = free_port()?;
        let write = |name: &str, text: String| {
            let path = at.join(name);
            std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display())).map(|()| path)
        };
        let known_hosts = write("known_hosts", format!("[127.0.0.1]:{port} {line}"))?;
        let public = write("host.pub", line)?;
        let (agent, host) = match place {
            Place::Process => (None, format!("HostKey {}", keys.join("key.pem").display())),
            Place::Millstream | Place::SoftHsm => {
                let socket = at.join("agent");
                let agent = agent(bed, key, place, &socket)?;
                (Some(agent), format!("HostKey {}\nHostKeyAgent {}", public.display(), socket.display()))
            }
        };
        // Another home than the user's, because what their shell reads there may take longer than the login.
        let user = bed.folder.path().join("user.pub");
        let text = format!(
            "Port {port}\nListenAddress 127.0.0.1\n{host}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
             PermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 100\nPrintMotd no\nPrintLastLog no\n\
             KexAlgorithms curve25519-sha256\nSetEnv HOME={}\n",
            user.display(),
            at.display()
        );
        let (configuration, log) = (write("sshd_config", text)?, at.join("sshd.log"));
        let mut sshd = on_server(bed, SSHD);
        sshd.args(["-D", "-f"]).arg(configuration).arg("-E").arg(&log);
        let running = Running::serving(&mut sshd, port, &log)?;
        Ok(Server { port, known_hosts, _running: running, _agent: agent })
    }

    /// Logs in once, and requires that the server has the key that is known, and that the command ran.
    fn login(&self, bed: &Bed) -> Result<(), String> {
        let [client, _] = bed.processors;
        let mut ssh = Command::new("taskset");
        ssh.args(["-c", &client.to_string(), "ssh", "-F", "none", "-o", "StrictHostKeyChecking=yes", "-o"]);
        ssh.arg(format!("UserKnownHostsFile={}", self.known_hosts.display()));
        ssh.args([
            "-o",
            "GlobalKnownHostsFile=none",
            "-o",
            "BatchMode=yes",
            "-o",
            "IdentitiesOnly=yes",
            "-i",
        ]);
        ssh.arg(bed.folder.path().join("user")).args(["-p", &self.port.to_string(), "127.0.0.1", "echo in"]);
        let said = output(ssh.env_remove("SSH_AUTH_SOCK").stderr(Stdio::piped()))?;
        if said == "in\n" { Ok(()) } else { Err(format!("ssh: the command wrote {said:?}")) }
    }

    /// Returns how many logins a second some clients have.
    fn logins(&self, bed: &Bed, clients: u32, time: Duration) -> Result<f64, String> {
        let begin = Instant::now();
        let client = || {
            let mut done = 0_u32;
            while begin.elapsed() < time {
                self.login(bed)?;
                done += 1;
            }
            Ok::<_, String>(done)
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
            let mut done = 0;
            for thread in threads {
                done += thread.join().map_err(|_| "a client ended early".to_owned())??;
            }
            // The last logins of all clients end after the time.
            Ok(f64::from(done) / begin.elapsed().as_secs_f64())
        })
    }
}

/// Starts the agent of a token: ours, or OpenSSH's with the module of the other.
fn agent(bed: &Bed, key: &str, place: Place, socket: &Path) -> Result<Running, String> {
    let log = socket.with_extension("log");
    let ready = || socket.exists();
    if place == Place::Millstream {
        let mut agent = on_server(bed, &bed.command);
        agent.args(["agent", "-T", "bench", "-K", key, "--pin-file"]).arg(bed.folder.path().join("pin"));
        return Running::start(agent.arg("--socket").arg(socket), &log, ready);
    }
    let module = bed.module(place);
    let mut agent = on_server(bed, "ssh-agent");
    agent.args(["-D", "-P"]).arg(module.canonicalize().map_err(|e| e.to_string())?).arg("-a").arg(socket);
    let running = Running::start(&mut agent, &log, ready)?;
    let ask = socket.with_extension("ask");
    std::fs::write(&ask, format!("#!/bin/sh\necho {}\n", pin())).map_err(|e| e.to_string())?;
    output(Command::new("chmod").arg("700").arg(&ask))?;
    let mut add = on_server(bed, "ssh-add");
    add.arg("-s").arg(module).env("SSH_AUTH_SOCK", socket);
    output(add.env("SSH_ASKPASS", ask).env("SSH_ASKPASS_REQUIRE", "force"))?;
    Ok(running)
}
