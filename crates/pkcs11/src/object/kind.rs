//! The kinds of keys: their type and curve or parameter set in the standard's numbers, and their names in a store.
//!
//! Ref. PKCS #11 v3.2 §6 (types, parameter sets of ML-KEM, ML-DSA and SLH-DSA), RFC 5480 §2.1.1 and RFC 8410 §3 (curves).

use cryptoki_sys::*;
use millstream::publickey::weierstrass::Curve;
use millstream::publickey::{mldsa, mlkem, slhdsa};
use millstream_files::key::Kind as FileKind;

use super::attributes::Attributes;
use crate::refusal::{Outcome, Refusal, refuse};

/// The kind of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A secret key of a type of secrets, as `CKK_AES`.
    Secret(CK_KEY_TYPE),
    /// RSA.
    Rsa,
    /// ECDSA and ECDH on a curve of NIST.
    Curve(Curve),
    /// Ed25519.
    Ed25519,
    /// X25519.
    X25519,
    /// ML-KEM.
    MlKem(mlkem::Set),
    /// ML-DSA.
    MlDsa(mldsa::Set),
    /// SLH-DSA.
    SlhDsa(slhdsa::Set),
}

/// The types of secret keys: their names in a store, their lengths in bytes, and the length to assume when a template has none.
const SECRETS: &[(CK_KEY_TYPE, &str, &[usize])] = &[
    (CKK_AES, "aes", &[16, 24, 32]),
    (CKK_AES_XTS, "aes-xts", &[32, 64]),
    (CKK_DES3, "3des", &[24]),
    (CKK_CHACHA20, "chacha20-poly1305", &[32]),
    // Secrets of any length.
    (CKK_GENERIC_SECRET, "hmac", &[]),
    (CKK_HKDF, "hkdf", &[]),
    (CKK_MD5_HMAC, "hmac-md5", &[]),
    (CKK_SHA_1_HMAC, "hmac-sha1", &[]),
    (CKK_SHA224_HMAC, "hmac-sha224", &[]),
    (CKK_SHA256_HMAC, "hmac-sha256", &[]),
    (CKK_SHA384_HMAC, "hmac-sha384", &[]),
    (CKK_SHA512_HMAC, "hmac-sha512", &[]),
    (CKK_SHA512_256_HMAC, "hmac-sha512-256", &[]),
    (CKK_SHA3_224_HMAC, "hmac-sha3-224", &[]),
    (CKK_SHA3_256_HMAC, "hmac-sha3-256", &[]),
    (CKK_SHA3_384_HMAC, "hmac-sha3-384", &[]),
    (CKK_SHA3_512_HMAC, "hmac-sha3-512", &[]),
];

/// The most bytes of a secret of any length.
const MOST_SECRET: usize = 4096;

/// The names of curves in DER: object identifiers, and for Curve25519 also their printable names, which some programs send.
const CURVES: &[(Kind, &[u8])] = &[
    (Kind::Curve(Curve::P256), b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"),
    (Kind::Curve(Curve::P384), b"\x06\x05\x2b\x81\x04\x00\x22"),
    (Kind::Curve(Curve::P521), b"\x06\x05\x2b\x81\x04\x00\x23"),
    (Kind::Ed25519, b"\x06\x03\x2b\x65\x70"),
    (Kind::Ed25519, b"\x13\x0cedwards25519"),
    (Kind::Ed25519, b"\x06\x09\x2b\x06\x01\x04\x01\xda\x47\x0f\x01"),
    (Kind::X25519, b"\x06\x03\x2b\x65\x6e"),
    (Kind::X25519, b"\x13\x0acurve25519"),
    (Kind::X25519, b"\x06\x0a\x2b\x06\x01\x04\x01\x97\x55\x01\x05\x01"),
];

/// The kinds of keys on lattices: their names in files, and the numbers of their parameter sets.
const LATTICES: [(Kind, FileKind, CK_ULONG); 6] = [
    (Kind::MlKem(mlkem::Set::MlKem512), FileKind::MlKem512, CKP_ML_KEM_512),
    (Kind::MlKem(mlkem::Set::MlKem768), FileKind::MlKem768, CKP_ML_KEM_768),
    (Kind::MlKem(mlkem::Set::MlKem1024), FileKind::MlKem1024, CKP_ML_KEM_1024),
    (Kind::MlDsa(mldsa::Set::MlDsa44), FileKind::MlDsa44, CKP_ML_DSA_44),
    (Kind::MlDsa(mldsa::Set::MlDsa65), FileKind::MlDsa65, CKP_ML_DSA_65),
    (Kind::MlDsa(mldsa::Set::MlDsa87), FileKind::MlDsa87, CKP_ML_DSA_87),
];

/// The numbers of the parameter sets of SLH-DSA.
const HASHES: [(slhdsa::Set, CK_ULONG); 12] = [
    (slhdsa::Set::Sha2_128s, CKP_SLH_DSA_SHA2_128S),
    (slhdsa::Set::Shake128s, CKP_SLH_DSA_SHAKE_128S),
    (slhdsa::Set::Sha2_128f, CKP_SLH_DSA_SHA2_128F),
    (slhdsa::Set::Shake128f, CKP_SLH_DSA_SHAKE_128F),
    (slhdsa::Set::Sha2_192s, CKP_SLH_DSA_SHA2_192S),
    (slhdsa::Set::Shake192s, CKP_SLH_DSA_SHAKE_192S),
    (slhdsa::Set::Sha2_192f, CKP_SLH_DSA_SHA2_192F),
    (slhdsa::Set::Shake192f, CKP_SLH_DSA_SHAKE_192F),
    (slhdsa::Set::Sha2_256s, CKP_SLH_DSA_SHA2_256S),
    (slhdsa::Set::Shake256s, CKP_SLH_DSA_SHAKE_256S),
    (slhdsa::Set::Sha2_256f, CKP_SLH_DSA_SHA2_256F),
    (slhdsa::Set::Shake256f, CKP_SLH_DSA_SHAKE_256F),
];

impl Kind {
    /// Returns the kind that a key's attributes say.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCOMPLETE`, `CKR_CURVE_NOT_SUPPORTED`, `CKR_PARAMETER_SET_NOT_SUPPORTED`, `CKR_ATTRIBUTE_VALUE_INVALID` for a type that is not
    /// supported.
    pub fn of(attributes: &Attributes) -> Outcome<Self> {
        let number = attributes.number(CKA_KEY_TYPE)?.ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
        let on = |fits: fn(Kind) -> bool| {
            let params = attributes.required(CKA_EC_PARAMS)?;
            Kind::on_curve(params).filter(|kind| fits(*kind)).ok_or(Refusal(CKR_CURVE_NOT_SUPPORTED))
        };
        match number {
            CKK_RSA => Ok(Kind::Rsa),
            CKK_EC => on(|kind| matches!(kind, Kind::Curve(_))),
            CKK_EC_EDWARDS => on(|kind| kind == Kind::Ed25519),
            CKK_EC_MONTGOMERY => on(|kind| kind == Kind::X25519),
            CKK_ML_KEM | CKK_ML_DSA => {
                let set = attributes.number(CKA_PARAMETER_SET)?.ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
                let fits = |row: &&(Kind, _, CK_ULONG)| row.0.key_type() == number && row.2 == set;
                let row = LATTICES.iter().find(fits).ok_or(Refusal(CKR_PARAMETER_SET_NOT_SUPPORTED))?;
                Ok(row.0)
            }
            CKK_SLH_DSA => {
                let number = attributes.number(CKA_PARAMETER_SET)?.ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
                let row = HASHES.iter().find(|row| row.1 == number);
                Ok(Kind::SlhDsa(row.ok_or(Refusal(CKR_PARAMETER_SET_NOT_SUPPORTED))?.0))
            }
            number if SECRETS.iter().any(|row| row.0 == number) => Ok(Kind::Secret(number)),
            _ => refuse(CKR_ATTRIBUTE_VALUE_INVALID),
        }
    }

    /// Returns the kind of keys on the curve that `CKA_EC_PARAMS` names.
    fn on_curve(params: &[u8]) -> Option<Self> {
        CURVES.iter().find(|row| row.1 == params).map(|row| row.0)
    }

    /// Returns `CKA_EC_PARAMS` of the kind.
    pub fn ec_params(self) -> Option<&'static [u8]> {
        CURVES.iter().find(|row| row.0 == self).map(|row| row.1)
    }

    /// Returns `CKA_PARAMETER_SET` of the kind.
    pub fn parameter_set(self) -> Option<CK_ULONG> {
        match self {
            Kind::SlhDsa(set) => HASHES.iter().find(|row| row.0 == set).map(|row| row.1),
            _ => LATTICES.iter().find(|row| row.0 == self).map(|row| row.2),
        }
    }

    /// Returns the attribute that says the curve or the parameter set of keys of a type; none for other types.
    pub fn domain_of(key_type: CK_KEY_TYPE) -> Option<CK_ATTRIBUTE_TYPE> {
        match key_type {
            CKK_EC | CKK_EC_EDWARDS | CKK_EC_MONTGOMERY => Some(CKA_EC_PARAMS),
            CKK_ML_KEM | CKK_ML_DSA | CKK_SLH_DSA => Some(CKA_PARAMETER_SET),
            _ => None,
        }
    }

    /// Sets the curve or the parameter set where a template does not say it.
    pub fn set_domain(self, attributes: &mut Attributes) {
        if let Some(params) = self.ec_params() {
            attributes.set_default(CKA_EC_PARAMS, params);
        }
        if let Some(set) = self.parameter_set() {
            attributes.set_default(CKA_PARAMETER_SET, &set.to_ne_bytes());
        }
    }

    /// Returns the attribute that allows a key to make new keys: a store has one usage for a derivation and for a decapsulation.
    pub fn deriving_usage(self) -> CK_ATTRIBUTE_TYPE {
        if matches!(self, Kind::MlKem(_)) { CKA_DECAPSULATE } else { CKA_DERIVE }
    }

    /// Returns the type of the key.
    pub fn key_type(self) -> CK_KEY_TYPE {
        match self {
            Kind::Secret(number) => number,
            Kind::Rsa => CKK_RSA,
            Kind::Curve(_) => CKK_EC,
            Kind::Ed25519 => CKK_EC_EDWARDS,
            Kind::X25519 => CKK_EC_MONTGOMERY,
            Kind::MlKem(_) => CKK_ML_KEM,
            Kind::MlDsa(_) => CKK_ML_DSA,
            Kind::SlhDsa(_) => CKK_SLH_DSA,
        }
    }

    /// Returns the same kind as key files name it; none for secrets.
    pub fn in_files(self) -> Option<FileKind> {
        match self {
            Kind::Secret(_) => None,
            Kind::Rsa => Some(FileKind::Rsa),
            Kind::Curve(Curve::P256) => Some(FileKind::P256),
            Kind::Curve(Curve::P384) => Some(FileKind::P384),
            Kind::Curve(Curve::P521) => Some(FileKind::P521),
            Kind::Ed25519 => Some(FileKind::Ed25519),
            Kind::X25519 => Some(FileKind::X25519),
            Kind::SlhDsa(set) => Some(FileKind::SlhDsa(set)),
            Kind::MlKem(_) | Kind::MlDsa(_) => LATTICES.iter().find(|row| row.0 == self).map(|row| row.1),
        }
    }

    /// Returns the name in a store.
    pub fn name(self) -> &'static str {
        match (self, self.in_files()) {
            (_, Some(kind)) => kind.name(),
            (Kind::Secret(number), _) => {
                SECRETS.iter().find(|row| row.0 == number).expect("only such types are made").1
            }
            _ => unreachable!("every kind that is no secret has a name in files"),
        }
    }

    /// Returns the kind with that name in a store.
    pub fn named(name: &str) -> Option<Self> {
        let secret = SECRETS.iter().find(|row| row.1 == name).map(|row| Kind::Secret(row.0));
        secret.or_else(|| {
            let pairs = [Kind::Rsa, Kind::Ed25519, Kind::X25519];
            let pairs = pairs.into_iter().chain(Curve::ALL.map(Kind::Curve)).chain(LATTICES.map(|row| row.0));
            let pairs = pairs.chain(slhdsa::Set::ALL.map(Kind::SlhDsa));
            pairs.into_iter().find(|kind| kind.name() == name)
        })
    }

    /// Checks the length of a secret key.
    ///
    /// # Errors
    /// `CKR_KEY_SIZE_RANGE`.
    pub fn check_len(self, len: usize) -> Outcome {
        let Kind::Secret(number) = self else { return Ok(()) };
        let lengths = SECRETS.iter().find(|row| row.0 == number).map_or(&[][..], |row| row.2);
        let fits = if lengths.is_empty() { (1..=MOST_SECRET).contains(&len) } else { lengths.contains(&len) };
        if fits { Ok(()) } else { refuse(CKR_KEY_SIZE_RANGE) }
    }

    /// Returns the length of a secret key that can have no other.
    pub fn only_len(self) -> Option<usize> {
        let Kind::Secret(number) = self else { return None };
        match SECRETS.iter().find(|row| row.0 == number)?.2 {
            [len] => Some(*len),
            _ => None,
        }
    }
}
