//! Prints which crypto instructions a program runs, as plain lines: `trace [--count|--rate] [--without LIST]
//! (PID | -- COMMAND ...)`.

use std::io;
use std::process::{Command, ExitCode};
use std::time::Instant;

use millstream_observe::process::{Launch, Pid, Tracer};
use millstream_observe::trace::guard::{Outcome, guarded};
use millstream_observe::trace::{Findings, Mode, Options, Question, Trace};

fn main() -> io::Result<ExitCode> {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--count" => options.mode = Mode::Count,
            "--rate" => options.mode = Mode::Rate,
            "--" => return launch(options, arguments.collect()),
            pid => return attach(options, pid.parse().map_err(io::Error::other)?),
        }
    }
    Err(io::Error::other("trace [--count|--rate] (PID | -- COMMAND ...)"))
}

fn launch(options: Options, words: Vec<String>) -> io::Result<ExitCode> {
    let mut command = Command::new(words.first().ok_or_else(|| io::Error::other("no command"))?);
    command.args(&words[1..]);
    let mut trace = Trace::new(Options { announced: true, ..options })?;
    let launch = Launch { filter: true, kill_with_us: true, ..Launch::default() };
    let status = Tracer::launch(&mut command, launch)?.run(&mut trace)?;
    show(&trace.finish());
    eprintln!("ended: {status}");
    Ok(ExitCode::from(status.code().unwrap_or(255) as u8))
}

fn attach(options: Options, pid: i32) -> io::Result<ExitCode> {
    let outcome = guarded(|guard| match trace(options, pid, guard) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("trace: {error}");
            1
        }
    })?;
    eprintln!("{outcome:?}");
    Ok(match outcome {
        Outcome::Code(code) => ExitCode::from(code),
        Outcome::Killed { .. } => ExitCode::FAILURE,
    })
}

fn trace(options: Options, pid: i32, guard: millstream_observe::trace::guard::Guard) -> io::Result<()> {
    let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("no such process"))?;
    let mut trace = Trace::guarded(options, guard)?;
    trace.prepare(&[pid]);
    let mut tracer = Tracer::attach(pid)?;
    let mut announced = false;
    trace.show_progress(move |progress| {
        if !std::mem::replace(&mut announced, true) {
            eprintln!("watching: {progress:?}");
        }
    });
    let followed = tracer.follow(&mut trace);
    let start = Instant::now();
    tracer.detach_all(&mut trace)?;
    eprintln!("{:?}, let go in {:?}", followed?, start.elapsed());
    show(&trace.finish());
    Ok(())
}

fn show(findings: &Findings) {
    eprintln!("mode {} samples {} {:?}", findings.mode.name(), findings.samples, findings.cost);
    for process in &findings.processes {
        eprintln!("process {} {:?} {}", process.pid, process.watched, process.command.display());
    }
    for module in &findings.modules {
        let stood = (module.watched.total(), module.unproved.total(), module.unwatchable);
        eprintln!(
            "module {} {:?} present: {} watched,unproved,unwatchable: {stood:?}",
            module.path.display(),
            module.library,
            module.present
        );
        for function in module.functions.iter().filter(|function| function.hits > 0) {
            eprintln!(
                "  ran {} [{}] hits {} entries {:?} samples {} rate {:?} for {:?} by {:?}",
                function.name,
                function.ran,
                function.hits,
                function.entries,
                function.samples,
                function.rate,
                function.origins,
                function.callers
            );
        }
    }
    for question in Question::ALL {
        let verdict = format!("{:?}", findings.verdict(*question));
        eprintln!("{}: {:.60}", question.label(), verdict);
    }
    for note in &findings.notes {
        eprintln!("note: {note}");
    }
}
