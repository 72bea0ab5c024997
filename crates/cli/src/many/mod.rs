//! The sums of many files at once.
//!
//! Threads take one file after another. Small files are read into a batch, whose messages are computed side by
//! side in lanes; a large file is read and computed piece by piece by the thread that took it. The results
//! wait in a [`Line`] and leave it in the order of the files. Pipes, terminals and other special files are left
//! to the caller's thread, which reads them when it is their turn: somebody may feed them in that order, and
//! the same one may be named twice.

use std::ffi::OsString;
use std::thread;

use millstream_files::pipeline;

use crate::error::Error;
use crate::input::Input;

mod alone;
mod batch;
mod line;
mod sum;

pub(crate) use alone::of;
use batch::Batch;
use line::{Abandon, Line, Outcome};
pub(crate) use sum::{Sum, Sums, one_by_one};

/// The caller's part of the work, on its own thread.
pub(crate) trait Turn {
    /// Takes the sum of the next file, or the reason why there is none.
    ///
    /// # Errors
    /// An error ends the whole: no other file is taken.
    fn take(&mut self, index: usize, sum: Result<Vec<u8>, Error>) -> Result<(), Error>;

    /// Does what should not wait any longer, because the next outcome may take a while.
    ///
    /// # Errors
    /// The same as for [`Turn::take`].
    fn pause(&mut self) -> Result<(), Error>;
}

/// Computes the sums of `files` and gives them to `turn` in their order. Shows a bar for a large file that the
/// output waits for, unless `quiet`.
pub(crate) fn each(
    files: &[OsString],
    sums: &dyn Sums,
    quiet: bool,
    turn: &mut dyn Turn,
) -> Result<(), Error> {
    let alone = |file: &OsString| Input::operand(file).and_then(|input| of(input, quiet, sums.begin()));
    if let [file] = files {
        turn.take(0, alone(file))?;
        return turn.pause();
    }
    let line = Line::new(files.len());
    thread::scope(|scope| {
        for _ in 0..pipeline::parallelism().min(files.len()) {
            scope.spawn(|| Batch::new(files, sums, &line).run());
        }
        // Whichever way the loop ends, the threads must not wait for it any more.
        let _abandon = Abandon(&line);
        let mut index = 0;
        while index < files.len() {
            let outcomes = line.take();
            if outcomes.is_empty() {
                turn.pause()?;
                line.wait(quiet);
            }
            for outcome in outcomes {
                let sum = match outcome {
                    Outcome::Sum(sum) => sum,
                    Outcome::Left => {
                        turn.pause()?;
                        alone(&files[index])
                    }
                };
                turn.take(index, sum)?;
                index += 1;
            }
        }
        turn.pause()
    })
}
