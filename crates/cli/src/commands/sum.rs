//! The common parts of `digest` and `mac`: several files, and one line of output for each.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use millstream_files::pipeline;
use serde_json::json;

use crate::commands::{Context, print};
use crate::error::{Error, exit};
use crate::input::Input;
use crate::progress::Progress;

/// A running digest or MAC.
pub(super) trait Sum {
    fn update(&mut self, data: &[u8]);
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// The way results are printed.
pub(super) struct Style<'a> {
    /// The algorithm as the user named it.
    pub(super) algorithm: &'a str,
    /// The name of the result in JSON: `digest` or `mac`.
    pub(super) what: &'static str,
    pub(super) verbose: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
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
        let sum = of(Input::standard()?, style, begin())?;
        return print(line(style, None, false, &sum));
    }
    let mut code = exit::SUCCESS;
    for file in files {
        match Input::named(Path::new(file)).and_then(|input| of(input, style, begin())) {
            Ok(sum) => print(line(style, Some(file), files.len() > 1, &sum))?,
            Err(error) => {
                context.say(&error);
                code = if matches!(error, Error::Open { .. }) { exit::USAGE } else { error.exit_code() };
            }
        }
    }
    if code == exit::SUCCESS { Ok(()) } else { Err(Error::Reported(code)) }
}

fn of(input: Input, style: &Style<'_>, mut sum: Box<dyn Sum + '_>) -> Result<Vec<u8>, Error> {
    let progress = Progress::bar(input.len, style.quiet);
    let done =
        pipeline::consume(input.file, input.len, &|bytes| progress.advance(bytes), |data| sum.update(data));
    progress.finish(done.is_ok());
    done.map_err(|source| Error::Read { name: input.name, source })?;
    Ok(sum.finish())
}

/// Formats `HEX`, `(file) = HEX` among several, `algorithm (file) = HEX` with `-v`, or a line of JSON.
pub(super) fn line(style: &Style<'_>, file: Option<&OsString>, several: bool, sum: &[u8]) -> Vec<u8> {
    let hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    if style.json {
        let file = file.map(|file| file.to_string_lossy());
        let line = json!({ "algorithm": style.algorithm, "file": file, style.what: hex });
        return format!("{line}\n").into_bytes();
    }
    let mut line = Vec::new();
    if style.verbose {
        line.extend_from_slice(style.algorithm.as_bytes());
        line.push(b' ');
    }
    if let Some(file) = file.filter(|_| several || style.verbose) {
        line.extend([b"(", file.as_bytes(), b") = "].concat());
    }
    line.extend_from_slice(hex.as_bytes());
    line.push(b'\n');
    line
}
