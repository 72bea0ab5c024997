//! Many records sealed at once: their MACs in the hash's lanes, then their blocks in AES's.
//!
//! The lanes seal only records with explicit vectors. Without them a record waits for the last block of the
//! one before.
//!
//! Ref. RFC 5246 §6.2.3.2.

use millstream_cpu::Features;

use super::cbc_hmac::{CbcHmac, pseudo_header, vector_len};
use super::ops::HEADER;
use crate::aes::{Block, CbcJob, CbcLanes};
use crate::hash::{Digest, Hash};
use crate::hmac::{HmacJob, HmacLanes};
use crate::{Error, InOut, Kernel};

/// The offset in the explicit vector at which the bytes that the MAC covers before the data have room.
const BEFORE: usize = vector_len(true) - (HEADER + 2);

/// A record to seal.
#[derive(Debug)]
pub struct CbcHmacJob<'a> {
    /// The keys, for the hash of the [`CbcHmacLanes`].
    pub keys: &'a CbcHmac,
    /// The chaining value before, and after.
    pub iv: Block,
    /// The record's number, type and version.
    pub header: [u8; HEADER],
    /// The vector (random bytes), the data, and room for MAC and padding.
    pub record: &'a mut [u8],
    /// Bytes of data.
    pub payload: usize,
}

/// Seals many records at once, with the keys of one connection or of many.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::Hash;
/// use millstream_engines::tls::{CbcHmac, CbcHmacJob, CbcHmacLanes};
///
/// let keys = CbcHmac::new(Features::hardware(), Hash::Sha1, &[7; 16], &[8; 20])?;
/// let mut records = [[0; 1056]; 8];
/// let mut number = 0;
/// let mut jobs = records.each_mut().map(|record| {
///     let header = [0, 0, 0, 0, 0, 0, 0, number, 23, 3, 3];
///     number += 1;
///     CbcHmacJob { keys: &keys, iv: [0; 16], header, record, payload: 1010 }
/// });
/// CbcHmacLanes::new(Features::hardware(), Hash::Sha1).seal(&mut jobs)?;
/// assert_eq!(keys.open(&mut [0; 16], &[0, 0, 0, 0, 0, 0, 0, 3, 23, 3, 3], &mut records[3], true)?, 16..1026);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CbcHmacLanes {
    macs: HmacLanes,
    blocks: CbcLanes,
}

impl CbcHmacLanes {
    /// Makes a manager with the fastest kernels that `features` allow.
    pub fn new(features: Features, hash: Hash) -> Self {
        CbcHmacLanes::with_lanes(HmacLanes::new(features, hash), CbcLanes::new(features))
    }

    /// Makes a manager with given lanes.
    pub fn with_lanes(macs: HmacLanes, blocks: CbcLanes) -> Self {
        CbcHmacLanes { macs, blocks }
    }

    /// The kernels in use: of the MAC, and of the cipher.
    pub fn kernels(&self) -> [&'static Kernel; 2] {
        [self.macs.kernel(), self.blocks.kernel()]
    }

    /// Seals every record as [`CbcHmac::seal`] does with an explicit vector.
    ///
    /// # Errors
    /// The errors of [`CbcHmac::seal`]; no record has been touched then.
    ///
    /// # Panics
    /// When keys are of another hash.
    pub fn seal(&self, jobs: &mut [CbcHmacJob<'_>]) -> Result<(), Error> {
        let hash = self.macs.hash();
        assert!(jobs.iter().all(|job| job.keys.mac.hash() == hash), "keys of another hash");
        for job in &*jobs {
            job.keys.check(job.record, true, job.payload)?;
        }
        let tags = self.sign(jobs);
        for (job, tag) in jobs.iter_mut().zip(&tags) {
            let end = vector_len(true) + job.payload;
            job.keys.append(job.record, end, tag);
        }
        self.encrypt(jobs);
        Ok(())
    }

    /// Computes the MACs. The pseudo-header stands in the explicit vector's place meanwhile, so that each
    /// message lies in one piece.
    fn sign(&self, jobs: &mut [CbcHmacJob<'_>]) -> Vec<Digest> {
        let vectors: Vec<Block> = jobs
            .iter_mut()
            .map(|job| {
                let (vector, _) = job.record.split_first_chunk_mut().expect("checked");
                let kept = *vector;
                vector[BEFORE..].copy_from_slice(&pseudo_header(&job.header, job.payload));
                kept
            })
            .collect();
        let mut messages: Vec<_> = jobs
            .iter()
            .map(|job| {
                let end = vector_len(true) + job.payload;
                HmacJob::new(&job.keys.mac, &job.record[BEFORE..end])
            })
            .collect();
        self.macs.sign(&mut messages.iter_mut().collect::<Vec<_>>());
        let tags = messages.iter().map(|message| message.tag).collect();
        for (job, vector) in jobs.iter_mut().zip(vectors) {
            job.record[..vector_len(true)].copy_from_slice(&vector);
        }
        tags
    }

    fn encrypt(&self, jobs: &mut [CbcHmacJob<'_>]) {
        let mut messages: Vec<_> = jobs
            .iter_mut()
            .map(|job| CbcJob { key: &job.keys.cbc, iv: job.iv, data: InOut::in_place(job.record) })
            .collect();
        self.blocks.encrypt(&mut messages.iter_mut().collect::<Vec<_>>());
        let ivs: Vec<_> = messages.iter().map(|message| message.iv).collect();
        for (job, iv) in jobs.iter_mut().zip(ivs) {
            job.iv = iv;
        }
    }
}
