//! Keys that are objects (`EVP_SKEY`), in versions of libcrypto that have them.
//!
//! # Safety
//! As in [`support`](super::support).
#![allow(unsafe_code, dead_code)]

use std::ffi::{CStr, c_char, c_int};
use std::mem::transmute;
use std::ptr;

use super::support::{CipherContext, Library, Object, Param, Refused, done, libcrypto, optional, version};

type Import = unsafe extern "C" fn(Object, *const c_char, *const u8, usize, *const c_char) -> Object;
type Make = unsafe extern "C" fn(Object, *const c_char, *const c_char, c_int, *const Param) -> Object;
type Generate = unsafe extern "C" fn(Object, *const c_char, *const c_char, *const Param) -> Object;
type Raw = unsafe extern "C" fn(Object, *mut *const u8, *mut usize) -> c_int;
type Name = unsafe extern "C" fn(Object) -> *const c_char;
type InitCipher =
    unsafe extern "C" fn(Object, Object, Object, *const u8, usize, c_int, *const Param) -> c_int;
type InitMac = unsafe extern "C" fn(Object, Object, *const Param) -> c_int;
type Free = unsafe extern "C" fn(Object);

/// The functions that only some versions of libcrypto have.
#[derive(Clone, Copy)]
pub struct Functions {
    import: Import,
    make: Make,
    generate: Generate,
    raw: Raw,
    provider: Name,
    id: Name,
    init_cipher: InitCipher,
    init_mac: InitMac,
    free: Free,
}

pub fn functions() -> Option<Functions> {
    let Some(import) = optional("EVP_SKEY_import_raw_key") else {
        let (major, minor) = version();
        assert!((major, minor) < (3, 5));
        println!(
            "SKIPPED secret keys: OpenSSL {major}.{minor} has none; name a newer libcrypto in MILLSTREAM_TEST_LIBCRYPTO"
        );
        return None;
    };
    let find = |name| optional(name).unwrap();
    // SAFETY: the functions of those names have those types.
    Some(unsafe {
        Functions {
            import: transmute::<Object, Import>(import),
            make: transmute::<Object, Make>(find("EVP_SKEY_import")),
            generate: transmute::<Object, Generate>(find("EVP_SKEY_generate")),
            id: transmute::<Object, Name>(find("EVP_SKEY_get0_key_id")),
            raw: transmute::<Object, Raw>(find("EVP_SKEY_get0_raw_key")),
            provider: transmute::<Object, Name>(find("EVP_SKEY_get0_provider_name")),
            init_cipher: transmute::<Object, InitCipher>(find("EVP_CipherInit_SKEY")),
            init_mac: transmute::<Object, InitMac>(find("EVP_MAC_init_SKEY")),
            free: transmute::<Object, Free>(find("EVP_SKEY_free")),
        }
    })
}

/// `OSSL_SKEYMGMT_SELECT_ALL`.
const ALL: c_int = 3;

/// An `EVP_SKEY`.
pub struct Key(Functions, pub Object);

impl Key {
    fn of(of: Functions, key: Object) -> Result<Key, Refused> {
        done(c_int::from(!key.is_null())).map(|()| Key(of, key))
    }

    /// Imports a key from bytes.
    pub fn import(of: Functions, library: &Library, kind: &CStr, bytes: &[u8]) -> Result<Key, Refused> {
        // SAFETY: bytes of the length given, and C strings.
        let key =
            unsafe { (of.import)(library.context, kind.as_ptr(), bytes.as_ptr(), bytes.len(), c"".as_ptr()) };
        Key::of(of, key)
    }

    /// Makes a key from parameters, in a provider with these properties.
    pub fn make(
        of: Functions,
        library: &Library,
        kind: &CStr,
        properties: &CStr,
        params: &[Param],
    ) -> Result<Key, Refused> {
        let params = [params, &[Param::END]].concat();
        // SAFETY: C strings and a terminated array.
        let key =
            unsafe { (of.make)(library.context, kind.as_ptr(), properties.as_ptr(), ALL, params.as_ptr()) };
        Key::of(of, key)
    }

    /// A random one.
    pub fn generate(
        of: Functions,
        library: &Library,
        kind: &CStr,
        properties: &CStr,
        params: &[Param],
    ) -> Result<Key, Refused> {
        let params = [params, &[Param::END]].concat();
        // SAFETY: as above.
        let key =
            unsafe { (of.generate)(library.context, kind.as_ptr(), properties.as_ptr(), params.as_ptr()) };
        Key::of(of, key)
    }

    /// Returns the bytes, if the key gives them out.
    pub fn bytes(&self) -> Result<Vec<u8>, Refused> {
        let (mut at, mut len) = (ptr::null(), 0);
        // SAFETY: places for both; the bytes live as long as the key.
        unsafe {
            done((self.0.raw)(self.1, &mut at, &mut len))?;
            Ok(std::slice::from_raw_parts(at, len).to_vec())
        }
    }

    fn text(&self, name: Name) -> String {
        // SAFETY: a C string that lives as long as the key, or none.
        unsafe {
            let text = name(self.1);
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        }
    }

    pub fn provider(&self) -> String {
        self.text(self.0.provider)
    }

    pub fn id(&self) -> String {
        self.text(self.0.id)
    }

    /// Begins a message under it.
    pub fn begin(
        &self,
        context: &mut CipherContext,
        cipher: Object,
        encrypt: bool,
        iv: &[u8],
    ) -> Result<(), Refused> {
        let at = if iv.is_empty() { ptr::null() } else { iv.as_ptr() };
        // SAFETY: a context, a cipher and a key that live, and a vector of the length given.
        done(unsafe {
            (self.0.init_cipher)(context.0, cipher, self.1, at, iv.len(), c_int::from(encrypt), ptr::null())
        })
    }

    /// The MAC of a message under it, by a MAC with one parameter.
    pub fn mac(
        &self,
        library: &Library,
        (name, properties): (&CStr, &CStr),
        param: Param,
        message: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let libcrypto = libcrypto();
        let params = [param, Param::END];
        // SAFETY: as above; each object is freed once.
        unsafe {
            let mac = (libcrypto.EVP_MAC_fetch)(library.context, name.as_ptr(), properties.as_ptr());
            let context = (libcrypto.EVP_MAC_CTX_new)(mac);
            let begun = done((self.0.init_mac)(context, self.1, params.as_ptr()));
            let (mut out, mut len) = ([0; 64], 0);
            let computed = begun.and_then(|()| {
                done((libcrypto.EVP_MAC_update)(context, message.as_ptr(), message.len()))?;
                done((libcrypto.EVP_MAC_final)(context, out.as_mut_ptr(), &mut len, 64))
            });
            (libcrypto.EVP_MAC_CTX_free)(context);
            (libcrypto.EVP_MAC_free)(mac);
            computed.map(|()| out[..len].to_vec())
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: it was made here.
        unsafe { (self.0.free)(self.1) }
    }
}
