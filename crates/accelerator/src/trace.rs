//! Static tracepoints: what `readelf -n` lists and bpftrace attaches to. Each is a `nop` until then.
//!
//! # Safety
//! The only unsafe code is what the tracepoints expand to: a `nop`, and a note about where its arguments are.
#![allow(unsafe_code)]

use millstream_cwq::{Completion, ControlWord};

/// What a word is about, as tracepoints and statistics have it.
#[derive(Clone, Copy)]
pub(crate) struct About {
    /// Of source.
    pub(crate) bytes: u32,
    pub(crate) opcode: u8,
    /// Of a hash, that.
    pub(crate) algorithm: u8,
}

impl About {
    #[inline(always)]
    pub(crate) fn of(word: &ControlWord, bytes: u32) -> Self {
        let algorithm = if word.algorithm != 0 { word.algorithm } else { word.hash };
        About { bytes, opcode: word.opcode, algorithm }
    }
}

/// A word is taken to be executed.
#[inline(always)]
pub(crate) fn start(label: u64, about: &About, tag: u64) {
    #[cfg(not(miri))]
    probe::probe!(millstream, start, label, about.opcode, about.algorithm, about.bytes, tag);
    #[cfg(miri)]
    let _ = (label, about.opcode, about.algorithm, about.bytes, tag);
}

/// A completion is posted.
#[inline(always)]
pub(crate) fn complete(label: u64, about: &About, completion: &Completion) {
    let Completion { tag, status, .. } = *completion;
    #[cfg(not(miri))]
    probe::probe!(millstream, complete, label, about.opcode, about.algorithm, about.bytes, tag, status);
    #[cfg(miri)]
    let _ = (label, about.opcode, about.algorithm, about.bytes, tag, status);
}
