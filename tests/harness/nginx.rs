//! nginx with a configuration for the test.

use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Signal;

use crate::certificate::Certificate;
use crate::observe::under;
use crate::{OpenSsl, Place, Running, Side, eventually, free_port, program, signal};

/// A server on the loopback interface. It is ended when this is dropped.
pub struct Nginx {
    running: Running,
    /// The port at which it serves with TLS.
    pub port: u16,
    /// The certificate.
    pub certificate: Certificate,
    log: PathBuf,
    pid: PathBuf,
}

impl Nginx {
    /// Starts it with that many workers. `server` has lines of the server's block. With another version of
    /// OpenSSL than the system's, it runs on the libraries of that version.
    #[track_caller]
    pub fn start(place: &Place, side: &Side, openssl: &OpenSsl, workers: usize, server: &str) -> Nginx {
        Nginx::start_under(&[], place, side, openssl, workers, server)
    }

    /// Starts it with `millstream WORDS --` in front of it, unless there are no words.
    #[track_caller]
    pub fn start_under(
        words: &[&str],
        place: &Place,
        side: &Side,
        openssl: &OpenSsl,
        workers: usize,
        server: &str,
    ) -> Nginx {
        Nginx::start_with(Certificate::ecdsa(place), words, place, side, openssl, workers, server)
    }

    /// Starts it in the same way with that certificate. `server` may name others.
    #[track_caller]
    pub fn start_with(
        certificate: Certificate,
        words: &[&str],
        place: &Place,
        side: &Side,
        openssl: &OpenSsl,
        workers: usize,
        server: &str,
    ) -> Nginx {
        let port = free_port();
        let folder = place.make("nginx");
        let at = folder.display();
        let log = folder.join("error.log");
        // Root's server would otherwise change to a user who can't read the test's folder.
        let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
        let text = format!(
            "daemon off;\nmaster_process on;\nworker_processes {workers};\n{user}\nenv MILLSTREAM_STORE;\nenv MILLSTREAM_SOCKET;\npid {at}/pid;\nerror_log {at}/error.log notice;\n\
             events {{ worker_connections 512; }}\n\
             http {{\n  access_log off;\n  client_body_temp_path {at}/body;\n  proxy_temp_path {at}/proxy;\n  \
             fastcgi_temp_path {at}/fastcgi;\n  uwsgi_temp_path {at}/uwsgi;\n  scgi_temp_path {at}/scgi;\n  \
             client_max_body_size 1g;\n  server {{\n    listen 127.0.0.1:{port} ssl;\n    \
             ssl_certificate {};\n    ssl_certificate_key {};\n    ssl_protocols TLSv1.2 TLSv1.3;\n    \
             ssl_ciphers ALL:@SECLEVEL=0;\n    {server}\n  }}\n}}\n",
            certificate.certificate.display(),
            certificate.key.display(),
        );
        let configuration = place.write("nginx/nginx.conf", text);
        let mut nginx = side.command(program("nginx"));
        if let Some(libraries) = openssl.libraries() {
            nginx.env("LD_LIBRARY_PATH", libraries);
        }
        nginx.args(["-p", &at.to_string(), "-c"]).arg(configuration).args(["-e", &log.to_string_lossy()]);
        if !words.is_empty() {
            nginx = under(words, &nginx);
        }
        let running =
            Running::start(nginx.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()));
        let mut nginx = Nginx { running, port, certificate, log, pid: folder.join("pid") };
        eventually("nginx listens", || {
            let ended = nginx.running.child.try_wait().expect("it is our child");
            assert!(ended.is_none(), "nginx: {ended:?}\n{}", nginx.log());
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        // The server listens before it has workers.
        eventually("nginx has its workers", || nginx.pid.exists() && nginx.workers().len() >= workers);
        nginx
    }

    /// Returns the address of a file.
    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}", self.port)
    }

    /// Returns its master process.
    pub fn master(&self) -> u32 {
        let pid = std::fs::read_to_string(&self.pid).unwrap_or_default();
        pid.trim().parse().unwrap_or(self.running.child.id())
    }

    /// Returns its current workers.
    pub fn workers(&self) -> Vec<u32> {
        let pid = self.master();
        let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Returns its log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it when all requests are served, and requires that nothing went wrong.
    #[track_caller]
    pub fn finish(mut self) {
        signal(self.master(), Signal::QUIT);
        self.running.finish();
        let log = self.log();
        for bad in ["[alert]", "[crit]", "[emerg]", "[error]"] {
            assert!(!log.contains(bad), "{log}");
        }
    }
}
