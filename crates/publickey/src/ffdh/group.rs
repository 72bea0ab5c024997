//! The groups by name.
//!
//! Ref. RFC 7919 appendix A (primes, and the bits that a private key needs).

use std::fmt;
use std::sync::OnceLock;

use super::primes::{FFDHE2048, FFDHE3072, FFDHE4096};
use crate::montgomery::{Modulus, WORDS};

/// Bytes of the longest public key and secret.
pub const MAX_BYTES: usize = 8 * WORDS;

/// A group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// ffdhe2048, whose security is about that of 103 bits.
    Ffdhe2048,
    /// ffdhe3072, whose security is about that of 125 bits.
    Ffdhe3072,
    /// ffdhe4096, whose security is about that of 150 bits.
    Ffdhe4096,
}

impl Group {
    /// Every group.
    pub const ALL: [Group; 3] = [Group::Ffdhe2048, Group::Ffdhe3072, Group::Ffdhe4096];

    /// Returns the name, as in `ffdhe2048`.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Ffdhe2048 => "ffdhe2048",
            Group::Ffdhe3072 => "ffdhe3072",
            Group::Ffdhe4096 => "ffdhe4096",
        }
    }

    /// Returns the bytes of the prime, and so of public keys and shared secrets.
    pub const fn bytes(self) -> usize {
        8 * self.prime().len()
    }

    /// Returns the bytes of a private key that is generated: whole words from the 225, 275 and 325 bits on that are asked for.
    pub const fn private_bytes(self) -> usize {
        match self {
            Group::Ffdhe2048 => 32,
            Group::Ffdhe3072 => 40,
            Group::Ffdhe4096 => 48,
        }
    }

    pub(super) const fn prime(self) -> &'static [u64] {
        match self {
            Group::Ffdhe2048 => &FFDHE2048,
            Group::Ffdhe3072 => &FFDHE3072,
            Group::Ffdhe4096 => &FFDHE4096,
        }
    }

    /// Returns the prime with its constants, which are computed once.
    pub(super) fn modulus(self) -> &'static Modulus<WORDS> {
        static MODULI: [OnceLock<Box<Modulus<WORDS>>>; 3] = [const { OnceLock::new() }; 3];
        MODULI[self as usize].get_or_init(|| {
            let mut modulus = Box::new(Modulus::empty());
            modulus.set(self.prime(), self.prime().len());
            modulus
        })
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
