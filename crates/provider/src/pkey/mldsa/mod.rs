//! ML-DSA: keys of its three parameter sets, and signatures with them.
//!
//! Ref. FIPS 204; RFC 9881; EVP_PKEY-ML-DSA(7), EVP_SIGNATURE-ML-DSA(7).

pub mod signature;

use std::ffi::CStr;

use der::asn1::ObjectIdentifier;
use millstream::cwq::Algorithm;
use millstream::publickey::mldsa::{PrivateKey, PublicKey, SEED, Set};
use zeroize::Zeroizing;

use super::raw::key::{Key, PRIVATE, PUBLIC, Parts, SEED_PART};
use super::raw::{Encoded, Raw, check_len};
use super::{System, features};
use crate::abi::{INTEGER, OsslParam, UTF8_STRING};
use crate::error::Result;
use crate::params::Param;

/// ML-DSA with the parameter set of that number: 44, 65 or 87.
pub struct MlDsa<const N: usize>;

impl<const N: usize> MlDsa<N> {
    /// The parameter set, and what it is called.
    pub const NAMED: &'static Named = match N {
        44 => &ML_DSA_44,
        65 => &ML_DSA_65,
        87 => &ML_DSA_87,
        _ => panic!("ML-DSA has three parameter sets"),
    };
    const SET: Set = Self::NAMED.set;
    /// The algorithm's number in the service.
    pub const ALGORITHM: Algorithm = match Self::SET {
        Set::MlDsa44 => Algorithm::MlDsa44,
        Set::MlDsa65 => Algorithm::MlDsa65,
        Set::MlDsa87 => Algorithm::MlDsa87,
    };
}

/// A parameter set, and what it is called.
pub struct Named {
    pub set: Set,
    /// OpenSSL's names of the type of key and of the signature.
    names: &'static CStr,
    /// The name that OpenSSL writes.
    pub name: &'static CStr,
    /// The object identifier, of keys and of signatures.
    pub oid: &'static CStr,
    /// The AlgorithmIdentifier of signatures in DER: the object identifier, without parameters. Ref. RFC 9881 §2.
    identifier: &'static [u8],
    /// The name and the number of signatures in TLS 1.3. Ref. draft-ietf-tls-mldsa §3.
    pub tls: (&'static CStr, u16),
}

const ML_DSA_44: Named = Named {
    set: Set::MlDsa44,
    names: c"ML-DSA-44:MLDSA44:2.16.840.1.101.3.4.3.17:id-ml-dsa-44",
    name: c"ML-DSA-44",
    oid: c"2.16.840.1.101.3.4.3.17",
    identifier: b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x11",
    tls: (c"mldsa44", 0x0904),
};
const ML_DSA_65: Named = Named {
    set: Set::MlDsa65,
    names: c"ML-DSA-65:MLDSA65:2.16.840.1.101.3.4.3.18:id-ml-dsa-65",
    name: c"ML-DSA-65",
    oid: c"2.16.840.1.101.3.4.3.18",
    identifier: b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x12",
    tls: (c"mldsa65", 0x0905),
};
const ML_DSA_87: Named = Named {
    set: Set::MlDsa87,
    names: c"ML-DSA-87:MLDSA87:2.16.840.1.101.3.4.3.19:id-ml-dsa-87",
    name: c"ML-DSA-87",
    oid: c"2.16.840.1.101.3.4.3.19",
    identifier: b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x13",
    tls: (c"mldsa87", 0x0906),
};

/// Returns the bits of security of a parameter set as OpenSSL counts them, which is the strength of its hashes against collisions, and
/// NIST's category of it. Ref. FIPS 204 §4, table 1.
pub const fn strength(set: Set) -> (usize, usize) {
    match set {
        Set::MlDsa44 => (128, 2),
        Set::MlDsa65 => (192, 3),
        Set::MlDsa87 => (256, 5),
    }
}

/// Returns the public part of a key.
fn public_of<const N: usize>(key: &Key<MlDsa<N>>) -> Option<&PublicKey> {
    match key.parts() {
        Parts::None => None,
        Parts::Public(public) => Some(public),
        Parts::Pair(private) => Some(private.public_key()),
        Parts::There(there) => Some(&there.public),
    }
}

impl<const N: usize> Raw for MlDsa<N> {
    const NAMES: &'static CStr = Self::NAMED.names;
    const SEED: usize = SEED;
    const IN_SERVICE: Option<(Algorithm, usize)> = Some((Self::ALGORITHM, Self::SET.expanded_key_len()));
    const SHARED: bool = false;
    const PARTS: &'static [OsslParam] = &[SEED_PART, PUBLIC, PRIVATE, OsslParam::END];
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"bits", INTEGER),
        OsslParam::described(c"security-bits", INTEGER),
        OsslParam::described(c"max-size", INTEGER),
        OsslParam::described(c"security-category", INTEGER),
        OsslParam::described(c"mandatory-digest", UTF8_STRING),
        SEED_PART,
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
        // A seed, which the library takes too, has a parameter of its own.
        check_len("private", bytes, Self::SET.expanded_key_len())?;
        Ok(PrivateKey::new(features()?, Self::SET, bytes)?)
    }

    fn generate(seed: Option<&[u8]>) -> Result<PrivateKey> {
        Ok(match seed {
            Some(seed) => PrivateKey::new(features()?, Self::SET, seed)?,
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
        Ok(private.to_expanded())
    }

    fn seed(private: &PrivateKey) -> Option<&[u8]> {
        private.seed().map(|seed| &seed[..])
    }

    fn check(_: &PrivateKey) -> Result<()> {
        // The public half was computed of the private one, and compared where both were given.
        Ok(())
    }

    fn tell(param: &Param<'_>) -> Result<()> {
        let (security, category) = strength(Self::SET);
        match param.key().to_bytes() {
            b"bits" => param.set_size(8 * Self::SET.public_key_len()),
            b"security-bits" => param.set_size(security),
            b"security-category" => param.set_size(category),
            b"max-size" => param.set_size(Self::SET.signature_len()),
            // The empty name says that callers must not name a digest.
            b"mandatory-digest" => param.set_text(c""),
            _ => Ok(()),
        }
    }
}

impl<const N: usize> Encoded for MlDsa<N> {
    const OID: ObjectIdentifier = match Self::NAMED.oid.to_str() {
        Ok(oid) => ObjectIdentifier::new_unwrap(oid),
        Err(_) => panic!("an object identifier is digits and dots"),
    };
    const NAME: &'static CStr = Self::NAMED.name;
    const LABELS: [&'static str; 2] = ["priv", "pub"];
    const OUTPUT_FORMATS: Option<&'static CStr> = Some(c"ml-dsa.output_formats");
}
