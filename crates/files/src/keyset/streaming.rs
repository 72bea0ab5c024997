//! Keysets of AES-GCM-HKDF streaming keys.
//!
//! Ref. aes_gcm_hkdf_streaming.proto (`AesGcmHkdfStreamingKey`).

use std::fmt::Write;

use base64ct::{Base64, Encoding};
use millstream_engines::hash::Hash;
use zeroize::Zeroizing;

use super::{Entry, Field, Fields, Keyset, bad, not_understood, put_varint};
use crate::error::Error;
use crate::tink::{Key, Parameters};

const TYPE_URL: &str = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey";

/// Returns the enabled keys of a keyset, the primary one first.
///
/// # Errors
/// [`Error::Keyset`] when it is not a cleartext keyset of streaming keys with an enabled primary.
pub fn parse(json: &[u8]) -> Result<Vec<Key>, Error> {
    let Keyset { keys, primary } = Keyset::read(json)?;
    let mut keys = keys.iter().map(parse_entry).collect::<Result<Vec<_>, _>>()?;
    keys[..=primary].rotate_right(1);
    Ok(keys)
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

fn parse_entry(entry: &Entry<'_>) -> Result<Key, Error> {
    if entry.type_url() != TYPE_URL {
        let given = entry.type_url();
        return Err(bad(format!("a key of type {given}; this command uses {TYPE_URL}")));
    }
    parse_key(&entry.message()?).ok_or_else(not_understood)?
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_keyset_holds_one_key_of_tinks_template() {
        for (bits, derived_key_bytes) in [(128, 16), (256, 32)] {
            let text = generate(bits).unwrap();
            let keys = parse(text.as_bytes()).unwrap();
            assert!(super::super::is_keyset(text.as_bytes()));
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
