//! `millstream agent` and the real OpenSSH: its clients list keys, sign, lock and log in, and an `sshd` has its host key there.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ended, MILLSTREAM, Place, ended};

/// The kinds of keys, and what `ssh-add -l` says of them.
const KINDS: [(&str, &str); 5] =
    [("p-256", "ECDSA"), ("p-384", "ECDSA"), ("p-521", "ECDSA"), ("ed25519", "ED25519"), ("rsa", "RSA")];

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder with a token `web` that has a key of each kind, and others that SSH has no use for.
struct Tokens(Place);

impl Tokens {
    fn new() -> Self {
        let place = Place::with_pins();
        let run = |line: &str| place.words(&format!("{line} --store store")).good();
        run("token init web --so-pin-file so --pin-file pin");
        for (kind, _) in KINDS {
            run(&format!("key generate {kind} -T web -K {kind} --pin-file pin"));
        }
        run("key generate aes -T web -K cipher --pin-file pin");
        run("key generate x25519 -T web -K agreement --pin-file pin");
        Tokens(place)
    }

    fn socket(&self) -> PathBuf {
        self.0.path("agent.sock")
    }

    /// Starts an agent, and waits until its socket is there.
    fn agent(&self, options: &str) -> Running {
        let mut agent = Command::new(MILLSTREAM);
        agent.args("agent -T web --pin-file pin --store store --socket agent.sock".split(' '));
        agent.args(options.split_whitespace()).current_dir(self.0.path("")).stdout(Stdio::null());
        agent.env("SSH_ASKPASS", self.0.path("askpass"));
        let agent = Running(agent.spawn().unwrap());
        eventually(|| UnixStream::connect(self.socket()).is_ok());
        agent
    }

    /// Runs a shell with the agent's socket.
    fn shell(&self, script: &str) -> Ended {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(self.0.path("")).env("SSH_AUTH_SOCK", self.socket());
        shell.env("SSH_ASKPASS", self.0.path("askpass")).env("SSH_ASKPASS_REQUIRE", "force");
        ended(&mut shell, b"")
    }

    /// Makes the program that answers questions.
    fn askpass(&self, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.0.write("askpass", format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
}

fn eventually(is: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < end, "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Signs by the agent and verifies by OpenSSH's own code.
const SIGN: &str = "ssh-add -L | grep ' '$KIND'$' > $KIND.pub && echo data > $KIND.txt && \
    ssh-keygen -q -Y sign -f $KIND.pub -n test $KIND.txt && \
    ssh-keygen -q -Y check-novalidate -n test -s $KIND.txt.sig < $KIND.txt";

#[test]
fn openssh_lists_the_keys_and_verifies_what_they_sign() {
    let tokens = Tokens::new();
    let _agent = tokens.agent("");
    let list = tokens.shell("ssh-add -l").text();
    assert_eq!(list.lines().count(), KINDS.len(), "{list}");
    for (kind, shown) in KINDS {
        assert!(list.contains(&format!("{kind} ({shown})")), "{list}");
        tokens.shell(&format!("KIND={kind}; {SIGN}")).good();
    }
    // Nothing comes in, and nothing goes.
    tokens.shell("ssh-keygen -q -t ed25519 -N '' -f other").good();
    assert_ne!(tokens.shell("ssh-add -q other").code, Some(0));
    assert_ne!(tokens.shell("ssh-add -c -t 60 other").code, Some(0));
    assert_ne!(tokens.shell("ssh-add -D").code, Some(0));
    assert_eq!(tokens.shell("ssh-add -l").text(), list);
}

#[test]
fn named_keys_are_shown_alone_and_others_are_refused() {
    let tokens = Tokens::new();
    let run = |options: &str| {
        let line = format!("agent -T web --pin-file pin --store store --socket agent.sock {options}");
        tokens.0.words(&line)
    };
    let list = run("-K p-256 -K rsa -- ssh-add -l").text();
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(!tokens.socket().exists(), "the socket goes with the agent");
    run("-K cipher -- true").bad(1, &["cipher", "does not sign for SSH"]);
    run("-K nothing -- true").bad(1, &["nothing"]);
    run("--lifetime soon -- true").bad(2, &["30m"]);
    assert_eq!((run("-- false").code, run("-- true").code), (Some(1), Some(0)));
    tokens.0.key("wrong", "4321\n");
    tokens
        .0
        .words("agent -T web --pin-file wrong --store store --socket agent.sock -- true")
        .bad(1, &["wrong user PIN"]);
}

#[test]
fn a_lock_a_question_and_a_lifetime_are_honoured() {
    let tokens = Tokens::new();
    tokens.askpass("echo word");
    {
        let _agent = tokens.agent("-K ed25519");
        tokens.shell("ssh-add -q -x 2>said").good();
        assert_ne!(tokens.shell("ssh-add -l").code, Some(0));
        assert_ne!(tokens.shell("ssh-keygen -y -f nothing").code, Some(0));
        tokens.askpass("echo other");
        assert_ne!(tokens.shell("ssh-add -X").code, Some(0));
        tokens.askpass("echo word");
        tokens.shell("ssh-add -q -X 2>said").good();
        tokens.shell(&format!("KIND=ed25519; {SIGN}")).good();
    }
    std::fs::remove_file(tokens.socket()).unwrap();
    {
        let _agent = tokens.agent("-K ed25519 --confirm");
        tokens.askpass("echo \"$1 $SSH_ASKPASS_PROMPT\" > asked; exit 1");
        assert_ne!(tokens.shell(&format!("KIND=ed25519; rm -f *.sig; {SIGN}")).code, Some(0));
        assert_eq!(tokens.0.read("asked"), b"Allow use of key ed25519? confirm\n");
        tokens.askpass("exit 0");
        tokens.shell(&format!("KIND=ed25519; rm -f *.sig; {SIGN}")).good();
    }
    std::fs::remove_file(tokens.socket()).unwrap();
    let _agent = tokens.agent("-K ed25519 --lifetime 1s");
    eventually(|| tokens.shell("ssh-add -l").code == Some(1));
}

#[test]
fn clients_that_misbehave_harm_nobody_else() {
    let tokens = Tokens::new();
    let _agent = tokens.agent("-K ed25519");
    let connect = || UnixStream::connect(tokens.socket()).unwrap();
    for bytes in [&[0, 0, 0, 0][..], &[0xff; 64], &[0, 4, 0, 1, 11]] {
        let mut client = connect();
        client.write_all(bytes).unwrap();
        // The agent closes the connection, and may do so before it has read everything.
        assert!(matches!(client.read(&mut [0; 1]), Ok(0) | Err(_)), "{bytes:?}");
    }
    // One that begins a message and never ends it is left alone, and holds up nobody.
    let mut slow = connect();
    slow.write_all(&[0, 0, 0, 9, 13]).unwrap();
    tokens.shell(&format!("KIND=ed25519; {SIGN}")).good();
    // When all places are taken, the next one is turned away, and when one is free again, served.
    let crowd: Vec<_> = (0..200).map(|_| connect()).collect();
    let mut late = connect();
    late.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(matches!(late.read(&mut [0; 1]), Ok(0) | Err(_)));
    drop((crowd, slow));
    eventually(|| tokens.shell("ssh-add -l").code == Some(0));
}

#[test]
fn an_sshd_has_its_host_key_and_its_user_theirs_in_the_agent() {
    let tokens = Tokens::new();
    let _agent = tokens.agent("");
    tokens.shell("ssh-add -L | grep ' p-256$' > host.pub && ssh-add -L | grep ' rsa$' > user.pub").good();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = tokens.0.path("");
    let at = at.display().to_string();
    let at = at.trim_end_matches('/');
    let configuration = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKeyAgent {}\nHostKey {at}/host.pub\nAuthorizedKeysFile {at}/user.pub\n\
         StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\n",
        tokens.socket().display()
    );
    let configuration = tokens.0.write("sshd_config", configuration);
    if rustix::process::geteuid().is_root() {
        std::fs::create_dir_all("/run/sshd").unwrap();
    }
    let log = std::fs::File::create(tokens.0.path("sshd.log")).unwrap();
    let mut sshd = Command::new("/usr/sbin/sshd");
    let sshd = sshd
        .args(["-D", "-e", "-f"])
        .arg(configuration)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    let _sshd = Running(sshd.spawn().unwrap());
    eventually(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
    tokens.shell(&format!("sed 's/^/[127.0.0.1]:{port} /' host.pub > known")).good();
    let script = format!(
        "ssh -F none -o UserKnownHostsFile=known -o StrictHostKeyChecking=yes -o BatchMode=yes -o IdentitiesOnly=yes \
         -i user.pub -p {port} 127.0.0.1 echo here"
    );
    let said = tokens.shell(&script);
    let log = String::from_utf8_lossy(&tokens.0.read("sshd.log")).into_owned();
    assert_eq!((said.code, &said.out[..]), (Some(0), &b"here\n"[..]), "{}\n{log}", said.err);
}
