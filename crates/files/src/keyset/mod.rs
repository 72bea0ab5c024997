//! Tink's keysets in the clear, as JSON: their enabled keys, and the fields of a key's message.
//!
//! Nothing of a secret is copied but into memory that is zeroised: the JSON is walked where it lies, and the text of a key is decoded from
//! there.
//!
//! Ref. tink.proto (`Keyset`); the wire format of protocol buffers, protobuf.dev/programming-guides/encoding.

mod fields;
mod streaming;

use std::fmt;

use base64ct::Base64;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::json::{self, Members, number, parsed, text};

pub(crate) use fields::{Field, Fields, put_varint};
pub use streaming::{generate, parse};

/// Returns true when a key file is a keyset rather than a bare key.
pub fn is_keyset(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{") && bytes.len() != 32
}

/// The enabled keys of a keyset. It borrows the JSON, and holds no copy of a secret.
///
/// ```
/// use millstream_files::keyset::{Keyset, Prefix};
///
/// let json = br#"{"primaryKeyId": 7, "key": [{"keyId": 7, "status": "ENABLED", "outputPrefixType": "TINK", "keyData": {
///     "typeUrl": "type.googleapis.com/google.crypto.tink.AesSivKey", "value": "EgQAAQID"}}]}"#;
/// let keyset = Keyset::read(json)?;
/// let key = &keyset.keys[keyset.primary];
/// assert_eq!((key.type_name(), key.prefix()?), ("AesSivKey", Prefix::Tink(7)));
/// // AesSivKey.key_value = 2
/// assert_eq!(*key.field(2)?, [0, 1, 2, 3]);
/// # Ok::<(), millstream_files::Error>(())
/// ```
#[derive(Debug)]
pub struct Keyset<'a> {
    /// The keys whose status is `ENABLED`, in their order.
    pub keys: Vec<Entry<'a>>,
    /// The place of the primary key among them.
    pub primary: usize,
}

/// A key of a keyset.
pub struct Entry<'a> {
    id: u32,
    prefix: String,
    type_url: String,
    value: &'a RawValue,
}

/// The bytes in front of what a key has sealed (`OutputPrefixType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// The byte 1 and the key's identifier.
    Tink(u32),
    /// The byte 0 and the key's identifier: `LEGACY` and `CRUNCHY`.
    Legacy(u32),
    /// Nothing.
    Raw,
}

impl<'a> Keyset<'a> {
    /// Reads a keyset.
    ///
    /// # Errors
    /// [`Error::Keyset`] when it is not a cleartext keyset in JSON with one enabled primary key.
    pub fn read(json: &'a [u8]) -> Result<Self, Error> {
        let keyset: Members<'a> =
            serde_json::from_slice(json).map_err(|error| bad(format!("not a JSON keyset: {error}")))?;
        if keyset.contains_key("encryptedKeyset") {
            return Err(bad("an encrypted keyset; write it out in clear text first (tinkey convert-keyset)"));
        }
        let primary = number(&keyset, "primaryKeyId").ok_or_else(|| bad("a keyset without primaryKeyId"))?;
        let entries = keyset.get("key").and_then(|entries| parsed::<Vec<Members<'a>>>(entries));
        let entries = entries.ok_or_else(|| bad("a keyset without keys"))?;
        let enabled = entries.iter().filter(|entry| text(entry, "status").as_deref() == Some("ENABLED"));
        let keys = enabled.map(Entry::of).collect::<Result<Vec<_>, _>>()?;
        let mut places = (0..keys.len()).filter(|at| keys[*at].id == primary);
        match (places.next(), places.next()) {
            (Some(primary), None) => Ok(Keyset { keys, primary }),
            (None, _) => Err(bad("a keyset whose primary key is not enabled")),
            (Some(_), Some(_)) => Err(bad("a keyset with two keys that have the primary key's identifier")),
        }
    }
}

impl<'a> Entry<'a> {
    fn of(entry: &Members<'a>) -> Result<Self, Error> {
        let data = entry.get("keyData").and_then(|data| parsed::<Members<'a>>(data));
        let value = data.as_ref().and_then(|data| data.get("value").copied());
        let (Some(id), Some(data), Some(value)) = (number(entry, "keyId"), data, value) else {
            return Err(bad("a keyset with a key that lacks keyId, keyData or its value"));
        };
        let prefix = text(entry, "outputPrefixType").unwrap_or_default();
        Ok(Entry { id, prefix, type_url: text(&data, "typeUrl").unwrap_or_default(), value })
    }

    /// The identifier.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The type, as in `type.googleapis.com/google.crypto.tink.AesSivKey`.
    pub fn type_url(&self) -> &str {
        &self.type_url
    }

    /// The name of the type, as in `AesSivKey`.
    pub fn type_name(&self) -> &str {
        self.type_url.rsplit('.').next().unwrap_or_default()
    }

    /// Returns the bytes in front of what the key has sealed.
    ///
    /// # Errors
    /// [`Error::Keyset`] for a type of prefix that Tink does not have.
    pub fn prefix(&self) -> Result<Prefix, Error> {
        match &*self.prefix {
            "TINK" => Ok(Prefix::Tink(self.id)),
            "LEGACY" | "CRUNCHY" => Ok(Prefix::Legacy(self.id)),
            "RAW" => Ok(Prefix::Raw),
            other => Err(bad(format!(
                "a key whose outputPrefixType is {other:?}; TINK, LEGACY, CRUNCHY and RAW are known"
            ))),
        }
    }

    /// Returns the last field of that number in the key's message, which holds bytes: the secret of most keys.
    ///
    /// # Errors
    /// [`Error::Keyset`] when the message is damaged or lacks the field.
    pub fn field(&self, number: u64) -> Result<Zeroizing<Vec<u8>>, Error> {
        let message = self.message()?;
        let mut found = None;
        for field in Fields(&message) {
            match field {
                Some((at, Field::Bytes(bytes))) if at == number => found = Some(bytes),
                Some(_) => {}
                None => return Err(not_understood()),
            }
        }
        found.map(|bytes| Zeroizing::new(bytes.to_vec())).ok_or_else(not_understood)
    }

    /// Returns the key's message in protocol buffers.
    pub(crate) fn message(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        json::decoded::<Base64>(self.value).ok_or_else(|| bad("a key that is not base64"))
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.type_name(), self.id)
    }
}

fn bad(why: impl Into<String>) -> Error {
    Error::Keyset(why.into())
}

fn not_understood() -> Error {
    bad("a key that can't be understood")
}
