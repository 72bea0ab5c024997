//! Programs: finding them, running them to their end, or until the test drops them.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

/// The time after which a test gives up. Nothing takes so long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Programs, and the packages of Debian that have them.
const PACKAGES: &[(&str, &str)] = &[
    ("openssl", "openssl"),
    ("nginx", "nginx-light"),
    ("curl", "curl"),
    ("apache2", "apache2-bin"),
    ("sshd", "openssh-server"),
    ("ssh", "openssh-client"),
    ("scp", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("git", "git"),
    ("git-remote-http", "git"),
    ("git-http-backend", "git"),
    ("fcgiwrap", "fcgiwrap"),
    ("python3", "python3"),
    ("apt-get", "apt"),
    ("dpkg-source", "dpkg-dev"),
    ("ldd", "libc-bin"),
    ("make", "make"),
    ("gpg", "gnupg"),
    ("gpgconf", "gnupg"),
    ("strip", "binutils"),
    ("strace", "strace"),
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
    ("setsid", "util-linux"),
    ("cc", "gcc"),
    ("pkg-config", "pkg-config"),
    ("go", "golang-go"),
    ("java", "default-jdk-headless"),
    ("javac", "default-jdk-headless"),
    ("node", "nodejs"),
    ("keytool", "default-jdk-headless"),
    ("keymgr", "knot"),
    ("kzonesign", "knot-dnssecutils"),
    ("dnssec-verify", "bind9-utils"),
    ("ssh-add", "openssh-client"),
    ("ssh-agent", "openssh-client"),
    ("pkcs11-tool", "opensc"),
    ("p11tool", "gnutls-bin"),
    ("certtool", "gnutls-bin"),
    ("gnutls-serv", "gnutls-bin"),
    ("p11-kit", "p11-kit"),
    ("certutil", "libnss3-tools"),
    ("modutil", "libnss3-tools"),
    ("gst-launch-1.0", "gstreamer1.0-tools gstreamer1.0-plugins-good gstreamer1.0-plugins-bad"),
    ("pk12util", "libnss3-tools"),
    ("selfserv", "libnss3-tools"),
];

/// Returns the path of one of Debian's programs.
///
/// # Panics
/// Panics when it is missing, naming its package.
#[track_caller]
pub fn program(name: &str) -> PathBuf {
    // Other programs in the `PATH` may be linked to another OpenSSL.
    let folders = ["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/lib/git-core"];
    let found = folders.iter().map(|folder| PathBuf::from(folder).join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| missing(name))
}

/// Returns the path of a program of any origin, because compilers and runtimes are often not Debian's.
///
/// # Panics
/// Panics when it is missing, naming Debian's package.
#[track_caller]
pub fn tool(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| missing(name))
}

#[track_caller]
fn missing(name: &str) -> ! {
    let package = PACKAGES.iter().find(|(program, _)| *program == name).map_or(name, |(_, package)| package);
    panic!(
        "there is no {name} here: `apt-get install {package}`, or `cargo xtask setup` for all that is needed"
    )
}

/// The end of a program.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; none after a signal.
    pub code: Option<i32>,
    /// The standard output.
    pub out: Vec<u8>,
    /// The standard error.
    pub err: String,
    /// The command line.
    pub shown: String,
    /// The processor time in user mode, including the processes it waited for, to a hundredth of a second.
    pub user: Duration,
}

impl Ended {
    /// Requires success, and returns the output.
    #[track_caller]
    pub fn good(self) -> Vec<u8> {
        assert_eq!(self.code, Some(0), "{}\n{}{}", self.shown, self.err, tail(&self.out));
        self.out
    }

    /// Returns the output as text, after success.
    #[track_caller]
    pub fn text(self) -> String {
        String::from_utf8(self.good()).expect("it writes text")
    }
}

/// Returns the end of an output, for a message.
fn tail(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4000)..]).into_owned()
}

/// Runs a program to its end with this on its standard input.
///
/// # Panics
/// When it can't be started or does not end.
#[track_caller]
pub fn run(command: &mut Command, input: &[u8]) -> Ended {
    let mut running =
        Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut stdin = running.child.stdin.take().expect("it is piped");
    let out = running.child.stdout.take().expect("it is piped");
    let err = running.child.stderr.take().expect("it is piped");
    let (sender, ended) = mpsc::channel::<()>();
    let pid = running.pid();
    std::thread::scope(|scope| {
        // A program that fails early doesn't read its input.
        scope.spawn(move || drop(stdin.write_all(input)));
        let out = scope.spawn(move || all(out));
        let err = scope.spawn(move || all(err));
        let watch = scope.spawn(move || {
            let late = ended.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                let _ = kill_process_group(pid, Signal::KILL);
            }
            late
        });
        let (out, err) = (out.join().expect("it reads"), err.join().expect("it reads"));
        let user = user_time(pid);
        let status = running.child.wait().expect("it is our child");
        drop(sender);
        assert!(
            !watch.join().expect("it waits"),
            "{command:?} did not end\n{}",
            String::from_utf8_lossy(&err)
        );
        let err = String::from_utf8_lossy(&err).into_owned();
        Ended { code: status.code(), out, err, shown: format!("{command:?}"), user }
    })
}

/// Returns the time of a child that ended and was not waited for yet.
fn user_time(pid: Pid) -> Duration {
    let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    Duration::from_millis(10 * ticks(pid.as_raw_nonzero().get().unsigned_abs()))
}

/// Returns the hundredths of a second in user mode of a process and of its children that it waited for.
pub fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name, in parentheses, may have blanks.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<u64> = rest.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    fields.get(11).zip(fields.get(13)).map_or(0, |(own, children)| own + children)
}

fn all(mut from: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    bytes
}

/// A program that runs until the test drops this. All processes that it started end with it.
pub struct Running {
    /// The child, with its streams if they are piped.
    pub child: Child,
}

impl Running {
    /// Starts it as the leader of its own process group.
    #[track_caller]
    pub fn start(command: &mut Command) -> Running {
        let child = command.process_group(0).spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Running { child }
    }

    /// Starts a server that says nothing, and waits until something listens at its port.
    #[track_caller]
    pub fn serving(command: &mut Command, port: u16) -> Running {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        let mut running = Running::start(command);
        eventually("the server listens", || {
            let ended = running.child.try_wait().expect("it is our child");
            assert!(ended.is_none(), "{command:?}: {ended:?}");
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        running
    }

    /// Returns its process, which is also its group.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until it ends by itself, and requires success.
    #[track_caller]
    pub fn finish(&mut self) {
        eventually("the program ends", || self.child.try_wait().expect("it is our child").is_some());
        let status = self.child.wait().expect("it is our child");
        assert!(status.success(), "{status}");
    }

    /// Asks it to end, and waits.
    #[track_caller]
    pub fn stop(&mut self, how: Signal) {
        let _ = kill_process(self.pid(), how);
        eventually("the program ends", || self.child.try_wait().expect("it is our child").is_some());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Sends a signal to some process.
#[track_caller]
pub fn signal(pid: u32, how: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process has a positive number");
    kill_process(pid, how).unwrap_or_else(|e| panic!("{pid:?}: {e}"));
}

/// Returns a free port of the loopback interface, below those that the system gives to clients.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Tests in other processes begin elsewhere.
    let begin = (std::process::id() % 12_000) as u16;
    loop {
        let port = 20_000 + (begin + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Waits until a condition holds, and fails when it takes too long.
#[track_caller]
pub fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < PATIENCE, "{what}: not within {} seconds", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
}
