//! OpenSSH: `scp` and `ssh` against an `sshd` on the loopback interface, as the user who runs the test.

use std::path::Path;
use std::process::{Command, Stdio};

use millstream_tests::{
    Counters, Ended, Place, Provider, Running, Side, bytes, eventually, free_port, program, run,
};

/// The server, with keys and settings of its own.
struct Sshd {
    running: Running,
    port: u16,
    place: Place,
}

impl Sshd {
    #[track_caller]
    fn start(place: Place, side: &Side) -> Sshd {
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
        // What the package's unit makes; only root's server wants it.
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

    fn log(&self) -> String {
        String::from_utf8_lossy(&self.place.read("sshd.log")).into_owned()
    }

    /// `ssh` or `scp` as a client of it.
    fn client(&self, side: &Side, name: &str, options: &[&str]) -> Command {
        let mut client = side.command(program(name));
        client.args(["-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]);
        client.args(["-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-i"]).arg(self.place.path("user"));
        client.arg("-o").arg(format!("Port={}", self.port)).args(options);
        client
    }

    /// Runs it, and shows what the server says when it fails.
    #[track_caller]
    fn good(&self, command: &mut Command, input: &[u8]) -> Ended {
        let ended = run(command, input);
        assert_eq!(ended.code, Some(0), "{}\n{}\nsshd: {}", ended.shown, ended.err, self.log());
        ended
    }

    /// Copies a file there and back.
    #[track_caller]
    fn copies(&self, side: &Side, options: &[&str], len: usize) {
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

/// OpenSSH's names, the provider's, and whether a code of another algorithm goes with it.
const CIPHERS: &[(&str, &str, bool)] = &[
    ("aes128-ctr", "aes-128-ctr", true),
    ("aes192-ctr", "aes-192-ctr", true),
    ("aes256-ctr", "aes-256-ctr", true),
    ("aes128-gcm@openssh.com", "aes-128-gcm", false),
    ("aes256-gcm@openssh.com", "aes-256-gcm", false),
    ("aes128-cbc", "aes-128-cbc", true),
    ("aes192-cbc", "aes-192-cbc", true),
    ("aes256-cbc", "aes-256-cbc", true),
    ("3des-cbc", "3des-cbc", true),
];

const LEN: usize = 3_000_000;

/// Every cipher with several megabytes both ways, Millstream on both sides.
#[test]
fn copies_with_every_cipher() {
    let place = Place::new();
    let server = Side::new(&place, "server", Provider::Millstream);
    let client = Side::new(&place, "client", Provider::Millstream);
    let sshd = Sshd::start(place, &server);
    for (cipher, algorithm, code) in CIPHERS {
        let before = (server.counted(), client.counted());
        sshd.copies(&client, &["-c", cipher, "-o", "MACs=hmac-sha2-256"], LEN);
        // What a connection of the server counts is complete when its process has ended.
        let grown = |now: &Counters, before: &Counters, name: &str| now.of(name).1 - before.of(name).1;
        let due = 2 * LEN as u64;
        eventually("the server counts", || grown(&server.counted(), &before.0, algorithm) >= due);
        assert!(grown(&client.counted(), &before.1, algorithm) >= due, "{cipher}:\n{}", client.counted());
        if *code {
            // OpenSSH builds HMAC on digests itself.
            assert!(grown(&client.counted(), &before.1, "*sha256") >= due, "{cipher}:\n{}", client.counted());
        }
    }
}

/// OpenSSH makes its own AEAD of a Poly1305 of its own and OpenSSL's bare ChaCha20, which Millstream does not offer: the
/// data arrives, and Millstream has only the key exchange to do.
#[test]
fn copies_with_openssh_s_own_cipher() {
    let place = Place::new();
    let side = Side::new(&place, "millstream", Provider::Millstream);
    let sshd = Sshd::start(place, &side);
    sshd.copies(&side, &["-c", "chacha20-poly1305@openssh.com"], LEN);
    let counted = side.counted();
    counted.require("sha256", 10, 1000);
    assert_eq!(counted.of("chacha20*"), (0, 0), "{counted}");
}

/// Codes of all kinds: OpenSSH's HMAC copies digests for every packet.
#[test]
fn codes() {
    let place = Place::new();
    let server = Side::new(&place, "server", Provider::Millstream);
    let client = Side::new(&place, "client", Provider::Default);
    let sshd = Sshd::start(place, &server);
    let codes = [
        ("hmac-sha1", "*sha1"),
        ("hmac-sha1-96", "*sha1"),
        ("hmac-sha2-256-etm@openssh.com", "*sha256"),
        ("hmac-sha2-512", "*sha512"),
        ("hmac-md5", "*md5"),
        ("umac-128@openssh.com", "aes-128-ctr"),
    ];
    for (code, algorithm) in codes {
        let before = server.counted().of(algorithm);
        sshd.copies(&client, &["-c", "aes128-ctr", "-o", &format!("MACs={code}")], 500_000);
        eventually("the server counts", || server.counted().of(algorithm).1 - before.1 >= 1_000_000);
    }
    client.counted().require_none();
}

/// New keys after each megabyte, on both sides in turn.
#[test]
fn new_keys() {
    let place = Place::new();
    let server = Side::new(&place, "server", Provider::Millstream);
    let millstream = Side::new(&place, "client", Provider::Millstream);
    let default = Side::new(&place, "default", Provider::Default);
    let sshd = Sshd::start(place, &server);
    let data = bytes(6 << 20);
    for (client, cipher) in [
        (&millstream, "aes256-gcm@openssh.com"),
        (&default, "aes128-gcm@openssh.com"),
        (&millstream, "aes128-ctr"),
        (&default, "aes256-cbc"),
        (&millstream, "chacha20-poly1305@openssh.com"),
    ] {
        let options = ["-v", "-c", cipher, "-o", "RekeyLimit=1M"];
        let ended = sshd.good(sshd.client(client, "ssh", &options).args(["127.0.0.1", "cat"]), &data);
        assert!(ended.out == data, "{cipher}: other data");
        let rekeyed = ended.err.matches("SSH2_MSG_KEXINIT sent").count();
        assert!(rekeyed >= 5, "{cipher}: {rekeyed} exchanges of keys");
    }
    default.counted().require_none();
    server.counted().require("aes-256-gcm", 100, 12 << 20).require("aes-128-gcm", 100, 12 << 20);
    server.counted().require("aes-128-ctr", 100, 12 << 20).require("aes-256-cbc", 100, 12 << 20);
}

#[test]
fn counts_nothing_without_the_provider() {
    let place = Place::new();
    let default = Side::new(&place, "default", Provider::Default);
    let sshd = Sshd::start(place, &default);
    sshd.copies(&default, &["-c", "aes128-ctr"], 100_000);
    default.counted().require_none();
}
