//! Many records of TLS at once: libssl cuts long data into 4 or 8 records of one length and has all of them sealed side
//! by side.
//!
//! libssl asks how many bytes they will have (`tls1multi_aad`), and then for the records themselves (`tls1multi_enc`),
//! each with its header in front.
//!
//! Ref. `EVP_CTRL_TLS1_1_MULTIBLOCK_AAD` and the following in EVP_EncryptInit(3); RFC 5246 §6.2.

use millstream::tls::{CbcHmac, CbcHmacJob, CbcHmacLanes, HEADER, padded_len};

use super::common::random;
use crate::error::{Reason, Result};
use crate::libcrypto::Job;
use crate::params::{Param, Params};
use crate::provider::Provider;

pub const BLOCK: usize = 16;

/// The first version whose records begin with their vector.
const TLS1_1: u16 = 0x0302;

/// Bytes in front of a record: type, version and length.
const FRONT: usize = 5;

/// The most bytes of data in a record (RFC 5246 §6.2.1).
const LONGEST: usize = 1 << 14;

/// The bytes from which four records are worth it, and from which there are eight.
const FOUR_FROM: usize = 4096;
const EIGHT_FROM: usize = 8192;

/// The records that are announced, and the answers about them.
#[derive(Clone, Copy, Default)]
pub struct MultiBlock {
    /// The number, type and version of the first record.
    header: Option<[u8; HEADER]>,
    records: usize,
    /// The longest fragment that libssl asks about.
    longest: usize,
    /// The bytes of all records that were announced, and of those that were sealed.
    announced: usize,
    sealed: usize,
}

/// Reads a header as libssl announces it: number, type and version; whether records of that version begin with their
/// vector; and the length of what follows.
pub fn announced(header: &[u8]) -> Result<([u8; HEADER], bool, usize)> {
    let Ok(&[ref bytes @ .., high, low]) = <&[u8; HEADER + 2]>::try_from(header) else {
        return Err(Reason::INVALID_AAD);
    };
    let vector = u16::from_be_bytes([bytes[9], bytes[10]]) >= TLS1_1;
    Ok((*bytes, vector, usize::from(u16::from_be_bytes([high, low]))))
}

/// Parts data of `len` bytes among the records: none is longer than another by more than a byte.
fn fragments(len: usize, records: usize) -> impl Iterator<Item = usize> {
    (0..records).map(move |i| len / records + usize::from(i < len % records))
}

/// Returns the bytes of a record with its front.
fn record_len(payload: usize, mac: usize) -> usize {
    FRONT + BLOCK + padded_len(payload + mac, BLOCK)
}

impl MultiBlock {
    /// Reads how many records libssl wants for so much data.
    fn interleave(params: Params<'_>, len: usize) -> Result<usize> {
        let records = params.find(c"tls1multi_interleave").ok_or(Reason::FAILED_TO_GET_PARAMETER)?.size()?;
        if !matches!(records, 4 | 8) || len > LONGEST * records {
            return Err(Reason::FAILED_TO_GET_PARAMETER);
        }
        Ok(records)
    }

    /// Takes the parameters about many records. `keys` are there if a key is set.
    pub fn set(
        &mut self,
        params: Params<'_>,
        keys: Option<&CbcHmac>,
        encrypts: bool,
        provider: Provider,
    ) -> Result<()> {
        if let Some(longest) = params.find(c"tls1multi_maxsndfrag") {
            self.longest = longest.size()?;
        }
        if let Some(header) = params.find(c"tls1multi_aad") {
            let keys = keys.filter(|_| encrypts).ok_or(Reason::FAILED_TO_GET_PARAMETER)?;
            self.announce(&header, Self::interleave(params, header.room())?, keys)?;
        }
        if let Some(place) = params.find(c"tls1multi_enc") {
            let data = params.find(c"tls1multi_encin").ok_or(Reason::FAILED_TO_GET_PARAMETER)?.octets()?;
            let (keys, records) = (keys.ok_or(Reason::NO_KEY_SET)?, Self::interleave(params, data.len())?);
            let sealed = self.seal(data, records, keys, provider)?;
            self.sealed = sealed.len();
            place.fill(&sealed)?;
        }
        Ok(())
    }

    /// Takes the header of the first record. Its length may be that of all the data, or 0: then the parameter is as
    /// long as the data.
    fn announce(&mut self, header: &Param<'_>, records: usize, keys: &CbcHmac) -> Result<()> {
        let (bytes, vector, len) = announced(header.octets_exactly(HEADER + 2)?)?;
        if !vector {
            return Err(Reason::INVALID_AAD);
        }
        let (len, records) = match len {
            0 => (header.room(), records),
            len if len < FOUR_FROM => return Err(Reason::SILENT),
            len => (len, if len < EIGHT_FROM { 4 } else { 8 }),
        };
        self.header = Some(bytes);
        self.records = records;
        let mac = keys.hash().output_len();
        self.announced = fragments(len, records).map(|payload| record_len(payload, mac)).sum();
        Ok(())
    }

    /// Seals the data in records.
    fn seal(&mut self, data: &[u8], records: usize, keys: &CbcHmac, provider: Provider) -> Result<Vec<u8>> {
        let header = self.header.take().ok_or(Reason::INVALID_AAD)?;
        let first = u64::from_be_bytes(*header.first_chunk().expect("it begins with the number"));
        let mac = keys.hash().output_len();
        let len = fragments(data.len(), records).map(|payload| record_len(payload, mac)).sum();
        let mut vectors = [0; 8 * BLOCK];
        random(&mut vectors[..records * BLOCK])?;
        let mut out = vec![0; len];
        let (mut rest, mut data) = (&mut out[..], data);
        let mut jobs = Vec::with_capacity(records);
        for (i, payload) in fragments(data.len(), records).enumerate() {
            let (front, others) = rest.split_at_mut(FRONT);
            let (record, others) = others.split_at_mut(record_len(payload, mac) - FRONT);
            let (fragment, later) = data.split_at(payload);
            (rest, data) = (others, later);
            let mut header = header;
            header[..8].copy_from_slice(&(first.wrapping_add(i as u64)).to_be_bytes());
            front[..3].copy_from_slice(&header[8..]);
            front[3..].copy_from_slice(&(record.len() as u16).to_be_bytes());
            record[..BLOCK].copy_from_slice(&vectors[i * BLOCK..][..BLOCK]);
            record[BLOCK..][..payload].copy_from_slice(fragment);
            jobs.push(CbcHmacJob { keys, iv: [0; BLOCK], header, record, payload });
        }
        let features = millstream::features()?;
        Job::with_stack(provider, || Ok(CbcHmacLanes::new(features, keys.hash()).seal(&mut jobs)?))?;
        Ok(out)
    }

    /// Answers a parameter about many records; none for any other parameter.
    pub fn get(&self, param: &Param<'_>, mac: usize) -> Option<Result<()>> {
        Some(match param.key().to_bytes() {
            b"tls1multi_maxbufsz" => param.set_size(record_len(self.longest, mac)),
            b"tls1multi_interleave" => param.set_size(self.records),
            b"tls1multi_aadpacklen" => param.set_size(self.announced),
            b"tls1multi_enclen" => param.set_size(self.sealed),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_all_of_the_data_and_none_is_too_long() {
        for records in [4, 8] {
            for len in [1, 7, 4096, 65_535, LONGEST * records - 1, LONGEST * records] {
                assert_eq!(fragments(len, records).sum::<usize>(), len);
                assert!(fragments(len, records).all(|fragment| fragment <= LONGEST));
            }
        }
    }
}
