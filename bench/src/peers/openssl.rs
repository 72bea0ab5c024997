//! OpenSSL 3.0 (the system's, loaded at run time) and 3.6 (built from source, linked statically):
//! one harness over a table of function pointers.
//!
//! Every algorithm is fetched once and every key is set once; an object then costs what a program
//! that knows the library well pays for it.
//!
//! # Safety
//! Contexts are made by the library and used by one row only. Inputs and outputs are slices of an
//! `Io`, which are of the same length; a tag has room for 64 bytes. [`Api`] states the types of
//! `openssl/evp.h`, `openssl/kdf.h` and `openssl/params.h`.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use millstream_engines::modes::Direction;

use super::dl::Library;
use super::{Peer, Row};
use crate::case::{AAD, Algorithm, Case, Cipher, Hash, Mode};

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
    /// A text's bytes must be followed by a NUL: the library reads on to it.
    fn new(key: &'static CStr, data_type: c_uint, data: &[u8]) -> Param {
        let data_pointer = data.as_ptr().cast_mut().cast();
        Param { key: key.as_ptr(), data_type, data: data_pointer, data_size: data.len(), return_size: 0 }
    }

    const END: Param = Param { key: null(), data_type: 0, data: null_mut(), data_size: 0, return_size: 0 };
}

/// A table of the functions used, filled by the loader or by the linker.
macro_rules! api {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        #[allow(non_snake_case)]
        struct Api { $($name: unsafe extern "C" fn($($kind),*) -> $result,)* }

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

api! {
    fn OpenSSL_version(what: c_int) -> *const c_char;
    fn OSSL_PROVIDER_load(library: Ptr, name: *const c_char) -> Ptr;
    fn EVP_CIPHER_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_CIPHER_CTX_new() -> Ptr;
    fn EVP_CIPHER_CTX_set_padding(ctx: Ptr, pad: c_int) -> c_int;
    fn EVP_CIPHER_CTX_ctrl(ctx: Ptr, what: c_int, number: c_int, data: Ptr) -> c_int;
    fn EVP_CipherInit_ex2(ctx: Ptr, cipher: Ptr, key: Bytes, iv: Bytes, encrypt: c_int, params: *const Param) -> c_int;
    fn EVP_CipherUpdate(ctx: Ptr, out: *mut u8, written: *mut c_int, input: Bytes, len: c_int) -> c_int;
    fn EVP_CipherFinal_ex(ctx: Ptr, out: *mut u8, written: *mut c_int) -> c_int;
    fn EVP_MD_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_MD_CTX_new() -> Ptr;
    fn EVP_DigestInit_ex2(ctx: Ptr, digest: Ptr, params: *const Param) -> c_int;
    fn EVP_DigestUpdate(ctx: Ptr, input: Bytes, len: usize) -> c_int;
    fn EVP_DigestFinal_ex(ctx: Ptr, out: *mut u8, written: *mut c_uint) -> c_int;
    fn EVP_MAC_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_MAC_CTX_new(mac: Ptr) -> Ptr;
    fn EVP_MAC_init(ctx: Ptr, key: Bytes, len: usize, params: *const Param) -> c_int;
    fn EVP_MAC_update(ctx: Ptr, input: Bytes, len: usize) -> c_int;
    fn EVP_MAC_final(ctx: Ptr, out: *mut u8, written: *mut usize, size: usize) -> c_int;
    fn EVP_KDF_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_KDF_CTX_new(kdf: Ptr) -> Ptr;
    fn EVP_KDF_CTX_set_params(ctx: Ptr, params: *const Param) -> c_int;
    fn EVP_KDF_derive(ctx: Ptr, out: *mut u8, len: usize, params: *const Param) -> c_int;
}

/// One of the two libraries.
struct OpenSsl {
    api: &'static Api,
    name: &'static str,
}

/// The system's OpenSSL 3.
pub fn system() -> Result<Box<dyn Peer>, String> {
    let library = Library::open("libcrypto.so.3").map_err(|e| format!("openssl (system): {e}"))?;
    let api = Api::loaded(library).map_err(|e| format!("openssl (system): {e}"))?;
    Ok(Box::new(OpenSsl::new(api, "openssl-system")))
}

/// OpenSSL 3.6, where this program was built with it.
#[cfg(feature = "openssl-src")]
pub fn built() -> Result<Box<dyn Peer>, String> {
    Ok(Box::new(OpenSsl::new(Api::linked(), "openssl-3.6")))
}

/// OpenSSL 3.6, where this program was built with it.
#[cfg(not(feature = "openssl-src"))]
pub fn built() -> Result<Box<dyn Peer>, String> {
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

    fn cipher(&self, case: &Case, name: &str) -> Option<Row> {
        let api = self.api;
        let name = CString::new(name).ok()?;
        let (key, iv) = (case.key(), case.iv());
        let encrypts = (case.direction == Direction::Encrypt) as c_int;
        // SAFETY: fetched and made by the library; key and IV have the cipher's lengths.
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
        if case.algorithm == Algorithm::Rc4 {
            return Row::new("EVP Update", move |io| {
                let mut written = 0;
                // SAFETY: input and output have the same length.
                ok(unsafe {
                    let len = io.input.len() as c_int;
                    let out = io.output.as_mut_ptr();
                    (api.EVP_CipherUpdate)(ctx, out, &mut written, io.input.as_ptr(), len)
                });
            });
        }
        Row::new("EVP Init(iv) Update Final", move |io| {
            let (mut written, mut last) = (0, 0);
            // SAFETY: the key is kept; output has room for whole blocks of input.
            unsafe {
                let out = io.output.as_mut_ptr();
                ok((api.EVP_CipherInit_ex2)(ctx, null_mut(), null(), iv.as_ptr(), -1, null()));
                let len = io.input.len() as c_int;
                ok((api.EVP_CipherUpdate)(ctx, out, &mut written, io.input.as_ptr(), len));
                ok((api.EVP_CipherFinal_ex)(ctx, out.add(written as usize), &mut last));
            }
        })
    }

    fn aead(&self, case: &Case, name: &str) -> Option<Row> {
        let api = self.api;
        let name = CString::new(name).ok()?;
        let (key, iv) = (case.key(), case.iv());
        let encrypts = case.direction == Direction::Encrypt;
        // SAFETY: as in `cipher`; both AEADs take a nonce of 12 bytes by default.
        let ctx = unsafe {
            let cipher = (api.EVP_CIPHER_fetch)(null_mut(), name.as_ptr(), null());
            let ctx = (api.EVP_CIPHER_CTX_new)();
            let way = encrypts as c_int;
            ok((api.EVP_CipherInit_ex2)(ctx, cipher, key.as_ptr(), iv.as_ptr(), way, null()));
            ctx
        };
        Row::new("EVP Init(iv) Update(aad) Update Final tag", move |io| {
            let mut written = 0;
            let aad = AAD.len() as c_int;
            // SAFETY: output has the input's length, the tag more than 16 bytes.
            unsafe {
                let (out, tag) = (io.output.as_mut_ptr(), io.tag.as_mut_ptr().cast());
                ok((api.EVP_CipherInit_ex2)(ctx, null_mut(), null(), iv.as_ptr(), -1, null()));
                ok((api.EVP_CipherUpdate)(ctx, null_mut(), &mut written, AAD.as_ptr(), aad));
                let len = io.input.len() as c_int;
                ok((api.EVP_CipherUpdate)(ctx, out, &mut written, io.input.as_ptr(), len));
                if !encrypts {
                    ok((api.EVP_CIPHER_CTX_ctrl)(ctx, CTRL_AEAD_SET_TAG, 16, tag));
                }
                ok((api.EVP_CipherFinal_ex)(ctx, out.add(written as usize), &mut written));
                if encrypts {
                    ok((api.EVP_CIPHER_CTX_ctrl)(ctx, CTRL_AEAD_GET_TAG, 16, tag));
                }
            }
        })
    }

    fn digest(&self, hash: Hash) -> Option<Row> {
        let api = self.api;
        // SAFETY: fetched and made by the library; the first object is the first use.
        let (digest, ctx) = unsafe {
            let digest = (api.EVP_MD_fetch)(null_mut(), hash_name(hash).as_ptr(), null());
            (digest, (api.EVP_MD_CTX_new)())
        };
        if digest.is_null() {
            return None;
        }
        Row::new("EVP Init Update Final", move |io| {
            // SAFETY: a tag has room for the longest digest.
            unsafe {
                ok((api.EVP_DigestInit_ex2)(ctx, digest, null()));
                ok((api.EVP_DigestUpdate)(ctx, io.input.as_ptr(), io.input.len()));
                ok((api.EVP_DigestFinal_ex)(ctx, io.tag.as_mut_ptr(), null_mut()));
            }
        })
    }

    fn mac(&self, case: &Case, mac: &'static CStr, parameter: &'static CStr, value: &CStr) -> Option<Row> {
        let api = self.api;
        let key = case.key();
        let params = [Param::new(parameter, UTF8_STRING, value.to_bytes()), Param::END];
        // SAFETY: `params` and `key` outlive the call, which copies them.
        let ctx = unsafe {
            let mac = (api.EVP_MAC_fetch)(null_mut(), mac.as_ptr(), null());
            let ctx = (api.EVP_MAC_CTX_new)(mac);
            ok((api.EVP_MAC_init)(ctx, key.as_ptr(), key.len(), params.as_ptr()));
            ctx
        };
        Row::new("EVP_MAC init update final", move |io| {
            let mut written = 0;
            // SAFETY: no key means the same key; the tag has room for 64 bytes.
            unsafe {
                ok((api.EVP_MAC_init)(ctx, null(), 0, null()));
                ok((api.EVP_MAC_update)(ctx, io.input.as_ptr(), io.input.len()));
                ok((api.EVP_MAC_final)(ctx, io.tag.as_mut_ptr(), &mut written, io.tag.len()));
            }
        })
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

impl Peer for OpenSsl {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> String {
        version_of(self.api)
    }

    fn row(&self, case: &Case, _size: usize) -> Option<Row> {
        match case.algorithm {
            Algorithm::Cipher(cipher, mode) => {
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
                self.cipher(case, &format!("{cipher}-{mode}"))
            }
            Algorithm::Rc4 => self.cipher(case, "RC4"),
            Algorithm::Gcm(bits) => self.aead(case, &format!("AES-{bits}-GCM")),
            Algorithm::ChaCha20Poly1305 => self.aead(case, "ChaCha20-Poly1305"),
            Algorithm::Digest(hash) => self.digest(hash),
            Algorithm::Hmac(hash) => self.mac(case, c"HMAC", c"digest", hash_name(hash)),
            Algorithm::Cmac(128) => self.mac(case, c"CMAC", c"cipher", c"AES-128-CBC"),
            Algorithm::Cmac(_) => self.mac(case, c"CMAC", c"cipher", c"AES-256-CBC"),
            Algorithm::HkdfSha256 => self.hkdf(case),
            _ => None,
        }
    }
}

fn hash_name(hash: Hash) -> &'static CStr {
    match hash {
        Hash::Md5 => c"MD5",
        Hash::Sha1 => c"SHA1",
        Hash::Sha256 => c"SHA256",
        Hash::Sha512 => c"SHA512",
    }
}

fn version_of(api: &Api) -> String {
    // SAFETY: returns a static C string.
    unsafe { CStr::from_ptr((api.OpenSSL_version)(0)) }.to_string_lossy().into_owned()
}

/// A peer that fails has measured nothing.
#[inline(always)]
fn ok(result: c_int) {
    assert_eq!(result, 1, "OpenSSL refused an operation");
}
