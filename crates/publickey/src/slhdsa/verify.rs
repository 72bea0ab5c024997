//! Verification, several at once. Everything is public.
//!
//! Ref. FIPS 205 §9.3.

use super::ops::Engine;
use super::set::Set;
use super::work::Verify;
use super::{fors, hypertree};

/// Verifies signatures: FIPS 205 §9.3, algorithm 20, from line 8 on.
pub(super) fn verify_vartime(engine: &Engine, set: Set, jobs: &mut [Verify<'_>]) {
    if jobs.is_empty() {
        return;
    }
    let mut nodes = fors::public_keys_vartime(engine, set, jobs);
    hypertree::roots_vartime(engine, set, jobs, &mut nodes);
    for (job, root) in jobs.iter_mut().zip(nodes.chunks(set.node_len())) {
        job.valid = root == job.root;
    }
}
