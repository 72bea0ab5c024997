//! `millstream trace`: tells which cryptographic instructions a program runs.

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

use crate::commands::{Context, pages};
use crate::error::{Error, exit, plain};
use crate::observe::features::{self, Features};
use crate::observe::looking::{self, Place};
use crate::observe::table::{enumerated, terminal_width};
use crate::observe::trace as report;
use crate::observe::without::is_forbidden;
use crate::output::Output;
use crate::programs::child;
use crate::progress::Progress;
use crate::shown;

/// Say which cryptographic instructions a program runs
///
/// The program can be any at all: unmodified, static, stripped, in any language. At the end, a report on standard
/// error says whether it used the processor's AES and similar instructions, and which functions of which
/// libraries did.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::TRACE))]
pub(super) struct Trace {
    /// Report what ran and what did not, at nearly no cost. This is the default
    #[arg(long, group = "mode")]
    once: bool,
    /// Report how often: every call of a function is counted, which slows it down
    #[arg(long, group = "mode")]
    count: bool,
    /// Report how often, estimated from samples at nearly no cost
    #[arg(long, group = "mode")]
    rate: bool,
    #[command(flatten)]
    features: Features,
    #[command(flatten)]
    subject: Subject,
    /// With --pid: stop after this many seconds
    #[arg(long, value_name = "N", requires = "pid", value_parser = positive)]
    seconds: Option<f64>,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
    /// Write the report to this file, not to standard error
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Report also what did not run, and the cost of tracing
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Look through each file anew, and keep nothing of what was found for later traces
    #[arg(long)]
    no_cache: bool,
    /// No progress line
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// The program to trace.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Subject {
    /// The process to trace, with its threads and the processes that it starts from now on. Related
    /// processes, such as other workers of a server, are not included: name each with its own --pid, or
    /// several in one, as pidof prints them
    #[arg(short = 'p', long, value_name = "PID", value_parser = numbers, conflicts_with_all = ["without", "with_only"])]
    pid: Vec<Pids>,
    /// The program and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// The processes of one `--pid`.
type Pids = std::sync::Arc<[Pid]>;

/// Parses numbers with blanks or commas between them.
fn numbers(text: &str) -> Result<Pids, String> {
    let words = text.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty());
    let number = |word: &str| word.parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    let pids: Option<Vec<Pid>> = words.map(number).collect();
    pids.filter(|pids| !pids.is_empty()).map(Pids::from).ok_or_else(|| "not a process ID".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().map_err(|_| "not a number".to_owned())?;
    if number > 0.0 && number < 1e9 { Ok(number) } else { Err("not a number of seconds above 0".to_owned()) }
}

impl Trace {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        // A file that can't be written should be noticed now, and not after hours.
        let file = self.report.as_deref().map(Output::named).transpose()?;
        let pids: Vec<Pid> = self.subject.pid.iter().flat_map(|pids| pids.iter().copied()).collect();
        if pids.is_empty() {
            return self.launched(file, context);
        }
        // A child process works from here on, so that this one can repair what it leaves behind.
        let work = |guard| {
            let worked = Watch::guarded(self.options(false), guard)
                .map_err(|error| failed(&error))
                .and_then(|watch| self.attached(&pids, watch, context))
                .and_then(|findings| self.tell(&findings, file, context));
            match worked {
                Ok(()) => exit::SUCCESS,
                Err(error) => {
                    if !matches!(error, Error::Reported(_)) {
                        context.fail(&error);
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
        // The program must not start if the request can't be met.
        let withheld = self.features.withheld()?;
        if let Some(withheld) = withheld {
            features::tell_missing(&self.features, withheld, &|text| context.say(text));
            supported().map_err(|error| Error::Trace(error.to_string()))?;
        }
        let mut watch = Watch::new(self.options(true)).map_err(|error| failed(&error))?;
        self.use_cache(&mut watch, context);
        let mut command = Command::new(&self.subject.command[0]);
        command.args(&self.subject.command[1..]);
        let launch = Launch { filter: true, kill_with_us: true, stop_with_it: true };
        let tracer = Tracer::launch(&mut command, launch).map_err(|error| {
            if is_forbidden(&error) {
                return failed(&error);
            }
            context.fail(format!("{}: {}", shown::path(self.subject.command[0].as_ref()), plain(&error)));
            Error::Reported(child::not_run(&error))
        })?;
        // The program writes to the same terminal, where a line that comes and goes would be in its way.
        let line = Line::new(!self.quiet && !isatty(io::stdout().as_fd()));
        line.follow(&mut watch);
        if !self.quiet && line.is_none() {
            looking::show(&mut watch, Place::Own);
        }
        let tell = |left: &[String]| {
            if !self.quiet {
                let what = "has ended; processes that it left running are still traced, and killed if this trace is:";
                context.say(format!(
                    "{} {what} {}",
                    shown::path(self.subject.command[0].as_ref()),
                    left.join(", ")
                ));
            }
        };
        let (status, findings) = follow(tracer, watch, withheld, tell).map_err(|error| failed(&error))?;
        line.finish();
        let told = self.tell(&findings, file, context);
        match child::code(status) {
            exit::SUCCESS => told,
            code => {
                // The program's own failure is what its caller has to know.
                told.unwrap_or_else(|error| context.fail(error));
                Err(Error::Reported(code))
            }
        }
    }

    /// Traces running processes, until the last one ends or somebody asks for an end.
    fn attached(&self, pids: &[Pid], mut watch: Watch, context: &Context) -> Result<Findings, Error> {
        self.use_cache(&mut watch, context);
        let line = Line::new(!self.quiet);
        line.follow(&mut watch);
        // Big programs are looked through before they are stopped, because that takes longer than they should
        // stand still.
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
            // The findings so far are still valid.
            context.fail(plain(&error));
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
            // The user should know when others could write there. But it is right that root does not use a
            // cache that a user can write to.
            Err(why @ Refused::Writable(_)) if !self.quiet => context.say(why),
            Err(why) if self.verbose => context.say(why),
            Err(_) => {}
        }
    }

    fn tell(&self, findings: &Findings, file: Option<Output>, context: &Context) -> Result<(), Error> {
        // Only a terminal has a width. A pipe or a file gets everything.
        let width = if file.is_none() { terminal_width() } else { None };
        let text = match self.json {
            true => format!("{:#}\n", report::json(findings)),
            false => report::text(findings, self.verbose, width),
        };
        if let Some(output) = file {
            return output.save(&text);
        }
        let head = if self.json { String::new() } else { format!("{}: ", context.name) };
        // If standard error is closed, there is nobody to tell.
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

/// Formats `process 7` or `processes 7 and 8`.
fn named(pids: &[Pid]) -> String {
    let numbers = enumerated(pids.iter().map(Pid::to_string));
    format!("{} {numbers}", if pids.len() == 1 { "process" } else { "processes" })
}

/// Follows a program, and the processes it leaves running, to the end.
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

/// The time that processes left behind may run before the user is told of them.
const SOON: Duration = Duration::from_secs(1);

/// Follows the processes that a program left running, and tells the user when that takes a while.
fn outlast(tracer: &mut Tracer, watcher: &mut impl Watcher, tell: impl FnOnce(&[String])) -> io::Result<()> {
    tracer.outlast(&mut (&mut *watcher, Until(Some(Instant::now() + SOON))))?;
    let left = tracer.processes().names();
    if !left.is_empty() {
        tell(&left);
    }
    tracer.outlast(watcher)
}

/// Ends a trace at a given time.
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

/// The progress, in a line on a terminal.
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

/// Converts an error of tracing.
fn failed(error: &io::Error) -> Error {
    // An error with a text of its own is complete. The system's errors carry a number that is removed.
    Error::Trace(if error.get_ref().is_some() { error.to_string() } else { plain(error) })
}
