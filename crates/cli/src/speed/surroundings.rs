//! The surroundings of the isolated way and of existing mediated ways, set up for one run and removed after
//! it: a service, a token of SoftHSM, and p11-kit's server in front of that token.
//!
//! The modules read the environment when they are loaded, so another process of this program, started with
//! that environment, does the measuring.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::error::{Error, plain};
use crate::signals;

/// The label of the token.
pub const LABEL: &str = "millstream-speed";
/// The PIN of the token. It guards nothing: the token is this user's alone, and gone after the run.
pub const PIN: &[u8] = b"123456";

/// The time that something may take to be ready, or to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The folders in which modules are installed.
const FOLDERS: &[&str] = &[
    "/usr/lib/softhsm",
    "/usr/lib/x86_64-linux-gnu/softhsm",
    "/usr/lib/aarch64-linux-gnu/softhsm",
    "/usr/lib/x86_64-linux-gnu/pkcs11",
    "/usr/lib/aarch64-linux-gnu/pkcs11",
    "/usr/lib64/pkcs11",
    "/usr/lib/pkcs11",
];

/// Finds SoftHSM's module.
///
/// # Errors
/// [`Error::Library`] when it is not installed.
pub fn softhsm() -> Result<PathBuf, Error> {
    module("libsofthsm2.so", "install it: apt-get install softhsm2")
}

/// Finds the module that talks to p11-kit's server.
///
/// # Errors
/// [`Error::Library`] when it is not installed.
pub fn p11_kit() -> Result<PathBuf, Error> {
    module("p11-kit-client.so", "install it: apt-get install p11-kit p11-kit-modules")
}

fn module(name: &'static str, remedy: &'static str) -> Result<PathBuf, Error> {
    let found = FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists());
    found.ok_or_else(|| Error::Library {
        path: Path::new(name).into(),
        why: "it was not found".into(),
        remedy,
    })
}

/// The variable that is set in the environment of the process that measures.
const THERE: &str = "MILLSTREAM_SPEED_SURROUNDINGS";

/// Returns true when this process was started by another one that has set up everything.
pub fn are_there() -> bool {
    std::env::var_os(THERE).is_some()
}

/// Everything that was set up, and the environment in which it is found.
pub struct Surroundings {
    directory: TempDir,
    environment: Vec<(&'static str, OsString)>,
    /// The processes, each with its standard output, which is kept open so that it can write.
    children: Vec<(Child, Option<BufReader<ChildStdout>>)>,
}

impl Surroundings {
    /// Makes a directory, with nothing in it yet.
    ///
    /// # Errors
    /// Fails when there is no place for it.
    pub fn new() -> Result<Surroundings, Error> {
        let made = tempfile::Builder::new().prefix("millstream-").tempdir();
        let directory =
            made.map_err(|source| Error::Write { name: "a temporary directory".into(), source })?;
        signals::untidy().directory = Some(directory.path().to_owned());
        Ok(Surroundings { directory, environment: Vec::new(), children: Vec::new() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts a service of this program.
    ///
    /// # Errors
    /// Fails when it does not become ready.
    pub fn serve(&mut self) -> Result<(), Error> {
        let socket = self.path("millstream.sock");
        let mut command = this_program();
        command.args(["serve", "--quiet", "--ready-fd", "1", "--socket"]).arg(&socket);
        self.start(command, "see its messages above")?;
        self.environment.push((millstream_protocol::SOCKET_VARIABLE, socket.into()));
        Ok(())
    }

    /// Makes a token of SoftHSM.
    ///
    /// # Errors
    /// Fails when SoftHSM is not installed, or can't make one.
    pub fn token(&mut self) -> Result<(), Error> {
        const INSTALL: &str = "install it: apt-get install softhsm2";
        softhsm()?;
        let (config, tokens) = (self.path("softhsm2.conf"), self.path("tokens"));
        let text = format!("directories.tokendir = {}\nlog.level = ERROR\n", tokens.display());
        let write = |source| Error::Write { name: config.display().to_string(), source };
        std::fs::create_dir(&tokens).and_then(|()| std::fs::write(&config, text)).map_err(write)?;
        let pin = String::from_utf8_lossy(PIN);
        let made = Command::new("softhsm2-util")
            .args(["--init-token", "--free", "--label", LABEL, "--so-pin", &pin, "--pin", &pin])
            .env("SOFTHSM2_CONF", &config)
            .output();
        let made = made.map_err(|source| failed("softhsm2-util", plain(&source), INSTALL))?;
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr).trim().to_owned();
            return Err(failed("softhsm2-util", why, "try it by hand, or leave softhsm out"));
        }
        self.environment.push(("SOFTHSM2_CONF", config.into()));
        Ok(())
    }

    /// Starts the server of p11-kit in front of the token, which must exist.
    ///
    /// # Errors
    /// Fails when p11-kit is not installed, or its server does not become ready.
    pub fn p11_kit(&mut self) -> Result<(), Error> {
        let socket = self.path("p11-kit.sock");
        let provider = softhsm()?;
        p11_kit()?;
        let mut command = Command::new("p11-kit");
        command
            .args(["server", "--foreground", "--sh", "--name"])
            .arg(&socket)
            .arg("--provider")
            .arg(provider);
        command.arg(format!("pkcs11:token={LABEL}")).envs(self.environment.iter().cloned());
        self.start(command, "install it: apt-get install p11-kit")?;
        let mut address = OsString::from("unix:path=");
        address.push(socket);
        self.environment.push(("P11_KIT_SERVER_ADDRESS", address));
        Ok(())
    }

    /// Starts a process that prints a line when it is ready.
    fn start(&mut self, mut command: Command, remedy: &'static str) -> Result<(), Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = self.spawn(command, &name, remedy)?;
        let mut said = child.stdout.take().map(BufReader::new);
        let mut line = String::new();
        let read = said.as_mut().map(|said| said.read_line(&mut line));
        self.children.push((child, said));
        match read {
            Some(Ok(bytes)) if bytes > 0 => Ok(()),
            _ => Err(failed(&name, "it did not become ready".into(), remedy)),
        }
    }

    fn spawn(&self, mut command: Command, name: &str, remedy: &'static str) -> Result<Child, Error> {
        // A signal must find everything that was started.
        let mut untidy = signals::untidy();
        let child = command.spawn().map_err(|source| failed(name, plain(&source), remedy))?;
        untidy.children.extend(pid(&child));
        Ok(child)
    }

    /// Runs this program with `arguments` in that environment, and returns its exit code.
    ///
    /// # Errors
    /// Fails when it can't be started, or was killed.
    pub fn run(&mut self, arguments: &[OsString]) -> Result<u8, Error> {
        let mut command = this_program();
        command.args(arguments).envs(self.environment.iter().cloned()).env(THERE, "1");
        let mut child = self.spawn(command, "millstream", "run it again")?;
        let status = child.wait();
        forget(&child);
        let status = status.map_err(|source| failed("millstream", plain(&source), "run it again"))?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        code.ok_or_else(|| failed("millstream", format!("it ended early: {status}"), "run it again"))
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        for (child, _) in self.children.iter_mut().rev() {
            if let Some(pid) = pid(child) {
                let _ = kill_process(pid, Signal::TERM);
            }
            let until = Instant::now() + PATIENCE;
            while matches!(child.try_wait(), Ok(None)) {
                if Instant::now() > until {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            forget(child);
        }
        signals::untidy().directory = None;
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Removes a child that has ended from the list of processes to signal.
fn forget(child: &Child) {
    signals::untidy().children.retain(|other| Some(*other) != pid(child));
}

/// Returns the command of this program by its path, so that `ps` and `millstream status` show its name.
pub(super) fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into()))
}

fn failed(program: &str, why: String, remedy: &'static str) -> Error {
    Error::Library { path: Path::new(program).into(), why, remedy }
}
