//! The three parameter sets.
//!
//! Ref. FIPS 204 §4, tables 1 and 2.

use std::fmt;

use super::poly::Poly;
use crate::Error;

/// Bytes of a polynomial of a public key, with 10 bits for each coefficient.
pub(super) const T1: usize = 320;

/// Bytes of a polynomial of the low bits of t, with 13 bits for each coefficient.
pub(super) const T0: usize = 416;

/// The bits of t that a public key leaves out, the standard's d.
pub(super) const DROPPED: i32 = 13;

/// A parameter set. The numbers are the rows and the columns of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Set {
    /// ML-DSA-44, of security category 2.
    MlDsa44,
    /// ML-DSA-65, of security category 3.
    MlDsa65,
    /// ML-DSA-87, of security category 5.
    MlDsa87,
}

impl Set {
    /// All sets, the weakest first.
    pub const ALL: [Set; 3] = [Set::MlDsa44, Set::MlDsa65, Set::MlDsa87];

    /// Returns the name, as in `ml-dsa-65`.
    pub const fn name(self) -> &'static str {
        match self {
            Set::MlDsa44 => "ml-dsa-44",
            Set::MlDsa65 => "ml-dsa-65",
            Set::MlDsa87 => "ml-dsa-87",
        }
    }

    /// Returns the bytes of a public key: 1312, 1952 or 2592.
    pub const fn public_key_len(self) -> usize {
        32 + T1 * self.rows()
    }

    /// Returns the bytes of a private key in its expanded form: 2560, 4032 or 4896.
    pub const fn expanded_key_len(self) -> usize {
        128 + self.small_len() * (self.rows() + self.columns()) + T0 * self.rows()
    }

    /// Returns the bytes of a signature: 2420, 3309 or 4627.
    pub const fn signature_len(self) -> usize {
        self.hash_len() + self.z_len() * self.columns() + self.ones() + self.rows()
    }

    /// Returns the bytes of memory that a kept public key takes besides its encoding: 20, 36 or 64 KiB for the matrix and t, as they are used.
    pub const fn kept_public_len(self) -> usize {
        self.rows() * (self.columns() + 1) * size_of::<Poly>()
    }

    /// Returns the bytes of memory that a kept private key takes: what its public key takes, and 12, 17 or 23 KiB for s1, s2 and t0, as they
    /// are used.
    pub const fn kept_private_len(self) -> usize {
        self.kept_public_len() + (self.columns() + 2 * self.rows()) * size_of::<Poly>()
    }

    /// The standard's k.
    pub(super) const fn rows(self) -> usize {
        match self {
            Set::MlDsa44 => 4,
            Set::MlDsa65 => 6,
            Set::MlDsa87 => 8,
        }
    }

    /// The standard's l.
    pub(super) const fn columns(self) -> usize {
        match self {
            Set::MlDsa44 => 4,
            Set::MlDsa65 => 5,
            Set::MlDsa87 => 7,
        }
    }

    /// The standard's eta.
    pub(super) const fn eta(self) -> i32 {
        match self {
            Set::MlDsa44 | Set::MlDsa87 => 2,
            Set::MlDsa65 => 4,
        }
    }

    /// The standard's tau: the coefficients of a challenge that are not zero.
    pub(super) const fn tau(self) -> usize {
        match self {
            Set::MlDsa44 => 39,
            Set::MlDsa65 => 49,
            Set::MlDsa87 => 60,
        }
    }

    /// The standard's beta.
    pub(super) const fn beta(self) -> i32 {
        self.tau() as i32 * self.eta()
    }

    /// The logarithm of the standard's gamma 1.
    pub(super) const fn gamma1_bits(self) -> usize {
        match self {
            Set::MlDsa44 => 17,
            Set::MlDsa65 | Set::MlDsa87 => 19,
        }
    }

    /// The standard's gamma 1.
    pub(super) const fn gamma1(self) -> i32 {
        1 << self.gamma1_bits()
    }

    /// The standard's gamma 2.
    pub(super) const fn gamma2(self) -> Gamma2 {
        match self {
            Set::MlDsa44 => Gamma2::Of88,
            Set::MlDsa65 | Set::MlDsa87 => Gamma2::Of32,
        }
    }

    /// The standard's omega: the most ones in a hint.
    pub(super) const fn ones(self) -> usize {
        match self {
            Set::MlDsa44 => 80,
            Set::MlDsa65 => 55,
            Set::MlDsa87 => 75,
        }
    }

    /// Bytes of the hash in a signature: a quarter of the standard's lambda.
    pub(super) const fn hash_len(self) -> usize {
        match self {
            Set::MlDsa44 => 32,
            Set::MlDsa65 => 48,
            Set::MlDsa87 => 64,
        }
    }

    /// Bits of a coefficient of s1 and s2.
    pub(super) const fn small_bits(self) -> usize {
        match self {
            Set::MlDsa44 | Set::MlDsa87 => 3,
            Set::MlDsa65 => 4,
        }
    }

    /// Bytes of a polynomial of s1 or s2.
    pub(super) const fn small_len(self) -> usize {
        32 * self.small_bits()
    }

    /// Bits of a coefficient of z.
    pub(super) const fn z_bits(self) -> usize {
        self.gamma1_bits() + 1
    }

    /// Bytes of a polynomial of z.
    pub(super) const fn z_len(self) -> usize {
        32 * self.z_bits()
    }

    /// Bytes of a polynomial of high bits.
    pub(super) const fn high_len(self) -> usize {
        32 * self.gamma2().high_bits()
    }

    /// The length of a public key in words.
    pub(super) const fn takes_public_key(self) -> &'static str {
        match self {
            Set::MlDsa44 => "1312 bytes",
            Set::MlDsa65 => "1952 bytes",
            Set::MlDsa87 => "2592 bytes",
        }
    }

    /// The lengths of a private key in words.
    pub(super) const fn takes_private_key(self) -> &'static str {
        match self {
            Set::MlDsa44 => "32 bytes of a seed, or 2560",
            Set::MlDsa65 => "32 bytes of a seed, or 4032",
            Set::MlDsa87 => "32 bytes of a seed, or 4896",
        }
    }

    /// The length of a signature in words.
    pub(super) const fn takes_signature(self) -> &'static str {
        match self {
            Set::MlDsa44 => "2420 bytes",
            Set::MlDsa65 => "3309 bytes",
            Set::MlDsa87 => "4627 bytes",
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The two values of the standard's gamma 2: q - 1, divided by 88 or by 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gamma2 {
    Of88,
    Of32,
}

impl Gamma2 {
    pub(super) const fn value(self) -> i32 {
        match self {
            Gamma2::Of88 => 95_232,
            Gamma2::Of32 => 261_888,
        }
    }

    /// Bits of the high part of a number.
    pub(super) const fn high_bits(self) -> usize {
        match self {
            Gamma2::Of88 => 6,
            Gamma2::Of32 => 4,
        }
    }
}

pub(super) const NAME: &str = "ml-dsa";

/// Bytes of a private key's seed, the standard's xi.
pub const SEED: usize = 32;

/// Random bytes of a signature, the standard's rnd.
pub const RANDOMNESS: usize = 32;

/// Bytes of a message's representative, the standard's mu.
pub const MU: usize = 64;

/// Bytes of the longest public key, that of ML-DSA-87.
pub const MAX_PUBLIC_KEY: usize = Set::MlDsa87.public_key_len();

/// Bytes of the longest signature, that of ML-DSA-87.
pub const MAX_SIGNATURE: usize = Set::MlDsa87.signature_len();

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
