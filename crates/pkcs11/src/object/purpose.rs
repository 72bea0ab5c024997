//! The purposes of keys, and what a key is before it has one.

use millstream::hash::Hash;
use millstream::keywrap::Form;
use zeroize::Zeroizing;

/// The secret of an object, in the form of key files: bytes, a scalar, a seed, or an `RSAPrivateKey`. Zeroised on drop.
pub type Secret = Zeroizing<Vec<u8>>;

/// The purpose that a key is expanded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// HMAC with a hash.
    Hmac(Hash),
    /// AES-ECB, -CBC or -CTR.
    Aes(AesMode),
    /// AES-XTS.
    Xts,
    /// AES-CMAC.
    Cmac,
    /// AES-GCM.
    Gcm,
    /// ChaCha20-Poly1305.
    ChaCha,
    /// The key wrap of NIST.
    Wrap(Form),
    /// Triple DES; true for CBC.
    Des3(bool),
    /// The operations of a private or public key.
    Pair,
}

/// A mode of AES without authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AesMode {
    /// ECB.
    Ecb,
    /// CBC.
    Cbc,
    /// CTR.
    Ctr,
}

/// Returns the hash with digests of a length, or the next longer one: for the nonces of ECDSA over digests that a program gives.
pub fn hash_for(len: usize) -> Hash {
    match len {
        0..=20 => Hash::Sha1,
        21..=28 => Hash::Sha224,
        29..=32 => Hash::Sha256,
        33..=48 => Hash::Sha384,
        _ => Hash::Sha512,
    }
}
