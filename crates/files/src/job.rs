//! A stream that is ready to be encrypted or decrypted.

use std::io::{self, Read, Write};

use crate::error::Error;
use crate::pipeline::{self, Cut, Worker};

/// A stream to be encrypted or decrypted.
pub struct Job {
    /// Bytes that precede the output.
    pub header: Vec<u8>,
    /// How the input is cut.
    pub cut: Cut,
    /// What computes the pieces.
    pub pieces: Pieces,
}

/// How the pieces of a stream depend on each other.
pub enum Pieces {
    /// Each needs the one before.
    Chained(Worker),
    /// None needs another: any number of workers, in any order.
    Independent {
        /// How the output is cut.
        output: Cut,
        /// Makes a worker.
        worker: Box<dyn Fn() -> Worker>,
    },
}

impl Job {
    /// Does it here and now.
    ///
    /// # Errors
    /// The first thing that goes wrong; nothing of that piece or after it is written.
    pub fn run_here(self, reader: impl Read, mut writer: impl Write) -> Result<(), Error> {
        writer.write_all(&self.header).map_err(Error::Write)?;
        let worker = match self.pieces {
            Pieces::Chained(worker) => worker,
            Pieces::Independent { worker, .. } => worker(),
        };
        pipeline::run_here(reader, writer, self.cut, worker)
    }
}

/// Fills `buffer`, or says that the file was cut off.
///
/// # Errors
/// [`Error::Truncated`] and [`Error::Read`].
pub fn read_header(reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), Error> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::Truncated,
        _ => Error::Read(error),
    })
}
