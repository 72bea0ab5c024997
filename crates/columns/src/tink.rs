//! Tink's keysets as sets of keys for columns.
//!
//! Ref. Tink's aes_gcm.proto, aes_gcm_siv.proto, aes_siv.proto, chacha20_poly1305.proto.

use millstream_files::keyset::{self as tink, Entry};

use crate::aead::{Aead, Cipher};
use crate::error::Error;
use crate::keyset::{Keyset, KeysetKey, Prefix};
use crate::siv::Siv;

/// The types of keys, each with its cipher, or none for AES-SIV, and the number of the field that holds its bytes.
const TYPES: [(&str, Option<Cipher>, u64); 4] = [
    ("AesGcmKey", Some(Cipher::AesGcm), 3),
    ("AesGcmSivKey", Some(Cipher::AesGcmSiv), 3),
    ("AesSivKey", None, 2),
    ("ChaCha20Poly1305Key", Some(Cipher::ChaCha20Poly1305), 2),
];

impl Keyset {
    /// Reads a keyset of Tink in the clear, as JSON. Its primary key seals, and each of its enabled keys opens what it has sealed, as
    /// Tink's own AEAD and deterministic AEAD do. Nothing of the keys is copied but into memory that is zeroised; the JSON is the caller's.
    ///
    /// ```
    /// use arrow_array::{Array, StringArray};
    /// use millstream_columns::{Encoding, Keyset, Open, Parameter};
    ///
    /// let value = format!("EkA{}", "A".repeat(85));
    /// let keyset = Keyset::from_tink(format!(r#"{{"primaryKeyId": 7, "key": [{{"keyId": 7, "status": "ENABLED",
    ///     "outputPrefixType": "TINK", "keyData": {{"keyMaterialType": "SYMMETRIC", "value": "{value}",
    ///     "typeUrl": "type.googleapis.com/google.crypto.tink.AesSivKey"}}}}]}}"#).as_bytes())?;
    /// let names = StringArray::from(vec!["Ada"]);
    /// let aad = Parameter::Constant(b"name");
    /// let sealed = keyset.seal(&names.to_data(), aad, Encoding::Binary)?;
    /// let opened = keyset.open(&sealed, &Open { aad, text: true, ..Open::default() })?;
    /// assert_eq!(StringArray::from(opened), names);
    /// # Ok::<(), millstream_columns::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Keyset`] when it is no cleartext keyset, has keys of other types, or both deterministic keys and others;
    /// [`Error::Engine`] for a key of a wrong length.
    pub fn from_tink(json: &[u8]) -> Result<Self, Error> {
        let keyset = tink::Keyset::read(json).map_err(refused)?;
        let keys = keyset.keys.iter().map(key).collect::<Result<Vec<_>, _>>()?;
        let deterministic = keys.iter().filter(|(_, key)| matches!(key, KeysetKey::Siv(_))).count();
        if deterministic != 0 && deterministic != keys.len() {
            return Err(Error::Keyset(
                "a keyset with deterministic keys and others; keep them in two".into(),
            ));
        }
        Keyset::new(keys, keyset.primary)
    }
}

fn key(entry: &Entry<'_>) -> Result<(Prefix, KeysetKey), Error> {
    let known = TYPES.iter().find(|(name, ..)| *name == entry.type_name());
    let (_, cipher, field) = known.ok_or_else(|| {
        let names = TYPES.map(|(name, ..)| name).join(", ");
        let why = format!("the key {} is of type {}; columns take {names}", entry.id(), entry.type_url());
        Error::Keyset(why)
    })?;
    let prefix = match entry.prefix().map_err(refused)? {
        tink::Prefix::Tink(id) => Prefix::Tink(id),
        tink::Prefix::Legacy(id) => Prefix::Legacy(id),
        tink::Prefix::Raw => Prefix::Raw,
    };
    let secret = entry.field(*field).map_err(refused)?;
    let key = match cipher {
        Some(cipher) => KeysetKey::Aead(Aead::new(*cipher, &secret)?),
        None => KeysetKey::Siv(Siv::new(&secret)?),
    };
    Ok((prefix, key))
}

fn refused(error: millstream_files::Error) -> Error {
    Error::Keyset(error.to_string())
}
