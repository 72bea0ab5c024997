//! The schemes by which key pairs sign and decrypt, and how control words tell them.

use millstream_cwq::{Algorithm, ControlWord, Padding, Scheme};
use millstream_engines::Error;
use millstream_engines::hash::Hash;

use crate::algorithms::{algorithm_of, hash_of};

/// A way to sign. All but [`SignatureScheme::Ed25519`] sign a digest, which the caller has made.
///
/// ```
/// use millstream_accelerator::SignatureScheme;
/// use millstream_engines::hash::Hash;
///
/// // The salt is as long as the digest, and MGF1 has the same hash: what TLS 1.3 uses.
/// let scheme = SignatureScheme::pss(Hash::Sha256);
/// assert_eq!(scheme, SignatureScheme::RsaPss { hash: Hash::Sha256, mgf_hash: Hash::Sha256, salt_len: 32 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureScheme {
    /// Ed25519 of the message itself (RFC 8032 §5.1.6): 64 bytes.
    Ed25519,
    /// ECDSA (FIPS 186-5 §6.4): r and s, each as long as a scalar of the curve.
    Ecdsa {
        /// The hash that made the digest.
        hash: Hash,
        /// True for the nonces of RFC 6979; otherwise random bytes hedge them.
        deterministic: bool,
    },
    /// RSA with the padding of PKCS#1 v1.5 (RFC 8017 §8.2).
    RsaPkcs1 {
        /// The hash that made the digest; without one the input is all that follows the padding, as in TLS 1.1.
        hash: Option<Hash>,
    },
    /// RSA with PSS (RFC 8017 §8.1).
    RsaPss {
        /// The hash that made the digest.
        hash: Hash,
        /// The hash of MGF1.
        mgf_hash: Hash,
        /// Bytes of salt.
        salt_len: u16,
    },
    /// The bare power of a number as long as the modulus (RFC 8017 §5.2.1). The key must be one that may decrypt, too.
    RsaRaw,
}

impl SignatureScheme {
    /// Returns PSS with a salt as long as the digest, and the same hash in MGF1.
    pub const fn pss(hash: Hash) -> Self {
        SignatureScheme::RsaPss { hash, mgf_hash: hash, salt_len: hash.output_len() as u16 }
    }

    /// Returns the usual scheme of an algorithm: a hedged nonce for ECDSA, PKCS#1 v1.5 for RSA; none for one that does not sign.
    pub const fn usual(algorithm: Algorithm, hash: Hash) -> Option<Self> {
        match algorithm {
            Algorithm::Ed25519 => Some(SignatureScheme::Ed25519),
            Algorithm::P256 | Algorithm::P384 | Algorithm::P521 => {
                Some(SignatureScheme::Ecdsa { hash, deterministic: false })
            }
            Algorithm::Rsa => Some(SignatureScheme::RsaPkcs1 { hash: Some(hash) }),
            _ => None,
        }
    }

    /// Writes the scheme to a word.
    pub fn write_to(self, word: &mut ControlWord) {
        let (hash, parameter) = match self {
            SignatureScheme::Ed25519 => (None, 0),
            SignatureScheme::Ecdsa { hash, deterministic } => {
                (Some(hash), if deterministic { Scheme::DETERMINISTIC } else { 0 })
            }
            SignatureScheme::RsaPkcs1 { hash } => (hash, Scheme::of(Padding::Pkcs1).to_bits()),
            SignatureScheme::RsaPss { hash, mgf_hash, salt_len } => {
                let mask = algorithm_of(mgf_hash);
                (Some(hash), Scheme { padding: Padding::Pss, mask, salt: salt_len }.to_bits())
            }
            SignatureScheme::RsaRaw => (None, Scheme::of(Padding::None).to_bits()),
        };
        (word.hash, word.parameter) = (code(hash), parameter);
    }

    /// Reads the scheme of a word about a key of `algorithm` from its hash and parameter; none where they are no scheme of it.
    pub fn of_word(algorithm: Algorithm, hash: Algorithm, parameter: u32) -> Option<Self> {
        let (none, hash) = (hash as u8 == Algorithm::None as u8, hash_of(hash));
        match algorithm {
            Algorithm::Ed25519 if none && parameter == 0 => Some(SignatureScheme::Ed25519),
            Algorithm::P256 | Algorithm::P384 | Algorithm::P521 if parameter <= Scheme::DETERMINISTIC => {
                Some(SignatureScheme::Ecdsa {
                    hash: hash?,
                    deterministic: parameter == Scheme::DETERMINISTIC,
                })
            }
            Algorithm::Rsa => {
                let Scheme { padding, mask, salt } = Scheme::from_bits(parameter)?;
                match padding {
                    Padding::None if none => Some(SignatureScheme::RsaRaw),
                    Padding::Pkcs1 => Some(SignatureScheme::RsaPkcs1 { hash }),
                    Padding::Pss => {
                        let mgf_hash = hash_of(mask)?;
                        Some(SignatureScheme::RsaPss { hash: hash?, mgf_hash, salt_len: salt })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the refusal of a key that does not sign so.
    #[cold]
    pub(crate) fn other_key(self) -> Error {
        let (algorithm, takes) = match self {
            SignatureScheme::Ed25519 => ("ed25519", "a key of Ed25519"),
            SignatureScheme::Ecdsa { .. } => ("ecdsa", "a key of P-256, P-384 or P-521"),
            _ => ("rsa", "a key of RSA, and to verify PKCS#1 v1.5 with a hash, or PSS"),
        };
        Error::Parameter { algorithm, name: "key", given: 0, takes }
    }
}

/// A way to decrypt with RSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecryptionScheme<'a> {
    /// The bare power of a number as long as the modulus (RFC 8017 §5.1.2).
    RsaRaw,
    /// The padding of PKCS#1 v1.5 (RFC 8017 §7.2). A wrong padding gives a message that looks random, and depends on the
    /// ciphertext alone.
    RsaPkcs1,
    /// OAEP (RFC 8017 §7.1).
    RsaOaep {
        /// The hash of the label.
        hash: Hash,
        /// The hash of MGF1.
        mgf_hash: Hash,
        /// The label.
        label: &'a [u8],
    },
}

impl<'a> DecryptionScheme<'a> {
    /// Writes the scheme to a word, but for the label.
    pub fn write_to(self, word: &mut ControlWord) {
        let (hash, scheme) = match self {
            DecryptionScheme::RsaRaw => (None, Scheme::of(Padding::None)),
            DecryptionScheme::RsaPkcs1 => (None, Scheme::of(Padding::Pkcs1)),
            DecryptionScheme::RsaOaep { hash, mgf_hash, .. } => {
                (Some(hash), Scheme { padding: Padding::Pss, mask: algorithm_of(mgf_hash), salt: 0 })
            }
        };
        (word.hash, word.parameter) = (code(hash), scheme.to_bits());
    }

    /// Returns the same scheme with another label, which only OAEP has.
    #[must_use]
    pub fn with_label(self, label: &[u8]) -> DecryptionScheme<'_> {
        match self {
            DecryptionScheme::RsaRaw => DecryptionScheme::RsaRaw,
            DecryptionScheme::RsaPkcs1 => DecryptionScheme::RsaPkcs1,
            DecryptionScheme::RsaOaep { hash, mgf_hash, .. } => {
                DecryptionScheme::RsaOaep { hash, mgf_hash, label }
            }
        }
    }

    /// Returns the label.
    pub fn label(self) -> &'a [u8] {
        match self {
            DecryptionScheme::RsaOaep { label, .. } => label,
            DecryptionScheme::RsaRaw | DecryptionScheme::RsaPkcs1 => &[],
        }
    }

    /// Reads the scheme of a word from its hash and parameter; none where they are no scheme.
    pub fn of_word(hash: Algorithm, parameter: u32, label: &'a [u8]) -> Option<Self> {
        let plain = hash as u8 == Algorithm::None as u8 && label.is_empty();
        let Scheme { padding, mask, salt } = Scheme::from_bits(parameter)?;
        match padding {
            Padding::None if plain => Some(DecryptionScheme::RsaRaw),
            Padding::Pkcs1 if plain => Some(DecryptionScheme::RsaPkcs1),
            Padding::Pss if salt == 0 => {
                let (hash, mgf_hash) = (hash_of(hash)?, hash_of(mask)?);
                Some(DecryptionScheme::RsaOaep { hash, mgf_hash, label })
            }
            _ => None,
        }
    }
}

/// Returns the code of a hash as a word has it.
fn code(hash: Option<Hash>) -> u8 {
    hash.map_or(Algorithm::None, algorithm_of) as u8
}
