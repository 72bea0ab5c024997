//! One message's work for the lanes of DES, and the functions of a lane kernel.
//!
//! Ref. FIPS 81 and NIST SP 800-38A §6.2 (CBC), §6.3 (CFB with 64-bit segments); FIPS 113 (the MAC).
//!
//! # Safety
//! The entry points need their kernel's features; the managers in `lanes.rs` hold the proof that they
//! exist, and are the only callers.
#![allow(unsafe_code)]

use super::ops::{BLOCK, Keyed};
use super::{Cbc, Cfb, Mac};
use crate::InOut;
use crate::lanes::Crossover;
use crate::modes::Direction;

/// A kernel's functions. Each takes any number of jobs, the longest first, all of them DES or all
/// of them triple DES.
#[derive(Debug)]
pub struct LanesOps {
    pub(super) crossover: Crossover,
    pub(super) cbc: unsafe fn(&mut [&mut CbcJob<'_>]),
    pub(super) cfb: unsafe fn(&mut [&mut CfbJob<'_>]),
    pub(super) mac: unsafe fn(&mut [&mut MacJob<'_>]),
    pub(super) cbc_decrypt: unsafe fn(&mut [&mut CbcJob<'_>]),
}

/// The functions of a kernel with lanes: `run` and `decrypt` compiled for the features named.
macro_rules! lane_entry_points {
    ($crossover:expr, $run:ident, $decrypt:ident) => {{
        use $crate::des::job::LanesOps;
        LanesOps {
            crossover: $crossover,
            // SAFETY: the caller vouches for the kernel's features; so in the others.
            cbc: |jobs| unsafe { $run(jobs) },
            // SAFETY: as above.
            cfb: |jobs| unsafe { $run(jobs) },
            // SAFETY: as above.
            mac: |jobs| unsafe { $run(jobs) },
            // SAFETY: as above.
            cbc_decrypt: |jobs| unsafe { $decrypt(jobs) },
        }
    }};
}
pub(super) use lane_entry_points;

/// One message for [`CbcLanes`](super::CbcLanes).
pub struct CbcJob<'a> {
    /// The key; its kernel need not be that of the lanes.
    pub key: &'a Cbc,
    /// The initialisation vector before, the last block of ciphertext after.
    pub iv: [u8; BLOCK],
    /// The data, in whole blocks.
    pub data: InOut<'a>,
}

/// One message for [`CfbLanes`](super::CfbLanes).
pub struct CfbJob<'a> {
    /// The key; its kernel need not be that of the lanes.
    pub key: &'a Cfb,
    /// The initialisation vector before, the last whole block of ciphertext (if any) after.
    pub iv: [u8; BLOCK],
    /// The data, of any length.
    pub data: InOut<'a>,
}

/// One message for [`MacLanes`](super::MacLanes).
pub struct MacJob<'a> {
    /// The key, which is only read. Data that was added to it does not count.
    pub key: &'a Mac,
    /// The message, of any length, padded with zeros as [`Mac`] does.
    pub message: &'a [u8],
    /// The last block, once it has been computed. The MAC is its left part (4 bytes by custom).
    pub mac: [u8; BLOCK],
}

/// One job as the lanes see it. Its pointers are valid for its length. The output is the input's
/// memory or does not overlap it.
pub(super) trait Job<'k> {
    /// True if the ciphertext is the cipher's output plus the plaintext (CFB). False if it is the
    /// cipher's output for the plaintext plus the chaining value.
    const FEEDBACK: bool = false;
    /// True if an incomplete block is padded with zeros to a whole one.
    const PADDED: bool = false;
    /// The schedule and the direct kernel.
    fn keyed(&self) -> &'k Keyed;
    /// Bytes of message.
    fn len(&self) -> usize;
    fn input(&self) -> *const u8;
    /// Returns the place of the ciphertext, if the job writes any. The answer is the same for all
    /// jobs of a type.
    fn output(&mut self) -> Option<*mut u8>;
    /// The chaining value.
    fn chain(&mut self) -> &mut [u8; BLOCK];
    /// Does the rest, `at` bytes from the beginning, with the direct kernel.
    fn finish(&mut self, at: usize);
}

impl<'k> Job<'k> for CbcJob<'k> {
    #[inline(always)]
    fn keyed(&self) -> &'k Keyed {
        &self.key.0
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.data.len()
    }

    #[inline(always)]
    fn input(&self) -> *const u8 {
        self.data.input_ptr()
    }

    #[inline(always)]
    fn output(&mut self) -> Option<*mut u8> {
        Some(self.data.output_ptr())
    }

    #[inline(always)]
    fn chain(&mut self) -> &mut [u8; BLOCK] {
        &mut self.iv
    }

    fn finish(&mut self, at: usize) {
        self.key.0.cbc(Direction::Encrypt, &mut self.iv, self.data.reborrow().split_at(at).1);
    }
}

impl<'k> Job<'k> for CfbJob<'k> {
    const FEEDBACK: bool = true;

    #[inline(always)]
    fn keyed(&self) -> &'k Keyed {
        &self.key.0
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.data.len()
    }

    #[inline(always)]
    fn input(&self) -> *const u8 {
        self.data.input_ptr()
    }

    #[inline(always)]
    fn output(&mut self) -> Option<*mut u8> {
        Some(self.data.output_ptr())
    }

    #[inline(always)]
    fn chain(&mut self) -> &mut [u8; BLOCK] {
        &mut self.iv
    }

    fn finish(&mut self, at: usize) {
        let (blocks, mut tail) = self.data.reborrow().split_at(at).1.split_blocks(BLOCK);
        self.key.0.cfb(Direction::Encrypt, &mut self.iv, blocks);
        if !tail.is_empty() {
            let mut pad = self.iv;
            self.key.0.ecb(Direction::Encrypt, InOut::in_place(&mut pad));
            tail.xor(&pad[..tail.len()]);
        }
    }
}

impl<'k> Job<'k> for MacJob<'k> {
    const PADDED: bool = true;

    #[inline(always)]
    fn keyed(&self) -> &'k Keyed {
        self.key.keyed()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.message.len()
    }

    #[inline(always)]
    fn input(&self) -> *const u8 {
        self.message.as_ptr()
    }

    #[inline(always)]
    fn output(&mut self) -> Option<*mut u8> {
        None
    }

    #[inline(always)]
    fn chain(&mut self) -> &mut [u8; BLOCK] {
        &mut self.mac
    }

    fn finish(&mut self, at: usize) {
        let (blocks, tail) = self.message[at..].as_chunks();
        self.key.keyed().mac(&mut self.mac, blocks);
        if !tail.is_empty() {
            let mut last = [0; BLOCK];
            last[..tail.len()].copy_from_slice(tail);
            self.key.keyed().mac(&mut self.mac, &[last]);
        }
    }
}

/// Works off the jobs one after another, each with its direct kernel.
pub(super) fn direct<'k, J: Job<'k>>(jobs: &mut [&mut J]) {
    for job in jobs {
        job.finish(0);
    }
}

/// Deciphers the jobs one after another, each with its direct kernel.
pub(super) fn direct_decrypt(jobs: &mut [&mut CbcJob<'_>]) {
    for job in jobs {
        job.key.0.cbc(Direction::Decrypt, &mut job.iv, job.data.reborrow());
    }
}
