//! A stream that is ready to be encrypted or decrypted.

use std::io::{self, Read, Write};

use crate::error::Error;
use crate::pipeline::{self, Cut, Worker};

/// A stream to be encrypted or decrypted.
pub struct Job {
    /// Bytes in front of the output.
    pub header: Vec<u8>,
    /// The way the input is cut.
    pub cut: Cut,
    /// The workers for the pieces.
    pub pieces: Pieces,
}

/// The dependence of a stream's pieces on each other.
pub enum Pieces {
    /// Each piece needs the one before.
    Chained(Worker),
    /// No piece needs another, so any number of workers may compute them in any order.
    Independent {
        /// The way the output is cut.
        output: Cut,
        /// Makes a worker.
        worker: Box<dyn Fn() -> Worker>,
    },
}

impl Job {
    /// Runs the job on this thread.
    ///
    /// # Errors
    /// The first error; nothing of that piece or after it is written.
    pub fn run_here(self, reader: impl Read, mut writer: impl Write) -> Result<(), Error> {
        writer.write_all(&self.header).map_err(Error::Write)?;
        let worker = match self.pieces {
            Pieces::Chained(worker) => worker,
            Pieces::Independent { worker, .. } => worker(),
        };
        pipeline::run_here(reader, writer, self.cut, worker)
    }
}

/// Fills `buffer` from the reader.
///
/// # Errors
/// [`Error::Truncated`] and [`Error::Read`].
pub fn read_header(reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), Error> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::Truncated,
        _ => Error::Read(error),
    })
}
