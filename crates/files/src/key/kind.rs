//! The kinds of keys.

use std::fmt;

use millstream_publickey::slhdsa;
use millstream_publickey::weierstrass::Curve;

/// The kind of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// AES, 128, 192 or 256 bits.
    Aes,
    /// AES-SIV, 256, 384 or 512 bits.
    AesSiv,
    /// Fernet, 256 bits: 128 for signing and 128 for encryption.
    Fernet,
    /// HMAC, 128 to 8192 bits in whole bytes.
    Hmac,
    /// ChaCha20-Poly1305, 256 bits.
    ChaCha20Poly1305,
    /// ECDSA or ECDH on P-256.
    P256,
    /// ECDSA or ECDH on P-384.
    P384,
    /// ECDSA or ECDH on P-521.
    P521,
    /// Ed25519.
    Ed25519,
    /// X25519.
    X25519,
    /// RSA, 1024 to 4096 bits.
    Rsa,
    /// ML-KEM-512.
    MlKem512,
    /// ML-KEM-768.
    MlKem768,
    /// ML-KEM-1024.
    MlKem1024,
    /// ML-DSA-44.
    MlDsa44,
    /// ML-DSA-65.
    MlDsa65,
    /// ML-DSA-87.
    MlDsa87,
    /// SLH-DSA, in one of its parameter sets.
    SlhDsa(slhdsa::Set),
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 29] = [
        Kind::Aes,
        Kind::AesSiv,
        Kind::Fernet,
        Kind::Hmac,
        Kind::ChaCha20Poly1305,
        Kind::P256,
        Kind::P384,
        Kind::P521,
        Kind::Ed25519,
        Kind::X25519,
        Kind::Rsa,
        Kind::MlKem512,
        Kind::MlKem768,
        Kind::MlKem1024,
        Kind::MlDsa44,
        Kind::MlDsa65,
        Kind::MlDsa87,
        Kind::SlhDsa(slhdsa::Set::Sha2_128s),
        Kind::SlhDsa(slhdsa::Set::Sha2_128f),
        Kind::SlhDsa(slhdsa::Set::Sha2_192s),
        Kind::SlhDsa(slhdsa::Set::Sha2_192f),
        Kind::SlhDsa(slhdsa::Set::Sha2_256s),
        Kind::SlhDsa(slhdsa::Set::Sha2_256f),
        Kind::SlhDsa(slhdsa::Set::Shake128s),
        Kind::SlhDsa(slhdsa::Set::Shake128f),
        Kind::SlhDsa(slhdsa::Set::Shake192s),
        Kind::SlhDsa(slhdsa::Set::Shake192f),
        Kind::SlhDsa(slhdsa::Set::Shake256s),
        Kind::SlhDsa(slhdsa::Set::Shake256f),
    ];

    /// Returns the name, as in `p-256`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Aes => "aes",
            Kind::AesSiv => "aes-siv",
            Kind::Fernet => "fernet",
            Kind::Hmac => "hmac",
            Kind::ChaCha20Poly1305 => "chacha20-poly1305",
            Kind::P256 => "p-256",
            Kind::P384 => "p-384",
            Kind::P521 => "p-521",
            Kind::Ed25519 => "ed25519",
            Kind::X25519 => "x25519",
            Kind::Rsa => "rsa",
            Kind::MlKem512 => "ml-kem-512",
            Kind::MlKem768 => "ml-kem-768",
            Kind::MlKem1024 => "ml-kem-1024",
            Kind::MlDsa44 => "ml-dsa-44",
            Kind::MlDsa65 => "ml-dsa-65",
            Kind::MlDsa87 => "ml-dsa-87",
            Kind::SlhDsa(set) => set.name(),
        }
    }

    /// Returns the kind with that name.
    pub fn named(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns true for kinds whose keys have a public part.
    pub fn is_pair(self) -> bool {
        !matches!(self, Kind::Aes | Kind::AesSiv | Kind::Fernet | Kind::Hmac | Kind::ChaCha20Poly1305)
    }

    /// Returns the curve of NIST that the kind is of.
    pub(super) fn curve(self) -> Option<Curve> {
        match self {
            Kind::P256 => Some(Curve::P256),
            Kind::P384 => Some(Curve::P384),
            Kind::P521 => Some(Curve::P521),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
