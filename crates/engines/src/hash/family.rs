//! The hashes, and the types that exist once for each of their compression functions.
//!
//! Everything else of the hashes stands on this file. The list of their tables is in `mod.rs`, above them all.
//!
//! Ref. FIPS 180-4 §1; FIPS 202 §6.1.

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
    /// SHA3-224.
    Sha3_224,
    /// SHA3-256.
    Sha3_256,
    /// SHA3-384.
    Sha3_384,
    /// SHA3-512.
    Sha3_512,
}

impl Hash {
    /// Every hash, by family, and weakest first in each.
    pub const ALL: [Hash; 11] = [
        Hash::Md5,
        Hash::Sha1,
        Hash::Sha224,
        Hash::Sha256,
        Hash::Sha384,
        Hash::Sha512,
        Hash::Sha512_256,
        Hash::Sha3_224,
        Hash::Sha3_256,
        Hash::Sha3_384,
        Hash::Sha3_512,
    ];

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
            Hash::Sha3_224 => "sha3-224",
            Hash::Sha3_256 => "sha3-256",
            Hash::Sha3_384 => "sha3-384",
            Hash::Sha3_512 => "sha3-512",
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
        const LEN: [usize; Hash::ALL.len()] = [16, 20, 28, 32, 48, 64, 32, 28, 32, 48, 64];
        LEN[self as usize]
    }

    /// Bytes in a block. Of SHA-3 that is the rate.
    #[inline]
    pub const fn block_len(self) -> usize {
        match self {
            Hash::Md5 | Hash::Sha1 | Hash::Sha224 | Hash::Sha256 => 64,
            Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => 128,
            Hash::Sha3_224 => 144,
            Hash::Sha3_256 => 136,
            Hash::Sha3_384 => 104,
            Hash::Sha3_512 => 72,
        }
    }

    /// The longest message in bytes, as far as this crate counts. FIPS 180-4 §1 gives SHA-1 and SHA-256 less
    /// than 2^64 bits, and MD5, SHA-512 and SHA-3 more than can be counted here.
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
            Hash::Sha3_224 => 8,
            Hash::Sha3_256 => 9,
            Hash::Sha3_384 => 10,
            Hash::Sha3_512 => 11,
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The same thing for each of the compression functions. SHA-3 has one for each rate.
#[derive(Clone, Copy)]
pub(crate) enum Family<A, B, C, D, E, F, G, H> {
    Md5(A),
    Sha1(B),
    Sha256(C),
    Sha512(D),
    Sha3_224(E),
    Sha3_256(F),
    Sha3_384(G),
    Sha3_512(H),
}

/// Evaluates one expression for the member that is there.
macro_rules! each {
    ($family:expr, $x:pat => $body:expr) => {
        match $family {
            $crate::hash::family::Family::Md5($x) => $body,
            $crate::hash::family::Family::Sha1($x) => $body,
            $crate::hash::family::Family::Sha256($x) => $body,
            $crate::hash::family::Family::Sha512($x) => $body,
            $crate::hash::family::Family::Sha3_224($x) => $body,
            $crate::hash::family::Family::Sha3_256($x) => $body,
            $crate::hash::family::Family::Sha3_384($x) => $body,
            $crate::hash::family::Family::Sha3_512($x) => $body,
        }
    };
}

/// Makes one family from another. Members for SHA-3 come into boxes, or are kept as the function says.
macro_rules! map {
    ($family:expr, $x:pat => $body:expr) => {
        $crate::hash::family::map!($family, $x => $body, Box::new)
    };
    ($family:expr, $x:pat => $body:expr, $keep:path) => {{
        use $crate::hash::family::Family;
        match $family {
            Family::Md5($x) => Family::Md5($body),
            Family::Sha1($x) => Family::Sha1($body),
            Family::Sha256($x) => Family::Sha256($body),
            Family::Sha512($x) => Family::Sha512($body),
            Family::Sha3_224($x) => Family::Sha3_224($keep($body)),
            Family::Sha3_256($x) => Family::Sha3_256($keep($body)),
            Family::Sha3_384($x) => Family::Sha3_384($keep($body)),
            Family::Sha3_512($x) => Family::Sha3_512($keep($body)),
        }
    }};
}

/// The family of a type over the chaining value and the bytes in a block; or of two types, the second for SHA-3. In the first
/// form members for SHA-3 are in boxes: a sponge's state is large, and whatever holds a family is moved.
macro_rules! family {
    ($over:ident) => {
        $crate::hash::family::Family<
            $over<[u32; 4], 64>,
            $over<[u32; 5], 64>,
            $over<[u32; 8], 64>,
            $over<[u64; 8], 128>,
            Box<$over<[u64; 25], 144>>,
            Box<$over<[u64; 25], 136>>,
            Box<$over<[u64; 25], 104>>,
            Box<$over<[u64; 25], 72>>,
        >
    };
    ($over:ident, $sponge:ident) => {
        $crate::hash::family::Family<
            $over<[u32; 4], 64>,
            $over<[u32; 5], 64>,
            $over<[u32; 8], 64>,
            $over<[u64; 8], 128>,
            $sponge<[u64; 25], 144>,
            $sponge<[u64; 25], 136>,
            $sponge<[u64; 25], 104>,
            $sponge<[u64; 25], 72>,
        >
    };
}
pub(crate) use {each, family, map};
