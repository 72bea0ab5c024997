//! The common parts of `digest` and `mac`: several files, and one line of output for each.

use std::ffi::OsString;

use millstream_files::pipeline;

use crate::commands::lines::{Style, line};
use crate::commands::{Context, print};
use crate::error::{Error, exit};
use crate::input::Input;
use crate::progress::Progress;

/// A running digest or MAC.
pub(super) trait Sum {
    fn update(&mut self, data: &[u8]);
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// Prints the sum of each file, or of standard input where there is none. A file that fails is reported and
/// the next one follows. The exit code is that of the last failure (digest(1)).
pub(super) fn files<'k>(
    context: &Context,
    style: &Style<'_>,
    files: &[OsString],
    begin: impl Fn() -> Box<dyn Sum + 'k>,
) -> Result<(), Error> {
    if files.is_empty() {
        let sum = of(Input::standard()?, style.quiet, begin())?;
        return print(line(style, None, false, &sum));
    }
    let mut code = exit::SUCCESS;
    for file in files {
        match Input::operand(file).and_then(|input| of(input, style.quiet, begin())) {
            Ok(sum) => print(line(style, Some(file), files.len() > 1, &sum))?,
            Err(error) => {
                context.fail(&error);
                code = if matches!(error, Error::Open { .. }) { exit::USAGE } else { error.exit_code() };
            }
        }
    }
    if code == exit::SUCCESS { Ok(()) } else { Err(Error::Reported(code)) }
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
