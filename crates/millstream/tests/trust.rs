//! Tests which service a client trusts, with a real set-user-ID program and other users' processes: this program starts
//! copies of itself. It needs root.
//!
//! # Safety
//! The C library's calls here take and return numbers and touch no memory of ours.
#![allow(unsafe_code)]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use millstream::cwq::Algorithm;
use millstream::isolated::{Attach, AttachError, Exportable};
use millstream_shm::Listener;

/// The user whose fake service it is, and one who has nothing to do with it.
const NOBODY: u32 = 65534;
const OTHER: u32 = 65533;

/// Much longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("client") => return client(arguments.get(2)),
        Some("places") => return places(),
        Some("fake") => return fake(Path::new(&arguments[2])),
        _ => {}
    }
    // SAFETY: see the module.
    if unsafe { libc::geteuid() } != 0 {
        println!("SKIPPED whom a client takes for its service: this needs root");
        return;
    }
    let stage = Stage::set();
    raised_programs_read_no_environment(&stage);
    strangers_are_told_nothing(&stage);
    assert_eq!(stage.heard(), EXPECTED, "what the fake service heard");
    undumpable_programs_have_their_users_directory(&stage);
}

/// The lines that the fake service hears of all clients, in their order: none of the set-user-ID program.
const EXPECTED: [&str; 5] = ["silent", "told", "told", "silent", "told"];

/// With the rights of a set-user-ID program: what its caller says of sockets and users is not looked at.
fn raised_programs_read_no_environment(stage: &Stage) {
    let said = stage.client("raised", NOBODY, &[("MILLSTREAM_SERVICE_UID", "65534")], &[]);
    if !said.contains("secure 1") {
        panic!(
            "a set-user-ID program gets no rights in {}: run this where nosuid is not set",
            stage.path.display()
        );
    }
    assert!(!said.contains(stage.socket().to_str().unwrap()), "{said}");
    // On a machine with a service that one answers; else the error says where it was looked for.
    assert!(said.contains("/run/millstream/millstream.sock") || said.contains("attached"), "{said}");
}

/// The connection is made, because only then the kernel says who listens; then it is closed.
fn strangers_are_told_nothing(stage: &Stage) {
    // Root, whom another user's variable led here.
    let said = stage.client("plain", 0, &[], &[]);
    for part in ["uid 65534", "uid 0 only", "MILLSTREAM_SERVICE_UID=65534", stage.socket().to_str().unwrap()]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Root that was told of that user is served, and so is the user.
    stage.client("plain", 0, &[("MILLSTREAM_SERVICE_UID", "65534")], &[]);
    stage.client("plain", NOBODY, &[], &[]);
    let said = stage.client("plain", OTHER, &[], &[]);
    assert!(said.contains("uid 0 or 65533 only"), "{said}");
    stage.client("plain", OTHER, &[], &["65534"]);
}

/// `/proc/self` of such a process is root's.
fn undumpable_programs_have_their_users_directory(stage: &Stage) {
    let mut command = Command::new(stage.path.join("plain"));
    command.arg("places").uid(NOBODY).gid(NOBODY).env_clear();
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert_eq!(said, "/run/user/65534/millstream.sock\n/run/millstream/millstream.sock\n");
}

/// A folder with two copies of this program, one of them set-user-ID, and a fake service of a user.
struct Stage {
    path: PathBuf,
    fake: Child,
    lines: Receiver<String>,
}

impl Stage {
    fn set() -> Self {
        let path = std::env::temp_dir().join(format!("millstream-trust-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        let folder = path.join("nobody");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        for (name, mode) in [("plain", 0o755), ("raised", 0o4755)] {
            millstream_testkit::copy_program(&std::env::current_exe().unwrap(), &path.join(name));
            fs::set_permissions(path.join(name), Permissions::from_mode(mode)).unwrap();
        }
        let socket = folder.join("millstream.sock");
        let mut command = Command::new(path.join("plain"));
        command.arg("fake").arg(socket).uid(NOBODY).gid(NOBODY).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut fake = command.spawn().unwrap();
        let (sender, lines) = channel();
        let said = BufReader::new(fake.stdout.take().unwrap());
        std::thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        assert_eq!(lines.recv_timeout(LONG).unwrap(), "ready");
        Stage { path, fake, lines }
    }

    fn socket(&self) -> PathBuf {
        self.path.join("nobody/millstream.sock")
    }

    /// Returns what a copy says that attaches as a user whose environment leads to the fake service.
    fn client(&self, program: &str, uid: u32, variables: &[(&str, &str)], arguments: &[&str]) -> String {
        let mut command = Command::new(self.path.join(program));
        command.arg("client").args(arguments).uid(uid).gid(uid).env_clear();
        command.env("MILLSTREAM_SOCKET", self.socket()).env("XDG_RUNTIME_DIR", self.path.join("nobody"));
        let output = command.envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// All that the fake service has heard.
    fn heard(&self) -> Vec<String> {
        let mut heard: Vec<String> =
            EXPECTED.iter().map(|_| self.lines.recv_timeout(LONG).unwrap()).collect();
        heard.extend(self.lines.try_recv());
        heard
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.fake.kill();
        let _ = self.fake.wait();
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Attaches where the environment leads, and brings its key.
fn client(service_uid: Option<&String>) {
    // SAFETY: see the module.
    println!("secure {}", unsafe { libc::getauxval(libc::AT_SECURE) });
    let service_uid = service_uid.map(|uid| uid.parse().unwrap());
    let attach = Attach { service_uid, limit: LONG, ..Attach::default() };
    match attach.attach() {
        Ok(accelerator) => {
            let key = accelerator.import_key(Algorithm::AesGcm, b"TOP-SECRET-KEY!!", Exportable::No);
            println!("attached: {}", key.is_ok());
        }
        Err(error @ AttachError::Untrusted { .. }) => println!("untrusted: {error}"),
        Err(error) => println!("{error}"),
    }
}

/// Prints where a client that can't be dumped looks.
fn places() {
    // SAFETY: see the module.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    millstream_protocol::sockets().iter().for_each(|path| println!("{}", path.display()));
}

/// Says of each client whether it sent anything, and hangs up.
fn fake(path: &Path) {
    let listener = Listener::bind(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
    println!("ready");
    // The test that started it may be killed.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    while let Ok(client) = listener.accept() {
        let message = client.receive();
        println!("{}", if matches!(message, Ok(None)) { "silent" } else { "told" });
    }
}
