//! The purposes that a key may be used for.

use std::fmt;
use std::ops::BitOr;

use crate::Algorithm;

/// A set of purposes. A key in a slot has one, and an accelerator refuses every other use.
///
/// [`Usages::WRAP`] is kept with a key but belongs to no operation yet, and of a key that is not for agreements neither does
/// [`Usages::DERIVE`]: a key that has nothing else is refused by every control word.
///
/// ```
/// use millstream_cwq::{Algorithm, Usages};
///
/// let both = Usages::SIGN | Usages::VERIFY;
/// assert_eq!(both, Usages::of(Algorithm::Sha256));
/// assert!(both.contains(Usages::SIGN) && !Usages::VERIFY.contains(both));
/// assert_eq!(Usages::from_name("sign"), Some(Usages::SIGN));
/// assert_eq!(both.to_string(), "sign and verify");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Usages(u8);

impl Usages {
    /// No purpose.
    pub const NONE: Usages = Usages(0);
    /// To encrypt or seal, alone or before a MAC.
    pub const ENCRYPT: Usages = Usages(1);
    /// To decrypt or open, alone or after a MAC.
    pub const DECRYPT: Usages = Usages(1 << 1);
    /// To produce a MAC or a signature.
    pub const SIGN: Usages = Usages(1 << 2);
    /// To compare a MAC.
    pub const VERIFY: Usages = Usages(1 << 3);
    /// To encrypt other keys.
    pub const WRAP: Usages = Usages(1 << 4);
    /// To derive other keys, to agree with a peer on a secret, or to decapsulate one.
    pub const DERIVE: Usages = Usages(1 << 5);
    /// All that have a name.
    pub const ALL: Usages = Usages((1 << 6) - 1);

    const NAMES: [(Usages, &str); 6] = [
        (Usages::ENCRYPT, "encrypt"),
        (Usages::DECRYPT, "decrypt"),
        (Usages::SIGN, "sign"),
        (Usages::VERIFY, "verify"),
        (Usages::WRAP, "wrap"),
        (Usages::DERIVE, "derive"),
    ];

    /// Makes the set of some bits, or nothing where one of them has no name.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits & !Usages::ALL.0 == 0 { Some(Usages(bits)) } else { None }
    }

    /// Returns the set as bits.
    #[inline(always)]
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Returns the purpose of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Usages::NAMES.iter().find(|(_, its)| *its == name).map(|(usage, _)| *usage)
    }

    /// Returns the names of all purposes, for messages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Usages::NAMES.iter().map(|(_, name)| *name)
    }

    /// Returns true when all of `other` is in the set.
    #[inline(always)]
    pub const fn contains(self, other: Usages) -> bool {
        other.0 & !self.0 == 0
    }

    /// Returns true when the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the purposes of this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Usages) -> Usages {
        Usages(self.0 & !other.0)
    }

    /// Returns the purposes for which an algorithm has operations. A key has these by default. An algorithm that takes no
    /// key has none.
    pub const fn of(algorithm: Algorithm) -> Usages {
        use Algorithm::*;
        match algorithm {
            None | Crc32 | Crc32c | IpChecksum | Random => Usages::NONE,
            AesCmac | DesMac | KasumiF9 | Md5 | Sha1 | Sha224 | Sha256 | Sha384 | Sha512 | Sha512_256
            | Sha3_224 | Sha3_256 | Sha3_384 | Sha3_512 => Usages(Usages::SIGN.0 | Usages::VERIFY.0),
            AesEcb | AesCbc | AesCtr | AesCfb | AesXts | AesGcm | AesSiv | AesGcmSiv | Xaes256Gcm
            | Fernet | AesKw | AesKwp | AesFf1 | ChaCha20Poly1305 | CamelliaEcb | CamelliaCbc
            | CamelliaCtr | Sm4Ecb | Sm4Cbc | Sm4Ctr | DesEcb | DesCbc | DesCfb | Rc4 | KasumiF8 => {
                Usages(Usages::ENCRYPT.0 | Usages::DECRYPT.0)
            }
            Ed25519 | MlDsa44 | MlDsa65 | MlDsa87 => Usages::SIGN,
            SlhDsaSha2_128s | SlhDsaSha2_128f | SlhDsaSha2_192s | SlhDsaSha2_192f | SlhDsaSha2_256s
            | SlhDsaSha2_256f | SlhDsaShake128s | SlhDsaShake128f | SlhDsaShake192s | SlhDsaShake192f
            | SlhDsaShake256s | SlhDsaShake256f => Usages::SIGN,
            X25519 | MlKem512 | MlKem768 | MlKem1024 => Usages::DERIVE,
            P256 | P384 | P521 => Usages(Usages::SIGN.0 | Usages::DERIVE.0),
            Rsa => Usages(Usages::SIGN.0 | Usages::DECRYPT.0),
        }
    }

    /// Returns true when the right to decrypt under an algorithm is as good as the right to encrypt, or the other way round.
    /// One of the two without the other would promise something that does not hold. Counter modes and stream ciphers do the
    /// same in both directions. In CFB mode either direction gives the block cipher's output for a block of the caller's
    /// choice, which is all that the other direction needs.
    pub const fn is_two_way(algorithm: Algorithm) -> bool {
        use Algorithm::*;
        match algorithm {
            AesCtr | AesCfb | CamelliaCtr | Sm4Ctr | DesCfb | Rc4 | KasumiF8 => true,
            AesEcb | AesCbc | AesXts | AesGcm | AesSiv | AesGcmSiv | Xaes256Gcm | Fernet | AesKw | AesKwp
            | AesFf1 | ChaCha20Poly1305 | CamelliaEcb | CamelliaCbc | Sm4Ecb | Sm4Cbc | DesEcb | DesCbc => {
                false
            }
            None | Crc32 | Crc32c | IpChecksum | Random => false,
            Ed25519 | X25519 | P256 | P384 | P521 | Rsa | MlKem512 | MlKem768 | MlKem1024 | MlDsa44
            | MlDsa65 | MlDsa87 => false,
            SlhDsaSha2_128s | SlhDsaSha2_128f | SlhDsaSha2_192s | SlhDsaSha2_192f | SlhDsaSha2_256s
            | SlhDsaSha2_256f | SlhDsaShake128s | SlhDsaShake128f | SlhDsaShake192s | SlhDsaShake192f
            | SlhDsaShake256s | SlhDsaShake256f => false,
            AesCmac | DesMac | KasumiF9 | Md5 | Sha1 | Sha224 | Sha256 | Sha384 | Sha512 | Sha512_256
            | Sha3_224 | Sha3_256 | Sha3_384 | Sha3_512 => false,
        }
    }

    /// Returns true for an AEAD whose nonces an accelerator can make.
    pub const fn has_made_nonces(algorithm: Algorithm) -> bool {
        matches!(algorithm, Algorithm::AesGcm | Algorithm::AesGcmSiv | Algorithm::ChaCha20Poly1305)
    }

    /// Returns true for an AEAD that a nonce breaks which comes twice under one key. AES-SIV and AES-GCM-SIV show by it only which
    /// messages are equal.
    pub const fn depends_on_nonces(algorithm: Algorithm) -> bool {
        matches!(algorithm, Algorithm::AesGcm | Algorithm::ChaCha20Poly1305 | Algorithm::Xaes256Gcm)
    }

    /// Checks that a key of the algorithm can have these purposes. `nonces_made` says that the accelerator makes the nonces,
    /// as it can for an AEAD. A client who may choose nonces can seal zeros under the nonce of another message; that gives
    /// the message's keystream, and so decrypts it.
    ///
    /// # Errors
    /// [`UsageError`].
    pub fn check(self, algorithm: Algorithm, nonces_made: bool) -> Result<(), UsageError> {
        let of = Usages::of(algorithm);
        let later = if of.contains(Usages::ENCRYPT) { Usages::WRAP } else { Usages::DERIVE };
        let takes = if of.is_empty() { of } else { of | later };
        let foreign = self.without(takes);
        if !foreign.is_empty() {
            return Err(UsageError::Foreign(foreign));
        }
        if self.is_empty() {
            return Err(UsageError::Nothing);
        }
        if nonces_made && !Usages::has_made_nonces(algorithm) {
            return Err(UsageError::Nonces);
        }
        let (encrypts, decrypts) = (self.contains(Usages::ENCRYPT), self.contains(Usages::DECRYPT));
        if encrypts != decrypts && Usages::is_two_way(algorithm) {
            return Err(UsageError::TwoWay(algorithm));
        }
        let by_nonces = Usages::depends_on_nonces(algorithm);
        if by_nonces && encrypts && !decrypts && !nonces_made {
            return Err(UsageError::ChosenNonces);
        }
        Ok(())
    }
}

impl BitOr for Usages {
    type Output = Usages;

    fn bitor(self, other: Usages) -> Usages {
        Usages(self.0 | other.0)
    }
}

/// Names the purposes, as people would.
impl fmt::Display for Usages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> =
            Usages::NAMES.iter().filter(|(usage, _)| self.contains(*usage)).map(|(_, name)| *name).collect();
        match names.as_slice() {
            [] => f.write_str("nothing"),
            [one] => f.write_str(one),
            [most @ .., last] => write!(f, "{} and {last}", most.join(", ")),
        }
    }
}

/// The reason why a key can't have a set of purposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsageError {
    /// The algorithm has no such operations.
    Foreign(Usages),
    /// The set is empty.
    Nothing,
    /// Encryption and decryption can't be told apart: see [`Usages::is_two_way`].
    TwoWay(Algorithm),
    /// A key of an AEAD that may seal and not open, while its nonces are given.
    ChosenNonces,
    /// Only the keys of an AEAD have nonces that an accelerator makes.
    Nonces,
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UsageError::Foreign(usages) => write!(f, "a key of this algorithm can't {usages}: leave that out"),
            UsageError::Nothing => f.write_str("a key for nothing: name at least one usage"),
            UsageError::TwoWay(algorithm) => write!(
                f,
                "who may encrypt with {} can decrypt, and the other way round: give the key both usages",
                algorithm.name()
            ),
            UsageError::ChosenNonces => f.write_str(
                "who may seal under any nonce can decrypt too: give the key both usages, or have the accelerator make its nonces",
            ),
            UsageError::Nonces => {
                f.write_str("an accelerator makes nonces for aes-gcm, aes-gcm-siv and chacha20-poly1305 only: give them")
            }
        }
    }
}

impl std::error::Error for UsageError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usage_has_a_name_and_a_bit() {
        let mut all = Usages::NONE;
        for (bit, (usage, name)) in Usages::NAMES.into_iter().enumerate() {
            assert_eq!(usage.to_bits(), 1 << bit);
            assert_eq!((Usages::from_name(name), usage.to_string().as_str()), (Some(usage), name));
            all = all | usage;
        }
        assert_eq!(all, Usages::ALL);
        assert_eq!(Usages::from_bits(all.to_bits()), Some(all));
        assert_eq!((Usages::from_bits(1 << 6), Usages::from_name("dance")), (None, None));
        let three = Usages::ENCRYPT | Usages::DECRYPT | Usages::WRAP;
        assert_eq!(three.to_string(), "encrypt, decrypt and wrap");
    }

    /// A key can be given all that its algorithm has by itself. Nothing can be given to an algorithm without keys.
    #[test]
    fn what_an_algorithm_has_it_can_be_given() {
        for algorithm in Algorithm::ALL {
            let of = Usages::of(*algorithm);
            let keyless = of.is_empty();
            assert_eq!(of.check(*algorithm, false).is_ok(), !keyless, "{algorithm:?}");
            for (bits, made) in (0..=Usages::ALL.to_bits()).flat_map(|bits| [(bits, false), (bits, true)]) {
                let given = Usages(bits);
                let checked = given.check(*algorithm, made);
                assert!(checked.is_err() || !keyless && !given.is_empty(), "{algorithm:?} {given}");
                if checked.is_ok() && Usages::is_two_way(*algorithm) {
                    assert_eq!(given.contains(Usages::ENCRYPT), given.contains(Usages::DECRYPT));
                }
            }
        }
    }

    #[test]
    fn what_would_promise_too_much_is_refused() {
        use Algorithm::{AesCbc, AesCtr, AesGcm};
        let (encrypt, decrypt) = (Usages::ENCRYPT, Usages::DECRYPT);
        assert_eq!(Usages::SIGN.check(AesGcm, false), Err(UsageError::Foreign(Usages::SIGN)));
        assert_eq!(Usages::NONE.check(AesGcm, false), Err(UsageError::Nothing));
        assert_eq!(encrypt.check(AesCtr, false), Err(UsageError::TwoWay(AesCtr)));
        assert_eq!(decrypt.check(AesCtr, false), Err(UsageError::TwoWay(AesCtr)));
        assert_eq!(decrypt.check(AesCbc, false), Ok(()));
        assert_eq!(Usages::WRAP.check(AesCtr, false), Ok(()));
        assert_eq!(encrypt.check(AesGcm, false), Err(UsageError::ChosenNonces));
        assert_eq!((encrypt.check(AesGcm, true), decrypt.check(AesGcm, false)), (Ok(()), Ok(())));
        assert_eq!(encrypt.check(AesCbc, true), Err(UsageError::Nonces));
    }
}
