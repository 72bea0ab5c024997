//! The threads, and the results in the order of the files.

use std::thread;

use millstream_files::pipeline;

use super::batch::Batch;
use super::line::{Abandon, Line, Outcome};
use super::work::{Turn, Work};
use crate::error::Error;

/// Has the work on files done, and gives the results to `turn` in their order. `left` works on a file that is left to
/// the caller's thread. Shows a bar for a large file that the output waits for, unless `quiet`.
pub(crate) fn each<W: Work>(
    count: usize,
    work: &W,
    left: &mut dyn FnMut(usize) -> Result<W::Result, Error>,
    quiet: bool,
    turn: &mut dyn Turn<W::Result>,
) -> Result<(), Error> {
    let line = Line::new(count);
    thread::scope(|scope| {
        for _ in 0..pipeline::parallelism().min(count) {
            scope.spawn(|| Batch::new(work, &line).run());
        }
        // Whichever way the loop ends, the threads must not wait for it any more.
        let _abandon = Abandon(&line);
        let mut index = 0;
        while index < count {
            let outcomes = line.take();
            if outcomes.is_empty() {
                turn.pause()?;
                line.wait(quiet);
            }
            for outcome in outcomes {
                let result = match outcome {
                    Outcome::Done(result) => result,
                    Outcome::Left => {
                        turn.pause()?;
                        left(index)
                    }
                };
                turn.take(index, result)?;
                index += 1;
            }
        }
        turn.pause()
    })
}
