//! The mechanisms: what each computes, with which keys, and for what it may be used.
//!
//! Ref. PKCS #11 v3.2 §6.

pub mod contexts;
pub mod parameters;
pub mod tls;
pub mod wrapping;

use cryptoki_sys::*;
use millstream::hash::Hash;
use millstream::keywrap::Form;
use millstream::publickey::mldsa::Prehash;
use millstream::publickey::{mldsa, mlkem, slhdsa};

use crate::object::kind::Kind;
use crate::object::purpose::AesMode;
use crate::refusal::{Outcome, Refusal, demand};

/// The operation of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A hash.
    Digest(Hash),
    /// HMAC; true for a tag of a length that a parameter says.
    Hmac(Hash, bool),
    /// AES-CMAC; true for a tag of a length that a parameter says.
    Cmac(bool),
    /// AES in ECB or CBC on whole blocks; true with the padding of PKCS #7.
    AesBlocks(AesMode, bool),
    /// AES-CTR.
    AesCtr,
    /// AES-XTS.
    AesXts,
    /// Triple DES: true for CBC, and true with the padding of PKCS #7.
    Des3(bool, bool),
    /// AES-GCM.
    Gcm,
    /// ChaCha20-Poly1305.
    ChaCha,
    /// AES key wrap.
    Wrap(Form),
    /// RSA with the padding of PKCS #1 v1.5 around what the program gives.
    RsaPkcs,
    /// RSA alone.
    RsaRaw,
    /// RSA with OAEP.
    RsaOaep,
    /// RSA with PKCS #1 v1.5 over a digest that is computed here.
    RsaHashed(Hash),
    /// RSA with PSS; none for a digest that the program gives.
    RsaPss(Option<Hash>),
    /// ECDSA; none for a digest that the program gives.
    Ecdsa(Option<Hash>),
    /// Ed25519.
    Eddsa,
    /// ML-DSA of the message itself.
    MlDsa,
    /// HashML-DSA with a digest that is computed here; none for one that the program gives.
    HashMlDsa(Option<Prehash>),
    /// SLH-DSA of the message itself.
    SlhDsa,
    /// HashSLH-DSA with a digest that is computed here; none for one that the program gives.
    HashSlhDsa(Option<Prehash>),
    /// Encapsulation with ML-KEM.
    MlKem,
    /// ECDH and X25519.
    Ecdh,
    /// HKDF; true where the result is data and no key.
    Hkdf(bool),
    /// PBKDF2.
    Pbkdf2,
    /// A premaster secret of TLS for RSA.
    TlsPreMaster,
    /// A master secret of TLS 1.2.
    TlsMaster {
        /// True for an extended one.
        extended: bool,
        /// True where the premaster secret is one of RSA, with a version in front.
        of_rsa: bool,
    },
    /// The keys of a connection of TLS 1.2; true with the initialisation vectors.
    TlsKeys(bool),
    /// The derivation of exported keys of TLS 1.2.
    TlsKdf,
    /// The MAC of a `Finished` message of TLS 1.2.
    TlsMac,
    /// A new secret key of a type.
    MakeSecret(CK_KEY_TYPE),
    /// A new key pair of RSA.
    MakeRsa,
    /// A new key pair on a curve of that type.
    MakeCurve(CK_KEY_TYPE),
    /// A new key pair of ML-KEM, ML-DSA or SLH-DSA, of a parameter set.
    MakeOfSet(CK_KEY_TYPE),
}

/// A mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The mechanism's number.
    pub mechanism: CK_MECHANISM_TYPE,
    /// The operation.
    pub way: Way,
    /// The shortest and the longest key, in the unit of the standard: bits for RSA, curves and generic secrets, bytes for ciphers and for the
    /// public keys of ML-KEM, ML-DSA and SLH-DSA.
    pub keys: (CK_ULONG, CK_ULONG),
    /// The uses that are allowed, as `CKF_` flags.
    pub flags: CK_FLAGS,
}

const SIGNS: CK_FLAGS = CKF_SIGN | CKF_VERIFY | CKF_MESSAGE_SIGN | CKF_MESSAGE_VERIFY;
const RECOVERS: CK_FLAGS = CKF_SIGN_RECOVER | CKF_VERIFY_RECOVER;
const CRYPTS: CK_FLAGS = CKF_ENCRYPT | CKF_DECRYPT;
const WRAPS: CK_FLAGS = CKF_WRAP | CKF_UNWRAP;
const MESSAGES: CK_FLAGS = CKF_MESSAGE_ENCRYPT | CKF_MESSAGE_DECRYPT;
const CURVES: CK_FLAGS = CKF_EC_F_P | CKF_EC_OID | CKF_EC_UNCOMPRESS | CKF_EC_COMPRESS;
const EDWARDS: CK_FLAGS = CKF_EC_F_P | CKF_EC_OID | CKF_EC_CURVENAME;

const NO_KEY: (CK_ULONG, CK_ULONG) = (0, 0);
const AES: (CK_ULONG, CK_ULONG) = (16, 32);
const RSA: (CK_ULONG, CK_ULONG) = (1024, 4096);
const EC: (CK_ULONG, CK_ULONG) = (256, 521);
const EC255: (CK_ULONG, CK_ULONG) = (255, 255);
const SECRET: (CK_ULONG, CK_ULONG) = (1, 4096);
const ML_KEM: (CK_ULONG, CK_ULONG) =
    (mlkem::Set::MlKem512.public_key_len() as CK_ULONG, mlkem::Set::MlKem1024.public_key_len() as CK_ULONG);
const ML_DSA: (CK_ULONG, CK_ULONG) =
    (mldsa::Set::MlDsa44.public_key_len() as CK_ULONG, mldsa::Set::MlDsa87.public_key_len() as CK_ULONG);
const SLH_DSA: (CK_ULONG, CK_ULONG) =
    (slhdsa::Set::Sha2_128s.public_key_len() as CK_ULONG, slhdsa::MAX_PUBLIC_KEY as CK_ULONG);
const TLS: (CK_ULONG, CK_ULONG) = (tls::MASTER as CK_ULONG, tls::MASTER as CK_ULONG);

const fn row(mechanism: CK_MECHANISM_TYPE, way: Way, keys: (CK_ULONG, CK_ULONG), flags: CK_FLAGS) -> Row {
    Row { mechanism, way, keys, flags }
}

/// The mechanisms of a hash: the hash, HMAC with whole tags and with cut ones.
const fn hash(hash: Hash, [digest, hmac, general]: [CK_MECHANISM_TYPE; 3]) -> [Row; 3] {
    [
        row(digest, Way::Digest(hash), NO_KEY, CKF_DIGEST),
        row(hmac, Way::Hmac(hash, false), SECRET, SIGNS),
        row(general, Way::Hmac(hash, true), SECRET, SIGNS),
    ]
}

/// The signatures over a hash: PKCS #1 v1.5, PSS and ECDSA.
const fn signatures(hash: Hash, [pkcs1, pss, ecdsa]: [CK_MECHANISM_TYPE; 3]) -> [Row; 3] {
    [
        row(pkcs1, Way::RsaHashed(hash), RSA, SIGNS),
        row(pss, Way::RsaPss(Some(hash)), RSA, SIGNS),
        row(ecdsa, Way::Ecdsa(Some(hash)), EC, SIGNS | CURVES),
    ]
}

/// HashML-DSA with a digest that is computed here.
const fn prehash(mechanism: CK_MECHANISM_TYPE, function: Prehash) -> Row {
    row(mechanism, Way::HashMlDsa(Some(function)), ML_DSA, SIGNS)
}

/// HashSLH-DSA with a digest that is computed here.
const fn slh_prehash(mechanism: CK_MECHANISM_TYPE, function: Prehash) -> Row {
    row(mechanism, Way::HashSlhDsa(Some(function)), SLH_DSA, SIGNS)
}

const HASHES: &[[Row; 3]] = &[
    hash(Hash::Md5, [CKM_MD5, CKM_MD5_HMAC, CKM_MD5_HMAC_GENERAL]),
    hash(Hash::Sha1, [CKM_SHA_1, CKM_SHA_1_HMAC, CKM_SHA_1_HMAC_GENERAL]),
    hash(Hash::Sha224, [CKM_SHA224, CKM_SHA224_HMAC, CKM_SHA224_HMAC_GENERAL]),
    hash(Hash::Sha256, [CKM_SHA256, CKM_SHA256_HMAC, CKM_SHA256_HMAC_GENERAL]),
    hash(Hash::Sha384, [CKM_SHA384, CKM_SHA384_HMAC, CKM_SHA384_HMAC_GENERAL]),
    hash(Hash::Sha512, [CKM_SHA512, CKM_SHA512_HMAC, CKM_SHA512_HMAC_GENERAL]),
    hash(Hash::Sha512_256, [CKM_SHA512_256, CKM_SHA512_256_HMAC, CKM_SHA512_256_HMAC_GENERAL]),
    hash(Hash::Sha3_224, [CKM_SHA3_224, CKM_SHA3_224_HMAC, CKM_SHA3_224_HMAC_GENERAL]),
    hash(Hash::Sha3_256, [CKM_SHA3_256, CKM_SHA3_256_HMAC, CKM_SHA3_256_HMAC_GENERAL]),
    hash(Hash::Sha3_384, [CKM_SHA3_384, CKM_SHA3_384_HMAC, CKM_SHA3_384_HMAC_GENERAL]),
    hash(Hash::Sha3_512, [CKM_SHA3_512, CKM_SHA3_512_HMAC, CKM_SHA3_512_HMAC_GENERAL]),
];

const SIGNATURES: &[[Row; 3]] = &[
    signatures(Hash::Sha1, [CKM_SHA1_RSA_PKCS, CKM_SHA1_RSA_PKCS_PSS, CKM_ECDSA_SHA1]),
    signatures(Hash::Sha224, [CKM_SHA224_RSA_PKCS, CKM_SHA224_RSA_PKCS_PSS, CKM_ECDSA_SHA224]),
    signatures(Hash::Sha256, [CKM_SHA256_RSA_PKCS, CKM_SHA256_RSA_PKCS_PSS, CKM_ECDSA_SHA256]),
    signatures(Hash::Sha384, [CKM_SHA384_RSA_PKCS, CKM_SHA384_RSA_PKCS_PSS, CKM_ECDSA_SHA384]),
    signatures(Hash::Sha512, [CKM_SHA512_RSA_PKCS, CKM_SHA512_RSA_PKCS_PSS, CKM_ECDSA_SHA512]),
    signatures(Hash::Sha3_224, [CKM_SHA3_224_RSA_PKCS, CKM_SHA3_224_RSA_PKCS_PSS, CKM_ECDSA_SHA3_224]),
    signatures(Hash::Sha3_256, [CKM_SHA3_256_RSA_PKCS, CKM_SHA3_256_RSA_PKCS_PSS, CKM_ECDSA_SHA3_256]),
    signatures(Hash::Sha3_384, [CKM_SHA3_384_RSA_PKCS, CKM_SHA3_384_RSA_PKCS_PSS, CKM_ECDSA_SHA3_384]),
    signatures(Hash::Sha3_512, [CKM_SHA3_512_RSA_PKCS, CKM_SHA3_512_RSA_PKCS_PSS, CKM_ECDSA_SHA3_512]),
];

const OTHERS: &[Row] = &[
    row(CKM_AES_ECB, Way::AesBlocks(AesMode::Ecb, false), AES, CRYPTS),
    row(CKM_AES_CBC, Way::AesBlocks(AesMode::Cbc, false), AES, CRYPTS | WRAPS),
    row(CKM_AES_CBC_PAD, Way::AesBlocks(AesMode::Cbc, true), AES, CRYPTS | WRAPS),
    row(CKM_AES_CTR, Way::AesCtr, AES, CRYPTS),
    row(CKM_AES_GCM, Way::Gcm, AES, CRYPTS | WRAPS | MESSAGES),
    row(CKM_AES_XTS, Way::AesXts, (32, 64), CRYPTS),
    row(CKM_AES_CMAC, Way::Cmac(false), AES, SIGNS),
    row(CKM_AES_CMAC_GENERAL, Way::Cmac(true), AES, SIGNS),
    row(CKM_AES_KEY_WRAP, Way::Wrap(Form::Kw), AES, CRYPTS | WRAPS),
    row(CKM_AES_KEY_WRAP_KWP, Way::Wrap(Form::Kwp), AES, CRYPTS | WRAPS),
    row(CKM_CHACHA20_POLY1305, Way::ChaCha, (32, 32), CRYPTS | WRAPS | MESSAGES),
    row(CKM_DES3_ECB, Way::Des3(false, false), (24, 24), CRYPTS),
    row(CKM_DES3_CBC, Way::Des3(true, false), (24, 24), CRYPTS),
    row(CKM_DES3_CBC_PAD, Way::Des3(true, true), (24, 24), CRYPTS),
    row(CKM_RSA_PKCS, Way::RsaPkcs, RSA, SIGNS | RECOVERS | CRYPTS | WRAPS),
    row(CKM_RSA_X_509, Way::RsaRaw, RSA, SIGNS | RECOVERS | CRYPTS),
    row(CKM_RSA_PKCS_OAEP, Way::RsaOaep, RSA, CRYPTS | WRAPS),
    row(CKM_RSA_PKCS_PSS, Way::RsaPss(None), RSA, SIGNS),
    row(CKM_ECDSA, Way::Ecdsa(None), EC, SIGNS | CURVES),
    row(CKM_EDDSA, Way::Eddsa, EC255, SIGNS | EDWARDS),
    row(CKM_ML_DSA, Way::MlDsa, ML_DSA, SIGNS),
    row(CKM_HASH_ML_DSA, Way::HashMlDsa(None), ML_DSA, SIGNS),
    prehash(CKM_HASH_ML_DSA_SHA224, Prehash::Sha224),
    prehash(CKM_HASH_ML_DSA_SHA256, Prehash::Sha256),
    prehash(CKM_HASH_ML_DSA_SHA384, Prehash::Sha384),
    prehash(CKM_HASH_ML_DSA_SHA512, Prehash::Sha512),
    prehash(CKM_HASH_ML_DSA_SHA3_224, Prehash::Sha3_224),
    prehash(CKM_HASH_ML_DSA_SHA3_256, Prehash::Sha3_256),
    prehash(CKM_HASH_ML_DSA_SHA3_384, Prehash::Sha3_384),
    prehash(CKM_HASH_ML_DSA_SHA3_512, Prehash::Sha3_512),
    prehash(CKM_HASH_ML_DSA_SHAKE128, Prehash::Shake128),
    prehash(CKM_HASH_ML_DSA_SHAKE256, Prehash::Shake256),
    row(CKM_SLH_DSA, Way::SlhDsa, SLH_DSA, SIGNS),
    row(CKM_HASH_SLH_DSA, Way::HashSlhDsa(None), SLH_DSA, SIGNS),
    slh_prehash(CKM_HASH_SLH_DSA_SHA224, Prehash::Sha224),
    slh_prehash(CKM_HASH_SLH_DSA_SHA256, Prehash::Sha256),
    slh_prehash(CKM_HASH_SLH_DSA_SHA384, Prehash::Sha384),
    slh_prehash(CKM_HASH_SLH_DSA_SHA512, Prehash::Sha512),
    slh_prehash(CKM_HASH_SLH_DSA_SHA3_224, Prehash::Sha3_224),
    slh_prehash(CKM_HASH_SLH_DSA_SHA3_256, Prehash::Sha3_256),
    slh_prehash(CKM_HASH_SLH_DSA_SHA3_384, Prehash::Sha3_384),
    slh_prehash(CKM_HASH_SLH_DSA_SHA3_512, Prehash::Sha3_512),
    slh_prehash(CKM_HASH_SLH_DSA_SHAKE128, Prehash::Shake128),
    slh_prehash(CKM_HASH_SLH_DSA_SHAKE256, Prehash::Shake256),
    row(CKM_ML_KEM, Way::MlKem, ML_KEM, CKF_ENCAPSULATE | CKF_DECAPSULATE),
    row(CKM_ECDH1_DERIVE, Way::Ecdh, (255, 521), CKF_DERIVE | CURVES),
    row(CKM_ECDH1_COFACTOR_DERIVE, Way::Ecdh, (255, 521), CKF_DERIVE | CURVES),
    row(CKM_HKDF_DERIVE, Way::Hkdf(false), SECRET, CKF_DERIVE),
    row(CKM_HKDF_DATA, Way::Hkdf(true), SECRET, CKF_DERIVE),
    row(CKM_TLS_PRE_MASTER_KEY_GEN, Way::TlsPreMaster, TLS, CKF_GENERATE),
    row(CKM_TLS12_MASTER_KEY_DERIVE, Way::TlsMaster { extended: false, of_rsa: true }, TLS, CKF_DERIVE),
    row(
        CKM_TLS12_MASTER_KEY_DERIVE_DH,
        Way::TlsMaster { extended: false, of_rsa: false },
        SECRET,
        CKF_DERIVE,
    ),
    row(
        CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE,
        Way::TlsMaster { extended: true, of_rsa: true },
        TLS,
        CKF_DERIVE,
    ),
    row(
        CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE_DH,
        Way::TlsMaster { extended: true, of_rsa: false },
        SECRET,
        CKF_DERIVE,
    ),
    row(CKM_TLS12_KEY_AND_MAC_DERIVE, Way::TlsKeys(true), TLS, CKF_DERIVE),
    row(CKM_TLS12_KEY_SAFE_DERIVE, Way::TlsKeys(false), TLS, CKF_DERIVE),
    row(CKM_TLS12_KDF, Way::TlsKdf, SECRET, CKF_DERIVE),
    row(CKM_TLS_KDF, Way::TlsKdf, SECRET, CKF_DERIVE),
    row(CKM_TLS12_MAC, Way::TlsMac, TLS, SIGNS),
    row(CKM_TLS_MAC, Way::TlsMac, TLS, SIGNS),
    row(CKM_PKCS5_PBKD2, Way::Pbkdf2, NO_KEY, CKF_GENERATE),
    row(CKM_AES_KEY_GEN, Way::MakeSecret(CKK_AES), AES, CKF_GENERATE),
    row(CKM_AES_XTS_KEY_GEN, Way::MakeSecret(CKK_AES_XTS), (32, 64), CKF_GENERATE),
    row(CKM_DES3_KEY_GEN, Way::MakeSecret(CKK_DES3), (24, 24), CKF_GENERATE),
    row(CKM_CHACHA20_KEY_GEN, Way::MakeSecret(CKK_CHACHA20), (32, 32), CKF_GENERATE),
    row(CKM_GENERIC_SECRET_KEY_GEN, Way::MakeSecret(CKK_GENERIC_SECRET), (8, 32768), CKF_GENERATE),
    row(CKM_HKDF_KEY_GEN, Way::MakeSecret(CKK_HKDF), SECRET, CKF_GENERATE),
    row(CKM_SHA_1_KEY_GEN, Way::MakeSecret(CKK_SHA_1_HMAC), SECRET, CKF_GENERATE),
    row(CKM_SHA224_KEY_GEN, Way::MakeSecret(CKK_SHA224_HMAC), SECRET, CKF_GENERATE),
    row(CKM_SHA256_KEY_GEN, Way::MakeSecret(CKK_SHA256_HMAC), SECRET, CKF_GENERATE),
    row(CKM_SHA384_KEY_GEN, Way::MakeSecret(CKK_SHA384_HMAC), SECRET, CKF_GENERATE),
    row(CKM_SHA512_KEY_GEN, Way::MakeSecret(CKK_SHA512_HMAC), SECRET, CKF_GENERATE),
    row(CKM_RSA_PKCS_KEY_PAIR_GEN, Way::MakeRsa, (2048, 4096), CKF_GENERATE_KEY_PAIR),
    row(CKM_EC_KEY_PAIR_GEN, Way::MakeCurve(CKK_EC), EC, CKF_GENERATE_KEY_PAIR | CURVES),
    row(CKM_EC_EDWARDS_KEY_PAIR_GEN, Way::MakeCurve(CKK_EC_EDWARDS), EC255, CKF_GENERATE_KEY_PAIR | EDWARDS),
    row(
        CKM_EC_MONTGOMERY_KEY_PAIR_GEN,
        Way::MakeCurve(CKK_EC_MONTGOMERY),
        EC255,
        CKF_GENERATE_KEY_PAIR | EDWARDS,
    ),
    row(CKM_ML_KEM_KEY_PAIR_GEN, Way::MakeOfSet(CKK_ML_KEM), ML_KEM, CKF_GENERATE_KEY_PAIR),
    row(CKM_ML_DSA_KEY_PAIR_GEN, Way::MakeOfSet(CKK_ML_DSA), ML_DSA, CKF_GENERATE_KEY_PAIR),
    row(CKM_SLH_DSA_KEY_PAIR_GEN, Way::MakeOfSet(CKK_SLH_DSA), SLH_DSA, CKF_GENERATE_KEY_PAIR),
];

/// Returns every mechanism.
pub fn all() -> impl Iterator<Item = &'static Row> {
    HASHES.iter().flatten().chain(SIGNATURES.iter().flatten()).chain(OTHERS)
}

/// Returns the mechanism with a number, if it may be used for `flag`.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`.
pub fn find(number: CK_MECHANISM_TYPE, flag: CK_FLAGS) -> Outcome<&'static Row> {
    let row = all().find(|row| row.mechanism == number).ok_or(Refusal(CKR_MECHANISM_INVALID))?;
    demand(flag == 0 || row.flags & flag != 0, CKR_MECHANISM_INVALID)?;
    Ok(row)
}

/// Returns the hash that a mechanism computes alone.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`: it stands in a parameter.
pub fn hash_of(number: CK_MECHANISM_TYPE) -> Outcome<Hash> {
    let rows = HASHES.iter().flatten();
    let found = rows.filter(|row| row.mechanism == number).find_map(|row| match row.way {
        Way::Digest(hash) => Some(hash),
        _ => None,
    });
    found.ok_or(Refusal(CKR_MECHANISM_PARAM_INVALID))
}

impl Way {
    /// Refuses a key of a type that the mechanism does not take.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`.
    pub fn check_kind(self, kind: Kind) -> Outcome {
        let fits = match self {
            Way::RsaPkcs | Way::RsaRaw | Way::RsaOaep | Way::RsaHashed(_) | Way::RsaPss(_) => {
                kind == Kind::Rsa
            }
            Way::Ecdsa(_) => matches!(kind, Kind::Curve(_)),
            Way::Eddsa => kind == Kind::Ed25519,
            Way::MlDsa | Way::HashMlDsa(_) => matches!(kind, Kind::MlDsa(_)),
            Way::SlhDsa | Way::HashSlhDsa(_) => matches!(kind, Kind::SlhDsa(_)),
            Way::MlKem => matches!(kind, Kind::MlKem(_)),
            Way::Ecdh => matches!(kind, Kind::Curve(_) | Kind::X25519),
            _ => matches!(kind, Kind::Secret(_)),
        };
        demand(fits, CKR_KEY_TYPE_INCONSISTENT)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_mechanism_stands_twice_and_each_is_for_something() {
        let mut seen = HashSet::new();
        for row in all() {
            assert!(seen.insert(row.mechanism), "{:#x}", row.mechanism);
            assert!(row.flags & !(CURVES | EDWARDS) != 0 && row.keys.0 <= row.keys.1, "{:#x}", row.mechanism);
        }
        assert!(seen.len() > 90);
        assert_eq!(find(CKM_AES_GCM, CKF_SIGN).unwrap_err(), Refusal(CKR_MECHANISM_INVALID));
        assert_eq!(hash_of(CKM_SHA256), Ok(Hash::Sha256));
        assert!(hash_of(CKM_SHA256_HMAC).is_err());
    }
}
