//! Programs for SPARC under `millstream sparc`, and what they executed.

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

/// What a program executed.
pub struct Executed(Value);

/// What removes every crypto instruction of the T4, as operators wrote it into `LD_HWCAP`.
pub const WITHOUT_CRYPTO: &str =
    "-aes -des -kasumi -camellia -md5 -sha1 -sha256 -sha512 -mpmul -mont -crc32c";

impl SparcOpenSsl {
    /// The newest of a series: `openssl`, or `openssl-all-t4` for the program whose providers know of all that the
    /// library has.
    ///
    /// # Panics
    /// When it was not built.
    #[track_caller]
    pub fn newest(series: u32, program: &str) -> SparcOpenSsl {
        let program = newest(&format!("sparc64-{series}.")).join("bin").join(program);
        SparcOpenSsl { program, place: Place::new() }
    }

    /// Where files of the test are.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The command with these words after `millstream sparc` and its options.
    pub fn command(&self, options: &[&str], words: &str) -> Command {
        let mut command = Command::new(&built().millstream);
        command.arg("sparc").args(options).arg(&self.program).args(words.split_whitespace());
        command.env_remove("OPENSSL_sparcv9cap").current_dir(self.place.folder());
        command
    }

    /// The same command, which leaves word of what it executes.
    pub fn counting(&self, options: &[&str], words: &str) -> Command {
        let report = self.place.path("report.json");
        let path = report.to_str().expect("a temporary folder has a plain name");
        self.command(&[options, &["--mix", "--unreached", "--json", "--report", path]].concat(), words)
    }

    /// What the last counting command executed.
    ///
    /// # Panics
    /// When it left no word.
    #[track_caller]
    pub fn executed(&self) -> Executed {
        let text = self.place.read("report.json");
        Executed(serde_json::from_slice(&text).expect("the report is JSON"))
    }

    /// Runs it, and tells what it executed.
    #[track_caller]
    pub fn run(&self, options: &[&str], words: &str, input: &[u8]) -> (Ended, Executed) {
        // That of a former run says nothing of this one.
        let report = self.place.path("report.json");
        let _ = std::fs::remove_file(&report);
        let ended = run(&mut self.counting(options, words), input);
        assert!(report.exists(), "{} said nothing of what it executed:\n{}", ended.shown, ended.err);
        (ended, self.executed())
    }
}

impl Executed {
    /// How often an instruction ran, by the assembler's name.
    pub fn count(&self, name: &str) -> u64 {
        self.0["rows"][name].as_u64().unwrap_or(0)
    }

    /// Those of the T4's crypto instructions that ran.
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

    /// All instructions.
    pub fn instructions(&self) -> u64 {
        self.0["instructions"].as_u64().expect("the report has a sum")
    }

    /// Functions that have crypto instructions of which none ran.
    pub fn unreached(&self) -> Vec<String> {
        let functions = self.0["unreached"].as_array().expect("the report has what was not reached");
        functions.iter().filter_map(|function| Some(function["function"].as_str()?.to_owned())).collect()
    }
}
