//! Any PKCS #11 module: one session a thread, its key made once, two calls for each object.

use std::path::Path;

use cryptoki_sys::*;
use millstream_engines::hash::Hash;
use millstream_files::cipher::{Cipher, Family, Mode};

use crate::error::Error;
use crate::speed::algorithm::{Algorithm, Case};
use crate::speed::ffi::pkcs11::{Key, Mechanism, Module, Parameter, Refused, Session, Token};
use crate::speed::objects::Objects;
use crate::speed::{Prepared, Way};

const PIN: &str = "give the user's PIN with --pin or --pin-file";

/// A module and its token.
pub struct Pkcs11 {
    name: &'static str,
    path: Box<Path>,
    module: Module,
    token: Token,
    about: String,
    logged_in: bool,
}

impl Pkcs11 {
    /// Loads the module at `path` and logs in at the token of that label, or at the only one. `name` is the
    /// name of the way.
    ///
    /// # Errors
    /// [`Error::Library`] when it is not a module, there is no such token, or the PIN is wrong.
    pub fn open(
        name: &'static str,
        path: &Path,
        label: Option<&str>,
        pin: Option<&[u8]>,
    ) -> Result<Pkcs11, Error> {
        let fail = |why: String, remedy| Error::Library { path: path.into(), why, remedy };
        let module = Module::open(path.as_os_str()).map_err(|why| {
            fail(why, "name a PKCS #11 module, as in --pkcs11 /usr/lib/softhsm/libsofthsm2.so")
        })?;
        let refused = |why: Refused| fail(why.to_string(), "check it with pkcs11-tool");
        let mut tokens = module.tokens().map_err(refused)?;
        let labels: Vec<String> = tokens.iter().map(|token| format!("'{}'", token.label)).collect();
        let labels = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
        let found = match label {
            Some(label) => tokens.iter().position(|token| token.label == label),
            None => (tokens.len() == 1).then_some(0),
        };
        let Some(found) = found else {
            let remedy = match tokens.is_empty() {
                true => "initialise one, as with softhsm2-util --init-token",
                false => "name one with --token",
            };
            let why = match label {
                Some(label) => format!("it has no token '{label}'; tokens: {labels}"),
                None => format!("it does not have exactly one token; tokens: {labels}"),
            };
            return Err(fail(why, remedy));
        };
        let token = tokens.swap_remove(found);
        if let Some(pin) = pin {
            let wrong = |why: Refused| fail(why.to_string(), PIN);
            module.login(&token, pin).map_err(wrong)?;
        }
        let about = format!("{}, token '{}' ({})", module.description(), token.label, path.display());
        Ok(Pkcs11 { name, path: path.into(), module, token, about, logged_in: pin.is_some() })
    }

    fn failed(&self, why: Refused) -> Error {
        let remedy = if why.is_for_want_of_login() { PIN } else { "leave the module or this algorithm out" };
        Error::Library { path: self.path.clone(), why: why.to_string(), remedy }
    }

    fn has(&self, mechanism: Mechanism, uses: CK_FLAGS) -> bool {
        self.module.has(&self.token, mechanism.kind, uses)
    }

    /// Opens a session and makes a key in it.
    fn keyed(&self, kind: CK_KEY_TYPE, key: &[u8], signs: bool) -> Result<(Session, Key), Error> {
        if self.token.asks_for_pin && !self.logged_in {
            let why = format!("token '{}' asks for a PIN", self.token.label);
            return Err(Error::Library { path: self.path.clone(), why, remedy: PIN });
        }
        let session = self.module.session(&self.token).map_err(|why| self.failed(why))?;
        let key = session.key(kind, key, signs).map_err(|why| self.failed(why))?;
        Ok((session, key))
    }
}

impl Way for Pkcs11 {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> Option<String> {
        Some(self.about.clone())
    }

    fn prepare(&self, case: &Case, objects: &mut Objects, _: usize) -> Result<Option<Prepared>, Error> {
        let prepared = match case.algorithm {
            Algorithm::Cipher(cipher) => self.cipher(case, cipher, objects)?,
            Algorithm::CipherMac(cipher, hash) if !case.decrypts() => self.chained(case, cipher, hash)?,
            Algorithm::Digest(hash) => self.digest(hash)?,
            Algorithm::Hmac(hash) => self.mac(hmac(hash), CKK_GENERIC_SECRET, case)?,
            Algorithm::Cmac(_) => {
                let cmac = Mechanism { kind: CKM_AES_CMAC, parameter: Parameter::None };
                self.mac(cmac, CKK_AES, case)?
            }
            _ => None,
        };
        // A token may list a mechanism that the library under it refuses, such as DES with OpenSSL 3.
        Ok(prepared.and_then(|mut way| way.runner.run(objects, 0..1, 1).then_some(way)))
    }
}

impl Pkcs11 {
    fn cipher(&self, case: &Case, cipher: Cipher, objects: &Objects) -> Result<Option<Prepared>, Error> {
        let uses = if case.decrypts() { CKF_DECRYPT } else { CKF_ENCRYPT };
        let Some(mechanism) = cipher_mechanism(cipher).filter(|m| self.has(*m, uses)) else {
            return Ok(None);
        };
        let (session, key) = self.keyed(key_type(cipher), &case.algorithm.key(), false)?;
        if !case.decrypts() {
            return Ok(Some(Prepared::each("C_EncryptInit C_Encrypt", move |io| {
                session.encrypt(mechanism, key, io.iv, io.input, io.result) == Some(io.result.len())
            })));
        }
        if !cipher.is_aead() {
            return Ok(Some(Prepared::each("C_DecryptInit C_Decrypt", move |io| {
                session.decrypt(mechanism, key, io.iv, io.input, io.result) == Some(io.result.len())
            })));
        }
        // Tokens want room for the tag too.
        let longest = (0..objects.len()).map(|i| objects.input(i).len()).max().unwrap_or(0);
        let mut room = vec![0; longest];
        Ok(Some(Prepared::each("C_DecryptInit C_Decrypt copy", move |io| {
            let len = io.result.len();
            let done = session.decrypt(mechanism, key, io.iv, io.input, &mut room) == Some(len);
            io.result.copy_from_slice(&room[..len]);
            done
        })))
    }

    fn chained(&self, case: &Case, cipher: Cipher, hash: Hash) -> Result<Option<Prepared>, Error> {
        let Some(mechanism) = cipher_mechanism(cipher) else { return Ok(None) };
        let mac = hmac(hash);
        if !self.has(mechanism, CKF_ENCRYPT) || !self.has(mac, CKF_SIGN) {
            return Ok(None);
        }
        let (session, key) = self.keyed(key_type(cipher), &case.algorithm.key(), false)?;
        let mac_key = session.key(CKK_GENERIC_SECRET, &case.algorithm.mac_key(), true);
        let mac_key = mac_key.map_err(|why| self.failed(why))?;
        Ok(Some(Prepared::each("C_Encrypt C_Sign", move |io| {
            let (data, tag) = io.result.split_at_mut(io.input.len());
            session.encrypt(mechanism, key, io.iv, io.input, data) == Some(data.len())
                && session.sign(mac, mac_key, io.iv, data, tag) == Some(tag.len())
        })))
    }

    fn digest(&self, hash: Hash) -> Result<Option<Prepared>, Error> {
        let mechanism = digest_mechanism(hash);
        if !self.has(mechanism, CKF_DIGEST) {
            return Ok(None);
        }
        let session = self.module.session(&self.token).map_err(|why| self.failed(why))?;
        Ok(Some(Prepared::each("C_DigestInit C_Digest", move |io| {
            session.digest(mechanism, io.iv, io.input, io.result) == Some(io.result.len())
        })))
    }

    fn mac(&self, mechanism: Mechanism, kind: CK_KEY_TYPE, case: &Case) -> Result<Option<Prepared>, Error> {
        if !self.has(mechanism, CKF_SIGN) {
            return Ok(None);
        }
        let (session, key) = self.keyed(kind, &case.algorithm.key(), true)?;
        Ok(Some(Prepared::each("C_SignInit C_Sign", move |io| {
            session.sign(mechanism, key, io.iv, io.input, io.result) == Some(io.result.len())
        })))
    }
}

fn key_type(cipher: Cipher) -> CK_KEY_TYPE {
    match cipher.family() {
        Family::Aes => CKK_AES,
        Family::Camellia => CKK_CAMELLIA,
        // PKCS #11 has no mechanism of SM4, so no module is asked for such a key.
        Family::Sm4 => CKK_VENDOR_DEFINED,
        Family::Des => CKK_DES,
        Family::TripleDes if cipher.default_key_bytes() == 16 => CKK_DES2,
        Family::TripleDes => CKK_DES3,
        Family::Rc4 => CKK_RC4,
        Family::ChaCha20Poly1305 => CKK_CHACHA20,
    }
}

/// Returns the mechanisms whose parameters modules agree on.
fn cipher_mechanism(cipher: Cipher) -> Option<Mechanism> {
    let kind = match (cipher.family(), cipher.mode()) {
        (Family::Aes, Mode::Ecb) => CKM_AES_ECB,
        (Family::Aes, Mode::Cbc) => CKM_AES_CBC,
        (Family::Aes, Mode::Ctr) => CKM_AES_CTR,
        (Family::Aes, Mode::Cfb) => CKM_AES_CFB128,
        (Family::Aes, Mode::Gcm) => CKM_AES_GCM,
        (Family::Camellia, Mode::Ecb) => CKM_CAMELLIA_ECB,
        (Family::Camellia, Mode::Cbc) => CKM_CAMELLIA_CBC,
        (Family::Des, Mode::Ecb) => CKM_DES_ECB,
        (Family::Des, Mode::Cbc) => CKM_DES_CBC,
        (Family::TripleDes, Mode::Ecb) => CKM_DES3_ECB,
        (Family::TripleDes, Mode::Cbc) => CKM_DES3_CBC,
        (Family::Rc4, _) => CKM_RC4,
        _ => return None,
    };
    let parameter = match cipher.mode() {
        Mode::Gcm => Parameter::Gcm,
        Mode::Ctr => Parameter::Counter,
        _ if cipher.iv_bytes() == 0 => Parameter::None,
        _ => Parameter::Iv(cipher.iv_bytes()),
    };
    Some(Mechanism { kind, parameter })
}

fn digest_mechanism(hash: Hash) -> Mechanism {
    let kind = match hash {
        Hash::Md5 => CKM_MD5,
        Hash::Sha1 => CKM_SHA_1,
        Hash::Sha224 => CKM_SHA224,
        Hash::Sha256 => CKM_SHA256,
        Hash::Sha384 => CKM_SHA384,
        Hash::Sha512 => CKM_SHA512,
        Hash::Sha512_256 => CKM_SHA512_256,
        Hash::Sha3_224 => CKM_SHA3_224,
        Hash::Sha3_256 => CKM_SHA3_256,
        Hash::Sha3_384 => CKM_SHA3_384,
        Hash::Sha3_512 => CKM_SHA3_512,
    };
    Mechanism { kind, parameter: Parameter::None }
}

fn hmac(hash: Hash) -> Mechanism {
    let kind = match hash {
        Hash::Md5 => CKM_MD5_HMAC,
        Hash::Sha1 => CKM_SHA_1_HMAC,
        Hash::Sha224 => CKM_SHA224_HMAC,
        Hash::Sha256 => CKM_SHA256_HMAC,
        Hash::Sha384 => CKM_SHA384_HMAC,
        Hash::Sha512 => CKM_SHA512_HMAC,
        Hash::Sha512_256 => CKM_SHA512_256_HMAC,
        Hash::Sha3_224 => CKM_SHA3_224_HMAC,
        Hash::Sha3_256 => CKM_SHA3_256_HMAC,
        Hash::Sha3_384 => CKM_SHA3_384_HMAC,
        Hash::Sha3_512 => CKM_SHA3_512_HMAC,
    };
    Mechanism { kind, parameter: Parameter::None }
}
