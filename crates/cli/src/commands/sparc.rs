//! `millstream sparc`: runs programs for 64-bit SPARC, on the processors that had Sun's and Oracle's
//! accelerators.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use millstream_measure::plot;
use millstream_ultrasparc::counts::Counts;
use millstream_ultrasparc::kernel::Units;
use millstream_ultrasparc::linux::{self, Ended, LoadError, Process, Settings};
use millstream_ultrasparc::processor::{Features, Processor};
use millstream_ultrasparc::program::Program;

use crate::commands::{Context, pages, print};
use crate::error::{Error, exit};
use crate::output::Output;
use crate::programs::child;
use crate::shown;
use crate::sparc::report::{Report, Wanted};
use crate::sparc::{costs, disassemble, history, images};

/// The option before the name by which a program is called, where the emulated program started it. Only the
/// emulator uses it.
const NAMED: &str = "--argv0";

/// Run a program for 64-bit SPARC, and say what it executed
///
/// The program can be any for Linux on sparc64, as a cross compiler makes it. An emulated UltraSPARC II, T1, T2,
/// T3 (Rainbow Falls) or T4 executes it, with the T4's crypto instructions. Its files and its terminal are
/// this command's own, and so is its exit status.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::SPARC))]
pub(super) struct Sparc {
    /// The processor: ultrasparc2, t1, t2, t3 or t4
    #[arg(long, value_name = "NAME", default_value = "t4")]
    cpu: Processor,
    /// Capabilities that the processor shall lack, in the syntax of LD_HWCAP: "-aes -des"
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    hwcap: Option<String>,
    /// Print what isainfo -v printed on that processor
    #[arg(long)]
    isainfo: bool,
    /// The directory with a dynamic program's libraries
    #[arg(long, value_name = "DIR")]
    sysroot: Option<PathBuf>,
    /// Report each system call of the program on standard error
    #[arg(long)]
    trace_syscalls: bool,
    /// Show the program's instructions, or those of the functions whose names match
    #[arg(long, value_name = "GLOB", num_args = 0..=1, require_equals = true)]
    disassemble: Option<Option<String>>,
    /// Let the program call the hypervisor, as a kernel does; its addresses are real ones then
    #[arg(long)]
    privileged: bool,
    /// Estimate the cost of the program and of its use of the accelerators with the timing model
    #[arg(long)]
    costs: bool,
    /// Print what Sun and Oracle published about these machines beside what the timing model says
    #[arg(long)]
    history: bool,
    /// Draw that history's tables into this SVG file
    #[arg(long, value_name = "FILE", requires = "history")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
    /// Write the counts as JSON
    #[arg(long)]
    json: bool,
    /// Write the counts to this file, not to standard error
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The name that the program is called by
    #[arg(long, hide = true, allow_hyphen_values = true)]
    argv0: Option<OsString>,
    /// The process that counts, as opposed to those that it starts
    #[arg(long, hide = true)]
    counted: Option<u32>,
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present_any = ["isainfo", "history"]
    )]
    command: Vec<OsString>,
}

impl Sparc {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let features = match &self.hwcap {
            Some(removed) => self.cpu.features().removing(removed).map_err(Error::Usage)?,
            None => self.cpu.features(),
        };
        if self.isainfo {
            return print(self.cpu.isainfo(features));
        }
        if self.history {
            return self.past();
        }
        if let Some(word) = self.command.first().filter(|word| word.as_encoded_bytes().starts_with(b"-")) {
            return Err(Error::Usage(format!("no option {}", shown::path(word.as_ref()))));
        }
        match &self.disassemble {
            Some(pattern) => disassembled(Path::new(&self.command[0]), pattern.as_deref()),
            None => self.executed(features, context),
        }
    }

    /// Prints what was published, beside the timing model.
    fn past(&self) -> Result<(), Error> {
        let experiments = history::experiments();
        if let Some(path) = &self.plot {
            let about = format!(
                "The timing model of millstream {}, beside what was published",
                env!("CARGO_PKG_VERSION")
            );
            let svg = plot::svg(&history::panels(&experiments), &about).map_err(Error::Usage)?;
            Output::named(path)?.save(&svg)?;
        }
        let json = || format!("{:#}\n", history::json(&experiments));
        print(if self.json { json() } else { history::text(&experiments) })
    }

    /// Runs the program, and ends as it does.
    fn executed(&self, features: Features, context: &Context) -> Result<(), Error> {
        // A file that can't be written should be noticed now, and not after hours.
        self.report.as_deref().map(Output::named).transpose()?;
        linux::host::as_started();
        let mut arguments = self.command.clone();
        if let Some(name) = &self.argv0 {
            arguments[0] = name.clone();
        }
        let environment: Vec<OsString> =
            std::env::vars_os().map(|(name, value)| [name, value].join("=".as_ref())).collect();
        let settings = Settings {
            features,
            sysroot: self.sysroot(),
            trace: self.trace_syscalls,
            witnessed: self.wanted.any() || self.costs,
            again: self.again(),
            ..Settings::of(self.cpu)
        };
        let file = Path::new(&self.command[0]);
        let mut process = Process::new(settings, file, &arguments, &environment).map_err(|error| {
            context.fail(&error);
            Error::Reported(not_run(&error))
        })?;
        let units = Units::of(self.cpu, self.privileged);
        if let Some(units) = &units {
            units.attach(&mut process.cpu);
            process.driver = Some(Box::new(units.clone()));
        }
        let counting = self.counted.unwrap_or(std::process::id());
        let ended = process.run();
        // A child that the program forked comes here too.
        if self.wanted.any() && counting == std::process::id() {
            let mut report = Report::new(self.wanted.clone());
            report.add(&process.cpu, &images::of(&process));
            self.tell(&report, context)?;
        }
        if self.costs && counting == std::process::id() {
            let accounts = units.map(|units| units.accounts());
            let text = costs::text(self.cpu, accounts.as_ref(), &Counts::of(process.cpu.blocks()));
            // If standard error is closed, there is nobody to tell.
            let _ = io::stderr().write_all(text.as_bytes());
        }
        match ended {
            Ended::Exited(exit::SUCCESS) => Ok(()),
            Ended::Exited(status) => Err(Error::Reported(status)),
            Ended::Killed(signal) => {
                if signal == linux::signals::EMT_ON_HOST {
                    // The shell will print "Stack fault" for this signal, which is wrong here.
                    let _ = writeln!(
                        io::stderr(),
                        "{}: SIGEMT ended the program: a tagged addition or subtraction overflowed; the host shows it as its \
                         signal {signal}",
                        context.name
                    );
                }
                linux::host::end_by(signal);
                Err(Error::Reported(128 + signal as u8))
            }
        }
    }

    fn tell(&self, report: &Report, context: &Context) -> Result<(), Error> {
        let text = if self.json { format!("{:#}\n", report.json()) } else { report.text() };
        if let Some(path) = &self.report {
            return Output::named(path)?.save(&text);
        }
        let head = if self.json { String::new() } else { format!("{}:\n", context.name) };
        // If standard error is closed, there is nobody to tell.
        let _ = io::stderr().write_all(format!("{head}{text}").as_bytes());
        Ok(())
    }

    /// Returns the absolute path of the libraries' directory, because the program may change its directory.
    fn sysroot(&self) -> Option<PathBuf> {
        self.sysroot.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()))
    }

    /// Returns the command line of this command for a program that replaces the current one by exec.
    fn again(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            ["millstream", "sparc", "--cpu", self.cpu.name()].map(Into::into).into();
        let mut option = |name: &str, value: Option<&OsString>| {
            if let Some(value) = value {
                let mut word = OsString::from(format!("--{name}="));
                word.push(value);
                words.push(word);
            }
        };
        option("hwcap", self.hwcap.as_ref().map(OsString::from).as_ref());
        option("sysroot", self.sysroot().map(OsString::from).as_ref());
        option("count", self.wanted.count.as_ref().map(OsString::from).as_ref());
        option("report", self.report.as_ref().map(OsString::from).as_ref());
        option("counted", Some(&self.counted.unwrap_or(std::process::id()).to_string().into()));
        let flags = [
            ("--mix", self.wanted.mix),
            ("--unreached", self.wanted.unreached),
            ("--json", self.json),
            ("--privileged", self.privileged),
            ("--costs", self.costs),
            ("--trace-syscalls", self.trace_syscalls),
        ];
        words.extend(flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| name.into()));
        words.push(NAMED.into());
        words
    }
}

/// Returns the exit code for a program that can't be run.
fn not_run(error: &LoadError) -> u8 {
    match error {
        LoadError::Read { source, .. } => child::not_run(source),
        // The file is there, but it is no program for this emulator.
        _ => 126,
    }
}

/// Writes a program's code as assembly.
fn disassembled(file: &Path, pattern: Option<&str>) -> Result<(), Error> {
    let name = || shown::path(file);
    let bytes = std::fs::read(file).map_err(|source| Error::Read { name: name(), source })?;
    let program = Program::parse(&bytes).map_err(|error| Error::Trace(format!("{}: {error}", name())))?;
    if let Some(pattern) = pattern.filter(|pattern| !disassemble::has_any(&program, pattern)) {
        return Err(Error::Usage(format!("{}: no function's name matches {pattern:?}", name())));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match disassemble::write(&program, pattern, &mut out).and_then(|()| out.flush()) {
        // The reader has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|source| Error::Write { name: "standard output".into(), source }),
    }
}
