//! The measurements of `millstream speed`.
//!
//! A *case* is an algorithm in one direction. A *cell* is a case at one length of objects. In a cell, the
//! [`Way`]s of computing it (our own calls, OpenSSL, a PKCS #11 module) take turns on the same objects in the
//! same memory, after the results of each were compared with those of our direct calls. To add a way,
//! implement [`Way`] in a file of [`ways`] and give it a name in the command.

pub mod about;
pub mod algorithm;
pub mod ffi;
pub mod history;
mod line;
mod masked;
pub mod measure;
pub mod objects;
pub mod panels;
pub mod report;
pub mod sizes;
pub mod surroundings;
pub mod ways;

use std::hint::black_box;
use std::ops::Range;

use algorithm::Case;
use objects::{Io, Objects};

use crate::error::Error;

/// A way of computing objects: a library, or a manner of calling one.
pub trait Way: Sync {
    /// Returns a name like `openssl-oneshot`, for `--ways` and the tables' first column.
    fn name(&self) -> &'static str;

    /// Returns the exact version that was measured, where that is not this program.
    fn about(&self) -> Option<String> {
        None
    }

    /// Returns true when it can have several objects in flight, so that `--depth` matters to it.
    fn has_depth(&self) -> bool {
        false
    }

    /// Sets up everything that is set up once and not for each object: keys, queues, sessions. It is called
    /// on the thread that will compute. Returns none where this way doesn't know the algorithm.
    ///
    /// # Errors
    /// Fails when it knows the algorithm but can't be used.
    fn prepare(&self, case: &Case, objects: &mut Objects, depth: usize) -> Result<Option<Prepared>, Error>;
}

/// Computes the objects of a cell.
pub trait Runner {
    /// Computes the objects `which` from first to last, `times` times over, with as many in flight as was
    /// asked for. Returns false when an operation failed. The loop is inside, so that the indirect call is
    /// paid once.
    fn run(&mut self, objects: &mut Objects, which: Range<usize>, times: usize) -> bool;

    /// Copies the results of the last run into `objects`, where they don't lie there already.
    fn collect(&mut self, _objects: &mut Objects) {}
}

/// A runner and its description.
pub struct Prepared {
    /// The kernel or the calls, in a few words.
    pub call: String,
    /// The runner.
    pub runner: Box<dyn Runner>,
}

impl Prepared {
    /// Makes a runner that computes each object with a call of `run`, which returns false when it failed.
    pub fn each(call: impl Into<String>, run: impl FnMut(Io<'_>) -> bool + 'static) -> Self {
        Prepared { call: call.into(), runner: Box::new(Each(run)) }
    }
}

/// A runner that takes one object after another.
struct Each<F>(F);

impl<F: FnMut(Io<'_>) -> bool> Runner for Each<F> {
    fn run(&mut self, objects: &mut Objects, which: Range<usize>, times: usize) -> bool {
        let mut good = true;
        for _ in 0..times {
            for i in which.clone() {
                good &= (self.0)(black_box(objects.io(i)));
            }
        }
        black_box(objects);
        good
    }
}
