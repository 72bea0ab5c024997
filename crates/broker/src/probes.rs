//! Static tracepoints: `bpftrace -e 'usdt:/usr/bin/millstream:millstream:grant { ... }'` sees them.
//!
//! # Safety
//! A probe is one instruction that does nothing, until a tracer puts another in its place.
#![allow(unsafe_code)]

/// Traces that a grant was made.
#[inline]
pub(crate) fn grant(id: u64, pid: u32, uid: u32) {
    probe::probe!(millstream, grant, id, pid, uid);
}

/// Traces the end of a grant, with the state that its client sees.
#[inline]
pub(crate) fn revoke(id: u64, why: u64) {
    probe::probe!(millstream, revoke, id, why);
}
