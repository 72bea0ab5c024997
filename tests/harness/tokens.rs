//! A store with a token, this user's or the service's, and programs that use its keys by the PKCS #11 module.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::artifacts::{cargo_build, profile_folder};
use crate::{Ended, Place, Service, built, run};

/// The PIN of the user, and its file.
pub const PIN: &str = "314159";

/// The PIN of the security officer.
pub const SO_PIN: &str = "271828";

/// The socket of the service's metrics, in the test's folder.
const METRICS: &str = "metrics.sock";

/// A store with the token `web`, in a place of its own.
pub struct Tokens {
    /// The folder of the test, in which its programs run. It is their home, too.
    pub place: Place,
    /// The service that keeps the store, if one does.
    service: Option<Service>,
}

/// Returns the built module, or that of the installation which `MILLSTREAM_PKCS11` names.
pub fn module() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| match std::env::var_os("MILLSTREAM_PKCS11") {
        Some(installed) => installed.into(),
        None => {
            cargo_build(&["millstream-pkcs11"]);
            profile_folder().join("libmillstream_pkcs11.so")
        }
    })
}

/// Returns a configuration of OpenSSL 3.0 with OpenSC's engine on the module, and a section for `openssl req`.
#[track_caller]
pub fn engine() -> String {
    let engine = Path::new("/usr/lib/x86_64-linux-gnu/engines-3/pkcs11.so");
    assert!(engine.exists(), "there is no {}: `apt-get install libengine-pkcs11-openssl`", engine.display());
    format!(
        "openssl_conf = init\n[init]\nengines = engines\n[engines]\npkcs11 = pkcs11\n[pkcs11]\nengine_id = pkcs11\n\
         dynamic_path = {}\nMODULE_PATH = {}\ninit = 1\n[req]\ndistinguished_name = dn\n[dn]\n",
        engine.display(),
        module().display()
    )
}

impl Tokens {
    /// Makes the store and the token, as an administrator does.
    #[track_caller]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Tokens {
        Tokens::kept(|_| None)
    }

    /// Makes them in a service, whose tokens belong to this user.
    #[track_caller]
    pub fn of_service() -> Tokens {
        Tokens::kept(|place| {
            let text =
                format!("[default]\nattaches_per_s = 0\n[tokens]\nstore = {:?}\n", place.path("store"));
            let policy = place.write("policy.toml", text);
            let policy = policy.to_str().expect("the folder's path is UTF-8");
            let metrics = format!("unix:{}", place.path(METRICS).display());
            let workers = ["--accelerators", "1", "--private-accelerators", "1", "--policy", policy];
            Some(Service::start(place, &[&workers[..], &["--metrics", &metrics]].concat()))
        })
    }

    #[track_caller]
    fn kept(service: impl FnOnce(&Place) -> Option<Service>) -> Tokens {
        let place = Place::new();
        place.write("pin", PIN);
        place.write("so-pin", SO_PIN);
        // OpenSSL's programs get the default provider, whatever this machine's configuration says.
        place.write("openssl.cnf", "");
        let service = service(&place);
        let tokens = Tokens { place, service };
        tokens.millstream("token init web --so-pin-file so-pin --pin-file pin");
        tokens
    }

    /// Returns the number of operations that the service's workers have computed, also for programs that have ended.
    #[track_caller]
    pub fn operations(&self) -> u64 {
        let mut asked = UnixStream::connect(self.place.path(METRICS)).expect("the service has metrics");
        asked.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it listens");
        let mut said = String::new();
        asked.read_to_string(&mut said).expect("it answers");
        let lines = said.lines().filter_map(|line| line.strip_prefix("millstream_worker_operations_total{"));
        lines
            .map(|line| line.rsplit(' ').next().and_then(|last| last.parse::<u64>().ok()).expect("a number"))
            .sum()
    }

    /// Does something, and requires that the service's workers compute at least so many operations meanwhile.
    #[track_caller]
    pub fn computes<T>(&self, least: u64, act: impl FnOnce() -> T) -> T {
        let before = self.operations();
        let done = act();
        let computed = self.operations() - before;
        assert!(computed >= least, "the service computed {computed} operations, not {least}");
        done
    }

    /// Returns the variable by which programs find this store, and its value.
    pub fn variable(&self) -> (&'static str, PathBuf) {
        match &self.service {
            Some(service) => ("MILLSTREAM_SOCKET", service.socket().into()),
            None => ("MILLSTREAM_STORE", self.place.path("store")),
        }
    }

    /// Returns a program with this store, in the test's folder.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.apply(&mut command);
        command
    }

    /// Gives a program this store.
    pub fn apply(&self, command: &mut Command) {
        let other = ["XDG_CONFIG_HOME", "OPENSSL_MODULES", "SSH_AUTH_SOCK", "DISPLAY", "PKCS11_MODULE_PATH"];
        for name in other {
            command.env_remove(name);
        }
        command
            .current_dir(self.place.folder())
            .env_remove("MILLSTREAM_SOCKET")
            .env_remove("MILLSTREAM_STORE");
        let (name, value) = self.variable();
        command.env(name, value);
        command.env("HOME", self.place.folder()).env("OPENSSL_CONF", self.place.path("openssl.cnf"));
        command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    }

    /// Runs `millstream` with these words, and returns its output.
    #[track_caller]
    pub fn millstream(&self, words: &str) -> String {
        run(self.command(&built().millstream).args(words.split_whitespace()), b"").text()
    }

    /// Generates a key with these words: its kind, and options.
    #[track_caller]
    pub fn generate(&self, words: &str) {
        self.millstream(&format!("key generate {words} -T web --pin-file pin"));
    }

    /// Runs a program with these words, requires success, and returns its output as text.
    #[track_caller]
    pub fn text(&self, program: impl AsRef<OsStr>, words: &str) -> String {
        run(&mut self.with(program, words), b"").text()
    }

    /// Runs a program with these words.
    #[track_caller]
    pub fn run(&self, program: impl AsRef<OsStr>, words: &str) -> Ended {
        run(&mut self.with(program, words), b"")
    }

    /// Returns a program with these words; `MODULE` in them is the module.
    pub fn with(&self, program: impl AsRef<OsStr>, words: &str) -> Command {
        let module = module().to_str().expect("the workspace's path is UTF-8");
        let mut command = self.command(program);
        command.args(words.split_whitespace().map(|word| word.replace("MODULE", module)));
        command
    }
}
