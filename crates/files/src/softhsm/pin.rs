//! The master key of a token of SoftHSM2: how the user PIN opens it, and what it seals.
//!
//! | offset | bytes | the entry of a PIN |
//! | ---: | ---: | --- |
//! | 0 | 8 | salt |
//! | 8 | 16 | initialisation vector |
//! | 24 | 48 | `RJR` and the master key of 32 bytes, with AES-256-CBC and padding under the PIN's key |
//!
//! The PIN's key is SHA-256 of salt and PIN, hashed again until 1500 and the salt's last byte are reached. The master key seals the
//! bytes of private objects: an initialisation vector of 16 bytes, and the bytes with AES-256-CBC and padding.

use millstream_cpu::Features;
use millstream_engines::aes::Cbc;
use millstream_engines::hash::{Hash, digest};
use millstream_engines::modes::{BlockStream, Direction, Padding};
use zeroize::Zeroizing;

use crate::key::Secret;

const SALT: usize = 8;
const IV: usize = 16;
const BLOCK: usize = 16;
const KEY: usize = 32;

/// The bytes in front of the master key, by which a PIN is found right.
const MAGIC: &[u8] = b"RJR";

/// The number of hashes that a PIN takes if the salt ends with zero.
const ITERATIONS: u32 = 1500;

/// The key of a token's private objects.
pub(super) struct Master(Cbc);

impl Master {
    /// Opens the master key with a PIN: none if the entry is not as long as entries are, and none inside if it is another PIN's.
    pub(super) fn open(features: Features, entry: &[u8], pin: &[u8]) -> Option<Option<Self>> {
        let (salt, sealed) = entry.split_at_checked(SALT)?;
        if sealed.len() != IV + (MAGIC.len() + KEY).next_multiple_of(BLOCK) {
            return None;
        }
        let under_pin = cipher(features, &*key_of_pin(features, salt, pin));
        let opened = decrypt(&under_pin, sealed);
        let key = opened.as_ref().and_then(|opened| opened.strip_prefix(MAGIC));
        Some(key.filter(|key| key.len() == KEY).map(|key| Master(cipher(features, key))))
    }

    /// Opens bytes of a private object; none if they were not sealed by this key.
    pub(super) fn unseal(&self, sealed: &[u8]) -> Option<Secret> {
        // SoftHSM2 leaves empty values as they are.
        if sealed.is_empty() { Some(Secret::default()) } else { decrypt(&self.0, sealed) }
    }
}

fn cipher(features: Features, key: &[u8]) -> Cbc {
    Cbc::new(features, key).expect("32 bytes are a key of AES")
}

/// Returns the key that a PIN gives with a salt.
fn key_of_pin(features: Features, salt: &[u8], pin: &[u8]) -> Zeroizing<[u8; KEY]> {
    let mut key = Zeroizing::new([0; KEY]);
    let mut hash = |data: &[u8]| {
        digest(features, Hash::Sha256, data, &mut *key).expect("32 bytes are a digest");
        key.clone()
    };
    // The vector has its room at once, so no copy of the PIN stays behind.
    let mut input = Zeroizing::new(Vec::with_capacity(salt.len() + pin.len()));
    input.extend_from_slice(salt);
    input.extend_from_slice(pin);
    let mut last = hash(&input);
    for _ in 1..ITERATIONS + u32::from(salt[SALT - 1]) {
        last = hash(&*last);
    }
    last
}

/// Decrypts what follows an initialisation vector.
fn decrypt(cipher: &Cbc, sealed: &[u8]) -> Option<Secret> {
    let (iv, ciphertext) = sealed.split_at_checked(IV)?;
    let mut plain = Zeroizing::new(vec![0; ciphertext.len() + BLOCK]);
    let mut stream = BlockStream::new(cipher, iv, Direction::Decrypt, Padding::Pkcs7).ok()?;
    let mut len = stream.update(ciphertext, &mut plain).ok()?;
    len += stream.finish(&mut plain[len..]).ok()?;
    plain.truncate(len);
    Some(plain)
}
