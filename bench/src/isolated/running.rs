//! Servers that are started for a measurement, and end with it.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that runs until this is dropped.
pub struct Running {
    child: Child,
}

impl Running {
    /// Starts a program, and waits until it is ready.
    ///
    /// # Errors
    /// It can't be started, it ends, or it is not ready within ten seconds; the file has its words then.
    pub fn start(command: &mut Command, log: &Path, ready: impl Fn() -> bool) -> Result<Running, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).spawn().map_err(|e| format!("{name}: {e}"))?;
        let mut running = Running { child };
        let begin = Instant::now();
        while !ready() {
            let ended = running.child.try_wait().map_err(|e| e.to_string())?;
            if ended.is_some() || begin.elapsed() > Duration::from_secs(10) {
                let log = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!("{name}: does not serve: {log}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// Starts a server, and waits until it takes connections.
    ///
    /// # Errors
    /// As [`Running::start`].
    pub fn serving(command: &mut Command, port: u16, log: &Path) -> Result<Running, String> {
        Running::start(command, log, || TcpStream::connect(("127.0.0.1", port)).is_ok())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// A server of TLS: its ports, and the programs that serve them.
pub struct Server {
    pub ports: Vec<u16>,
    _running: Vec<Running>,
}

impl Server {
    pub fn new(served: impl IntoIterator<Item = (u16, Running)>) -> Server {
        let (ports, running) = served.into_iter().unzip();
        Server { ports, _running: running }
    }
}

/// Returns a port of the loopback interface that nobody uses.
///
/// # Errors
/// There is none.
pub fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| e.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|e| e.to_string())
}

/// Runs a program to its end, and returns what it wrote.
///
/// # Errors
/// It fails; the error has its words.
pub fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{name}: {e}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
