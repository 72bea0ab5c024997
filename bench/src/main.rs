//! Millstream beside its peers, in one run: direct calls with one object at a time, many objects in flight,
//! and the file command beside `cp`. BENCHMARKING.md describes how to run it and how to read its output.
#![deny(unsafe_code)]
// This is a program, whose interface is its command line.
#![allow(missing_docs)]

mod case;
mod digests;
mod file;
mod glob;
mod isolated;
mod many;
mod measure;
mod observe;
mod openssl;
mod peers;
mod plot;
mod publickey;
mod record;
mod report;
mod sealed;
mod sparc;
mod store;
mod targets;
mod timing;
mod turns;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use millstream_cpu::Features;

use case::Case;
use measure::{Cell, Effort, Measured, Setting};
use peers::Peer;
use record::{Circumstances, Recording};

/// Millstream beside its peers: direct calls, one object at a time.
///
/// Every row's output is compared before anything is timed; the rows of a cell then take turns.
#[derive(Parser)]
#[command(name = "millstream-bench", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    direct: Direct,
}

#[derive(Subcommand)]
enum Other {
    /// `millstream encrypt` beside `cp`, on the same file in turns
    File(file::Arguments),
    /// Many objects in flight, in lanes, beside libraries made for that
    Many(many::Arguments),
    /// Keys and accelerators in another process
    Isolated(isolated::Arguments),
    /// Private keys in another process, beside those of OpenSSL
    PrivateKeys(isolated::private::Arguments),
    /// Tokens of the service by PKCS #11, beside SoftHSM2
    Tokens(isolated::tokens::Arguments),
    /// TLS handshakes of nginx with its private key in another process, beside nginx with its own OpenSSL
    Handshakes(isolated::handshakes::Arguments),
    /// Java, sshd and nginx with keys of a token, beside their own keys and SoftHSM2
    Programs(isolated::programs::Arguments),
    /// A process that signs, for `private-keys`
    #[command(hide = true)]
    Signer(isolated::private::Signer),
    /// Signatures and key agreements, one at a time and eight in flight
    Publickey(publickey::Arguments),
    /// The OpenSSL provider beside the default one
    Openssl(openssl::Arguments),
    /// The cost of `millstream run --without` and `trace` to a program
    Observe(observe::Arguments),
    /// `millstream sparc` beside qemu-sparc64
    Sparc(sparc::Arguments),
    /// The token store: finding, opening, and making keys that are on the disk
    Store(store::Arguments),
    /// A test whether rows take another time for other secrets
    Timing(timing::Arguments),
}

#[derive(clap::Args)]
struct Direct {
    /// Only cases whose name matches one of these patterns, as in 'aes-*-gcm-*'
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Sizes in bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = case::SIZES)]
    sizes: Vec<usize>,
    /// Only peers whose name matches one of these patterns, as in 'openssl-*'
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    peers: Vec<String>,
    /// Number of turns of each row in each cell
    #[arg(long, value_name = "N", default_value_t = 201, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of each row in each cell
    #[arg(long, value_name = "S", default_value_t = 0.03)]
    seconds: f64,
    /// Our kernel, by name; cases that don't have it are left out
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Rows for all our kernels that this processor can run
    #[arg(long, conflicts_with = "kernel")]
    all_kernels: bool,
    /// Begin input and output that many bytes after a cache line's beginning
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..64))]
    offset: u16,
    /// Compare the outputs of all rows and time nothing
    #[arg(long, conflicts_with_all = ["json", "record", "plot", "rounds", "seconds"])]
    check_only: bool,
    /// Write every figure to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
    /// Draw throughput over size for the main algorithms into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// List cases, peers and our kernels, and stop
    #[arg(long)]
    list: bool,
}

/// Returns the command that is measured: the one named, or the one beside this program.
fn millstream(named: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let own =
        std::env::current_exe().map_err(|e| format!("this program's own path: {e}; name the command"))?;
    Ok(own.with_file_name("millstream"))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.other {
        Some(Other::File(arguments)) => file::run(&arguments),
        Some(Other::Many(arguments)) => many::run(&arguments),
        Some(Other::Isolated(arguments)) => isolated::run(&arguments),
        Some(Other::Tokens(arguments)) => isolated::tokens::run(&arguments),
        Some(Other::PrivateKeys(arguments)) => isolated::private::run(&arguments),
        Some(Other::Signer(arguments)) => isolated::private::sign(&arguments),
        Some(Other::Handshakes(arguments)) => isolated::handshakes::run(&arguments),
        Some(Other::Programs(arguments)) => isolated::programs::run(&arguments),
        Some(Other::Publickey(arguments)) => publickey::run(&arguments),
        Some(Other::Openssl(arguments)) => openssl::run(&arguments),
        Some(Other::Observe(arguments)) => observe::run(&arguments),
        Some(Other::Sparc(arguments)) => sparc::run(&arguments),
        Some(Other::Store(arguments)) => store::run(&arguments),
        Some(Other::Timing(arguments)) => timing::run(&arguments),
        None => direct(&arguments.direct),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("millstream-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the direct calls. Slowness is never an error; a wrong output always is.
fn direct(arguments: &Direct) -> Result<(), String> {
    arguments.recording.wanted()?;
    let features = Features::active().map_err(|e| e.to_string())?;
    let (mut present, absent) = peers::peers();
    present.retain(|peer| glob::any(&arguments.peers, peer.name()));
    let versions = present.iter().map(|peer| (peer.name().to_owned(), peer.version())).collect();
    let about = Circumstances::now(features, versions, absent);
    let cases: Vec<Case> =
        Case::all().into_iter().filter(|case| glob::any(&arguments.algorithms, &case.name())).collect();
    for line in about.lines() {
        println!("{line}");
    }
    println!();
    if arguments.list {
        list(&cases, features);
        return Ok(());
    }
    let effort = Effort { rounds: arguments.rounds, seconds: arguments.seconds };
    let setting = Setting {
        features,
        kernel: arguments.kernel.as_deref(),
        all_kernels: arguments.all_kernels,
        offset: arguments.offset.into(),
        effort: (!arguments.check_only).then_some(effort),
    };
    let cells = measure_all(&cases, &arguments.sizes, &present, &setting)?;
    if cells.is_empty() {
        return Err("nothing to measure: no case matches; --list shows them".to_owned());
    }
    if arguments.check_only {
        let compared: usize = cells.iter().map(|cell| cell.rows.len().saturating_sub(1)).sum();
        let ours = cells.iter().filter(|cell| cell.ours().is_some()).count();
        println!("{} cells, {ours} with a row of ours; {compared} outputs compared, all equal", cells.len());
        return Ok(());
    }
    let about = about.with_turns(cells.iter().filter_map(Cell::ours).map(Measured::unsteadiness).collect());
    let verdicts = targets::verdicts(&cells);
    print!("{}", report::targets(&verdicts));
    about.warn();
    write_out(arguments, &about, effort, &cells, &verdicts)
}

/// Measures every case at every size, printing each case's table as it is done.
fn measure_all(
    cases: &[Case],
    sizes: &[usize],
    peers: &[Box<dyn Peer>],
    setting: &Setting<'_>,
) -> Result<Vec<Cell>, String> {
    let mut cells = Vec::new();
    for (done, case) in cases.iter().enumerate() {
        if setting.kernel.is_some() && peers::ours::row(case, setting.features, setting.kernel).is_none() {
            continue;
        }
        let first = cells.len();
        for &size in sizes.iter().filter(|&&size| case.takes(size)) {
            progress(&format!("{} of {}: {}, {size} bytes", done + 1, cases.len(), case.name()));
            let cell = measure::cell(*case, size, peers, setting)?;
            if !cell.rows.is_empty() {
                cells.push(cell);
            }
        }
        progress("");
        if setting.effort.is_some() && cells.len() > first {
            println!("{}", report::table(&cells[first..]));
        }
    }
    Ok(cells)
}

/// Shows the progress on a terminal.
fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{text}");
    }
}

fn list(cases: &[Case], features: Features) {
    for case in cases {
        let kernel = peers::ours::row(case, features, None).map_or("-".to_owned(), |row| row.call);
        println!("{:<28}{kernel}", case.name());
    }
}

fn write_out(
    arguments: &Direct,
    about: &Circumstances,
    effort: Effort,
    cells: &[Cell],
    verdicts: &[targets::Verdict],
) -> Result<(), String> {
    let value = record::direct(about, effort, cells, verdicts);
    let json = serde_json::to_string_pretty(&value).expect("values without odd keys") + "\n";
    if let Some(path) = &arguments.json {
        std::fs::write(path, &json).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    if let Some(path) = &arguments.plot {
        plot::draw(path, cells, &about.caption())?;
    }
    if arguments.recording.wanted()? {
        let by_case: Vec<&[Cell]> = cells.chunk_by(|a, b| a.case == b.case).collect();
        let markdown = record::markdown(about, effort, &by_case, verdicts);
        let files = [("json", json), ("md", markdown)];
        for path in record::write(record::FOLDER.as_ref(), &about.stem(), &files)? {
            println!("recorded in {}", path.display());
        }
    }
    Ok(())
}
