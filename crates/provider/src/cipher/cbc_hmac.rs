//! AES-CBC with HMAC in one cipher: whole records of TLS 1.0 to 1.2.
//!
//! The header of a record comes as `tlsaad`, and the next update is the record. Without a header an update is plain
//! CBC.
//!
//! Ref. RFC 5246 §6.2.3.2; `EVP_CTRL_AEAD_TLS1_AAD` in EVP_EncryptInit(3).

use std::sync::Arc;

use millstream::hash::Hash;
use millstream::modes::{BlockMode, Direction};
use millstream::tally::Place;
use millstream::tls::{CbcHmac, HEADER};
use millstream::{EngineError, InOut};
use zeroize::Zeroizing;

use super::common::{Common, set_all};
use super::multi_block::{BLOCK, MultiBlock, announced};
use super::{Context, LAST, Registration};
use crate::abi::{OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::error::{Reason, Result};
use crate::exchange::{Exchange, Parts};
use crate::params::{Param, Params};

/// The parameters of one such cipher.
pub struct Spec {
    /// The name under which the cipher is counted.
    pub name: &'static str,
    pub hash: Hash,
}

/// The header of the record that comes next.
#[derive(Clone, Copy)]
struct Header {
    /// The number, type and version.
    bytes: [u8; HEADER],
    /// True if the record has a vector of its own.
    vector: bool,
    /// Bytes of data, if the record is to be sealed.
    payload: usize,
}

/// The context behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct CbcHmacContext {
    common: Common,
    spec: &'static Spec,
    cipher_key: Zeroizing<Vec<u8>>,
    keys: Option<Arc<CbcHmac>>,
    header: Option<Header>,
    /// The bytes by which the record grows.
    growth: usize,
    multi: MultiBlock,
    /// The version of TLS that libssl names; 0 outside of TLS.
    version: u32,
}

impl CbcHmacContext {
    fn set_keys(&mut self, mac_key: &[u8]) -> Result<()> {
        let keys = CbcHmac::new(millstream::features()?, self.spec.hash, &self.cipher_key, mac_key)?;
        self.common.bind(Place::InProcess, self.spec.name, keys.cipher().kernel().name);
        self.keys = Some(Arc::new(keys));
        Ok(())
    }

    /// Takes a header: 13 bytes, of which the last two are the length of what follows.
    fn set_header(&mut self, param: &Param<'_>) -> Result<()> {
        let (bytes, vector, mut payload) = announced(param.octets()?)?;
        let mac = self.spec.hash.output_len();
        if self.common.direction == Direction::Decrypt {
            self.growth = mac;
            payload = 0;
        } else {
            if vector {
                payload = payload.checked_sub(BLOCK).ok_or(Reason::INVALID_AAD)?;
            }
            self.growth = millstream::tls::padded_len(payload + mac, BLOCK) - payload;
        }
        self.header = Some(Header { bytes, vector, payload });
        Ok(())
    }

    /// Encrypts or decrypts a record, or plain blocks, in place. Returns how many bytes count.
    fn crypt_record(&mut self, record: &mut [u8]) -> Result<usize> {
        let keys = self.keys.as_deref().ok_or(Reason::NO_KEY_SET)?;
        let Common { direction, chain, count, .. } = &mut self.common;
        let len = record.len();
        if !len.is_multiple_of(BLOCK) {
            return Err(Reason::CIPHER_OPERATION_FAILED);
        }
        count.add(len);
        match (self.header.take(), *direction) {
            (None, direction) => {
                keys.cipher().pass(direction, chain, InOut::in_place(record));
                Ok(len)
            }
            (Some(header), Direction::Encrypt) => {
                keys.seal(chain, &header.bytes, record, header.vector, header.payload)?;
                Ok(len)
            }
            (Some(header), Direction::Decrypt) => {
                let opened =
                    keys.open(chain, &header.bytes, record, header.vector).map_err(|error| match error {
                        EngineError::Authentication => Reason::CIPHER_OPERATION_FAILED,
                        error => error.into(),
                    })?;
                Ok(if self.version == 0 { len } else { opened.len() })
            }
        }
    }
}

impl Context for CbcHmacContext {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"tlsaadpad", UNSIGNED_INTEGER),
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"iv", OCTET_STRING),
        OsslParam::described(c"updated-iv", OCTET_STRING),
        OsslParam::described(c"tls1multi_maxbufsz", UNSIGNED_INTEGER),
        OsslParam::described(c"tls1multi_interleave", UNSIGNED_INTEGER),
        OsslParam::described(c"tls1multi_aadpacklen", UNSIGNED_INTEGER),
        OsslParam::described(c"tls1multi_enclen", UNSIGNED_INTEGER),
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"mackey", OCTET_STRING),
        OsslParam::described(c"tlsaad", OCTET_STRING),
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"tls-version", UNSIGNED_INTEGER),
        OsslParam::described(c"tls1multi_maxsndfrag", UNSIGNED_INTEGER),
        OsslParam::described(c"tls1multi_aad", OCTET_STRING),
        OsslParam::described(c"tls1multi_interleave", UNSIGNED_INTEGER),
        OsslParam::described(c"tls1multi_enc", OCTET_STRING),
        OsslParam::described(c"tls1multi_encin", OCTET_STRING),
        OsslParam::END,
    ];

    fn new(registration: Registration, spec: &'static Spec) -> Self {
        CbcHmacContext {
            common: Common::new(registration),
            spec,
            cipher_key: Zeroizing::default(),
            keys: None,
            header: None,
            growth: 0,
            multi: MultiBlock::default(),
            version: 0,
        }
    }

    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()> {
        self.header = None;
        self.common.begin(direction, iv, true)
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        self.common.check_key(key)?;
        self.cipher_key = Zeroizing::new(key.to_vec());
        self.set_keys(&[])
    }

    fn update_len(&self, input: usize) -> Result<usize> {
        if self.keys.is_none() {
            return Err(Reason::NO_KEY_SET);
        }
        Ok(input)
    }

    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        match data.parts() {
            Parts::InPlace(buffer, len) => self.crypt_record(&mut buffer[..len]),
            Parts::Apart(input, output) => {
                output.copy_from_slice(input);
                self.crypt_record(output)
            }
        }
    }

    fn finish(&mut self, _out: &mut [u8; LAST]) -> Result<usize> {
        self.update_len(0)
    }

    fn cipher(&mut self, data: Exchange<'_>) -> Result<usize> {
        let len = data.input_len();
        self.update(data).map(|_| len)
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        params.into_iter().try_for_each(|param| match param.key().to_bytes() {
            b"tlsaadpad" => param.set_size(self.growth),
            _ => match self.multi.get(&param, self.spec.hash.output_len()) {
                Some(answered) => answered,
                None => self.common.get(&param),
            },
        })
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        let (encrypts, provider) =
            (self.common.direction == Direction::Encrypt, self.common.registration.provider);
        self.multi.set(params, self.keys.as_deref(), encrypts, provider)?;
        if let Some(data) = params.find(c"tls1multi_encin") {
            self.common.count.add(data.room());
        }
        set_all(params, |param| match param.key().to_bytes() {
            b"mackey" if self.keys.is_none() => Err(Reason::NO_KEY_SET),
            b"mackey" => self.set_keys(param.octets()?),
            b"tlsaad" => self.set_header(param),
            b"tls-version" => param.uint().map(|version| self.version = version),
            _ => self.common.set(param),
        })
    }
}
