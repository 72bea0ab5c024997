//! Several inputs, each with an output of its own.
//!
//! Threads read, compute and write. Small files of the format tink are computed side by side, and written one after
//! another by the thread that has read them; other files go the way of a single one. Messages come in the order of
//! the files.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use millstream_engines::modes::Direction;
use millstream_files::sealed_key::{self, SealedKey};
use millstream_files::small::{Sealed, open_each, seal_each};
use millstream_files::tink::{self, Key, Parameters};
use millstream_files::{self as files, Format, passphrase, pipeline};

use super::call::{Call, Run};
use super::formats::Sealing;
use super::one;
use super::options::Options;
use super::outputs::Outputs;
use super::source::Source;
use crate::error::{Error, exit};
use crate::input::Input;
use crate::many::{self, Large, Line, Turn, Whole, Work};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::shown;

/// The length in bytes from which all threads work on one file, when there are no others left.
const LARGE: u64 = 2 << 20;

/// Encrypts or decrypts the inputs. A file that fails is reported, and the others are done.
pub(super) fn run(options: &Options, run: &Run<'_>, inputs: &[&Path]) -> Result<(), Error> {
    let outputs = options.outputs(inputs, run.direction)?;
    options.warn_of_format(run);
    options.prepare(&Call { run, name: "" })?;
    let progress = progress(options, inputs);
    let most = most_together(options, run)?;
    let work = Files { options, run, inputs, outputs, progress: &progress, most };
    let mut failures = Failures { run, progress: &progress, count: 0 };
    let mut left = |index: usize| work.one(index, pipeline::parallelism().max(2));
    many::each(inputs.len(), &work, &mut left, options.quiet, &mut failures)?;
    progress.finish(failures.count == 0);
    match (failures.count, inputs.len()) {
        (0, _) => return Ok(()),
        (1, 1) => {}
        (failed, all) => run.context.say(format_args!("{failed} of {all} files failed; the others are done")),
    }
    Err(Error::Reported(exit::FAILURE))
}

/// Returns the length up to which files are computed side by side: all of them are then one segment.
fn most_together(options: &Options, run: &Run<'_>) -> Result<Option<usize>, Error> {
    if !matches!(run.asked, None | Some(Format::Tink)) {
        return Ok(None);
    }
    let longest = |parameters: Parameters| match run.direction {
        Direction::Encrypt => parameters.plaintext().first,
        Direction::Decrypt => parameters.segment_bytes,
    };
    // Streams behind the preamble of a key of a token have the usual parameters, and so has such a key itself.
    let keys = if options.token.is_given() { None } else { options.tink_keys(run)? };
    let keys = keys.unwrap_or_default();
    let parameters = keys.iter().map(Key::parameters);
    Ok(Some(parameters.map(longest).min().unwrap_or_else(|| longest(Parameters::AES256_1MB))))
}

/// Makes a bar for all files, if there is somebody to see it.
fn progress(options: &Options, inputs: &[&Path]) -> Progress {
    let is_wanted = options.verbose || !options.quiet && io::stderr().is_terminal();
    if !is_wanted {
        return Progress::Silent;
    }
    let lengths = inputs.iter().filter_map(|input| input.metadata().ok()).map(|found| found.len());
    let total = Some(lengths.sum());
    if options.verbose { Progress::solaris(total) } else { Progress::bar(total, false) }
}

/// The files, and what the work on each needs.
struct Files<'a> {
    options: &'a Options,
    run: &'a Run<'a>,
    inputs: &'a [&'a Path],
    outputs: Outputs<'a>,
    progress: &'a Progress,
    most: Option<usize>,
}

/// The facts about a small file.
struct Small {
    len: u64,
    /// The mode of the output.
    mode: u32,
}

impl Work for Files<'_> {
    type Result = ();
    type Kept = Small;

    fn path(&self, index: usize) -> &Path {
        self.inputs[index]
    }

    fn most_together(&self) -> Option<usize> {
        self.most
    }

    fn keep(&self, index: usize, file: &File) -> Result<Small, Error> {
        let path = self.outputs.path(index)?;
        let failed = |source| Error::Read { name: shown::path(self.inputs[index]), source };
        let found = file.metadata().map_err(failed)?;
        Ok(Small { len: found.len(), mode: output::mode_as_private_as(path, file, &found) })
    }

    fn together(&self, files: &[Whole<'_, Small>]) -> Vec<Result<(), Error>> {
        match self.run.direction {
            Direction::Encrypt => self.seal(files),
            Direction::Decrypt => self.open(files),
        }
    }

    fn alone(&self, large: Large<'_>, line: &Line<()>) -> Result<(), Error> {
        let is_last = line.is_empty() && large.len.is_none_or(|len| len >= LARGE);
        self.one(large.index, if is_last { pipeline::parallelism().max(2) } else { 1 })
    }
}

impl Files<'_> {
    fn seal(&self, files: &[Whole<'_, Small>]) -> Vec<Result<(), Error>> {
        let messages: Vec<&[u8]> = files.iter().map(|file| file.bytes).collect();
        let call = Call { run: self.run, name: "" };
        let sealed = self.options.sealing(&call).and_then(|Sealing { key, aad, preamble }| {
            let sealed = seal_each(self.run.features, key, &aad, &messages);
            sealed.map(|sealed| (sealed, preamble)).map_err(|error| call.failed(error))
        });
        match sealed {
            Ok((sealed, preamble)) => {
                let saved =
                    files.iter().zip(sealed).map(|(file, sealed)| self.save(file, &preamble, &sealed));
                saved.collect()
            }
            // Whatever it was, each file has it told of itself.
            Err(_) => files.iter().map(|file| self.one(file.index, 1)).collect(),
        }
    }

    fn open(&self, files: &[Whole<'_, Small>]) -> Vec<Result<(), Error>> {
        let names: Vec<String> = files.iter().map(|file| shown::path(self.inputs[file.index])).collect();
        let parts = files.iter().zip(&names);
        let found: Vec<_> =
            parts.clone().map(|(file, name)| self.key(&Call { run: self.run, name }, file.bytes)).collect();
        let sealed: Vec<_> = found.iter().flatten().map(Found::sealed).collect();
        let mut opened = open_each(self.run.features, &sealed).into_iter();
        drop(sealed);
        let save = |((file, name), found): ((&Whole<'_, Small>, &String), Result<Found<'_>, Error>)| {
            found?;
            // Each stream whose key was found has a result.
            let data = opened.next().unwrap_or(Err(files::Error::Truncated));
            self.save(file, &[], &data.map_err(|error| Error::in_format(error, name, ""))?)
        };
        parts.zip(found).map(save).collect()
    }

    /// Finds the key of a whole stream in the format tink.
    fn key<'b>(&'b self, call: &Call<'b>, bytes: &'b [u8]) -> Result<Found<'b>, Error> {
        let head = &bytes[..bytes.len().min(files::DETECT_LEN)];
        self.options.format_of(call, head)?;
        if SealedKey::begins(head) {
            let Some((preamble, stream)) = bytes.split_first_chunk::<{ sealed_key::LEN }>() else {
                return Err(call.failed(files::Error::Truncated));
            };
            let (key, aad) = self.options.opening_with_token(call, preamble)?;
            return Ok(Found { key: Cow::Owned(key), aad: aad.into(), stream });
        }
        let aad = self.options.aad();
        if let Some(keys) = self.options.opening(call, head)? {
            let right =
                if keys.len() > 1 { tink::key_for(self.run.features, keys, bytes, aad) } else { None };
            let key = Cow::Borrowed(right.unwrap_or(&keys[0]));
            return Ok(Found { key, aad: aad.into(), stream: bytes });
        }
        let Some((preamble, stream)) = bytes.split_first_chunk::<{ passphrase::LEN }>() else {
            return Err(call.failed(files::Error::Truncated));
        };
        let (key, aad) = self.options.opening_with_passphrase(call, preamble)?;
        Ok(Found { key: Cow::Owned(key), aad: aad.into(), stream })
    }

    /// Writes the output of a small file.
    fn save(&self, file: &Whole<'_, Small>, preamble: &[u8], bytes: &[u8]) -> Result<(), Error> {
        let Small { len, mode } = file.kept;
        // The kernel's own files say that they are empty.
        if len != 0 && len != file.bytes.len() as u64 {
            return Err(Error::Changed(shown::path(self.inputs[file.index])));
        }
        let output = Output::one_of_many(self.outputs.name(file.index)?, mode, self.outputs.replace())?;
        let written = output.file().write_all(preamble).and_then(|()| output.file().write_all(bytes));
        written.map_err(|source| Error::Write { name: output.name(), source })?;
        output.finish()?;
        self.progress.advance(len);
        Ok(())
    }

    /// Encrypts or decrypts a file on so many threads, as if it were the only one.
    fn one(&self, index: usize, threads: usize) -> Result<(), Error> {
        let path = self.outputs.path(index)?;
        let input = Input::named(self.inputs[index])?;
        let call = Call { run: self.run, name: &input.name };
        let mut source = Source::new(&input).map_err(|error| call.failed(error))?;
        let job = self.options.job(&call, &mut source)?;
        let mode = match (input.file.metadata(), self.run.direction) {
            // Data from a pipe has no permissions to copy.
            (Ok(found), Direction::Encrypt) if !found.is_file() => 0o666,
            (Ok(found), _) => output::mode_as_private_as(path, &input.file, &found),
            (Err(_), _) => 0o600,
        };
        let output = Output::one_of_many(path, mode, self.outputs.replace())?;
        let done = one::convert(job, source, &output, false, self.progress, threads);
        one::complete(done, &input, output)
    }
}

/// A stream in the format tink, and what it is decrypted with.
struct Found<'a> {
    key: Cow<'a, Key>,
    aad: Cow<'a, [u8]>,
    stream: &'a [u8],
}

impl Found<'_> {
    fn sealed(&self) -> Sealed<'_> {
        Sealed { key: &self.key, associated_data: &self.aad, bytes: self.stream }
    }
}

/// The files that failed, told in their order.
struct Failures<'a> {
    run: &'a Run<'a>,
    progress: &'a Progress,
    count: usize,
}

impl Turn<()> for Failures<'_> {
    fn take(&mut self, _: usize, result: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = result {
            self.count += 1;
            self.progress.suspend(|| self.run.context.fail(&error));
        }
        Ok(())
    }

    fn pause(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
