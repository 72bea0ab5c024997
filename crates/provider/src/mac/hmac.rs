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
        Ok(Message { stream: key.start(), key })
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
}

impl Keyed for Message {
    fn kernel(&self) -> &'static str {
        self.key.kernel().name
    }

    #[inline]
    fn restart(&mut self) {
        self.stream.restart(&self.key);
    }

    #[inline]
    fn update(&mut self, data: &[u8]) -> Result<()> {
        self.stream.update(data);
        Ok(())
    }

    #[inline]
    fn finish(&mut self) -> Result<Tag> {
        Ok(Tag::new(&self.stream.finish_reset(&self.key)))
    }
}
