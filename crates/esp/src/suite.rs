//! The algorithms of a security association, and the lengths that follow from them.
//!
//! Ref. RFC 4106 (AES-GCM), RFC 7634 (ChaCha20-Poly1305), RFC 3602 (AES-CBC), RFC 3686 (AES-CTR), RFC 2451 (3DES-CBC), RFC 2404
//! (HMAC-SHA1-96), RFC 4868 (HMAC-SHA-2).

use millstream::cwq::Algorithm;

/// The cipher of a security association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-GCM with a tag of 8, 12 or 16 bytes.
    AesGcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
    /// AES-CBC with a random initialisation vector for each packet.
    AesCbc,
    /// AES in counter mode.
    AesCtr,
    /// 3DES-CBC, for old peers. Its block of 64 bits gives plaintext away after some 32 GiB under one key.
    TripleDesCbc,
}

impl Cipher {
    /// Returns the name, as in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Cipher::AesGcm => "aes-gcm",
            Cipher::ChaCha20Poly1305 => "chacha20-poly1305",
            Cipher::AesCbc => "aes-cbc",
            Cipher::AesCtr => "aes-ctr",
            Cipher::TripleDesCbc => "3des-cbc",
        }
    }
}

/// The integrity algorithm beside a cipher that has none of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// HMAC-SHA1-96.
    Sha1,
    /// HMAC-SHA-256-128.
    Sha256,
    /// HMAC-SHA-384-192.
    Sha384,
    /// HMAC-SHA-512-256.
    Sha512,
}

impl Auth {
    /// Returns the bytes of a key (RFC 2404 §3, RFC 4868 §2.1.1).
    pub const fn key_len(self) -> usize {
        match self {
            Auth::Sha1 => 20,
            Auth::Sha256 => 32,
            Auth::Sha384 => 48,
            Auth::Sha512 => 64,
        }
    }

    /// Returns the bytes of a tag, which is the beginning of the HMAC.
    pub const fn tag_len(self) -> usize {
        match self {
            Auth::Sha1 => 12,
            Auth::Sha256 => 16,
            Auth::Sha384 => 24,
            Auth::Sha512 => 32,
        }
    }

    /// Returns the hash's name, as the kernel has it.
    pub const fn hash_name(self) -> &'static str {
        match self {
            Auth::Sha1 => "sha1",
            Auth::Sha256 => "sha256",
            Auth::Sha384 => "sha384",
            Auth::Sha512 => "sha512",
        }
    }

    pub(crate) const fn algorithm(self) -> Algorithm {
        match self {
            Auth::Sha1 => Algorithm::Sha1,
            Auth::Sha256 => Algorithm::Sha256,
            Auth::Sha384 => Algorithm::Sha384,
            Auth::Sha512 => Algorithm::Sha512,
        }
    }
}

/// The algorithms of a security association.
///
/// ```
/// use millstream_esp::{Auth, Cipher, Suite};
///
/// let old = Suite::chained(Cipher::TripleDesCbc, Auth::Sha1).expect("a cipher and an HMAC");
/// // A packet of 100 bytes: 8 of the header, 8 of the vector, 104 with padding and trailer, 12 of the tag.
/// assert_eq!(old.sealed_len(100), 8 + 8 + 104 + 12);
/// assert!(Suite::aead(Cipher::AesGcm, 10).is_none(), "no such tag");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    cipher: Cipher,
    auth: Option<Auth>,
    tag_len: usize,
}

impl Suite {
    /// Makes a suite of an AEAD with a tag of so many bytes. Returns none if the cipher is no AEAD, or has no such tag.
    pub const fn aead(cipher: Cipher, tag_len: usize) -> Option<Self> {
        match (cipher, tag_len) {
            (Cipher::AesGcm, 8 | 12 | 16) | (Cipher::ChaCha20Poly1305, 16) => {
                Some(Suite { cipher, auth: None, tag_len })
            }
            _ => None,
        }
    }

    /// Makes a suite of a cipher and an HMAC. Returns none if the cipher is an AEAD.
    pub const fn chained(cipher: Cipher, auth: Auth) -> Option<Self> {
        match cipher {
            Cipher::AesGcm | Cipher::ChaCha20Poly1305 => None,
            _ => Some(Suite { cipher, auth: Some(auth), tag_len: auth.tag_len() }),
        }
    }

    /// Returns the cipher.
    pub const fn cipher(self) -> Cipher {
        self.cipher
    }

    /// Returns the integrity algorithm; none for an AEAD.
    pub const fn auth(self) -> Option<Auth> {
        self.auth
    }

    /// Returns the bytes of a tag, which the standards call ICV.
    pub const fn tag_len(self) -> usize {
        self.tag_len
    }

    /// Returns the bytes of the initialisation vector that each packet carries.
    pub const fn iv_len(self) -> usize {
        match self.cipher {
            Cipher::AesCbc => 16,
            _ => 8,
        }
    }

    /// Returns true if a vector that is used twice gives plaintext or the means to forge away: all but CBC.
    pub const fn needs_unique_vectors(self) -> bool {
        !matches!(self.cipher, Cipher::AesCbc | Cipher::TripleDesCbc)
    }

    /// Returns the bytes of the salt behind the cipher's key (RFC 4106 §8.1, RFC 7634 §2, RFC 3686 §5.1).
    pub const fn salt_len(self) -> usize {
        if self.needs_unique_vectors() { 4 } else { 0 }
    }

    /// Returns true if the cipher takes a key of so many bytes, the salt not counted.
    pub const fn takes_key(self, len: usize) -> bool {
        match self.cipher {
            Cipher::AesGcm | Cipher::AesCbc | Cipher::AesCtr => matches!(len, 16 | 24 | 32),
            Cipher::ChaCha20Poly1305 => len == 32,
            Cipher::TripleDesCbc => len == 24,
        }
    }

    /// Returns the multiple of bytes to which a packet is padded: the cipher's block, or 4 (RFC 4303 §2.4).
    pub const fn block_len(self) -> usize {
        match self.cipher {
            Cipher::AesCbc => 16,
            Cipher::TripleDesCbc => 8,
            _ => 4,
        }
    }

    /// Returns the bytes of the packet that a payload of so many bytes becomes, from the SPI to the tag.
    pub const fn sealed_len(self, payload: usize) -> usize {
        let padded = (payload + 2).next_multiple_of(self.block_len());
        HEADER + self.iv_len() + padded + self.tag_len
    }

    /// Returns the longest payload whose packet has so many bytes at most.
    pub const fn longest_payload(self, sealed: usize) -> usize {
        let room = sealed.saturating_sub(HEADER + self.iv_len() + self.tag_len);
        (room - room % self.block_len()).saturating_sub(2)
    }

    pub(crate) const fn algorithm(self) -> Algorithm {
        match self.cipher {
            Cipher::AesGcm => Algorithm::AesGcm,
            Cipher::ChaCha20Poly1305 => Algorithm::ChaCha20Poly1305,
            Cipher::AesCbc => Algorithm::AesCbc,
            Cipher::AesCtr => Algorithm::AesCtr,
            Cipher::TripleDesCbc => Algorithm::DesCbc,
        }
    }
}

/// Bytes of SPI and sequence number.
pub(crate) const HEADER: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_payload_fits_and_one_more_byte_does_not() {
        let suites = [
            Suite::aead(Cipher::AesGcm, 16),
            Suite::aead(Cipher::AesGcm, 8),
            Suite::chained(Cipher::AesCbc, Auth::Sha512),
            Suite::chained(Cipher::TripleDesCbc, Auth::Sha1),
            Suite::chained(Cipher::AesCtr, Auth::Sha384),
        ];
        for suite in suites.map(Option::unwrap) {
            for most in 100..300 {
                let longest = suite.longest_payload(most);
                assert!(suite.sealed_len(longest) <= most, "{suite:?} {most}");
                assert!(suite.sealed_len(longest + 1) > most, "{suite:?} {most}");
            }
        }
    }
}
