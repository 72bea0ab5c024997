//! A key, expanded for what it is used for.

use cryptoki_sys::*;
use millstream::aead::Aead;
use millstream::chacha20poly1305::ChaCha20Poly1305;
use millstream::gcm::Gcm;
use millstream::hash::Hash;
use millstream::hmac::HmacKey;
use millstream::keywrap::KeyWrap;
use millstream::modes::{BlockMode, Direction};
use millstream::publickey::weierstrass::{self, Curve};
use millstream::publickey::{ed25519, mldsa, mlkem, rsa, slhdsa, x25519};
use millstream::{Features, InOut, aes, des};

use super::attributes::Attributes;
use super::der;
use super::held::Remote;
use super::kind::Kind;
use super::purpose::{AesMode, Purpose};
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// An expanded key. Zeroised on drop.
pub enum Engine {
    /// HMAC.
    Hmac(HmacKey),
    /// AES-ECB.
    Ecb(aes::Ecb),
    /// AES-CBC.
    Cbc(aes::Cbc),
    /// AES-CTR.
    Ctr(aes::Ctr),
    /// AES-XTS.
    Xts(Box<aes::Xts>),
    /// AES-CMAC.
    Cmac(aes::Cmac),
    /// AES-GCM.
    Gcm(Box<Gcm>),
    /// ChaCha20-Poly1305.
    ChaCha(ChaCha20Poly1305),
    /// A key that wraps keys.
    Wrap(KeyWrap),
    /// Triple DES in ECB.
    Des3Ecb(des::Ecb),
    /// Triple DES in CBC.
    Des3Cbc(des::Cbc),
    /// A private key of RSA.
    Rsa(rsa::PrivateKey),
    /// A public key of RSA.
    RsaPublic(rsa::PublicKey),
    /// A private key of a curve of NIST.
    Curve(weierstrass::PrivateKey),
    /// A public key of a curve of NIST.
    CurvePublic(weierstrass::PublicKey),
    /// A private key of Ed25519.
    Ed25519(ed25519::PrivateKey),
    /// A public key of Ed25519.
    Ed25519Public(ed25519::PublicKey),
    /// A private key of X25519.
    X25519(x25519::PrivateKey),
    /// A private key of ML-KEM.
    MlKem(Box<mlkem::PrivateKey>),
    /// A public key of ML-KEM.
    MlKemPublic(Box<mlkem::PublicKey>),
    /// A private key of ML-DSA.
    MlDsa(Box<mldsa::PrivateKey>),
    /// A public key of ML-DSA.
    MlDsaPublic(Box<mldsa::PublicKey>),
    /// A private key of SLH-DSA.
    SlhDsa(Box<slhdsa::PrivateKey>),
    /// A public key of SLH-DSA.
    SlhDsaPublic(Box<slhdsa::PublicKey>),
    /// A key in the service.
    Remote(Remote),
}

impl Purpose {
    /// Refuses a key whose type the purpose does not take.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`.
    pub fn check_kind(self, kind: Kind) -> Outcome {
        let number = match kind {
            Kind::Secret(number) => number,
            _ => return demand(self == Purpose::Pair, CKR_KEY_TYPE_INCONSISTENT),
        };
        let fits = match self {
            // Java and others compute MACs with keys of AES, which have as good bytes.
            Purpose::Hmac(hash) => {
                number == hmac_type(hash) || matches!(number, CKK_GENERIC_SECRET | CKK_AES)
            }
            Purpose::Xts => number == CKK_AES_XTS,
            Purpose::ChaCha => number == CKK_CHACHA20,
            Purpose::Des3(_) => number == CKK_DES3,
            Purpose::Aes(_) | Purpose::Cmac | Purpose::Gcm | Purpose::Wrap(_) => number == CKK_AES,
            Purpose::Pair => false,
        };
        demand(fits, CKR_KEY_TYPE_INCONSISTENT)
    }
}

/// Refuses a key whose type a mechanism does not take.
fn wrong_type<T>() -> Outcome<T> {
    refuse(CKR_KEY_TYPE_INCONSISTENT)
}

impl Engine {
    /// Expands a secret or private key.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`, `CKR_KEY_SIZE_RANGE`.
    pub fn secret(features: Features, purpose: Purpose, kind: Kind, secret: &[u8]) -> Outcome<Self> {
        purpose.check_kind(kind)?;
        Ok(match purpose {
            Purpose::Hmac(hash) => Engine::Hmac(HmacKey::new(features, hash, secret)),
            Purpose::Xts => Engine::Xts(Box::new(aes::Xts::new(features, secret)?)),
            Purpose::ChaCha => Engine::ChaCha(ChaCha20Poly1305::new(features, secret)?),
            Purpose::Des3(true) => Engine::Des3Cbc(des::Cbc::new(features, secret)?),
            Purpose::Des3(false) => Engine::Des3Ecb(des::Ecb::new(features, secret)?),
            Purpose::Aes(AesMode::Ecb) => Engine::Ecb(aes::Ecb::new(features, secret)?),
            Purpose::Aes(AesMode::Cbc) => Engine::Cbc(aes::Cbc::new(features, secret)?),
            Purpose::Aes(AesMode::Ctr) => Engine::Ctr(aes::Ctr::new(features, secret)?),
            Purpose::Cmac => Engine::Cmac(aes::Cmac::new(features, secret)?),
            Purpose::Gcm => Engine::Gcm(Box::new(Gcm::new(features, secret)?)),
            Purpose::Wrap(form) => Engine::Wrap(KeyWrap::new(features, form, secret)?),
            Purpose::Pair => return Engine::private(features, kind, secret),
        })
    }

    fn private(features: Features, kind: Kind, secret: &[u8]) -> Outcome<Self> {
        Ok(match kind {
            Kind::Rsa => Engine::Rsa(rsa::PrivateKey::from_pkcs1(features, secret)?),
            Kind::Curve(curve) => Engine::Curve(weierstrass::PrivateKey::new(features, curve, secret)?),
            Kind::Ed25519 => Engine::Ed25519(ed25519::PrivateKey::new(features, secret)?),
            Kind::X25519 => Engine::X25519(x25519::PrivateKey::new(features, secret)?),
            Kind::MlKem(set) => Engine::MlKem(Box::new(mlkem::PrivateKey::new(features, set, secret)?)),
            Kind::MlDsa(set) => Engine::MlDsa(Box::new(mldsa::PrivateKey::new(features, set, secret)?)),
            Kind::SlhDsa(set) => Engine::SlhDsa(Box::new(slhdsa::PrivateKey::new(features, set, secret)?)),
            Kind::Secret(_) => return wrong_type(),
        })
    }

    /// Takes a public key up.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`.
    pub fn public(features: Features, purpose: Purpose, attributes: &Attributes) -> Outcome<Self> {
        demand(purpose == Purpose::Pair, CKR_KEY_TYPE_INCONSISTENT)?;
        let value = |kind| attributes.get(kind).ok_or(Refusal(CKR_KEY_TYPE_INCONSISTENT));
        Ok(match Kind::of(attributes)? {
            Kind::Rsa => {
                let (modulus, exponent) = (value(CKA_MODULUS)?, value(CKA_PUBLIC_EXPONENT)?);
                Engine::RsaPublic(rsa::PublicKey::new(features, modulus, exponent)?)
            }
            Kind::Curve(curve) => {
                let point = point_of(curve, value(CKA_EC_POINT)?);
                Engine::CurvePublic(weierstrass::PublicKey::new(features, curve, &point)?)
            }
            Kind::Ed25519 => {
                let point = der::point(value(CKA_EC_POINT)?, &[32]);
                Engine::Ed25519Public(ed25519::PublicKey::new(features, &point)?)
            }
            Kind::MlKem(set) => {
                Engine::MlKemPublic(Box::new(mlkem::PublicKey::new(features, set, value(CKA_VALUE)?)?))
            }
            Kind::MlDsa(set) => {
                Engine::MlDsaPublic(Box::new(mldsa::PublicKey::new(features, set, value(CKA_VALUE)?)?))
            }
            Kind::SlhDsa(set) => {
                Engine::SlhDsaPublic(Box::new(slhdsa::PublicKey::new(features, set, value(CKA_VALUE)?)?))
            }
            Kind::X25519 | Kind::Secret(_) => return wrong_type(),
        })
    }

    /// Takes whole blocks through a block mode; `chain` is as long as the mode's initialisation vector.
    ///
    /// # Errors
    /// Those of the service, for a key there.
    pub fn pass(&self, direction: Direction, chain: &mut [u8], data: &mut [u8]) -> Outcome {
        if let Engine::Remote(key) = self {
            return key.pass(direction, chain, data);
        }
        let data = InOut::in_place(data);
        match self {
            Engine::Ecb(mode) => mode.pass(direction, chain, data),
            Engine::Cbc(mode) => mode.pass(direction, chain, data),
            Engine::Des3Ecb(mode) => mode.pass(direction, chain, data),
            Engine::Des3Cbc(mode) => mode.pass(direction, chain, data),
            _ => return wrong_type(),
        }
        Ok(())
    }

    /// Returns the AEAD.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT` for another engine.
    pub fn seal(&self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> Outcome<[u8; 16]> {
        let mut tag = [0; 16];
        if let Engine::Remote(key) = self {
            return key.seal(nonce, aad, data);
        }
        let data = InOut::in_place(data);
        match self {
            Engine::Gcm(gcm) => gcm.seal(nonce, aad, data, &mut tag)?,
            Engine::ChaCha(chacha) => chacha.seal(nonce, aad, data, &mut tag)?,
            _ => return wrong_type(),
        }
        Ok(tag)
    }

    /// Opens in place.
    ///
    /// # Errors
    /// `CKR_AEAD_DECRYPT_FAILED` for a wrong tag; the data is ciphertext again then.
    pub fn open(&self, nonce: &[u8], aad: &[u8], data: &mut [u8], tag: &[u8]) -> Outcome {
        if let Engine::Remote(key) = self {
            return key.open(nonce, aad, data, tag);
        }
        let data = InOut::in_place(data);
        match self {
            Engine::Gcm(gcm) => gcm.open_cut(nonce, aad, data, tag, tag.len())?,
            Engine::ChaCha(chacha) => {
                let tag = tag.try_into().map_err(|_| Refusal(CKR_MECHANISM_PARAM_INVALID))?;
                chacha.open(nonce, aad, data, tag)?;
            }
            _ => return wrong_type(),
        }
        Ok(())
    }
}

/// Returns the point of a curve in an attribute or a parameter.
pub fn point_of(curve: Curve, value: &[u8]) -> Vec<u8> {
    der::point(value, &[1 + 2 * curve.bytes(), 1 + curve.bytes()])
}

/// Returns the type of keys that are for HMAC with a hash alone.
pub fn hmac_type(hash: Hash) -> CK_KEY_TYPE {
    match hash {
        Hash::Md5 => CKK_MD5_HMAC,
        Hash::Sha1 => CKK_SHA_1_HMAC,
        Hash::Sha224 => CKK_SHA224_HMAC,
        Hash::Sha256 => CKK_SHA256_HMAC,
        Hash::Sha384 => CKK_SHA384_HMAC,
        Hash::Sha512 => CKK_SHA512_HMAC,
        Hash::Sha512_256 => CKK_SHA512_256_HMAC,
        Hash::Sha3_224 => CKK_SHA3_224_HMAC,
        Hash::Sha3_256 => CKK_SHA3_256_HMAC,
        Hash::Sha3_384 => CKK_SHA3_384_HMAC,
        Hash::Sha3_512 => CKK_SHA3_512_HMAC,
    }
}
