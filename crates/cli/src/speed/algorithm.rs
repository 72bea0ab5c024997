//! The subject of a measurement: an algorithm in one direction, and the lengths of its input and output.

use millstream_engines::hash::Hash;
use millstream_engines::modes::Direction;

use millstream_files::cipher::{Cipher, Family, Mode};

/// The associated data of every AEAD object, as long as an IPsec header with its extended sequence number
/// (RFC 4106 §5).
pub const AAD: [u8; 12] = *b"SPI.sequence";

/// COUNT, BEARER, FRESH and DIRECTION of every KASUMI object (3GPP TS 35.201 §3, §4).
pub mod kasumi {
    /// The frame's number.
    pub const COUNT: u32 = 0x72a4_f20f;
    /// The radio bearer.
    pub const BEARER: u8 = 12;
    /// The network's random value.
    pub const FRESH: u32 = 0x05d2_ec49;
    /// The direction: down.
    pub const DIRECTION: u8 = 1;
}

/// A function of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// A cipher, AEADs among them. RC4 begins its keystream anew for each object.
    Cipher(Cipher),
    /// A cipher in CBC, and an HMAC over the ciphertext under another key.
    CipherMac(Cipher, Hash),
    /// A digest.
    Digest(Hash),
    /// An HMAC, its key as long as the digest.
    Hmac(Hash),
    /// AES-CMAC with a key of that many bits.
    Cmac(usize),
    /// KASUMI F8 (UEA1).
    KasumiF8,
    /// KASUMI F9 (UIA1).
    KasumiF9,
    /// CRC-32 of IEEE 802.3.
    Crc32,
    /// CRC-32C.
    Crc32c,
    /// The Internet checksum.
    IpChecksum,
    /// Random bytes, whose results nobody can compare.
    Random,
}

/// An algorithm in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The name that the user gave.
    pub name: String,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The direction; [`Direction::Encrypt`] where there is only one.
    pub direction: Direction,
}

/// The names in the order of `--list`, besides those made of a hash.
const CIPHERS: &[&str] = &[
    "aes-128-ecb",
    "aes-192-ecb",
    "aes-256-ecb",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-ctr",
    "aes-192-ctr",
    "aes-256-ctr",
    "aes-128-cfb",
    "aes-192-cfb",
    "aes-256-cfb",
    "aes-128-xts",
    "aes-256-xts",
    "aes-128-gcm",
    "aes-192-gcm",
    "aes-256-gcm",
    "chacha20-poly1305",
    "camellia-128-ecb",
    "camellia-256-ecb",
    "camellia-128-cbc",
    "camellia-192-cbc",
    "camellia-256-cbc",
    "camellia-128-ctr",
    "camellia-256-ctr",
    "sm4-ecb",
    "sm4-cbc",
    "sm4-ctr",
    "des-ecb",
    "des-cbc",
    "des-cfb",
    "3des-ecb",
    "3des-cbc",
    "3des-cfb",
    "rc4",
];

const OTHERS: &[(&str, Algorithm)] = &[
    ("aes-128-cmac", Algorithm::Cmac(128)),
    ("aes-192-cmac", Algorithm::Cmac(192)),
    ("aes-256-cmac", Algorithm::Cmac(256)),
    ("kasumi-f8", Algorithm::KasumiF8),
    ("kasumi-f9", Algorithm::KasumiF9),
    ("crc32", Algorithm::Crc32),
    ("crc32c", Algorithm::Crc32c),
    ("ip-checksum", Algorithm::IpChecksum),
    ("rng", Algorithm::Random),
];

/// The chained operations in `--list`; any cipher in CBC goes with any HMAC.
const CHAINED: &[&str] = &[
    "aes-128-cbc+hmac-sha1",
    "aes-128-cbc+hmac-sha256",
    "aes-256-cbc+hmac-sha256",
    "aes-256-cbc+hmac-sha512",
    "3des-cbc+hmac-md5",
    "3des-cbc+hmac-sha1",
];

/// The algorithms that are measured by default: most of the world's data passes through them.
pub const USUAL: &[&str] = &[
    "aes-128-cbc",
    "aes-128-ctr",
    "aes-128-gcm",
    "chacha20-poly1305",
    "sha256",
    "hmac-sha256",
    "aes-128-cbc+hmac-sha1",
    "3des-cbc",
];

/// Returns every name, in the order of `--list`.
pub fn names() -> Vec<String> {
    let digests = Hash::ALL.into_iter().map(|hash| hash.name().to_owned());
    let hmacs = Hash::ALL.into_iter().map(|hash| format!("hmac-{hash}"));
    let (ciphers, chained) = (CIPHERS.iter().map(|name| name.to_string()), CHAINED.iter());
    let others = OTHERS.iter().map(|(name, _)| name.to_string());
    ciphers.chain(chained.map(|name| name.to_string())).chain(digests).chain(hmacs).chain(others).collect()
}

/// Returns the names that `pattern` stands for: itself, or all that match where it has a `*` in it.
pub fn matching(pattern: &str) -> Vec<String> {
    match pattern {
        "all" => names(),
        _ if pattern.contains('*') => names().into_iter().filter(|name| matches(pattern, name)).collect(),
        _ => Algorithm::from_name(pattern).map(|_| pattern.to_owned()).into_iter().collect(),
    }
}

/// Returns the name that a wrong one was probably meant to be.
pub fn nearest(given: &str) -> Option<String> {
    let known = names();
    crate::names::nearest(given, known.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns true when `name` matches `pattern`, in which `*` stands for any run of characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices().map(|(i, _)| i).chain([rest.len()]).any(|i| matches(tail, &rest[i..]))
        }),
    }
}

impl Algorithm {
    /// Returns the algorithm of that name: those of `encrypt -a` and `digest -a`, and `hmac-sha256`, with or
    /// without a cipher in CBC before it, as in `3des-cbc+hmac-md5`.
    pub fn from_name(name: &str) -> Option<Algorithm> {
        let hmac = |name: &str| name.strip_prefix("hmac-").and_then(Hash::from_name);
        if let Some((cipher, mac)) = name.split_once('+') {
            let cipher = Cipher::from_name(cipher).filter(|cipher| cipher.mode() == Mode::Cbc)?;
            return Some(Algorithm::CipherMac(cipher, hmac(mac)?));
        }
        let other = OTHERS.iter().find(|(own, _)| *own == name).map(|&(_, algorithm)| algorithm);
        other
            .or_else(|| Cipher::from_name(name).map(Algorithm::Cipher))
            .or_else(|| Hash::from_name(name).map(Algorithm::Digest))
            .or_else(|| hmac(name).map(Algorithm::Hmac))
    }

    /// Returns true when it can be undone.
    pub fn has_two_directions(self) -> bool {
        matches!(self, Algorithm::Cipher(_) | Algorithm::CipherMac(..) | Algorithm::KasumiF8)
    }

    /// Returns the bytes that an object's length must be a multiple of.
    pub fn block_bytes(self) -> usize {
        match self {
            Algorithm::Cipher(cipher) | Algorithm::CipherMac(cipher, _) if cipher.is_block_mode() => {
                match cipher.family() {
                    Family::Des | Family::TripleDes => 8,
                    _ => 16,
                }
            }
            _ => 1,
        }
    }

    /// Returns true when an object may have that many bytes.
    pub fn takes(self, bytes: usize) -> bool {
        let least = match self {
            // IEEE 1619 §5.3 requires at least one block.
            Algorithm::Cipher(cipher) if cipher.mode() == Mode::Xts => 16,
            _ => 1,
        };
        bytes >= least && bytes.is_multiple_of(self.block_bytes())
    }

    /// Returns the bytes of the tag, digest or checksum.
    pub fn tag_bytes(self) -> usize {
        match self {
            Algorithm::Cipher(cipher) if cipher.is_aead() => 16,
            Algorithm::Cipher(_) | Algorithm::KasumiF8 | Algorithm::Random => 0,
            Algorithm::CipherMac(_, hash) | Algorithm::Digest(hash) | Algorithm::Hmac(hash) => {
                hash.output_len()
            }
            Algorithm::Cmac(_) => 16,
            Algorithm::KasumiF9 | Algorithm::Crc32 | Algorithm::Crc32c => 4,
            Algorithm::IpChecksum => 2,
        }
    }

    /// Returns the key for every way of computing it; for XTS it has two halves.
    pub fn key(self) -> Vec<u8> {
        let (bytes, is_des) = match self {
            Algorithm::Cipher(cipher) | Algorithm::CipherMac(cipher, _) => {
                let family = cipher.family();
                (cipher.default_key_bytes(), matches!(family, Family::Des | Family::TripleDes))
            }
            Algorithm::Hmac(hash) => (hash.output_len(), false),
            Algorithm::Cmac(bits) => (bits / 8, false),
            Algorithm::KasumiF8 | Algorithm::KasumiF9 => (16, false),
            _ => (0, false),
        };
        let mut key = vec![0; bytes];
        fill(1, &mut key);
        if is_des {
            // Some tokens refuse a DES key without odd parity.
            key.iter_mut().for_each(|byte| *byte ^= 1 & !(byte.count_ones() as u8));
        }
        key
    }

    /// Returns the key of the HMAC behind a cipher.
    pub fn mac_key(self) -> Vec<u8> {
        let mut key = vec![0; self.tag_bytes()];
        fill(2, &mut key);
        key
    }
}

impl Case {
    /// Returns true when an object is opened or decrypted.
    pub fn decrypts(&self) -> bool {
        self.direction == Direction::Decrypt
    }

    /// Returns the case in the other direction.
    pub fn reversed(&self) -> Case {
        let direction = if self.decrypts() { Direction::Encrypt } else { Direction::Decrypt };
        Case { direction, ..self.clone() }
    }

    /// Returns the bytes of input for an object of `bytes` bytes, including the tag where one is verified.
    pub fn input_bytes(&self, bytes: usize) -> usize {
        bytes + if self.decrypts() { self.algorithm.tag_bytes() } else { 0 }
    }

    /// Returns the bytes of output: data, and behind it the tag where one is made.
    pub fn result_bytes(&self, bytes: usize) -> usize {
        let has_data = self.algorithm.has_two_directions() || self.algorithm == Algorithm::Random;
        let data = if has_data { bytes } else { 0 };
        data + if self.decrypts() { 0 } else { self.algorithm.tag_bytes() }
    }
}

/// Fills in bytes that look random and are the same in every run (splitmix64).
pub fn fill(seed: u64, bytes: &mut [u8]) {
    let mut state = seed.wrapping_mul(0xd134_2543_de82_ef95);
    for chunk in bytes.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_known_and_stands_once() {
        let names = names();
        for (i, name) in names.iter().enumerate() {
            assert!(Algorithm::from_name(name).is_some(), "{name}");
            assert!(!names[..i].contains(name), "{name} twice");
        }
        for name in USUAL {
            assert!(names.iter().any(|own| own == name), "{name}");
        }
    }

    #[test]
    fn other_spellings_and_what_is_none() {
        let known = ["aes-cbc", "des-ede3-cbc", "des-cbc+hmac-sha512-256", "aes-128-cfb128"];
        known.iter().for_each(|name| assert!(Algorithm::from_name(name).is_some(), "{name}"));
        let unknown = ["", "aes", "aes-128-ctr+hmac-sha1", "hmac-", "sha3", "aes-128-cbc+sha1", "*"];
        unknown.iter().for_each(|name| assert_eq!(Algorithm::from_name(name), None, "{name}"));
    }

    #[test]
    fn stars() {
        assert_eq!(matching("aes-*-gcm"), ["aes-128-gcm", "aes-192-gcm", "aes-256-gcm"]);
        assert_eq!(matching("all"), names());
        assert_eq!(matching("*"), names());
        assert!(matching("nothing-*").is_empty() && matching("nothing").is_empty());
        assert_eq!(matching("sha256"), ["sha256"]);
    }

    #[test]
    fn des_keys_have_odd_parity() {
        let key = Algorithm::from_name("3des-cbc").unwrap().key();
        assert!(key.len() == 24 && key.iter().all(|byte| byte.count_ones() % 2 == 1));
        assert!(key[..8] != key[8..16] && key[8..16] != key[16..]);
    }
}
