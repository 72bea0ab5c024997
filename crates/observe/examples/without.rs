//! Runs a program that does not see some features of the processor, and says what was done.
//!
//! `cargo run --example without -- aes,sha openssl speed -evp aes-128-gcm`

use std::process::{Command, ExitCode};

use millstream_observe::capability::Withheld;
use millstream_observe::process::{Launch, Tracer};
use millstream_observe::without::{Masker, supported};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let list = arguments.next().and_then(|list| list.into_string().ok()).ok_or("which features?")?;
    let program = arguments.next().ok_or("which program?")?;
    supported()?;

    let mut masker = Masker::new(Withheld::without(&list)?);
    let mut command = Command::new(program);
    command.args(arguments);
    let mut tracer =
        Tracer::launch(&mut command, Launch { kill_with_us: true, stop_with_it: true, ..Launch::default() })?;
    let status = tracer.run(&mut masker)?;

    let report = masker.report();
    eprintln!("{} CPUIDs in {} programs, hidden: {}", report.answers(), report.programs, report.hidden);
    report.notes.iter().for_each(|note| eprintln!("{note}"));
    tracer.outlast(&mut masker)?;

    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(255);
    Ok(ExitCode::from(code as u8))
}
