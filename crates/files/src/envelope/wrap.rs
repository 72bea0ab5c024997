//! Wrapped data keys. Each begins with its kind (1 byte) and the length of its body (2 bytes, big-endian).
//!
//! | kind | body |
//! | --- | --- |
//! | 1, key file | salt (32), wrapped key (48) |
//! | 2, passphrase | the preamble of `passphrase.rs` (40), salt (32), wrapped key (48) |
//! | 3, X25519 | ephemeral public key (32), wrapped key (48) |
//! | 4, key in the service | nonce (12), wrapped key (48) |
//! | 5, MLKEM768-X25519 | encapsulated key (1120), wrapped key (48) |
//!
//! A wrapped key is the data key under AES-256-GCM with its tag behind it, without associated data. The wrapping key of kinds 1 to 3 is
//! HKDF-SHA-256(*ikm*, *salt*, *info*), 32 bytes, and serves once, so its nonce is 12 zeros:
//!
//! | kind | *ikm* | *salt* | *info* |
//! | --- | --- | --- | --- |
//! | 1 | the 32 bytes of the key file | salt | `millstream-wrap-v1 key` |
//! | 2 | Argon2id of the passphrase, 32 bytes | salt | `millstream-wrap-v1 passphrase` |
//! | 3 | X25519(ephemeral, recipient) | ephemeral ‖ recipient | `millstream-wrap-v1 x25519` |
//!
//! Kind 5 is HPKE in mode base with MLKEM768-X25519, HKDF-SHA-256 and AES-256-GCM, *info* `millstream-wrap-v1 mlkem768-x25519` and no associated
//! data. For kind 4 the service itself computes AES-GCM with the nonce, and with [`SERVICE_AAD`] as associated data.
//!
//! Ref. RFC 5869 (HKDF), RFC 7748 §6.1 (X25519), RFC 9106 (Argon2), RFC 9180 (HPKE) with c2sp.org/hpke-hybrids.

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::aead::{Aead, TAG};
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::Hash;
use millstream_engines::{Error as EngineError, InOut, hkdf};
use millstream_publickey::hpke::{self, Kdf, Kem, Setup, Suite};
use millstream_publickey::hybrid::{self, Hybrid};
use millstream_publickey::x25519::{PrivateKey, PublicKey};
use millstream_publickey::{Error as PairError, Random};
use zeroize::Zeroizing;

use super::{DataKey, not};
use crate::error::Error;
use crate::passphrase::{self, Preamble};

/// The associated data of a key that the service wraps.
pub const SERVICE_AAD: &[u8] = b"millstream-wrap-v1 service";

const SALT: usize = 32;
const WRAPPED: usize = 32 + TAG;
const NONCE: usize = 12;
const ENCAPSULATED: usize = Hybrid::MlKem768X25519.ciphertext_len();

/// The suite of keys for hybrids, and its purpose.
const HPKE: Suite = Suite::new(Kem::Hybrid(Hybrid::MlKem768X25519), Kdf::HkdfSha256, hpke::Aead::Aes256Gcm);
const HPKE_INFO: &[u8] = b"millstream-wrap-v1 mlkem768-x25519";

/// A key of AES-GCM that another process holds.
pub trait Service {
    /// Encrypts the 32 bytes in place under this nonce with [`SERVICE_AAD`], and returns the tag.
    ///
    /// # Errors
    /// [`Error::Service`].
    fn wrap(&self, nonce: &[u8; 12], key: &mut [u8; 32]) -> Result<[u8; 16], Error>;

    /// Decrypts the 32 bytes in place. Returns false when the tag is wrong.
    ///
    /// # Errors
    /// [`Error::Service`].
    fn unwrap(&self, nonce: &[u8; 12], key: &mut [u8; 32], tag: &[u8; 16]) -> Result<bool, Error>;
}

/// A key or a passphrase for which a data key is wrapped.
#[derive(Clone, Copy)]
pub enum Recipient<'a> {
    /// The 32 bytes of a key file.
    Key(&'a [u8; 32]),
    /// A passphrase.
    Passphrase(&'a [u8]),
    /// A public key of X25519.
    X25519(&'a [u8; 32]),
    /// A public key of MLKEM768-X25519, the hybrid that a quantum computer does not open.
    Hybrid(&'a hybrid::PublicKey),
    /// A key in the service.
    Service(&'a dyn Service),
}

/// A key or a passphrase that may unwrap a data key.
#[derive(Clone, Copy)]
pub enum Identity<'a> {
    /// The 32 bytes of a key file.
    Key(&'a [u8; 32]),
    /// A passphrase.
    Passphrase(&'a [u8]),
    /// A private key of X25519.
    X25519(&'a [u8; 32]),
    /// The seed of a private key of MLKEM768-X25519.
    Hybrid(&'a [u8; 32]),
    /// A key in the service.
    Service(&'a dyn Service),
}

/// A data key under one recipient's key.
#[derive(Clone, PartialEq, Eq)]
pub enum Wrapped {
    /// For a key file.
    #[expect(missing_docs, reason = "the table of the file names the fields")]
    Key { salt: [u8; SALT], key: [u8; WRAPPED] },
    /// For a passphrase.
    #[expect(missing_docs, reason = "the table of the file names the fields")]
    Passphrase { preamble: Preamble, salt: [u8; SALT], key: [u8; WRAPPED] },
    /// For an X25519 key pair.
    #[expect(missing_docs, reason = "the table of the file names the fields")]
    X25519 { ephemeral: [u8; 32], key: [u8; WRAPPED] },
    /// For a hybrid key pair.
    #[expect(missing_docs, reason = "the table of the file names the fields")]
    Hybrid { encapsulated: Box<[u8; ENCAPSULATED]>, key: [u8; WRAPPED] },
    /// For a key in the service.
    #[expect(missing_docs, reason = "the table of the file names the fields")]
    Service { nonce: [u8; NONCE], key: [u8; WRAPPED] },
}

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key wrapped for {}", self.kind())
    }
}

impl Wrapped {
    pub(super) fn new(features: Features, recipient: &Recipient<'_>, key: &DataKey) -> Result<Self, Error> {
        Ok(match recipient {
            Recipient::Key(secret) => {
                let salt = random()?;
                let wrapping = derive(features, &salt, *secret, b"millstream-wrap-v1 key")?;
                Wrapped::Key { salt, key: seal(features, &wrapping, key)? }
            }
            Recipient::Passphrase(passphrase) => {
                let (preamble, salt) = (Preamble::new()?, random()?);
                let secret = preamble.derive(passphrase)?;
                let wrapping = derive(features, &salt, &*secret, b"millstream-wrap-v1 passphrase")?;
                Wrapped::Passphrase { preamble, salt, key: seal(features, &wrapping, key)? }
            }
            Recipient::X25519(recipient) => {
                let secret: Zeroizing<[u8; 32]> = Zeroizing::new(random()?);
                let own = PrivateKey::new(features, &*secret).map_err(publickey)?;
                let peer = PublicKey::new(*recipient).map_err(publickey)?;
                let shared = own.agree(&peer).map_err(publickey)?;
                let ephemeral = *own.public_key().as_bytes();
                let salt = [ephemeral, **recipient].concat();
                let wrapping = derive(features, &salt, shared.as_bytes(), b"millstream-wrap-v1 x25519")?;
                Wrapped::X25519 { ephemeral, key: seal(features, &wrapping, key)? }
            }
            Recipient::Hybrid(recipient) => {
                let peer = hpke::PublicKey::from(*recipient);
                let setup = Setup::base(HPKE_INFO);
                let sealed = HPKE.seal(&peer, &setup, &[], &**key, &mut System).map_err(publickey)?;
                let (encapsulated, key) = (sealed.0.try_into(), sealed.1.try_into());
                let encapsulated =
                    Box::new(encapsulated.expect("the suite's encapsulated key has this length"));
                Wrapped::Hybrid { encapsulated, key: key.expect("32 bytes and a tag") }
            }
            Recipient::Service(service) => {
                let nonce = random()?;
                let mut sealed = Zeroizing::new(**key);
                let tag = service.wrap(&nonce, &mut sealed)?;
                Wrapped::Service { nonce, key: joined(&sealed, &tag) }
            }
        })
    }

    /// Returns the kind, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Wrapped::Key { .. } => "a key file",
            Wrapped::Passphrase { .. } => "a passphrase",
            Wrapped::X25519 { .. } => "an X25519 key",
            Wrapped::Hybrid { .. } => "an MLKEM768-X25519 key",
            Wrapped::Service { .. } => "a key in the service",
        }
    }

    pub(super) fn is_for(&self, identity: &Identity<'_>) -> bool {
        matches!(
            (self, identity),
            (Wrapped::Key { .. }, Identity::Key(_))
                | (Wrapped::Passphrase { .. }, Identity::Passphrase(_))
                | (Wrapped::X25519 { .. }, Identity::X25519(_))
                | (Wrapped::Hybrid { .. }, Identity::Hybrid(_))
                | (Wrapped::Service { .. }, Identity::Service(_))
        )
    }

    /// Unwraps the key. Returns none when the identity is another one's.
    pub(super) fn open(&self, features: Features, identity: &Identity<'_>) -> Result<Option<DataKey>, Error> {
        match (self, identity) {
            (Wrapped::Key { salt, key }, Identity::Key(secret)) => {
                let wrapping = derive(features, salt, *secret, b"millstream-wrap-v1 key")?;
                open(features, &wrapping, key)
            }
            (Wrapped::Passphrase { preamble, salt, key }, Identity::Passphrase(passphrase)) => {
                let secret = preamble.derive(passphrase)?;
                let wrapping = derive(features, salt, &*secret, b"millstream-wrap-v1 passphrase")?;
                open(features, &wrapping, key)
            }
            (Wrapped::X25519 { ephemeral, key }, Identity::X25519(secret)) => {
                let own = PrivateKey::new(features, *secret).map_err(publickey)?;
                let peer = PublicKey::new(ephemeral).map_err(publickey)?;
                let Ok(shared) = own.agree(&peer) else { return Ok(None) };
                let salt = [*ephemeral, *own.public_key().as_bytes()].concat();
                let wrapping = derive(features, &salt, shared.as_bytes(), b"millstream-wrap-v1 x25519")?;
                open(features, &wrapping, key)
            }
            (Wrapped::Hybrid { encapsulated, key }, Identity::Hybrid(seed)) => {
                let own = hpke::PrivateKey::new(features, HPKE.kem, *seed).map_err(publickey)?;
                match HPKE.open(&**encapsulated, &own, &Setup::base(HPKE_INFO), &[], key) {
                    Ok(opened) => {
                        let mut key = DataKey::default();
                        key.copy_from_slice(&opened);
                        Ok(Some(key))
                    }
                    // If the share is no point for this key, the data key was wrapped for another one.
                    Err(PairError::Authentication | PairError::Point { .. }) => Ok(None),
                    Err(error) => Err(publickey(error)),
                }
            }
            (Wrapped::Service { nonce, key }, Identity::Service(service)) => {
                let (sealed, tag) = parted(key);
                let mut opened = DataKey::new(sealed);
                Ok(service.unwrap(nonce, &mut opened, &tag)?.then_some(opened))
            }
            _ => Ok(None),
        }
    }

    /// Encodes the wrapped key with its kind and length.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, parts): (u8, [&[u8]; 3]) = match self {
            Wrapped::Key { salt, key } => (1, [&[], salt, key]),
            Wrapped::Passphrase { preamble, salt, key } => (2, [&preamble.to_bytes(), salt, key]),
            Wrapped::X25519 { ephemeral, key } => (3, [&[], ephemeral, key]),
            Wrapped::Service { nonce, key } => (4, [&[], nonce, key]),
            Wrapped::Hybrid { encapsulated, key } => (5, [&[], &**encapsulated, key]),
        };
        let body = parts.concat();
        [&[kind], &(body.len() as u16).to_be_bytes()[..], &body].concat()
    }

    /// Reads wrapped keys one behind the other.
    pub(super) fn all(mut bytes: &[u8]) -> Result<Vec<Self>, Error> {
        let mut keys = Vec::new();
        while let Some((&[kind, high, low], rest)) = bytes.split_first_chunk() {
            let len = usize::from(u16::from_be_bytes([high, low]));
            let (body, rest) = rest.split_at_checked(len).ok_or_else(cut_off)?;
            keys.push(Wrapped::from_body(kind, body)?);
            bytes = rest;
        }
        if bytes.is_empty() { Ok(keys) } else { Err(cut_off()) }
    }

    fn from_body(kind: u8, body: &[u8]) -> Result<Self, Error> {
        let mut rest = body;
        let wrapped = match kind {
            1 => Wrapped::Key { salt: take(&mut rest)?, key: take(&mut rest)? },
            2 => {
                let preamble = Preamble::from_bytes(&take::<{ passphrase::LEN }>(&mut rest)?)?;
                Wrapped::Passphrase { preamble, salt: take(&mut rest)?, key: take(&mut rest)? }
            }
            3 => Wrapped::X25519 { ephemeral: take(&mut rest)?, key: take(&mut rest)? },
            4 => Wrapped::Service { nonce: take(&mut rest)?, key: take(&mut rest)? },
            5 => Wrapped::Hybrid { encapsulated: Box::new(take(&mut rest)?), key: take(&mut rest)? },
            kind => return Err(not(format!("a key is wrapped in the way {kind}, which is not known here"))),
        };
        if rest.is_empty() { Ok(wrapped) } else { Err(cut_off()) }
    }
}

fn cut_off() -> Error {
    not("its wrapped keys have other lengths than their kinds")
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Error> {
    let (taken, rest) = bytes.split_first_chunk().ok_or_else(cut_off)?;
    *bytes = rest;
    Ok(*taken)
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

fn derive(features: Features, salt: &[u8], ikm: &[u8], info: &[u8]) -> Result<DataKey, Error> {
    let mut key = DataKey::default();
    hkdf::derive(features, Hash::Sha256, salt, ikm, info, &mut *key)?;
    Ok(key)
}

fn seal(features: Features, wrapping: &DataKey, key: &DataKey) -> Result<[u8; WRAPPED], Error> {
    let (mut sealed, mut tag) = (Zeroizing::new(**key), [0; TAG]);
    Gcm::new(features, &**wrapping)?.seal(&[0; NONCE], &[], InOut::in_place(&mut *sealed), &mut tag)?;
    Ok(joined(&sealed, &tag))
}

fn open(features: Features, wrapping: &DataKey, wrapped: &[u8; WRAPPED]) -> Result<Option<DataKey>, Error> {
    let (sealed, tag) = parted(wrapped);
    let mut key = DataKey::new(sealed);
    match Gcm::new(features, &**wrapping)?.open(&[0; NONCE], &[], InOut::in_place(&mut *key), &tag) {
        Ok(()) => Ok(Some(key)),
        Err(EngineError::Authentication) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

fn joined(sealed: &[u8; 32], tag: &[u8; TAG]) -> [u8; WRAPPED] {
    let mut wrapped = [0; WRAPPED];
    wrapped[..32].copy_from_slice(sealed);
    wrapped[32..].copy_from_slice(tag);
    wrapped
}

fn parted(wrapped: &[u8; WRAPPED]) -> ([u8; 32], [u8; TAG]) {
    let (sealed, tag) = wrapped.split_first_chunk().expect("48 bytes begin with 32");
    (*sealed, *tag.first_chunk().expect("the tag has 16"))
}

fn publickey(error: PairError) -> Error {
    Error::Key(error.to_string())
}

/// The system's source of random bytes.
struct System;

impl Random for System {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), PairError> {
        getrandom::fill(bytes).map_err(|_| PairError::Random)
    }
}
