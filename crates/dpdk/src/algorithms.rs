//! The algorithms that the driver offers: one table, from which DPDK's list of capabilities is made, and by which sessions are checked.
//!
//! Ref. DPDK 22.11 and 24.11, `rte_crypto_sym.h`: the numbers of algorithms, which are the same in both. The C side compares them when it
//! is compiled.

use millstream::cwq::Algorithm;
use millstream::hash::Hash;

/// The class of a transform, by its number in `enum rte_crypto_sym_xform_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Class {
    /// A hash or a MAC.
    Auth = 1,
    /// A cipher.
    Cipher = 2,
    /// A cipher with authentication.
    Aead = 3,
}

/// The lengths that something may have, in bytes: from `min` to `max` in steps of `increment`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Range {
    /// The least.
    pub min: u16,
    /// The greatest.
    pub max: u16,
    /// The distance from one to the next; 0 where there is one length only.
    pub increment: u16,
}

impl Range {
    const NONE: Range = one(0);

    /// Returns true if the range has this length.
    pub fn contains(self, length: u16) -> bool {
        (self.min..=self.max).contains(&length)
            && (length - self.min).checked_rem(self.increment).unwrap_or(0) == 0
    }
}

const fn one(length: u16) -> Range {
    Range { min: length, max: length, increment: 0 }
}

const fn range(min: u16, max: u16, increment: u16) -> Range {
    Range { min, max, increment }
}

/// An algorithm as DPDK's capabilities describe it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Row {
    /// The class.
    pub class: Class,
    /// The number in DPDK's enumeration of this class.
    pub number: u32,
    /// Bytes of a block.
    pub block: u16,
    /// Lengths of keys.
    pub key: Range,
    /// Lengths of tags and digests.
    pub digest: Range,
    /// Lengths of associated data.
    pub aad: Range,
    /// Lengths of initialisation vectors.
    pub iv: Range,
    /// 1 where offsets and lengths of data are in bits.
    pub in_bits: u16,
}

/// The engine that computes an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A cipher that changes nothing.
    NullCipher,
    /// An authentication that writes no tag, and accepts each.
    NullAuth,
    /// A cipher in its mode.
    Cipher(Algorithm),
    /// KASUMI F8.
    KasumiF8,
    /// An HMAC or a CMAC.
    Mac(Algorithm),
    /// A hash without a key.
    Digest(Hash),
    /// AES-GCM over associated data alone.
    Gmac,
    /// KASUMI F9.
    KasumiF9,
    /// An AEAD.
    Aead(Algorithm),
}

impl Engine {
    /// Returns the algorithm of the key; a hash and what is null have none.
    pub fn keyed(self) -> Option<Algorithm> {
        match self {
            Engine::NullCipher | Engine::NullAuth | Engine::Digest(_) => None,
            Engine::Cipher(algorithm) | Engine::Mac(algorithm) | Engine::Aead(algorithm) => Some(algorithm),
            Engine::KasumiF8 => Some(Algorithm::KasumiF8),
            Engine::KasumiF9 => Some(Algorithm::KasumiF9),
            Engine::Gmac => Some(Algorithm::AesGcm),
        }
    }
}

/// An algorithm of the table.
pub struct Entry {
    /// The description for DPDK.
    pub row: Row,
    /// The engine.
    pub engine: Engine,
}

const fn cipher(number: u32, block: u16, key: Range, iv: u16, algorithm: Algorithm) -> Entry {
    let row = Row { class: Class::Cipher, number, block, key, iv: one(iv), ..NOTHING };
    Entry { row, engine: Engine::Cipher(algorithm) }
}

/// A MAC whose tag may be cut to four bytes or more, or a hash.
const fn auth(number: u32, block: u16, key: Range, digest: u16, engine: Engine) -> Entry {
    let digest = range(4, digest, 1);
    Entry { row: Row { class: Class::Auth, number, block, key, digest, ..NOTHING }, engine }
}

const fn hmac(number: u32, block: u16, digest: u16, algorithm: Algorithm) -> Entry {
    // The key may be longer than a block of the hash: it is hashed then (RFC 2104 §2).
    auth(number, block, range(1, 1024, 1), digest, Engine::Mac(algorithm))
}

const fn digest(number: u32, block: u16, bytes: u16, hash: Hash) -> Entry {
    auth(number, block, Range::NONE, bytes, Engine::Digest(hash))
}

const NOTHING: Row = Row {
    class: Class::Auth,
    number: 0,
    block: 1,
    key: Range::NONE,
    digest: Range::NONE,
    aad: Range::NONE,
    iv: Range::NONE,
    in_bits: 0,
};

const AES_KEYS: Range = range(16, 32, 8);

/// The most bytes of associated data. DPDK's field holds no more.
const AAD: Range = range(0, u16::MAX, 1);

/// The lengths of tags of AES-GCM (SP 800-38D §5.2.1.2) that a range can express.
const GCM_TAGS: Range = range(4, 16, 4);

/// The table.
pub static TABLE: &[Entry] = &[
    Entry { row: Row { class: Class::Cipher, number: 1, ..NOTHING }, engine: Engine::NullCipher },
    cipher(2, 8, range(16, 24, 8), 8, Algorithm::DesCbc),
    cipher(4, 8, range(16, 24, 8), 0, Algorithm::DesEcb),
    cipher(5, 16, AES_KEYS, 16, Algorithm::AesCbc),
    // A vector of 12 bytes is a nonce, behind which a counter begins with 1.
    Entry {
        row: Row {
            class: Class::Cipher,
            number: 6,
            block: 16,
            key: AES_KEYS,
            iv: range(12, 16, 4),
            ..NOTHING
        },
        engine: Engine::Cipher(Algorithm::AesCtr),
    },
    cipher(7, 16, AES_KEYS, 0, Algorithm::AesEcb),
    cipher(9, 16, range(32, 64, 32), 16, Algorithm::AesXts),
    Entry {
        row: Row {
            class: Class::Cipher,
            number: 11,
            block: 8,
            key: one(16),
            iv: one(8),
            in_bits: 1,
            ..NOTHING
        },
        engine: Engine::KasumiF8,
    },
    cipher(14, 8, one(8), 8, Algorithm::DesCbc),
    Entry {
        row: Row { class: Class::Auth, number: 1, digest: range(0, u16::MAX, 1), ..NOTHING },
        engine: Engine::NullAuth,
    },
    auth(3, 16, AES_KEYS, 16, Engine::Mac(Algorithm::AesCmac)),
    Entry {
        row: Row {
            class: Class::Auth,
            number: 4,
            block: 16,
            key: AES_KEYS,
            digest: GCM_TAGS,
            iv: one(12),
            ..NOTHING
        },
        engine: Engine::Gmac,
    },
    Entry {
        row: Row {
            class: Class::Auth,
            number: 6,
            block: 8,
            key: one(16),
            digest: one(4),
            in_bits: 1,
            ..NOTHING
        },
        engine: Engine::KasumiF9,
    },
    digest(7, 64, 16, Hash::Md5),
    hmac(8, 64, 16, Algorithm::Md5),
    digest(9, 64, 20, Hash::Sha1),
    hmac(10, 64, 20, Algorithm::Sha1),
    digest(11, 64, 28, Hash::Sha224),
    hmac(12, 64, 28, Algorithm::Sha224),
    digest(13, 64, 32, Hash::Sha256),
    hmac(14, 64, 32, Algorithm::Sha256),
    digest(15, 128, 48, Hash::Sha384),
    hmac(16, 128, 48, Algorithm::Sha384),
    digest(17, 128, 64, Hash::Sha512),
    hmac(18, 128, 64, Algorithm::Sha512),
    digest(21, 144, 28, Hash::Sha3_224),
    hmac(22, 144, 28, Algorithm::Sha3_224),
    digest(23, 136, 32, Hash::Sha3_256),
    hmac(24, 136, 32, Algorithm::Sha3_256),
    digest(25, 104, 48, Hash::Sha3_384),
    hmac(26, 104, 48, Algorithm::Sha3_384),
    digest(27, 72, 64, Hash::Sha3_512),
    hmac(28, 72, 64, Algorithm::Sha3_512),
    Entry {
        row: Row {
            class: Class::Aead,
            number: 2,
            block: 16,
            key: AES_KEYS,
            digest: GCM_TAGS,
            aad: AAD,
            iv: one(12),
            ..NOTHING
        },
        engine: Engine::Aead(Algorithm::AesGcm),
    },
    Entry {
        row: Row {
            class: Class::Aead,
            number: 3,
            block: 64,
            key: one(32),
            digest: one(16),
            aad: AAD,
            iv: one(12),
            ..NOTHING
        },
        engine: Engine::Aead(Algorithm::ChaCha20Poly1305),
    },
];

/// Returns the description of each algorithm, in the order of the table.
pub fn rows() -> impl ExactSizeIterator<Item = &'static Row> {
    TABLE.iter().map(|entry| &entry.row)
}

/// Finds an algorithm by its class and number.
pub fn find(class: Class, number: u32) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.row.class == class && entry.row.number == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_stands_twice() {
        for (i, entry) in TABLE.iter().enumerate() {
            let first = TABLE
                .iter()
                .position(|other| other.row.class == entry.row.class && other.row.number == entry.row.number);
            assert_eq!(first, Some(i), "{:?}", entry.row);
        }
    }

    #[test]
    fn digests_are_as_long_as_their_hashes() {
        for entry in TABLE {
            if let Engine::Digest(hash) = entry.engine {
                assert_eq!(usize::from(entry.row.digest.max), hash.output_len(), "{:?}", entry.row);
            }
        }
    }

    #[test]
    fn a_range_has_its_steps_only() {
        let keys = range(16, 32, 8);
        let held: Vec<u16> = (0..40).filter(|length| keys.contains(*length)).collect();
        assert_eq!(held, [16, 24, 32]);
        assert!(one(12).contains(12) && !one(12).contains(11) && !one(12).contains(13));
    }
}
