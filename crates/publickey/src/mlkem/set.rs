//! The three parameter sets.
//!
//! Ref. FIPS 203 §8, tables 2 and 3.

use std::fmt;

use super::poly::Poly;
use crate::Error;

/// Bytes of a polynomial with 12 bits for each coefficient.
pub(super) const POLY: usize = 384;

/// The most polynomials in a vector.
pub(super) const MAX_RANK: usize = 4;

/// A parameter set. The number says how strong it is meant to be: as AES-128, AES-192 and AES-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Set {
    /// ML-KEM-512.
    MlKem512,
    /// ML-KEM-768.
    MlKem768,
    /// ML-KEM-1024.
    MlKem1024,
}

impl Set {
    /// All sets, the weakest first.
    pub const ALL: [Set; 3] = [Set::MlKem512, Set::MlKem768, Set::MlKem1024];

    /// Returns the name, as in `ml-kem-768`.
    pub const fn name(self) -> &'static str {
        match self {
            Set::MlKem512 => "ml-kem-512",
            Set::MlKem768 => "ml-kem-768",
            Set::MlKem1024 => "ml-kem-1024",
        }
    }

    /// Returns the bytes of a public key, the standard's encapsulation key: 800, 1184 or 1568.
    pub const fn public_key_len(self) -> usize {
        POLY * self.rank() + 32
    }

    /// Returns the bytes of a private key in its expanded form, the standard's decapsulation key: 1632, 2400 or 3168.
    pub const fn expanded_key_len(self) -> usize {
        2 * POLY * self.rank() + 96
    }

    /// Returns the bytes of a ciphertext: 768, 1088 or 1568.
    pub const fn ciphertext_len(self) -> usize {
        32 * (self.rank() * self.u_bits() + self.v_bits())
    }

    /// Returns the bytes of memory that a kept public key takes besides its encoding: 3, 6 or 10 KiB for the matrix and t, as they are used.
    pub const fn kept_public_len(self) -> usize {
        (self.rank() * self.rank() + self.rank()) * size_of::<Poly>()
    }

    /// Returns the bytes of memory that a kept private key takes: what its public key takes, and 2 KiB for the secret vector, which has room
    /// for the longest, with z and the seed.
    pub const fn kept_private_len(self) -> usize {
        self.kept_public_len() + MAX_RANK * size_of::<Poly>() + 32 + SEED
    }

    /// The standard's k.
    pub(super) const fn rank(self) -> usize {
        match self {
            Set::MlKem512 => 2,
            Set::MlKem768 => 3,
            Set::MlKem1024 => 4,
        }
    }

    /// The standard's eta 1.
    pub(super) const fn eta1(self) -> usize {
        match self {
            Set::MlKem512 => 3,
            Set::MlKem768 | Set::MlKem1024 => 2,
        }
    }

    /// The standard's d u.
    pub(super) const fn u_bits(self) -> usize {
        match self {
            Set::MlKem512 | Set::MlKem768 => 10,
            Set::MlKem1024 => 11,
        }
    }

    /// The standard's d v.
    pub(super) const fn v_bits(self) -> usize {
        match self {
            Set::MlKem512 | Set::MlKem768 => 4,
            Set::MlKem1024 => 5,
        }
    }

    /// The length of a public key in words.
    pub(super) const fn takes_public_key(self) -> &'static str {
        match self {
            Set::MlKem512 => "800 bytes",
            Set::MlKem768 => "1184 bytes",
            Set::MlKem1024 => "1568 bytes",
        }
    }

    /// The lengths of a private key in words.
    pub(super) const fn takes_private_key(self) -> &'static str {
        match self {
            Set::MlKem512 => "64 bytes of a seed, or 1632",
            Set::MlKem768 => "64 bytes of a seed, or 2400",
            Set::MlKem1024 => "64 bytes of a seed, or 3168",
        }
    }

    /// The length of a ciphertext in words.
    pub(super) const fn takes_ciphertext(self) -> &'static str {
        match self {
            Set::MlKem512 => "768 bytes",
            Set::MlKem768 => "1088 bytes",
            Set::MlKem1024 => "1568 bytes",
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(super) const NAME: &str = "ml-kem";

/// Bytes of a private key's seed: the standard's d and z.
pub const SEED: usize = 64;

/// Bytes of a shared secret.
pub const SECRET: usize = 32;

/// The random bytes of which an encapsulation is made: the standard's m.
pub const MESSAGE: usize = 32;

/// Bytes of the longest public key, that of ML-KEM-1024.
pub const MAX_PUBLIC_KEY: usize = Set::MlKem1024.public_key_len();

/// Bytes of the longest ciphertext, that of ML-KEM-1024.
pub const MAX_CIPHERTEXT: usize = Set::MlKem1024.ciphertext_len();

/// Returns the bytes if there are as many as there have to be.
pub(super) fn bytes_of<'a>(
    set: Set,
    what: &'static str,
    bytes: &'a [u8],
    len: usize,
    takes: &'static str,
) -> Result<&'a [u8], Error> {
    if bytes.len() == len {
        return Ok(bytes);
    }
    Err(Error::Length { algorithm: set.name(), what, given: bytes.len(), takes })
}
