//! One input at a time.

use millstream_files::pipeline;

use super::sum::Sum;
use crate::error::Error;
use crate::input::Input;
use crate::progress::Progress;

/// Computes the sum of an input, which another thread reads ahead. Shows a bar for a large one, unless `quiet`.
pub(crate) fn of(input: Input, quiet: bool, mut sum: Box<dyn Sum + '_>) -> Result<Vec<u8>, Error> {
    let progress = Progress::bar(input.len, quiet);
    let done =
        pipeline::consume(input.file, input.len, &|bytes| progress.advance(bytes), |data| sum.update(data));
    progress.finish(done.is_ok());
    done.map_err(|source| Error::Read { name: input.name, source })?;
    Ok(sum.finish())
}
