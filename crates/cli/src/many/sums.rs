//! The sums of many files.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::Ordering;

use millstream_files::pipeline;

use super::alone::of;
use super::batch;
use super::each::each;
use super::line::Line;
use super::sum::Sums;
use super::work::{Large, Turn, Whole, Work};
use crate::error::Error;
use crate::input::Input;
use crate::{progress, shown};

/// The bytes of a larger file that are read at once.
const PIECE: usize = 256 << 10;

/// Computes the sums of `files` and gives them to `turn` in their order. Shows a bar for a large file that the
/// output waits for, unless `quiet`.
pub(crate) fn sums(
    files: &[OsString],
    sums: &dyn Sums,
    quiet: bool,
    turn: &mut dyn Turn<Vec<u8>>,
) -> Result<(), Error> {
    let mut alone =
        |index: usize| Input::operand(&files[index]).and_then(|input: Input| of(input, quiet, sums.begin()));
    if files.len() == 1 {
        turn.take(0, alone(0))?;
        return turn.pause();
    }
    each(files.len(), &Files { files, sums }, &mut alone, quiet, turn)
}

struct Files<'a> {
    files: &'a [OsString],
    sums: &'a dyn Sums,
}

impl Work for Files<'_> {
    type Result = Vec<u8>;
    type Kept = ();

    fn path(&self, index: usize) -> &Path {
        Path::new(&self.files[index])
    }

    fn most_together(&self) -> Option<usize> {
        Some(batch::SMALL)
    }

    fn keep(&self, _: usize, _: &File) -> Result<(), Error> {
        Ok(())
    }

    fn together(&self, files: &[Whole<'_, ()>]) -> Vec<Result<Vec<u8>, Error>> {
        let messages: Vec<&[u8]> = files.iter().map(|file| file.bytes).collect();
        self.sums.of_all(&messages).into_iter().map(Ok).collect()
    }

    /// Computes the sum piece by piece.
    fn alone(&self, large: Large<'_>, line: &Line<Vec<u8>>) -> Result<Vec<u8>, Error> {
        let Large { index, mut file, len, room, head } = large;
        let done = len.filter(|len| *len >= progress::LARGE).map(|len| line.reading(index, len));
        let advance = |bytes| {
            if let Some(done) = &done {
                done.fetch_add(bytes, Ordering::Relaxed);
            }
        };
        let mut sum = self.sums.begin();
        sum.update(&room[head]);
        let read = if line.is_empty() {
            // There are fewer files than processors now, so another one can read ahead.
            pipeline::consume(file, None, &advance, |piece| sum.update(piece))
        } else {
            loop {
                match file.read(&mut room[..PIECE]) {
                    Ok(0) => break Ok(()),
                    Ok(read) => {
                        sum.update(&room[..read]);
                        advance(read as u64);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break Err(error),
                }
            }
        };
        read.map_err(|source| Error::Read { name: shown::path(self.path(index)), source })?;
        Ok(sum.finish())
    }
}
