//! OpenSSL's own command, in several versions.

use std::path::PathBuf;
use std::process::Command;

use millstream_testkit::newest_openssl;

use crate::{Side, program, run, target};

/// One version of the command and its libraries.
pub struct OpenSsl {
    program: PathBuf,
    /// Where its modules are, unless that is built into it.
    modules: Option<PathBuf>,
}

impl OpenSsl {
    /// The system's.
    #[track_caller]
    pub fn system() -> OpenSsl {
        OpenSsl { program: program("openssl"), modules: None }
    }

    /// The newest of a series, which `cargo xtask openssl` built.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn newest(series: u32) -> OpenSsl {
        let newest = newest(&format!("{series}."));
        OpenSsl { program: newest.join("bin/openssl"), modules: Some(newest.join("lib/ossl-modules")) }
    }

    /// Where its libraries are; none for the system's.
    pub fn libraries(&self) -> Option<PathBuf> {
        self.modules.as_ref().and_then(|modules| modules.parent()).map(PathBuf::from)
    }

    /// The command with these words, in some surroundings.
    pub fn command(&self, side: &Side, words: &str) -> Command {
        let mut command = side.command(&self.program);
        if let Some(modules) = &self.modules {
            command.env("OPENSSL_MODULES", modules);
        }
        command.args(words.split_whitespace());
        command
    }

    /// Runs it to its end, requires success, and returns what it wrote.
    #[track_caller]
    pub fn good(&self, side: &Side, words: &str, input: &[u8]) -> Vec<u8> {
        run(&mut self.command(side, words), input).good()
    }

    /// The same as text.
    #[track_caller]
    pub fn text(&self, side: &Side, words: &str) -> String {
        run(&mut self.command(side, words), b"").text()
    }
}

/// The folder of the newest OpenSSL among those that `cargo xtask openssl` built whose names begin so.
///
/// # Panics
/// When it built none.
#[track_caller]
pub(crate) fn newest(prefix: &str) -> PathBuf {
    newest_openssl(&target().join("openssl"), prefix).unwrap_or_else(|why| panic!("{why}"))
}
