//! `millstream compare`: runs a program with and without features of the processor, and tells how many times
//! as fast it is with them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use millstream_cpu::Features as Processor;
use millstream_engines::hash::{Digest, Hash, Hasher};
use millstream_measure::disturbance::Watch;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::time::TimeValLike;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;

use crate::commands::{Context, pages, print};
use crate::error::{Error, exit, plain};
use crate::observe::compare::{Comparison, Sample, outputs};
use crate::observe::explain::explain;
use crate::observe::features::{self, Features};
use crate::observe::without::{Answers, Outcome, Way};
use crate::progress::Progress;
use crate::{exact, shown};

/// The most bytes that are shown of what a failed program wrote last.
const SHOWN: u64 = 4096;

/// The time to wait for output after the program has ended. A process that it left behind may hold the pipe
/// open.
const REST: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Signals with which a user ends a program, meaning this command as well.
const ENDING: [i32; 4] = [1, 2, 3, 15];

/// Run a program with and without features of the processor, and say what they are worth
///
/// CMD runs several times each way, in turn, and the medians of its times are compared. Both ways it runs
/// under the same tracer, so the cost of tracing makes no difference. CMD must do the same amount of work
/// each time. A program that works for a fixed time, as openssl speed does, takes that time either way.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::COMPARE))]
pub(super) struct Compare {
    #[command(flatten)]
    features: Features,
    /// Only set the variables that libraries read, without tracing the program
    #[arg(long)]
    knobs_only: bool,
    /// Number of measured runs each way
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Number of unmeasured runs each way before those
    #[arg(long, value_name = "N", default_value_t = 1)]
    warmup: u32,
    /// The file that CMD reads as standard input in each run [default: nothing]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Show what CMD writes
    #[arg(long)]
    show: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// No progress bar
    #[arg(short = 'q', long)]
    quiet: bool,
    /// The program and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// One run that succeeded.
struct Run {
    sample: Sample,
    digest: Option<Digest>,
    outcome: Outcome,
}

impl Compare {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let Some(withheld) = self.features.withheld()? else {
            return Err(Error::Usage(
                "say what to compare with: --without aes, or another of 'millstream run --list'".into(),
            ));
        };
        let mut without = Way::new(withheld, self.knobs_only);
        if without.taken().is_empty() {
            let missing = features::missing(&self.features, withheld);
            return Err(Error::Usage(format!("this processor has no {missing}: both ways are the same")));
        }
        features::tell_missing(&self.features, withheld, &|text| context.say(text));
        without.warn(&|text| context.say(text));
        let progress = Progress::cells(2 * u64::from(self.warmup + self.runs), self.quiet || self.show);
        let measured = self.measure(&mut without, &progress, context);
        progress.finish(measured.is_ok());
        let (comparison, answers) = measured?;
        if self.json {
            let mut value = comparison.json();
            value["version"] = json!(1);
            exact::put_command(&mut value, &self.command);
            value["layers"] = without.json(answers.as_ref());
            return print(format!("{value:#}\n"));
        }
        comparison.disturbances().iter().for_each(|what| context.say(format!("warning: {what}")));
        let text = comparison.text(&self.features.subject());
        print(format!("{text}  how         {}\n", without.text(answers.as_ref())))
    }

    /// Measures all runs.
    fn measure(
        &self,
        without: &mut Way,
        progress: &Progress,
        context: &Context,
    ) -> Result<(Comparison, Option<Answers>), Error> {
        let mut with = without.nothing_withheld();
        let mut samples = [Vec::new(), Vec::new()];
        let mut digests = [Vec::new(), Vec::new()];
        let mut answers = None;
        let watch = Watch::start();
        for pair in 0..self.warmup + self.runs {
            // Alternating the order makes slow changes, such as a clock that sinks with heat, affect both
            // ways alike.
            let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
            for index in order {
                let way = if index == 0 { &mut with } else { &mut *without };
                progress.say(["with all features", "without some"][index]);
                let run = self.once(way, context)?;
                if let Some(why) = with.why_not().filter(|_| without.why_not().is_none()) {
                    without.fall_back(why.to_owned());
                }
                progress.advance(1);
                if pair >= self.warmup {
                    samples[index].push(run.sample);
                    digests[index].push(run.digest.map(|digest| digest.as_ref().to_vec()));
                }
                if index == 1 {
                    answers = run.outcome.answers;
                }
            }
        }
        let outputs = outputs(&digests[0], &digests[1]);
        let [with, without] = samples;
        Ok((Comparison { with, without, outputs, disturbed: watch.seen() }, answers))
    }

    /// Performs one run, which has to succeed.
    fn once(&self, way: &mut Way, context: &Context) -> Result<Run, Error> {
        let mut child = Command::new(&self.command[0]);
        child.args(&self.command[1..]).stdin(self.input()?);
        let failed = |source| Error::Write { name: "a temporary file".into(), source };
        let errors = tempfile::tempfile().map_err(failed)?;
        if !self.show {
            child.stderr(errors.try_clone().map_err(failed)?);
        }
        let before = processor_time();
        let (outcome, digest) = self.digested(child, way, context).map_err(|error| {
            context.fail(format!("{}: {}", shown::path(self.command[0].as_ref()), plain(&error)));
            Error::Reported(exit::FAILURE)
        })?;
        let cpu = processor_time() - before;
        if !outcome.status.success() {
            return Err(self.failure(&outcome, way, errors, context));
        }
        let sample = Sample { wall: outcome.time.as_secs_f64(), cpu };
        Ok(Run { sample, digest, outcome })
    }

    fn input(&self) -> Result<Stdio, Error> {
        let Some(path) = &self.input else { return Ok(Stdio::null()) };
        let file = File::open(path).map_err(|source| Error::Open { path: path.clone(), source })?;
        Ok(file.into())
    }

    /// Runs the program, and digests its output.
    fn digested(
        &self,
        mut child: Command,
        way: &mut Way,
        context: &Context,
    ) -> io::Result<(Outcome, Option<Digest>)> {
        let (reader, writer) = io::pipe()?;
        child.stdout(writer);
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Signals to this process, including the one that the program has ended, are for the thread that
            // waits for it.
            let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
            let digest = scope.spawn(|| digest(reader, &ended, self.show));
            mask.thread_set_mask()?;
            let outcome = way.run(&mut child, &|text| context.say(text));
            // The command holds an end of the pipe.
            drop(child);
            ended.store(true, Ordering::Relaxed);
            let digest = digest.join().ok().and_then(Result::ok);
            Ok((outcome?, digest))
        })
    }

    /// Describes how a run failed.
    fn failure(&self, outcome: &Outcome, way: &Way, mut errors: File, context: &Context) -> Error {
        let status = outcome.status;
        if let Some(signal) = status.signal().filter(|signal| ENDING.contains(signal)) {
            return Error::Reported(u8::try_from(128 + signal).unwrap_or(exit::FAILURE));
        }
        let program = shown::path(self.command[0].as_ref());
        let which = match way.withheld.is_empty() {
            true => "with all features".to_owned(),
            false => format!("without {}", way.taken()),
        };
        context.fail(format!("{program} failed {which}: {status}; nothing is compared"));
        if let Some(why) = explain(status, outcome.time, way.taken(), outcome.illegal.as_ref()) {
            context.say(why);
        }
        let len = errors.metadata().map_or(0, |metadata| metadata.len());
        let mut said = Vec::new();
        let _ = errors.seek(io::SeekFrom::Start(len.saturating_sub(SHOWN)));
        let _ = errors.read_to_end(&mut said);
        let _ = io::stderr().write_all(&said);
        Error::Reported(exit::FAILURE)
    }
}

/// Digests everything that comes, until nobody can write any more or the program has ended.
fn digest(mut from: PipeReader, ended: &AtomicBool, show: bool) -> io::Result<Digest> {
    let mut hasher = Hasher::new(Processor::hardware(), Hash::Sha256);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let is_over = ended.load(Ordering::Relaxed);
        let mut polled = [PollFd::new(&from, PollFlags::IN)];
        let ready = poll(&mut polled, Some(&REST))?;
        if ready == 0 && is_over {
            return Ok(hasher.finish());
        }
        if ready > 0 {
            match from.read(&mut buffer)? {
                0 => return Ok(hasher.finish()),
                len => {
                    hasher.update(&buffer[..len]);
                    if show {
                        io::stdout().write_all(&buffer[..len])?;
                    }
                }
            }
        }
    }
}

/// Returns the seconds in user and kernel mode of all children that this process has waited for.
fn processor_time() -> f64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return 0.0 };
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
}
