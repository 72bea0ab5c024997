//! Private operations on a base that was multiplied by the power of a random number.
//!
//! Ref. P. Kocher, "Timing attacks on implementations of Diffie-Hellman, RSA, DSS, and other systems" (1996), section 10.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the kernel's [`Bound`](millstream_kernel::Bound).
#![allow(unsafe_code)]

use millstream_engines::hash::Hash;
use zeroize::Zeroizing;

use super::encoding::{Block, Oaep, Pss};
use super::numbers::{Half, Halves, Number, Private};
use super::{PrivateKey, pkcs1};
use crate::montgomery::{WORDS, words};
use crate::{Error, Random};

/// A private key whose operations are blinded with numbers of a random source.
pub struct Blinded<'k> {
    key: &'k PrivateKey,
    blinding: Blinding<'k>,
}

impl PrivateKey {
    /// Returns the key with operations whose base is blinded: see [the module](super#blinding). Each takes twice the time.
    pub fn blinded<'k>(&'k self, random: &'k mut dyn Random) -> Blinded<'k> {
        Blinded { key: self, blinding: Blinding { random } }
    }
}

impl Blinded<'_> {
    fn power(&mut self) -> impl FnMut(&Number, &mut Number) -> Result<(), Error> {
        |input, out| self.blinding.power(self.key, input, out)
    }

    /// Does what [`PrivateKey::raw`] does.
    ///
    /// # Errors
    /// Fails as that, and with [`Error::Random`].
    pub fn raw(&mut self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.key.raw_with(&mut self.power(), input, out)
    }

    /// Does what [`PrivateKey::sign_pkcs1`] does.
    ///
    /// # Errors
    /// Fails as that, and with [`Error::Random`].
    pub fn sign_pkcs1(&mut self, hash: Hash, message: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let digest = self.key.public_key().digest(hash, message);
        self.key.sign_pkcs1_with(&mut self.power(), hash, &digest, out)
    }

    /// Does what [`PrivateKey::sign_pkcs1_encoded`] does.
    ///
    /// # Errors
    /// Fails as that, and with [`Error::Random`].
    pub fn sign_pkcs1_encoded(&mut self, encoded: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let mut block = Block::new(self.key.size());
        pkcs1::pad(encoded, block.bytes())?;
        self.key.block_with(&mut self.power(), &block, out)
    }

    /// Does what [`PrivateKey::sign_pss`] does.
    ///
    /// # Errors
    /// Fails as that.
    pub fn sign_pss(&mut self, pss: &Pss, message: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let digest = self.key.public_key().digest(pss.hash, message);
        let block = self.key.pss_block(pss, self.blinding.random, &digest)?;
        self.key.block_with(&mut self.power(), &block, out)
    }

    /// Does what [`PrivateKey::decrypt_oaep`] does.
    ///
    /// # Errors
    /// Fails as that, and with [`Error::Random`].
    pub fn decrypt_oaep(
        &mut self,
        oaep: &Oaep<'_>,
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        self.key.decrypt_oaep_with(&mut self.power(), oaep, ciphertext, out)
    }

    /// Does what [`PrivateKey::decrypt_pkcs1`] does.
    ///
    /// # Errors
    /// Fails as that, and with [`Error::Random`].
    pub fn decrypt_pkcs1(&mut self, ciphertext: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        self.key.decrypt_pkcs1_with(&mut self.power(), ciphertext, out)
    }
}

/// The source of the numbers that blind.
pub(super) struct Blinding<'r> {
    random: &'r mut dyn Random,
}

impl Blinding<'_> {
    /// Raises the input to the private exponent. With a random r, the power of `input r^e` is that of the input times r, and the
    /// inverse of r comes from Fermat's theorem, in a second private operation whose base is r.
    pub(super) fn power(&mut self, key: &PrivateKey, input: &Number, out: &mut Number) -> Result<(), Error> {
        let numbers = key.public_numbers();
        let modulus = &numbers.modulus;
        let r = self.number(key)?;
        let inverse = inverse(key, &r)?;
        let raised = key.public_key().power(&r);
        let mut entered = Zeroizing::new([0; WORDS]);
        let mut base = Zeroizing::new([0; WORDS]);
        modulus.enter(input, &mut entered[..]);
        modulus.multiply(&entered[..], &raised[..], &mut base[..]);
        let mut power = Zeroizing::new([0; WORDS]);
        key.power(&base, &mut power)?;
        modulus.enter(&power[..], &mut entered[..]);
        modulus.multiply(&entered[..], &inverse[..], out);
        // The result is compared with the input that came, after the factor is gone.
        let back = key.public_key().power(out);
        super::numbers::release(input, &back, out)
    }

    /// A random number below the modulus. It has 64 bits more before it is reduced, so that no remainder is noticeably more frequent.
    fn number(&mut self, key: &PrivateKey) -> Result<Zeroizing<Number>, Error> {
        let len = key.public_numbers().modulus.len();
        let mut bytes = Zeroizing::new([0; 8 * (WORDS + 1)]);
        self.random.fill(&mut bytes[..8 * (len + 1)])?;
        let mut wide = Zeroizing::new([0; WORDS + 1]);
        words::read(&bytes[..8 * (len + 1)], &mut wide[..]);
        let mut number = Zeroizing::new([0; WORDS]);
        words::remainder(&wide[..len + 1], key.public_numbers().modulus.words(), &mut number[..len]);
        Ok(number)
    }
}

/// The inverse of a number modulo the modulus: its power to p - 2 and q - 2.
fn inverse(key: &PrivateKey, r: &Number) -> Result<Zeroizing<Number>, Error> {
    let mut inverting = Box::new(Private::empty());
    set_exponent(&mut inverting.p, &key.secret().p);
    set_exponent(&mut inverting.q, &key.secret().q);
    let mut halves = Halves::zero();
    // SAFETY: the kernel is bound.
    unsafe { (key.public_key().bound().ops().halves)(&inverting, r, &mut halves) };
    let mut inverse = Zeroizing::new([0; WORDS]);
    key.secret().join(&halves, &mut inverse);
    // A number that shares a factor with the modulus has no inverse. It comes as often as factors are guessed.
    let modulus = &key.public_numbers().modulus;
    let (mut entered, mut one) = (Zeroizing::new([0; WORDS]), Zeroizing::new([0; WORDS]));
    modulus.enter(r, &mut entered[..]);
    modulus.multiply(&entered[..], &inverse[..], &mut one[..]);
    one[0] ^= 1;
    if words::is_zero(&one[..]) == 0 { Err(Error::Fault) } else { Ok(inverse) }
}

fn set_exponent(inverting: &mut Half, half: &Half) {
    inverting.prime.clone_from(&half.prime);
    let len = half.prime.len();
    inverting.exponent[..len].copy_from_slice(half.prime.words());
    words::subtract(&mut inverting.exponent[..len], &[2], u64::MAX);
}
