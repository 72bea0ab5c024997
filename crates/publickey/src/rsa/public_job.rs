//! One public operation among many: a verification, an encryption or the bare power.

use std::fmt;

use millstream_engines::hash::{Hash, MAX_DIGEST};

use super::encoding::{Block, Oaep, Pss};
use super::lengths::{AS_DIGEST, AS_MODULUS, length, room};
use super::numbers::Number;
use super::{PublicKey, oaep, pkcs1, pss};
use crate::montgomery::words;
use crate::{Error, Random};

/// A public operation with a key and a result of its own, for [`Lanes::run_public`](super::Lanes::run_public).
///
/// An error that is found when the job is made is kept in [`PublicJob::result`].
pub struct PublicJob<'a> {
    pub(super) key: &'a PublicKey,
    input: Block,
    end: End<'a>,
    /// Success, or the reason why the signature does not verify or nothing was written. It is success until the job is run.
    pub result: Result<(), Error>,
}

/// The end of a job, once there is its power.
enum End<'a> {
    /// The power is the result.
    Write(&'a mut [u8]),
    /// The power must be this block.
    Compare(Box<Block>),
    /// The power must be a block of PSS with this digest.
    Pss(Pss, [u8; MAX_DIGEST]),
}

impl<'a> PublicJob<'a> {
    /// Makes a job that does what [`PublicKey::raw`] does.
    pub fn raw(key: &'a PublicKey, input: &[u8], out: &'a mut [u8]) -> Self {
        let fits =
            if out.len() == key.size() { Ok(()) } else { Err(length("output", out.len(), AS_MODULUS)) };
        PublicJob::of(key, fits.and_then(|()| block(key, input)), Ok(End::Write(out)))
    }

    /// Makes a job that does what [`PublicKey::verify_pkcs1_vartime`] does.
    pub fn verify_pkcs1(key: &'a PublicKey, hash: Hash, message: &[u8], signature: &[u8]) -> Self {
        PublicJob::verify_pkcs1_digest(key, hash, &key.digest(hash, message), signature)
    }

    /// Makes a job that does what [`PublicKey::verify_pkcs1_digest_vartime`] does.
    pub fn verify_pkcs1_digest(key: &'a PublicKey, hash: Hash, digest: &[u8], signature: &[u8]) -> Self {
        let mut expected = Block::new(key.size());
        let encoded = pkcs1::encode(hash, digest, expected.bytes());
        let input = block(key, signature).map_err(|_| Error::Signature);
        PublicJob::of(key, input, encoded.map(|()| End::Compare(Box::new(expected))))
    }

    /// Makes a job that does what [`PublicKey::verify_pss_vartime`] does.
    pub fn verify_pss(key: &'a PublicKey, pss: &Pss, message: &[u8], signature: &[u8]) -> Self {
        PublicJob::verify_pss_digest(key, pss, &key.digest(pss.hash, message), signature)
    }

    /// Makes a job that does what [`PublicKey::verify_pss_digest_vartime`] does.
    pub fn verify_pss_digest(key: &'a PublicKey, pss: &Pss, digest: &[u8], signature: &[u8]) -> Self {
        let input = block(key, signature).map_err(|_| Error::Signature);
        let mut expected = [0; MAX_DIGEST];
        let fits = if digest.len() == pss.hash.output_len() {
            expected[..digest.len()].copy_from_slice(digest);
            Ok(End::Pss(*pss, expected))
        } else {
            Err(length("digest", digest.len(), AS_DIGEST))
        };
        PublicJob::of(key, input, fits)
    }

    /// Makes a job that does what [`PublicKey::encrypt_oaep`] does. The ciphertext is as long as the modulus.
    pub fn encrypt_oaep(
        key: &'a PublicKey,
        oaep: &Oaep<'_>,
        random: &mut dyn Random,
        message: &[u8],
        out: &'a mut [u8],
    ) -> Self {
        let mut input = Block::new(key.size());
        let encoded = oaep::encode(key.features(), oaep, random, message, input.bytes());
        PublicJob::of(key, encoded.map(|()| input), room(out, key.size()).map(End::Write))
    }

    /// Makes a job that does what [`PublicKey::encrypt_pkcs1`] does. The ciphertext is as long as the modulus.
    pub fn encrypt_pkcs1(
        key: &'a PublicKey,
        random: &mut dyn Random,
        message: &[u8],
        out: &'a mut [u8],
    ) -> Self {
        let mut input = Block::new(key.size());
        let padded = pkcs1::pad_for_encryption(random, message, input.bytes());
        PublicJob::of(key, padded.map(|()| input), room(out, key.size()).map(End::Write))
    }

    fn of(key: &'a PublicKey, input: Result<Block, Error>, end: Result<End<'a>, Error>) -> Self {
        match (input, end) {
            (Ok(input), Ok(end)) => PublicJob { key, input, end, result: Ok(()) },
            (_, Err(error)) | (Err(error), _) => {
                PublicJob { key, input: Block::new(0), end: End::Write(&mut []), result: Err(error) }
            }
        }
    }

    /// Reads the number to be raised into `number`; returns false when there is nothing to do.
    pub(super) fn begin(&mut self, number: &mut Number) -> bool {
        if self.result.is_ok() {
            match (self.key.read(self.input.get()), &self.end) {
                (Ok(input), _) => *number = *input,
                (Err(error), End::Write(_)) => self.result = Err(error),
                // A signature that is no number below the modulus does not verify.
                (Err(_), _) => self.result = Err(Error::Signature),
            }
        }
        self.result.is_ok()
    }

    /// Makes the result of the power.
    pub(super) fn end(&mut self, power: &Number) {
        let mut block = Block::new(self.key.size());
        words::write(power, block.bytes());
        self.result = match &mut self.end {
            End::Write(out) => {
                out.copy_from_slice(block.get());
                Ok(())
            }
            End::Compare(expected) if expected.get() == block.get() => Ok(()),
            End::Compare(_) => Err(Error::Signature),
            End::Pss(parameters, digest) => {
                let (bits, digest) = (self.key.bits() - 1, &digest[..parameters.hash.output_len()]);
                pss::verify_vartime(self.key.features(), parameters, digest, bits, block.bytes())
            }
        };
    }
}

impl fmt::Debug for PublicJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job of {:?}: {:?}", self.key, self.result)
    }
}

/// A signature or another number, which must be as long as the modulus.
fn block(key: &PublicKey, input: &[u8]) -> Result<Block, Error> {
    let mut block = Block::new(key.size());
    if input.len() != key.size() {
        return Err(length("input", input.len(), AS_MODULUS));
    }
    block.bytes().copy_from_slice(input);
    Ok(block)
}
