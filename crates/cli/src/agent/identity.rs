//! A key that the agent signs with.

use std::fmt;

use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream::isolated::{ServiceKeyError, TokenKey};
use millstream::publickey::ecdsa::Message;
use millstream::publickey::weierstrass::{self, Curve};
use millstream::publickey::{self, ed25519, rsa};
use millstream::{SignatureScheme, SystemRandom};
use millstream_cpu::Features;
use millstream_files::key::{Key, Kind};

use super::wire::{put_mpint, put_string};

/// The flag that asks for RSA with SHA-256, and that for SHA-512 (RFC 8332).
const RSA_SHA2_256: u32 = 2;
const RSA_SHA2_512: u32 = 4;

/// A key, and what clients know of it.
pub struct Identity {
    /// The public key as SSH has it.
    pub blob: Vec<u8>,
    /// The label of the key, which clients show.
    pub comment: String,
    kind: Signing,
    signer: Signer,
}

/// The kinds of keys that sign for SSH.
#[derive(Clone, Copy)]
enum Signing {
    Rsa,
    Curve(Curve),
    Ed25519,
}

enum Signer {
    Rsa(Box<rsa::PrivateKey>),
    Curve(weierstrass::PrivateKey),
    Ed25519(Box<ed25519::PrivateKey>),
    Service(Box<TokenKey>),
}

/// The reason why a key is none, or did not sign.
#[derive(Debug)]
pub enum Failure {
    /// The engines refused it.
    Engine(publickey::Error),
    /// The service refused it.
    Service(ServiceKeyError),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Engine(error) => error.fmt(f),
            Failure::Service(error) => error.fmt(f),
        }
    }
}

impl From<publickey::Error> for Failure {
    fn from(error: publickey::Error) -> Self {
        Failure::Engine(error)
    }
}

impl From<ServiceKeyError> for Failure {
    fn from(error: ServiceKeyError) -> Self {
        Failure::Service(error)
    }
}

/// Returns the names of a curve in SSH: that of keys and signatures, and its own.
fn names(curve: Curve) -> (&'static str, &'static str) {
    match curve {
        Curve::P256 => ("ecdsa-sha2-nistp256", "nistp256"),
        Curve::P384 => ("ecdsa-sha2-nistp384", "nistp384"),
        Curve::P521 => ("ecdsa-sha2-nistp521", "nistp521"),
    }
}

/// Returns the hash that SSH signs with on a curve (RFC 5656 §6.2.1).
fn hash(curve: Curve) -> Hash {
    match curve {
        Curve::P256 => Hash::Sha256,
        Curve::P384 => Hash::Sha384,
        Curve::P521 => Hash::Sha512,
    }
}

/// Returns the algorithm of keys of this kind; none where they don't sign for SSH.
pub fn algorithm(kind: Kind) -> Option<Algorithm> {
    Signing::of(kind).map(|signing| match signing {
        Signing::Rsa => Algorithm::Rsa,
        Signing::Curve(Curve::P256) => Algorithm::P256,
        Signing::Curve(Curve::P384) => Algorithm::P384,
        Signing::Curve(Curve::P521) => Algorithm::P521,
        Signing::Ed25519 => Algorithm::Ed25519,
    })
}

impl Signing {
    fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Rsa => Some(Signing::Rsa),
            Kind::P256 => Some(Signing::Curve(Curve::P256)),
            Kind::P384 => Some(Signing::Curve(Curve::P384)),
            Kind::P521 => Some(Signing::Curve(Curve::P521)),
            Kind::Ed25519 => Some(Signing::Ed25519),
            Kind::X25519
            | Kind::Aes
            | Kind::AesSiv
            | Kind::Fernet
            | Kind::Hmac
            | Kind::ChaCha20Poly1305
            | Kind::MlKem512
            | Kind::MlKem768
            | Kind::MlKem1024
            | Kind::MlDsa44
            | Kind::MlDsa65
            | Kind::MlDsa87
            | Kind::SlhDsa(_) => None,
        }
    }
}

impl Identity {
    /// Takes a key; none if it is of a kind that SSH does not sign with.
    ///
    /// # Errors
    /// The key is not one of its kind.
    pub fn new(features: Features, comment: &str, key: &Key) -> Result<Option<Self>, Failure> {
        let Some(kind) = Signing::of(key.kind()) else { return Ok(None) };
        let (signer, blob) = match kind {
            Signing::Rsa => {
                let key = rsa::PrivateKey::from_pkcs1(features, key.secret())?;
                let blob = rsa_blob(key.public_key())?;
                (Signer::Rsa(Box::new(key)), blob)
            }
            Signing::Curve(curve) => {
                let key = weierstrass::PrivateKey::new(features, curve, key.secret())?;
                let blob = curve_blob(curve, &key.public().to_bytes());
                (Signer::Curve(key), blob)
            }
            Signing::Ed25519 => {
                let key = ed25519::PrivateKey::new(features, key.secret())?;
                let blob = ed25519_blob(key.public_bytes());
                (Signer::Ed25519(Box::new(key)), blob)
            }
        };
        Ok(Some(Identity { blob, comment: comment.to_owned(), kind, signer }))
    }

    /// Takes a key of a token in the service; none if it is of a kind that SSH does not sign with.
    ///
    /// # Errors
    /// The service does not tell its public key.
    pub fn in_service(
        features: Features,
        comment: &str,
        kind: Kind,
        key: TokenKey,
    ) -> Result<Option<Self>, Failure> {
        let Some(kind) = Signing::of(kind) else { return Ok(None) };
        let public = key.with(|key| key.public_key())?;
        let blob = match kind {
            Signing::Rsa => rsa_blob(&rsa::PublicKey::from_pkcs1(features, &public)?)?,
            Signing::Curve(curve) => curve_blob(curve, &public),
            Signing::Ed25519 => ed25519_blob(&public),
        };
        let signer = Signer::Service(Box::new(key));
        Ok(Some(Identity { blob, comment: comment.to_owned(), kind, signer }))
    }

    /// Signs a message; returns the signature as SSH has it. None for flags that this kind of key does not know.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn sign(&self, features: Features, message: &[u8], flags: u32) -> Result<Option<Vec<u8>>, Failure> {
        let (name, hash) = match (self.kind, flags) {
            // Clients of the time before RFC 8332 set no flag.
            (Signing::Rsa, 0) => ("ssh-rsa", Hash::Sha1),
            (Signing::Rsa, RSA_SHA2_256) => ("rsa-sha2-256", Hash::Sha256),
            (Signing::Rsa, RSA_SHA2_512) => ("rsa-sha2-512", Hash::Sha512),
            (Signing::Rsa, _) => return Ok(None),
            (_, flags) if flags & !(RSA_SHA2_256 | RSA_SHA2_512) != 0 => return Ok(None),
            (Signing::Curve(curve), _) => (names(curve).0, hash(curve)),
            (Signing::Ed25519, _) => ("ssh-ed25519", Hash::Sha512),
        };
        let bytes = self.signer.sign(features, self.kind, hash, message)?;
        let mut signature = Vec::new();
        put_string(&mut signature, name.as_bytes());
        match self.kind {
            Signing::Curve(curve) => {
                let (r, s) = bytes.split_at(curve.bytes());
                let mut numbers = Vec::new();
                put_mpint(&mut numbers, r);
                put_mpint(&mut numbers, s);
                put_string(&mut signature, &numbers);
            }
            Signing::Rsa | Signing::Ed25519 => put_string(&mut signature, &bytes),
        }
        Ok(Some(signature))
    }
}

impl Signer {
    /// Signs a message: PKCS#1 v1.5, r and s, or a signature of Ed25519, which has a hash of its own.
    fn sign(
        &self,
        features: Features,
        kind: Signing,
        hash: Hash,
        message: &[u8],
    ) -> Result<Vec<u8>, Failure> {
        Ok(match self {
            Signer::Rsa(key) => {
                let mut bytes = [0; rsa::MAX_BYTES];
                let len = key.sign_pkcs1(hash, message, &mut bytes)?;
                bytes[..len].to_vec()
            }
            Signer::Curve(key) => {
                key.sign(&Message::hashed(features, hash, message), &mut SystemRandom)?.to_vec()
            }
            Signer::Ed25519(key) => key.sign(message).to_vec(),
            Signer::Service(key) => match (kind, SignatureScheme::usual(key.algorithm(), hash)) {
                (Signing::Rsa | Signing::Curve(_), Some(scheme)) => {
                    let digest = Message::hashed(features, hash, message);
                    key.with(|key| key.sign_with(scheme, digest.as_bytes()))?
                }
                _ => key.with(|key| key.sign(message))?,
            },
        })
    }
}

/// Returns a public key of RSA as SSH has it (RFC 4253 §6.6).
fn rsa_blob(public: &rsa::PublicKey) -> Result<Vec<u8>, publickey::Error> {
    let mut modulus = [0; rsa::MAX_BYTES];
    let len = public.modulus(&mut modulus)?;
    let mut blob = Vec::new();
    put_string(&mut blob, b"ssh-rsa");
    put_mpint(&mut blob, &public.exponent().to_be_bytes());
    put_mpint(&mut blob, &modulus[..len]);
    Ok(blob)
}

/// Returns a point of a curve as SSH has it (RFC 5656 §3.1).
fn curve_blob(curve: Curve, point: &[u8]) -> Vec<u8> {
    let (name, curve) = names(curve);
    let mut blob = Vec::new();
    put_string(&mut blob, name.as_bytes());
    put_string(&mut blob, curve.as_bytes());
    put_string(&mut blob, point);
    blob
}

/// Returns a public key of Ed25519 as SSH has it (RFC 8709 §4).
fn ed25519_blob(public: &[u8]) -> Vec<u8> {
    let mut blob = Vec::new();
    put_string(&mut blob, b"ssh-ed25519");
    put_string(&mut blob, public);
    blob
}
