//! The device secret in a real TPM 2.0 (swtpm), by the real commands and the real service.
//!
//! Run with `--features tpm`. Debian's packages `swtpm` and `tpm2-tools` are needed, and `libtss2-dev` to compile.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ended, MILLSTREAM, Place, ended, exists, hex};

const PATIENCE: Duration = Duration::from_secs(20);

/// A TPM: the emulator, with its memory in a folder.
struct Chip {
    child: Child,
    port: u16,
}

impl Chip {
    /// Starts the machine whose TPM has its memory in a folder below `place`.
    fn start(place: &Place, machine: &str) -> Self {
        std::fs::create_dir_all(place.path(machine)).unwrap();
        let port = ports();
        let state = place.path(machine).display().to_string();
        let child = Command::new("swtpm")
            .args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear"])
            .args(["--tpmstate", &format!("dir={state}")])
            .args(["--server", &format!("type=tcp,bindaddr=127.0.0.1,port={port}")])
            .args(["--ctrl", &format!("type=tcp,bindaddr=127.0.0.1,port={}", port + 1)])
            .args(["--log", &format!("level=20,file={state}/log")])
            .stdin(Stdio::null())
            .spawn()
            .expect("swtpm, of Debian's package of that name");
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port + 1)).is_err() {
            assert!(Instant::now() < until, "swtpm does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Chip { child, port }
    }

    fn name(&self) -> String {
        format!("swtpm:host=127.0.0.1,port={}", self.port)
    }

    /// Runs a command of tpm2-tools on it.
    fn tool(&self, line: &str) {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().unwrap());
        let ended = ended(command.args(words).env("TPM2TOOLS_TCTI", self.name()), b"");
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.err);
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a port that is free as well as the next one.
fn ports() -> u16 {
    loop {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        if let Some(next) = port.checked_add(1)
            && TcpListener::bind(("127.0.0.1", next)).is_ok()
        {
            return port;
        }
    }
}

/// A folder with a store, and PINs in the files `pin` and `so`.
struct Tokens(Place);

impl Tokens {
    fn new() -> Self {
        Tokens(Place::with_pins())
    }

    /// Runs a command with the TPM of that name.
    fn run(&self, tpm: &str, line: &str) -> Ended {
        let mut command = Command::new(MILLSTREAM);
        command.args(line.split_whitespace()).args(["--store", "store"]);
        command.env("MILLSTREAM_TPM", tpm).current_dir(self.0.path(""));
        ended(&mut command, b"")
    }

    fn make(&self, tpm: &str) {
        self.run(tpm, "token init web --so-pin-file so --pin-file pin").good();
        self.run(tpm, "key generate aes -T web -K first --pin-file pin").good();
    }

    /// Opens the token, which needs its PIN and the device secret.
    fn open(&self, tpm: &str) -> Ended {
        self.run(tpm, "key show -T web -K first --pin-file pin")
    }

    fn sealed(&self) -> Vec<u8> {
        self.0.read("store/device-secret.tpm")
    }
}

#[test]
fn a_sealed_secret_opens_on_its_machine_and_on_no_other() {
    let tokens = Tokens::new();
    let one = Chip::start(&tokens.0, "one");
    tokens.run(&one.name(), "token seal").bad(2, &["--copy", "--no-copy", "--from"]);
    tokens.run(&one.name(), "token seal --copy copy").good();
    tokens.make(&one.name());
    tokens.open(&one.name()).good();
    assert!(!exists(&tokens.0.path("store/device-secret")));
    let mode = |name| tokens.0.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("store"), mode("store/device-secret.tpm"), mode("copy")), (0o700, 0o600, 0o600));
    let copy = tokens.0.read("copy");
    assert_eq!(copy.len(), 32);
    assert!(!hex(&tokens.sealed()).contains(&hex(&copy)));

    // The machine is switched off and on.
    drop(one);
    let one = Chip::start(&tokens.0, "one");
    tokens.open(&one.name()).good();

    let two = Chip::start(&tokens.0, "two");
    let why = ["store/device-secret.tpm: the TPM of another machine", "token seal --from"];
    tokens.open(&two.name()).bad(1, &why);
    // A list needs no secret.
    tokens.run(&two.name(), "token list").good();
    tokens.run(&two.name(), "token seal --no-copy").bad(1, &why);
    tokens.run(&two.name(), "token seal --from copy").good();
    tokens.open(&two.name()).good();
    tokens.open(&one.name()).bad(1, &why);
    assert!(!exists(&tokens.0.path("store/device-secret")));
}

#[test]
fn a_secret_in_a_file_is_sealed_and_the_file_goes() {
    let tokens = Tokens::new();
    let chip = Chip::start(&tokens.0, "chip");
    tokens.make("/dev/nowhere");
    let secret = tokens.0.read("store/device-secret");
    tokens.0.write("taken", "by another file");
    tokens.run(&chip.name(), "token seal --copy taken").bad(1, &["taken"]);
    assert_eq!(tokens.0.read("store/device-secret"), secret, "nothing was sealed without its copy");
    assert!(!exists(&tokens.0.path("store/device-secret.tpm")));
    tokens.run("/dev/nowhere", "token seal --no-copy").bad(1, &["/dev/nowhere: no such TPM", "firmware"]);
    assert_eq!(tokens.0.read("store/device-secret"), secret, "nothing was removed without a TPM");
    tokens.run(&chip.name(), "token seal --copy copy").good();
    assert_eq!(tokens.0.read("copy"), secret);
    assert!(!exists(&tokens.0.path("store/device-secret")));
    tokens.open(&chip.name()).good();
    let bad = tokens.run("/dev/nowhere", "key show -T web -K first --pin-file pin");
    bad.bad(1, &["/dev/nowhere: no such TPM", "MILLSTREAM_TPM"]);
    tokens.open("tpm0").bad(1, &["tpm0: not a TPM", "MILLSTREAM_TPM"]);
    // Root seals the secret of a service, whose files are another user's.
    let sealed = tokens.0.path("store/device-secret.tpm");
    if rustix::process::geteuid().is_root() {
        let of_service = Some(65534);
        tokens.0.key("store/device-secret", &secret);
        for name in ["store", "store/device-secret"] {
            std::os::unix::fs::chown(tokens.0.path(name), of_service, None).unwrap();
        }
        tokens.run(&chip.name(), "token seal --from store/device-secret").good();
        assert_eq!(sealed.metadata().unwrap().uid(), 65534);
        assert!(!exists(&tokens.0.path("store/device-secret")));
        std::os::unix::fs::chown(&sealed, Some(0), None).unwrap();
    } else {
        println!("SKIPPED a_secret_in_a_file_is_sealed_and_the_file_goes, of a service: this needs root");
    }
    // A file that is no device stays as it is.
    let file = tokens.0.write("file", "not a TPM").display().to_string();
    tokens.open(&file).bad(1, &["file: not a TPM", "MILLSTREAM_TPM"]);
    assert_eq!(tokens.0.read("file"), b"not a TPM");
    // The secret is gone with the file: a new one would not open the token.
    std::fs::remove_file(tokens.0.path("store/device-secret.tpm")).unwrap();
    tokens.run(&chip.name(), "token seal --no-copy").bad(1, &["restore it from its copy"]);
    tokens.0.key("long", [7; 125]);
    tokens.run(&chip.name(), "token seal --from long").bad(1, &["at most 124 bytes"]);
}

#[test]
fn a_cleared_tpm_says_so_and_the_copy_brings_the_secret_back() {
    let tokens = Tokens::new();
    let chip = Chip::start(&tokens.0, "chip");
    tokens.run(&chip.name(), "token seal --copy copy").good();
    tokens.make(&chip.name());
    chip.tool("tpm2_clear -c lockout");
    tokens.open(&chip.name()).bad(1, &["device-secret.tpm: this machine's TPM was cleared", "--from"]);
    tokens.run(&chip.name(), "token seal --from copy").good();
    tokens.open(&chip.name()).good();
    chip.tool("tpm2_changeauth -c owner password");
    tokens.open(&chip.name()).bad(1, &["the owner of this TPM has a password", "credential"]);
}

#[test]
fn a_secret_for_some_pcrs_needs_their_values() {
    let tokens = Tokens::new();
    let chip = Chip::start(&tokens.0, "chip");
    tokens.run(&chip.name(), "token seal --copy copy --pcrs 24").bad(2, &["0 to 23"]);
    tokens.run(&chip.name(), "token seal --copy copy --pcrs 7,11").good();
    tokens.make(&chip.name());
    let extend = |pcr| chip.tool(&format!("tpm2_pcrextend {pcr}:sha256={}", hex(&[7; 32])));
    extend(8);
    tokens.open(&chip.name()).good();
    extend(11);
    tokens.open(&chip.name()).bad(1, &["other values of PCR 7,11", "--from"]);
    // Sealed again under the values of now, and after the next start those are gone.
    tokens.run(&chip.name(), "token seal --from copy --pcrs 11").good();
    tokens.open(&chip.name()).good();
    drop(chip);
    let chip = Chip::start(&tokens.0, "chip");
    tokens.open(&chip.name()).bad(1, &["other values of PCR 11"]);
    // A policy can't be taken off the file: the TPM knows it.
    let mut sealed = tokens.sealed();
    sealed[15..19].fill(0);
    tokens.0.key("store/device-secret.tpm", sealed);
    tokens.open(&chip.name()).bad(1, &["the TPM refused"]);
}

#[test]
fn a_changed_file_opens_nothing() {
    let tokens = Tokens::new();
    let chip = Chip::start(&tokens.0, "chip");
    tokens.run(&chip.name(), "token seal --copy copy").good();
    tokens.make(&chip.name());
    let sealed = tokens.sealed();
    for at in (0..sealed.len()).step_by(sealed.len() / 24) {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        tokens.0.key("store/device-secret.tpm", changed);
        let ended = tokens.open(&chip.name());
        // The name of the endorsement key is looked at only when the other one is not right.
        if ended.code != Some(0) {
            let words = ["device-secret.tpm", "the TPM refused"];
            assert!(words.iter().any(|word| ended.err.contains(word)), "byte {at}: {}", ended.err);
        } else {
            let of_endorsement = 15 + 4 + 36..15 + 4 + 72;
            assert!(of_endorsement.contains(&at), "byte {at} makes no difference");
        }
    }
    for len in [0, 14, 15, sealed.len() - 1] {
        tokens.0.key("store/device-secret.tpm", &sealed[..len]);
        tokens.open(&chip.name()).bad(1, &["device-secret.tpm: this is not what the TPM sealed"]);
    }
    tokens.0.key("store/device-secret.tpm", &sealed);
    std::fs::set_permissions(tokens.0.path("store/device-secret.tpm"), PermissionsExt::from_mode(0o644))
        .unwrap();
    tokens.open(&chip.name()).bad(1, &["others may read"]);
}

#[test]
fn the_bus_to_the_tpm_carries_no_secret() {
    let tokens = Tokens::new();
    let chip = Chip::start(&tokens.0, "chip");
    tokens.run(&chip.name(), "token seal --copy copy").good();
    tokens.make(&chip.name());
    let sealed = tokens.sealed();
    let log = text(&tokens.0.path("chip/log"));
    let carried: String = log.chars().filter(|at| !at.is_whitespace()).collect::<String>().to_lowercase();
    let public = &sealed[15 + 4 + 72 + 2..][..32];
    assert!(carried.contains(&hex(public)), "the log has what was carried");
    assert!(!carried.contains(&hex(&tokens.0.read("copy")[..16])), "the secret was carried in the clear");
}

#[test]
fn the_service_opens_its_tokens_by_the_tpm() {
    let tokens = Tokens::new();
    let chip = Chip::start(&tokens.0, "chip");
    tokens.run(&chip.name(), "token seal --copy copy").good();
    let store = tokens.0.path("store").display().to_string();
    tokens.0.write(
        "policy",
        format!("[default]\nattaches_per_s = 0\nworkers = 0\n[tokens]\nstore = \"{store}\"\nusers = [\"root\"]\nmanagers = [\"root\"]\n"),
    );
    let serve = |chip: &Chip| {
        let mut serve = Command::new(MILLSTREAM);
        serve.args(["serve", "--ready-fd", "1", "--socket", "s", "--policy", "policy"]);
        serve.env("MILLSTREAM_TPM", chip.name()).current_dir(tokens.0.path(""));
        serve
    };
    let mut child = serve(&chip).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said = |child: &mut Child| {
        let mut log = String::new();
        child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        log
    };
    if line != "s\n" {
        panic!("{line:?}: {}", said(&mut child));
    }
    let client = |line: &str| {
        let mut command = Command::new(MILLSTREAM);
        command.args(line.split_whitespace()).env("MILLSTREAM_SOCKET", tokens.0.path("s"));
        // The client has no TPM: the secret is the service's.
        command.env("MILLSTREAM_TPM", "/dev/nowhere").current_dir(tokens.0.path(""));
        ended(&mut command, b"")
    };
    client("token init web --so-pin-file so --pin-file pin").good();
    client("key generate aes -T web -K first --pin-file pin").good();
    client("key show -T web -K first --pin-file pin").good();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said(&mut child).contains("device-secret.tpm"), "the log names the origin of the secret");
    tokens.open(&chip.name()).good();

    let other = Chip::start(&tokens.0, "other");
    let ended = ended(&mut serve(&other), b"");
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("the TPM of another machine"), "{}", ended.err);
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}
