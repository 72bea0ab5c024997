//! The kernels that seal a record: the MAC and the cipher one after the other, or in one pass.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use millstream_cpu::Feature;
use millstream_cpu::{FeatureSet, Features};

use super::cbc_hmac::{CbcHmac, HEADER};
use crate::aes::{Block, Cbc, Schedule};
use crate::hash::Hash;
use crate::hmac::{Hmac, HmacKey};
use crate::{Algorithm, Bound, Kernel, Row, Standing, Table, Timing, sha1, sha256};

/// Bytes that a step encrypts, and hashes.
const STEP: usize = 64;

/// What the first block of the hash has of a record's data, behind the header.
const FIRST: usize = STEP - (HEADER + 2);

type Pass<S> = unsafe fn(&Schedule, &mut Block, &mut S, Ahead<'_>);

/// What a kernel offers: passes that encrypt and hash at once.
#[derive(Debug)]
pub struct SealOps {
    pub(super) sha1: Option<Pass<sha1::State>>,
    pub(super) sha256: Option<Pass<sha256::State>>,
}

/// The kernels of AES-CBC with HMAC for TLS.
pub static SEAL: Table<SealOps> = Table::new(
    Algorithm {
        name: "tls-aes-cbc-hmac",
        standing: Standing::Current,
        standard: "RFC 5246 §6.2.3.2",
        key_bits: &[128, 192, 256],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<SealOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-aesni-shani-by1",
            requires: FeatureSet::of(&[Feature::Aes, Feature::Sha, Feature::Sse41]),
            timing: Timing::Constant,
            note: "SHA-1 or SHA-256 beside the cipher, as one waits for its rounds",
        },
        ops: super::arch::x86_64_aesni_shani::OPS,
    },
    Row {
        kernel: Kernel {
            name: "direct-x1",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "the MAC, then the cipher, each on its best kernel",
        },
        ops: SealOps { sha1: None, sha256: None },
    },
];

/// A record in which the hash is ahead of the cipher, so that it reads what is not encrypted yet.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Ahead<'a> {
    record: &'a mut [u8],
    /// By how many bytes; at least 51.
    by: usize,
    /// How many times 64 bytes.
    pub(super) steps: usize,
}

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
impl Ahead<'_> {
    /// What the hash takes in a step: before the step's data is encrypted, with which it may overlap.
    #[inline(always)]
    pub(super) fn message(&self, step: usize) -> &[u8; STEP] {
        let at = self.by + STEP * step;
        self.record[at..at + STEP].first_chunk().expect("a step")
    }

    /// What the cipher takes in a step.
    #[inline(always)]
    pub(super) fn data(&mut self, step: usize) -> &mut [Block; 4] {
        let at = STEP * step;
        self.record[at..at + STEP].as_chunks_mut().0.first_chunk_mut().expect("a step")
    }
}

/// Hashes the data, which begins at `start` in the record and reaches to its end, and encrypts the
/// record as far as that goes beside it. Returns the bytes encrypted.
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
    // Passes take round keys as they stand in FIPS 197.
    if steps == 0 || cbc.forward.sliced {
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

/// That what both passes make can be opened, which goes another way.
fn known_answer(kernel: Bound<SealOps>) -> bool {
    [Hash::Sha1, Hash::Sha256].into_iter().all(|hash| {
        let features = Features::none();
        let Ok(cbc) = Cbc::with_kernel(crate::aes::CBC.best(features), &[7; 16]) else { return false };
        let keys = CbcHmac::with_kernel(kernel, cbc, HmacKey::new(features, hash, &[8; 20]));
        let (mut record, header) = ([0x2a; 400], [0; HEADER]);
        let payload = 400 - 16 - hash.output_len() - 5;
        keys.seal(&mut [1; 16], &header, &mut record, true, payload).is_ok()
            && keys.open(&mut [1; 16], &header, &mut record, true) == Ok(16..16 + payload)
            && record[16..16 + payload].iter().all(|byte| *byte == 0x2a)
    })
}
