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
    let destination = cautions::file(options.output.as_deref());
    cautions::spare_terminal(options.output.as_deref(), run.direction)?;
    cautions::spare_secrets(destination, &options.secrets())?;
    let input = match cautions::file(input) {
        Some(path) => Input::named(path)?,
        None => Input::standard()?,
    };
    let call = Call { run, name: &input.name };
    let mut source = Source::new(&input).map_err(|error| call.failed(error))?;
    options.warn_of_format(run);
    let job = options.job(&call, &mut source)?;
    let from_pipe = !input.file.metadata().is_ok_and(|found| found.is_file());
    let output = match (destination, run.direction) {
        // Data from a pipe has no permissions to copy.
        (Some(path), Direction::Encrypt) if from_pipe => Output::named(path)?,
        (Some(path), _) => Output::as_private_as(path, &input.file)?,
        (None, _) => Output::standard()?,
    };
    refuse_loop(&input, &output)?;
    let on_screen =
        options.output.is_none() && run.direction == Direction::Decrypt && io::stdout().is_terminal();
    let progress = match options.verbose {
        true => Progress::solaris(input.len),
        false => Progress::bar(input.len, options.quiet),
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
