//! The key agreements that stand beside ML-KEM in a hybrid: each is an encapsulation whose ciphertext is an ephemeral public key.
//!
//! Ref. draft-ietf-tls-ecdhe-mlkem §4.

use millstream::publickey::ecdh::{self, Curve};
use millstream::publickey::x25519;

use crate::error::Result;
use crate::pkey::{System, features};

/// A key agreement beside ML-KEM.
pub trait Partner: 'static {
    /// The bytes of a public key.
    const PUBLIC: usize;
    /// The bytes of a private key.
    const PRIVATE: usize;
    /// The bytes of a shared secret.
    const SECRET: usize;
    /// True if its bytes stand before ML-KEM's.
    const FIRST: bool;
    /// A checked public key.
    type Public: Clone + Send + Sync;
    /// A private key, which is cleared when it is dropped.
    type Private: Send + Sync;

    /// Takes a public key of [`Partner::PUBLIC`] bytes.
    fn public(bytes: &[u8]) -> Result<Self::Public>;
    /// Takes a private key of [`Partner::PRIVATE`] bytes.
    fn private(bytes: &[u8]) -> Result<Self::Private>;
    /// Makes a private key.
    fn generate() -> Result<Self::Private>;
    /// Returns the public key that belongs to a private one.
    fn public_of(private: &Self::Private) -> Self::Public;
    /// Writes a public key.
    fn encode(public: &Self::Public, out: &mut [u8]);
    /// Writes a private key.
    fn write(private: &Self::Private, out: &mut [u8]) -> Result<()>;
    /// Writes the secret that both sides share.
    fn agree(private: &Self::Private, peer: &Self::Public, out: &mut [u8]) -> Result<()>;
}

/// No agreement: ML-KEM is alone.
pub struct Alone;

impl Partner for Alone {
    const PUBLIC: usize = 0;
    const PRIVATE: usize = 0;
    const SECRET: usize = 0;
    const FIRST: bool = false;
    type Public = ();
    type Private = ();

    fn public(_: &[u8]) -> Result<()> {
        Ok(())
    }

    fn private(_: &[u8]) -> Result<()> {
        Ok(())
    }

    fn generate() -> Result<()> {
        Ok(())
    }

    fn public_of((): &()) {}

    fn encode((): &(), _: &mut [u8]) {}

    fn write((): &(), _: &mut [u8]) -> Result<()> {
        Ok(())
    }

    fn agree((): &(), (): &(), _: &mut [u8]) -> Result<()> {
        Ok(())
    }
}

/// X25519.
pub struct X25519;

impl Partner for X25519 {
    const PUBLIC: usize = x25519::KEY;
    const PRIVATE: usize = x25519::KEY;
    const SECRET: usize = x25519::KEY;
    const FIRST: bool = false;
    type Public = x25519::PublicKey;
    type Private = x25519::PrivateKey;

    fn public(bytes: &[u8]) -> Result<x25519::PublicKey> {
        Ok(x25519::PublicKey::new(bytes)?)
    }

    fn private(bytes: &[u8]) -> Result<x25519::PrivateKey> {
        Ok(x25519::PrivateKey::new(features()?, bytes)?)
    }

    fn generate() -> Result<x25519::PrivateKey> {
        Ok(x25519::PrivateKey::generate(features()?, &mut System)?)
    }

    fn public_of(private: &x25519::PrivateKey) -> x25519::PublicKey {
        private.public_key()
    }

    fn encode(public: &x25519::PublicKey, out: &mut [u8]) {
        out.copy_from_slice(public.as_bytes());
    }

    fn write(private: &x25519::PrivateKey, out: &mut [u8]) -> Result<()> {
        out.copy_from_slice(private.as_bytes());
        Ok(())
    }

    fn agree(private: &x25519::PrivateKey, peer: &x25519::PublicKey, out: &mut [u8]) -> Result<()> {
        out.copy_from_slice(private.agree(peer)?.as_bytes());
        Ok(())
    }
}

/// ECDH on P-256.
pub struct P256;
/// ECDH on P-384.
pub struct P384;

/// Implements a partner on a curve of NIST's, whose public keys are points that are not compressed.
macro_rules! on_curve {
    ($partner:ident, $curve:expr) => {
        impl Partner for $partner {
            const PUBLIC: usize = 1 + 2 * $curve.bytes();
            const PRIVATE: usize = $curve.bytes();
            const SECRET: usize = $curve.bytes();
            const FIRST: bool = true;
            type Public = ecdh::PublicKey;
            type Private = ecdh::PrivateKey;

            fn public(bytes: &[u8]) -> Result<ecdh::PublicKey> {
                Ok(ecdh::PublicKey::new(features()?, $curve, bytes)?)
            }

            fn private(bytes: &[u8]) -> Result<ecdh::PrivateKey> {
                Ok(ecdh::PrivateKey::new(features()?, $curve, bytes)?)
            }

            fn generate() -> Result<ecdh::PrivateKey> {
                Ok(ecdh::PrivateKey::generate(features()?, $curve, &mut System)?)
            }

            fn public_of(private: &ecdh::PrivateKey) -> ecdh::PublicKey {
                private.public()
            }

            fn encode(public: &ecdh::PublicKey, out: &mut [u8]) {
                out.copy_from_slice(&public.to_bytes());
            }

            fn write(private: &ecdh::PrivateKey, out: &mut [u8]) -> Result<()> {
                Ok(private.write(out)?)
            }

            fn agree(private: &ecdh::PrivateKey, peer: &ecdh::PublicKey, out: &mut [u8]) -> Result<()> {
                out.copy_from_slice(&private.agree(peer)?);
                Ok(())
            }
        }
    };
}

on_curve!(P256, Curve::P256);
on_curve!(P384, Curve::P384);
