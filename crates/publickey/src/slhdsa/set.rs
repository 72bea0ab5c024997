//! The twelve parameter sets.
//!
//! Ref. FIPS 205 §11, table 2.

use std::fmt;

use crate::Error;

/// A parameter set: a hash function, a security level in bits, and `s` for short signatures or `f` for fast signing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Set {
    /// SLH-DSA-SHA2-128s, of security category 1.
    Sha2_128s,
    /// SLH-DSA-SHA2-128f, of security category 1.
    Sha2_128f,
    /// SLH-DSA-SHA2-192s, of security category 3.
    Sha2_192s,
    /// SLH-DSA-SHA2-192f, of security category 3.
    Sha2_192f,
    /// SLH-DSA-SHA2-256s, of security category 5.
    Sha2_256s,
    /// SLH-DSA-SHA2-256f, of security category 5.
    Sha2_256f,
    /// SLH-DSA-SHAKE-128s, of security category 1.
    Shake128s,
    /// SLH-DSA-SHAKE-128f, of security category 1.
    Shake128f,
    /// SLH-DSA-SHAKE-192s, of security category 3.
    Shake192s,
    /// SLH-DSA-SHAKE-192f, of security category 3.
    Shake192f,
    /// SLH-DSA-SHAKE-256s, of security category 5.
    Shake256s,
    /// SLH-DSA-SHAKE-256f, of security category 5.
    Shake256f,
}

/// The hash functions of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// SHA-256 alone: FIPS 205 §11.2.1.
    Sha256,
    /// SHA-256 for chains and SHA-512 for the rest: FIPS 205 §11.2.2.
    Sha512,
    /// SHAKE256: FIPS 205 §11.1.
    Shake,
}

/// The numbers of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Bytes of a node, the standard's n.
    pub(super) n: usize,
    /// Layers of trees, the standard's d.
    pub(super) layers: usize,
    /// The height of each tree, the standard's h'.
    pub(super) height: usize,
    /// The height of each tree of FORS, the standard's a.
    pub(super) fors_height: usize,
    /// The trees of FORS, the standard's k.
    pub(super) fors_trees: usize,
}

impl Shape {
    /// Returns the chains of a one-time signature, the standard's len.
    pub(super) const fn chains(&self) -> usize {
        2 * self.n + CHECKSUM
    }

    /// Returns the bytes of the signature by FORS.
    pub(super) const fn fors_len(&self) -> usize {
        self.fors_trees * (1 + self.fors_height) * self.n
    }

    /// Returns the bytes of the signature of a layer.
    pub(super) const fn layer_len(&self) -> usize {
        (self.chains() + self.height) * self.n
    }

    /// Returns the bytes of a message's digest that choose the leaves of FORS.
    pub(super) const fn indices_len(&self) -> usize {
        (self.fors_height * self.fors_trees).div_ceil(8)
    }

    /// Returns the bits of the number of a tree of the lowest layer.
    pub(super) const fn tree_bits(&self) -> usize {
        self.height * (self.layers - 1)
    }

    /// Returns the bytes of a message's digest, the standard's m.
    pub(super) const fn digest_len(&self) -> usize {
        self.indices_len() + self.tree_bits().div_ceil(8) + self.height.div_ceil(8)
    }
}

/// The chains of a one-time signature that sign the checksum.
const CHECKSUM: usize = 3;

/// Bytes of the longest node.
pub(super) const MAX_N: usize = 32;

/// Chains of the longest one-time signature.
pub(super) const MAX_CHAINS: usize = 2 * MAX_N + CHECKSUM;

/// Bytes of the longest digest of a message, a multiple of eight.
pub(super) const MAX_DIGEST: usize = 56;

impl Set {
    /// All sets, in the order of the standard.
    pub const ALL: [Set; 12] = [
        Set::Sha2_128s,
        Set::Shake128s,
        Set::Sha2_128f,
        Set::Shake128f,
        Set::Sha2_192s,
        Set::Shake192s,
        Set::Sha2_192f,
        Set::Shake192f,
        Set::Sha2_256s,
        Set::Shake256s,
        Set::Sha2_256f,
        Set::Shake256f,
    ];

    /// Returns the name, as in `slh-dsa-sha2-128s`.
    pub const fn name(self) -> &'static str {
        match self {
            Set::Sha2_128s => "slh-dsa-sha2-128s",
            Set::Sha2_128f => "slh-dsa-sha2-128f",
            Set::Sha2_192s => "slh-dsa-sha2-192s",
            Set::Sha2_192f => "slh-dsa-sha2-192f",
            Set::Sha2_256s => "slh-dsa-sha2-256s",
            Set::Sha2_256f => "slh-dsa-sha2-256f",
            Set::Shake128s => "slh-dsa-shake-128s",
            Set::Shake128f => "slh-dsa-shake-128f",
            Set::Shake192s => "slh-dsa-shake-192s",
            Set::Shake192f => "slh-dsa-shake-192f",
            Set::Shake256s => "slh-dsa-shake-256s",
            Set::Shake256f => "slh-dsa-shake-256f",
        }
    }

    /// Returns the bytes of a node of the trees, the standard's n: 16, 24 or 32. A signature takes as many random bytes.
    pub const fn node_len(self) -> usize {
        self.shape().n
    }

    /// Returns the bytes of the three seeds that a key pair is made of: 48, 72 or 96.
    pub const fn seeds_len(self) -> usize {
        3 * self.shape().n
    }

    /// Returns the bytes of a public key: 32, 48 or 64.
    pub const fn public_key_len(self) -> usize {
        2 * self.shape().n
    }

    /// Returns the bytes of a private key: 64, 96 or 128.
    pub const fn private_key_len(self) -> usize {
        4 * self.shape().n
    }

    /// Returns the bytes of a signature: 7856 for the shortest and 49856 for the longest.
    pub const fn signature_len(self) -> usize {
        let shape = self.shape();
        shape.n + shape.fors_len() + shape.layers * shape.layer_len()
    }

    /// Returns the bytes of memory that a kept private key takes for its uppermost tree: 240 for 128f, and 24 KiB at most.
    pub const fn kept_private_len(self) -> usize {
        let shape = self.shape();
        ((2 << shape.height) - 1) * shape.n
    }

    pub(super) const fn family(self) -> Family {
        match self {
            Set::Sha2_128s | Set::Sha2_128f => Family::Sha256,
            Set::Sha2_192s | Set::Sha2_192f | Set::Sha2_256s | Set::Sha2_256f => Family::Sha512,
            _ => Family::Shake,
        }
    }

    pub(super) const fn shape(self) -> Shape {
        let (n, layers, height, fors_height, fors_trees) = match self {
            Set::Sha2_128s | Set::Shake128s => (16, 7, 9, 12, 14),
            Set::Sha2_128f | Set::Shake128f => (16, 22, 3, 6, 33),
            Set::Sha2_192s | Set::Shake192s => (24, 7, 9, 14, 17),
            Set::Sha2_192f | Set::Shake192f => (24, 22, 3, 8, 33),
            Set::Sha2_256s | Set::Shake256s => (32, 8, 8, 14, 22),
            Set::Sha2_256f | Set::Shake256f => (32, 17, 4, 9, 35),
        };
        Shape { n, layers, height, fors_height, fors_trees }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(super) const NAME: &str = "slh-dsa";

/// Bytes of the longest public key.
pub const MAX_PUBLIC_KEY: usize = Set::Sha2_256s.public_key_len();

/// Bytes of the longest signature, that of the sets 256f.
pub const MAX_SIGNATURE: usize = Set::Sha2_256f.signature_len();

/// A part that has a length of its own in every set.
#[derive(Clone, Copy)]
pub(super) enum What {
    PublicKey,
    PrivateKey,
    Seeds,
    Randomness,
    Signature,
}

impl What {
    const fn name(self) -> &'static str {
        match self {
            What::PublicKey => "public key",
            What::PrivateKey => "private key",
            What::Seeds => "seeds",
            What::Randomness => "randomness",
            What::Signature => "signature",
        }
    }

    const fn len(self, set: Set) -> usize {
        match self {
            What::PublicKey => set.public_key_len(),
            What::PrivateKey => set.private_key_len(),
            What::Seeds => set.seeds_len(),
            What::Randomness => set.node_len(),
            What::Signature => set.signature_len(),
        }
    }
}

/// Returns the bytes if there are as many as there have to be.
pub(super) fn bytes_of(set: Set, what: What, bytes: &[u8]) -> Result<&[u8], Error> {
    let len = what.len(set);
    if bytes.len() == len {
        return Ok(bytes);
    }
    Err(Error::Length { algorithm: set.name(), what: what.name(), given: bytes.len(), takes: in_words(len) })
}

const fn in_words(len: usize) -> &'static str {
    match len {
        16 => "16 bytes",
        24 => "24 bytes",
        32 => "32 bytes",
        48 => "48 bytes",
        64 => "64 bytes",
        72 => "72 bytes",
        96 => "96 bytes",
        128 => "128 bytes",
        7856 => "7856 bytes",
        17_088 => "17088 bytes",
        16_224 => "16224 bytes",
        35_664 => "35664 bytes",
        29_792 => "29792 bytes",
        _ => "49856 bytes",
    }
}
