//! The OpenSSL provider beside the default one: `openssl speed` under two configurations in turns, and pipelines.

mod cases;
mod drive;
mod report;
mod side;

use std::path::PathBuf;

use millstream_cpu::Features;

use crate::record::{self, Circumstances, Recording};
use crate::{glob, isolated, progress};
use cases::{Case, is_masked};
use drive::Drive;
use report::{Cell, Measured, Pipes};
use side::{Folder, OpenSsl, Whose};

#[derive(clap::Args)]
pub struct Arguments {
    /// A program openssl [default: the system's, and those that 'cargo xtask openssl' built]
    #[arg(long, value_name = "PATH")]
    openssl: Vec<PathBuf>,
    /// The provider's module [default: libmillstream_provider.so beside this program]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Only cases whose name matches one of these patterns, as in 'aes-*-gcm*'
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Sizes in bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = cases::SIZES)]
    sizes: Vec<usize>,
    /// Number of turns of each side
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a turn
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// The processor that everything runs on
    #[arg(long, value_name = "CPU", default_value_t = 0)]
    cpu: usize,
    /// Compare results and time nothing
    #[arg(long)]
    check_only: bool,
    #[command(flatten)]
    recording: Recording,
}

/// Measures and reports. Slowness is never an error; a wrong result always is.
///
/// # Errors
/// When something can't be run, or the providers' results differ.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.recording.wanted()?;
    isolated::pin(arguments.cpu);
    let features = Features::active().map_err(|e| e.to_string())?;
    let beside =
        std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("libmillstream_provider.so")));
    let module = arguments.module.clone().or(beside).ok_or("name the module with --module")?;
    let folder = Folder::new(&module)?;
    let programs = match arguments.openssl.is_empty() {
        true => usual(),
        false => arguments.openssl.clone(),
    };
    let mut all = programs.iter().map(|path| OpenSsl::new(path)).collect::<Result<Vec<_>, _>>()?;
    all.sort_by_key(OpenSsl::order);
    let peers = all.iter().map(|openssl| ("openssl".to_owned(), openssl.about.clone())).collect();
    let about = Circumstances::now(features, peers, Vec::new());
    let (mut cells, mut pipes, mut compared) = (Vec::new(), Vec::new(), 0);
    for openssl in &all {
        let mut run = Run { arguments, folder: &folder, openssl, drive: Drive::build(&folder, openssl)? };
        compared += run.check()?;
        if arguments.check_only {
            run.pipelines(1)?;
            continue;
        }
        run.measure(&mut cells)?;
        pipes.extend(run.pipelines(9)?);
    }
    if arguments.check_only {
        println!("test result: ok. {compared} passed; 0 failed");
        return Ok(());
    }
    let judged = report::judge(&cells, &pipes);
    let text = report::markdown(&about, arguments, &cells, &pipes, &judged);
    println!("{text}");
    if arguments.recording.wanted()? {
        record::keep(&about, "-openssl", &report::json(&about, arguments, &cells, &pipes, &judged), text)?;
    }
    Ok(())
}

/// Returns the system's program, and those in `target/openssl` for this machine.
fn usual() -> Vec<PathBuf> {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/openssl");
    let folders = std::fs::read_dir(built).into_iter().flatten().flatten();
    // The names of other processors' builds begin with the processor.
    let here = folders.filter(|folder| folder.file_name().as_encoded_bytes()[0].is_ascii_digit());
    let programs = here.map(|folder| folder.path().join("bin/openssl")).filter(|path| path.exists());
    std::iter::once(PathBuf::from("openssl")).chain(programs).collect()
}

/// The parameters that are the same for all measurements of one OpenSSL.
struct Run<'a> {
    arguments: &'a Arguments,
    folder: &'a Folder,
    openssl: &'a OpenSsl,
    drive: Drive,
}

impl Run<'_> {
    fn cases(&self) -> Vec<Case> {
        let wanted = |case: &Case| glob::any(&self.arguments.algorithms, &case.name());
        Case::all().into_iter().filter(wanted).collect()
    }

    /// Compares every case by both providers. Returns the number of equal comparisons.
    fn check(&mut self) -> Result<u32, String> {
        let mut compared = 0;
        for case in self.cases() {
            progress(&format!("OpenSSL {}: {}, compared", self.openssl.version, case.name()));
            compared += self.folder.compare(self.openssl, &self.drive.program, &case)?;
        }
        progress("");
        Ok(compared)
    }

    fn measure(&mut self, cells: &mut Vec<Cell>) -> Result<(), String> {
        for case in self.cases() {
            let kernel = self.folder.kernel(self.openssl, &case)?;
            for &size in &self.arguments.sizes {
                progress(&format!("OpenSSL {}: {}, {size} bytes", self.openssl.version, case.name()));
                let mut cell = Cell::new(self.openssl, case.clone(), size, kernel.clone());
                if kernel.is_some() {
                    self.cell(&mut cell)?;
                }
                cells.push(cell);
            }
            progress("");
            let line = report::line(cells.iter().filter(|cell| cell.is_of(self.openssl, &case)));
            println!("{line}");
        }
        Ok(())
    }

    /// Measures turns of all sides, beginning with another one each time.
    fn cell(&self, cell: &mut Cell) -> Result<(), String> {
        let masked = cfg!(target_arch = "x86_64") && is_masked(&cell.case);
        for round in 0..self.arguments.rounds {
            let mut sides = vec![Whose::Ours, Whose::Default];
            if round % 2 == 1 {
                sides.reverse();
            }
            sides.extend(masked.then_some(Whose::Masked));
            let mut turn = Measured::default();
            for whose in sides {
                let seconds = self.arguments.seconds;
                let figure = self.folder.speed(whose, self.openssl, &cell.case, cell.size, seconds)?;
                turn.set(whose, figure);
            }
            cell.turns.push(turn);
        }
        Ok(())
    }

    /// Measures streams in pipes beside one at a time.
    fn pipelines(&self, rounds: u32) -> Result<Vec<Pipes>, String> {
        let mut all = Vec::new();
        let named = |name: &str| glob::any(&self.arguments.algorithms, name);
        for name in ["aes-128-cbc", "aes-256-cbc", "aes-128-cbc-hmac-sha1", "aes-128-cbc-hmac-sha256"] {
            for (pipes, bytes) in [(8, 64), (8, 1024), (8, 8192), (32, 1024), (32, 8192)] {
                if !named(name) {
                    continue;
                }
                progress(&format!("OpenSSL {}: {name}, {pipes} pipes", self.openssl.version));
                let turns = self.drive.pipelines(self.folder, name, pipes, bytes, rounds)?;
                let openssl = self.openssl.version.clone();
                all.push(Pipes { openssl, name, pipes, bytes, turns });
            }
        }
        progress("");
        Ok(all)
    }
}
