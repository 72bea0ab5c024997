//! Keys in the encoding of PKCS#1.
//!
//! Ref. RFC 8017 appendix A.1.

use der::asn1::UintRef;
use der::{Decode, Encode};
use millstream_cpu::Features;
use pkcs1::{RsaPrivateKeyRef, RsaPublicKeyRef};
use zeroize::Zeroizing;

use super::lengths::length;
use super::{Component, Components, MAX_BYTES, PrivateKey, PublicKey};
use crate::Error;

/// Room for the numbers of a private key, each at its longest.
const NUMBERS: usize = 8 * MAX_BYTES;

/// The bytes of the longest encoding of a public key: tags, lengths, leading zeros, the modulus and an exponent of eight bytes.
pub const MAX_PUBLIC_DER: usize = MAX_BYTES + 8 + 4 + 5 + 3;

/// The bytes of the longest encoding of a private key: tags, lengths and leading zeros beside the numbers.
pub const MAX_PRIVATE_DER: usize = 2 * MAX_BYTES + 5 * MAX_BYTES / 2 + 8 + 9 * 5 + 4;

impl PrivateKey {
    /// Makes a key from the DER of an `RSAPrivateKey` (RFC 8017 appendix A.1.2) with two primes.
    ///
    /// ```no_run
    /// use millstream_cpu::Features;
    /// use millstream_publickey::rsa::PrivateKey;
    ///
    /// // As `openssl rsa -traditional -outform der` writes it.
    /// let der = std::fs::read("key.der")?;
    /// let key = PrivateKey::from_pkcs1(Features::hardware(), &der)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Encoding`] when it is none, has more than two primes, or bytes follow it; the errors of [`PrivateKey::new`].
    pub fn from_pkcs1(features: Features, der: &[u8]) -> Result<Self, Error> {
        let wrong = Error::Encoding { algorithm: "rsa", what: "private key" };
        let parsed = RsaPrivateKeyRef::from_der(der).map_err(|_| wrong)?;
        if parsed.other_prime_infos.is_some() {
            return Err(wrong);
        }
        PrivateKey::new(
            features,
            &Components {
                modulus: parsed.modulus.as_bytes(),
                public_exponent: parsed.public_exponent.as_bytes(),
                private_exponent: parsed.private_exponent.as_bytes(),
                p: parsed.prime1.as_bytes(),
                q: parsed.prime2.as_bytes(),
                dp: parsed.exponent1.as_bytes(),
                dq: parsed.exponent2.as_bytes(),
                inverse: parsed.coefficient.as_bytes(),
            },
        )
    }

    /// Writes the DER of the `RSAPrivateKey` to the front of `out`; returns its length in bytes, which is at most [`MAX_PRIVATE_DER`].
    ///
    /// # Errors
    /// [`Error::Length`] when `out` is shorter.
    pub fn to_pkcs1(&self, out: &mut [u8]) -> Result<usize, Error> {
        let mut numbers = Zeroizing::new([0; NUMBERS]);
        let mut rest = &mut numbers[..];
        let mut number = |component| {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(MAX_BYTES);
            rest = others;
            let len = self.component(component, own)?;
            Ok::<_, Error>(&own[..len])
        };
        let components = Components {
            modulus: number(Component::Modulus)?,
            public_exponent: number(Component::PublicExponent)?,
            private_exponent: number(Component::PrivateExponent)?,
            p: number(Component::P)?,
            q: number(Component::Q)?,
            dp: number(Component::Dp)?,
            dq: number(Component::Dq)?,
            inverse: number(Component::Inverse)?,
        };
        components.to_pkcs1(out)
    }
}

impl Components<'_> {
    /// Writes the DER of the `RSAPrivateKey` (RFC 8017 appendix A.1.2) to the front of `out`; returns its length in bytes. The numbers
    /// are written as they are: [`PrivateKey::from_pkcs1`] checks them.
    ///
    /// # Errors
    /// [`Error::Length`] when `out` is shorter, for which eight bytes beside each number and for the whole are always enough.
    pub fn to_pkcs1(&self, out: &mut [u8]) -> Result<usize, Error> {
        let number = |bytes| UintRef::new(bytes).map_err(|_| Error::Fault);
        let key = RsaPrivateKeyRef {
            modulus: number(self.modulus)?,
            public_exponent: number(self.public_exponent)?,
            private_exponent: number(self.private_exponent)?,
            prime1: number(self.p)?,
            prime2: number(self.q)?,
            exponent1: number(self.dp)?,
            exponent2: number(self.dq)?,
            coefficient: number(self.inverse)?,
            other_prime_infos: None,
        };
        write(&key, out)
    }
}

impl PublicKey {
    /// Makes a key from the DER of an `RSAPublicKey` (RFC 8017 appendix A.1.1).
    ///
    /// # Errors
    /// [`Error::Encoding`] when it is none, or bytes follow it; the errors of [`PublicKey::new`].
    pub fn from_pkcs1(features: Features, der: &[u8]) -> Result<Self, Error> {
        let parsed = RsaPublicKeyRef::from_der(der)
            .map_err(|_| Error::Encoding { algorithm: "rsa", what: "public key" })?;
        PublicKey::new(features, parsed.modulus.as_bytes(), parsed.public_exponent.as_bytes())
    }

    /// Writes the DER of the `RSAPublicKey` to the front of `out`; returns its length in bytes, which is at most [`MAX_PUBLIC_DER`].
    ///
    /// # Errors
    /// [`Error::Length`] when `out` is shorter.
    pub fn to_pkcs1(&self, out: &mut [u8]) -> Result<usize, Error> {
        let mut modulus = [0; MAX_BYTES];
        let len = self.modulus(&mut modulus)?;
        let exponent = self.exponent().to_be_bytes();
        let number = |bytes| UintRef::new(bytes).map_err(|_| Error::Fault);
        write(
            &RsaPublicKeyRef { modulus: number(&modulus[..len])?, public_exponent: number(&exponent)? },
            out,
        )
    }
}

/// Writes an encoding to the front of `out`.
fn write(key: &impl Encode, out: &mut [u8]) -> Result<usize, Error> {
    let given = out.len();
    match key.encode_to_slice(out) {
        Ok(written) => Ok(written.len()),
        Err(_) => Err(length("encoding", given, "as many bytes as the key's DER")),
    }
}
