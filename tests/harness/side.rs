//! A program's surroundings: OpenSSL's configuration, and a file for the provider's counters.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use millstream::tally::Tally;

use crate::{Counters, Place, Service, built};

/// Whose algorithms a program gets.
#[derive(Clone, Copy)]
pub enum Provider<'a> {
    /// OpenSSL's own, the legacy ones too.
    Default,
    /// Millstream's, and the default ones for what it does not have. Not OpenSSL's legacy ones: what is legacy and
    /// works is Millstream's.
    Millstream,
    /// The same with keys out of reach, in that service.
    Isolated(&'a Service),
}

/// Surroundings of one or several programs.
pub struct Side {
    configuration: PathBuf,
    tally: PathBuf,
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
            Provider::Isolated(service) => {
                let socket = service.socket().display();
                let lines = format!("tally = {}\nisolated = yes\nsocket = {socket}\n", tally.display());
                millstream("?provider=millstream,?millstream.isolated=yes", &lines)
            }
        };
        let configuration = place.write(&format!("{name}.cnf"), text);
        make(&tally);
        Side { configuration, tally }
    }

    /// A program in these surroundings, and in no other that this test may have been started in.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.apply(&mut command);
        command
    }

    /// Puts a program into these surroundings.
    pub fn apply(&self, command: &mut Command) {
        for name in ["OPENSSL_MODULES", "MILLSTREAM_SOCKET", "MILLSTREAM_HWCAP", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        command.env("OPENSSL_CONF", &self.configuration).env("MILLSTREAM_TALLY", &self.tally);
        // No messages in another language, no time of another zone.
        command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    }

    /// The configuration.
    pub fn configuration(&self) -> &Path {
        &self.configuration
    }

    /// What has been counted so far.
    #[track_caller]
    pub fn counted(&self) -> Counters {
        Counters::read(&self.tally)
    }

    /// What was counted since the last call; no program of this side may run.
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
millstream = millstream_provider
default = default_provider
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
