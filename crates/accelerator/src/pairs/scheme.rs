//! The schemes by which key pairs sign and decrypt, and how control words tell them.

use millstream_cwq::{Algorithm, ControlWord, Padding, Scheme};
use millstream_engines::Error;
use millstream_engines::hash::Hash;
use millstream_publickey::mldsa::{self, Prehash};
use millstream_publickey::slhdsa;

use crate::algorithms::{algorithm_of, hash_of};
use crate::sets::slh_dsa_set;

/// A way to sign. All but [`SignatureScheme::Ed25519`], [`SignatureScheme::MlDsa`] and [`SignatureScheme::SlhDsa`] sign a digest, which the caller has
/// made.
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
    /// ML-DSA (FIPS 204 §5): 2420, 3309 or 4627 bytes.
    MlDsa {
        /// The input of the signature.
        input: MlDsaInput,
        /// True for a signature that depends on the key, the context and the input alone; otherwise random bytes hedge it. The verifier does
        /// not see which it was.
        deterministic: bool,
    },
    /// SLH-DSA (FIPS 205 §10): 7856 to 49,856 bytes, within a context of 0 to 255 bytes.
    SlhDsa {
        /// The function that made the digest, which the caller gives: HashSLH-DSA (FIPS 205 §10.2.2). Without one the message itself is signed.
        digest: Option<Prehash>,
        /// True for a signature that depends on the key, the context and the input alone; otherwise random bytes hedge it.
        deterministic: bool,
    },
}

/// The bytes that ML-DSA signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MlDsaInput {
    /// The message itself (FIPS 204 §5.2), within a context of 0 to 255 bytes.
    Message,
    /// A message's digest by a function, which the caller has made: HashML-DSA (FIPS 204 §5.4), within a context.
    Digest(Prehash),
    /// A message's representative mu, 64 bytes, which the caller has computed with the public key and the context
    /// (FIPS 204 §6.2, algorithm 7, line 6; [`PublicKey::representative`](millstream_publickey::mldsa::PublicKey::representative)). The
    /// signature is that of the message itself.
    Representative,
}

impl MlDsaInput {
    /// Returns the engine's scheme within a context.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a context beside a representative, which has it in itself, and for one of more than 255 bytes.
    pub(super) fn within(self, context: &[u8]) -> Result<mldsa::Scheme<'_>, Error> {
        fits("ml-dsa", context)?;
        match self {
            MlDsaInput::Message => Ok(mldsa::Scheme::Pure(context)),
            MlDsaInput::Digest(function) => Ok(mldsa::Scheme::Digest(function, context)),
            MlDsaInput::Representative if context.is_empty() => Ok(mldsa::Scheme::Representative),
            MlDsaInput::Representative => {
                let takes = "no bytes beside a representative, which has the context in it";
                Err(refused_context("ml-dsa", context, takes))
            }
        }
    }

    /// Returns the number in bits 8 to 15 of a word's parameter: see [`Scheme`].
    fn number(self) -> u8 {
        match self {
            MlDsaInput::Message => 0,
            MlDsaInput::Digest(function) => function.number(),
            MlDsaInput::Representative => Scheme::REPRESENTATIVE,
        }
    }

    fn of_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(MlDsaInput::Message),
            Scheme::REPRESENTATIVE => Some(MlDsaInput::Representative),
            number => Prehash::from_number(number).map(MlDsaInput::Digest),
        }
    }
}

/// Returns SLH-DSA's scheme of the engine within a context.
///
/// # Errors
/// [`Error::Parameter`] for a context of more than 255 bytes.
pub(super) fn slh_dsa_within(digest: Option<Prehash>, context: &[u8]) -> Result<slhdsa::Scheme<'_>, Error> {
    fits("slh-dsa", context)?;
    Ok(match digest {
        None => slhdsa::Scheme::Pure(context),
        Some(function) => slhdsa::Scheme::Digest(function, context),
    })
}

/// Refuses a context that is too long.
fn fits(algorithm: &'static str, context: &[u8]) -> Result<(), Error> {
    if context.len() <= mldsa::CONTEXT_MAX {
        return Ok(());
    }
    Err(refused_context(algorithm, context, "at most 255 bytes"))
}

#[cold]
fn refused_context(algorithm: &'static str, context: &[u8], takes: &'static str) -> Error {
    Error::Parameter { algorithm, name: "context", given: context.len() as u64, takes }
}

/// Returns true for an algorithm that signs within a context.
#[inline(always)]
pub(crate) const fn has_context(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87)
        || slh_dsa_set(algorithm).is_some()
}

impl SignatureScheme {
    /// Returns PSS with a salt as long as the digest, and the same hash in MGF1.
    pub const fn pss(hash: Hash) -> Self {
        SignatureScheme::RsaPss { hash, mgf_hash: hash, salt_len: hash.output_len() as u16 }
    }

    /// Returns the usual scheme of an algorithm: a hedged nonce for ECDSA, PKCS#1 v1.5 for RSA, a hedged signature of the message itself for ML-DSA and SLH-DSA;
    /// none for one that does not sign.
    pub const fn usual(algorithm: Algorithm, hash: Hash) -> Option<Self> {
        match algorithm {
            Algorithm::Ed25519 => Some(SignatureScheme::Ed25519),
            Algorithm::P256 | Algorithm::P384 | Algorithm::P521 => {
                Some(SignatureScheme::Ecdsa { hash, deterministic: false })
            }
            Algorithm::Rsa => Some(SignatureScheme::RsaPkcs1 { hash: Some(hash) }),
            Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87 => {
                Some(SignatureScheme::MlDsa { input: MlDsaInput::Message, deterministic: false })
            }
            _ if slh_dsa_set(algorithm).is_some() => {
                Some(SignatureScheme::SlhDsa { digest: None, deterministic: false })
            }
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
            SignatureScheme::MlDsa { input, deterministic } => {
                (None, numbered(input.number(), deterministic))
            }
            SignatureScheme::SlhDsa { digest, deterministic } => {
                (None, numbered(digest.map_or(0, Prehash::number), deterministic))
            }
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
            _ if has_context(algorithm) && none => {
                let [deterministic, number, 0, 0] = parameter.to_le_bytes() else { return None };
                let deterministic = match u32::from(deterministic) {
                    0 => false,
                    Scheme::DETERMINISTIC => true,
                    _ => return None,
                };
                if slh_dsa_set(algorithm).is_none() {
                    return Some(SignatureScheme::MlDsa {
                        input: MlDsaInput::of_number(number)?,
                        deterministic,
                    });
                }
                let digest = match number {
                    0 => None,
                    number => Some(Prehash::from_number(number)?),
                };
                Some(SignatureScheme::SlhDsa { digest, deterministic })
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
            SignatureScheme::MlDsa { .. } => ("ml-dsa", "a key of ML-DSA"),
            SignatureScheme::SlhDsa { .. } => ("slh-dsa", "a key of SLH-DSA"),
            SignatureScheme::RsaPkcs1 { .. } | SignatureScheme::RsaPss { .. } | SignatureScheme::RsaRaw => {
                ("rsa", "a key of RSA, and to verify PKCS#1 v1.5 with a hash, or PSS")
            }
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

/// Returns the parameter of a scheme of ML-DSA or SLH-DSA, whose input has that number.
fn numbered(number: u8, deterministic: bool) -> u32 {
    u32::from(number) << 8 | if deterministic { Scheme::DETERMINISTIC } else { 0 }
}

/// Returns the code of a hash as a word has it.
fn code(hash: Option<Hash>) -> u8 {
    hash.map_or(Algorithm::None, algorithm_of) as u8
}
