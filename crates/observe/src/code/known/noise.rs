//! Work that uses cryptographic instructions but that nobody asks about, recognised by the names of
//! functions.

use crate::code::unwind::Caller;

/// A use of cryptographic instructions that does not answer whether a program encrypts in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Noise {
    /// A hash table that mixes its keys with AES rounds.
    HashTable,
    /// A random generator that is built on a cipher or a hash.
    Randomness,
    /// A checksum.
    Checksum,
}

impl Noise {
    /// The words for it in reports.
    pub const fn label(self) -> &'static str {
        match self {
            Noise::HashTable => "hash tables",
            Noise::Randomness => "random generator",
            Noise::Checksum => "checksums",
        }
    }
}

const HASH_TABLES: &[&str] =
    &["aeshash", "runtime.memhash", "runtime.strhash", "runtime.nilinterhash", "ahash::"];
const RANDOMNESS: &[&str] = &[
    "drbg",
    "DRBG",
    "RAND_",
    "gnutls_rnd",
    "gcry_random",
    "gcry_create_nonce",
    "randombytes",
    "CRYPTO_sysrand",
    "BCM_rand",
    "RNG_",
    "crypto/rand.",
    "sysrand",
    "yarrow256",
];
const CHECKSUMS: &[&str] =
    &["crc32", "CRC32", "crc64", "crc_", "_crc", "adler32", "StubRoutines::updateBytes"];

/// Words in the names of functions that compute in GCM's field or in those of elliptic curves.
const FIELDS: &[&str] = &["ghash", "GHASH", "gcm", "GCM", "polyval", "POLYVAL", "gf2m", "GF2m"];

/// Returns true when a function's name says that its carry-less multiplication is for a cipher or a curve.
pub fn is_field_arithmetic(function: &str) -> bool {
    FIELDS.iter().any(|word| function.contains(word))
}

/// Returns the noise that a function makes, by its name.
pub fn noise(function: &str) -> Option<Noise> {
    let speaks_of = |words: &[&str]| words.iter().any(|word| function.contains(word));
    if speaks_of(HASH_TABLES) {
        Some(Noise::HashTable)
    } else if speaks_of(RANDOMNESS) {
        Some(Noise::Randomness)
    } else if speaks_of(CHECKSUMS) {
        Some(Noise::Checksum)
    } else {
        None
    }
}

/// Returns the noise for a chain of callers, the innermost first. A cipher that a random generator calls
/// counts as that generator's.
pub fn noise_among(callers: &[Caller]) -> Option<Noise> {
    callers.iter().filter(|caller| caller.is_named).find_map(|caller| noise(caller.function.as_deref()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_told_from_work() {
        for (function, expected) in [
            ("aeshashbody", Some(Noise::HashTable)),
            ("runtime.memhash64", Some(Noise::HashTable)),
            ("EVP_RAND_generate", Some(Noise::Randomness)),
            ("crypto/internal/fips140/drbg.(*Counter).update", Some(Noise::Randomness)),
            ("_gcry_crc32_intel_pclmul", Some(Noise::Checksum)),
            ("EVP_EncryptUpdate", None),
            ("aesni_ctr32_encrypt_blocks", None),
        ] {
            assert_eq!(noise(function), expected, "{function}");
        }
    }
}
