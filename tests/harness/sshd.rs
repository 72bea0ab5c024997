//! OpenSSH's server with a configuration for the test.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Ended, Place, Running, Side, bytes, eventually, free_port, program, run};

/// The server, with its own keys and settings.
pub struct Sshd {
    running: Running,
    port: u16,
    place: Place,
}

impl Sshd {
    /// Starts it.
    #[track_caller]
    pub fn start(place: Place, side: &Side) -> Sshd {
        let port = free_port();
        for key in ["host", "user"] {
            let mut keygen = Command::new(program("ssh-keygen"));
            run(keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(place.path(key)), b"").good();
        }
        let at = place.folder().display();
        let text = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\nStrictModes no\n\
             UsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\nSubsystem sftp internal-sftp\n\
             Ciphers +aes128-cbc,aes192-cbc,aes256-cbc,3des-cbc\nMACs +hmac-sha1-96,hmac-md5,hmac-md5-96\nLogLevel VERBOSE\n"
        );
        let configuration = place.write("sshd_config", text);
        // The package's unit makes this folder. Only root's server wants it.
        if rustix::process::geteuid().is_root() {
            std::fs::create_dir_all("/run/sshd").expect("root can make it");
        }
        let log = std::fs::File::create(place.path("sshd.log")).expect("the folder is ours");
        let mut sshd = side.command(program("sshd"));
        sshd.args(["-D", "-e", "-f"])
            .arg(configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let mut sshd = Sshd { running: Running::start(&mut sshd), port, place };
        eventually("sshd listens", || {
            let ended = sshd.running.child.try_wait().expect("it is our child");
            assert!(ended.is_none(), "sshd: {ended:?}\n{}", sshd.log());
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        sshd
    }

    /// Lets another key in, which a line of `authorized_keys` has.
    pub fn admit(&self, line: &str) {
        self.place.write("user.pub", line);
    }

    /// Returns the port at which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns its log so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&self.place.read("sshd.log")).into_owned()
    }

    /// Returns `ssh` or `scp` as a client of it.
    pub fn client(&self, side: &Side, name: &str, options: &[&str]) -> Command {
        let mut client = side.command(program(name));
        client.args(["-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]);
        client.args(["-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-i"]).arg(self.place.path("user"));
        client.arg("-o").arg(format!("Port={}", self.port)).args(options);
        client
    }

    /// Runs a client, and shows the server's log when it fails.
    #[track_caller]
    pub fn good(&self, command: &mut Command, input: &[u8]) -> Ended {
        let ended = run(command, input);
        assert_eq!(ended.code, Some(0), "{}\n{}\nsshd: {}", ended.shown, ended.err, self.log());
        ended
    }

    /// Copies a file there and back.
    #[track_caller]
    pub fn copies(&self, side: &Side, options: &[&str], len: usize) {
        let data = bytes(len);
        let file = self.place.write("file", &data);
        let remote = |path: &Path| format!("127.0.0.1:{}", path.display());
        let there = self.place.path("there");
        self.good(self.client(side, "scp", options).arg("-q").arg(&file).arg(remote(&there)), b"");
        assert!(self.place.read("there") == data, "{options:?}: other data there");
        self.good(
            self.client(side, "scp", options).arg("-q").arg(remote(&there)).arg(self.place.path("back")),
            b"",
        );
        assert!(self.place.read("back") == data, "{options:?}: other data back");
    }
}
