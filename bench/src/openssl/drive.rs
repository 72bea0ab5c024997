//! The C program that calls OpenSSL where no command does. It is built against the OpenSSL that is measured.

use std::path::PathBuf;
use std::process::Command;

use super::side::{Folder, OpenSsl, Whose, good};

const SOURCE: &str = include_str!("drive.c");

pub struct Drive {
    pub program: PathBuf,
}

/// The nanoseconds of an operation in each round, one at a time and in pipes, or the reason why there are
/// none.
pub type Turns = Result<Vec<(f64, f64)>, String>;

impl Drive {
    /// Builds it with the C compiler and the headers of that OpenSSL.
    pub fn build(folder: &Folder, openssl: &OpenSsl) -> Result<Drive, String> {
        let source = folder.path("drive.c");
        std::fs::write(&source, SOURCE).map_err(|e| format!("{}: {e}", source.display()))?;
        let program = folder.path(&format!("drive-{}", openssl.version));
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-Wall", "-o"]).arg(&program).arg(&source);
        if let Some(prefix) = openssl.prefix() {
            let (include, library) = (prefix.join("include"), prefix.join("lib"));
            cc.arg("-I").arg(include).arg("-L").arg(&library);
            cc.arg(format!("-Wl,-rpath,{}", library.display()));
        }
        good(cc.arg("-lcrypto"))
            .map_err(|why| format!("OpenSSL's headers and a C compiler are needed (libssl-dev): {why}"))?;
        Ok(Drive { program })
    }

    /// Times pipelines, after their outputs were compared with those of single operations.
    pub fn pipelines(
        &self,
        folder: &Folder,
        name: &str,
        pipes: usize,
        bytes: usize,
        rounds: u32,
    ) -> Result<Turns, String> {
        let mut command = folder.command(Whose::Ours, &self.program);
        command.args(["pipelines", name, "enc"]).args([pipes, bytes].map(|n| n.to_string()));
        let said = good(command.arg(rounds.to_string()))?;
        if let Some(why) = said.strip_prefix("absent ") {
            return Ok(Err(why.trim().to_owned()));
        }
        let pair = |line: &str| {
            let (one, many) = line.split_once(' ')?;
            Some((one.parse().ok()?, many.parse().ok()?))
        };
        Ok(Ok(said.lines().filter_map(pair).collect()))
    }
}
