//! The static tracepoint of a submission: what `readelf -n` lists and bpftrace attaches to. It is a `nop` until then, and
//! its arguments are read only for who listens.
//!
//! # Safety
//! The only unsafe code is what the tracepoint expands to: a `nop`, and a note about where its arguments are.
#![allow(unsafe_code)]

use millstream_cwq::ControlWord;

/// A word was submitted: of which grant (0 in this process), and what it is.
#[inline(always)]
pub(super) fn submit(grant: u64, word: &ControlWord, bytes: u32) {
    #[cfg(not(miri))]
    probe::probe_lazy!(millstream, submit, grant, word.opcode, algorithm(word), bytes, word.tag);
    #[cfg(miri)]
    let _ = (grant, word.opcode, algorithm(word), bytes, word.tag);
}

/// Returns the algorithm's number, or the hash's where there is no other.
#[inline(always)]
fn algorithm(word: &ControlWord) -> u8 {
    if word.algorithm != 0 { word.algorithm } else { word.hash }
}
