//! Sealed objects, and the sealed index that says which objects a token has.
//!
//! | offset | bytes | meaning in an object | in an index |
//! | ---: | ---: | --- | --- |
//! | 0 | 1 | version of the format, 1 | the same |
//! | 1 | 8 | version of the object from 1, big-endian | epoch: the number of changes so far, big-endian |
//! | 9 | 12 | nonce, random | the same |
//! | 21 | n | secret under AES-256-GCM | digest of the token's contents, 32 bytes |
//! | 21 + n | 16 | tag | the same |
//!
//! The key of an object is HKDF-Expand of the master key with SHA-256 and the info `millstream object v1`, serial number, object's
//! identifier and version. That of an index has the info `millstream index v1`, serial number and epoch. The associated data are the same
//! info, followed by the attributes of an object as they lie in the file.
//!
//! The digest in an index is SHA-256 of the header's length (u32, big-endian), the header, and for each object in ascending order
//! of identifiers its identifier, version and tag. A tag depends on every bit of the attributes and the secret, so no
//! part of a token can be exchanged for an older one, left out or added.

use std::collections::BTreeMap;

use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::aead::Aead;
use millstream_engines::hash::{Hash, Hasher};
use millstream_engines::hkdf::Hkdf;
use zeroize::Zeroizing;

use super::header::{Master, derived};
use crate::Error;
use crate::names::{ObjectId, TokenId};

const VERSION: u8 = 1;
const FRONT: usize = 21;
const TAG: usize = 16;

/// The most bytes of an object's secret.
pub const MOST_SECRET_BYTES: usize = 64 << 10;

/// The version and the tag of an object, as its sealed form has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The version, from 1.
    pub version: u64,
    /// The tag.
    pub tag: [u8; TAG],
}

impl Entry {
    /// Reads the entry of a sealed object.
    ///
    /// # Errors
    /// [`Error::Malformed`] when the bytes are no sealed object.
    pub fn of(sealed: &[u8]) -> Result<Self, Error> {
        let parts = Parts::of(sealed).ok_or(Error::Malformed("a sealed object"))?;
        Ok(Entry { version: parts.number, tag: *parts.tag })
    }
}

/// The objects of a token and their entries.
pub(super) type Entries = BTreeMap<ObjectId, Entry>;

/// Seals and opens what belongs to one token.
#[derive(Clone)]
pub(super) struct Sealer {
    features: Features,
    token: TokenId,
    hkdf: Hkdf,
}

impl Sealer {
    pub(super) fn new(features: Features, token: TokenId, master: &Master) -> Self {
        let hkdf = Hkdf::from_prk(features, Hash::Sha256, &**master).expect("32 bytes are a digest");
        Sealer { features, token, hkdf }
    }

    /// Seals an object's secret.
    pub(super) fn seal_object(
        &self,
        object: ObjectId,
        version: u64,
        attributes: &[u8],
        secret: &[u8],
    ) -> Result<Vec<u8>, Error> {
        if secret.len() > MOST_SECRET_BYTES {
            return Err(Error::TooLong { what: "the secret of an object", most: MOST_SECRET_BYTES });
        }
        self.seal(&self.about_object(object, version), version, attributes, secret)
    }

    /// Opens a sealed object.
    pub(super) fn open_object(
        &self,
        object: ObjectId,
        attributes: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let version = Entry::of(sealed)?.version;
        self.open(&self.about_object(object, version), attributes, sealed).ok_or(Error::Forged("a key"))
    }

    /// Seals the index of a token with that header and those objects.
    pub(super) fn seal_index(&self, epoch: u64, header: &[u8], entries: &Entries) -> Result<Vec<u8>, Error> {
        self.seal(&self.about_index(epoch), epoch, &[], &self.digest(header, entries))
    }

    /// Compares a token's contents with its index, and returns the epoch.
    pub(super) fn check_index(&self, sealed: &[u8], header: &[u8], entries: &Entries) -> Result<u64, Error> {
        let epoch = Parts::of(sealed).ok_or(Error::Malformed("the index of a token"))?.number;
        let digest = self.open(&self.about_index(epoch), &[], sealed);
        let digest = digest.ok_or(Error::Forged("the index of the token"))?;
        if digest[..] == self.digest(header, entries)[..] { Ok(epoch) } else { Err(Error::RolledBack) }
    }

    fn digest(&self, header: &[u8], entries: &Entries) -> [u8; 32] {
        let mut hasher = Hasher::new(self.features, Hash::Sha256);
        hasher.update(&(header.len() as u32).to_be_bytes());
        hasher.update(header);
        for (object, entry) in entries {
            hasher.update(&object.0);
            hasher.update(&entry.version.to_be_bytes());
            hasher.update(&entry.tag);
        }
        hasher.finish()[..].try_into().expect("SHA-256 gives 32 bytes")
    }

    fn about_object(&self, object: ObjectId, version: u64) -> Vec<u8> {
        [b"millstream object v1", &self.token.0[..], &object.0, &version.to_be_bytes()].concat()
    }

    fn about_index(&self, epoch: u64) -> Vec<u8> {
        [b"millstream index v1", &self.token.0[..], &epoch.to_be_bytes()].concat()
    }

    fn seal(&self, about: &[u8], number: u64, attributes: &[u8], secret: &[u8]) -> Result<Vec<u8>, Error> {
        let mut sealed = vec![0; FRONT + secret.len() + TAG];
        sealed[0] = VERSION;
        sealed[1..9].copy_from_slice(&number.to_be_bytes());
        // A change that failed is made again under the same number, so the nonce must differ each time.
        getrandom::fill(&mut sealed[9..FRONT])?;
        let (front, rest) = sealed.split_at_mut(FRONT);
        let (data, tag) = rest.split_at_mut(secret.len());
        let tag: &mut [u8; TAG] = tag.try_into().expect("16 bytes");
        let data = InOut::separate(secret, data).expect("the lengths are equal");
        derived(self.features, &self.hkdf, about)
            .seal(&front[9..], &[about, attributes].concat(), data, tag)
            .expect("the lengths are allowed");
        Ok(sealed)
    }

    /// Opens what was sealed; none when it is another.
    fn open(&self, about: &[u8], attributes: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let parts = Parts::of(sealed)?;
        let mut secret = Zeroizing::new(vec![0; parts.data.len()]);
        let data = InOut::separate(parts.data, &mut secret).expect("the lengths are equal");
        let gcm = derived(self.features, &self.hkdf, about);
        gcm.open(parts.nonce, &[about, attributes].concat(), data, parts.tag).ok()?;
        Some(secret)
    }
}

/// The parts of a sealed object or index.
struct Parts<'a> {
    number: u64,
    nonce: &'a [u8; 12],
    data: &'a [u8],
    tag: &'a [u8; TAG],
}

impl<'a> Parts<'a> {
    fn of(sealed: &'a [u8]) -> Option<Self> {
        let (&[version], rest) = sealed.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (data, tag) = rest.split_last_chunk()?;
        (version == VERSION).then_some(Parts { number: u64::from_be_bytes(*number), nonce, data, tag })
    }
}
