//! OpenSSL's own server, which has one connection at a time: several processes of it, each with a port of its own.

use std::path::Path;
use std::process::Command;

use super::running::{Running, Server, free_port, output};

/// Returns what the program says of its version.
///
/// # Errors
/// There is no such program.
pub fn version(openssl: &Path) -> Result<(String, String), String> {
    let text = output(Command::new(openssl).arg("version"))?;
    Ok(("openssl s_server".to_owned(), text.trim().to_owned()))
}

/// The settings of a server: its key, its processes and their processor.
pub struct SServer<'a> {
    /// The program.
    pub program: &'a Path,
    /// The number of processes.
    pub workers: u32,
    /// The processor of all of them.
    pub cpu: usize,
    /// The folder with `certificate.pem` and `key.pem`.
    pub folder: &'a Path,
    /// The words in front of the program.
    pub front: &'a [String],
    /// OpenSSL's name of the group by which it agrees.
    pub group: &'a str,
}

impl SServer<'_> {
    /// Starts it.
    ///
    /// # Errors
    /// It does not serve.
    pub fn start(&self) -> Result<Server, String> {
        let served = (0..self.workers).map(|_| {
            let port = free_port()?;
            let mut server = Command::new("taskset");
            server.args(["-c", &self.cpu.to_string()]).args(self.front).arg(self.program);
            server.args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-groups", self.group]);
            server.arg("-key").arg(self.folder.join("key.pem"));
            server.arg("-cert").arg(self.folder.join("certificate.pem"));
            server.args(["-tls1_3", "-num_tickets", "0", "-rev", "-quiet"]);
            Ok((port, Running::serving(&mut server, port, &self.folder.join("no log"))?))
        });
        Ok(Server::new(served.collect::<Result<Vec<_>, String>>()?))
    }
}
