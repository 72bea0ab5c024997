//! The functions of a kernel that seals a record: passes in which the hash is ahead of the cipher.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use crate::aes::schedule::Form;
use crate::aes::{Block, Cbc, Schedule};
use crate::hmac::Hmac;
use crate::{Bound, sha1, sha256};

/// The number of bytes that the MAC covers before a record's length: its number (8), type (1) and
/// version (2).
pub const HEADER: usize = 11;

/// The number of bytes that a step encrypts, and hashes.
const STEP: usize = 64;

/// The number of bytes of a record's data in the first block of the hash, behind the header.
const FIRST: usize = STEP - (HEADER + 2);

type Pass<S> = unsafe fn(&Schedule, &mut Block, &mut S, Ahead<'_>);

/// The functions of a kernel: passes that encrypt and hash at once.
#[derive(Debug)]
pub struct SealOps {
    pub(super) sha1: Option<Pass<sha1::State>>,
    pub(super) sha256: Option<Pass<sha256::State>>,
}

/// A record in which the hash is ahead of the cipher, so that it reads data that is not encrypted
/// yet.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Ahead<'a> {
    record: &'a mut [u8],
    /// The distance from the cipher to the hash, in bytes; at least 51.
    by: usize,
    /// The number of steps, of 64 bytes each.
    pub(super) steps: usize,
}

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
impl Ahead<'_> {
    /// Returns the hash's input of a step. The hash takes it before the step's data is encrypted,
    /// with which it may overlap.
    #[inline(always)]
    pub(super) fn message(&self, step: usize) -> &[u8; STEP] {
        let at = self.by + STEP * step;
        self.record[at..at + STEP].first_chunk().expect("a step")
    }

    /// Returns the cipher's input of a step.
    #[inline(always)]
    pub(super) fn data(&mut self, step: usize) -> &mut [Block; 4] {
        let at = STEP * step;
        self.record[at..at + STEP].as_chunks_mut().0.first_chunk_mut().expect("a step")
    }
}

/// Hashes the data, which begins at `start` in the record and reaches to its end, and encrypts as
/// much of the record as the passes cover. Returns the number of bytes encrypted.
pub(super) fn interleaved(
    kernel: Bound<SealOps>,
    cbc: &Cbc,
    iv: &mut Block,
    mac: &mut Hmac,
    record: &mut [u8],
    start: usize,
) -> usize {
    let by = start + FIRST;
    let steps = record.len().saturating_sub(by) / STEP;
    // A pass takes round keys as FIPS 197 writes them. Keys in another form, and data too short for a step,
    // are left to the caller.
    if steps == 0 || cbc.forward.form != Form::Standard {
        mac.update(&record[start..]);
        return 0;
    }
    mac.update(&record[start..by]);
    let (ops, bytes) = (kernel.ops(), STEP * steps);
    let ahead = Ahead { record: &mut *record, by, steps };
    // SAFETY: the kernel is bound.
    unsafe {
        if let Some(pass) = ops.sha256
            && let Some(state) = mac.sha256_state(bytes)
        {
            pass(&cbc.forward, iv, state, ahead);
        } else if let Some(pass) = ops.sha1
            && let Some(state) = mac.sha1_state(bytes)
        {
            pass(&cbc.forward, iv, state, ahead);
        } else {
            mac.update(&record[by..]);
            return 0;
        }
    }
    mac.update(&record[by + bytes..]);
    bytes
}
