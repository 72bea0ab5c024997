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

/// The kind.
pub struct Hmac;

impl Kind for Hmac {
    const NAME: &'static CStr = c"HMAC";
    const OVER: &'static CStr = c"digest";
    const UNSAID: Reason = Reason::MISSING_MESSAGE_DIGEST;
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"digest", UTF8_STRING),
        OsslParam::described(c"properties", UTF8_STRING),
        OsslParam::described(c"key", OCTET_STRING),
        // For accelerators that OpenSSL once had: of no effect, as in the default provider.
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

/// What it is counted as.
fn name(hash: Hash) -> &'static str {
    match hash {
        Hash::Md5 => "hmac-md5",
        Hash::Sha1 => "hmac-sha1",
        Hash::Sha224 => "hmac-sha224",
        Hash::Sha256 => "hmac-sha256",
        Hash::Sha384 => "hmac-sha384",
        Hash::Sha512 => "hmac-sha512",
        Hash::Sha512_256 => "hmac-sha512-256",
    }
}

/// A message under way.
#[derive(Clone)]
pub struct Message {
    key: Arc<HmacKey>,
    stream: hmac::Hmac,
    record: Option<Record>,
}

/// A record of TLS 1.0 to 1.2 under CBC, which was decrypted and not yet authenticated: how long its data is must not show.
///
/// First comes the header, which says that; then the data, with which MAC and padding may be looked at.
#[derive(Clone)]
struct Record {
    /// Bytes of data, MAC and padding.
    len: usize,
    header: Option<[u8; HEADER]>,
    tag: Option<Tag>,
}

/// RFC 5246 §6.2.3.1: the sequence number, type, version and length.
const HEADER: usize = 13;

/// RFC 5246 §6.2.3.2: padding and the byte that says how much.
const MOST_PADDING: usize = 256;

/// Far more than a record has.
const LONGEST_RECORD: usize = 1 << 20;

impl Record {
    fn new(len: usize) -> Self {
        Record { len, header: None, tag: None }
    }

    /// How long the data can be.
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
