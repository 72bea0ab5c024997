//! Random bytes of the kernel, with a system call for each object.

use crate::error::Error;
use crate::speed::algorithm::{Algorithm, Case};
use crate::speed::objects::Objects;
use crate::speed::{Prepared, Way};

/// The way that asks the kernel.
pub struct Kernel;

impl Way for Kernel {
    fn name(&self) -> &'static str {
        "getrandom"
    }

    fn prepare(&self, case: &Case, _: &mut Objects, _: usize) -> Result<Option<Prepared>, Error> {
        Ok(match case.algorithm {
            Algorithm::Random => Some(Prepared::each("getrandom", |io| getrandom::fill(io.result).is_ok())),
            _ => None,
        })
    }
}
