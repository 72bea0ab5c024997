//! Tink's cleartext JSON keysets, as far as they hold AES-GCM-HKDF streaming keys.
//!
//! Ref. tink.proto (`Keyset`), aes_gcm_hkdf_streaming.proto (`AesGcmHkdfStreamingKey`); the wire
//! format of protocol buffers, protobuf.dev/programming-guides/encoding.

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

/// A document whose strings are keys, which are zeroised on drop.
struct Wiped(Value);

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
    let value = data["value"].as_str().and_then(base64).ok_or_else(|| bad("a key that is not base64"))?;
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

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// An iterator over the fields of a message: varints and length-delimited ones, the only kinds in a keyset.
struct Fields<'a>(&'a [u8]);

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

/// Decodes Base64 with the standard alphabet and its padding (RFC 4648 §4).
fn base64(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 4 * 3));
    let (mut bits, mut held) = (0, 0u32);
    for digit in digits.bytes() {
        held = held << 6 | ALPHABET.iter().position(|&c| c == digit)? as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_the_rfc() {
        // The vectors are from RFC 4648 §10.
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(base64(text).unwrap().as_slice(), bytes.as_bytes());
        }
        for text in ["Z", "Zg=", "Zg", "Z===", "Zm9v\n", "Zm-_"] {
            assert!(base64(text).is_none(), "{text}");
        }
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
