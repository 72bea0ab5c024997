//! The least of commands: a program and its arguments on a T4, as the tests run them. `millstream sparc` has options.
//!
//! `SPARC_SYSROOT` names the directory of a dynamic program's libraries; with `SPARC_TRACE` each system call is told.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use millstream_ultrasparc::linux::{self, Ended, Process, Settings};
use millstream_ultrasparc::processor::Processor;

/// Before the name that a program is called by, where that is another than its file's.
const NAMED: &str = "--argv0";

fn main() -> ExitCode {
    linux::host::as_started();
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let named = words.first().is_some_and(|word| word == NAMED) && words.len() > 2;
    let name = named.then(|| words.drain(..2).next_back()).flatten();
    let Some(file) = words.first().cloned().map(PathBuf::from) else {
        eprintln!("usage: sparc64 PROGRAM ARGUMENT...");
        return ExitCode::from(2);
    };
    if let Some(name) = name {
        words[0] = name;
    }
    let settings = Settings {
        sysroot: std::env::var_os("SPARC_SYSROOT").map(PathBuf::from),
        trace: std::env::var_os("SPARC_TRACE").is_some(),
        again: vec!["sparc64".into(), NAMED.into()],
        ..Settings::of(Processor::T4)
    };
    let environment: Vec<_> =
        std::env::vars_os().map(|(name, value)| [name, value].join("=".as_ref())).collect();
    let ended = match Process::new(settings, &file, &words, &environment) {
        Ok(mut process) => process.run(),
        Err(error) => {
            eprintln!("sparc64: {error}");
            return ExitCode::from(126);
        }
    };
    match ended {
        Ended::Exited(status) => ExitCode::from(status),
        Ended::Killed(signal) => {
            linux::host::end_by(signal);
            ExitCode::from(128 + signal as u8)
        }
    }
}
