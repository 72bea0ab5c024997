//! Signatures, several at once.
//!
//! No branch and no address depends on a secret. The leaves that sign, and the steps of their chains, are in the signature for everybody to
//! compute.
//!
//! Ref. FIPS 205 §9.2.

use super::ops::Engine;
use super::set::Set;
use super::work::Sign;
use super::{fors, hypertree};

/// Messages that are signed at once: so many that what is kept of their chains fits into a cache.
const AT_ONCE: usize = 4;

/// Signs messages: FIPS 205 §9.2, algorithm 19, from line 11 on.
pub(super) fn sign(engine: &Engine, set: Set, jobs: &mut [Sign<'_>]) {
    for jobs in jobs.chunks_mut(AT_ONCE) {
        let keys = fors::sign(engine, set, jobs);
        hypertree::sign(engine, set, jobs, &keys);
    }
}
