//! The work on many files at once.
//!
//! Threads take one file after another. Small files are read into a batch, whose messages are computed side by
//! side in lanes; a larger file is worked on piece by piece by the thread that took it. The results wait in a
//! [`Line`] and leave it in the order of the files. Pipes, terminals and other special files are left
//! to the caller's thread, which reads them when it is their turn: somebody may feed them in that order, and
//! the same one may be named twice.

mod alone;
mod batch;
mod each;
mod line;
mod sum;
mod sums;
mod work;

pub(crate) use alone::of;
pub(crate) use each::each;
pub(crate) use line::Line;
pub(crate) use sum::{Sum, Sums, one_by_one};
pub(crate) use sums::sums;
pub(crate) use work::{Large, Turn, Whole, Work};
