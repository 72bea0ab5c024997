//! Private keys: their components, signatures, decryption, and the bare power.
//!
//! Ref. RFC 8017 §3.2, §5.1.2 and §5.2.1.

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_kernel::{Bound, Kernel};
use zeroize::Zeroizing;

use super::encoding::{Block, Oaep, Pss};
use super::lengths::{AS_MODULUS, length, room};
use super::numbers::{self, Half, Number, Private, Public};
use super::{Ops, PublicKey, RSA, implicit, oaep, pkcs1, pss};
use crate::montgomery::{HALF, WORDS, words};
use crate::{Error, Random};

/// A function that raises a number to the private exponent.
pub(super) type Power<'p> = dyn FnMut(&Number, &mut Number) -> Result<(), Error> + 'p;

/// The numbers of a private key with two primes, each big-endian (RFC 8017 §3.2, second representation, and the private exponent).
/// Leading zeros make no difference.
#[derive(Clone, Copy)]
pub struct Components<'a> {
    /// The modulus n.
    pub modulus: &'a [u8],
    /// The public exponent e.
    pub public_exponent: &'a [u8],
    /// The private exponent d.
    pub private_exponent: &'a [u8],
    /// The first prime p.
    pub p: &'a [u8],
    /// The second prime q.
    pub q: &'a [u8],
    /// The private exponent modulo p - 1.
    pub dp: &'a [u8],
    /// The private exponent modulo q - 1.
    pub dq: &'a [u8],
    /// The inverse of q modulo p.
    pub inverse: &'a [u8],
}

impl<'a> Components<'a> {
    /// Takes the numbers in the order of an `RSAPrivateKey` (RFC 8017 appendix A.1.2), which is that of the fields.
    pub fn in_order<B: AsRef<[u8]>>(numbers: &'a [B; 8]) -> Self {
        let [modulus, public_exponent, private_exponent, p, q, dp, dq, inverse] =
            numbers.each_ref().map(AsRef::as_ref);
        Components { modulus, public_exponent, private_exponent, p, q, dp, dq, inverse }
    }
}

/// The name of a number of a private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The modulus n.
    Modulus,
    /// The public exponent e.
    PublicExponent,
    /// The private exponent d.
    PrivateExponent,
    /// The first prime p.
    P,
    /// The second prime q.
    Q,
    /// The private exponent modulo p - 1.
    Dp,
    /// The private exponent modulo q - 1.
    Dq,
    /// The inverse of q modulo p.
    Inverse,
}

/// An RSA private key with two primes, bound to a kernel. It is wiped when it is dropped.
///
/// Each prime has half the bits of the modulus; at most one of them has a word of 64 bits less.
pub struct PrivateKey {
    public: PublicKey,
    secret: Box<Private>,
}

impl PrivateKey {
    /// Makes a key on the fastest kernel that `features` allow. All numbers are checked against each other, but the primes are not
    /// examined.
    ///
    /// # Errors
    /// [`Error::Modulus`] and [`Error::Exponent`] as for a public key; [`Error::Modulus`] also when the modulus is not the product of p and q, when they
    /// are equal, even or of different lengths, or when the inverse is not that of q; [`Error::Exponent`] also when the
    /// private exponents are not inverses of the public one.
    pub fn new(features: Features, components: &Components<'_>) -> Result<Self, Error> {
        PrivateKey::with_kernel(RSA.best(features), features, components)
    }

    /// Does the same with a given kernel. `features` choose the kernels of hashes.
    ///
    /// # Errors
    /// Fails as [`PrivateKey::new`].
    pub fn with_kernel(
        kernel: Bound<Ops>,
        features: Features,
        components: &Components<'_>,
    ) -> Result<Self, Error> {
        let public =
            PublicKey::with_kernel(kernel, features, components.modulus, components.public_exponent)?;
        let len = public.numbers().modulus.len().div_ceil(2);
        let mut secret = Box::new(Private::empty());
        set_prime(&mut secret.p, components.p, len)?;
        set_prime(&mut secret.q, components.q, len)?;
        if !words::read(components.inverse, &mut secret.inverse[..len]) {
            return Err(Error::Modulus);
        }
        let exponents = words::read(components.dp, &mut secret.p.exponent[..len])
            && words::read(components.dq, &mut secret.q.exponent[..len])
            && words::read(components.private_exponent, &mut secret.exponent);
        if !exponents {
            return Err(Error::Exponent);
        }
        check_product(&secret, public.numbers())?;
        check_exponent(&secret.p, &secret.exponent, public.exponent())?;
        check_exponent(&secret.q, &secret.exponent, public.exponent())?;
        Ok(PrivateKey { public, secret })
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Returns the bytes of the modulus, and so of every signature and ciphertext.
    pub fn size(&self) -> usize {
        self.public.size()
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.public.kernel()
    }

    /// Writes a number of the key, big-endian, to the front of `out`; returns its length in bytes. The length does not depend on the number's value:
    /// the modulus and the private exponent are as long as the modulus, the public exponent has eight bytes, and all others have half the
    /// bytes of the modulus's words.
    ///
    /// # Errors
    /// [`Error::Length`] when `out` is shorter.
    pub fn component(&self, component: Component, out: &mut [u8]) -> Result<usize, Error> {
        let secret = &self.secret;
        let half = 8 * secret.p.prime.len();
        let exponent = [self.public.exponent()];
        let (words, len) = match component {
            Component::Modulus => return self.public.modulus(out),
            Component::PublicExponent => (&exponent[..], 8),
            Component::PrivateExponent => (&secret.exponent[..], self.size()),
            Component::P => (secret.p.prime.words(), half),
            Component::Q => (secret.q.prime.words(), half),
            Component::Dp => (&secret.p.exponent[..], half),
            Component::Dq => (&secret.q.exponent[..], half),
            Component::Inverse => (&secret.inverse[..], half),
        };
        words::write(words, room(out, len)?);
        Ok(len)
    }

    /// Raises a number to the private exponent: RSADP and RSASP1 (RFC 8017 §5.1.2, §5.2.1). Both numbers are big-endian and as
    /// long as the modulus.
    ///
    /// # Errors
    /// [`Error::Length`] when a length is another; [`Error::Message`] when the number is not below the modulus; [`Error::Fault`].
    pub fn raw(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.raw_with(&mut self.plain(), input, out)
    }

    /// Signs a message with PKCS#1 v1.5 (RFC 8017 §8.2.1) to the front of `out`; returns the signature's length.
    ///
    /// # Errors
    /// [`Error::Message`] when the modulus is too short for the hash; [`Error::Length`] when `out` is too short; [`Error::Fault`].
    pub fn sign_pkcs1(&self, hash: Hash, message: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        self.sign_pkcs1_digest(hash, &self.public.digest(hash, message), out)
    }

    /// Does the same with the message's digest.
    ///
    /// # Errors
    /// Fails as [`PrivateKey::sign_pkcs1`], and with [`Error::Length`] when the digest has not the length of the hash's.
    pub fn sign_pkcs1_digest(&self, hash: Hash, digest: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        self.sign_pkcs1_with(&mut self.plain(), hash, digest, out)
    }

    /// Signs bytes that the caller has encoded, as TLS 1.0 does: they are padded as PKCS#1 v1.5 pads a digest's encoding.
    ///
    /// # Errors
    /// Fails as [`PrivateKey::sign_pkcs1`].
    pub fn sign_pkcs1_encoded(&self, encoded: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let mut block = Block::new(self.size());
        pkcs1::pad(encoded, block.bytes())?;
        self.block_with(&mut self.plain(), &block, out)
    }

    /// Signs a message with PSS (RFC 8017 §8.1.1) to the front of `out`; returns the signature's length.
    ///
    /// # Errors
    /// [`Error::Message`] when the modulus is too short for the hash and the salt; [`Error::Length`] when `out` is too short; [`Error::Random`];
    /// [`Error::Fault`].
    pub fn sign_pss(
        &self,
        pss: &Pss,
        random: &mut dyn Random,
        message: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        self.sign_pss_digest(pss, random, &self.public.digest(pss.hash, message), out)
    }

    /// Does the same with the message's digest.
    ///
    /// # Errors
    /// Fails as [`PrivateKey::sign_pss`], and with [`Error::Length`] when the digest has not the length of the hash's.
    pub fn sign_pss_digest(
        &self,
        pss: &Pss,
        random: &mut dyn Random,
        digest: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let block = self.pss_block(pss, random, digest)?;
        self.block_with(&mut self.plain(), &block, out)
    }

    /// Decrypts a ciphertext of OAEP (RFC 8017 §7.1.2) to the front of `out`; returns the message's length.
    ///
    /// # Errors
    /// [`Error::Length`] when the ciphertext is not as long as the modulus or `out` is shorter than the message; [`Error::Message`] when it is not below
    /// the modulus, or the modulus is too short for the hash; [`Error::Padding`] for everything that is wrong in the decrypted block; [`Error::Fault`].
    pub fn decrypt_oaep(&self, oaep: &Oaep<'_>, ciphertext: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        self.decrypt_oaep_with(&mut self.plain(), oaep, ciphertext, out)
    }

    /// Decrypts a ciphertext with PKCS#1 v1.5 padding (RFC 8017 §7.2.2) to the front of `out`; returns the message's length.
    ///
    /// A wrong padding is no error: the message is then one that depends on the ciphertext and the key and looks random (implicit rejection). `out`
    /// has at least 11 bytes less than the modulus, and is cleared behind the message.
    ///
    /// # Errors
    /// [`Error::Length`] when the ciphertext is not as long as the modulus or `out` is too short for the longest message;
    /// [`Error::Message`] when the ciphertext is not below the modulus; [`Error::Fault`].
    pub fn decrypt_pkcs1(&self, ciphertext: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        self.decrypt_pkcs1_with(&mut self.plain(), ciphertext, out)
    }

    /// The power without blinding.
    fn plain(&self) -> impl FnMut(&Number, &mut Number) -> Result<(), Error> {
        |input, out| self.power(input, out)
    }

    pub(super) fn raw_with(&self, power: &mut Power<'_>, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let number = self.public.read(input)?;
        if out.len() != self.size() {
            return Err(length("output", out.len(), AS_MODULUS));
        }
        let mut result = Zeroizing::new([0; WORDS]);
        power(&number, &mut result)?;
        words::write(&result[..], out);
        Ok(())
    }

    pub(super) fn sign_pkcs1_with(
        &self,
        power: &mut Power<'_>,
        hash: Hash,
        digest: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let mut block = Block::new(self.size());
        pkcs1::encode(hash, digest, block.bytes())?;
        self.block_with(power, &block, out)
    }

    pub(super) fn decrypt_oaep_with(
        &self,
        power: &mut Power<'_>,
        oaep: &Oaep<'_>,
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let mut block = Block::new(self.size());
        self.raw_with(power, ciphertext, block.bytes())?;
        self.finish_oaep(oaep, &mut block, out)
    }

    pub(super) fn decrypt_pkcs1_with(
        &self,
        power: &mut Power<'_>,
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let mut block = Block::new(self.size());
        pkcs1::room_for_message(self.size(), out.len())?;
        self.raw_with(power, ciphertext, block.bytes())?;
        self.finish_pkcs1(ciphertext, &mut block, out)
    }

    pub(super) fn pss_block(
        &self,
        pss: &Pss,
        random: &mut dyn Random,
        digest: &[u8],
    ) -> Result<Block, Error> {
        let mut block = Block::new(self.size());
        pss::encode(self.public.features(), pss, random, digest, self.public.bits() - 1, block.bytes())?;
        Ok(block)
    }

    pub(super) fn finish_oaep(
        &self,
        oaep: &Oaep<'_>,
        block: &mut Block,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        oaep::decode(self.public.features(), oaep, block.bytes(), out)
    }

    pub(super) fn finish_pkcs1(
        &self,
        ciphertext: &[u8],
        block: &mut Block,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        pkcs1::room_for_message(self.size(), out.len())?;
        let longest = self.size() - pkcs1::OVERHEAD;
        let mut exponent = Block::new(self.size());
        words::write(&self.secret.exponent, exponent.bytes());
        let len = implicit::decode(self.public.features(), exponent.get(), ciphertext, block.bytes());
        out.fill(0);
        out[..longest].copy_from_slice(&block.get()[..longest]);
        Ok(len as usize)
    }

    /// Raises an encoded message to the private exponent.
    pub(super) fn block_with(
        &self,
        power: &mut Power<'_>,
        block: &Block,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let out = room(out, self.size())?;
        self.raw_with(power, block.get(), out)?;
        Ok(out.len())
    }

    /// Raises a number below the modulus to the private exponent.
    pub(super) fn power(&self, input: &Number, out: &mut Number) -> Result<(), Error> {
        numbers::private(self.public.bound(), self.public.numbers(), &self.secret, input, out)
    }

    pub(super) fn secret(&self) -> &Private {
        &self.secret
    }

    pub(super) fn public_numbers(&self) -> &Public {
        self.public.numbers()
    }

    /// A key with other secret numbers, which nobody checks.
    #[cfg(test)]
    pub(super) fn with_secret(&self, secret: Private) -> PrivateKey {
        PrivateKey { public: self.public.clone(), secret: Box::new(secret) }
    }

    /// The secret numbers once more, for tests that change them.
    #[cfg(test)]
    pub(super) fn rebuilt(&self) -> Private {
        let mut copy = Private::empty();
        copy.p.prime.clone_from(&self.secret.p.prime);
        copy.q.prime.clone_from(&self.secret.q.prime);
        copy.p.exponent = self.secret.p.exponent;
        copy.q.exponent = self.secret.q.exponent;
        copy.inverse = self.secret.inverse;
        copy.exponent = self.secret.exponent;
        copy
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RSA private key of {} bits on {}", self.public.bits(), self.kernel().name)
    }
}

/// Takes an odd prime of `len` words or one less. How many words it has is no secret.
fn set_prime(half: &mut Half, bytes: &[u8], len: usize) -> Result<(), Error> {
    let mut prime = Zeroizing::new([0; HALF]);
    if !words::read(bytes, &mut prime[..len]) || prime[0] & 1 == 0 {
        return Err(Error::Modulus);
    }
    for significant in [len, len - 1] {
        if prime[significant - 1] != 0 {
            half.prime.set(&prime[..significant], len);
            return Ok(());
        }
    }
    Err(Error::Modulus)
}

/// Checks that the modulus is the product of two different factors, and the inverse that of the second modulo the first.
fn check_product(secret: &Private, public: &Public) -> Result<(), Error> {
    let (p, q, len) = (secret.p.prime.words(), secret.q.prime.words(), secret.p.prime.len());
    let mut product = Zeroizing::new([0; WORDS]);
    words::multiply(p, q, &mut product[..2 * len]);
    let mut modulus = [0; WORDS];
    modulus[..public.modulus.len()].copy_from_slice(public.modulus.words());
    let mut right = words::equal(&product[..], &modulus) & !words::equal(p, q);
    // Without the factor R both sides are one: the represented q times the inverse.
    let (mut entered, mut one) = (Zeroizing::new([0; HALF]), Zeroizing::new([0; HALF]));
    secret.p.prime.enter(q, &mut entered[..]);
    secret.p.prime.multiply(&entered[..], &secret.inverse, &mut one[..]);
    one[0] ^= 1;
    right &= words::is_zero(&one[..]) & words::less(&secret.inverse[..len], p);
    if right == 0 { Err(Error::Modulus) } else { Ok(()) }
}

/// Checks that the exponent of a half is the whole exponent modulo the prime less one, and the inverse of the public one.
fn check_exponent(half: &Half, whole: &Number, public: u64) -> Result<(), Error> {
    let len = half.prime.len();
    let (mut order, mut rest) = (Zeroizing::new([0; HALF]), Zeroizing::new([0; HALF]));
    order[..len].copy_from_slice(half.prime.words());
    order[0] ^= 1;
    words::remainder(whole, &order[..len], &mut rest[..len]);
    let mut right = words::equal(&rest[..], &half.exponent);
    let mut product = Zeroizing::new([0; HALF + 1]);
    words::multiply(&half.exponent[..len], &[public], &mut product[..len + 1]);
    words::remainder(&product[..len + 1], &order[..len], &mut rest[..len]);
    rest[0] ^= 1;
    right &= words::is_zero(&rest[..]);
    if right == 0 { Err(Error::Exponent) } else { Ok(()) }
}
