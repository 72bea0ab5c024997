//! `millstream trace`: which cryptographic instructions a program runs.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use millstream_observe::capability::Withheld;
use millstream_observe::code::cache::{self, Refused};
use millstream_observe::process::{Launch, Pid, Processes, Tracer, Watcher};
use millstream_observe::trace::findings::Findings;
use millstream_observe::trace::guard::{Outcome, guarded};
use millstream_observe::trace::{Mode, Options, Progress as Step, Trace as Watch};
use millstream_observe::without::{Masker, supported};
use rustix::termios::isatty;

use crate::commands::{Context, man};
use crate::error::{Error, exit, plain};
use crate::observe::features::{self, Features};
use crate::observe::looking::{self, Place};
use crate::observe::table::{enumerated, terminal_width};
use crate::observe::trace as report;
use crate::observe::without::is_forbidden;
use crate::output::Output;
use crate::programs::child;
use crate::progress::Progress;

/// Say which cryptographic instructions a program runs
///
/// The program is any at all: unmodified, static, stripped, in any language. At the end standard error says whether it used the
/// processor's AES and the like, and which functions of which libraries did.
#[derive(clap::Args)]
#[command(after_long_help = man::help(man::TRACE))]
pub(super) struct Trace {
    /// What ran, and what did not, at nearly no cost. This is the default
    #[arg(long, group = "mode")]
    once: bool,
    /// How often: each entry of a function is counted, which slows it down
    #[arg(long, group = "mode")]
    count: bool,
    /// How often, by samples: nearly no cost
    #[arg(long, group = "mode")]
    rate: bool,
    #[command(flatten)]
    features: Features,
    /// The process to trace, with its threads and what it starts from now on. Not those beside it, as other workers of a server: name
    /// each with a --pid of its own, or several in one, as pidof prints them
    #[arg(short = 'p', long, value_name = "PID", value_parser = numbers, required_unless_present = "command", conflicts_with_all = ["command", "without", "with_only"])]
    pid: Vec<Pids>,
    /// With --pid: end after so many seconds
    #[arg(long, value_name = "N", requires = "pid", value_parser = positive)]
    seconds: Option<f64>,
    /// Say it as JSON
    #[arg(long)]
    json: bool,
    /// Say it in this file, not on standard error
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Say also what did not run, and what tracing cost
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Look through each file, and keep nothing of what was found in it for later traces
    #[arg(long)]
    no_cache: bool,
    /// No progress line
    #[arg(short = 'q', long)]
    quiet: bool,
    /// The program and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Processes of one `--pid`.
type Pids = std::sync::Arc<[Pid]>;

/// Numbers with blanks or commas between them.
fn numbers(text: &str) -> Result<Pids, String> {
    let words = text.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty());
    let number = |word: &str| word.parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    let pids: Option<Vec<Pid>> = words.map(number).collect();
    pids.filter(|pids| !pids.is_empty())
        .map(Pids::from)
        .ok_or_else(|| "not the number of a process".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().map_err(|_| "not a number".to_owned())?;
    if number > 0.0 && number < 1e9 { Ok(number) } else { Err("not a time to wait for".to_owned()) }
}

impl Trace {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        // What can't be written is not noticed after hours only.
        let file = self.report.as_deref().map(Output::named).transpose()?;
        let pids: Vec<Pid> = self.pid.iter().flat_map(|pids| pids.iter().copied()).collect();
        if pids.is_empty() {
            return self.launched(file, context);
        }
        // From here on a process of its own works, that this one may put right what it leaves.
        let work = |guard| {
            let worked = Watch::guarded(self.options(false), guard)
                .map_err(|error| failed(&error))
                .and_then(|watch| self.attached(&pids, watch, context))
                .and_then(|findings| self.tell(&findings, file, context));
            match worked {
                Ok(()) => exit::SUCCESS,
                Err(error) => {
                    if !matches!(error, Error::Reported(_)) {
                        context.say(&error);
                    }
                    error.exit_code()
                }
            }
        };
        match guarded(work).map_err(|error| failed(&error))? {
            Outcome::Code(exit::SUCCESS) => Ok(()),
            Outcome::Code(code) => Err(Error::Reported(code)),
            Outcome::Killed { signal, put_back } => {
                context.say(format!(
                    "the tracing process was ended by signal {signal}; {put_back} breakpoints of {} were removed",
                    named(&pids)
                ));
                Err(Error::Reported(exit::FAILURE))
            }
        }
    }

    fn options(&self, announced: bool) -> Options {
        let mode = match (self.count, self.rate) {
            (true, _) => Mode::Count,
            (_, true) => Mode::Rate,
            _ => Mode::Once,
        };
        Options { mode, announced, ..Options::default() }
    }

    /// Traces a program from its start to its end.
    fn launched(&self, file: Option<Output>, context: &Context) -> Result<(), Error> {
        // Nothing is started that could not be done as it was asked for.
        let withheld = self.features.withheld()?;
        if let Some(withheld) = withheld {
            features::tell_missing(&self.features, withheld, &|text| context.say(text));
            supported().map_err(|error| Error::Trace(error.to_string()))?;
        }
        let mut watch = Watch::new(self.options(true)).map_err(|error| failed(&error))?;
        self.use_cache(&mut watch, context);
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let launch = Launch { filter: true, kill_with_us: true, stop_with_it: true };
        let tracer = Tracer::launch(&mut command, launch).map_err(|error| {
            if is_forbidden(&error) {
                return failed(&error);
            }
            context.say(format!("{}: {}", self.command[0].display(), plain(&error)));
            Error::Reported(child::not_run(&error))
        })?;
        // The program writes to the same terminal, and a line that comes and goes would be in its way.
        let line = Line::new(!self.quiet && !isatty(io::stdout().as_fd()));
        line.follow(&mut watch);
        if !self.quiet && line.is_none() {
            looking::show(&mut watch, Place::Own);
        }
        let tell = |left: &[String]| {
            if !self.quiet {
                let what = "has ended; what it left running is traced on, and killed if this trace is:";
                context.say(format!("{} {what} {}", self.command[0].display(), left.join(", ")));
            }
        };
        let (status, findings) = follow(tracer, watch, withheld, tell).map_err(|error| failed(&error))?;
        line.finish();
        let told = self.tell(&findings, file, context);
        match child::code(status) {
            exit::SUCCESS => told,
            code => {
                // The program's own failure is what its caller has to know.
                told.unwrap_or_else(|error| context.say(error));
                Err(Error::Reported(code))
            }
        }
    }

    /// Traces processes that run, until the last ends or somebody asks for an end.
    fn attached(&self, pids: &[Pid], mut watch: Watch, context: &Context) -> Result<Findings, Error> {
        self.use_cache(&mut watch, context);
        let line = Line::new(!self.quiet);
        line.follow(&mut watch);
        // Looking through big programs takes longer than they should stand still.
        watch.prepare(pids);
        let mut tracer = attach(pids).map_err(|error| {
            line.finish();
            failed(&error)
        })?;
        let until = self.seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
        let mut both = (watch, Until(until));
        let followed = tracer.follow(&mut both);
        let detached = tracer.detach_all(&mut both);
        line.finish();
        if let Err(error) = followed.map(drop).and(detached) {
            // What was found is found.
            context.say(plain(&error));
        }
        Ok(both.0.finish())
    }

    /// Has a trace look up what earlier ones found.
    fn use_cache(&self, watch: &mut Watch, context: &Context) {
        if self.no_cache {
            return;
        }
        match cache::of_user() {
            Ok(Some(cache)) => watch.use_cache(cache),
            Ok(None) => {}
            // Others could write there, which somebody should know; that root does not write to a user's is as it should be.
            Err(why @ Refused::Writable(_)) if !self.quiet => context.say(why),
            Err(why) if self.verbose => context.say(why),
            Err(_) => {}
        }
    }

    fn tell(&self, findings: &Findings, file: Option<Output>, context: &Context) -> Result<(), Error> {
        // Only a terminal has a width; who reads from a pipe or a file gets all.
        let width = if file.is_none() { terminal_width() } else { None };
        let text = match self.json {
            true => format!("{:#}\n", report::json(findings)),
            false => report::text(findings, self.verbose, width),
        };
        if let Some(output) = file {
            return output.save(&text);
        }
        let head = if self.json { String::new() } else { format!("{}: ", context.name) };
        // Where standard error is closed there is nobody to tell.
        let _ = io::stderr().write_all(format!("{head}{text}").as_bytes());
        Ok(())
    }
}

/// Begins to trace all of them, or none.
fn attach(pids: &[Pid]) -> io::Result<Tracer> {
    let [first, others @ ..] = pids else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut tracer = Tracer::attach(*first)?;
    others.iter().try_for_each(|other| tracer.attach_also(*other))?;
    Ok(tracer)
}

/// As in `process 7` and `processes 7 and 8`.
fn named(pids: &[Pid]) -> String {
    let numbers = enumerated(pids.iter().map(Pid::to_string));
    format!("{} {numbers}", if pids.len() == 1 { "process" } else { "processes" })
}

/// Follows a program, and what it leaves running, to the end.
fn follow(
    mut tracer: Tracer,
    mut watch: Watch,
    withheld: Option<Withheld>,
    tell: impl FnOnce(&[String]),
) -> io::Result<(ExitStatus, Findings)> {
    let Some(withheld) = withheld else {
        let status = tracer.run(&mut watch)?;
        outlast(&mut tracer, &mut watch, tell)?;
        return Ok((status, watch.finish()));
    };
    let mut both = (Masker::new(withheld), watch);
    let status = tracer.run(&mut both)?;
    outlast(&mut tracer, &mut both, tell)?;
    Ok((status, both.1.finish()))
}

/// How long what a program leaves running goes on before it is told of.
const SOON: Duration = Duration::from_secs(1);

/// Follows what a program left running, and tells of it when that takes a while.
fn outlast(tracer: &mut Tracer, watcher: &mut impl Watcher, tell: impl FnOnce(&[String])) -> io::Result<()> {
    tracer.outlast(&mut (&mut *watcher, Until(Some(Instant::now() + SOON))))?;
    let left = tracer.processes().names();
    if !left.is_empty() {
        tell(&left);
    }
    tracer.outlast(watcher)
}

/// The end of a trace that ends by itself.
struct Until(Option<Instant>);

impl Watcher for Until {
    fn tick(&mut self, processes: &mut Processes) -> io::Result<()> {
        self.0 = None;
        processes.finish();
        Ok(())
    }

    fn next_tick(&self) -> Option<Instant> {
        self.0
    }
}

/// How far it is, in a line on a terminal.
struct Line(Progress);

impl Line {
    fn new(wanted: bool) -> Line {
        Line(if wanted { Progress::line() } else { Progress::Silent })
    }

    fn follow(&self, watch: &mut Watch) {
        let Progress::Bar(bar) = &self.0 else { return };
        let bar: ProgressBar = bar.clone();
        looking::show(watch, Place::In(bar.clone()));
        watch.show_progress(move |step| bar.set_message(words(step)));
    }

    fn is_none(&self) -> bool {
        matches!(self.0, Progress::Silent)
    }

    fn finish(&self) {
        self.0.finish(true);
    }
}

fn words(step: &Step) -> String {
    format!(
        "{} processes, {} images, {} breakpoints stand, {} fired",
        step.running, step.modules, step.armed, step.fired
    )
}

/// What the system refused.
fn failed(error: &io::Error) -> Error {
    // The reasons that were put into words are whole; only the system's own have a number behind them.
    Error::Trace(if error.get_ref().is_some() { error.to_string() } else { plain(error) })
}
