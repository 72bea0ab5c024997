//! A program's settings: OpenSSL's configuration, and a file for the provider's counters.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use millstream::tally::Tally;

use crate::{Counters, Place, Service, built};

/// The provider that a program gets.
#[derive(Clone, Copy)]
pub enum Provider<'a> {
    /// OpenSSL's own providers, including the legacy one.
    Default,
    /// Millstream, and the default provider for what it does not have. OpenSSL's legacy provider is left out,
    /// so legacy algorithms that work are Millstream's.
    Millstream,
    /// Millstream with keys in that service.
    Isolated(&'a Service),
    /// Millstream with the private keys that are loaded in that service, and all others in the process.
    IsolatedPrivate(&'a Service),
}

/// The settings of one or several programs.
pub struct Side {
    configuration: PathBuf,
    tally: PathBuf,
    variables: Vec<(String, OsString)>,
}

impl Side {
    /// Writes a configuration, and makes an empty tally, under names that begin with `name`.
    pub fn new(place: &Place, name: &str, provider: Provider) -> Side {
        let tally = place.path(&format!("{name}.tally"));
        let text = match provider {
            Provider::Default => DEFAULT.to_owned(),
            Provider::Millstream => {
                millstream("?provider=millstream", &format!("tally = {}\n", tally.display()))
            }
            Provider::Isolated(service) | Provider::IsolatedPrivate(service) => {
                let socket = service.socket().display();
                let keys = if matches!(provider, Provider::Isolated(_)) { "yes" } else { "private" };
                let lines = format!("tally = {}\nisolated = {keys}\nsocket = {socket}\n", tally.display());
                millstream("?provider=millstream,?millstream.isolated=yes", &lines)
            }
        };
        let configuration = place.write(&format!("{name}.cnf"), text);
        make(&tally);
        Side { configuration, tally, variables: Vec::new() }
    }

    /// Adds a variable to the environment of the programs.
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Side {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Returns a program with these settings, and none of those that this test may have been started with.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.apply(&mut command);
        command
    }

    /// Gives a program these settings.
    pub fn apply(&self, command: &mut Command) {
        for name in ["OPENSSL_MODULES", "MILLSTREAM_SOCKET", "MILLSTREAM_HWCAP", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        command.env("OPENSSL_CONF", &self.configuration).env("MILLSTREAM_TALLY", &self.tally);
        // Messages are in English, and times in UTC.
        command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    /// Adds a line to the section of Millstream's provider.
    ///
    /// # Panics
    /// When the side has no such section.
    #[track_caller]
    pub fn configure(&self, line: &str) {
        let text = std::fs::read_to_string(&self.configuration).expect("the file is there");
        let at = text.find("module = ").expect("the provider's section names its module");
        let text = format!("{}{line}\n{}", &text[..at], &text[at..]);
        std::fs::write(&self.configuration, text).expect("the file is written");
    }

    /// Returns the configuration.
    pub fn configuration(&self) -> &Path {
        &self.configuration
    }

    /// Returns the counts so far.
    #[track_caller]
    pub fn counted(&self) -> Counters {
        Counters::read(&self.tally)
    }

    /// Returns the counts since the last call. No program of this side may be running.
    #[track_caller]
    pub fn take(&self) -> Counters {
        let counters = self.counted();
        std::fs::remove_file(&self.tally).expect("it is there");
        make(&self.tally);
        counters
    }
}

fn make(tally: &Path) {
    let _ = Tally::create(tally).unwrap_or_else(|e| panic!("{e}"));
}

const DEFAULT: &str = "\
openssl_conf = init
[init]
providers = providers
[providers]
default = default_provider
legacy = legacy_provider
[default_provider]
activate = 1
[legacy_provider]
activate = 1
";

fn millstream(properties: &str, lines: &str) -> String {
    let module = built().provider.display();
    format!(
        "\
openssl_conf = init
[init]
providers = providers
alg_section = algorithms
random = random
[providers]
default = default_provider
millstream = millstream_provider
[millstream_provider]
module = {module}
activate = 1
{lines}[default_provider]
activate = 1
[algorithms]
default_properties = {properties}
[random]
properties = provider=default
"
    )
}
