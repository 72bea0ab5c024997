//! A key that the agent signs with.

use millstream::SystemRandom;
use millstream::hash::Hash;
use millstream::publickey::ecdsa::Message;
use millstream::publickey::weierstrass::{self, Curve};
use millstream::publickey::{self, ed25519, rsa};
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
    signer: Signer,
}

enum Signer {
    Rsa(Box<rsa::PrivateKey>),
    Curve(weierstrass::PrivateKey),
    Ed25519(Box<ed25519::PrivateKey>),
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

impl Identity {
    /// Takes a key; none if it is of a kind that SSH does not sign with.
    ///
    /// # Errors
    /// The key is not one of its kind.
    pub fn new(features: Features, comment: &str, key: &Key) -> Result<Option<Self>, publickey::Error> {
        let mut blob = Vec::new();
        let curve = |curve| weierstrass::PrivateKey::new(features, curve, key.secret());
        let signer = match key.kind() {
            Kind::Rsa => Signer::Rsa(Box::new(rsa::PrivateKey::from_pkcs1(features, key.secret())?)),
            Kind::P256 => Signer::Curve(curve(Curve::P256)?),
            Kind::P384 => Signer::Curve(curve(Curve::P384)?),
            Kind::P521 => Signer::Curve(curve(Curve::P521)?),
            Kind::Ed25519 => Signer::Ed25519(Box::new(ed25519::PrivateKey::new(features, key.secret())?)),
            Kind::X25519 | Kind::Aes | Kind::Hmac | Kind::ChaCha20Poly1305 => return Ok(None),
        };
        match &signer {
            Signer::Rsa(key) => {
                let public = key.public_key();
                let mut modulus = [0; rsa::MAX_BYTES];
                let len = public.modulus(&mut modulus)?;
                put_string(&mut blob, b"ssh-rsa");
                put_mpint(&mut blob, &public.exponent().to_be_bytes());
                put_mpint(&mut blob, &modulus[..len]);
            }
            Signer::Curve(key) => {
                let (name, curve) = names(key.curve());
                put_string(&mut blob, name.as_bytes());
                put_string(&mut blob, curve.as_bytes());
                put_string(&mut blob, &key.public().to_bytes());
            }
            Signer::Ed25519(key) => {
                put_string(&mut blob, b"ssh-ed25519");
                put_string(&mut blob, key.public_bytes());
            }
        }
        Ok(Some(Identity { blob, comment: comment.to_owned(), signer }))
    }

    /// Signs a message; returns the signature as SSH has it. None for flags that this kind of key does not know.
    ///
    /// # Errors
    /// Those of the engines.
    pub fn sign(
        &self,
        features: Features,
        message: &[u8],
        flags: u32,
    ) -> Result<Option<Vec<u8>>, publickey::Error> {
        let mut signature = Vec::new();
        match &self.signer {
            Signer::Rsa(key) => {
                let (name, hash) = match flags {
                    // Clients of the time before RFC 8332 set no flag.
                    0 => ("ssh-rsa", Hash::Sha1),
                    RSA_SHA2_256 => ("rsa-sha2-256", Hash::Sha256),
                    RSA_SHA2_512 => ("rsa-sha2-512", Hash::Sha512),
                    _ => return Ok(None),
                };
                let mut bytes = [0; rsa::MAX_BYTES];
                let len = key.sign_pkcs1(hash, message, &mut bytes)?;
                put_string(&mut signature, name.as_bytes());
                put_string(&mut signature, &bytes[..len]);
            }
            _ if flags & !(RSA_SHA2_256 | RSA_SHA2_512) != 0 => return Ok(None),
            Signer::Curve(key) => {
                let curve = key.curve();
                let pair = key.sign(&Message::hashed(features, hash(curve), message), &mut SystemRandom)?;
                let (r, s) = pair.split_at(curve.bytes());
                let mut numbers = Vec::new();
                put_mpint(&mut numbers, r);
                put_mpint(&mut numbers, s);
                put_string(&mut signature, names(curve).0.as_bytes());
                put_string(&mut signature, &numbers);
            }
            Signer::Ed25519(key) => {
                put_string(&mut signature, b"ssh-ed25519");
                put_string(&mut signature, &key.sign(message));
            }
        }
        Ok(Some(signature))
    }
}
