//! Tink's cleartext JSON keysets, as far as they hold AES-GCM-HKDF streaming keys.
//!
//! Ref. tink.proto (`Keyset`), aes_gcm_hkdf_streaming.proto (`AesGcmHkdfStreamingKey`); the wire
//! format of protocol buffers, protobuf.dev/programming-guides/encoding.

use std::fmt::Write;

use base64ct::{Base64, Encoding};
use millstream_engines::hash::Hash;
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

use crate::error::Error;
use crate::tink::{Key, Parameters};

const TYPE_URL: &str = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey";

/// Returns true when a key file is a keyset rather than a bare key.
pub fn is_keyset(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{") && bytes.len() != 32
}

/// Returns the enabled keys of a keyset, the primary one first.
///
/// # Errors
/// [`Error::Keyset`] when it is not a cleartext keyset of streaming keys with an enabled primary.
pub fn parse(json: &[u8]) -> Result<Vec<Key>, Error> {
    let parsed = serde_json::from_slice(json).map_err(|error| bad(format!("not a JSON keyset: {error}")))?;
    let Wiped(keyset) = &Wiped(parsed);
    if keyset.get("encryptedKeyset").is_some() {
        return Err(bad("an encrypted keyset; write it out in clear text first (tinkey convert-keyset)"));
    }
    let primary = keyset["primaryKeyId"].as_u64().ok_or_else(|| bad("a keyset without primaryKeyId"))?;
    let entries = keyset["key"].as_array().ok_or_else(|| bad("a keyset without keys"))?;
    let mut keys = Vec::new();
    for entry in entries.iter().filter(|entry| entry["status"] == "ENABLED") {
        let key = parse_entry(entry)?;
        if entry["keyId"].as_u64() == Some(primary) {
            keys.insert(0, (true, key));
        } else {
            keys.push((false, key));
        }
    }
    match keys.first() {
        Some((true, _)) => Ok(keys.into_iter().map(|(_, key)| key).collect()),
        _ => Err(bad("a keyset whose primary key is not enabled")),
    }
}

/// The room for a generated keyset, so that no copy of its key stays behind when the text grows.
const GENERATED_BYTES: usize = 512;

/// Makes a cleartext keyset with one new key, of Tink's template `AES256_GCM_HKDF_1MB` or, for 128 bits,
/// `AES128_GCM_HKDF_1MB`.
///
/// # Errors
/// [`Error::Random`] when the system gives no random bytes, [`Error::Keyset`] for another number of bits.
pub fn generate(bits: usize) -> Result<Zeroizing<String>, Error> {
    let derived_key_bytes = bits / 8;
    let parameters = Parameters { derived_key_bytes, ..Parameters::AES256_1MB };
    parameters.check()?;
    let mut secret = Zeroizing::new([0; 32]);
    getrandom::fill(&mut secret[..derived_key_bytes])?;
    let message = message(&parameters, &secret[..derived_key_bytes]);
    let mut digits = Zeroizing::new([0; 128]);
    let value = Base64::encode(&message, &mut *digits).expect("four digits for three bytes");
    // Tink takes any number but 0.
    let id = getrandom::u32()?.max(1);
    let mut text = Zeroizing::new(String::with_capacity(GENERATED_BYTES));
    writeln!(
        text,
        "{{\"primaryKeyId\":{id},\"key\":[{{\"keyData\":{{\"typeUrl\":\"{TYPE_URL}\",\"value\":\"{value}\",\
         \"keyMaterialType\":\"SYMMETRIC\"}},\"status\":\"ENABLED\",\"keyId\":{id},\"outputPrefixType\":\"RAW\"}}]}}"
    )
    .expect("a string takes any text");
    Ok(text)
}

/// Encodes `AesGcmHkdfStreamingKey` with the fields that `parse_key` reads, and SHA-256 for HKDF.
fn message(parameters: &Parameters, secret: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut inner = vec![1 << 3];
    put_varint(&mut inner, parameters.segment_bytes);
    inner.extend([2 << 3, parameters.derived_key_bytes as u8, 3 << 3, 3]);
    let mut message = Zeroizing::new(Vec::with_capacity(64));
    message.extend([2 << 3 | 2, inner.len() as u8]);
    message.extend_from_slice(&inner);
    message.extend([3 << 3 | 2, secret.len() as u8]);
    message.extend_from_slice(secret);
    message
}

pub(crate) fn put_varint(message: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// A document whose strings are keys, which are zeroised on drop.
pub(crate) struct Wiped(pub(crate) Value);

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(values) => values.iter_mut().for_each(wipe),
        Value::Object(fields) => fields.values_mut().for_each(wipe),
        _ => {}
    }
}

fn bad(why: impl Into<String>) -> Error {
    Error::Keyset(why.into())
}

fn parse_entry(entry: &Value) -> Result<Key, Error> {
    let data = &entry["keyData"];
    match data["typeUrl"].as_str() {
        Some(TYPE_URL) => {}
        other => {
            let given = other.unwrap_or("none");
            return Err(bad(format!("a key of type {given}; this command uses {TYPE_URL}")));
        }
    }
    let value = data["value"].as_str().and_then(|text| Base64::decode_vec(text).ok());
    let value = value.map(Zeroizing::new).ok_or_else(|| bad("a key that is not base64"))?;
    parse_key(&value).ok_or_else(|| bad("a key that can't be understood"))?
}

/// Parses `AesGcmHkdfStreamingKey`: version = 1, params = 2, key_value = 3.
fn parse_key(message: &[u8]) -> Option<Result<Key, Error>> {
    let (mut version, mut parameters, mut secret) = (0, None, None);
    for field in Fields(message) {
        match field? {
            (1, Field::Number(n)) => version = n,
            (2, Field::Bytes(params)) => parameters = Some(parse_parameters(params)?),
            (3, Field::Bytes(bytes)) => secret = Some(bytes),
            _ => return None,
        }
    }
    if version != 0 {
        return Some(Err(bad(format!("a key of version {version}; version 0 is known here"))));
    }
    Some(Key::with_parameters(secret?, parameters?))
}

/// Parses `AesGcmHkdfStreamingParams`: ciphertext_segment_size = 1, derived_key_size = 2, hkdf_hash_type = 3
/// (`HashType`: SHA1 = 1, SHA384 = 2, SHA256 = 3, SHA512 = 4, SHA224 = 5).
fn parse_parameters(message: &[u8]) -> Option<Parameters> {
    let (mut segment, mut derived, mut hash) = (0, 0, None);
    for field in Fields(message) {
        match field? {
            (1, Field::Number(n)) => segment = n,
            (2, Field::Number(n)) => derived = n,
            (3, Field::Number(n)) => {
                let known = [Hash::Sha1, Hash::Sha384, Hash::Sha256, Hash::Sha512, Hash::Sha224];
                hash = usize::try_from(n).ok()?.checked_sub(1).and_then(|i| known.get(i).copied());
            }
            _ => return None,
        }
    }
    Some(Parameters {
        segment_bytes: usize::try_from(segment).ok()?,
        derived_key_bytes: usize::try_from(derived).ok()?,
        hash: hash?,
    })
}

pub(crate) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// An iterator over the fields of a message: varints and length-delimited ones, the only kinds in a keyset.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    /// The number and value of a field, or none where the message is damaged.
    type Item = Option<(u64, Field<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let key = self.varint()?;
        match key & 7 {
            0 => Some((key >> 3, Field::Number(self.varint()?))),
            2 => {
                let len = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(len)?;
                self.0 = rest;
                Some((key >> 3, Field::Bytes(bytes)))
            }
            _ => None,
        }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..63).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_keyset_holds_one_key_of_tinks_template() {
        for (bits, derived_key_bytes) in [(128, 16), (256, 32)] {
            let text = generate(bits).unwrap();
            let keys = parse(text.as_bytes()).unwrap();
            assert!(is_keyset(text.as_bytes()));
            let expected = Parameters { derived_key_bytes, ..Parameters::AES256_1MB };
            assert_eq!((keys.len(), keys[0].parameters()), (1, expected));
            assert_ne!(text, generate(bits).unwrap());
            assert!(text.len() < GENERATED_BYTES, "{} bytes were moved while they grew", text.len());
        }
    }

    #[test]
    fn a_key_that_is_not_base64_is_refused() {
        let text = generate(256).unwrap();
        let damaged = text.replace("\"value\":\"", "\"value\":\"*");
        let error = parse(damaged.as_bytes()).err().unwrap();
        assert!(error.to_string().contains("not base64"), "{error}");
    }

    #[test]
    fn damaged_messages_are_refused() {
        let mut whole = vec![0x12, 0x08, 0x08, 0x80, 0x20, 0x10, 0x20, 0x18, 0x03, 0x00];
        whole.pop();
        whole[1] = 0x07;
        whole.extend([0x1a, 0x20]);
        whole.extend([9; 32]);
        let key = parse_key(&whole).unwrap().unwrap();
        let expected = Parameters { segment_bytes: 4096, derived_key_bytes: 32, hash: Hash::Sha256 };
        assert_eq!(key.parameters(), expected);
        for len in 0..whole.len() {
            assert!(parse_key(&whole[..len]).is_none(), "{len} bytes");
        }
    }
}
