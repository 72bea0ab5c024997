//! The parameters of mechanisms, read from the program's structures and checked.
//!
//! Ref. PKCS #11 v3.2 §6.
//!
//! # Safety
//! The pointers in a parameter are the program's, with the promise that `abi` states. All structures here are plain numbers
//! and pointers, so that every pattern of bytes is one.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;

use cryptoki_sys::*;
use millstream::hash::Hash;
use millstream::publickey::rsa;

use super::hash_of;
use crate::abi::{Mechanism, pointed, structure};
use crate::refusal::{Outcome, demand, refuse};

/// The parameters of an AEAD for one object.
pub struct Aead {
    /// The nonce.
    pub nonce: Vec<u8>,
    /// The associated data.
    pub aad: Vec<u8>,
    /// The bytes of the tag.
    pub tag: usize,
}

/// The parameters of OAEP.
#[derive(Clone)]
pub struct Oaep {
    /// The hash of the label.
    pub hash: Hash,
    /// The hash in MGF1.
    pub mgf: Hash,
    /// The label.
    pub label: Vec<u8>,
}

/// The parameters of an agreement.
pub struct Agreement {
    /// The hash of the key derivation of ANSI X9.63; none for the shared secret itself.
    pub hash: Option<Hash>,
    /// The bytes that both sides add to the derivation.
    pub shared: Vec<u8>,
    /// The peer's public key.
    pub peer: Vec<u8>,
}

/// The parameters of HKDF.
pub struct Hkdf {
    /// Extract from the key.
    pub extract: bool,
    /// Expand it.
    pub expand: bool,
    /// The hash.
    pub hash: Hash,
    /// The salt: bytes, or a key.
    pub salt: Salt,
    /// The purpose.
    pub info: Vec<u8>,
}

/// The salt of HKDF.
pub enum Salt {
    /// None, or bytes.
    Bytes(Vec<u8>),
    /// The value of a key.
    Key(CK_OBJECT_HANDLE),
}

/// The parameters of PBKDF2.
pub struct Pbkdf2 {
    /// The hash in HMAC.
    pub hash: Hash,
    /// The salt.
    pub salt: Vec<u8>,
    /// The iterations.
    pub iterations: u32,
    /// The password.
    pub password: zeroize::Zeroizing<Vec<u8>>,
}

/// The parameters of Ed25519.
#[derive(Clone, Debug)]
pub enum Eddsa {
    /// Ed25519.
    Pure,
    /// Ed25519ctx.
    Context(Vec<u8>),
    /// Ed25519ph.
    Prehash(Vec<u8>),
}

/// The most iterations of PBKDF2, half a minute or so.
const MOST_ITERATIONS: CK_ULONG = 100_000_000;

/// No variable of a Linux program is at an address below this, by which structures of one length are told apart.
pub(super) const LOWEST_ADDRESS: CK_ULONG = 1 << 20;

/// The most bytes of a password. One of the two structures of PBKDF2 has an address where the other has this length.
const MOST_PASSWORD: CK_ULONG = LOWEST_ADDRESS;

/// The most bytes of associated data or of a salt.
const MOST_BYTES: usize = 64 << 20;

/// Returns an initialisation vector of `len` bytes.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn vector(mechanism: &Mechanism<'_>, len: usize) -> Outcome<Vec<u8>> {
    demand(mechanism.parameter.len() == len, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(mechanism.parameter.to_vec())
}

/// Returns the bytes of a tag that a `CK_MAC_GENERAL_PARAMS` says.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID` when it is 0 or more than `most`.
pub fn tag_len(mechanism: &Mechanism<'_>, most: usize) -> Outcome<usize> {
    // SAFETY: a number.
    let len = unsafe { mechanism.parameter::<CK_ULONG>()? };
    demand(len >= 1 && len <= most as CK_ULONG, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(len as usize)
}

/// Returns the first counter block of AES-CTR.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn counter(mechanism: &Mechanism<'_>) -> Outcome<Vec<u8>> {
    // SAFETY: the head of the file.
    let given = unsafe { mechanism.parameter::<CK_AES_CTR_PARAMS>()? };
    // The engine counts in the whole block; a shorter counter differs only where it wraps, which is not allowed.
    demand((1..=128).contains(&given.ulCounterBits), CKR_MECHANISM_PARAM_INVALID)?;
    Ok(given.cb.to_vec())
}

/// Returns the parameters of AES-GCM. The structure of version 2.20, which had no length of the vector in bits, is taken, too.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn gcm(mechanism: &Mechanism<'_>) -> Outcome<Aead> {
    #[repr(C)]
    struct Older {
        iv: *mut CK_BYTE,
        iv_len: CK_ULONG,
        aad: *mut CK_BYTE,
        aad_len: CK_ULONG,
        tag_bits: CK_ULONG,
    }
    let (iv, aad, bits) = if mechanism.parameter.len() == size_of::<Older>() {
        // SAFETY: the head of the file.
        let given = unsafe { mechanism.parameter::<Older>()? };
        ((given.iv, given.iv_len), (given.aad, given.aad_len), given.tag_bits)
    } else {
        // SAFETY: the head of the file.
        let given = unsafe { mechanism.parameter::<CK_GCM_PARAMS>()? };
        ((given.pIv, given.ulIvLen), (given.pAAD, given.ulAADLen), given.ulTagBits)
    };
    // SAFETY: the head of the file.
    let (nonce, aad) = unsafe { (pointed(iv.0, iv.1)?, pointed(aad.0, aad.1)?) };
    demand(!nonce.is_empty() && nonce.len() <= 256 && aad.len() <= MOST_BYTES, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(Aead { nonce: nonce.to_vec(), aad: aad.to_vec(), tag: gcm_tag(bits)? })
}

fn gcm_tag(bits: CK_ULONG) -> Outcome<usize> {
    match bits {
        32 | 64 | 96 | 104 | 112 | 120 | 128 => Ok(bits as usize / 8),
        _ => refuse(CKR_MECHANISM_PARAM_INVALID),
    }
}

/// Returns the parameters of ChaCha20-Poly1305.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn chacha(mechanism: &Mechanism<'_>) -> Outcome<Aead> {
    // SAFETY: the head of the file.
    let given = unsafe { mechanism.parameter::<CK_SALSA20_CHACHA20_POLY1305_PARAMS>()? };
    // SAFETY: the head of the file.
    let (nonce, aad) =
        unsafe { (pointed(given.pNonce, given.ulNonceLen)?, pointed(given.pAAD, given.ulAADLen)?) };
    demand(nonce.len() == 12 && aad.len() <= MOST_BYTES, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(Aead { nonce: nonce.to_vec(), aad: aad.to_vec(), tag: 16 })
}

/// The parameters of one message of the message interface: where its nonce is or goes, and where its tag is or goes.
pub struct Message {
    nonce: *mut CK_BYTE,
    nonce_len: usize,
    generated: Option<usize>,
    tag: *mut CK_BYTE,
    /// The bytes of the tag.
    pub tag_len: usize,
}

/// Returns the bits of a nonce that stay when the others are made; none for a nonce that is given.
fn generated(generator: CK_GENERATOR_FUNCTION, fixed_bits: CK_ULONG) -> Outcome<Option<usize>> {
    match generator {
        CKG_NO_GENERATE => Ok(None),
        CKG_GENERATE | CKG_GENERATE_RANDOM => Ok(Some(usize::try_from(fixed_bits).unwrap_or(usize::MAX))),
        _ => refuse(CKR_MECHANISM_PARAM_INVALID),
    }
}

impl Message {
    /// Reads the parameter of a message for AES-GCM or ChaCha20-Poly1305.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`; `CKR_ARGUMENTS_BAD` for NULL.
    ///
    /// # Safety
    /// The program's promise.
    pub unsafe fn read(gcm: bool, parameter: *mut c_void, len: CK_ULONG) -> Outcome<Self> {
        demand(!parameter.is_null(), CKR_ARGUMENTS_BAD)?;
        let is = |size: usize| demand(len == size as CK_ULONG, CKR_MECHANISM_PARAM_INVALID);
        let (nonce, nonce_len, generated, tag, tag_len) = if gcm {
            is(size_of::<CK_GCM_MESSAGE_PARAMS>())?;
            // SAFETY: the program's promise.
            let given = unsafe { ptr::read_unaligned(parameter.cast::<CK_GCM_MESSAGE_PARAMS>()) };
            let fixed = generated(given.ivGenerator, given.ulIvFixedBits)?;
            (given.pIv, given.ulIvLen, fixed, given.pTag, gcm_tag(given.ulTagBits)?)
        } else {
            is(size_of::<CK_SALSA20_CHACHA20_POLY1305_MSG_PARAMS>())?;
            // SAFETY: the program's promise.
            let given =
                unsafe { ptr::read_unaligned(parameter.cast::<CK_SALSA20_CHACHA20_POLY1305_MSG_PARAMS>()) };
            (given.pNonce, given.ulNonceLen, None, given.pTag, 16)
        };
        demand(!tag.is_null(), CKR_MECHANISM_PARAM_INVALID)?;
        Message { nonce, nonce_len: 0, generated, tag, tag_len }.with_nonce_of(nonce_len, gcm)
    }

    /// Takes the parameter of a wrapping with AES-GCM: a message without a place for its tag.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn of_wrapping(given: &CK_GCM_WRAP_PARAMS) -> Outcome<Self> {
        let generated = generated(given.ivGenerator, given.ulIvFixedBits)?;
        let (tag, tag_len) = (ptr::null_mut(), gcm_tag(given.ulTagBits)?);
        Message { nonce: given.pIv, nonce_len: 0, generated, tag, tag_len }.with_nonce_of(given.ulIvLen, true)
    }

    /// Checks the length of the nonce.
    fn with_nonce_of(self, nonce_len: CK_ULONG, gcm: bool) -> Outcome<Self> {
        let nonce_len = usize::try_from(nonce_len).unwrap_or(usize::MAX);
        let fits = (1..=256).contains(&nonce_len) && (gcm || nonce_len == 12);
        // A generated nonce has at least 96 random bits beside its fixed part of whole bytes.
        let fits = fits
            && self
                .generated
                .is_none_or(|fixed| fixed.is_multiple_of(8) && (fixed / 8).saturating_add(12) <= nonce_len);
        demand(fits && !self.nonce.is_null(), CKR_MECHANISM_PARAM_INVALID)?;
        Ok(Message { nonce_len, ..self })
    }

    /// Returns the nonce, which is made now and written for the program if it asked for that.
    ///
    /// # Errors
    /// `CKR_RANDOM_NO_RNG`.
    ///
    /// # Safety
    /// The program's promise.
    pub unsafe fn nonce(&self, encrypts: bool) -> Outcome<Vec<u8>> {
        // SAFETY: the program's promise.
        let mut nonce = unsafe { pointed(self.nonce, self.nonce_len as CK_ULONG)? }.to_vec();
        if let Some(fixed) = self.generated.filter(|_| encrypts) {
            millstream::random(&mut nonce[fixed / 8..])?;
            // SAFETY: the program's promise; as many bytes were read there.
            unsafe { ptr::copy_nonoverlapping(nonce.as_ptr(), self.nonce, nonce.len()) };
        }
        Ok(nonce)
    }

    /// Returns the tag that the program gives.
    ///
    /// # Safety
    /// The program's promise.
    pub unsafe fn tag(&self) -> Outcome<Vec<u8>> {
        // SAFETY: the program's promise.
        Ok(unsafe { pointed(self.tag, self.tag_len as CK_ULONG)? }.to_vec())
    }

    /// Gives the program the tag.
    ///
    /// # Safety
    /// The program's promise.
    pub unsafe fn give_tag(&self, tag: &[u8]) {
        // SAFETY: the program's promise.
        unsafe { ptr::copy_nonoverlapping(tag.as_ptr(), self.tag, self.tag_len.min(tag.len())) };
    }
}

fn mgf(number: CK_RSA_PKCS_MGF_TYPE) -> Outcome<Hash> {
    match number {
        CKG_MGF1_SHA1 => Ok(Hash::Sha1),
        CKG_MGF1_SHA224 => Ok(Hash::Sha224),
        CKG_MGF1_SHA256 => Ok(Hash::Sha256),
        CKG_MGF1_SHA384 => Ok(Hash::Sha384),
        CKG_MGF1_SHA512 => Ok(Hash::Sha512),
        CKG_MGF1_SHA3_224 => Ok(Hash::Sha3_224),
        CKG_MGF1_SHA3_256 => Ok(Hash::Sha3_256),
        CKG_MGF1_SHA3_384 => Ok(Hash::Sha3_384),
        CKG_MGF1_SHA3_512 => Ok(Hash::Sha3_512),
        _ => refuse(CKR_MECHANISM_PARAM_INVALID),
    }
}

/// Returns the parameters of PSS; `hash` is the one that the mechanism says.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn pss(mechanism: &Mechanism<'_>, hash: Option<Hash>) -> Outcome<rsa::Pss> {
    // SAFETY: the head of the file.
    let given = unsafe { mechanism.parameter::<CK_RSA_PKCS_PSS_PARAMS>()? };
    let said = hash_of(given.hashAlg)?;
    demand(hash.is_none_or(|hash| hash == said) && given.sLen <= 512, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(rsa::Pss { hash: said, mgf: mgf(given.mgf)?, salt: given.sLen as usize })
}

/// Returns the parameters of OAEP.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn oaep(mechanism: &Mechanism<'_>) -> Outcome<Oaep> {
    // SAFETY: the head of the file.
    let given = unsafe { mechanism.parameter::<CK_RSA_PKCS_OAEP_PARAMS>()? };
    // SAFETY: the head of the file.
    let label = unsafe { pointed(given.pSourceData.cast(), given.ulSourceDataLen)? };
    // Some programs leave the source 0 when there is no label.
    let sound = given.source == CKZ_DATA_SPECIFIED || given.source == 0 && label.is_empty();
    demand(sound && label.len() <= MOST_BYTES, CKR_MECHANISM_PARAM_INVALID)?;
    let (hash, mgf) = match (given.hashAlg, given.mgf) {
        // OpenSSL's provider for PKCS #11 leaves both 0 for the hash that RFC 8017 §A.2.1 has where none is named. No hash has that number.
        (0, 0) => (Hash::Sha1, Hash::Sha1),
        (hash, function) => (hash_of(hash)?, mgf(function)?),
    };
    Ok(Oaep { hash, mgf, label: label.to_vec() })
}

/// Returns the parameters of ECDH.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn agreement(mechanism: &Mechanism<'_>) -> Outcome<Agreement> {
    // SAFETY: the head of the file.
    let given = unsafe { mechanism.parameter::<CK_ECDH1_DERIVE_PARAMS>()? };
    let hash = match given.kdf {
        CKD_NULL => None,
        CKD_SHA1_KDF => Some(Hash::Sha1),
        CKD_SHA224_KDF => Some(Hash::Sha224),
        CKD_SHA256_KDF => Some(Hash::Sha256),
        CKD_SHA384_KDF => Some(Hash::Sha384),
        CKD_SHA512_KDF => Some(Hash::Sha512),
        _ => return refuse(CKR_MECHANISM_PARAM_INVALID),
    };
    // SAFETY: the head of the file.
    let (shared, peer) = unsafe {
        (
            pointed(given.pSharedData, given.ulSharedDataLen)?,
            pointed(given.pPublicData, given.ulPublicDataLen)?,
        )
    };
    let sound = (hash.is_some() || shared.is_empty()) && shared.len() <= MOST_BYTES && peer.len() <= 512;
    demand(sound, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(Agreement { hash, shared: shared.to_vec(), peer: peer.to_vec() })
}

/// Returns the parameters of HKDF.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn hkdf(mechanism: &Mechanism<'_>) -> Outcome<Hkdf> {
    // SAFETY: the head of the file.
    let given = unsafe { mechanism.parameter::<CK_HKDF_PARAMS>()? };
    let hash = hash_of(given.prfHashMechanism)?;
    // SAFETY: the head of the file.
    let info = unsafe { pointed(given.pInfo, given.ulInfoLen)? };
    let salt = match CK_ULONG::from(given.ulSaltType) {
        _ if given.bExtract == CK_FALSE => Salt::Bytes(Vec::new()),
        CKF_HKDF_SALT_NULL => Salt::Bytes(Vec::new()),
        // SAFETY: the head of the file.
        CKF_HKDF_SALT_DATA => Salt::Bytes(unsafe { pointed(given.pSalt, given.ulSaltLen)? }.to_vec()),
        CKF_HKDF_SALT_KEY => Salt::Key(given.hSaltKey),
        _ => return refuse(CKR_MECHANISM_PARAM_INVALID),
    };
    let (extract, expand) = (given.bExtract != CK_FALSE, given.bExpand != CK_FALSE);
    demand((extract || expand) && info.len() <= MOST_BYTES, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(Hkdf { extract, expand, hash, salt, info: info.to_vec() })
}

/// Returns the parameters of PBKDF2, in the structure of the versions since 2.40, or in the older one, which has a pointer to the
/// password's length where the newer one has the length: NSS sends that.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn pbkdf2(mechanism: &Mechanism<'_>) -> Outcome<Pbkdf2> {
    // SAFETY: the head of the file.
    let given = unsafe { mechanism.parameter::<CK_PKCS5_PBKD2_PARAMS2>()? };
    let hash = match given.prf {
        CKP_PKCS5_PBKD2_HMAC_SHA1 => Hash::Sha1,
        CKP_PKCS5_PBKD2_HMAC_SHA224 => Hash::Sha224,
        CKP_PKCS5_PBKD2_HMAC_SHA256 => Hash::Sha256,
        CKP_PKCS5_PBKD2_HMAC_SHA384 => Hash::Sha384,
        CKP_PKCS5_PBKD2_HMAC_SHA512 => Hash::Sha512,
        CKP_PKCS5_PBKD2_HMAC_SHA512_256 => Hash::Sha512_256,
        _ => return refuse(CKR_MECHANISM_PARAM_INVALID),
    };
    let mut password_len = given.ulPasswordLen;
    if password_len > MOST_PASSWORD {
        // SAFETY: the program's promise: what is no length is a pointer to one.
        password_len = unsafe { structure(ptr::with_exposed_provenance::<CK_ULONG>(password_len as usize))? };
        demand(password_len <= MOST_PASSWORD, CKR_MECHANISM_PARAM_INVALID)?;
    }
    // SAFETY: the head of the file.
    let (salt, password) = unsafe {
        (
            pointed(given.pSaltSourceData.cast(), given.ulSaltSourceDataLen)?,
            pointed(given.pPassword, password_len)?,
        )
    };
    let sound = given.saltSource == CKZ_SALT_SPECIFIED
        && (1..=MOST_ITERATIONS).contains(&given.iterations)
        && salt.len() <= MOST_BYTES;
    demand(sound, CKR_MECHANISM_PARAM_INVALID)?;
    let password = zeroize::Zeroizing::new(password.to_vec());
    Ok(Pbkdf2 { hash, salt: salt.to_vec(), iterations: given.iterations as u32, password })
}

/// Returns the parameters of Ed25519; none are those of the pure form.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn eddsa(mechanism: &Mechanism<'_>) -> Outcome<Eddsa> {
    if mechanism.parameter.is_empty() {
        return Ok(Eddsa::Pure);
    }
    // SAFETY: the head of the file.
    let given = unsafe { mechanism.parameter::<CK_EDDSA_PARAMS>()? };
    // SAFETY: the head of the file.
    let context = unsafe { pointed(given.pContextData, given.ulContextDataLen)? };
    demand(context.len() <= 255, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(match (given.phFlag, context) {
        (CK_FALSE, []) => Eddsa::Pure,
        (CK_FALSE, context) => Eddsa::Context(context.to_vec()),
        (_, context) => Eddsa::Prehash(context.to_vec()),
    })
}
