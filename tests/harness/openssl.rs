//! OpenSSL's own command, in several versions.

use std::path::PathBuf;
use std::process::Command;

use millstream_testkit::newest_openssl;

use crate::{Side, program, run, target};

/// One version of the command and its libraries.
pub struct OpenSsl {
    program: PathBuf,
    /// The folder of its modules, unless that is built into it.
    modules: Option<PathBuf>,
}

impl OpenSsl {
    /// Returns the system's.
    #[track_caller]
    pub fn system() -> OpenSsl {
        OpenSsl { program: program("openssl"), modules: None }
    }

    /// Returns the newest of a series, which `cargo xtask openssl` built.
    ///
    /// # Panics
    /// Panics when it was not built.
    #[track_caller]
    pub fn newest(series: u32) -> OpenSsl {
        let newest = newest(&format!("{series}."));
        OpenSsl { program: newest.join("bin/openssl"), modules: Some(newest.join("lib/ossl-modules")) }
    }

    /// Returns the folder of its libraries; none for the system's.
    pub fn libraries(&self) -> Option<PathBuf> {
        self.modules.as_ref().and_then(|modules| modules.parent()).map(PathBuf::from)
    }

    /// Returns the command with these words and one side's settings.
    pub fn command(&self, side: &Side, words: &str) -> Command {
        let mut command = side.command(&self.program);
        if let Some(modules) = &self.modules {
            command.env("OPENSSL_MODULES", modules);
        }
        command.args(words.split_whitespace());
        command
    }

    /// Runs it to its end, requires success, and returns its output.
    #[track_caller]
    pub fn good(&self, side: &Side, words: &str, input: &[u8]) -> Vec<u8> {
        run(&mut self.command(side, words), input).good()
    }

    /// Runs it in the same way, and returns its output as text.
    #[track_caller]
    pub fn text(&self, side: &Side, words: &str) -> String {
        run(&mut self.command(side, words), b"").text()
    }
}

/// Returns the folder of the newest OpenSSL that `cargo xtask openssl` built and whose name begins with
/// `prefix`.
///
/// # Panics
/// Panics when none was built.
#[track_caller]
pub(crate) fn newest(prefix: &str) -> PathBuf {
    newest_openssl(&target().join("openssl"), prefix).unwrap_or_else(|why| panic!("{why}"))
}
