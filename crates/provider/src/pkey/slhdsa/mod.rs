//! SLH-DSA: keys of its twelve parameter sets, and signatures with them.
//!
//! Ref. FIPS 205; RFC 9909; EVP_PKEY-SLH-DSA(7), EVP_SIGNATURE-SLH-DSA(7).

pub mod named;
pub mod signature;

use std::ffi::CStr;

use der::asn1::ObjectIdentifier;
use millstream::publickey::slhdsa::{PrivateKey, PublicKey, Set};
use zeroize::Zeroizing;

use super::raw::key::{Key, PRIVATE, PUBLIC, Parts, SEED_PART};
use super::raw::{Encoded, Raw, check_len};
use super::{System, features};
use crate::abi::{INTEGER, OsslParam, UTF8_STRING};
use crate::error::Result;
use crate::params::Param;
use named::{NAMED, Named};

/// SLH-DSA with the parameter set whose object identifier ends with that number: 20 to 31.
pub struct SlhDsa<const N: usize>;

impl<const N: usize> SlhDsa<N> {
    /// The parameter set, and what it is called.
    pub const NAMED: &'static Named = &NAMED[N - named::FIRST];
    const SET: Set = Self::NAMED.set;
}

/// Returns the public part of a key.
fn public_of<const N: usize>(key: &Key<SlhDsa<N>>) -> Option<&PublicKey> {
    match key.parts() {
        Parts::None => None,
        Parts::Public(public) => Some(public),
        Parts::Pair(private) => Some(private.public_key()),
        Parts::There(there) => Some(&there.public),
    }
}

impl<const N: usize> Raw for SlhDsa<N> {
    const NAMES: &'static CStr = Self::NAMED.names;
    const SEED: usize = Self::SET.seeds_len();
    const KEEPS_SEED: bool = false;
    const SHARED: bool = false;
    const PARTS: &'static [OsslParam] = &[PUBLIC, PRIVATE, OsslParam::END];
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"bits", INTEGER),
        OsslParam::described(c"security-bits", INTEGER),
        OsslParam::described(c"max-size", INTEGER),
        OsslParam::described(c"security-category", INTEGER),
        OsslParam::described(c"mandatory-digest", UTF8_STRING),
        PUBLIC,
        PRIVATE,
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] = &[OsslParam::END];
    const GENERATED_BY: &'static [OsslParam] =
        &[SEED_PART, OsslParam::described(c"properties", UTF8_STRING), OsslParam::END];
    type Public = PublicKey;
    type Private = PrivateKey;

    fn public(bytes: &[u8]) -> Result<PublicKey> {
        check_len("public", bytes, Self::SET.public_key_len())?;
        Ok(PublicKey::new(features()?, Self::SET, bytes)?)
    }

    fn private(bytes: &[u8]) -> Result<PrivateKey> {
        check_len("private", bytes, Self::SET.private_key_len())?;
        Ok(PrivateKey::new(features()?, Self::SET, bytes)?)
    }

    fn private_beside(bytes: &[u8], public: &[u8]) -> Result<PrivateKey> {
        // OpenSSL also takes the two secret seeds where the public key, which ends a whole private key, comes beside them.
        if bytes.len() + public.len() == Self::SET.private_key_len() {
            return Self::private(&Zeroizing::new([bytes, public].concat()));
        }
        Self::private(bytes)
    }

    fn generate(seed: Option<&[u8]>) -> Result<PrivateKey> {
        Ok(match seed {
            Some(seeds) => PrivateKey::from_seeds(features()?, Self::SET, seeds)?,
            None => PrivateKey::generate(features()?, Self::SET, &mut System)?,
        })
    }

    fn public_bytes(public: &PublicKey) -> &[u8] {
        public.as_bytes()
    }

    fn public_bytes_in(private: &PrivateKey) -> &[u8] {
        private.public_key().as_bytes()
    }

    fn to_public(private: &PrivateKey) -> PublicKey {
        private.public_key().clone()
    }

    fn to_expanded(private: &PrivateKey) -> Result<Zeroizing<Vec<u8>>> {
        Ok(private.to_bytes())
    }

    fn seed(_: &PrivateKey) -> Option<&[u8]> {
        // The private key has the seeds in it, and no form without the root.
        None
    }

    fn check(_: &PrivateKey) -> Result<()> {
        // The root was computed of the seeds, and compared where it was given.
        Ok(())
    }

    fn tell(param: &Param<'_>) -> Result<()> {
        match param.key().to_bytes() {
            b"bits" => param.set_size(8 * Self::SET.public_key_len()),
            b"security-bits" => param.set_size(8 * Self::SET.node_len()),
            b"security-category" => param.set_size(Self::NAMED.category()),
            b"max-size" => param.set_size(Self::SET.signature_len()),
            // The empty name says that callers must not name a digest.
            b"mandatory-digest" => param.set_text(c""),
            _ => Ok(()),
        }
    }
}

impl<const N: usize> Encoded for SlhDsa<N> {
    const OID: ObjectIdentifier = match Self::NAMED.oid.to_str() {
        Ok(oid) => ObjectIdentifier::new_unwrap(oid),
        Err(_) => panic!("an object identifier is digits and dots"),
    };
    const NAME: &'static CStr = Self::NAMED.name;
    const LABELS: [&'static str; 2] = ["priv", "pub"];
    const OUTPUT_FORMATS: Option<&'static CStr> = None;
}
