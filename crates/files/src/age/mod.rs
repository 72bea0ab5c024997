//! The files of age, version 1, to decrypt: with identities of X25519 and of its hybrid with ML-KEM-768, and with passphrases.
//!
//! A textual header holds the file key, wrapped for each recipient, and ends with a MAC. A nonce of 16 bytes follows, and then chunks of
//! 64 KiB under ChaCha20-Poly1305. The nonce of a chunk is its number, and 1 at the end for the last one, so no chunk can be changed,
//! moved, dropped or added.
//!
//! Ref. age-encryption.org/v1 (c2sp.org/age); RFC 7914 (scrypt); RFC 9180 (HPKE).

mod armour;
mod bech32;
mod header;
mod keys;

use std::io::Read;
use std::sync::Arc;

use millstream_cpu::Features;
use millstream_engines::aead::{Aead, TAG};
use millstream_engines::chacha20poly1305::ChaCha20Poly1305;
use millstream_engines::hash::Hash;
use millstream_engines::hmac::HmacKey;
use millstream_engines::{Error as EngineError, InOut, hkdf};
use millstream_publickey::hpke::{self, Kdf, Kem, Setup, Suite};
use millstream_publickey::hybrid::Hybrid;
use millstream_publickey::x25519::{PrivateKey, PublicKey};
use zeroize::Zeroizing;

pub use self::armour::{dearmour, is_armoured};
use self::header::{Header, Stanza, decoded, not};
pub use self::keys::{Identity, Recipient, identities, is_identity_file, is_recipients_file, recipients};
use crate::error::Error;
use crate::job::{Job, Pieces, read_header};
use crate::pipeline::{Cut, Worker};

/// The bytes of plaintext in every chunk but the last.
const CHUNK: usize = 64 << 10;
const KEY: usize = 16;
const NONCE: usize = 16;
/// The highest cost of a passphrase: 2^20 rounds take 1 GiB and some seconds. age itself writes 2^18.
const MOST_LOG_N: u8 = 20;

/// Returns true for the first bytes of a file of age.
pub fn is_age(head: &[u8]) -> bool {
    head.starts_with(b"age-encryption.o") || is_armoured(head)
}

/// The secrets that may open a file.
#[derive(Clone, Copy)]
pub enum Secrets<'a> {
    /// Private keys.
    Identities(&'a [Identity]),
    /// A passphrase.
    Passphrase(&'a [u8]),
}

/// Returns true when the file whose first bytes these are takes a passphrase.
pub fn takes_passphrase(head: &[u8]) -> bool {
    head.starts_with(b"age-encryption.org/v1\n-> scrypt ")
}

/// Begins to decrypt a file that is not armoured, and takes its header from `reader`.
///
/// # Errors
/// [`Error::NotThisFormat`], [`Error::Truncated`], [`Error::Limit`]; [`Error::NoKey`] when no secret opens the file;
/// [`Error::Committed`] when its header was changed.
pub fn open(features: Features, reader: &mut impl Read, secrets: Secrets<'_>) -> Result<Job, Error> {
    let header = Header::read(reader)?;
    let key = file_key(features, &header, secrets)?;
    let mut mac_key = Zeroizing::new([0; 32]);
    hkdf::derive(features, Hash::Sha256, &[], &*key, b"header", &mut *mac_key)?;
    HmacKey::new(features, Hash::Sha256, &*mac_key)
        .verify(&header.authenticated, &header.mac)
        .map_err(|_| Error::Committed)?;
    let mut nonce = [0; NONCE];
    read_header(reader, &mut nonce)?;
    let mut payload = Zeroizing::new([0; 32]);
    hkdf::derive(features, Hash::Sha256, &nonce, &*key, b"payload", &mut *payload)?;
    let cipher = Arc::new(ChaCha20Poly1305::new(features, &*payload)?);
    let worker = move || -> Worker {
        let cipher = Arc::clone(&cipher);
        Box::new(move |piece| open_chunk(&cipher, piece.index, piece.last, &mut piece.bytes))
    };
    let cut = |rest| Cut { first: rest, rest, growth: 0 };
    let pieces = Pieces::Independent { output: cut(CHUNK), worker: Box::new(worker) };
    Ok(Job { header: Vec::new(), cut: cut(CHUNK + TAG), pieces })
}

fn open_chunk(cipher: &ChaCha20Poly1305, segment: u64, last: bool, bytes: &mut Vec<u8>) -> Result<(), Error> {
    let Some((data, tag)) = bytes.split_last_chunk_mut::<TAG>() else {
        return Err(Error::Tampered { segment });
    };
    let len = data.len();
    if len == 0 && segment > 0 {
        // The last chunk is empty only if the file is.
        return Err(Error::Tampered { segment });
    }
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&segment.to_be_bytes());
    nonce[11] = u8::from(last);
    cipher.open(&nonce, &[], InOut::in_place(data), tag).map_err(|error| match error {
        EngineError::Authentication => Error::Tampered { segment },
        other => other.into(),
    })?;
    bytes.truncate(len);
    Ok(())
}

fn file_key(
    features: Features,
    header: &Header,
    secrets: Secrets<'_>,
) -> Result<Zeroizing<[u8; KEY]>, Error> {
    let scrypt = header.stanzas.iter().any(|stanza| stanza.kind() == "scrypt");
    if scrypt && header.stanzas.len() > 1 {
        return Err(not("a passphrase beside other recipients"));
    }
    let refused = |fitting| {
        let kinds = if scrypt { "a passphrase" } else { "identities of age" };
        Err(Error::NoKey { kinds: kinds.into(), fitting })
    };
    match secrets {
        Secrets::Passphrase(passphrase) if scrypt => {
            match unwrap_scrypt(features, &header.stanzas[0], passphrase)? {
                Some(key) => Ok(key),
                None => refused(true),
            }
        }
        Secrets::Identities(identities) if !scrypt => {
            for stanza in &header.stanzas {
                for identity in identities {
                    let key = match (stanza.kind(), identity) {
                        ("X25519", Identity::X25519(key)) => unwrap_x25519(features, stanza, key)?,
                        (HYBRID, Identity::Hybrid(seed)) => unwrap_hybrid(features, stanza, seed)?,
                        _ => None,
                    };
                    if let Some(key) = key {
                        return Ok(key);
                    }
                }
            }
            refused(true)
        }
        _ => refused(false),
    }
}

fn unwrap_x25519(
    features: Features,
    stanza: &Stanza,
    key: &[u8; 32],
) -> Result<Option<Zeroizing<[u8; KEY]>>, Error> {
    let [_, share] = &stanza.arguments[..] else { return Err(not("an X25519 recipient without its share")) };
    let share: [u8; 32] = decoded(share)?;
    let failed = |error: millstream_publickey::Error| Error::Key(error.to_string());
    let own = PrivateKey::new(features, key).map_err(failed)?;
    let shared = own.agree(&PublicKey::new(&share).map_err(failed)?).map_err(failed)?;
    let salt = [share, *own.public_key().as_bytes()].concat();
    let mut wrapping = Zeroizing::new([0; 32]);
    hkdf::derive(
        features,
        Hash::Sha256,
        &salt,
        shared.as_bytes(),
        b"age-encryption.org/v1/X25519",
        &mut *wrapping,
    )?;
    unwrap(features, &wrapping, stanza)
}

/// The kind of stanzas for hybrid keys.
const HYBRID: &str = "mlkem768x25519";

fn unwrap_hybrid(
    features: Features,
    stanza: &Stanza,
    seed: &[u8; 32],
) -> Result<Option<Zeroizing<[u8; KEY]>>, Error> {
    let [_, encapsulated] = &stanza.arguments[..] else {
        return Err(not("a hybrid recipient without its encapsulated key"));
    };
    let encapsulated: [u8; Hybrid::MlKem768X25519.ciphertext_len()] = decoded(encapsulated)?;
    let body = wrapped(stanza)?;
    let failed = |error: millstream_publickey::Error| Error::Key(error.to_string());
    let key = hpke::PrivateKey::new(features, HPKE.kem, seed).map_err(failed)?;
    let setup = Setup::base(b"age-encryption.org/mlkem768x25519");
    match HPKE.open(&encapsulated, &key, &setup, &[], body) {
        Ok(opened) => {
            let mut key = Zeroizing::new([0; KEY]);
            key.copy_from_slice(&opened);
            Ok(Some(key))
        }
        // A share that is no point for this key belongs to a stanza for another one.
        Err(millstream_publickey::Error::Authentication | millstream_publickey::Error::Point { .. }) => {
            Ok(None)
        }
        Err(error) => Err(failed(error)),
    }
}

/// The suite of stanzas for hybrid keys.
const HPKE: Suite =
    Suite::new(Kem::Hybrid(Hybrid::MlKem768X25519), Kdf::HkdfSha256, hpke::Aead::ChaCha20Poly1305);

fn unwrap_scrypt(
    features: Features,
    stanza: &Stanza,
    passphrase: &[u8],
) -> Result<Option<Zeroizing<[u8; KEY]>>, Error> {
    let [_, salt, work] = &stanza.arguments[..] else {
        return Err(not("a passphrase without its work factor"));
    };
    let salt: [u8; 16] = decoded(salt)?;
    let digits = !work.starts_with('0') && work.bytes().all(|byte| byte.is_ascii_digit());
    let log_n: u8 = match work.parse() {
        Ok(log_n) if digits => log_n,
        _ => return Err(not("its work factor is no number")),
    };
    if log_n > MOST_LOG_N {
        let (given, most) = (log_n.into(), MOST_LOG_N.into());
        return Err(Error::Limit { what: "as the logarithm of its work factor", given, most });
    }
    let parameters =
        scrypt::Params::new(log_n, 8, 1).map_err(|_| not("a work factor that scrypt does not take"))?;
    let salt = [&b"age-encryption.org/v1/scrypt"[..], &salt].concat();
    let mut wrapping = Zeroizing::new([0; 32]);
    scrypt::scrypt(passphrase, &salt, &parameters, &mut *wrapping).expect("32 bytes are allowed");
    unwrap(features, &wrapping, stanza)
}

/// Returns the body of a stanza, which must have the one length that a wrapped file key has.
fn wrapped(stanza: &Stanza) -> Result<&[u8; KEY + TAG], Error> {
    stanza.body[..].try_into().map_err(|_| not("a wrapped key of another length than 32 bytes"))
}

/// Opens the body of a stanza.
fn unwrap(
    features: Features,
    wrapping: &Zeroizing<[u8; 32]>,
    stanza: &Stanza,
) -> Result<Option<Zeroizing<[u8; KEY]>>, Error> {
    let body = wrapped(stanza)?;
    let mut key = Zeroizing::new([0; KEY]);
    key.copy_from_slice(&body[..KEY]);
    let tag = body.last_chunk().expect("the tag is behind the key");
    match ChaCha20Poly1305::new(features, &**wrapping)?.open(&[0; 12], &[], InOut::in_place(&mut *key), tag) {
        Ok(()) => Ok(Some(key)),
        Err(EngineError::Authentication) => Ok(None),
        Err(other) => Err(other.into()),
    }
}
