//! The service that holds the keys of an isolated program: the running one, or else one for this run.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use millstream::isolated::{AttachError, Service as Connection};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::child::attend;
use super::folder::Folder;
use crate::error::{Error, plain};

/// The time that it may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A service, and its process if it is there for this run only.
pub struct Service {
    socket: PathBuf,
    own: Option<Own>,
}

/// A process, and its standard output, which is kept open so that it can write.
struct Own {
    child: Child,
    _said: BufReader<ChildStdout>,
}

impl Service {
    /// Finds the service at `socket`, or the usual one, or starts a new one.
    ///
    /// # Errors
    /// Fails when the named one can't be reached, or a new one does not become ready.
    pub fn find(socket: Option<&Path>, folder: &Folder) -> Result<Service, Error> {
        let named = socket.is_some() || std::env::var_os(millstream_protocol::SOCKET_VARIABLE).is_some();
        match Connection::connect(socket) {
            Ok(service) => Ok(Service { socket: service.socket().to_owned(), own: None }),
            Err(AttachError::NoService { .. }) if !named => Service::start(folder),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns true when it was started for this run.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Starts a service for this run.
    ///
    /// # Errors
    /// Fails when it does not become ready, with what it said.
    pub fn start(folder: &Folder) -> Result<Service, Error> {
        let socket = folder.path("service");
        let policy = folder.write("policy.toml", &policy())?;
        let log = folder.path("log");
        let write = |source| Error::Write { name: log.display().to_string(), source };
        let errors = std::fs::File::create(&log).map_err(write)?;
        let mut command = Command::new(std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into()));
        command.args(["serve", "--quiet", "--ready-fd", "1", "--socket"]).arg(&socket);
        command.arg("--policy").arg(policy);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        // These variables are for this command, or for the program.
        for variable in ["NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] {
            command.env_remove(variable);
        }
        attend(&mut command);
        let failed = |why: String| Error::Serve(format!("no service can be started for this run: {why}"));
        let mut child = command.spawn().map_err(|source| failed(plain(&source)))?;
        let mut said =
            BufReader::new(child.stdout.take().ok_or_else(|| failed("it printed nothing".into()))?);
        let mut line = String::new();
        let ready = said.read_line(&mut line).is_ok_and(|bytes| bytes > 0);
        let own = Own { child, _said: said };
        if !ready {
            drop(own);
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(failed(said.trim().to_owned()));
        }
        Ok(Service { socket, own: Some(own) })
    }
}

/// Returns the policy for the service of one run: this user may use it, or everybody, if a program may become
/// any user. A user who can't name the socket can't use it anyway.
fn policy() -> String {
    let whom = match geteuid().as_raw() {
        0 => "[default]".to_owned(),
        uid => format!("[[user]]\nuid = {uid}"),
    };
    // A server has a grant for each of its processes.
    format!(
        "{whom}\nmax_grants = 4096\ntotal_queues = 65536\ntotal_memory_mib = 1048576\ntotal_key_slots = 1048576\n\
         orders = 4096\nattaches_per_s = 0\nworkers = 0\n[limits]\nreserve_percent = 0\n"
    )
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let until = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
