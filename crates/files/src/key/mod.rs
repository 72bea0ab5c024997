//! Keys in files: PKCS#8, SEC 1, PKCS#1 and `SubjectPublicKeyInfo` in DER or PEM, JSON Web Keys, keysets of Tink, and bytes alone.

pub(crate) mod asn1;
mod jwk;
mod kind;
pub(crate) mod pem;
mod post_quantum;
mod tink;

use std::fmt;

use millstream_cpu::Features;
use millstream_publickey::weierstrass;
use millstream_publickey::{self as publickey, ed25519, rsa, slhdsa, x25519};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::keyset;

pub use kind::Kind;

/// The bytes of a key. Zeroised on drop.
pub type Secret = Zeroizing<Vec<u8>>;

/// A secret or private key that was found valid.
#[derive(Clone)]
pub struct Key {
    kind: Kind,
    secret: Secret,
}

/// A public key that was found valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    kind: Kind,
    /// A point as SEC 1 has it, uncompressed; 32 bytes; an `RSAPublicKey` in DER; or the encoding of ML-KEM, ML-DSA or SLH-DSA.
    bytes: Vec<u8>,
}

/// The form of a key in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// PKCS#8, or `SubjectPublicKeyInfo` for a public key, in PEM.
    Pem,
    /// The same in DER.
    Der,
    /// SEC 1 or PKCS#1 in PEM, as `openssl rsa -traditional` writes it.
    Traditional,
    /// A JSON Web Key.
    Jwk,
    /// A cleartext keyset of Tink in JSON.
    Tink,
    /// The bytes of a secret key, and nothing else.
    Raw,
}

/// The contents of a key file.
#[derive(Clone, Debug)]
pub enum Found {
    /// A secret or private key.
    Key(Key),
    /// A public key.
    Public(PublicKey),
}

/// Reads a key in whichever form it has. Bytes that have none are a key of the kind `raw`.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_files::key::{self, Form, Found, Key, Kind};
///
/// let features = Features::hardware();
/// let key = Key::generate(features, Kind::P256, None)?;
/// let text = key.write(features, Form::Pem)?;
/// let Found::Key(read) = key::read(features, &text, None)? else { panic!() };
/// assert_eq!(read.public(features)?, key.public(features)?);
/// # Ok::<(), millstream_files::Error>(())
/// ```
///
/// # Errors
/// [`Error::Key`], with the reason.
pub fn read(features: Features, bytes: &[u8], raw: Option<Kind>) -> Result<Found, Error> {
    let text = bytes.trim_ascii_start();
    if let Some(kind) = raw {
        return Key::new(features, kind, bytes).map(Found::Key);
    }
    if text.starts_with(b"-----BEGIN ") || contains_pem(text) {
        return pem::read(features, text);
    }
    if keyset::is_keyset(bytes) {
        return if tink::is_keyset(text) {
            tink::read(features, text).map(Found::Key)
        } else {
            jwk::read(features, text)
        };
    }
    if bytes.starts_with(&[0x30]) && bytes.len() > 40 {
        return asn1::read(features, bytes);
    }
    Err(bad("no known form of a key; say what its bytes are with --raw KIND, as in --raw aes"))
}

/// Returns true for a file in which a key in PEM follows other text, as OpenSSL writes parameters in front of a key.
fn contains_pem(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(|text| text.contains("\n-----BEGIN "))
}

impl Key {
    /// Takes the bytes of a key: those of a secret key; a scalar of a curve in big-endian order, or the seed of Ed25519; an
    /// `RSAPrivateKey` in DER; the seed or the expanded key of ML-KEM (FIPS 203 §7.1) or ML-DSA (FIPS 204 §7.2); or the private key of SLH-DSA (FIPS
    /// 205 §9.1) or its three seeds, which become that key.
    ///
    /// # Errors
    /// [`Error::Key`] when they are no key of that kind.
    pub fn new(features: Features, kind: Kind, secret: &[u8]) -> Result<Self, Error> {
        let length = |fits: bool, takes: &str| match fits {
            true => Ok(()),
            false => Err(bad(format!("a key of {} bytes; {kind} takes {takes}", secret.len()))),
        };
        match kind {
            Kind::Aes => length([16, 24, 32].contains(&secret.len()), "16, 24 or 32")?,
            Kind::AesSiv => length([32, 48, 64].contains(&secret.len()), "32, 48 or 64")?,
            Kind::Hmac => length((16..=1024).contains(&secret.len()), "16 to 1024")?,
            Kind::Fernet | Kind::ChaCha20Poly1305 => length(secret.len() == 32, "32")?,
            Kind::Ed25519 | Kind::X25519 => length(secret.len() == 32, "32")?,
            Kind::P256 | Kind::P384 | Kind::P521 => {
                let curve = kind.curve().expect("these kinds have a curve");
                weierstrass::PrivateKey::new(features, curve, secret).map(|_| ()).map_err(publickey_error)?;
            }
            Kind::Rsa => rsa_key(features, secret).map(|_| ())?,
            Kind::MlKem512
            | Kind::MlKem768
            | Kind::MlKem1024
            | Kind::MlDsa44
            | Kind::MlDsa65
            | Kind::MlDsa87
            | Kind::SlhDsa(_) => {
                let set = post_quantum::set_of(kind).expect("these kinds have a parameter set");
                return Ok(Key { kind, secret: set.kept(features, secret)? });
            }
        }
        Ok(Key { kind, secret: Zeroizing::new(secret.to_vec()) })
    }

    /// Takes the scalar of a curve of NIST in big-endian order. Some writers leave its leading zeros out, and others add to them.
    ///
    /// # Errors
    /// As [`Key::new`].
    pub(crate) fn from_scalar(features: Features, kind: Kind, given: &[u8]) -> Result<Self, Error> {
        let bytes = kind.curve().ok_or_else(|| bad(format!("{kind} has no scalars")))?.bytes();
        let (zeros, rest) = given.split_at(given.len().saturating_sub(bytes));
        if zeros.iter().any(|zero| *zero != 0) {
            return Err(bad(format!("a key of {} bytes; {kind} takes {bytes}", given.len())));
        }
        let mut scalar = Zeroizing::new(vec![0; bytes]);
        scalar[bytes - rest.len()..].copy_from_slice(rest);
        Key::new(features, kind, &scalar)
    }

    /// Takes the numbers of an RSA key.
    ///
    /// # Errors
    /// [`Error::Key`] when they do not fit each other.
    pub(crate) fn from_rsa(features: Features, numbers: &rsa::Components<'_>) -> Result<Self, Error> {
        let mut secret = Zeroizing::new(vec![0; rsa::MAX_PRIVATE_DER]);
        let key = rsa::PrivateKey::new(features, numbers).map_err(publickey_error)?;
        let len = key.to_pkcs1(&mut secret).map_err(publickey_error)?;
        secret.truncate(len);
        Ok(Key { kind: Kind::Rsa, secret })
    }

    /// Makes a new key: `bits` long where the kind has several lengths, else of the usual one.
    ///
    /// # Errors
    /// [`Error::Key`] for another length than the kind has; [`Error::Random`].
    pub fn generate(features: Features, kind: Kind, bits: Option<usize>) -> Result<Self, Error> {
        let (lengths, usual): (&[usize], usize) = match kind {
            Kind::Aes => (&[128, 192, 256], 256),
            Kind::AesSiv => (&[256, 384, 512], 512),
            Kind::Hmac => (&[], 256),
            Kind::Fernet | Kind::ChaCha20Poly1305 | Kind::P256 | Kind::Ed25519 | Kind::X25519 => {
                (&[256], 256)
            }
            Kind::P384 => (&[384], 384),
            Kind::P521 => (&[521], 521),
            Kind::Rsa => (&[2048, 3072, 4096], 3072),
            Kind::MlKem512 | Kind::MlKem768 | Kind::MlKem1024 => (&[512], 512),
            Kind::MlDsa44 | Kind::MlDsa65 | Kind::MlDsa87 => (&[256], 256),
            Kind::SlhDsa(set) => match set.node_len() {
                16 => (&[512], 512),
                24 => (&[768], 768),
                _ => (&[1024], 1024),
            },
        };
        let bits = bits.unwrap_or(usual);
        let is_hmac = kind == Kind::Hmac && (128..=8192).contains(&bits) && bits.is_multiple_of(8);
        if !lengths.contains(&bits) && !is_hmac {
            let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
            let takes =
                if kind == Kind::Hmac { "128 to 8192 in whole bytes".into() } else { lengths.join(" or ") };
            return Err(bad(format!("{kind} of {bits} bits; it takes {takes}")));
        }
        let secret = match kind {
            Kind::SlhDsa(set) => {
                let key = slhdsa::PrivateKey::generate(features, set, &mut System);
                key.map_err(publickey_error)?.to_bytes()
            }
            Kind::Rsa => {
                let key = rsa::PrivateKey::generate(features, bits, 65_537, &mut System);
                let mut der = Zeroizing::new(vec![0; rsa::MAX_PRIVATE_DER]);
                let len = key.and_then(|key| key.to_pkcs1(&mut der)).map_err(publickey_error)?;
                der.truncate(len);
                der
            }
            _ => match kind.curve() {
                Some(curve) => {
                    let key = weierstrass::PrivateKey::generate(features, curve, &mut System);
                    let mut scalar = Zeroizing::new(vec![0; curve.bytes()]);
                    key.and_then(|key| key.write(&mut scalar)).map_err(publickey_error)?;
                    scalar
                }
                None => {
                    let mut secret = Zeroizing::new(vec![0; bits / 8]);
                    getrandom::fill(&mut secret)?;
                    secret
                }
            },
        };
        Ok(Key { kind, secret })
    }

    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the bytes, as [`Key::new`] takes them.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Returns the length of the key in bits: that of the modulus or of the curve's order, where there is one, that of the seed of ML-KEM and ML-DSA, and that
    /// of the private key of SLH-DSA.
    ///
    /// # Errors
    /// [`Error::Key`] for a key of RSA that is none, which can't be.
    pub fn bits(&self, features: Features) -> Result<usize, Error> {
        match (self.kind, self.kind.curve()) {
            (Kind::Rsa, _) => Ok(rsa_key(features, &self.secret)?.public_key().bits()),
            (_, Some(curve)) => Ok(curve.bits()),
            (kind, None) => Ok(post_quantum::set_of(kind).map_or(8 * self.secret.len(), |set| set.bits())),
        }
    }

    /// Computes the public key.
    ///
    /// # Errors
    /// [`Error::Key`] when keys of this kind have none.
    pub fn public(&self, features: Features) -> Result<PublicKey, Error> {
        let bytes = match (self.kind, self.kind.curve()) {
            (Kind::Rsa, _) => {
                let mut der = vec![0; rsa::MAX_PUBLIC_DER];
                let key = rsa_key(features, &self.secret)?;
                let len = key.public_key().to_pkcs1(&mut der).map_err(publickey_error)?;
                der.truncate(len);
                der
            }
            (_, Some(curve)) => {
                let key = weierstrass::PrivateKey::new(features, curve, &self.secret);
                key.map_err(publickey_error)?.public().to_bytes().to_vec()
            }
            (Kind::Ed25519, _) => {
                let key = ed25519::PrivateKey::new(features, &self.secret).map_err(publickey_error)?;
                key.public_bytes().to_vec()
            }
            (Kind::X25519, _) => {
                let key = x25519::PrivateKey::new(features, &self.secret).map_err(publickey_error)?;
                key.public_key().as_bytes().to_vec()
            }
            (kind, _) => match post_quantum::set_of(kind) {
                Some(set) => set.public(features, &self.secret)?,
                None => return Err(bad(format!("{kind} has no public keys: the same key does both"))),
            },
        };
        Ok(PublicKey { kind: self.kind, bytes })
    }

    /// Writes the key in a form.
    ///
    /// # Errors
    /// [`Error::Key`] when the form has no such keys.
    pub fn write(&self, features: Features, form: Form) -> Result<Secret, Error> {
        match form {
            Form::Pem => Ok(pem::write("PRIVATE KEY", &asn1::pkcs8(features, self)?)),
            Form::Der => asn1::pkcs8(features, self),
            Form::Traditional => match self.kind {
                Kind::Rsa => Ok(pem::write("RSA PRIVATE KEY", &self.secret)),
                _ => Ok(pem::write("EC PRIVATE KEY", &asn1::sec1(features, self, true)?)),
            },
            Form::Jwk => jwk::write(features, self),
            Form::Tink => tink::write(features, self),
            Form::Raw if !self.kind.is_pair() || self.kind.curve().is_none() && self.kind != Kind::Rsa => {
                Ok(self.secret.clone())
            }
            Form::Raw => Err(bad(format!("{} has no raw form; write PEM", self.kind))),
        }
    }
}

impl PublicKey {
    /// Takes the bytes of a public key: a point as SEC 1 has it, 32 bytes of Ed25519 or X25519, an `RSAPublicKey` in DER, or the encoding of ML-KEM,
    /// ML-DSA or SLH-DSA.
    ///
    /// # Errors
    /// [`Error::Key`] when they are no public key of that kind.
    pub fn new(features: Features, kind: Kind, bytes: &[u8]) -> Result<Self, Error> {
        let bytes = match (kind, kind.curve()) {
            (Kind::Rsa, _) => {
                rsa::PublicKey::from_pkcs1(features, bytes).map_err(publickey_error)?;
                bytes.to_vec()
            }
            (_, Some(curve)) => {
                let point = weierstrass::PublicKey::new(features, curve, bytes).map_err(publickey_error)?;
                point.to_bytes().to_vec()
            }
            (Kind::Ed25519 | Kind::X25519, _) if bytes.len() == 32 => bytes.to_vec(),
            _ => match post_quantum::set_of(kind) {
                Some(set) => set.check_public(features, bytes).map(|()| bytes.to_vec())?,
                None => return Err(bad(format!("no public key of {kind}"))),
            },
        };
        Ok(PublicKey { kind, bytes })
    }

    /// Takes the modulus and the exponent of an RSA key.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub(crate) fn from_rsa(features: Features, modulus: &[u8], exponent: &[u8]) -> Result<Self, Error> {
        let mut bytes = vec![0; rsa::MAX_PUBLIC_DER];
        let key = rsa::PublicKey::new(features, modulus, exponent).map_err(publickey_error)?;
        let len = key.to_pkcs1(&mut bytes).map_err(publickey_error)?;
        bytes.truncate(len);
        Ok(PublicKey { kind: Kind::Rsa, bytes })
    }

    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the bytes, as [`PublicKey::new`] takes them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads a `SubjectPublicKeyInfo` in DER.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn from_spki(features: Features, der: &[u8]) -> Result<Self, Error> {
        asn1::read_spki(features, der)
    }

    /// Writes the key in a form: as `SubjectPublicKeyInfo` in PEM or DER, as a JSON Web Key, or the bytes of Ed25519, X25519, ML-KEM,
    /// ML-DSA and SLH-DSA alone.
    ///
    /// # Errors
    /// [`Error::Key`] when the form has no such keys.
    pub fn write(&self, form: Form) -> Result<Vec<u8>, Error> {
        match (form, self.kind) {
            (Form::Pem, _) => Ok(pem::write("PUBLIC KEY", &asn1::spki(self)?).to_vec()),
            (Form::Der, _) => asn1::spki(self),
            (Form::Jwk, _) => jwk::write_public(self),
            (Form::Traditional, Kind::Rsa) => Ok(pem::write("RSA PUBLIC KEY", &self.bytes).to_vec()),
            (Form::Raw, Kind::Ed25519 | Kind::X25519) => Ok(self.bytes.clone()),
            (Form::Raw, kind) if post_quantum::set_of(kind).is_some() => Ok(self.bytes.clone()),
            (form, kind) => Err(bad(format!("the form {form:?} has no public keys of {kind}; write PEM"))),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key of {}", self.kind)
    }
}

/// The system's generator.
struct System;

impl publickey::Random for System {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), publickey::Error> {
        getrandom::fill(bytes).map_err(|_| publickey::Error::Random)
    }
}

fn rsa_key(features: Features, der: &[u8]) -> Result<rsa::PrivateKey, Error> {
    rsa::PrivateKey::from_pkcs1(features, der).map_err(publickey_error)
}

fn bad(why: impl Into<String>) -> Error {
    Error::Key(why.into())
}

fn publickey_error(error: publickey::Error) -> Error {
    bad(error.to_string())
}
