//! A store with a token, and programs that use its keys by the PKCS #11 module.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::artifacts::{cargo_build, profile_folder};
use crate::{Ended, Place, built, run};

/// The PIN of the user, and its file.
pub const PIN: &str = "314159";

/// The PIN of the security officer.
pub const SO_PIN: &str = "271828";

/// A store with the token `web`, in a place of its own.
pub struct Tokens {
    /// The folder of the test, in which its programs run. It is their home, too.
    pub place: Place,
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

impl Tokens {
    /// Makes the store and the token, as an administrator does.
    #[track_caller]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Tokens {
        let place = Place::new();
        place.write("pin", PIN);
        place.write("so-pin", SO_PIN);
        // OpenSSL's programs get the default provider, whatever this machine's configuration says.
        place.write("openssl.cnf", "");
        let tokens = Tokens { place };
        tokens.millstream("token init web --so-pin-file so-pin --pin-file pin");
        tokens
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
        command.current_dir(self.place.folder()).env("MILLSTREAM_STORE", self.place.path("store"));
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
