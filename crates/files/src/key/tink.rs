//! Keysets of Tink with one key: AES-GCM, AES-SIV, HMAC or Ed25519.
//!
//! Ref. Tink's tink.proto (`Keyset`), aes_gcm.proto (`AesGcmKey`), aes_siv.proto (`AesSivKey`), hmac.proto (`HmacKey`), ed25519.proto (`Ed25519PrivateKey`).

use std::fmt::Write;

use base64ct::{Base64, Encoding};
use millstream_cpu::Features;
use zeroize::Zeroizing;

use super::{Key, Kind, Secret, bad};
use crate::error::Error;
use crate::keyset::{Keyset, put_varint};

/// The types of keys, and the number of the field that holds the secret.
const TYPES: [(Kind, &str, &str, u64); 4] = [
    (Kind::Aes, "type.googleapis.com/google.crypto.tink.AesGcmKey", "SYMMETRIC", 3),
    (Kind::AesSiv, "type.googleapis.com/google.crypto.tink.AesSivKey", "SYMMETRIC", 2),
    (Kind::Hmac, "type.googleapis.com/google.crypto.tink.HmacKey", "SYMMETRIC", 3),
    (Kind::Ed25519, "type.googleapis.com/google.crypto.tink.Ed25519PrivateKey", "ASYMMETRIC_PRIVATE", 2),
];

/// `HmacParams` in Tink's template `HMAC_SHA256_256BITTAG`: hash = 1 (SHA256 = 3), tag_size = 2 (32 bytes).
const HMAC_PARAMETERS: [u8; 4] = [1 << 3, 3, 2 << 3, 32];

/// Returns true for JSON that is meant as a keyset.
pub(super) fn is_keyset(text: &[u8]) -> bool {
    text.windows(14).any(|part| part == b"\"primaryKeyId\"")
}

/// Reads the primary key of a cleartext keyset.
pub(super) fn read(features: Features, text: &[u8]) -> Result<Key, Error> {
    let keyset = Keyset::read(text)?;
    let entry = &keyset.keys[keyset.primary];
    let known = TYPES.iter().find(|(_, url, ..)| *url == entry.type_url());
    let (kind, _, _, secret) = known.ok_or_else(|| {
        bad(format!(
            "a key of Tink's type {}; AesGcmKey, AesSivKey, HmacKey and Ed25519PrivateKey are known here",
            entry.type_url()
        ))
    })?;
    Key::new(features, *kind, &entry.field(*secret)?)
}

/// Writes a keyset with one key and no prefix of its own.
pub(super) fn write(features: Features, key: &Key) -> Result<Secret, Error> {
    let known = TYPES.iter().find(|(kind, ..)| *kind == key.kind);
    let no = || bad(format!("Tink has no keys of {} that are known here; write PEM, JWK or raw", key.kind));
    let (_, url, material, secret) = known.ok_or_else(no)?;
    let mut message = Zeroizing::new(Vec::with_capacity(key.secret.len() + 64));
    if key.kind == Kind::Hmac {
        put(&mut message, 2, &HMAC_PARAMETERS);
    }
    put(&mut message, *secret, &key.secret);
    if key.kind == Kind::Ed25519 {
        // Ed25519PrivateKey.public_key = 3, whose key_value = 2.
        let mut public = Vec::new();
        put(&mut public, 2, key.public(features)?.as_bytes());
        put(&mut message, 3, &public);
    }
    let mut digits = Zeroizing::new(vec![0; message.len().div_ceil(3) * 4]);
    let value = Base64::encode(&message, &mut digits).expect("four digits for three bytes");
    // Tink takes any number but 0.
    let id = getrandom::u32()?.max(1);
    let mut text = Zeroizing::new(String::with_capacity(value.len() + 512));
    writeln!(
        text,
        "{{\"primaryKeyId\":{id},\"key\":[{{\"keyData\":{{\"typeUrl\":\"{url}\",\"value\":\"{value}\",\
         \"keyMaterialType\":\"{material}\"}},\"status\":\"ENABLED\",\"keyId\":{id},\"outputPrefixType\":\"RAW\"}}]}}"
    )
    .expect("a string takes any text");
    Ok(Zeroizing::new(text.as_bytes().to_vec()))
}

/// Puts a field of bytes at the end of a message.
fn put(message: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    message.push((number << 3 | 2) as u8);
    put_varint(message, bytes.len());
    message.extend_from_slice(bytes);
}
