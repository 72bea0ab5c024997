//! The algorithms that a suite is made of, with their numbers.
//!
//! Ref. RFC 9180 §7; draft-ietf-hpke-pq-03 §7.

use millstream_engines::hash::Hash;
use millstream_engines::sha3::Xof;

use crate::ecdh::Curve;
use crate::hybrid::{self, Hybrid};
use crate::mlkem::{self, Set};
use crate::{x448, x25519};

/// A key encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kem {
    /// Diffie-Hellman on X25519, with HKDF-SHA-256.
    X25519,
    /// Diffie-Hellman on X448, with HKDF-SHA-512.
    X448,
    /// Diffie-Hellman on P-256, P-384 or P-521, with HKDF on SHA-256, SHA-384 or SHA-512.
    Curve(Curve),
    /// ML-KEM.
    MlKem(Set),
    /// ML-KEM and a curve: X-Wing and its kin.
    Hybrid(Hybrid),
}

impl Kem {
    /// All encapsulations.
    pub const ALL: [Kem; 11] = [
        Kem::Curve(Curve::P256),
        Kem::Curve(Curve::P384),
        Kem::Curve(Curve::P521),
        Kem::X25519,
        Kem::X448,
        Kem::MlKem(Set::MlKem512),
        Kem::MlKem(Set::MlKem768),
        Kem::MlKem(Set::MlKem1024),
        Kem::Hybrid(Hybrid::MlKem768P256),
        Kem::Hybrid(Hybrid::MlKem1024P384),
        Kem::Hybrid(Hybrid::MlKem768X25519),
    ];

    /// Returns the number that IANA's registry has for it.
    pub const fn id(self) -> u16 {
        match self {
            Kem::Curve(Curve::P256) => 0x10,
            Kem::Curve(Curve::P384) => 0x11,
            Kem::Curve(Curve::P521) => 0x12,
            Kem::X25519 => 0x20,
            Kem::X448 => 0x21,
            Kem::MlKem(Set::MlKem512) => 0x40,
            Kem::MlKem(Set::MlKem768) => 0x41,
            Kem::MlKem(Set::MlKem1024) => 0x42,
            Kem::Hybrid(Hybrid::MlKem768P256) => 0x50,
            Kem::Hybrid(Hybrid::MlKem1024P384) => 0x51,
            Kem::Hybrid(Hybrid::MlKem768X25519) => 0x647a,
        }
    }

    /// Returns the encapsulation with this number, if it is one of these.
    pub fn from_id(id: u16) -> Option<Self> {
        Kem::ALL.into_iter().find(|kem| kem.id() == id)
    }

    /// Returns true if a sender can authenticate himself with a key pair of his own.
    pub const fn authenticates(self) -> bool {
        matches!(self, Kem::X25519 | Kem::X448 | Kem::Curve(_))
    }

    /// Returns the bytes of an encapsulated key: the standard's Nenc.
    pub const fn encapsulated_len(self) -> usize {
        match self {
            Kem::X25519 => x25519::KEY,
            Kem::X448 => x448::KEY,
            Kem::Curve(curve) => 1 + 2 * curve.bytes(),
            Kem::MlKem(set) => set.ciphertext_len(),
            Kem::Hybrid(hybrid) => hybrid.ciphertext_len(),
        }
    }

    /// Returns the bytes of a private key: the standard's Nsk. Those of ML-KEM and of hybrids are seeds.
    pub const fn private_key_len(self) -> usize {
        match self {
            Kem::X25519 => x25519::KEY,
            Kem::X448 => x448::KEY,
            Kem::Curve(curve) => curve.bytes(),
            Kem::MlKem(_) => mlkem::SEED,
            Kem::Hybrid(_) => hybrid::SEED,
        }
    }

    /// The hash of the derivations of keys within an encapsulation by Diffie-Hellman.
    pub(super) const fn hash(self) -> Hash {
        match self {
            Kem::Curve(Curve::P384) => Hash::Sha384,
            Kem::Curve(Curve::P521) | Kem::X448 => Hash::Sha512,
            Kem::X25519 | Kem::Curve(Curve::P256) | Kem::MlKem(_) | Kem::Hybrid(_) => Hash::Sha256,
        }
    }

    /// The first part of what the derivations within an encapsulation are bound to.
    pub(super) fn suite_id(self) -> [u8; 5] {
        let [high, low] = self.id().to_be_bytes();
        [b'K', b'E', b'M', high, low]
    }
}

/// A key derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kdf {
    /// HKDF-SHA-256.
    HkdfSha256,
    /// HKDF-SHA-384.
    HkdfSha384,
    /// HKDF-SHA-512.
    HkdfSha512,
    /// SHAKE128, in one stage.
    Shake128,
    /// SHAKE256, in one stage.
    Shake256,
}

/// The way in which a derivation works.
#[derive(Clone, Copy)]
pub(super) enum Stages {
    /// Extraction, then expansion.
    Two(Hash),
    /// One call of a function with an output of any length.
    One(Xof),
}

impl Kdf {
    /// All derivations.
    pub const ALL: [Kdf; 5] =
        [Kdf::HkdfSha256, Kdf::HkdfSha384, Kdf::HkdfSha512, Kdf::Shake128, Kdf::Shake256];

    /// Returns the number that the registry has for it.
    pub const fn id(self) -> u16 {
        match self {
            Kdf::HkdfSha256 => 1,
            Kdf::HkdfSha384 => 2,
            Kdf::HkdfSha512 => 3,
            Kdf::Shake128 => 0x10,
            Kdf::Shake256 => 0x11,
        }
    }

    /// Returns the derivation with this number, if it is one of these.
    pub fn from_id(id: u16) -> Option<Self> {
        Kdf::ALL.into_iter().find(|kdf| kdf.id() == id)
    }

    pub(super) const fn stages(self) -> Stages {
        match self {
            Kdf::HkdfSha256 => Stages::Two(Hash::Sha256),
            Kdf::HkdfSha384 => Stages::Two(Hash::Sha384),
            Kdf::HkdfSha512 => Stages::Two(Hash::Sha512),
            Kdf::Shake128 => Stages::One(Xof::Shake128),
            Kdf::Shake256 => Stages::One(Xof::Shake256),
        }
    }

    /// Bytes of an exporter's secret: the standard's Nh.
    pub(super) const fn secret_len(self) -> usize {
        match self {
            Kdf::HkdfSha256 | Kdf::Shake128 => 32,
            Kdf::HkdfSha384 => 48,
            Kdf::HkdfSha512 | Kdf::Shake256 => 64,
        }
    }
}

/// The cipher of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aead {
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
    /// None: the context only exports secrets.
    ExportOnly,
}

impl Aead {
    /// All ciphers.
    pub const ALL: [Aead; 4] = [Aead::Aes128Gcm, Aead::Aes256Gcm, Aead::ChaCha20Poly1305, Aead::ExportOnly];

    /// Returns the number that the registry has for it.
    pub const fn id(self) -> u16 {
        match self {
            Aead::Aes128Gcm => 1,
            Aead::Aes256Gcm => 2,
            Aead::ChaCha20Poly1305 => 3,
            Aead::ExportOnly => 0xffff,
        }
    }

    /// Returns the cipher with this number, if it is one of these.
    pub fn from_id(id: u16) -> Option<Self> {
        Aead::ALL.into_iter().find(|aead| aead.id() == id)
    }

    /// Bytes of a key: the standard's Nk.
    pub(super) const fn key_len(self) -> usize {
        match self {
            Aead::Aes128Gcm => 16,
            Aead::Aes256Gcm | Aead::ChaCha20Poly1305 => 32,
            Aead::ExportOnly => 0,
        }
    }
}

/// A suite: an encapsulation, a derivation and a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Suite {
    /// The encapsulation.
    pub kem: Kem,
    /// The derivation.
    pub kdf: Kdf,
    /// The cipher.
    pub aead: Aead,
}

impl Suite {
    /// Returns a suite of these parts; every combination is one.
    pub const fn new(kem: Kem, kdf: Kdf, aead: Aead) -> Self {
        Suite { kem, kdf, aead }
    }

    /// The bytes to which the derivations of the key schedule are bound: RFC 9180 §5.1.
    pub(super) fn id(self) -> [u8; 10] {
        let mut id = *b"HPKE......";
        id[4..6].copy_from_slice(&self.kem.id().to_be_bytes());
        id[6..8].copy_from_slice(&self.kdf.id().to_be_bytes());
        id[8..].copy_from_slice(&self.aead.id().to_be_bytes());
        id
    }
}
