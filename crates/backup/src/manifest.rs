//! The manifest of a backup: an index that anyone may read and check, and details that only the key opens.
//!
//! A manifest is an envelope ([`millstream_files::envelope`]) with a signature behind it. Its open text is the index, an object of JSON, and its message has the
//! details. The Ed25519 signature, 64 bytes, is over the ASCII text `millstream-backup-manifest-v1`, a line end, and all that stands in front of the
//! signature. The signing key comes from the data key, and its public part, the *verifier*, stands in the index: who knows the
//! verifier from elsewhere can tell without the key that nothing was changed.
//!
//! Ref. RFC 8032 (Ed25519), RFC 8259 (JSON).

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_engines::hkdf::Hkdf;
use millstream_engines::hmac::HmacKey;
use millstream_files::chunked::{SALT, plain_len, sealed_len};
use millstream_files::envelope::{DataKey, Head, Kind, Wrapped, open_whole, seal_whole};
use millstream_publickey::ed25519;
use object_store::path::Path;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::location::Location;

/// The most bytes of plaintext in a segment. Readers hold whole segments.
pub const MOST_SEGMENT_BYTES: u64 = 4 << 30;

/// The most segments of a backup, whose index then has some 800 MB.
pub const MOST_SEGMENTS: u64 = 5 << 20;

/// The most bytes of a manifest.
pub(crate) const MOST_MANIFEST: u64 = 1 << 30;

/// The most bytes of a draft or a record.
pub(crate) const MOST_SMALL: u64 = 1 << 20;

/// The beginning of 2026, before which nobody made such a backup.
const FIRST: u64 = 1_767_225_600;

/// Returns the time in seconds since 1970.
///
/// # Errors
/// [`Error::Clock`] when the clock of this machine is years behind.
pub(crate) fn now() -> Result<u64, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    if now >= FIRST {
        return Ok(now);
    }
    Err(Error::Clock("the clock of this machine is years behind: set it, because 'prune' goes by it".into()))
}

const FORMAT: &str = "millstream-backup";
const VERSION: u64 = 1;
const SIGNED: &[u8] = b"millstream-backup-manifest-v1\n";

/// The identifier of a backup, which is random.
pub type Id = [u8; 16];

/// The open part of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The identifier.
    pub id: Id,
    /// The time at which the backup was begun, in seconds since 1970.
    pub created: u64,
    /// The bytes of plaintext in every segment but the last.
    pub segment_bytes: u64,
    /// The bytes of plaintext in all.
    pub bytes: u64,
    /// The public key of the signature.
    pub verifier: [u8; 32],
    /// The segments, in order.
    pub segments: Vec<Entry>,
}

/// A segment of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The salt, with which the object begins.
    pub salt: [u8; SALT],
    /// The length of the object, in bytes.
    pub sealed_bytes: u64,
    /// SHA-256 of the object.
    pub sha256: [u8; 32],
}

impl Entry {
    /// Returns the length of the plaintext, in bytes.
    pub fn bytes(&self) -> u64 {
        plain_len(self.sealed_bytes).unwrap_or(0)
    }
}

/// The sealed part of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// The name in the store under which the backup was made.
    pub name: String,
    /// The source of the stream, as the user named it.
    pub source: String,
}

/// The path of a segment's object, relative to the backup's name.
pub(crate) fn object_name(id: &Id, number: u64, salt: &[u8; SALT]) -> [String; 2] {
    [hex(id), format!("{number:08}-{}.segment", hex(&salt[..8]))]
}

/// The path of a segment's record, relative to the backup's name.
pub(crate) fn record_name(id: &Id, number: u64) -> [String; 2] {
    [hex(id), format!("{number:08}.record")]
}

impl Index {
    fn to_json(&self) -> String {
        let segments: Vec<Value> = self
            .segments
            .iter()
            .map(|entry| {
                json!({ "salt": hex(&entry.salt), "bytes": entry.sealed_bytes, "sha256": hex(&entry.sha256) })
            })
            .collect();
        let index = json!({
            "format": FORMAT,
            "version": VERSION,
            "id": hex(&self.id),
            "created": self.created,
            "segment_bytes": self.segment_bytes,
            "bytes": self.bytes,
            "verifier": hex(&self.verifier),
            "segments": segments,
        });
        index.to_string()
    }

    fn from_json(text: &[u8]) -> Result<Self, Error> {
        let value: Value =
            serde_json::from_slice(text).map_err(|error| bad(format!("its index is not JSON: {error}")))?;
        if value["format"] != FORMAT || value["version"] != VERSION {
            return Err(bad(format!("its index is not of version {VERSION}")));
        }
        let entries = value["segments"].as_array().ok_or_else(|| bad("its index lists no segments"))?;
        let entry = |value: &Value| {
            let sealed_bytes = number(value, "bytes")?;
            plain_len(sealed_bytes).ok_or_else(|| bad("a segment has a length that no segment has"))?;
            Ok(Entry { salt: digits(value, "salt")?, sealed_bytes, sha256: digits(value, "sha256")? })
        };
        let index = Index {
            id: digits(&value, "id")?,
            created: number(&value, "created")?,
            segment_bytes: number(&value, "segment_bytes")?,
            bytes: number(&value, "bytes")?,
            verifier: digits(&value, "verifier")?,
            segments: entries.iter().map(entry).collect::<Result<_, Error>>()?,
        };
        index.check()?;
        Ok(index)
    }

    /// Checks that the lengths fit each other.
    fn check(&self) -> Result<(), Error> {
        let Some((last, whole)) = self.segments.split_last() else {
            return Err(bad("its index has no segment"));
        };
        if self.segment_bytes == 0 || self.segment_bytes > MOST_SEGMENT_BYTES {
            return Err(bad("its segments have a length that is not allowed"));
        }
        let full = sealed_len(self.segment_bytes);
        let wrong = whole.iter().any(|entry| entry.sealed_bytes != full) || last.bytes() > self.segment_bytes;
        // There is an empty segment only where there is no other.
        let empty = last.bytes() == 0 && !whole.is_empty();
        let bytes = (whole.len() as u64)
            .checked_mul(self.segment_bytes)
            .and_then(|all| all.checked_add(last.bytes()));
        if wrong || empty || bytes != Some(self.bytes) {
            return Err(bad("the lengths in its index do not fit each other"));
        }
        Ok(())
    }

    /// Returns the path of a segment's object, relative to the backup's name.
    pub fn object(&self, number: u64) -> String {
        self.names(number).join("/")
    }

    /// Returns the path of a segment's object of a backup.
    pub(crate) fn path(&self, location: &Location, number: u64) -> Path {
        let [folder, object] = self.names(number);
        location.object(&[&folder, &object])
    }

    fn names(&self, number: u64) -> [String; 2] {
        object_name(&self.id, number, &self.segments[number as usize].salt)
    }
}

/// The keys that come from a data key.
pub(crate) struct Keys {
    hkdf: Hkdf,
}

impl Keys {
    pub(crate) fn new(features: Features, key: &DataKey) -> Self {
        Keys { hkdf: Hkdf::with_key(HmacKey::new(features, Hash::Sha512, &**key)) }
    }

    /// Returns the key with which the plaintext of the segment of that salt is hashed.
    pub(crate) fn fingerprint(&self, salt: &[u8; SALT]) -> Zeroizing<[u8; 16]> {
        let mut key = Zeroizing::new([0; 16]);
        let info = [&b"millstream-backup-v1 fingerprint"[..], salt].concat();
        self.hkdf.expand(&info, &mut *key).expect("a short key");
        key
    }

    pub(crate) fn signer(&self, features: Features) -> Result<ed25519::PrivateKey, Error> {
        let mut seed = Zeroizing::new([0; 32]);
        self.hkdf.expand(b"millstream-backup-v1 signature", &mut *seed).expect("a short key");
        ed25519::PrivateKey::new(features, &*seed).map_err(failed)
    }
}

/// Returns the verifier of the manifests of a data key.
///
/// # Errors
/// Those of the engines.
pub fn verifier(features: Features, key: &DataKey) -> Result<[u8; 32], Error> {
    Ok(*Keys::new(features, key).signer(features)?.public_bytes())
}

/// Encodes a manifest, whose index has the verifier of the data key.
///
/// # Errors
/// Those of the engines.
pub fn encode(
    features: Features,
    key: &DataKey,
    keys: Vec<Wrapped>,
    index: &Index,
    details: &Details,
) -> Result<Vec<u8>, Error> {
    let sealed = json!({ "name": details.name, "source": details.source }).to_string();
    let head = Head { kind: Kind::Manifest, keys, text: index.to_json().into_bytes() };
    let mut manifest = seal_whole(features, &head, key, sealed.as_bytes())?;
    let signature = Keys::new(features, key).signer(features)?.sign(&[SIGNED, &manifest].concat());
    manifest.extend_from_slice(&signature);
    Ok(manifest)
}

/// A manifest whose signature is right, and whose sealed part is closed.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The part in front of the sealed one.
    pub head: Head,
    /// The index.
    pub index: Index,
    sealed: Vec<u8>,
}

impl Manifest {
    /// Reads a manifest and checks its signature, by its own verifier or by the one that the caller knows.
    ///
    /// # Errors
    /// [`Error::Files`] when it is no envelope, [`Error::Manifest`], [`Error::Signature`].
    pub fn read(features: Features, bytes: &[u8], verifier: Option<&[u8; 32]>) -> Result<Self, Error> {
        let Some((envelope, signature)) = bytes.split_last_chunk::<64>() else {
            return Err(bad("it was cut off"));
        };
        let mut sealed = envelope;
        let head = Head::read(&mut sealed)?;
        if head.kind != Kind::Manifest {
            return Err(bad("it is an envelope of another kind"));
        }
        let index = Index::from_json(&head.text)?;
        if verifier.is_some_and(|known| *known != index.verifier) {
            return Err(Error::Signature);
        }
        ed25519::PublicKey::new(features, &index.verifier)
            .and_then(|key| key.verify(&[SIGNED, envelope].concat(), signature))
            .map_err(|_| Error::Signature)?;
        Ok(Manifest { sealed: sealed.to_vec(), head, index })
    }

    /// Opens the sealed part, which shows that the whole manifest was made with this key.
    ///
    /// # Errors
    /// [`Error::Files`]; [`Error::Signature`] when the verifier is not this key's; [`Error::Manifest`].
    pub fn open(&self, features: Features, key: &DataKey) -> Result<Details, Error> {
        let plain = open_whole(features, &self.head, key, &self.sealed)?;
        if verifier(features, key)? != self.index.verifier {
            return Err(Error::Signature);
        }
        let value: Value = serde_json::from_slice(&plain)
            .map_err(|error| bad(format!("its details are not JSON: {error}")))?;
        let text =
            |name: &str| value[name].as_str().map(str::to_owned).ok_or_else(|| bad(format!("no {name}")));
        Ok(Details { name: text("name")?, source: text("source")? })
    }
}

/// The beginning of a backup: what must be known to go on with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) id: Id,
    pub(crate) created: u64,
    pub(crate) segment_bytes: u64,
    pub(crate) details: Details,
}

impl Draft {
    pub(crate) fn encode(&self, features: Features, head: &Head, key: &DataKey) -> Result<Vec<u8>, Error> {
        let plain = json!({
            "id": hex(&self.id),
            "created": self.created,
            "segment_bytes": self.segment_bytes,
            "name": self.details.name,
            "source": self.details.source,
        });
        Ok(seal_whole(features, head, key, plain.to_string().as_bytes())?)
    }

    pub(crate) fn decode(
        features: Features,
        head: &Head,
        key: &DataKey,
        sealed: &[u8],
    ) -> Result<Self, Error> {
        let plain = open_whole(features, head, key, sealed)?;
        let value: Value = serde_json::from_slice(&plain)
            .map_err(|error| bad(format!("a draft that is not JSON: {error}")))?;
        let text =
            |name: &str| value[name].as_str().map(str::to_owned).ok_or_else(|| bad(format!("no {name}")));
        Ok(Draft {
            id: digits(&value, "id")?,
            created: number(&value, "created")?,
            segment_bytes: number(&value, "segment_bytes")?,
            details: Details { name: text("name")?, source: text("source")? },
        })
    }
}

impl Details {
    /// Refuses a manifest that was made for another name.
    pub(crate) fn check(&self, location: &Location, moved: bool) -> Result<(), Error> {
        let found_as = location.path.to_string();
        if self.name == found_as || moved {
            return Ok(());
        }
        Err(Error::Moved { made_as: self.name.clone(), found_as })
    }
}

fn number(value: &Value, name: &str) -> Result<u64, Error> {
    value[name].as_u64().ok_or_else(|| bad(format!("its member {name} is no number")))
}

fn digits<const N: usize>(value: &Value, name: &str) -> Result<[u8; N], Error> {
    let digits = value[name].as_str().and_then(|text| unhex(text.as_bytes()));
    digits.ok_or_else(|| bad(format!("its member {name} has not {N} bytes in hexadecimal")))
}

fn failed(error: millstream_publickey::Error) -> Error {
    bad(error.to_string())
}

fn bad(why: impl Into<String>) -> Error {
    Error::Manifest(why.into())
}

/// Returns the bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the bytes of lower-case hexadecimal digits, if there are so many of them and nothing else.
pub fn unhex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}
