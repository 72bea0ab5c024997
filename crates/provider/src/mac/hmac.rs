//! HMAC.
//!
//! Ref. EVP_MAC-HMAC(7).

use std::ffi::CStr;
use std::sync::Arc;

use millstream::cwq;
use millstream::hash::Hash;
use millstream::hmac::{self, HmacKey};
use millstream::tally::{Place, Row};

use super::{Keyed, Kind, Tag};
use crate::abi::{INTEGER, OCTET_STRING, OsslParam, UNSIGNED_INTEGER, UTF8_STRING};
use crate::algorithms;
use crate::count::Rows;
use crate::digest::{self, PerHash};
use crate::error::{Reason, Result};
use crate::provider::Provider;

/// The kind of MAC.
pub struct Hmac;

impl Kind for Hmac {
    const NAME: &'static CStr = c"HMAC";
    const OVER: &'static CStr = c"digest";
    const UNSAID: Reason = Reason::MISSING_MESSAGE_DIGEST;
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"digest", UTF8_STRING),
        OsslParam::described(c"properties", UTF8_STRING),
        OsslParam::described(c"key", OCTET_STRING),
        // These two have no effect, as in the default provider: they were for accelerators that OpenSSL once had.
        OsslParam::described(c"digest-noinit", INTEGER),
        OsslParam::described(c"digest-oneshot", INTEGER),
        OsslParam::described(c"tls-data-size", UNSIGNED_INTEGER),
        OsslParam::END,
    ];
    type Algorithm = Hash;
    type Keyed = Message;

    fn named(name: &str) -> Option<Hash> {
        algorithms::digest_named(name)
    }

    fn size(hash: Hash) -> (usize, usize) {
        (hash.output_len(), hash.block_len())
    }

    fn in_service(hash: Hash) -> Option<cwq::Algorithm> {
        Some(millstream::algorithm_of(hash))
    }

    fn key(hash: Hash, key: &[u8]) -> Result<Message> {
        let key = Arc::new(HmacKey::with_kernel(*digest::kernel(hash)?, key));
        Ok(Message { stream: key.start(), key, record: None })
    }

    fn row(provider: Provider, hash: Hash, place: Place, kernel: &str) -> Row {
        static ROWS: PerHash<Rows> = [const { Rows::new() }; _];
        ROWS[hash as usize].row(provider, place, name(hash), kernel)
    }
}

/// Returns the name under which the MAC is counted.
fn name(hash: Hash) -> &'static str {
    match hash {
        Hash::Md5 => "hmac-md5",
        Hash::Sha1 => "hmac-sha1",
        Hash::Sha224 => "hmac-sha224",
        Hash::Sha256 => "hmac-sha256",
        Hash::Sha384 => "hmac-sha384",
        Hash::Sha512 => "hmac-sha512",
        Hash::Sha512_256 => "hmac-sha512-256",
        Hash::Sha3_224 => "hmac-sha3-224",
        Hash::Sha3_256 => "hmac-sha3-256",
        Hash::Sha3_384 => "hmac-sha3-384",
        Hash::Sha3_512 => "hmac-sha3-512",
    }
}

/// A message under way.
#[derive(Clone)]
pub struct Message {
    key: Arc<HmacKey>,
    stream: hmac::Hmac,
    record: Option<Record>,
}

/// A record of TLS 1.0 to 1.2 under CBC that was decrypted and not yet authenticated: the length of its data must not
/// show.
///
/// The header, which gives that length, comes first; then the data, which may be read together with MAC and padding.
#[derive(Clone)]
struct Record {
    /// Bytes of data, MAC and padding.
    len: usize,
    header: Option<[u8; HEADER]>,
    tag: Option<Tag>,
}

/// The bytes of a header: sequence number, type, version and length (RFC 5246 §6.2.3.1).
const HEADER: usize = 13;

/// The most bytes of padding, with the byte that gives its length (RFC 5246 §6.2.3.2).
const MOST_PADDING: usize = 256;

/// A length that no record reaches.
const LONGEST_RECORD: usize = 1 << 20;

impl Record {
    fn new(len: usize) -> Self {
        Record { len, header: None, tag: None }
    }

    /// Returns the most bytes that the data can have.
    fn longest(&self, hash: Hash) -> usize {
        self.len.saturating_sub(hash.output_len())
    }

    fn update(&mut self, key: &HmacKey, data: &[u8], len: usize) -> Result<()> {
        let Some(header) = &self.header else {
            self.header = Some(data.try_into().map_err(|_| Reason::INVALID_INPUT_LENGTH)?);
            return Ok(());
        };
        let shortest = data.len().saturating_sub(MOST_PADDING);
        self.tag = Some(Tag::new(&key.sign_prefix(header, data, shortest, len)));
        Ok(())
    }
}

impl Keyed for Message {
    fn kernel(&self) -> &'static str {
        self.key.kernel().name
    }

    #[inline]
    fn restart(&mut self) {
        self.stream.restart(&self.key);
        if let Some(record) = &mut self.record {
            *record = Record::new(record.len);
        }
    }

    #[inline]
    fn reach(&self, len: usize) -> Result<usize> {
        match &self.record {
            Some(record) if len > record.len || record.len >= LONGEST_RECORD => {
                Err(Reason::INVALID_INPUT_LENGTH)
            }
            Some(record) if record.header.is_some() => Ok(record.longest(self.key.hash())),
            _ => Ok(len),
        }
    }

    #[inline]
    fn update(&mut self, data: &[u8], len: usize) -> Result<()> {
        match &mut self.record {
            Some(record) => return record.update(&self.key, data, len),
            None => self.stream.update(data),
        }
        Ok(())
    }

    #[inline]
    fn finish(&mut self) -> Result<Tag> {
        match &mut self.record {
            Some(record) => {
                let next = Record::new(record.len);
                std::mem::replace(record, next).tag.ok_or(Reason::FINAL_CALL_OUT_OF_ORDER)
            }
            None => Ok(Tag::new(&self.stream.finish_reset(&self.key))),
        }
    }

    fn record(&mut self, len: usize) {
        self.record = (len > 0).then(|| Record::new(len));
    }
}
