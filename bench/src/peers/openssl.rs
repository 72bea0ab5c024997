//! OpenSSL 3.0 (the system's, loaded at run time) and 3.6 (built from source, linked statically):
//! one harness over a table of function pointers.
//!
//! Every algorithm is fetched once and every key is set once. An object then costs what it costs a program
//! that knows the library well.
//!
//! # Safety
//! Contexts are made by the library, belong to one value each and are freed with it. [`Api`] states
//! the types of `openssl/evp.h`, `openssl/kdf.h` and `openssl/params.h`.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use millstream_engines::modes::Direction;

use super::dl::Library;
use super::{Peer, Row};
use crate::case::{AAD, Algorithm, Case, Cipher, Hash, Mode, Value};

type Ptr = *mut c_void;
type Bytes = *const u8;

/// `OSSL_PARAM` of `openssl/core.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Param {
    key: *const c_char,
    data_type: c_uint,
    data: Ptr,
    data_size: usize,
    return_size: usize,
}

const UTF8_STRING: c_uint = 4;
const OCTET_STRING: c_uint = 5;
const CTRL_AEAD_GET_TAG: c_int = 0x10;
const CTRL_AEAD_SET_TAG: c_int = 0x11;

impl Param {
    /// Makes a parameter. A text's bytes must be followed by a NUL, because the library reads on to it.
    fn new(key: &'static CStr, data_type: c_uint, data: &[u8]) -> Param {
        let data_pointer = data.as_ptr().cast_mut().cast();
        Param { key: key.as_ptr(), data_type, data: data_pointer, data_size: data.len(), return_size: 0 }
    }

    const END: Param = Param { key: null(), data_type: 0, data: null_mut(), data_size: 0, return_size: 0 };
}

/// Declares a table of functions, filled by the loader or by the linker.
macro_rules! api {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        #[allow(non_snake_case)]
        pub struct Api { $($name: unsafe extern "C" fn($($kind),*) -> $result,)* }

        impl Api {
            fn loaded(library: Library) -> Result<Api, String> {
                // SAFETY: the types are those of the headers.
                Ok(Api { $($name: unsafe { library.symbol(stringify!($name))? },)* })
            }

            #[cfg(feature = "openssl-src")]
            fn linked() -> Api {
                unsafe extern "C" { $(fn $name($($argument: $kind),*) -> $result;)* }
                Api { $($name,)* }
            }
        }
    };
}
pub(crate) use api;

api! {
    fn OpenSSL_version(what: c_int) -> *const c_char;
    fn OSSL_PROVIDER_load(library: Ptr, name: *const c_char) -> Ptr;
    fn EVP_CIPHER_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_CIPHER_CTX_new() -> Ptr;
    fn EVP_CIPHER_CTX_free(ctx: Ptr) -> ();
    fn EVP_CIPHER_CTX_set_padding(ctx: Ptr, pad: c_int) -> c_int;
    fn EVP_CIPHER_CTX_ctrl(ctx: Ptr, what: c_int, number: c_int, data: Ptr) -> c_int;
    fn EVP_CipherInit_ex2(ctx: Ptr, cipher: Ptr, key: Bytes, iv: Bytes, encrypt: c_int, params: *const Param) -> c_int;
    fn EVP_CipherUpdate(ctx: Ptr, out: *mut u8, written: *mut c_int, input: Bytes, len: c_int) -> c_int;
    fn EVP_CipherFinal_ex(ctx: Ptr, out: *mut u8, written: *mut c_int) -> c_int;
    fn EVP_MD_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_MD_CTX_new() -> Ptr;
    fn EVP_MD_CTX_free(ctx: Ptr) -> ();
    fn EVP_DigestInit_ex2(ctx: Ptr, digest: Ptr, params: *const Param) -> c_int;
    fn EVP_DigestUpdate(ctx: Ptr, input: Bytes, len: usize) -> c_int;
    fn EVP_DigestFinal_ex(ctx: Ptr, out: *mut u8, written: *mut c_uint) -> c_int;
    fn EVP_MAC_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_MAC_CTX_new(mac: Ptr) -> Ptr;
    fn EVP_MAC_CTX_free(ctx: Ptr) -> ();
    fn EVP_MAC_init(ctx: Ptr, key: Bytes, len: usize, params: *const Param) -> c_int;
    fn EVP_MAC_update(ctx: Ptr, input: Bytes, len: usize) -> c_int;
    fn EVP_MAC_final(ctx: Ptr, out: *mut u8, written: *mut usize, size: usize) -> c_int;
    fn EVP_KDF_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_KDF_CTX_new(kdf: Ptr) -> Ptr;
    fn EVP_KDF_CTX_set_params(ctx: Ptr, params: *const Param) -> c_int;
    fn EVP_KDF_derive(ctx: Ptr, out: *mut u8, len: usize, params: *const Param) -> c_int;
}

/// One of the two libraries.
pub struct OpenSsl {
    api: &'static Api,
    name: &'static str,
}

/// Loads the system's OpenSSL 3.
pub fn system() -> Result<OpenSsl, String> {
    let library = Library::open("libcrypto.so.3").map_err(|e| format!("openssl (system): {e}"))?;
    let api = Api::loaded(library).map_err(|e| format!("openssl (system): {e}"))?;
    Ok(OpenSsl::new(api, "openssl-system"))
}

/// Returns OpenSSL 3.6, if this program was built with it.
#[cfg(feature = "openssl-src")]
pub fn built() -> Result<OpenSsl, String> {
    Ok(OpenSsl::new(Api::linked(), "openssl-3.6"))
}

/// Returns OpenSSL 3.6, if this program was built with it.
#[cfg(not(feature = "openssl-src"))]
pub fn built() -> Result<OpenSsl, String> {
    Err("openssl-3.6: not built in; build with --features openssl-src (four minutes)".to_owned())
}

impl OpenSsl {
    fn new(api: Api, name: &'static str) -> OpenSsl {
        let api: &'static Api = Box::leak(Box::new(api));
        for provider in [c"default", c"legacy"] {
            // SAFETY: null is the default library context. Without the legacy provider DES and RC4
            // can't be fetched and have no row.
            unsafe { (api.OSSL_PROVIDER_load)(null_mut(), provider.as_ptr()) };
        }
        let version = version_of(api);
        let name = match version.split(['.', ' ']).collect::<Vec<_>>()[..] {
            ["OpenSSL", "3", "0", ..] => "openssl-3.0",
            _ => name,
        };
        OpenSsl { api, name }
    }

    /// Returns a name like `openssl-3.0`.
    pub fn family(&self) -> &'static str {
        self.name
    }

    /// Makes a cipher or AEAD in one direction, without padding, with its key set up.
    pub fn keyed_cipher(
        &self,
        name: &str,
        direction: Direction,
        key: &[u8],
        iv: &[u8],
    ) -> Option<KeyedCipher> {
        let api = self.api;
        let name = CString::new(name).ok()?;
        let encrypts = (direction == Direction::Encrypt) as c_int;
        // SAFETY: fetched and made by the library; key and IV have the cipher's lengths. Both AEADs
        // take a nonce of 12 bytes by default.
        let ctx = unsafe {
            let cipher = (api.EVP_CIPHER_fetch)(null_mut(), name.as_ptr(), null());
            if cipher.is_null() {
                return None;
            }
            let ctx = (api.EVP_CIPHER_CTX_new)();
            ok((api.EVP_CipherInit_ex2)(ctx, cipher, key.as_ptr(), iv.as_ptr(), encrypts, null()));
            (api.EVP_CIPHER_CTX_set_padding)(ctx, 0);
            ctx
        };
        Some(KeyedCipher { api, ctx, encrypts: encrypts == 1 })
    }

    /// Fetches a digest.
    pub fn fetched_digest(&self, hash: Hash) -> Option<Digest> {
        let api = self.api;
        // SAFETY: fetched and made by the library; the first object is the first use.
        let (digest, ctx) = unsafe {
            let digest = (api.EVP_MD_fetch)(null_mut(), hash_name(hash).as_ptr(), null());
            (digest, (api.EVP_MD_CTX_new)())
        };
        (!digest.is_null()).then_some(Digest { api, digest, ctx })
    }

    /// Makes an HMAC with its key set up.
    pub fn hmac(&self, hash: Hash, key: &[u8]) -> Mac {
        self.mac(c"HMAC", c"digest", hash_name(hash), key)
    }

    /// Makes an AES-CMAC with its key set up.
    pub fn cmac(&self, key: &[u8]) -> Mac {
        let cipher = if key.len() == 16 { c"AES-128-CBC" } else { c"AES-256-CBC" };
        self.mac(c"CMAC", c"cipher", cipher, key)
    }

    fn mac(&self, mac: &'static CStr, parameter: &'static CStr, value: &CStr, key: &[u8]) -> Mac {
        let api = self.api;
        let params = [Param::new(parameter, UTF8_STRING, value.to_bytes()), Param::END];
        // SAFETY: `params` and `key` outlive the call, which copies them.
        let ctx = unsafe {
            let mac = (api.EVP_MAC_fetch)(null_mut(), mac.as_ptr(), null());
            let ctx = (api.EVP_MAC_CTX_new)(mac);
            ok((api.EVP_MAC_init)(ctx, key.as_ptr(), key.len(), params.as_ptr()));
            ctx
        };
        Mac { api, ctx }
    }

    fn cipher_row(&self, case: &Case, name: &str) -> Option<Row> {
        let iv = case.iv();
        let cipher = self.keyed_cipher(name, case.direction, &case.key(), &iv)?;
        if case.algorithm == Algorithm::Rc4 {
            return Row::new("EVP Update", move |io| {
                // SAFETY: input and output have the same length.
                unsafe { cipher.update(io.input.as_ptr(), io.output.as_mut_ptr(), io.input.len()) };
            });
        }
        Row::new("EVP Init(iv) Update Final", move |io| {
            // SAFETY: as above.
            unsafe { cipher.apply(&iv, io.input.as_ptr(), io.output.as_mut_ptr(), io.input.len()) }
        })
    }

    fn aead_row(&self, case: &Case, name: &str) -> Option<Row> {
        let nonce = case.iv();
        let cipher = self.keyed_cipher(name, case.direction, &case.key(), &nonce)?;
        Row::new("EVP Init(iv) Update(aad) Update Final tag", move |io| {
            // SAFETY: input and output have the same length.
            unsafe {
                let out = io.output.as_mut_ptr();
                cipher.seal_or_open(&nonce, &AAD, io.input.as_ptr(), out, io.input.len(), io.tag);
            }
        })
    }

    fn digest_row(&self, hash: Hash) -> Option<Row> {
        let digest = self.fetched_digest(hash)?;
        Row::new("EVP Init Update Final", move |io| digest.compute(io.input, io.tag))
    }

    fn mac_row(&self, mac: Mac) -> Option<Row> {
        Row::new("EVP_MAC init update final", move |io| mac.compute(io.input, io.tag))
    }

    fn hkdf(&self, case: &Case) -> Option<Row> {
        let api = self.api;
        let (salt, info) = (case.key(), case.iv());
        let digest = [Param::new(c"digest", UTF8_STRING, c"SHA256".to_bytes()), Param::END];
        // SAFETY: `digest` and `kept` outlive the calls, which copy them.
        let ctx = unsafe {
            let kdf = (api.EVP_KDF_fetch)(null_mut(), c"HKDF".as_ptr(), null());
            let ctx = (api.EVP_KDF_CTX_new)(kdf);
            ok((api.EVP_KDF_CTX_set_params)(ctx, digest.as_ptr()));
            // Salt and info stay; only the input keying material changes from object to object.
            let kept = [
                Param::new(c"salt", OCTET_STRING, &salt),
                Param::new(c"info", OCTET_STRING, &info),
                Param::END,
            ];
            ok((api.EVP_KDF_CTX_set_params)(ctx, kept.as_ptr()));
            ctx
        };
        Row::new("EVP_KDF_derive", move |io| {
            let params = [Param::new(c"key", OCTET_STRING, io.input), Param::END];
            // SAFETY: `params` outlives the call; 32 bytes of the tag are written.
            ok(unsafe { (api.EVP_KDF_derive)(ctx, io.tag.as_mut_ptr(), 32, params.as_ptr()) });
        })
    }
}

/// A cipher or AEAD with its key.
pub struct KeyedCipher {
    api: &'static Api,
    ctx: Ptr,
    encrypts: bool,
}

impl KeyedCipher {
    /// Passes the next bytes of a stream; returns how many came out.
    ///
    /// # Safety
    /// `input` and `output` are valid for `len` bytes, and equal or disjoint.
    #[inline(always)]
    unsafe fn update(&self, input: Bytes, output: *mut u8, len: usize) -> usize {
        let mut written = 0;
        // SAFETY: the caller's.
        ok(unsafe { (self.api.EVP_CipherUpdate)(self.ctx, output, &mut written, input, len as c_int) });
        written as usize
    }

    /// Passes one object of whole blocks under its own IV.
    ///
    /// # Safety
    /// The same as for [`KeyedCipher::update`].
    #[inline(always)]
    pub unsafe fn apply(&self, iv: &[u8], input: Bytes, output: *mut u8, len: usize) {
        let (api, mut last) = (self.api, 0);
        // SAFETY: the key is kept; the rest is the caller's.
        unsafe {
            ok((api.EVP_CipherInit_ex2)(self.ctx, null_mut(), null(), iv.as_ptr(), -1, null()));
            let written = self.update(input, output, len);
            ok((api.EVP_CipherFinal_ex)(self.ctx, output.add(written), &mut last));
        }
    }

    /// Passes one object of an AEAD, whose tag is written or compared.
    ///
    /// # Safety
    /// The same as for [`KeyedCipher::update`].
    #[inline(always)]
    pub unsafe fn seal_or_open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        input: Bytes,
        output: *mut u8,
        len: usize,
        tag: &mut [u8; 64],
    ) {
        let (api, ctx, tag) = (self.api, self.ctx, tag.as_mut_ptr().cast());
        let mut last = 0;
        // SAFETY: 16 bytes of the tag are read or written; the rest is the caller's.
        unsafe {
            ok((api.EVP_CipherInit_ex2)(ctx, null_mut(), null(), nonce.as_ptr(), -1, null()));
            self.update(aad.as_ptr(), null_mut(), aad.len());
            let written = self.update(input, output, len);
            if !self.encrypts {
                ok((api.EVP_CIPHER_CTX_ctrl)(ctx, CTRL_AEAD_SET_TAG, 16, tag));
            }
            ok((api.EVP_CipherFinal_ex)(ctx, output.add(written), &mut last));
            if self.encrypts {
                ok((api.EVP_CIPHER_CTX_ctrl)(ctx, CTRL_AEAD_GET_TAG, 16, tag));
            }
        }
    }
}

impl Drop for KeyedCipher {
    fn drop(&mut self) {
        // SAFETY: ours alone.
        unsafe { (self.api.EVP_CIPHER_CTX_free)(self.ctx) }
    }
}

/// A digest and the context it is computed in.
pub struct Digest {
    api: &'static Api,
    digest: Ptr,
    ctx: Ptr,
}

impl Digest {
    #[inline(always)]
    pub fn compute(&self, input: &[u8], out: &mut [u8; 64]) {
        let api = self.api;
        // SAFETY: there is room for the longest digest.
        unsafe {
            ok((api.EVP_DigestInit_ex2)(self.ctx, self.digest, null()));
            ok((api.EVP_DigestUpdate)(self.ctx, input.as_ptr(), input.len()));
            ok((api.EVP_DigestFinal_ex)(self.ctx, out.as_mut_ptr(), null_mut()));
        }
    }
}

impl Drop for Digest {
    fn drop(&mut self) {
        // SAFETY: ours alone.
        unsafe { (self.api.EVP_MD_CTX_free)(self.ctx) }
    }
}

/// A MAC with its key.
pub struct Mac {
    api: &'static Api,
    ctx: Ptr,
}

impl Mac {
    #[inline(always)]
    pub fn compute(&self, input: &[u8], out: &mut [u8; 64]) {
        let (api, mut written) = (self.api, 0);
        // SAFETY: no key means the same key; there is room for 64 bytes.
        unsafe {
            ok((api.EVP_MAC_init)(self.ctx, null(), 0, null()));
            ok((api.EVP_MAC_update)(self.ctx, input.as_ptr(), input.len()));
            ok((api.EVP_MAC_final)(self.ctx, out.as_mut_ptr(), &mut written, out.len()));
        }
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: ours alone.
        unsafe { (self.api.EVP_MAC_CTX_free)(self.ctx) }
    }
}

impl Peer for OpenSsl {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> String {
        version_of(self.api)
    }

    fn row(&self, case: &Case, _size: usize) -> Option<Row> {
        match case.algorithm {
            Algorithm::Cipher(cipher, mode) => self.cipher_row(case, &cipher_name(cipher, mode)),
            Algorithm::Rc4 => self.cipher_row(case, "RC4"),
            Algorithm::Gcm(bits) => self.aead_row(case, &gcm_name(bits)),
            Algorithm::ChaCha20Poly1305 => self.aead_row(case, CHACHA20_POLY1305),
            Algorithm::Value(Value::GcmSiv) => self.aead_row(case, AES_256_GCM_SIV),
            Algorithm::Digest(hash) => self.digest_row(hash),
            Algorithm::Hmac(hash) => self.mac_row(self.hmac(hash, &case.key())),
            Algorithm::Cmac(_) => self.mac_row(self.cmac(&case.key())),
            Algorithm::HkdfSha256 => self.hkdf(case),
            _ => None,
        }
    }
}

/// Returns the name by which a cipher in a mode is fetched.
pub fn cipher_name(cipher: Cipher, mode: Mode) -> String {
    let cipher = match cipher {
        Cipher::Aes(bits) => format!("AES-{bits}"),
        Cipher::Camellia(bits) => format!("CAMELLIA-{bits}"),
        Cipher::Des => "DES".to_owned(),
        Cipher::Tdes => "DES-EDE3".to_owned(),
    };
    let mode = match mode {
        Mode::Ecb => "ECB",
        Mode::Cbc => "CBC",
        Mode::Ctr => "CTR",
        Mode::Cfb => "CFB",
        Mode::Xts => "XTS",
    };
    format!("{cipher}-{mode}")
}

pub fn gcm_name(bits: usize) -> String {
    format!("AES-{bits}-GCM")
}

pub const CHACHA20_POLY1305: &str = "ChaCha20-Poly1305";

/// OpenSSL has it since 3.2.
pub const AES_256_GCM_SIV: &str = "AES-256-GCM-SIV";

fn hash_name(hash: Hash) -> &'static CStr {
    match hash {
        Hash::Md5 => c"MD5",
        Hash::Sha1 => c"SHA1",
        Hash::Sha256 => c"SHA256",
        Hash::Sha512 => c"SHA512",
        Hash::Sha3_256 => c"SHA3-256",
    }
}

fn version_of(api: &Api) -> String {
    // SAFETY: returns a static C string.
    unsafe { CStr::from_ptr((api.OpenSSL_version)(0)) }.to_string_lossy().into_owned()
}

/// Checks the result of a call. A peer that fails has measured nothing.
#[inline(always)]
fn ok(result: c_int) {
    assert_eq!(result, 1, "OpenSSL refused an operation");
}
