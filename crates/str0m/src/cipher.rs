//! Ciphers of one session: a key bound to its kernel, as str0m hands packets to it.
//!
//! Ref. RFC 3711 §4.1.1, RFC 7714 §8 and §9.

use std::borrow::Cow;
use std::fmt;

use millstream::aead::{Aead, TAG};
use millstream::aes::Ctr;
use millstream::gcm::Gcm;
use millstream::{EngineError, Features, InOut};
use str0m::crypto::{AeadAes128GcmCipher, AeadAes256GcmCipher, Aes128CmSha1_80Cipher, CryptoError};

/// AES in counter mode. str0m makes the counter blocks, and authenticates packets itself, with the HMAC of its provider.
pub(crate) struct CounterMode(Ctr);

impl CounterMode {
    pub(crate) fn new(features: Features, key: &[u8]) -> Result<Self, EngineError> {
        Ctr::new(features, key).map(CounterMode)
    }

    /// Encrypts or decrypts a packet to the beginning of the output. str0m gives room behind it, which other libraries need.
    fn apply(&self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        let output = output.get_mut(..input.len()).ok_or_else(too_short)?;
        self.0.apply(iv, InOut::separate(input, output).map_err(failed)?);
        Ok(())
    }
}

impl Aes128CmSha1_80Cipher for CounterMode {
    fn encrypt(&mut self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        self.apply(iv, input, output)
    }

    fn decrypt(&mut self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        self.apply(iv, input, output)
    }
}

/// AES-GCM with a key of either length. A packet has its tag of 16 bytes behind it.
pub(crate) struct Sealer(Gcm);

impl Sealer {
    pub(crate) fn new(features: Features, key: &[u8]) -> Result<Self, EngineError> {
        Gcm::new(features, key).map(Sealer)
    }

    /// Encrypts a packet to the beginning of the output, and puts its tag behind it.
    fn seal(&self, iv: &[u8; 12], aad: &[u8], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        let output = output.get_mut(..input.len() + TAG).ok_or_else(too_short)?;
        let (data, place) = output.split_at_mut(input.len());
        let mut tag = [0; TAG];
        self.0.seal(iv, aad, InOut::separate(input, data).map_err(failed)?, &mut tag).map_err(failed)?;
        place.copy_from_slice(&tag);
        Ok(())
    }

    /// Decrypts a packet with its tag behind it, if the tag is right; else as many bytes of the output are zero. Returns the bytes without
    /// the tag. The associated data comes in parts.
    fn open(
        &self,
        iv: &[u8; 12],
        aad: &[&[u8]],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let (data, tag) =
            input.split_last_chunk::<TAG>().ok_or_else(|| failed(EngineError::Authentication))?;
        let output = output.get_mut(..data.len()).ok_or_else(too_short)?;
        self.0.open(iv, &joined(aad), InOut::separate(data, output).map_err(failed)?, tag).map_err(failed)?;
        Ok(data.len())
    }
}

/// Joins the parts of associated data. All but packets of SRTCP that are not encrypted have one part.
fn joined<'a>(parts: &[&'a [u8]]) -> Cow<'a, [u8]> {
    let mut filled = parts.iter().filter(|part| !part.is_empty());
    match (filled.next(), filled.next()) {
        (None, _) => Cow::Borrowed(&[]),
        (Some(part), None) => Cow::Borrowed(part),
        _ => Cow::Owned(parts.concat()),
    }
}

impl AeadAes128GcmCipher for Sealer {
    fn encrypt(
        &mut self,
        iv: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), CryptoError> {
        self.seal(iv, aad, input, output)
    }

    fn decrypt(
        &mut self,
        iv: &[u8; 12],
        aads: &[&[u8]],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, CryptoError> {
        self.open(iv, aads, input, output)
    }
}

impl AeadAes256GcmCipher for Sealer {
    fn encrypt(
        &mut self,
        iv: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), CryptoError> {
        self.seal(iv, aad, input, output)
    }

    fn decrypt(
        &mut self,
        iv: &[u8; 12],
        aads: &[&[u8]],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, CryptoError> {
        self.open(iv, aads, input, output)
    }
}

/// Shows the kernel, and nothing of the key.
impl fmt::Debug for CounterMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CounterMode").field(&self.0.kernel().name).finish()
    }
}

/// Shows the kernel, and nothing of the key.
impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sealer").field(&self.0.kernel().name).finish()
    }
}

fn failed(error: EngineError) -> CryptoError {
    CryptoError::Other(error.to_string())
}

#[cold]
fn too_short() -> CryptoError {
    CryptoError::Other(
        "the output has no room for the packet: give as many bytes as the input, and 16 for a tag".to_owned(),
    )
}
