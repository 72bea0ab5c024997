//! `millstream serve` with a socket for the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Signal, kill_process};

use crate::{Place, Running, built, eventually};

/// A service. It is ended when this is dropped.
pub struct Service {
    running: Running,
    socket: PathBuf,
}

impl Service {
    /// Starts one, with these options.
    #[track_caller]
    pub fn start(place: &Place, options: &[&str]) -> Service {
        let socket = place.make("service").join("socket");
        let mut serve = Command::new(&built().millstream);
        serve.args(["serve", "--quiet", "--socket"]).arg(&socket).args(options).stdin(Stdio::null());
        serve.env_remove("MILLSTREAM_SOCKET").env_remove("MILLSTREAM_HWCAP").stdout(Stdio::null());
        let service = Service { running: Running::start(&mut serve), socket };
        eventually("the service answers", || service.status().is_some());
        service
    }

    /// Returns the path of its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the output of `millstream status --json`, once the service answers.
    pub fn status(&self) -> Option<String> {
        let mut status = Command::new(&built().millstream);
        let output = status.args(["status", "--json", "--socket"]).arg(&self.socket).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // The workers are in groups of their own, so the service has to end them itself.
        let _ = kill_process(self.running.pid(), Signal::TERM);
        let begin = std::time::Instant::now();
        while matches!(self.running.child.try_wait(), Ok(None)) && begin.elapsed().as_secs() < 10 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
