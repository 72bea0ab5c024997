//! One private operation among many, and the functions of a lane kernel.

use std::fmt;

use millstream_engines::hash::Hash;
use millstream_kernel::Crossover;

use super::encoding::{Block, Oaep, Pss};
use super::lengths::{AS_MODULUS, FOR_MODULUS, length};
use super::numbers::Number;
use super::{PrivateKey, pkcs1};
use crate::montgomery::{PublicPower, SecretPower};
use crate::{Error, Random};

/// The functions of a lane kernel, and its sizes.
#[derive(Debug)]
pub struct LanesOps {
    /// Powers that one call computes.
    pub(super) width: usize,
    /// The least number of private operations for which lanes take less time than the direct kernel.
    pub(super) crossover: Crossover,
    /// The same for public operations.
    pub(super) public_crossover: Crossover,
    /// Computes at most `width` powers with secret exponents, whose moduli are of the same size for the kernel.
    pub(super) secret: unsafe fn(&mut [SecretPower<'_>]),
    /// Computes at most `width` powers with public exponents, whose moduli are of the same size for the kernel.
    pub(super) public: unsafe fn(&mut [PublicPower<'_>]),
}

/// A private operation with a key and a result of its own, for [`Lanes`](super::Lanes).
///
/// The padding that comes before the power is made with the job. An error is kept in [`Job::result`].
pub struct Job<'a> {
    pub(super) key: &'a PrivateKey,
    input: Block,
    end: End<'a>,
    out: &'a mut [u8],
    /// The length of what was written to the front of the job's output, or the reason why nothing was. It is zero until the job is run.
    pub result: Result<usize, Error>,
}

/// The end of a job, once there is its power.
enum End<'a> {
    /// The power is the result.
    Release,
    Oaep(Oaep<'a>),
    Pkcs1,
}

impl<'a> Job<'a> {
    /// Makes a job that does what [`PrivateKey::raw`] does.
    pub fn raw(key: &'a PrivateKey, input: &[u8], out: &'a mut [u8]) -> Self {
        let fits =
            if out.len() == key.size() { Ok(()) } else { Err(length("output", out.len(), AS_MODULUS)) };
        Job::of(key, fits.and_then(|()| block(key, input)), End::Release, out)
    }

    /// Makes a job that does what [`PrivateKey::sign_pkcs1`] does.
    pub fn sign_pkcs1(key: &'a PrivateKey, hash: Hash, message: &[u8], out: &'a mut [u8]) -> Self {
        Job::sign_pkcs1_digest(key, hash, &key.public_key().digest(hash, message), out)
    }

    /// Makes a job that does what [`PrivateKey::sign_pkcs1_digest`] does.
    pub fn sign_pkcs1_digest(key: &'a PrivateKey, hash: Hash, digest: &[u8], out: &'a mut [u8]) -> Self {
        let mut input = Block::new(key.size());
        let encoded = pkcs1::encode(hash, digest, input.bytes());
        Job::of(key, encoded.map(|()| input), End::Release, out)
    }

    /// Makes a job that does what [`PrivateKey::sign_pkcs1_encoded`] does.
    pub fn sign_pkcs1_encoded(key: &'a PrivateKey, encoded: &[u8], out: &'a mut [u8]) -> Self {
        let mut input = Block::new(key.size());
        let padded = pkcs1::pad(encoded, input.bytes());
        Job::of(key, padded.map(|()| input), End::Release, out)
    }

    /// Makes a job that does what [`PrivateKey::sign_pss`] does.
    pub fn sign_pss(
        key: &'a PrivateKey,
        pss: &Pss,
        random: &mut dyn Random,
        message: &[u8],
        out: &'a mut [u8],
    ) -> Self {
        Job::sign_pss_digest(key, pss, random, &key.public_key().digest(pss.hash, message), out)
    }

    /// Makes a job that does what [`PrivateKey::sign_pss_digest`] does.
    pub fn sign_pss_digest(
        key: &'a PrivateKey,
        pss: &Pss,
        random: &mut dyn Random,
        digest: &[u8],
        out: &'a mut [u8],
    ) -> Self {
        Job::of(key, key.pss_block(pss, random, digest), End::Release, out)
    }

    /// Makes a job that does what [`PrivateKey::decrypt_oaep`] does.
    pub fn decrypt_oaep(key: &'a PrivateKey, oaep: Oaep<'a>, ciphertext: &[u8], out: &'a mut [u8]) -> Self {
        Job::of(key, block(key, ciphertext), End::Oaep(oaep), out)
    }

    /// Makes a job that does what [`PrivateKey::decrypt_pkcs1`] does.
    pub fn decrypt_pkcs1(key: &'a PrivateKey, ciphertext: &[u8], out: &'a mut [u8]) -> Self {
        let fits = pkcs1::room_for_message(key.size(), out.len());
        Job::of(key, fits.and_then(|()| block(key, ciphertext)), End::Pkcs1, out)
    }

    fn of(key: &'a PrivateKey, input: Result<Block, Error>, end: End<'a>, out: &'a mut [u8]) -> Self {
        let (input, result) = match input {
            // A signature's room is examined before the power is computed.
            Ok(_) if matches!(end, End::Release) && out.len() < key.size() => {
                (Block::new(0), Err(length("output", out.len(), FOR_MODULUS)))
            }
            Ok(input) => (input, Ok(0)),
            Err(error) => (Block::new(0), Err(error)),
        };
        Job { key, input, end, out, result }
    }

    /// Reads the number to be raised into `number`; returns false when there is nothing to do.
    pub(super) fn begin(&mut self, number: &mut Number) -> bool {
        if self.result.is_ok() {
            match self.key.public_key().read(self.input.get()) {
                Ok(input) => *number = *input,
                Err(error) => self.result = Err(error),
            }
        }
        self.result.is_ok()
    }

    /// Makes the result of the power, which was verified.
    pub(super) fn end(&mut self, power: &Number) {
        let size = self.key.size();
        let mut block = Block::new(size);
        crate::montgomery::words::write(power, block.bytes());
        self.result = match &self.end {
            End::Release => {
                self.out[..size].copy_from_slice(block.get());
                Ok(size)
            }
            End::Oaep(oaep) => self.key.finish_oaep(oaep, &mut block, self.out),
            End::Pkcs1 => self.key.finish_pkcs1(self.input.get(), &mut block, self.out),
        };
    }
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job of {:?}: {:?}", self.key, self.result)
    }
}

/// A ciphertext or another number, which must be as long as the modulus.
fn block(key: &PrivateKey, input: &[u8]) -> Result<Block, Error> {
    let mut block = Block::new(key.size());
    if input.len() != key.size() {
        return Err(length("input", input.len(), AS_MODULUS));
    }
    block.bytes().copy_from_slice(input);
    Ok(block)
}
