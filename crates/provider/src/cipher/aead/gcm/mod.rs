//! AES-GCM: which calls its contexts accept, and when.
//!
//! A vector is for one message. Encryption without a vector makes a random one, which the caller can ask for, as the
//! default provider does. Its bytes come from the kernel (`getrandom(2)`), not from OpenSSL's generators, which a
//! provider has no way to call.
//!
//! Ref. NIST SP 800-38D; RFC 5288 for TLS 1.2; EVP_EncryptInit(3), "GCM and OCB Modes".

mod vector;

use std::sync::Arc;

use millstream::gcm::{Gcm, State};
use millstream::isolated::ServiceKey;
use millstream::modes::Direction;
use millstream::{EngineError, Features, InOut, cwq};

use self::vector::{EXPLICIT_IV, MAX_IV, Stage, USUAL_IV, Vector};
use super::algorithm::Algorithm;
use super::message::Messages;
use super::{Record, Spec, TAG};
use crate::abi::{OCTET_PTR, OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::cipher::{Context, LAST, Registration};
use crate::error::{Reason, Result};
use crate::exchange::{Exchange, Parts};
use crate::params::{Param, Params};

/// The bytes that a record has beside its data.
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

/// Counts the records that were encrypted under a key.
#[derive(Clone, Default)]
struct Records(u64);

impl Records {
    /// Counts one more record, and fails after as many as there are vectors.
    fn count(&mut self) -> Result<()> {
        self.0 = self.0.checked_add(1).ok_or(Reason::TOO_MANY_RECORDS)?;
        Ok(())
    }
}

/// The context behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct GcmContext {
    messages: Messages<AesGcm>,
    vector: Vector,
    tag: [u8; TAG],
    /// The length of the tag that a message made or should have.
    tag_len: Option<usize>,
    record: Option<Record>,
    records: Records,
    record_pad: usize,
}

impl GcmContext {
    /// Begins a message unless one is under way.
    #[inline(always)]
    fn ready(&mut self) -> Result<()> {
        match self.vector.stage {
            Stage::InUse => Ok(()),
            Stage::Given => self.begin(),
            _ => self.ready_without_vector(),
        }
    }

    #[cold]
    fn ready_without_vector(&mut self) -> Result<()> {
        let refused = Reason::CIPHER_OPERATION_FAILED;
        if !self.messages.has_key() {
            return Err(refused.with("no key is set"));
        }
        if self.vector.stage == Stage::Used {
            return Err(refused.with("the vector was used for a message: set another for the next"));
        }
        if !self.messages.encrypts() {
            return Err(refused.with("no vector is set"));
        }
        if self.vector.len() < USUAL_IV {
            return Err(refused.with("no vector is set, and a random one would be shorter than 12 bytes"));
        }
        self.vector.randomise(0)?;
        self.begin()
    }

    #[inline]
    fn begin(&mut self) -> Result<()> {
        self.messages.begin(self.vector.bytes())?;
        self.vector.stage = Stage::InUse;
        Ok(())
    }

    /// Writes the last bytes of the vector, and counts it up for the next message.
    fn count_vector(&mut self, out: &mut [u8]) -> Result<()> {
        if !self.vector.counts() || !self.messages.has_key() {
            return Err(Reason::SILENT);
        }
        self.vector.count(out)
    }

    /// Sets the last bytes of the vector, which came with a record.
    fn set_invocation(&mut self, invocation: &[u8]) -> Result<()> {
        if !self.vector.counts() || !self.messages.has_key() || self.messages.encrypts() {
            return Err(Reason::SILENT);
        }
        self.vector.set_last(invocation)
    }

    fn announce_record(&mut self, aad: &[u8]) -> Result<()> {
        let around = if self.messages.encrypts() { EXPLICIT_IV } else { AROUND };
        self.record = Some(Record::announced(aad, around).ok_or(Reason::INVALID_AAD)?);
        self.record_pad = TAG;
        Ok(())
    }

    /// Encrypts or decrypts the record that was announced, in place: 8 bytes of its vector, the data, the tag (RFC 5288
    /// §3). Returns how many bytes count: all of them, or the data.
    fn crypt_record(&mut self, record: Record, mut data: Exchange<'_>) -> Result<usize> {
        self.record = None;
        self.vector.stage = Stage::Used;
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
            let used = self.vector.clone();
            self.count_vector(explicit)?;
            self.tag = self.messages.seal(used.bytes(), &record.aad, data.into())?;
            tag.copy_from_slice(&self.tag);
        } else {
            self.set_invocation(explicit)?;
            self.tag.copy_from_slice(tag);
            self.messages.open(self.vector.bytes(), &record.aad, data.into(), &self.tag)?;
        }
        self.tag_len = Some(TAG);
        Ok(if self.messages.encrypts() { len } else { data_len })
    }

    #[inline(always)]
    fn crypt(&mut self, data: InOut<'_>) -> Result<()> {
        self.ready()?;
        let tag = self.tag_len.map(|len| &self.tag[..len]);
        self.messages.crypt(data, tag)
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
        if self.vector.stage == Stage::None {
            return Err(Reason::SILENT);
        }
        if param.has_data() && param.is_octets() && param.room() < self.vector.len() {
            return Err(Reason::INVALID_IV_LENGTH);
        }
        param.set_octets(self.vector.bytes())
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

    fn new(registration: Registration, spec: &'static Spec) -> Self {
        GcmContext {
            messages: Messages::new(registration, spec),
            vector: Vector::default(),
            tag: [0; TAG],
            tag_len: None,
            record: None,
            records: Records::default(),
            record_pad: 0,
        }
    }

    fn take(&mut self, direction: Direction, key: &Arc<ServiceKey>) -> Result<()> {
        self.messages.set_direction(direction);
        self.records = Records::default();
        self.messages.take(key)
    }

    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()> {
        self.messages.set_direction(direction);
        if let Some(iv) = iv {
            self.vector.give(iv)?;
        }
        Ok(())
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        self.messages.set_key(key)?;
        self.records = Records::default();
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

    fn update(&mut self, data: Exchange<'_>) -> Result<usize> {
        match self.record {
            _ if data.input_len() == 0 => Ok(0),
            None => self.cipher(data),
            Some(record) => self.crypt_record(record, data),
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
            self.vector.stage = Stage::Used;
            return Err(Reason::CIPHER_OPERATION_FAILED.with("a record has no other associated data"));
        }
        self.ready()?;
        self.messages.associate(data)?;
        Ok(data.len())
    }

    fn finish(&mut self, _out: &mut [u8; LAST]) -> Result<usize> {
        if self.record.take().is_some() {
            self.vector.stage = Stage::Used;
            return Err(Reason::CIPHER_OPERATION_FAILED.with("a record was announced and didn't come"));
        }
        self.ready()?;
        if self.messages.encrypts() {
            self.vector.stage = Stage::Used;
            self.tag = self.messages.tag()?;
            self.tag_len = Some(TAG);
            return Ok(0);
        }
        let len = self.tag_len.ok_or(Reason::TAG_NOT_SET)?;
        self.vector.stage = Stage::Used;
        self.messages.verify(&self.tag[..len])?;
        Ok(0)
    }

    fn cipher(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let len = data.input_len();
        match self.record {
            None => self.crypt(data.in_out()?)?,
            Some(record) => {
                self.crypt_record(record, data)?;
            }
        }
        Ok(len)
    }

    fn end(&mut self) -> Result<usize> {
        self.finish(&mut [0; LAST])
    }

    fn draw(&mut self, params: Params<'_>) -> Result<()> {
        for param in params {
            // Since OpenSSL 4.0, a caller who asks for the vector before the first data gets the random one made.
            if matches!(param.key().to_bytes(), b"iv" | b"updated-iv")
                && self.vector.stage == Stage::None
                && self.record.is_none()
                && self.messages.encrypts()
                && self.vector.len() >= USUAL_IV
                && self.messages.registration().provider.configuration().openssl >= (4, 0)
            {
                self.vector.randomise(0)?;
            }
            if param.key() == c"tlsivgen" {
                if !param.has_data() || !param.is_octets() {
                    return Err(Reason::SILENT);
                }
                // Room for no bytes means that there is room for all.
                let whole = self.vector.len();
                let len = if param.room() == 0 { whole } else { param.room().min(whole) };
                let (used, mut part) = (self.vector.clone(), [0; MAX_IV]);
                self.count_vector(&mut part[..len])?;
                param.fill(&part[..len])?;
                self.messages.begin(used.bytes())?;
                self.vector.stage = Stage::InUse;
            }
        }
        Ok(())
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"tag" => self.get_tag(&param)?,
                b"ivlen" => param.set_size(self.vector.len())?,
                b"tlsaadpad" => param.set_size(self.record_pad)?,
                b"updated-iv" | b"iv" => self.get_iv(&param)?,
                b"keylen" => param.set_size(self.messages.registration().info.key)?,
                b"taglen" => param.set_size(self.tag_len.unwrap_or(TAG))?,
                b"iv-generated" => param.set_bool(self.vector.is_random())?,
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
                b"ivlen" => self.vector.set_len(param.size()?)?,
                b"tlsivfixed" => self.vector.set_fixed(&param, self.messages.encrypts())?,
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
