//! The two parts of a work on many files: what threads do with each, and what the caller does with the results.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use super::line::Line;
use crate::error::Error;

/// The work that threads do.
pub(crate) trait Work: Sync {
    /// The result for a file.
    type Result: Send;
    /// The facts about a small file that are kept while it waits for others.
    type Kept;

    /// Returns the path of a file.
    fn path(&self, index: usize) -> &Path;

    /// Returns the length in bytes up to which files are worked on together, or nothing if none are.
    fn most_together(&self) -> Option<usize>;

    /// Looks at a small file that was opened.
    ///
    /// # Errors
    /// An error is the file's result; it is not read.
    fn keep(&self, index: usize, file: &File) -> Result<Self::Kept, Error>;

    /// Works on small files, and returns a result for each.
    fn together(&self, files: &[Whole<'_, Self::Kept>]) -> Vec<Result<Self::Result, Error>>;

    /// Works on a larger file.
    ///
    /// # Errors
    /// An error is the file's result.
    fn alone(&self, large: Large<'_>, line: &Line<Self::Result>) -> Result<Self::Result, Error>;
}

/// A small file that was read whole.
pub(crate) struct Whole<'a, K> {
    pub(crate) index: usize,
    pub(crate) bytes: &'a [u8],
    pub(crate) kept: K,
}

/// A larger file.
pub(crate) struct Large<'a> {
    pub(crate) index: usize,
    pub(crate) file: File,
    /// The length when the file was opened, if it has not grown since.
    pub(crate) len: Option<u64>,
    /// Room to read into, and the place there of the bytes that were read already.
    pub(crate) room: &'a mut [u8],
    pub(crate) head: Range<usize>,
}

/// The caller's part of the work, on its own thread.
pub(crate) trait Turn<T> {
    /// Takes the result for the next file, or the reason why there is none.
    ///
    /// # Errors
    /// An error ends the whole: no other file is taken.
    fn take(&mut self, index: usize, result: Result<T, Error>) -> Result<(), Error>;

    /// Does what should not wait any longer, because the next outcome may take a while.
    ///
    /// # Errors
    /// The same as for [`Turn::take`].
    fn pause(&mut self) -> Result<(), Error>;
}
