//! Programs for SPARC under `millstream sparc`, and their instruction counts.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::openssl::newest;
use crate::{Ended, Place, built, run};

/// OpenSSL for SPARC, built by `cargo xtask openssl` from its authors' sources, with their own assembly.
pub struct SparcOpenSsl {
    program: PathBuf,
    place: Place,
}

/// The counts of what a program executed.
pub struct Executed(Value);

/// The mask that removes every crypto instruction of the T4, as operators wrote it into `LD_HWCAP`.
pub const WITHOUT_CRYPTO: &str =
    "-aes -des -kasumi -camellia -md5 -sha1 -sha256 -sha512 -mpmul -mont -crc32c";

impl SparcOpenSsl {
    /// Returns the newest of a series: `openssl`, or `openssl-all-t4`, whose providers use everything that
    /// the library has.
    ///
    /// # Panics
    /// Panics when it was not built.
    #[track_caller]
    pub fn newest(series: u32, program: &str) -> SparcOpenSsl {
        let program = newest(&format!("sparc64-{series}.")).join("bin").join(program);
        SparcOpenSsl { program, place: Place::new() }
    }

    /// Returns the place of the test's files.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the command with these words after `millstream sparc` and its options.
    pub fn command(&self, options: &[&str], words: &str) -> Command {
        let mut command = Command::new(&built().millstream);
        command.arg("sparc").args(options).arg(&self.program).args(words.split_whitespace());
        command.env_remove("OPENSSL_sparcv9cap").current_dir(self.place.folder());
        command
    }

    /// Returns the same command, which reports what it executes.
    pub fn counting(&self, options: &[&str], words: &str) -> Command {
        let report = self.place.path("report.json");
        let path = report.to_str().expect("a temporary folder has a plain name");
        self.command(&[options, &["--mix", "--unreached", "--json", "--report", path]].concat(), words)
    }

    /// Returns what the last counting command executed.
    ///
    /// # Panics
    /// Panics when it left no report.
    #[track_caller]
    pub fn executed(&self) -> Executed {
        let text = self.place.read("report.json");
        Executed(serde_json::from_slice(&text).expect("the report is JSON"))
    }

    /// Runs it. Returns its end, and what it executed.
    #[track_caller]
    pub fn run(&self, options: &[&str], words: &str, input: &[u8]) -> (Ended, Executed) {
        // The report of an earlier run must not be taken for this one's.
        let report = self.place.path("report.json");
        let _ = std::fs::remove_file(&report);
        let ended = run(&mut self.counting(options, words), input);
        assert!(report.exists(), "{} said nothing of what it executed:\n{}", ended.shown, ended.err);
        (ended, self.executed())
    }
}

impl Executed {
    /// Returns how often an instruction ran, by the assembler's name.
    pub fn count(&self, name: &str) -> u64 {
        self.0["rows"][name].as_u64().unwrap_or(0)
    }

    /// Returns the T4's crypto instructions that ran.
    pub fn crypto(&self) -> Vec<(String, u64)> {
        let rows = self.0["rows"].as_object().expect("the report has rows");
        let is = |name: &str| {
            let families = ["aes_", "des_", "camellia_", "kasumi_"];
            let single = ["md5", "sha1", "sha256", "sha512", "crc32c", "mpmul", "montmul", "montsqr"];
            families.iter().any(|family| name.starts_with(family)) || single.contains(&name)
        };
        let crypto = rows.iter().filter(|(name, _)| is(name));
        crypto
            .map(|(name, count)| (name.clone(), count.as_u64().unwrap_or(0)))
            .filter(|row| row.1 > 0)
            .collect()
    }

    /// Returns the number of all instructions.
    pub fn instructions(&self) -> u64 {
        self.0["instructions"].as_u64().expect("the report has a sum")
    }

    /// Returns the functions whose crypto instructions were never reached.
    pub fn unreached(&self) -> Vec<String> {
        let functions = self.0["unreached"].as_array().expect("the report has what was not reached");
        functions.iter().filter_map(|function| Some(function["function"].as_str()?.to_owned())).collect()
    }
}
