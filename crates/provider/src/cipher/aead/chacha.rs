//! ChaCha20-Poly1305: which calls its contexts accept, and when.
//!
//! Versions of OpenSSL differ in what they accept. This follows the latest: a nonce is for one message, decryption
//! without a tag fails, associated data comes before data, and a key must be set.
//!
//! Ref. RFC 8439; RFC 7905 for TLS 1.2.

use std::sync::Arc;

use millstream::chacha20poly1305::{ChaCha20Poly1305, KEY, NONCE, State};
use millstream::isolated::ServiceKey;
use millstream::modes::Direction;
use millstream::{EngineError, Features, InOut, cwq};

use super::algorithm::Algorithm;
use super::message::Messages;
use super::{Record, Spec, TAG};
use crate::abi::{OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::cipher::{Context, LAST, Registration};
use crate::error::{Reason, Result};
use crate::exchange::{Exchange, Parts};
use crate::params::{Param, Params};

/// ChaCha20-Poly1305.
pub struct ChaCha;

impl Algorithm for ChaCha {
    type Key = ChaCha20Poly1305;
    type State = State;
    const REMOTE: cwq::Algorithm = cwq::Algorithm::ChaCha20Poly1305;

    fn key(features: Features, bytes: &[u8]) -> std::result::Result<ChaCha20Poly1305, EngineError> {
        ChaCha20Poly1305::new(features, bytes)
    }

    fn rekey(key: &mut ChaCha20Poly1305, bytes: &[u8]) -> std::result::Result<(), EngineError> {
        key.rekey(bytes)
    }

    fn kernel(key: &ChaCha20Poly1305) -> &'static str {
        key.kernel().name
    }

    fn begin(key: &ChaCha20Poly1305, nonce: &[u8]) -> std::result::Result<State, EngineError> {
        key.begin(nonce)
    }
}

/// The context behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct ChaChaContext {
    messages: Messages<ChaCha>,
    /// The nonce, all zeros until one is given. Records add their number to it.
    nonce: [u8; NONCE],
    /// True after a message has used the nonce.
    used: bool,
    tag: [u8; TAG],
    /// The length of the tag that the message should have; 0 until one is given.
    tag_len: usize,
    record: Option<Record>,
    record_pad: usize,
}

impl ChaChaContext {
    /// Begins a message unless one is under way.
    #[inline]
    fn ready(&mut self) -> Result<()> {
        if self.messages.under_way() {
            return Ok(());
        }
        if self.used {
            return Err(Reason::CIPHER_OPERATION_FAILED
                .with("the nonce was used for a message: set another for the next"));
        }
        self.messages.begin(&self.nonce)
    }

    #[inline(always)]
    fn crypt(&mut self, data: InOut<'_>) -> Result<()> {
        self.ready()?;
        let tag = (self.tag_len > 0).then(|| &self.tag[..self.tag_len]);
        self.messages.crypt(data, tag)
    }

    /// Forgets the message under way, and a record that was announced.
    fn forget(&mut self) {
        self.messages.abandon();
        self.record = None;
    }

    fn announce_record(&mut self, aad: &[u8]) -> Result<()> {
        let around = if self.messages.encrypts() { 0 } else { TAG };
        self.record = Some(Record::announced(aad, around).ok_or(Reason::INVALID_DATA)?);
        self.record_pad = TAG;
        self.messages.abandon();
        Ok(())
    }

    /// Returns the nonce of a record: the sequence number, padded on the left, is added to the fixed nonce (RFC 7905
    /// §2).
    fn record_nonce(&self, record: &Record) -> [u8; NONCE] {
        let mut nonce = self.nonce;
        for (byte, number) in nonce[4..].iter_mut().zip(&record.aad) {
            *byte ^= number;
        }
        nonce
    }

    /// Encrypts or decrypts the record that was announced: the data and the tag. Returns how many bytes count: all of
    /// them, or the data.
    fn crypt_record(&mut self, record: Record, mut data: Exchange<'_>) -> Result<usize> {
        let len = record.len;
        if data.input_len() != len + TAG {
            return Err(
                Reason::CIPHER_OPERATION_FAILED.with("a record is as long as was announced, and its tag")
            );
        }
        self.record = None;
        let nonce = self.record_nonce(&record);
        let encrypts = self.messages.encrypts();
        match data.parts() {
            Parts::InPlace(buffer, whole) => {
                let (data, tag) = buffer[..whole].split_at_mut(len);
                if !encrypts {
                    self.tag.copy_from_slice(tag);
                }
                self.crypt_whole(&nonce, &record, data.into())?;
                if encrypts {
                    tag.copy_from_slice(&self.tag);
                }
            }
            Parts::Apart(input, output) => {
                let (input, tag) = input.split_at(len);
                let (output, tag_out) = output.split_at_mut(len);
                if !encrypts {
                    self.tag.copy_from_slice(tag);
                }
                self.crypt_whole(&nonce, &record, InOut::separate(input, output)?)?;
                if encrypts {
                    tag_out.copy_from_slice(&self.tag);
                }
            }
        }
        Ok(if encrypts { len + TAG } else { len })
    }

    fn crypt_whole(&mut self, nonce: &[u8; NONCE], record: &Record, data: InOut<'_>) -> Result<()> {
        if self.messages.encrypts() {
            self.tag = self.messages.seal(nonce, &record.aad, data)?;
            return Ok(());
        }
        self.messages.open(nonce, &record.aad, data, &self.tag)
    }

    fn set_tag(&mut self, param: &Param<'_>) -> Result<()> {
        // A parameter without bytes only sets the length.
        let len = param.room();
        if len == 0 || len > TAG {
            return Err(Reason::INVALID_TAG_LENGTH);
        }
        if param.has_data() {
            if self.messages.encrypts() {
                return Err(Reason::TAG_NOT_NEEDED);
            }
            self.tag[..len].copy_from_slice(param.octets()?);
        }
        self.tag_len = len;
        Ok(())
    }

    fn get_tag(&self, param: &Param<'_>) -> Result<()> {
        if !self.messages.encrypts() {
            return Err(Reason::TAG_NOT_SET);
        }
        let tag = self.tag.get(..param.room()).filter(|tag| !tag.is_empty());
        param.set_octets(tag.ok_or(Reason::INVALID_TAG_LENGTH)?)
    }

    fn set_nonce(&mut self, nonce: &[u8]) -> Result<()> {
        self.nonce = nonce.try_into().map_err(|_| Reason::INVALID_IV_LENGTH)?;
        self.used = false;
        Ok(())
    }
}

impl Context for ChaChaContext {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"taglen", UNSIGNED_INTEGER),
        OsslParam::described(c"tag", OCTET_STRING),
        OsslParam::described(c"tlsaadpad", UNSIGNED_INTEGER),
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"tag", OCTET_STRING),
        OsslParam::described(c"tlsaad", OCTET_STRING),
        OsslParam::described(c"tlsivfixed", OCTET_STRING),
        OsslParam::END,
    ];

    fn new(registration: Registration, spec: &'static Spec) -> Self {
        ChaChaContext {
            messages: Messages::new(registration, spec),
            nonce: [0; NONCE],
            used: false,
            tag: [0; TAG],
            tag_len: 0,
            record: None,
            record_pad: 0,
        }
    }

    fn take(&mut self, direction: Direction, key: &Arc<ServiceKey>) -> Result<()> {
        self.messages.set_direction(direction);
        (self.used, self.record) = (false, None);
        self.messages.take(key)
    }

    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()> {
        self.messages.set_direction(direction);
        if let Some(iv) = iv {
            self.set_nonce(iv)?;
            self.forget();
        }
        Ok(())
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        self.messages.set_key(key)?;
        self.used = false;
        self.forget();
        Ok(())
    }

    #[inline]
    fn update_len(&self, input: usize) -> Result<usize> {
        Ok(input)
    }

    #[inline(always)]
    fn quick(&mut self, data: InOut<'_>) -> Option<Result<()>> {
        self.record.is_none().then(|| self.crypt(data))
    }

    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let len = data.input_len();
        match self.record {
            _ if len == 0 => Ok(0),
            None => self.crypt(data.in_out()?).map(|()| len),
            Some(record) => self.crypt_record(record, data),
        }
    }

    fn associate(&mut self, data: &[u8]) -> Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        if self.record.take().is_some() {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("a record has no other associated data"));
        }
        self.ready()?;
        self.messages.associate(data)?;
        Ok(data.len())
    }

    fn finish(&mut self, _out: &mut [u8; LAST]) -> Result<usize> {
        if self.record.take().is_some() {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("a record was announced and didn't come"));
        }
        if !self.messages.encrypts() && self.tag_len == 0 {
            return Err(Reason::TAG_NOT_SET);
        }
        self.ready()?;
        self.used = true;
        if self.messages.encrypts() {
            self.tag = self.messages.tag()?;
        } else {
            self.messages.verify(&self.tag[..self.tag_len])?;
        }
        Ok(0)
    }

    fn cipher(&mut self, data: Exchange<'_>) -> Result<usize> {
        self.update(data)
    }

    fn end(&mut self) -> Result<usize> {
        self.finish(&mut [0; LAST])
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"tag" => self.get_tag(&param)?,
                b"tlsaadpad" => param.set_size(self.record_pad)?,
                b"ivlen" => param.set_size(NONCE)?,
                b"keylen" => param.set_size(KEY)?,
                b"taglen" => param.set_size(self.tag_len)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"tag" => self.set_tag(&param)?,
                b"tlsaad" => self.announce_record(param.octets()?)?,
                b"tlsivfixed" => self.set_nonce(param.octets()?)?,
                b"ivlen" if param.size()? != NONCE => return Err(Reason::INVALID_IV_LENGTH),
                b"keylen" if param.size()? != KEY => return Err(Reason::INVALID_KEY_LENGTH),
                _ => {}
            }
        }
        Ok(())
    }
}
