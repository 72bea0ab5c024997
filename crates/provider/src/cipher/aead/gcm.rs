//! AES-GCM: what its contexts take, and when.
//!
//! A vector is for one message. Without one, encryption makes a random one, which the caller can ask for, as the default
//! provider does; its bytes come from the kernel (`getrandom(2)`), not from OpenSSL's generators, which a provider has
//! no way to call.
//!
//! Ref. NIST SP 800-38D; RFC 5288 for TLS 1.2; EVP_EncryptInit(3), "GCM and OCB Modes".

use std::sync::Arc;

use millstream::gcm::{Gcm, State};
use millstream::isolated::ServiceKey;
use millstream::modes::Direction;
use millstream::{EngineError, Features, InOut, cwq};

use super::algorithm::Algorithm;
use super::message::Messages;
use super::{Record, Spec, TAG};
use crate::abi::{OCTET_PTR, OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::cipher::{Context, LAST, Offer};
use crate::error::{Reason, Result};
use crate::exchange::{Exchange, Parts};
use crate::params::{Param, Params};
use crate::provider::Provider;

/// The longest vector, in bytes.
const MAX_IV: usize = 128;

/// The vector's length where none is set; a random one has at least that many bytes (SP 800-38D §8.2.2).
const USUAL_IV: usize = 12;

/// What a record of TLS 1.2 takes of its vector from the key block (RFC 5288 §3).
const FIXED_IV: usize = 4;

/// And what it carries itself.
const EXPLICIT_IV: usize = 8;

/// What a record has besides its data.
const AROUND: usize = EXPLICIT_IV + TAG;

/// AES-GCM.
pub struct AesGcm;

impl Algorithm for AesGcm {
    type Key = Gcm;
    type State = State;
    const REMOTE: cwq::Algorithm = cwq::Algorithm::AesGcm;

    fn key(features: Features, bytes: &[u8]) -> std::result::Result<Gcm, EngineError> {
        Gcm::new(features, bytes)
    }

    fn rekey(key: &mut Gcm, bytes: &[u8]) -> std::result::Result<(), EngineError> {
        key.rekey(bytes)
    }

    fn kernel(key: &Gcm) -> &'static str {
        key.kernel().name
    }

    fn begin(key: &Gcm, nonce: &[u8]) -> std::result::Result<State, EngineError> {
        key.begin(nonce)
    }
}

/// What became of the vector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vector {
    /// None was given.
    None,
    /// It was given; no message uses it yet.
    Given,
    /// The message under way uses it.
    InUse,
    /// A message used it: another needs another.
    Used,
}

/// How many records were encrypted under a key.
#[derive(Clone, Default)]
struct Records(u64);

impl Records {
    /// One more, unless there were as many as vectors.
    fn count(&mut self) -> Result<()> {
        self.0 = self.0.checked_add(1).ok_or(Reason::TOO_MANY_RECORDS)?;
        Ok(())
    }
}

/// What stands behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct GcmContext {
    messages: Messages<AesGcm>,
    vector: Vector,
    iv: [u8; MAX_IV],
    iv_len: usize,
    /// Whether the vector is random, at least in part.
    iv_random: bool,
    /// Whether the next vectors may be made from this one by counting.
    iv_counts: bool,
    tag: [u8; TAG],
    /// Of the tag that a message made or should have.
    tag_len: Option<usize>,
    record: Option<Record>,
    records: Records,
    record_pad: usize,
}

impl GcmContext {
    fn iv(&self) -> &[u8] {
        &self.iv[..self.iv_len]
    }

    /// Sees to it that a message is under way.
    #[inline(always)]
    fn ready(&mut self) -> Result<()> {
        match self.vector {
            Vector::InUse => Ok(()),
            Vector::Given => self.begin(),
            _ => self.ready_without_vector(),
        }
    }

    #[cold]
    fn ready_without_vector(&mut self) -> Result<()> {
        let refused = Reason::CIPHER_OPERATION_FAILED;
        if !self.messages.has_key() {
            return Err(refused.with("no key is set"));
        }
        if self.vector == Vector::Used {
            return Err(refused.with("the vector was used for a message: set another for the next"));
        }
        if !self.messages.encrypts() {
            return Err(refused.with("no vector is set"));
        }
        if self.iv_len < USUAL_IV {
            return Err(refused.with("no vector is set, and a random one would be shorter than 12 bytes"));
        }
        self.randomise(0)?;
        self.begin()
    }

    #[inline]
    fn begin(&mut self) -> Result<()> {
        self.messages.begin(&self.iv[..self.iv_len])?;
        self.vector = Vector::InUse;
        Ok(())
    }

    /// Makes the vector random from `at` on.
    fn randomise(&mut self, at: usize) -> Result<()> {
        let mut rest = &mut self.iv[at..self.iv_len];
        while !rest.is_empty() {
            let got = rustix::rand::getrandom(&mut *rest, rustix::rand::GetRandomFlags::empty());
            let got = got.map_err(|why| {
                Reason::CIPHER_OPERATION_FAILED.because(format!("the kernel has no random bytes: {why}"))
            })?;
            rest = &mut rest[got..];
        }
        self.iv_random = true;
        self.vector = Vector::Given;
        Ok(())
    }

    /// Writes the last bytes of the vector, and counts it up for the next message.
    fn count_vector(&mut self, out: &mut [u8]) -> Result<()> {
        if !self.iv_counts || !self.messages.has_key() || self.iv_len < out.len().max(EXPLICIT_IV) {
            return Err(Reason::SILENT);
        }
        out.copy_from_slice(&self.iv[self.iv_len - out.len()..self.iv_len]);
        let invocation = &mut self.iv[self.iv_len - EXPLICIT_IV..self.iv_len];
        for byte in invocation.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        Ok(())
    }

    /// Sets the last bytes of the vector, which came with a record.
    fn set_invocation(&mut self, invocation: &[u8]) -> Result<()> {
        if !self.iv_counts || !self.messages.has_key() || self.messages.encrypts() {
            return Err(Reason::SILENT);
        }
        let at = self.iv_len.checked_sub(invocation.len()).ok_or(Reason::INVALID_IV_LENGTH)?;
        self.iv[at..self.iv_len].copy_from_slice(invocation);
        Ok(())
    }

    /// Sets the first bytes of the vector: a sender makes the others random and counts from there.
    fn set_fixed(&mut self, param: &Param<'_>) -> Result<()> {
        // -1 for its length is how `EVP_CTRL_GCM_SET_IV_FIXED` says that this is all of it.
        if param.room() == usize::MAX {
            let iv = param.octets_exactly(self.iv_len)?;
            self.iv[..self.iv_len].copy_from_slice(iv);
        } else {
            let fixed = param.octets()?;
            if fixed.len() < FIXED_IV || self.iv_len < fixed.len() + EXPLICIT_IV {
                return Err(Reason::FAILED_TO_GET_PARAMETER
                    .with("the fixed part of the vector has 4 bytes at least and leaves 8 at least"));
            }
            self.iv[..fixed.len()].copy_from_slice(fixed);
            if self.messages.encrypts() {
                self.randomise(fixed.len())?;
            }
        }
        self.iv_counts = true;
        self.vector = Vector::Given;
        Ok(())
    }

    fn announce_record(&mut self, aad: &[u8]) -> Result<()> {
        let around = if self.messages.encrypts() { EXPLICIT_IV } else { AROUND };
        self.record = Some(Record::announced(aad, around).ok_or(Reason::INVALID_AAD)?);
        self.record_pad = TAG;
        Ok(())
    }

    /// Encrypts or decrypts the record that was announced, in place: 8 bytes of its vector, the data, the tag (RFC 5288 §3).
    /// Tells how many bytes of it count: all, or the data.
    fn pass_record(&mut self, record: Record, mut data: Exchange<'_>) -> Result<usize> {
        self.record = None;
        self.vector = Vector::Used;
        self.messages.abandon();
        let Parts::InPlace(buffer, len) = data.parts() else {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("a record is passed in place"));
        };
        let Some(data_len) = len.checked_sub(AROUND) else {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("a record has 24 bytes at least"));
        };
        let (explicit, rest) = buffer[..len].split_at_mut(EXPLICIT_IV);
        let (data, tag) = rest.split_at_mut(data_len);
        if self.messages.encrypts() {
            self.records.count()?;
            let nonce = self.iv;
            self.count_vector(explicit)?;
            self.tag = self.messages.seal(&nonce[..self.iv_len], &record.aad, data.into())?;
            tag.copy_from_slice(&self.tag);
        } else {
            self.set_invocation(explicit)?;
            self.tag.copy_from_slice(tag);
            self.messages.open(&self.iv[..self.iv_len], &record.aad, data.into(), &self.tag)?;
        }
        self.tag_len = Some(TAG);
        Ok(if self.messages.encrypts() { len } else { data_len })
    }

    #[inline(always)]
    fn pass(&mut self, data: InOut<'_>) -> Result<()> {
        self.ready()?;
        let tag = self.tag_len.map(|len| &self.tag[..len]);
        self.messages.pass(data, tag)
    }

    fn set_tag(&mut self, param: &Param<'_>) -> Result<()> {
        let tag = param.octets()?;
        if tag.len() > TAG || !param.has_data() {
            return Err(Reason::FAILED_TO_GET_PARAMETER);
        }
        self.expect(tag)
    }

    fn get_tag(&self, param: &Param<'_>) -> Result<()> {
        let Some(made) = self.tag_len.filter(|_| self.messages.encrypts()) else {
            return Err(Reason::INVALID_TAG);
        };
        let len = if param.has_data() { param.room() } else { made };
        let tag = self.tag.get(..len).filter(|tag| !tag.is_empty()).ok_or(Reason::INVALID_TAG)?;
        param.set_octets(tag)
    }

    fn get_iv(&self, param: &Param<'_>) -> Result<()> {
        if self.vector == Vector::None {
            return Err(Reason::SILENT);
        }
        if param.has_data() && param.is_octets() && param.room() < self.iv_len {
            return Err(Reason::INVALID_IV_LENGTH);
        }
        param.set_octets(self.iv())
    }

    fn set_iv_len(&mut self, len: usize) -> Result<()> {
        if len == 0 || len > MAX_IV {
            return Err(Reason::INVALID_IV_LENGTH);
        }
        if len != self.iv_len {
            // What was given has another length.
            if self.vector != Vector::None {
                self.vector = Vector::Used;
            }
            self.iv_len = len;
        }
        Ok(())
    }
}

impl Context for GcmContext {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"taglen", UNSIGNED_INTEGER),
        OsslParam::described(c"iv", OCTET_STRING),
        OsslParam::described(c"updated-iv", OCTET_STRING),
        OsslParam::described(c"tag", OCTET_STRING),
        OsslParam::described(c"tlsaadpad", UNSIGNED_INTEGER),
        OsslParam::described(c"tlsivgen", OCTET_STRING),
        OsslParam::described(c"iv-generated", UNSIGNED_INTEGER),
        OsslParam::described(c"pipeline-tag", OCTET_PTR),
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"tag", OCTET_STRING),
        OsslParam::described(c"tlsaad", OCTET_STRING),
        OsslParam::described(c"tlsivfixed", OCTET_STRING),
        OsslParam::described(c"tlsivinv", OCTET_STRING),
        OsslParam::described(c"pipeline-tag", OCTET_PTR),
        OsslParam::END,
    ];

    fn new(offer: Offer, spec: &'static Spec) -> Self {
        GcmContext {
            messages: Messages::new(offer, spec),
            vector: Vector::None,
            iv: [0; MAX_IV],
            iv_len: USUAL_IV,
            iv_random: false,
            iv_counts: false,
            tag: [0; TAG],
            tag_len: None,
            record: None,
            records: Records::default(),
            record_pad: 0,
        }
    }

    fn provider(&self) -> Provider {
        self.messages.offer().provider
    }

    fn take(&mut self, direction: Direction, key: &Arc<ServiceKey>) -> Result<()> {
        self.messages.set_direction(direction);
        self.records = Records::default();
        self.messages.take(key)
    }

    fn init(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
        params: Params<'_>,
    ) -> Result<()> {
        self.messages.set_direction(direction);
        if let Some(iv) = iv {
            if iv.is_empty() || iv.len() > MAX_IV {
                return Err(Reason::INVALID_IV_LENGTH);
            }
            self.iv[..iv.len()].copy_from_slice(iv);
            self.iv_len = iv.len();
            self.iv_random = false;
            self.vector = Vector::Given;
        }
        if let Some(key) = key {
            self.messages.set_key(key)?;
            self.records = Records::default();
        }
        self.set(params)
    }

    #[inline]
    fn update_len(&self, input: usize) -> Result<usize> {
        Ok(input)
    }

    #[inline(always)]
    fn quick(&mut self, data: InOut<'_>) -> Option<Result<()>> {
        self.record.is_none().then(|| self.pass(data))
    }

    fn update(&mut self, data: Exchange<'_>) -> Result<usize> {
        match self.record {
            _ if data.input_len() == 0 => Ok(0),
            None => self.cipher(data),
            Some(record) => self.pass_record(record, data),
        }
    }

    const PIPELINED: bool = true;

    fn tag(&self, tag: &mut [u8]) -> Result<()> {
        if self.tag_len.is_none() || !self.messages.encrypts() {
            return Err(Reason::INVALID_TAG);
        }
        tag.copy_from_slice(self.tag.get(..tag.len()).ok_or(Reason::INVALID_TAG)?);
        Ok(())
    }

    fn expect(&mut self, tag: &[u8]) -> Result<()> {
        if tag.is_empty() || tag.len() > TAG || self.messages.encrypts() {
            return Err(Reason::INVALID_TAG);
        }
        self.tag[..tag.len()].copy_from_slice(tag);
        self.tag_len = Some(tag.len());
        Ok(())
    }

    fn associate(&mut self, data: &[u8]) -> Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        if self.record.take().is_some() {
            self.vector = Vector::Used;
            return Err(Reason::CIPHER_OPERATION_FAILED.with("a record has no other associated data"));
        }
        self.ready()?;
        self.messages.associate(data)?;
        Ok(data.len())
    }

    fn finish(&mut self, _out: &mut [u8; LAST]) -> Result<usize> {
        if self.record.take().is_some() {
            self.vector = Vector::Used;
            return Err(Reason::CIPHER_OPERATION_FAILED.with("a record was announced and didn't come"));
        }
        self.ready()?;
        if self.messages.encrypts() {
            self.vector = Vector::Used;
            self.tag = self.messages.tag()?;
            self.tag_len = Some(TAG);
            return Ok(0);
        }
        let len = self.tag_len.ok_or(Reason::TAG_NOT_SET)?;
        self.vector = Vector::Used;
        self.messages.verify(&self.tag[..len])?;
        Ok(0)
    }

    fn cipher(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let len = data.input_len();
        match self.record {
            None => self.pass(data.pass()?)?,
            Some(record) => {
                self.pass_record(record, data)?;
            }
        }
        Ok(len)
    }

    fn end(&mut self) -> Result<usize> {
        self.finish(&mut [0; LAST])
    }

    fn draw(&mut self, params: Params<'_>) -> Result<()> {
        for param in params {
            // From OpenSSL 4.0 on who asks for the vector before the first data has the random one made.
            if matches!(param.key().to_bytes(), b"iv" | b"updated-iv")
                && self.vector == Vector::None
                && self.record.is_none()
                && self.messages.encrypts()
                && self.iv_len >= USUAL_IV
                && self.messages.offer().provider.configuration().openssl >= 4
            {
                self.randomise(0)?;
            }
            if param.key() == c"tlsivgen" {
                if !param.has_data() || !param.is_octets() {
                    return Err(Reason::SILENT);
                }
                // Room for none means that there is room for all.
                let len = if param.room() == 0 { self.iv_len } else { param.room().min(self.iv_len) };
                let (nonce, mut part) = (self.iv, [0; MAX_IV]);
                self.count_vector(&mut part[..len])?;
                param.fill(&part[..len])?;
                self.messages.begin(&nonce[..self.iv_len])?;
                self.vector = Vector::InUse;
            }
        }
        Ok(())
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"tag" => self.get_tag(&param)?,
                b"ivlen" => param.set_size(self.iv_len)?,
                b"tlsaadpad" => param.set_size(self.record_pad)?,
                b"updated-iv" | b"iv" => self.get_iv(&param)?,
                b"keylen" => param.set_size(self.messages.offer().traits.key)?,
                b"taglen" => param.set_size(self.tag_len.unwrap_or(TAG))?,
                b"iv-generated" => param.set_bool(self.iv_random)?,
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
                b"ivlen" => self.set_iv_len(param.size()?)?,
                b"tlsivfixed" => self.set_fixed(&param)?,
                b"tlsivinv" => {
                    self.set_invocation(param.octets()?)?;
                    self.begin()?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::aead::RECORD_AAD;

    #[test]
    fn a_key_encrypts_no_more_records_than_there_are_vectors() {
        let mut records = Records(u64::MAX - 1);
        assert_eq!(records.count(), Ok(()));
        assert_eq!(records.count(), Err(Reason::TOO_MANY_RECORDS));
        assert_eq!(records.count(), Err(Reason::TOO_MANY_RECORDS));
    }

    #[test]
    fn a_record_says_the_length_of_its_plaintext() {
        let mut aad = [0; RECORD_AAD];
        [aad[11], aad[12]] = [1, 24];
        let record = Record::announced(&aad, AROUND).unwrap();
        assert_eq!((record.len, &record.aad[11..]), (256, &[1, 0][..]));
        assert!(Record::announced(&aad[..12], AROUND).is_none());
        [aad[11], aad[12]] = [0, 23];
        assert!(Record::announced(&aad, AROUND).is_none());
    }
}
