//! The hashes, and the types that exist once for each of their four compression functions.
//!
//! Everything else of the hashes stands on this file. The list of their tables is in `mod.rs`, above them all.
//!
//! Ref. FIPS 180-4 §1.

use std::fmt;

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hash {
    /// MD5: legacy, and broken where collisions matter.
    Md5,
    /// SHA-1: legacy, and broken where collisions matter.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// SHA-512/256.
    Sha512_256,
}

impl Hash {
    /// Every hash, weakest first.
    pub const ALL: [Hash; 7] =
        [Hash::Md5, Hash::Sha1, Hash::Sha224, Hash::Sha256, Hash::Sha384, Hash::Sha512, Hash::Sha512_256];

    /// Returns the name, as in `sha512-256`.
    pub const fn name(self) -> &'static str {
        match self {
            Hash::Md5 => "md5",
            Hash::Sha1 => "sha1",
            Hash::Sha224 => "sha224",
            Hash::Sha256 => "sha256",
            Hash::Sha384 => "sha384",
            Hash::Sha512 => "sha512",
            Hash::Sha512_256 => "sha512-256",
        }
    }

    /// The hash of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Hash::ALL.into_iter().find(|hash| hash.name() == name)
    }

    /// Bytes in a digest.
    #[inline]
    pub const fn output_len(self) -> usize {
        // With a `match` the compiler would make a version of each caller for every length.
        const LEN: [usize; Hash::ALL.len()] = [16, 20, 28, 32, 48, 64, 32];
        LEN[self as usize]
    }

    /// Bytes in a block.
    #[inline]
    pub const fn block_len(self) -> usize {
        match self {
            Hash::Md5 | Hash::Sha1 | Hash::Sha224 | Hash::Sha256 => 64,
            Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => 128,
        }
    }

    /// The longest message in bytes, as far as this crate counts. FIPS 180-4 §1 gives SHA-1 and SHA-256 less
    /// than 2^64 bits, and MD5 and SHA-512 more than can be counted here.
    pub(super) const fn max_bytes(self) -> u64 {
        match self {
            Hash::Sha1 | Hash::Sha224 | Hash::Sha256 => u64::MAX >> 3,
            _ => u64::MAX,
        }
    }

    /// Returns the hash's number in saved mid-states.
    pub(super) const fn code(self) -> u8 {
        match self {
            Hash::Md5 => 1,
            Hash::Sha1 => 2,
            Hash::Sha224 => 3,
            Hash::Sha256 => 4,
            Hash::Sha384 => 5,
            Hash::Sha512 => 6,
            Hash::Sha512_256 => 7,
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The same thing for each of the four compression functions.
#[derive(Clone, Copy)]
pub(crate) enum Family<A, B, C, D> {
    Md5(A),
    Sha1(B),
    Sha256(C),
    Sha512(D),
}

/// Evaluates one expression for the member that is there.
macro_rules! each {
    ($family:expr, $x:pat => $body:expr) => {
        match $family {
            $crate::hash::family::Family::Md5($x) => $body,
            $crate::hash::family::Family::Sha1($x) => $body,
            $crate::hash::family::Family::Sha256($x) => $body,
            $crate::hash::family::Family::Sha512($x) => $body,
        }
    };
}

/// Makes one family from another.
macro_rules! map {
    ($family:expr, $x:pat => $body:expr) => {{
        use $crate::hash::family::Family;
        match $family {
            Family::Md5($x) => Family::Md5($body),
            Family::Sha1($x) => Family::Sha1($body),
            Family::Sha256($x) => Family::Sha256($body),
            Family::Sha512($x) => Family::Sha512($body),
        }
    }};
}

/// The family of a type over the chaining value and the bytes in a block.
macro_rules! family {
    ($over:ident) => {
        $crate::hash::family::Family<
            $over<[u32; 4], 64>,
            $over<[u32; 5], 64>,
            $over<[u32; 8], 64>,
            $over<[u64; 8], 128>,
        >
    };
}
pub(crate) use {each, family, map};
