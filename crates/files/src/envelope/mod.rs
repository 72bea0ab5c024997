//! Envelopes: files of `millstream seal`, and the manifests and drafts of backups.
//!
//! | offset | bytes | meaning |
//! | ---: | ---: | --- |
//! | 0 | 8 | `Millseal` |
//! | 8 | 1 | version, 1 |
//! | 9 | 1 | kind: 1 = file, 2 = manifest of a backup, 3 = draft of a backup |
//! | 10 | 2 | number of wrapped keys, 1 to 16, big-endian |
//! | 12 | 4 | length *k* of the wrapped keys, big-endian |
//! | 16 | 4 | length *t* of the open text, big-endian |
//! | 20 | *k* | the wrapped keys, as `wrap.rs` has them |
//! | 20 + *k* | *t* | the open text, which anyone may read |
//!
//! A C2SP chunked-encryption message ([`crate::chunked`]) follows, under the wrapped key of 32 bytes. Its context is the ASCII text
//! `millstream-envelope-v1`, then SHA-256 of all the bytes in front of the message, so no bit of them can be changed unnoticed.
//! Lengths are limited before they are used, because they are used before they are authenticated.

mod wrap;

use std::io::Read;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_engines::hash::digest;
use zeroize::Zeroizing;

pub use self::wrap::{Identity, Recipient, SERVICE_AAD, Service, Wrapped};
use crate::chunked;
use crate::error::Error;
use crate::job::{Job, read_header};

/// The first bytes of an envelope.
pub const MAGIC: &[u8; 8] = b"Millseal";

/// A data key: the input key of messages.
pub type DataKey = Zeroizing<[u8; 32]>;

/// The length of the fields with a fixed place.
const FIXED: usize = 20;
const VERSION: u8 = 1;
const FORMAT: &str = "Millstream envelope";

/// The limits of what is read before it is authenticated.
mod most {
    pub const KEYS: u64 = 16;
    /// 16 of the longest ones, which are for hybrids.
    pub const KEY_BYTES: u64 = 20 << 10;
    /// The index of a backup of 4 PiB in segments of 512 MiB has some 2 GB; one of 100 TB in segments of 64 MiB has 400 MB.
    pub const TEXT_BYTES: u64 = 1 << 30;
}

/// The contents of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file of `millstream seal`.
    File = 1,
    /// The manifest of a backup.
    Manifest = 2,
    /// The draft of a backup that is not whole yet.
    Draft = 3,
}

/// The part of an envelope in front of its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The kind.
    pub kind: Kind,
    /// The data key, wrapped for each recipient.
    pub keys: Vec<Wrapped>,
    /// The text that anyone may read.
    pub text: Vec<u8>,
}

impl Head {
    /// Makes a new data key and wraps it for all recipients.
    ///
    /// # Errors
    /// [`Error::Random`]; those of [`Service::wrap`]; [`Error::Limit`] for none, or more than 16 recipients.
    pub fn new(
        features: Features,
        kind: Kind,
        recipients: &[Recipient<'_>],
        text: Vec<u8>,
    ) -> Result<(Self, DataKey), Error> {
        let mut key = DataKey::default();
        getrandom::fill(&mut *key)?;
        Ok((Head { kind, keys: Head::wrap(features, &key, recipients)?, text }, key))
    }

    /// Wraps a data key for all recipients.
    ///
    /// # Errors
    /// As for [`Head::new`].
    pub fn wrap(
        features: Features,
        key: &DataKey,
        recipients: &[Recipient<'_>],
    ) -> Result<Vec<Wrapped>, Error> {
        if recipients.is_empty() || recipients.len() as u64 > most::KEYS {
            let given = recipients.len() as u64;
            return Err(Error::Limit { what: "recipients (1 at least)", given, most: most::KEYS });
        }
        recipients.iter().map(|recipient| Wrapped::new(features, recipient, key)).collect()
    }

    /// Unwraps the data key with the first identity that fits.
    ///
    /// # Errors
    /// [`Error::NoKey`] when none does; those of [`Service::unwrap`].
    pub fn key(&self, features: Features, identities: &[Identity<'_>]) -> Result<DataKey, Error> {
        let mut fitting = false;
        for identity in identities {
            for wrapped in self.keys.iter().filter(|wrapped| wrapped.is_for(identity)) {
                fitting = true;
                if let Some(key) = wrapped.open(features, identity)? {
                    return Ok(key);
                }
            }
        }
        let kinds: Vec<&str> = self.keys.iter().map(Wrapped::kind).collect();
        Err(Error::NoKey { kinds: kinds.join(", "), fitting })
    }

    /// Encodes the head.
    pub fn to_bytes(&self) -> Vec<u8> {
        let keys: Vec<u8> = self.keys.iter().flat_map(Wrapped::to_bytes).collect();
        let mut bytes = Vec::with_capacity(FIXED + keys.len() + self.text.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[VERSION, self.kind as u8]);
        bytes.extend_from_slice(&(self.keys.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&(keys.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&(self.text.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&keys);
        bytes.extend_from_slice(&self.text);
        bytes
    }

    /// Reads a head.
    ///
    /// # Errors
    /// [`Error::NotThisFormat`], [`Error::Limit`], [`Error::Truncated`].
    pub fn read(reader: &mut impl Read) -> Result<Self, Error> {
        let mut fixed = [0; FIXED];
        read_header(reader, &mut fixed)?;
        if !fixed.starts_with(MAGIC) {
            return Err(not("it does not begin with 'Millseal'"));
        }
        let kind = match (fixed[8], fixed[9]) {
            (VERSION, 1) => Kind::File,
            (VERSION, 2) => Kind::Manifest,
            (VERSION, 3) => Kind::Draft,
            (version, kind) => {
                return Err(not(format!("version {version} and kind {kind} are not known here")));
            }
        };
        let number = |at: usize| {
            u64::from(u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]))
        };
        let (count, key_bytes, text_bytes) =
            (u64::from(u16::from_be_bytes([fixed[10], fixed[11]])), number(12), number(16));
        limit("wrapped keys", count, most::KEYS)?;
        limit("bytes of wrapped keys", key_bytes, most::KEY_BYTES)?;
        limit("bytes of open text", text_bytes, most::TEXT_BYTES)?;
        let keys = read_exactly(reader, key_bytes)?;
        let keys = Wrapped::all(&keys)?;
        if keys.is_empty() || keys.len() as u64 != count {
            return Err(not(format!("{} wrapped keys where the head says {count}", keys.len())));
        }
        Ok(Head { kind, keys, text: read_exactly(reader, text_bytes)? })
    }

    /// Returns the context of the message behind the head.
    pub fn context(&self, features: Features) -> Vec<u8> {
        let mut context = b"millstream-envelope-v1".to_vec();
        let mut sum = [0; 32];
        digest(features, Hash::Sha256, &self.to_bytes(), &mut sum).expect("room for SHA-256");
        context.extend_from_slice(&sum);
        context
    }
}

fn limit(what: &'static str, given: u64, most: u64) -> Result<(), Error> {
    if given > most { Err(Error::Limit { what, given, most }) } else { Ok(()) }
}

/// Reads so many bytes. Memory grows with what is there, not with what is announced.
fn read_exactly(reader: &mut impl Read, len: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    reader.take(len).read_to_end(&mut bytes).map_err(Error::Read)?;
    if bytes.len() as u64 == len { Ok(bytes) } else { Err(Error::Truncated) }
}

fn not(why: impl Into<String>) -> Error {
    Error::NotThisFormat { format: FORMAT, why: why.into() }
}

/// Begins to seal a file.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_files::envelope::{self, Identity, Recipient};
///
/// let features = Features::hardware();
/// let (mut sealed, mut opened) = (Vec::new(), Vec::new());
/// envelope::seal(features, &[Recipient::Key(&[7; 32])])?.run_here(&b"an object"[..], &mut sealed)?;
/// let mut reader = &sealed[..];
/// envelope::open(features, &mut reader, &[Identity::Key(&[7; 32])])?.run_here(reader, &mut opened)?;
/// assert_eq!(opened, b"an object");
/// # Ok::<(), millstream_files::Error>(())
/// ```
///
/// # Errors
/// As for [`Head::new`].
pub fn seal(features: Features, recipients: &[Recipient<'_>]) -> Result<Job, Error> {
    let (head, key) = Head::new(features, Kind::File, recipients, Vec::new())?;
    chunked::seal(features, head.to_bytes(), &*key, &head.context(features))
}

/// Begins to open a file, and takes its head from `reader`.
///
/// # Errors
/// As for [`Head::read`] and [`Head::key`]; [`Error::Committed`].
pub fn open(features: Features, reader: &mut impl Read, identities: &[Identity<'_>]) -> Result<Job, Error> {
    let head = Head::read(reader)?;
    let key = head.key(features, identities)?;
    chunked::open(features, reader, &*key, &head.context(features))
}

/// Seals a small object of another kind as a whole.
///
/// # Errors
/// Those of the engines, and [`Error::Random`].
pub fn seal_whole(features: Features, head: &Head, key: &DataKey, plain: &[u8]) -> Result<Vec<u8>, Error> {
    let mut sealed = Vec::new();
    chunked::seal(features, head.to_bytes(), &**key, &head.context(features))?
        .run_here(plain, &mut sealed)?;
    Ok(sealed)
}

/// Opens the message behind a head as a whole.
///
/// # Errors
/// [`Error::Committed`], [`Error::Tampered`], [`Error::Truncated`].
pub fn open_whole(
    features: Features,
    head: &Head,
    key: &DataKey,
    mut message: &[u8],
) -> Result<Vec<u8>, Error> {
    let mut plain = Vec::new();
    let job = chunked::open(features, &mut message, &**key, &head.context(features))?;
    job.run_here(message, &mut plain)?;
    Ok(plain)
}
