//! Public keys: verification, encryption, and the bare power.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_kernel::{Bound, Kernel};
use zeroize::Zeroizing;

use super::encoding::{Block, Oaep, Pss};
use super::lengths::{AS_DIGEST, AS_MODULUS, length, room};
use super::numbers::{Number, Public};
use super::{MAX_BITS, MIN_BITS, Ops, RSA, oaep, pkcs1, pss};
use crate::montgomery::{Modulus, WORDS, words};
use crate::{Error, Random};

/// An RSA public key, bound to a kernel.
///
/// The functions that verify take a time that depends on the signature and the message, which are public. Those that encrypt do not
/// depend on the message but for its length.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::{Error, rsa::PublicKey};
///
/// let modulus = [0xff; 256];
/// let key = PublicKey::new(Features::hardware(), &modulus, &[1, 0, 1])?;
/// assert_eq!((key.bits(), key.size()), (2048, 256));
/// // The most significant bytes come first, and must be below the modulus.
/// let mut power = [0; 256];
/// assert_eq!(key.raw(&modulus, &mut power), Err(Error::Message));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct PublicKey {
    kernel: Bound<Ops>,
    features: Features,
    numbers: Box<Public>,
}

impl PublicKey {
    /// Makes a key of a modulus of 1024 to 4096 bits and an exponent of at most 64, both big-endian, on the fastest kernel
    /// that `features` allow.
    ///
    /// # Errors
    /// [`Error::Modulus`] when the modulus is even, too short or too long; [`Error::Exponent`] when the exponent is even, less than
    /// three or too long.
    pub fn new(features: Features, modulus: &[u8], exponent: &[u8]) -> Result<Self, Error> {
        PublicKey::with_kernel(RSA.best(features), features, modulus, exponent)
    }

    /// Does the same with a given kernel. `features` choose the kernels of hashes.
    ///
    /// # Errors
    /// Fails as [`PublicKey::new`].
    pub fn with_kernel(
        kernel: Bound<Ops>,
        features: Features,
        modulus: &[u8],
        exponent: &[u8],
    ) -> Result<Self, Error> {
        let (mut n, mut e) = ([0; WORDS], [0]);
        if !words::read(modulus, &mut n) {
            return Err(Error::Modulus);
        }
        let bits = words::bits_vartime(&n);
        if !(MIN_BITS..=MAX_BITS).contains(&bits) || n[0] & 1 == 0 {
            return Err(Error::Modulus);
        }
        if !words::read(exponent, &mut e) || e[0] & 1 == 0 || e[0] < 3 {
            return Err(Error::Exponent);
        }
        let mut numbers = Box::new(Public { modulus: Modulus::empty(), exponent: e[0], bits });
        let len = bits.div_ceil(64);
        numbers.modulus.set(&n[..len], len);
        Ok(PublicKey { kernel, features, numbers })
    }

    /// Returns the bits of the modulus.
    pub fn bits(&self) -> usize {
        self.numbers.bits
    }

    /// Returns the bytes of the modulus, and so of every signature and ciphertext.
    pub fn size(&self) -> usize {
        self.numbers.bits.div_ceil(8)
    }

    /// Returns the public exponent.
    pub fn exponent(&self) -> u64 {
        self.numbers.exponent
    }

    /// Writes the modulus, big-endian, to the front of `out`; returns its length in bytes.
    ///
    /// # Errors
    /// [`Error::Length`] when `out` is shorter.
    pub fn modulus(&self, out: &mut [u8]) -> Result<usize, Error> {
        let out = room(out, self.size())?;
        words::write(self.numbers.modulus.words(), out);
        Ok(out.len())
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Raises a number to the public exponent: RSAEP and RSAVP1 (RFC 8017 §5.1.1, §5.2.2). Both numbers are big-endian and as long
    /// as the modulus.
    ///
    /// # Errors
    /// [`Error::Length`] when a length is another; [`Error::Message`] when the number is not below the modulus.
    pub fn raw(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let number = self.read(input)?;
        if out.len() != self.size() {
            return Err(length("output", out.len(), AS_MODULUS));
        }
        let power = self.power(&number);
        words::write(&power[..], out);
        Ok(())
    }

    /// Verifies a PKCS#1 v1.5 signature of a message (RFC 8017 §8.2.2).
    ///
    /// # Errors
    /// [`Error::Signature`] when the signature does not verify, for whatever reason.
    pub fn verify_pkcs1_vartime(&self, hash: Hash, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let digest = self.digest(hash, message);
        self.verify_pkcs1_digest_vartime(hash, &digest, signature)
    }

    /// Verifies a PKCS#1 v1.5 signature of a digest.
    ///
    /// # Errors
    /// [`Error::Length`] when the digest has not the length of the hash's; [`Error::Signature`] when the signature does not verify.
    pub fn verify_pkcs1_digest_vartime(
        &self,
        hash: Hash,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let mut expected = Block::new(self.size());
        pkcs1::encode(hash, digest, expected.bytes())?;
        let found = self.recover(signature)?;
        if found.get() == expected.get() { Ok(()) } else { Err(Error::Signature) }
    }

    /// Verifies a PSS signature of a message (RFC 8017 §8.1.2).
    ///
    /// # Errors
    /// [`Error::Signature`] when the signature does not verify, for whatever reason.
    pub fn verify_pss_vartime(&self, pss: &Pss, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_pss_digest_vartime(pss, &self.digest(pss.hash, message), signature)
    }

    /// Verifies a PSS signature of a digest.
    ///
    /// # Errors
    /// [`Error::Length`] when the digest has not the length of the hash's; [`Error::Signature`] when the signature does not verify.
    pub fn verify_pss_digest_vartime(&self, pss: &Pss, digest: &[u8], signature: &[u8]) -> Result<(), Error> {
        if digest.len() != pss.hash.output_len() {
            return Err(length("digest", digest.len(), AS_DIGEST));
        }
        let mut found = self.recover(signature)?;
        pss::verify_vartime(self.features, pss, digest, self.bits() - 1, found.bytes())
    }

    /// Encrypts a message with OAEP (RFC 8017 §7.1.1) to the front of `out`; returns the ciphertext's length.
    ///
    /// # Errors
    /// [`Error::Message`] when the message is too long; [`Error::Length`] when `out` is too short; [`Error::Random`].
    pub fn encrypt_oaep(
        &self,
        oaep: &Oaep<'_>,
        random: &mut dyn Random,
        message: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let mut block = Block::new(self.size());
        oaep::encode(self.features, oaep, random, message, block.bytes())?;
        self.encrypt_block(&block, out)
    }

    /// Encrypts a message with PKCS#1 v1.5 padding (RFC 8017 §7.2.1) to the front of `out`; returns the ciphertext's length.
    ///
    /// # Errors
    /// [`Error::Message`] when the message is too long; [`Error::Length`] when `out` is too short; [`Error::Random`].
    pub fn encrypt_pkcs1(
        &self,
        random: &mut dyn Random,
        message: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let mut block = Block::new(self.size());
        pkcs1::pad_for_encryption(random, message, block.bytes())?;
        self.encrypt_block(&block, out)
    }

    fn encrypt_block(&self, block: &Block, out: &mut [u8]) -> Result<usize, Error> {
        let out = room(out, self.size())?;
        self.raw(block.get(), out)?;
        Ok(out.len())
    }

    /// The block that was signed. A signature that is no number below the modulus does not verify.
    fn recover(&self, signature: &[u8]) -> Result<Block, Error> {
        let mut block = Block::new(self.size());
        self.raw(signature, block.bytes()).map_err(|_| Error::Signature)?;
        Ok(block)
    }

    pub(super) fn digest(&self, hash: Hash, message: &[u8]) -> millstream_engines::hash::Digest {
        millstream_engines::hash::HashKernel::best(self.features, hash).digest(message)
    }

    /// Reads a number that must be below the modulus and as long.
    pub(super) fn read(&self, input: &[u8]) -> Result<Zeroizing<Number>, Error> {
        if input.len() != self.size() {
            return Err(length("input", input.len(), AS_MODULUS));
        }
        let mut number = Zeroizing::new([0; WORDS]);
        words::read(input, &mut number[..]);
        let modulus = self.numbers.modulus.words();
        if words::less(&number[..modulus.len()], modulus) == 0 {
            return Err(Error::Message);
        }
        Ok(number)
    }

    /// Raises a number below the modulus to the public exponent.
    pub(super) fn power(&self, input: &Number) -> Zeroizing<Number> {
        let mut out = Zeroizing::new([0; WORDS]);
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().public)(&self.numbers, input, &mut out) };
        out
    }

    pub(super) fn bound(&self) -> Bound<Ops> {
        self.kernel
    }

    pub(super) fn features(&self) -> Features {
        self.features
    }

    pub(super) fn numbers(&self) -> &Public {
        &self.numbers
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RSA public key of {} bits on {}", self.bits(), self.kernel().name)
    }
}
