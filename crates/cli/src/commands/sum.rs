//! The common parts of `digest` and `mac`: several files, and one line of output for each.

use std::ffi::OsString;

use crate::commands::lines::{Lines, Style, line};
use crate::commands::{Context, print};
use crate::error::{Error, exit};
use crate::input::Input;
use crate::many::{self, Sums, Turn};

/// Prints the sum of each file, or of standard input where there is none. A file that fails is reported and
/// the next one follows. The exit code is that of the last failure (digest(1)).
pub(super) fn files(
    context: &Context,
    style: &Style<'_>,
    files: &[OsString],
    sums: &dyn Sums,
) -> Result<(), Error> {
    if files.is_empty() {
        let sum = many::of(Input::standard()?, style.quiet, sums.begin())?;
        return print(line(style, None, false, &sum));
    }
    let mut results = Results { context, style, files, lines: Lines::default(), code: exit::SUCCESS };
    many::sums(files, sums, style.quiet, &mut results)?;
    if results.code == exit::SUCCESS { Ok(()) } else { Err(Error::Reported(results.code)) }
}

/// The results of the files, as they are printed.
struct Results<'a> {
    context: &'a Context,
    style: &'a Style<'a>,
    files: &'a [OsString],
    lines: Lines,
    code: u8,
}

impl Turn<Vec<u8>> for Results<'_> {
    fn take(&mut self, index: usize, sum: Result<Vec<u8>, Error>) -> Result<(), Error> {
        match sum {
            Ok(sum) => self.lines.add(line(self.style, Some(&self.files[index]), self.files.len() > 1, &sum)),
            Err(error) => {
                self.lines.print()?;
                self.context.fail(&error);
                self.code = if matches!(error, Error::Open { .. }) { exit::USAGE } else { error.exit_code() };
                Ok(())
            }
        }
    }

    fn pause(&mut self) -> Result<(), Error> {
        self.lines.print()
    }
}
