//! The operations of a batch, as C gives them.

use crate::algorithm::AlgorithmCode;
use crate::failure::{Failure, unknown};
use crate::key::Key;
use crate::status::StatusCode;

/// The kind of an operation in a batch or a queue. In a queue `input` and `output` are the source and the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Does nothing.
    Null = 0,
    /// Copies the input to the output.
    Copy = 1,
    /// Copies the input to the output, and takes the checksum `algorithm`: `value`.
    CopyChecksum = 2,
    /// Takes the checksum `algorithm` of the input: `value`.
    Checksum = 3,
    /// Encrypts the input to the output: `key`, `iv`, and `unused_bits` for KASUMI F8.
    Encrypt = 4,
    /// Decrypts the input to the output.
    Decrypt = 5,
    /// Encrypts and authenticates: `key`, `iv` (the nonce), `aad`; the tag is 16 bytes.
    Seal = 6,
    /// Decrypts if the tag is right: `key`, `iv`, `aad`, `tag`. Else the output is all zero.
    Open = 7,
    /// Computes the digest `algorithm` of the input.
    Digest = 8,
    /// Computes the MAC of the input: `key`; for KASUMI F9 `iv`, `direction` and `unused_bits` besides.
    Mac = 9,
    /// Compares the MAC of the input with the tag, which may be cut to 4 bytes or more.
    Verify = 10,
    /// Copies the first `clear_length` bytes of the input and encrypts the rest (`key`, `iv`). Then it computes the
    /// HMAC of all of the output (`mac_key`).
    EncryptThenMac = 11,
    /// Compares the HMAC of all of the input (`mac_key`) with the tag; if it is right, copies the first `clear_length`
    /// bytes and decrypts the rest. Else the output is all zero.
    MacThenDecrypt = 12,
    /// Resumes the digest `algorithm` at the mid-state `aad`, or begins it where that has 0 bytes, and adds the input.
    /// In a batch the mid-state after it goes to `tag` (MILLSTREAM_MID_STATE_ROOM bytes of room) and its length to
    /// `tag_length`; a queue gives it as `state`.
    PartialDigest = 13,
    /// Does the same, and ends the message: the tag is its digest.
    LastDigest = 14,
    /// Seals in a queue, as MILLSTREAM_KIND_SEAL, under a nonce that the accelerator makes: `key`, which was made so
    /// (millstream_key_options), and `aad`. The nonce comes back after the tag.
    SealWithMadeNonce = 15,
    /// Signs the input with `key`, a private one of Ed25519 or a curve; the tag is the signature. Ed25519 signs a message, in a queue of at most 64
    /// KiB. Curves sign the digest that `algorithm` made, by `scheme`.
    Sign = 16,
    /// Agrees with the peer whose public key is the input: `key`, a private one; the tag is the shared secret.
    Agree = 17,
    /// Computes the public key that belongs to `key`: it comes as the tag. There is no input. In a queue that of ML-KEM and ML-DSA goes to the destination,
    /// and its length is `value`.
    PublicKey = 18,
    /// Signs the input, the digest that `algorithm` made, by `scheme` with `key`, a private one of RSA. In a batch the signature goes to `tag`
    /// and its length to `tag_length`; in a queue it goes to the destination, which has as many bytes as the modulus or more, and its length
    /// is `value`.
    SignRsa = 19,
    /// Decrypts the input by `scheme` with `key`, a private one of RSA, to the same places; of OAEP `aad` is the label, and `algorithm` its hash.
    DecryptRsa = 20,
    /// Writes the public key that belongs to `key`, of RSA, to the same places: DER of an RSAPublicKey, at most 535 bytes. There is no input.
    PublicKeyRsa = 21,
    /// Fills the output with random bytes that are fit for keys, in a queue at most 64 KiB. There is no input; in a batch
    /// `length` is the output's.
    Random = 22,
    /// Signs the input with `key`, a private one of ML-DSA, within the context `iv` of at most 255 bytes, by a scheme of millstream_scheme_ml_dsa(): a
    /// message, in a queue of at most 64 KiB, a digest, or a representative. The signature goes to the same places as that of
    /// MILLSTREAM_KIND_SIGN_RSA.
    SignMlDsa = 23,
    /// Makes a shared secret for the owner of the public key `aad` of ML-KEM, whose parameter set is `algorithm`. The tag is the secret; the
    /// ciphertext goes to the output, which has room for it, and its length is `value`. There is no input; in a batch `length` is the output's.
    Encapsulate = 24,
    /// Gets the shared secret from the input, a ciphertext, with `key`, a private one of ML-KEM; the tag is the secret. A ciphertext that was not
    /// made for the key gives a secret that nobody else knows.
    Decapsulate = 25,
    /// Signs the input with `key`, a private one of SLH-DSA, as MILLSTREAM_KIND_SIGN_ML_DSA does, but there are no representatives. A signature takes
    /// milliseconds with the sets f, and some twenty times as long with the sets s.
    SignSlhDsa = 26,
}

/// A number that is to be one of [`Kind`]: C may pass any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct KindCode(pub u32);

/// The kinds, by their numbers.
const KINDS: [Kind; 27] = [
    Kind::Null,
    Kind::Copy,
    Kind::CopyChecksum,
    Kind::Checksum,
    Kind::Encrypt,
    Kind::Decrypt,
    Kind::Seal,
    Kind::Open,
    Kind::Digest,
    Kind::Mac,
    Kind::Verify,
    Kind::EncryptThenMac,
    Kind::MacThenDecrypt,
    Kind::PartialDigest,
    Kind::LastDigest,
    Kind::SealWithMadeNonce,
    Kind::Sign,
    Kind::Agree,
    Kind::PublicKey,
    Kind::SignRsa,
    Kind::DecryptRsa,
    Kind::PublicKeyRsa,
    Kind::Random,
    Kind::SignMlDsa,
    Kind::Encapsulate,
    Kind::Decapsulate,
    Kind::SignSlhDsa,
];

impl KindCode {
    #[inline(always)]
    pub(crate) fn get(self) -> Result<Kind, Failure> {
        KINDS.get(self.0 as usize).copied().ok_or_else(|| unknown("kind", self.0.into()))
    }
}

/// One operation of a batch, 128 bytes. Set all of it to 0, then the fields that its kind uses.
#[derive(Debug)]
#[repr(C)]
pub struct Operation {
    /// The kind of the operation.
    pub kind: KindCode,
    /// The hash or checksum, where there is no key; the hash of a scheme.
    pub algorithm: AlgorithmCode,
    /// The result, which millstream_batch() writes.
    pub status: StatusCode,
    /// The checksum, which millstream_batch() writes.
    pub value: u32,
    /// The key.
    pub key: *const Key,
    /// The key of the HMAC, where a cipher and an HMAC are combined.
    pub mac_key: *const Key,
    /// The input.
    pub input: *const u8,
    /// The output, as long as the input; it may be the input.
    pub output: *mut u8,
    /// Bytes of input, and of output.
    pub length: usize,
    /// Initialisation vector, first counter block, tweak, or nonce; the context of ML-DSA or SLH-DSA.
    pub iv: *const u8,
    /// Bytes of the initialisation vector.
    pub iv_length: usize,
    /// Associated data, or the mid-state before; the public key to encapsulate for.
    pub aad: *const u8,
    /// Bytes of associated data.
    pub aad_length: usize,
    /// Room for the tag, MAC, digest or mid-state; or the tag to compare with.
    pub tag: *mut u8,
    /// Bytes of room at `tag`, which millstream_batch() replaces by the bytes written; or bytes of the tag to compare
    /// with.
    pub tag_length: usize,
    /// Bytes in front that are authenticated and not encrypted, where a cipher and an HMAC are combined.
    pub clear_length: usize,
    /// For KASUMI, the bits of the last byte that are no part of the message, 0 to 7.
    pub unused_bits: u8,
    /// For KASUMI F9, DIRECTION: 0 or 1.
    pub direction: u8,
    /// 0.
    pub reserved: [u8; 2],
    /// The scheme of a key pair: MILLSTREAM_SCHEME_ECDSA_DETERMINISTIC, MILLSTREAM_SCHEME_RSA_PKCS1, or what millstream_scheme_pss(),
    /// millstream_scheme_oaep() and millstream_scheme_ml_dsa() return; 0 for a hedged nonce of ECDSA and for the bare power of RSA.
    pub scheme: u32,
    /// The caller's own value, which the library leaves alone.
    pub user: u64,
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of};

    use super::*;

    /// C programs are compiled against these.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn every_field_has_its_place() {
        assert_eq!((size_of::<Operation>(), align_of::<Operation>()), (128, 8));
        let places = [
            (offset_of!(Operation, kind), 0),
            (offset_of!(Operation, algorithm), 4),
            (offset_of!(Operation, status), 8),
            (offset_of!(Operation, value), 12),
            (offset_of!(Operation, key), 16),
            (offset_of!(Operation, mac_key), 24),
            (offset_of!(Operation, input), 32),
            (offset_of!(Operation, output), 40),
            (offset_of!(Operation, length), 48),
            (offset_of!(Operation, iv), 56),
            (offset_of!(Operation, iv_length), 64),
            (offset_of!(Operation, aad), 72),
            (offset_of!(Operation, aad_length), 80),
            (offset_of!(Operation, tag), 88),
            (offset_of!(Operation, tag_length), 96),
            (offset_of!(Operation, clear_length), 104),
            (offset_of!(Operation, unused_bits), 112),
            (offset_of!(Operation, direction), 113),
            (offset_of!(Operation, reserved), 114),
            (offset_of!(Operation, scheme), 116),
            (offset_of!(Operation, user), 120),
        ];
        for (i, (is, should)) in places.into_iter().enumerate() {
            assert_eq!(is, should, "field {i}");
        }
    }

    #[test]
    fn kinds_stand_at_their_numbers() {
        for (i, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
        }
        assert!(KindCode(KINDS.len() as u32).get().is_err());
    }
}
