//! TLS records under CBC and stream suites, where libssl computes MACs and each update is a record. For CBC suites the
//! ciphers pad.
//!
//! Nobody is told whether padding is right: a record whose padding is wrong comes with a MAC that is wrong.
//!
//! Ref. RFC 5246 §6.2.3.2; `tls-version`, `tls-mac-size` and `tls-mac` in EVP_EncryptInit(3).

use millstream::EngineError;
use millstream::hash::MAX_DIGEST;
use millstream::tls;
use zeroize::Zeroize;

use super::common::random;
use crate::error::{Reason, Result};
use crate::params::Param;

/// TLS 1.0, the last whose records have no vector of their own.
const TLS1: u32 = 0x0301;

/// Versions with a vector in each record: TLS 1.1 and 1.2, DTLS 1.0 (also as OpenSSL once had it) and 1.2.
const WITH_VECTOR: [u32; 5] = [0x0302, 0x0303, 0xfeff, 0x0100, 0xfefd];

/// The state that a context keeps of its records.
#[derive(Clone, Default)]
pub struct Records {
    pub version: u32,
    /// The bytes of MAC to be taken off; 0 if the MAC is over the ciphertext.
    pub mac_len: usize,
    mac: Mac,
    /// The bytes that replace the MAC where the padding is wrong. Nobody outside can guess them.
    decoy: Option<Mac>,
}

/// A MAC, in the first bytes.
#[derive(Clone)]
struct Mac([u8; MAX_DIGEST]);

impl Default for Mac {
    fn default() -> Self {
        Mac([0; MAX_DIGEST])
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Records {
    /// Tells whether updates are records at all.
    pub fn on(&self) -> bool {
        self.version != 0
    }

    /// Returns the MAC of the record that was decrypted last.
    pub fn mac(&self) -> &[u8] {
        &self.mac.0[..self.mac_len]
    }

    /// Takes `tls-version` and `tls-mac-size`, and tells whether the parameter was one of them.
    ///
    /// # Errors
    /// The parameter is no number, or no MAC is so long.
    pub fn set(records: &mut Option<Box<Self>>, param: &Param<'_>) -> Result<bool> {
        match param.key().to_bytes() {
            b"tls-version" => records.get_or_insert_default().version = param.uint()?,
            b"tls-mac-size" => {
                let len = param.size()?;
                if len > MAX_DIGEST {
                    return Err(Reason::FAILED_TO_GET_PARAMETER);
                }
                records.get_or_insert_default().mac_len = len;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes the MAC off a decrypted record of a stream suite, and returns its bytes of data.
    pub fn open_stream(&mut self, record: &[u8]) -> Result<usize> {
        let len = record.len().checked_sub(self.mac_len).ok_or(Reason::CIPHER_OPERATION_FAILED)?;
        self.mac.0[..self.mac_len].copy_from_slice(&record[len..]);
        Ok(len)
    }

    /// Takes padding and MAC off a decrypted record, with its vector if it has one, and returns its bytes of data.
    pub fn open(&mut self, record: &[u8], block: usize) -> Result<usize> {
        let vector = match self.version {
            TLS1 => 0,
            version if WITH_VECTOR.contains(&version) => block,
            _ => return Err(Reason::CIPHER_OPERATION_FAILED.with("records of SSL 3 are not supported")),
        };
        let record = record.get(vector..).ok_or(Reason::CIPHER_OPERATION_FAILED)?;
        let unpadded = tls::remove_padding(record, self.mac_len).map_err(|error| match error {
            EngineError::Padding => Reason::CIPHER_OPERATION_FAILED,
            error => error.into(),
        })?;
        if self.mac_len > 0 {
            if self.decoy.is_none() {
                let mut decoy = Mac::default();
                random(&mut decoy.0)?;
                self.decoy = Some(decoy);
            }
            if let Some(decoy) = &self.decoy {
                self.mac = Mac(unpadded.mac_or(&decoy.0));
            }
        }
        Ok(unpadded.len())
    }
}
