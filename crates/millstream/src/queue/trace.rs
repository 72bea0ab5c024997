//! The static tracepoint of a submission: what `readelf -n` lists and bpftrace attaches to. It is a `nop` until then.
//!
//! # Safety
//! The only unsafe code is what the tracepoint expands to: a `nop`, and a note about where its arguments are.
#![allow(unsafe_code)]

use millstream_cwq::ControlWord;

/// A word was submitted: of which grant (0 in this process), and what it is.
#[inline(always)]
pub(super) fn submit(grant: u64, word: &ControlWord, bytes: u32) {
    let algorithm = word.algorithm | if word.algorithm == 0 { word.hash } else { 0 };
    let (opcode, tag) = (word.opcode, word.tag);
    #[cfg(not(miri))]
    probe::probe!(millstream, submit, grant, opcode, algorithm, bytes, tag);
    #[cfg(miri)]
    let _ = (grant, opcode, algorithm, bytes, tag);
}
