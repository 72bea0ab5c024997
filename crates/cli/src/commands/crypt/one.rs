//! The way of one input to its output.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use millstream_engines::modes::Direction;
use millstream_files::pipeline::{self, Layout};
use millstream_files::{self as files, Job, Pieces};

use super::call::{Call, Run};
use super::options::Options;
use super::source::Source;
use crate::commands::cautions::{self, Screen};
use crate::error::Error;
use crate::input::Input;
use crate::output::Output;
use crate::progress::Progress;

/// Encrypts or decrypts one file, or standard input, to the output that the options name.
pub(super) fn run(options: &Options, run: &Run<'_>, input: Option<&Path>) -> Result<(), Error> {
    cautions::spare_terminal(options.output.as_deref(), run.direction)?;
    let asked = Whole {
        direction: run.direction,
        input: cautions::file(input),
        output: options.output.as_deref(),
        secrets: &options.secrets(),
        verbose: options.verbose,
        quiet: options.quiet,
    };
    whole(&asked, |name, source| {
        let call = Call { run, name };
        options.warn_of_format(run);
        options.job(&call, source)
    })
}

/// One file, and what becomes of it.
pub(in crate::commands) struct Whole<'a> {
    pub(in crate::commands) direction: Direction,
    /// The input's name; none for standard input.
    pub(in crate::commands) input: Option<&'a Path>,
    /// The value of `-o`.
    pub(in crate::commands) output: Option<&'a Path>,
    /// The files that the output must not overwrite, with their names for messages.
    pub(in crate::commands) secrets: &'a [(&'static str, Option<&'a Path>)],
    /// True for the bar of the Solaris commands.
    pub(in crate::commands) verbose: bool,
    pub(in crate::commands) quiet: bool,
}

/// Takes one file to its output, by the job that is made for the input of that name.
pub(in crate::commands) fn whole(
    asked: &Whole<'_>,
    job: impl FnOnce(&str, &mut Source) -> Result<Job, Error>,
) -> Result<(), Error> {
    let destination = cautions::file(asked.output);
    cautions::spare_secrets(destination, asked.secrets)?;
    let input = match asked.input {
        Some(path) => Input::named(path)?,
        None => Input::standard()?,
    };
    let mut source = Source::new(&input).map_err(|error| Error::in_format(error, &input.name, ""))?;
    let job = job(&input.name, &mut source)?;
    let from_pipe = !input.file.metadata().is_ok_and(|found| found.is_file());
    let output = match (destination, asked.direction) {
        // Data from a pipe has no permissions to copy.
        (Some(path), Direction::Encrypt) if from_pipe => Output::named(path)?,
        (Some(path), _) => Output::as_private_as(path, &input.file)?,
        (None, _) => Output::standard()?,
    };
    refuse_loop(&input, &output)?;
    let on_screen =
        asked.output.is_none() && asked.direction == Direction::Decrypt && io::stdout().is_terminal();
    let progress = match asked.verbose {
        true => Progress::solaris(input.len),
        false => Progress::bar(input.len, asked.quiet),
    };
    // Reading, computing and writing have a thread each, even where there is one processor.
    let threads = pipeline::parallelism().max(2);
    let done = convert(job, source, &output, on_screen, &progress, threads);
    progress.finish(done.is_ok());
    complete(done, &input, output)
}

/// Gives the output its name when it is complete, and not otherwise.
pub(super) fn complete(done: Result<(), files::Error>, input: &Input, output: Output) -> Result<(), Error> {
    done.map_err(|source| Error::in_format(source, &input.name, &output.name()))?;
    if !input.is_unchanged() {
        return Err(Error::Changed(input.name.clone()));
    }
    output.finish()
}

/// Takes the input through the job to the output, on so many threads. Pieces go by position where both ends are
/// regular files and the pieces are independent, and as a stream otherwise. One thread is the caller's own.
pub(super) fn convert(
    job: Job,
    source: Source,
    output: &Output,
    on_screen: bool,
    progress: &Progress,
    threads: usize,
) -> Result<(), files::Error> {
    let advance = |bytes| progress.advance(bytes);
    if threads == 1 {
        return job.run_here(source.reader, Counted(output.file(), &advance));
    }
    let mut file = output.file();
    file.write_all(&job.header).map_err(files::Error::Write)?;
    let writer: Box<dyn Write> = if on_screen { Box::new(Screen(file)) } else { Box::new(file) };
    let (cut_out, worker) = match job.pieces {
        Pieces::Chained(worker) => {
            return pipeline::run(source.reader, writer, job.cut, vec![worker], &advance);
        }
        Pieces::Independent { output, worker } => (output, worker),
    };
    let workers = || (0..threads).map(|_| worker()).collect::<Vec<_>>();
    match &source.file {
        Some((input, len)) if output.is_seekable() && !source.is_ahead => {
            // Headers are longer than what was looked at before, so the file's position is behind its header.
            let start = rustix::fs::tell(input).map_err(|error| files::Error::Read(error.into()))?;
            let from = Layout { start, cut: job.cut };
            let to = Layout { start: job.header.len() as u64, cut: cut_out };
            pipeline::run_at(input, *len, from, file, to, workers(), &advance)
        }
        _ => pipeline::run(source.reader, writer, job.cut, workers(), &advance),
    }
}

/// A writer that tells how many bytes were written.
struct Counted<'a>(&'a File, pipeline::Progress<'a>);

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        (self.1)(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Refuses to write a file into itself through standard output, which would destroy it or never end.
fn refuse_loop(input: &Input, output: &Output) -> Result<(), Error> {
    let Output::Stream { file, .. } = output else { return Ok(()) };
    let (Ok(a), Ok(b)) = (input.file.metadata(), file.metadata()) else { return Ok(()) };
    if a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()) {
        return Err(Error::Usage(format!(
            "{}: is also the output; name it with -o to replace it",
            input.name
        )));
    }
    Ok(())
}
