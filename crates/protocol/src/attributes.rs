//! The public attributes of an object of a token, as they lie in a store's file in the clear, and as messages carry them.
//!
//! | bytes | meaning |
//! | ---: | --- |
//! | 2 | tag, big-endian; tags ascend, and none occurs twice |
//! | 4 | length of the value, big-endian |
//! | length | value |
//!
//! | tag | value |
//! | ---: | --- |
//! | 1 | label, UTF-8 |
//! | 2 | the application's identifier (`CKA_ID`), any bytes |
//! | 3 | the kind of key, as `aes` or `p-256`, ASCII |
//! | 4 | the key's length in bits, u32 |
//! | 5 | what the key may be used for: a bit for each usage, u32 |
//! | 6 | flags: 1 = the secret may be exported, 2 = the secret was never outside, u8 |
//! | 7 | the second in which the object was made, since 1970, u64 |
//! | 8 | the public key, a `SubjectPublicKeyInfo` in DER |
//!
//! Other tags are kept as they are. Numbers are big-endian.

use std::collections::BTreeMap;
use std::fmt;

/// The most bytes of a label, of an application's identifier, or of the name of a kind.
pub const MOST_LABEL_BYTES: usize = 255;

/// The most bytes of an object's attributes.
const MOST_BYTES: usize = 64 << 10;

/// Why attributes can't be encoded or decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributesError {
    /// A value is longer than it may be.
    TooLong {
        /// The value.
        what: &'static str,
        /// The most bytes.
        most: usize,
    },
    /// The bytes are no encoding of attributes.
    Malformed,
    /// One of [`Attributes::others`] has a tag with another meaning.
    Tag(u16),
}

impl fmt::Display for AttributesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttributesError::TooLong { what, most } => write!(f, "{what}: {most} bytes at most"),
            AttributesError::Malformed => f.write_str("the attributes of an object can't be understood"),
            AttributesError::Tag(tag) => {
                write!(f, "the attribute {tag} has a meaning of its own: take another tag")
            }
        }
    }
}

impl std::error::Error for AttributesError {}

type Error = AttributesError;

mod tag {
    pub const LABEL: u16 = 1;
    pub const ID: u16 = 2;
    pub const KIND: u16 = 3;
    pub const BITS: u16 = 4;
    pub const USAGES: u16 = 5;
    pub const FLAGS: u16 = 6;
    pub const CREATED: u16 = 7;
    pub const PUBLIC_KEY: u16 = 8;
}

const EXPORTABLE: u8 = 1;
const NEVER_OUTSIDE: u8 = 2;

/// The usages of a key, a bit for each.
pub mod usage {
    /// The key may encrypt.
    pub const ENCRYPT: u32 = 1;
    /// The key may decrypt.
    pub const DECRYPT: u32 = 1 << 1;
    /// The key may sign, or compute a MAC.
    pub const SIGN: u32 = 1 << 2;
    /// The key may verify.
    pub const VERIFY: u32 = 1 << 3;
    /// The key may agree on or derive other keys.
    pub const DERIVE: u32 = 1 << 4;
    /// The key may wrap other keys.
    pub const WRAP: u32 = 1 << 5;
    /// The key may unwrap other keys.
    pub const UNWRAP: u32 = 1 << 6;
    /// Returns all usages that keys of a kind have; none for a kind that is not known.
    pub fn of_kind(kind: &str) -> u32 {
        match kind {
            "aes" => ENCRYPT | DECRYPT | SIGN | VERIFY | WRAP | UNWRAP,
            "chacha20-poly1305" | "aes-siv" | "fernet" | "aes-xts" | "3des" => ENCRYPT | DECRYPT,
            "hmac" | "p-256" | "p-384" | "p-521" => SIGN | VERIFY | DERIVE,
            "ed25519" => SIGN | VERIFY,
            "x25519" | "hkdf" | "ml-kem-512" | "ml-kem-768" | "ml-kem-1024" => DERIVE,
            "ml-dsa-44" | "ml-dsa-65" | "ml-dsa-87" => SIGN | VERIFY,
            // All twelve parameter sets.
            kind if kind.starts_with("slh-dsa-") => SIGN | VERIFY,
            // HMAC with one hash alone, as PKCS #11 has such keys.
            kind if kind.starts_with("hmac-") => SIGN | VERIFY,
            "rsa" => SIGN | VERIFY | ENCRYPT | DECRYPT | WRAP | UNWRAP,
            _ => 0,
        }
    }

    /// The names of usages, by their bits from the lowest.
    pub const NAMES: [&str; 7] = ["encrypt", "decrypt", "sign", "verify", "derive", "wrap", "unwrap"];
}

/// The public attributes of an object.
///
/// ```
/// use millstream_protocol::{Attributes, usage};
///
/// let attributes = Attributes {
///     label: "server".into(),
///     kind: "p-256".into(),
///     usages: usage::SIGN | usage::VERIFY,
///     ..Attributes::default()
/// };
/// assert_eq!(Attributes::decode(&attributes.encode()?)?, attributes);
/// # Ok::<(), millstream_protocol::AttributesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The label, which several objects may have.
    pub label: String,
    /// The identifier that an application gave, as PKCS #11's `CKA_ID`. It may be empty.
    pub id: Vec<u8>,
    /// The kind of key, as `aes` or `p-256`. The store itself does not interpret it.
    pub kind: String,
    /// The key's length in bits.
    pub bits: u32,
    /// The usages, as bits of [`usage`].
    pub usages: u32,
    /// True when the secret may leave the token.
    pub exportable: bool,
    /// True when the secret was made inside, and the token never gave it out.
    pub never_outside: bool,
    /// The second in which the object was made, since 1970.
    pub created: u64,
    /// The public key, a `SubjectPublicKeyInfo` in DER. It is empty for secret keys.
    pub public_key: Vec<u8>,
    /// Attributes that have no field here, by their tags.
    pub others: BTreeMap<u16, Vec<u8>>,
}

impl Attributes {
    /// Encodes the attributes. Equal ones have equal bytes.
    ///
    /// # Errors
    /// [`AttributesError::TooLong`] and [`AttributesError::Tag`].
    pub fn encode(&self) -> Result<Vec<u8>, AttributesError> {
        check("label", self.label.len(), MOST_LABEL_BYTES)?;
        check("identifier", self.id.len(), MOST_LABEL_BYTES)?;
        check("kind of key", self.kind.len(), MOST_LABEL_BYTES)?;
        if let Some(tag) = self.others.keys().find(|tag| **tag <= tag::PUBLIC_KEY) {
            return Err(Error::Tag(*tag));
        }
        let flags = (u8::from(self.exportable) * EXPORTABLE) | (u8::from(self.never_outside) * NEVER_OUTSIDE);
        let mut bytes = Vec::with_capacity(128 + self.public_key.len());
        let mut put = |tag: u16, value: &[u8]| {
            if !value.is_empty() {
                bytes.extend(tag.to_be_bytes());
                bytes.extend((value.len() as u32).to_be_bytes());
                bytes.extend(value);
            }
        };
        put(tag::LABEL, self.label.as_bytes());
        put(tag::ID, &self.id);
        put(tag::KIND, self.kind.as_bytes());
        put(tag::BITS, &self.bits.to_be_bytes());
        put(tag::USAGES, &self.usages.to_be_bytes());
        put(tag::FLAGS, &[flags]);
        put(tag::CREATED, &self.created.to_be_bytes());
        put(tag::PUBLIC_KEY, &self.public_key);
        for (tag, value) in &self.others {
            put(*tag, value);
        }
        check("attributes", bytes.len(), MOST_BYTES)?;
        Ok(bytes)
    }

    /// Decodes attributes.
    ///
    /// # Errors
    /// [`AttributesError::Malformed`] when the bytes are no encoding of attributes.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, AttributesError> {
        let mut attributes = Attributes::default();
        let mut last = 0;
        while !bytes.is_empty() {
            let (tag, value) = field(&mut bytes).ok_or(BAD)?;
            if tag <= last || value.is_empty() {
                return Err(BAD);
            }
            last = tag;
            attributes.take(tag, value).ok_or(BAD)?;
        }
        Ok(attributes)
    }

    fn take(&mut self, tag: u16, value: &[u8]) -> Option<()> {
        match tag {
            tag::LABEL => self.label = text(value)?,
            tag::ID => self.id = value.to_vec(),
            tag::KIND => self.kind = text(value)?,
            tag::BITS => self.bits = u32::from_be_bytes(value.try_into().ok()?),
            tag::USAGES => self.usages = u32::from_be_bytes(value.try_into().ok()?),
            tag::FLAGS => {
                let &[flags] = value else { return None };
                if flags & !(EXPORTABLE | NEVER_OUTSIDE) != 0 {
                    return None;
                }
                self.exportable = flags & EXPORTABLE != 0;
                self.never_outside = flags & NEVER_OUTSIDE != 0;
            }
            tag::CREATED => self.created = u64::from_be_bytes(value.try_into().ok()?),
            tag::PUBLIC_KEY => self.public_key = value.to_vec(),
            other => {
                self.others.insert(other, value.to_vec());
            }
        }
        Some(())
    }
}

const BAD: Error = Error::Malformed;

/// Takes the first field off the bytes.
fn field<'a>(bytes: &mut &'a [u8]) -> Option<(u16, &'a [u8])> {
    let (tag, rest) = bytes.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let (value, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    *bytes = rest;
    Some((u16::from_be_bytes(*tag), value))
}

fn text(value: &[u8]) -> Option<String> {
    (value.len() <= MOST_LABEL_BYTES).then(|| str::from_utf8(value).ok().map(str::to_owned))?
}

fn check(what: &'static str, given: usize, most: usize) -> Result<(), Error> {
    if given > most { Err(Error::TooLong { what, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_back_and_damaged_ones_are_refused() {
        let attributes = Attributes {
            label: "lbl".into(),
            id: vec![1, 2, 3],
            kind: "p-256".into(),
            bits: 256,
            usages: 5,
            exportable: true,
            never_outside: true,
            created: 1 << 40,
            public_key: vec![9; 91],
            others: [(0x8001, vec![7])].into(),
        };
        let bytes = attributes.encode().unwrap();
        assert_eq!(Attributes::decode(&bytes).unwrap(), attributes);
        assert_eq!(Attributes::decode(&[]).unwrap(), Attributes::default());
        // A cut between two fields leaves attributes, which are others than the whole.
        for len in 1..bytes.len() {
            let cut = Attributes::decode(&bytes[..len]);
            assert!(cut.is_ok_and(|cut| cut != attributes) || Attributes::decode(&bytes[..len]).is_err());
        }
        let twice = [&bytes[..], &bytes[..]].concat();
        assert_eq!(Attributes::decode(&twice), Err(Error::Malformed));
    }

    #[test]
    fn tags_of_this_crate_and_long_values_are_refused() {
        let clash = Attributes { others: [(3, vec![1])].into(), ..Attributes::default() };
        assert_eq!(clash.encode(), Err(Error::Tag(3)));
        let long = Attributes { label: "x".repeat(256), ..Attributes::default() };
        assert!(matches!(long.encode(), Err(Error::TooLong { what: "label", most: 255 })));
        let long = Attributes { others: [(99, vec![1; 65536])].into(), ..Attributes::default() };
        assert!(matches!(long.encode(), Err(Error::TooLong { what: "attributes", .. })));
    }
}
