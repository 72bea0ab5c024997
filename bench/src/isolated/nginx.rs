//! nginx, with a private key that a file has or an engine finds.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::running::{Running, Server, free_port};

/// Returns what nginx says of its version.
///
/// # Errors
/// There is no such program.
pub fn version(nginx: &Path) -> Result<(String, String), String> {
    let output = Command::new(nginx).arg("-v").output().map_err(|e| format!("{}: {e}", nginx.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(("nginx".to_owned(), text.trim().trim_start_matches("nginx version: ").to_owned()))
}

/// The settings of a server: its key, its port and its processor.
pub struct Nginx<'a> {
    /// The program.
    pub program: &'a Path,
    /// The number of nginx's workers.
    pub workers: u32,
    /// The processor of all of them.
    pub cpu: usize,
    /// The folder with `certificate.pem`, and with `key.pem` where no other key is named.
    pub folder: &'a Path,
    /// The words in front of the program.
    pub front: &'a [String],
    /// The private key, as nginx's configuration names it.
    pub key: Option<String>,
    /// Variables that its workers have, too.
    pub environment: &'a [(&'static str, OsString)],
}

impl Nginx<'_> {
    /// Starts it on a port of its own, with its files in a folder of that name.
    ///
    /// # Errors
    /// It does not serve.
    pub fn start(&self, name: &str) -> Result<Server, String> {
        let port = free_port()?;
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let configuration = folder.join("nginx.conf");
        let file = std::fs::write(&configuration, self.configuration(&folder, port));
        file.map_err(|e| format!("{}: {e}", configuration.display()))?;
        let log = folder.join("error.log");
        let mut server = Command::new("taskset");
        server.args(["-c", &self.cpu.to_string()]).args(self.front).arg(self.program).arg("-c");
        server.arg(&configuration).arg("-e").arg(&log);
        server.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let running = Running::serving(&mut server, port, &log)?;
        // The server listens before it has workers.
        std::thread::sleep(Duration::from_millis(500));
        Ok(Server::new([(port, running)]))
    }

    fn configuration(&self, folder: &Path, port: u16) -> String {
        let (at, keys) = (folder.display(), self.folder.display());
        let user = if is_root() { "user root;" } else { "" };
        let key = self.key.clone().unwrap_or_else(|| format!("{keys}/key.pem"));
        let kept: String = self.environment.iter().map(|(name, _)| format!("env {name};")).collect();
        format!(
            "daemon off; worker_processes {}; {user} {kept} pid {at}/pid; error_log {at}/error.log;\n\
             events {{ worker_connections 512; }}\n\
             http {{ access_log off; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy;\n\
             fastcgi_temp_path {at}/fastcgi; uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;\n\
             server {{ listen 127.0.0.1:{port} ssl reuseport; ssl_certificate {keys}/certificate.pem;\n\
             ssl_certificate_key \"{key}\"; ssl_protocols TLSv1.3; ssl_session_tickets off; }} }}\n",
            self.workers
        )
    }
}

/// Root's nginx would otherwise change to a user who can't read the folder.
#[allow(unsafe_code)]
fn is_root() -> bool {
    // SAFETY: the call has no arguments and never fails.
    unsafe { libc::geteuid() == 0 }
}
