//! Static tracepoints, which `readelf -n` lists and bpftrace attaches to. Each is a `nop` until then, and
//! its arguments are made only while somebody listens.
//!
//! # Safety
//! The tracepoints expand to the only unsafe code: a `nop`, and a note about where its arguments are.
#![allow(unsafe_code)]

use millstream_cwq::{Completion, ControlWord, Status};

/// The facts of a word for tracepoints and statistics.
#[derive(Clone, Copy)]
pub(crate) struct About {
    /// Bytes of the source.
    pub(crate) bytes: u32,
    pub(crate) opcode: u8,
    /// The algorithm; for a hash, the hash.
    pub(crate) algorithm: u8,
}

impl About {
    #[inline(always)]
    pub(crate) fn of(word: &ControlWord, bytes: u32) -> Self {
        let algorithm = if word.algorithm != 0 { word.algorithm } else { word.hash };
        About { bytes, opcode: word.opcode, algorithm }
    }
}

/// Fires when a word is taken to be executed.
#[inline(always)]
pub(crate) fn start(label: u64, about: &About, tag: u64) {
    #[cfg(not(miri))]
    probe::probe_lazy!(millstream, start, label, about.opcode, about.algorithm, about.bytes, tag);
    #[cfg(miri)]
    let _ = (label, about.opcode, about.algorithm, about.bytes, tag);
}

/// Fires when a completion is posted.
#[inline(always)]
pub(crate) fn complete(label: u64, about: &About, completion: &Completion) {
    let Completion { tag, status, .. } = *completion;
    #[cfg(not(miri))]
    probe::probe_lazy!(millstream, complete, label, about.opcode, about.algorithm, about.bytes, tag, status);
    #[cfg(miri)]
    let _ = (label, about.opcode, about.algorithm, about.bytes, tag, status);
}

/// Fires when a word that asks for nothing is taken and completed: both tracepoints. Their arguments are at hand, so to ask whether anybody
/// listens would cost more than to make them.
#[inline(always)]
pub(crate) fn null(label: u64, about: &About, tag: u64) {
    #[cfg(not(miri))]
    {
        let status = Status::Ok as u16;
        probe::probe!(millstream, start, label, about.opcode, about.algorithm, about.bytes, tag);
        probe::probe!(millstream, complete, label, about.opcode, about.algorithm, about.bytes, tag, status);
    }
    #[cfg(miri)]
    let _ = (label, about.opcode, about.algorithm, about.bytes, tag);
}
