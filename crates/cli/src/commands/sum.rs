//! The common parts of `digest` and `mac`: several files, and one line of output for each.

use std::ffi::OsString;

use millstream_files::pipeline;

use crate::commands::lines::{Style, line};
use crate::commands::{Context, print};
use crate::error::{Error, exit};
use crate::input::Input;
use crate::many::{self, Outcome, Sum, Sums, Turn};
use crate::progress::Progress;

/// Prints the sum of each file, or of standard input where there is none. A file that fails is reported and
/// the next one follows. The exit code is that of the last failure (digest(1)).
pub(super) fn files(
    context: &Context,
    style: &Style<'_>,
    files: &[OsString],
    sums: &dyn Sums,
) -> Result<(), Error> {
    if files.is_empty() {
        let sum = of(Input::standard()?, style.quiet, sums.begin())?;
        return print(line(style, None, false, &sum));
    }
    let mut lines = Lines { context, style, files, sums, ready: Vec::new(), code: exit::SUCCESS };
    if files.len() == 1 {
        lines.take(0, Outcome::Left)?;
        lines.pause()?;
    } else {
        many::each(files, sums, style.quiet, &mut lines)?;
    }
    if lines.code == exit::SUCCESS { Ok(()) } else { Err(Error::Reported(lines.code)) }
}

/// The lines of the files, as they are printed.
struct Lines<'a> {
    context: &'a Context,
    style: &'a Style<'a>,
    files: &'a [OsString],
    sums: &'a dyn Sums,
    /// Lines that are not printed yet.
    ready: Vec<u8>,
    code: u8,
}

/// The bytes of lines that are printed together.
const TOGETHER: usize = 64 << 10;

impl Turn for Lines<'_> {
    fn take(&mut self, index: usize, outcome: Outcome) -> Result<(), Error> {
        let file = &self.files[index];
        let sum = match outcome {
            Outcome::Sum(sum) => sum,
            Outcome::Left => {
                self.pause()?;
                Input::operand(file).and_then(|input| of(input, self.style.quiet, self.sums.begin()))
            }
        };
        match sum {
            Ok(sum) => self.ready.extend(line(self.style, Some(file), self.files.len() > 1, &sum)),
            Err(error) => {
                self.pause()?;
                self.context.fail(&error);
                self.code = if matches!(error, Error::Open { .. }) { exit::USAGE } else { error.exit_code() };
            }
        }
        if self.ready.len() >= TOGETHER { self.pause() } else { Ok(()) }
    }

    fn pause(&mut self) -> Result<(), Error> {
        if self.ready.is_empty() {
            return Ok(());
        }
        print(std::mem::take(&mut self.ready))
    }
}

/// Computes the sum of one input.
pub(super) fn of(input: Input, quiet: bool, mut sum: Box<dyn Sum + '_>) -> Result<Vec<u8>, Error> {
    let progress = Progress::bar(input.len, quiet);
    let done =
        pipeline::consume(input.file, input.len, &|bytes| progress.advance(bytes), |data| sum.update(data));
    progress.finish(done.is_ok());
    done.map_err(|source| Error::Read { name: input.name, source })?;
    Ok(sum.finish())
}
