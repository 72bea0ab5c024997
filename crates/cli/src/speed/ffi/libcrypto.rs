//! The part of OpenSSL 3's libcrypto that is measured.
//!
//! # Safety
//! [`Api`] states the types of `openssl/evp.h` and `openssl/params.h` of OpenSSL 3.0, which later
//! versions keep. Objects of the library are made and freed by the wrappers here, used by one thread
//! at a time (none of them is `Send`), and never null. A wrapper checks that an output has the room
//! that the library writes to.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::ptr::{NonNull, null, null_mut};

use super::{load, symbol};

type Ptr = *mut c_void;
type Bytes = *const u8;

const CTRL_AEAD_GET_TAG: c_int = 0x10;
const CTRL_AEAD_SET_TAG: c_int = 0x11;
const UTF8_STRING: c_uint = 4;

/// `OSSL_PARAM` of `openssl/core.h`.
#[repr(C)]
struct Param {
    key: *const c_char,
    data_type: c_uint,
    data: Ptr,
    data_size: usize,
    return_size: usize,
}

impl Param {
    const END: Param = Param { key: null(), data_type: 0, data: null_mut(), data_size: 0, return_size: 0 };

    fn text(key: &'static CStr, text: &CStr) -> Param {
        let data = text.as_ptr().cast_mut().cast();
        let data_size = text.count_bytes();
        Param { key: key.as_ptr(), data_type: UTF8_STRING, data, data_size, return_size: 0 }
    }
}

/// Declares a table of functions.
macro_rules! api {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {
        #[allow(non_snake_case)]
        struct Api { $($name: unsafe extern "C" fn($($argument: $kind),*) $(-> $result)?,)* }

        impl Api {
            fn loaded(library: &'static libloading::os::unix::Library) -> Result<Api, String> {
                // SAFETY: the types are those of the headers.
                Ok(Api { $($name: unsafe { symbol(library, stringify!($name))? },)* })
            }
        }
    };
}

api! {
    fn OpenSSL_version(what: c_int) -> *const c_char;
    fn OSSL_PROVIDER_load(library: Ptr, name: *const c_char) -> Ptr;
    fn ERR_clear_error();
    fn RAND_bytes(out: *mut u8, len: c_int) -> c_int;
    fn EVP_CIPHER_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_CIPHER_free(cipher: Ptr);
    fn EVP_CIPHER_get_key_length(cipher: *const c_void) -> c_int;
    fn EVP_CIPHER_get_iv_length(cipher: *const c_void) -> c_int;
    fn EVP_CIPHER_CTX_new() -> Ptr;
    fn EVP_CIPHER_CTX_free(ctx: Ptr);
    fn EVP_CIPHER_CTX_set_padding(ctx: Ptr, pad: c_int) -> c_int;
    fn EVP_CIPHER_CTX_ctrl(ctx: Ptr, what: c_int, number: c_int, data: Ptr) -> c_int;
    fn EVP_CipherInit_ex2(ctx: Ptr, cipher: Ptr, key: Bytes, iv: Bytes, way: c_int, params: *const Param) -> c_int;
    fn EVP_CipherUpdate(ctx: Ptr, out: *mut u8, written: *mut c_int, input: Bytes, len: c_int) -> c_int;
    fn EVP_CipherFinal_ex(ctx: Ptr, out: *mut u8, written: *mut c_int) -> c_int;
    fn EVP_MD_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_MD_free(digest: Ptr);
    fn EVP_MD_get_size(digest: *const c_void) -> c_int;
    fn EVP_MD_CTX_new() -> Ptr;
    fn EVP_MD_CTX_free(ctx: Ptr);
    fn EVP_DigestInit_ex2(ctx: Ptr, digest: Ptr, params: *const Param) -> c_int;
    fn EVP_DigestUpdate(ctx: Ptr, input: Bytes, len: usize) -> c_int;
    fn EVP_DigestFinal_ex(ctx: Ptr, out: *mut u8, written: *mut c_uint) -> c_int;
    fn EVP_MAC_fetch(library: Ptr, name: *const c_char, properties: *const c_char) -> Ptr;
    fn EVP_MAC_free(mac: Ptr);
    fn EVP_MAC_CTX_new(mac: Ptr) -> Ptr;
    fn EVP_MAC_CTX_free(ctx: Ptr);
    fn EVP_MAC_init(ctx: Ptr, key: Bytes, len: usize, params: *const Param) -> c_int;
    fn EVP_MAC_update(ctx: Ptr, input: Bytes, len: usize) -> c_int;
    fn EVP_MAC_final(ctx: Ptr, out: *mut u8, written: *mut usize, size: usize) -> c_int;
}

/// The loaded library.
#[derive(Clone, Copy)]
pub struct LibCrypto {
    api: &'static Api,
}

/// The longest digest, in bytes.
const MOST_DIGEST: usize = 64;

impl LibCrypto {
    /// Loads it, with the providers `default` and, for DES and RC4, `legacy`.
    ///
    /// # Errors
    /// The loader's error, or the function that is missing.
    pub fn open(name: &OsStr) -> Result<LibCrypto, String> {
        let api = Api::loaded(load(name)?).map_err(|why| format!("{why}, so it is not OpenSSL 3"))?;
        let api: &'static Api = Box::leak(Box::new(api));
        for provider in [c"default", c"legacy"] {
            // SAFETY: null is the default library context. Without the legacy provider its ciphers
            // can't be fetched.
            unsafe { (api.OSSL_PROVIDER_load)(null_mut(), provider.as_ptr()) };
        }
        Ok(LibCrypto { api })
    }

    /// Returns a version like `OpenSSL 3.0.17 1 Jul 2025`.
    pub fn version(self) -> String {
        // SAFETY: returns a static C string.
        unsafe { CStr::from_ptr((self.api.OpenSSL_version)(0)) }.to_string_lossy().into_owned()
    }

    /// Fills bytes with random ones of the thread's own generator.
    #[inline(always)]
    pub fn random(self, bytes: &mut [u8]) -> bool {
        let Ok(len) = c_int::try_from(bytes.len()) else { return false };
        // SAFETY: the room has that many bytes.
        unsafe { (self.api.RAND_bytes)(bytes.as_mut_ptr(), len) == 1 }
    }

    /// Clears the library's error about an algorithm it doesn't have.
    fn absent<T>(self) -> Option<T> {
        // SAFETY: takes nothing.
        unsafe { (self.api.ERR_clear_error)() };
        None
    }
}

/// A fetched cipher and its context.
pub struct CipherContext {
    api: &'static Api,
    cipher: NonNull<c_void>,
    ctx: NonNull<c_void>,
    key_bytes: usize,
}

impl CipherContext {
    /// Fetches the cipher. Returns none where the library doesn't have it.
    ///
    /// # Panics
    /// Panics when its initialisation vectors have more than 16 bytes.
    pub fn new(library: LibCrypto, name: &CStr) -> Option<Self> {
        let api = library.api;
        // SAFETY: `name` is a C string, null the default context.
        let cipher = NonNull::new(unsafe { (api.EVP_CIPHER_fetch)(null_mut(), name.as_ptr(), null()) });
        let Some(cipher) = cipher else { return library.absent() };
        // SAFETY: takes nothing.
        let Some(ctx) = NonNull::new(unsafe { (api.EVP_CIPHER_CTX_new)() }) else {
            // SAFETY: fetched above and used no more.
            unsafe { (api.EVP_CIPHER_free)(cipher.as_ptr()) };
            return library.absent();
        };
        // SAFETY: fetched above.
        let (key_bytes, iv_bytes) = unsafe {
            let cipher = cipher.as_ptr();
            ((api.EVP_CIPHER_get_key_length)(cipher), (api.EVP_CIPHER_get_iv_length)(cipher))
        };
        assert!((0..=16).contains(&iv_bytes), "a vector of {iv_bytes} bytes");
        Some(CipherContext { api, cipher, ctx, key_bytes: key_bytes.max(0) as usize })
    }

    /// Sets a key and begins an object under it. Padding is turned off where the cipher would pad.
    ///
    /// # Panics
    /// Panics when the key has another length than the cipher takes.
    #[inline(always)]
    pub fn start_with_key(&mut self, key: &[u8], iv: &[u8; 16], encrypts: bool, pads: bool) -> bool {
        assert_eq!(key.len(), self.key_bytes);
        let way = c_int::from(encrypts);
        // SAFETY: both pointers are the library's own, the key has the length that is read, and `new` checked
        // that at most 16 bytes of vector are.
        unsafe {
            let (cipher, ctx) = (self.cipher.as_ptr(), self.ctx.as_ptr());
            (self.api.EVP_CipherInit_ex2)(ctx, cipher, key.as_ptr(), iv.as_ptr(), way, null()) == 1
                && (!pads || (self.api.EVP_CIPHER_CTX_set_padding)(ctx, 0) == 1)
        }
    }

    /// Begins an object under the current key.
    #[inline(always)]
    pub fn start(&mut self, iv: &[u8; 16]) -> bool {
        // SAFETY: as in `start_with_key`; null keeps cipher and key, -1 the direction.
        unsafe {
            (self.api.EVP_CipherInit_ex2)(self.ctx.as_ptr(), null_mut(), null(), iv.as_ptr(), -1, null()) == 1
        }
    }

    /// Adds associated data.
    #[inline(always)]
    pub fn aad(&mut self, aad: &[u8]) -> bool {
        let mut written = 0;
        // SAFETY: null for the output says that the input is associated data.
        unsafe {
            let len = aad.len() as c_int;
            (self.api.EVP_CipherUpdate)(self.ctx.as_ptr(), null_mut(), &mut written, aad.as_ptr(), len) == 1
        }
    }

    /// Passes all of an object's data and ends it; for AEADs this comes between [`CipherContext::aad`] and
    /// the tag.
    #[inline(always)]
    pub fn pass(&mut self, input: &[u8], output: &mut [u8]) -> bool {
        assert!(input.len() == output.len() && input.len() <= c_int::MAX as usize);
        let (mut written, mut last) = (0, 0);
        // SAFETY: without padding as much is written as is read, and nothing is left at the end.
        unsafe {
            let (out, len) = (output.as_mut_ptr(), input.len() as c_int);
            (self.api.EVP_CipherUpdate)(self.ctx.as_ptr(), out, &mut written, input.as_ptr(), len) == 1
                && (self.api.EVP_CipherFinal_ex)(self.ctx.as_ptr(), out.add(written as usize), &mut last) == 1
        }
    }

    /// Returns the tag of the sealed object.
    #[inline(always)]
    pub fn tag(&mut self, tag: &mut [u8; 16]) -> bool {
        let out = tag.as_mut_ptr().cast();
        // SAFETY: 16 bytes are written.
        unsafe { (self.api.EVP_CIPHER_CTX_ctrl)(self.ctx.as_ptr(), CTRL_AEAD_GET_TAG, 16, out) == 1 }
    }

    /// Sets the tag that [`CipherContext::pass`] must verify.
    #[inline(always)]
    pub fn expect_tag(&mut self, tag: &[u8; 16]) -> bool {
        let tag = tag.as_ptr().cast_mut().cast();
        // SAFETY: 16 bytes are read.
        unsafe { (self.api.EVP_CIPHER_CTX_ctrl)(self.ctx.as_ptr(), CTRL_AEAD_SET_TAG, 16, tag) == 1 }
    }
}

impl Drop for CipherContext {
    fn drop(&mut self) {
        // SAFETY: made by the library and used no more.
        unsafe {
            (self.api.EVP_CIPHER_CTX_free)(self.ctx.as_ptr());
            (self.api.EVP_CIPHER_free)(self.cipher.as_ptr());
        }
    }
}

/// A fetched digest and its context.
pub struct DigestContext {
    api: &'static Api,
    digest: NonNull<c_void>,
    ctx: NonNull<c_void>,
}

impl DigestContext {
    /// Fetches the digest. Returns none where the library doesn't have it.
    ///
    /// # Panics
    /// Panics when it has more than 64 bytes.
    pub fn new(library: LibCrypto, name: &CStr) -> Option<Self> {
        let api = library.api;
        // SAFETY: `name` is a C string, null the default context.
        let digest = NonNull::new(unsafe { (api.EVP_MD_fetch)(null_mut(), name.as_ptr(), null()) });
        let Some(digest) = digest else { return library.absent() };
        // SAFETY: takes nothing.
        let Some(ctx) = NonNull::new(unsafe { (api.EVP_MD_CTX_new)() }) else {
            // SAFETY: fetched above and used no more.
            unsafe { (api.EVP_MD_free)(digest.as_ptr()) };
            return library.absent();
        };
        // SAFETY: fetched above.
        let bytes = unsafe { (api.EVP_MD_get_size)(digest.as_ptr()) };
        assert!((0..=MOST_DIGEST as c_int).contains(&bytes), "a digest of {bytes} bytes");
        Some(DigestContext { api, digest, ctx })
    }

    /// Computes the digest of a whole object.
    #[inline(always)]
    pub fn digest(&mut self, input: &[u8], output: &mut [u8]) -> bool {
        let (ctx, mut all, mut written) = (self.ctx.as_ptr(), [0; MOST_DIGEST], 0);
        // SAFETY: `new` checked that the digest is no longer than `all`.
        let good = unsafe {
            (self.api.EVP_DigestInit_ex2)(ctx, self.digest.as_ptr(), null()) == 1
                && (self.api.EVP_DigestUpdate)(ctx, input.as_ptr(), input.len()) == 1
                && (self.api.EVP_DigestFinal_ex)(ctx, all.as_mut_ptr(), &mut written) == 1
        };
        // The cost of so short a copy is negligible beside the digest.
        let fits = written as usize == output.len();
        if fits {
            output.copy_from_slice(&all[..output.len()]);
        }
        good && fits
    }
}

impl Drop for DigestContext {
    fn drop(&mut self) {
        // SAFETY: made by the library and used no more.
        unsafe {
            (self.api.EVP_MD_CTX_free)(self.ctx.as_ptr());
            (self.api.EVP_MD_free)(self.digest.as_ptr());
        }
    }
}

/// A fetched MAC and its context.
pub struct MacContext {
    api: &'static Api,
    mac: NonNull<c_void>,
    ctx: NonNull<c_void>,
}

impl MacContext {
    /// Fetches the MAC. Returns none where the library doesn't have it.
    pub fn new(library: LibCrypto, name: &CStr) -> Option<Self> {
        let api = library.api;
        // SAFETY: `name` is a C string, null the default context.
        let mac = NonNull::new(unsafe { (api.EVP_MAC_fetch)(null_mut(), name.as_ptr(), null()) });
        let Some(mac) = mac else { return library.absent() };
        // SAFETY: fetched above.
        let Some(ctx) = NonNull::new(unsafe { (api.EVP_MAC_CTX_new)(mac.as_ptr()) }) else {
            // SAFETY: fetched above and used no more.
            unsafe { (api.EVP_MAC_free)(mac.as_ptr()) };
            return library.absent();
        };
        Some(MacContext { api, mac, ctx })
    }

    /// Sets a key and begins a message under it. The parameter `what` (`digest`, `cipher`) names the
    /// primitive that the MAC is built on.
    #[inline(always)]
    pub fn start_with_key(&mut self, key: &[u8], what: &'static CStr, of: &CStr) -> bool {
        let params = [Param::text(what, of), Param::END];
        // SAFETY: key and parameters outlive the call, which copies them.
        unsafe { (self.api.EVP_MAC_init)(self.ctx.as_ptr(), key.as_ptr(), key.len(), params.as_ptr()) == 1 }
    }

    /// Begins a message under the current key.
    #[inline(always)]
    pub fn start(&mut self) -> bool {
        // SAFETY: no key means the same key.
        unsafe { (self.api.EVP_MAC_init)(self.ctx.as_ptr(), null(), 0, null()) == 1 }
    }

    /// Takes all of a message and ends it.
    #[inline(always)]
    pub fn mac(&mut self, input: &[u8], output: &mut [u8]) -> bool {
        let (ctx, mut written) = (self.ctx.as_ptr(), 0);
        // SAFETY: the library is told how much room there is.
        let good = unsafe {
            (self.api.EVP_MAC_update)(ctx, input.as_ptr(), input.len()) == 1
                && (self.api.EVP_MAC_final)(ctx, output.as_mut_ptr(), &mut written, output.len()) == 1
        };
        good && written == output.len()
    }
}

impl Drop for MacContext {
    fn drop(&mut self) {
        // SAFETY: made by the library and used no more.
        unsafe {
            (self.api.EVP_MAC_CTX_free)(self.ctx.as_ptr());
            (self.api.EVP_MAC_free)(self.mac.as_ptr());
        }
    }
}

/// Makes a name for the library.
pub fn c_name(name: impl Into<Vec<u8>>) -> CString {
    CString::new(name).expect("names of algorithms have no NUL")
}
