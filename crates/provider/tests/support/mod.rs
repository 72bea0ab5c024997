//! The shared part of the provider's tests: a real libcrypto, with the built module loaded into contexts of it.
//!
//! Nothing is linked: `MILLSTREAM_TEST_LIBCRYPTO` names the libcrypto to test against, which is the system's `libcrypto.so.3`
//! without it. So the same tests run against every version.
//!
//! # Safety
//! Functions of libcrypto are called as its manual says, on objects that the types here own: each frees in `drop` what its
//! constructor made, and none outlives the library, which is never closed.
#![allow(unsafe_code, dead_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Once, OnceLock};

/// The functions of libcrypto.
macro_rules! libcrypto {
    ($($name:ident: fn($($type:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of libcrypto.
        #[allow(non_snake_case)]
        pub struct Libcrypto {
            $(pub $name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Libcrypto {
            fn load(handle: *mut c_void) -> Self {
                Libcrypto {
                    // SAFETY: the symbol of that name has that type.
                    $($name: unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(symbol(handle, stringify!($name))) },)*
                }
            }
        }
    };
}

/// Something of libcrypto's, by its address.
pub type Object = *mut c_void;
type Bytes = *const u8;
type BytesMut = *mut u8;

libcrypto! {
    OpenSSL_version_num: fn() -> c_ulong;
    ERR_get_error: fn() -> c_ulong;
    ERR_peek_error: fn() -> c_ulong;
    ERR_peek_error_all: fn(*mut *const c_char, *mut c_int, *mut *const c_char, *mut *const c_char, *mut c_int) -> c_ulong;
    ERR_clear_error: fn();
    ERR_error_string_n: fn(c_ulong, *mut c_char, usize);
    OSSL_LIB_CTX_new: fn() -> Object;
    OSSL_LIB_CTX_free: fn(Object);
    OSSL_LIB_CTX_load_config: fn(Object, *const c_char) -> c_int;
    OSSL_PROVIDER_set_default_search_path: fn(Object, *const c_char) -> c_int;
    OSSL_PROVIDER_load: fn(Object, *const c_char) -> Object;
    OSSL_PROVIDER_unload: fn(Object) -> c_int;
    OSSL_PROVIDER_get_capabilities: fn(Object, *const c_char, unsafe extern "C" fn(*const Param, *mut c_void) -> c_int, *mut c_void) -> c_int;
    EVP_CIPHER_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_CIPHER_free: fn(Object);
    EVP_CIPHER_get_key_length: fn(Object) -> c_int;
    EVP_CIPHER_get_iv_length: fn(Object) -> c_int;
    EVP_CIPHER_get_block_size: fn(Object) -> c_int;
    EVP_CIPHER_get_mode: fn(Object) -> c_int;
    EVP_CIPHER_get_flags: fn(Object) -> c_ulong;
    EVP_CIPHER_get_nid: fn(Object) -> c_int;
    EVP_CIPHER_get_params: fn(Object, *mut Param) -> c_int;
    EVP_CIPHER_gettable_ctx_params: fn(Object) -> *const Param;
    EVP_CIPHER_settable_ctx_params: fn(Object) -> *const Param;
    EVP_CIPHER_is_a: fn(Object, *const c_char) -> c_int;
    EVP_CIPHER_CTX_new: fn() -> Object;
    EVP_CIPHER_CTX_free: fn(Object);
    EVP_CIPHER_CTX_copy: fn(Object, Object) -> c_int;
    EVP_CIPHER_CTX_set_key_length: fn(Object, c_int) -> c_int;
    EVP_CIPHER_CTX_set_padding: fn(Object, c_int) -> c_int;
    EVP_CIPHER_CTX_rand_key: fn(Object, BytesMut) -> c_int;
    EVP_CIPHER_CTX_ctrl: fn(Object, c_int, c_int, *mut c_void) -> c_int;
    EVP_CIPHER_CTX_get_params: fn(Object, *mut Param) -> c_int;
    EVP_CIPHER_CTX_set_params: fn(Object, *const Param) -> c_int;
    EVP_CipherInit_ex2: fn(Object, Object, Bytes, Bytes, c_int, *const Param) -> c_int;
    EVP_CipherUpdate: fn(Object, BytesMut, *mut c_int, Bytes, c_int) -> c_int;
    EVP_CipherFinal_ex: fn(Object, BytesMut, *mut c_int) -> c_int;
    EVP_Cipher: fn(Object, BytesMut, Bytes, c_uint) -> c_int;
    EVP_MD_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_MD_free: fn(Object);
    EVP_MD_CTX_new: fn() -> Object;
    EVP_MD_CTX_free: fn(Object);
    EVP_MD_CTX_copy_ex: fn(Object, Object) -> c_int;
    EVP_DigestInit_ex2: fn(Object, Object, *const Param) -> c_int;
    EVP_DigestUpdate: fn(Object, Bytes, usize) -> c_int;
    EVP_DigestFinal_ex: fn(Object, BytesMut, *mut c_uint) -> c_int;
    EVP_DigestFinalXOF: fn(Object, BytesMut, usize) -> c_int;
    EVP_MD_CTX_set_params: fn(Object, *const Param) -> c_int;
    EVP_Digest: fn(Bytes, usize, BytesMut, *mut c_uint, Object, Object) -> c_int;
    EVP_MD_get_params: fn(Object, *mut Param) -> c_int;
    EVP_MAC_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_MAC_free: fn(Object);
    EVP_MAC_CTX_new: fn(Object) -> Object;
    EVP_MAC_CTX_free: fn(Object);
    EVP_MAC_CTX_dup: fn(Object) -> Object;
    EVP_MAC_CTX_get_params: fn(Object, *mut Param) -> c_int;
    EVP_MAC_CTX_set_params: fn(Object, *const Param) -> c_int;
    EVP_MAC_CTX_get_mac_size: fn(Object) -> usize;
    EVP_MAC_init: fn(Object, Bytes, usize, *const Param) -> c_int;
    EVP_MAC_update: fn(Object, Bytes, usize) -> c_int;
    EVP_MAC_final: fn(Object, BytesMut, *mut usize, usize) -> c_int;
    EVP_KDF_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_KDF_free: fn(Object);
    EVP_KDF_CTX_new: fn(Object) -> Object;
    EVP_KDF_CTX_free: fn(Object);
    EVP_KDF_CTX_dup: fn(Object) -> Object;
    EVP_KDF_CTX_reset: fn(Object);
    EVP_KDF_CTX_get_params: fn(Object, *mut Param) -> c_int;
    EVP_KDF_CTX_set_params: fn(Object, *const Param) -> c_int;
    EVP_KDF_derive: fn(Object, BytesMut, usize, *const Param) -> c_int;
    EVP_set_default_properties: fn(Object, *const c_char) -> c_int;
    EVP_PKEY_free: fn(Object);
    EVP_PKEY_eq: fn(Object, Object) -> c_int;
    EVP_PKEY_dup: fn(Object) -> Object;
    EVP_PKEY_get0_provider: fn(Object) -> Object;
    OSSL_PROVIDER_get0_name: fn(Object) -> *const c_char;
    EVP_PKEY_get_params: fn(Object, *mut Param) -> c_int;
    EVP_PKEY_set_params: fn(Object, *mut Param) -> c_int;
    EVP_PKEY_CTX_new_from_name: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_PKEY_CTX_new_from_pkey: fn(Object, Object, *const c_char) -> Object;
    EVP_PKEY_CTX_free: fn(Object);
    EVP_PKEY_CTX_set_params: fn(Object, *const Param) -> c_int;
    EVP_PKEY_CTX_get_params: fn(Object, *mut Param) -> c_int;
    EVP_PKEY_keygen_init: fn(Object) -> c_int;
    EVP_PKEY_generate: fn(Object, *mut Object) -> c_int;
    EVP_PKEY_fromdata_init: fn(Object) -> c_int;
    EVP_PKEY_fromdata: fn(Object, *mut Object, c_int, *mut Param) -> c_int;
    EVP_PKEY_pairwise_check: fn(Object) -> c_int;
    EVP_PKEY_check: fn(Object) -> c_int;
    EVP_PKEY_public_check: fn(Object) -> c_int;
    EVP_PKEY_private_check: fn(Object) -> c_int;
    EVP_PKEY_param_check: fn(Object) -> c_int;
    EVP_PKEY_parameters_eq: fn(Object, Object) -> c_int;
    EVP_PKEY_paramgen_init: fn(Object) -> c_int;
    EVP_PKEY_set1_encoded_public_key: fn(Object, Bytes, usize) -> c_int;
    EVP_PKEY_CTX_dup: fn(Object) -> Object;
    EVP_PKEY_verify_init: fn(Object) -> c_int;
    EVP_PKEY_verify: fn(Object, Bytes, usize, Bytes, usize) -> c_int;
    EVP_PKEY_verify_recover_init: fn(Object) -> c_int;
    EVP_PKEY_verify_recover: fn(Object, BytesMut, *mut usize, Bytes, usize) -> c_int;
    EVP_PKEY_encrypt_init: fn(Object) -> c_int;
    EVP_PKEY_encrypt: fn(Object, BytesMut, *mut usize, Bytes, usize) -> c_int;
    EVP_PKEY_decrypt_init: fn(Object) -> c_int;
    EVP_PKEY_decrypt: fn(Object, BytesMut, *mut usize, Bytes, usize) -> c_int;
    EVP_PKEY_encapsulate_init: fn(Object, *const Param) -> c_int;
    EVP_PKEY_encapsulate: fn(Object, BytesMut, *mut usize, BytesMut, *mut usize) -> c_int;
    EVP_PKEY_decapsulate_init: fn(Object, *const Param) -> c_int;
    EVP_PKEY_decapsulate: fn(Object, BytesMut, *mut usize, Bytes, usize) -> c_int;
    EVP_PKEY_CTX_set_kem_op: fn(Object, *const c_char) -> c_int;
    EVP_DigestSignUpdate: fn(Object, Bytes, usize) -> c_int;
    EVP_DigestSignFinal: fn(Object, BytesMut, *mut usize) -> c_int;
    EVP_DigestVerifyUpdate: fn(Object, Bytes, usize) -> c_int;
    EVP_DigestVerifyFinal: fn(Object, Bytes, usize) -> c_int;
    EVP_PKEY_derive_init: fn(Object) -> c_int;
    EVP_PKEY_derive_set_peer: fn(Object, Object) -> c_int;
    EVP_PKEY_derive: fn(Object, BytesMut, *mut usize) -> c_int;
    EVP_PKEY_sign_init: fn(Object) -> c_int;
    EVP_PKEY_sign: fn(Object, BytesMut, *mut usize, Bytes, usize) -> c_int;
    EVP_DigestSignInit_ex: fn(Object, *mut Object, *const c_char, Object, *const c_char, Object, *const Param) -> c_int;
    EVP_DigestSign: fn(Object, BytesMut, *mut usize, Bytes, usize) -> c_int;
    EVP_DigestVerifyInit_ex: fn(Object, *mut Object, *const c_char, Object, *const c_char, Object, *const Param) -> c_int;
    EVP_DigestVerify: fn(Object, Bytes, usize, Bytes, usize) -> c_int;
    i2d_PrivateKey: fn(Object, *mut BytesMut) -> c_int;
    i2d_PUBKEY: fn(Object, *mut BytesMut) -> c_int;
    d2i_AutoPrivateKey_ex: fn(*mut Object, *mut Bytes, std::ffi::c_long, Object, *const c_char) -> Object;
    d2i_PUBKEY_ex: fn(*mut Object, *mut Bytes, std::ffi::c_long, Object, *const c_char) -> Object;
}

/// The address that `dlsym` returns.
fn find(handle: *mut c_void, name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap();
    // SAFETY: an open library, and a C string.
    unsafe { libc::dlsym(handle, name.as_ptr()) }
}

fn symbol(handle: *mut c_void, name: &str) -> *mut c_void {
    let found = find(handle, name);
    assert!(!found.is_null(), "libcrypto lacks {name}");
    found
}

fn handle() -> *mut c_void {
    struct Handle(*mut c_void);
    // SAFETY: it may be used by any thread.
    unsafe impl Send for Handle {}
    // SAFETY: as above.
    unsafe impl Sync for Handle {}
    static HANDLE: OnceLock<Handle> = OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let path = CString::new(libcrypto_path().into_os_string().into_encoded_bytes()).unwrap();
            // SAFETY: loads a library that runs its usual initialisers.
            let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            assert!(
                !handle.is_null(),
                "{path:?} can't be loaded: name a libcrypto in MILLSTREAM_TEST_LIBCRYPTO"
            );
            Handle(handle)
        })
        .0
}

pub fn libcrypto_path() -> PathBuf {
    std::env::var_os("MILLSTREAM_TEST_LIBCRYPTO").map_or_else(|| "libcrypto.so.3".into(), PathBuf::from)
}

/// The libcrypto that is tested against.
pub fn libcrypto() -> &'static Libcrypto {
    static LIBCRYPTO: OnceLock<Libcrypto> = OnceLock::new();
    LIBCRYPTO.get_or_init(|| Libcrypto::load(handle()))
}

/// A function that only some versions have; its type is the caller's to know.
pub fn optional(name: &str) -> Option<*mut c_void> {
    Some(find(handle(), name)).filter(|found| !found.is_null())
}

/// Major and minor version.
pub fn version() -> (u32, u32) {
    // SAFETY: only returns a number.
    let number = unsafe { (libcrypto().OpenSSL_version_num)() };
    ((number >> 28) as u32, (number >> 20) as u32 & 0xff)
}

/// The folder with the built module, under the name that OpenSSL looks for.
pub fn modules() -> &'static Path {
    static MODULES: OnceLock<PathBuf> = OnceLock::new();
    MODULES.get_or_init(|| {
        // Cargo has built it beside this program, for it is the same package's library.
        let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let built = deps.join("libmillstream_provider.so");
        assert!(built.exists(), "{} is not there: was the library built as a cdylib?", built.display());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("modules.{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let link = folder.join("millstream.so");
        // Numbers of processes come again: an earlier run may have left one.
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(built, link).unwrap();
        folder
    })
}

/// A parameter, as OSSL_PARAM(3) has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Param {
    pub key: *const c_char,
    pub data_type: c_uint,
    pub data: *mut c_void,
    pub data_size: usize,
    pub return_size: usize,
}

impl Param {
    pub const END: Param =
        Param { key: ptr::null(), data_type: 0, data: ptr::null_mut(), data_size: 0, return_size: 0 };

    fn new(key: &'static CStr, data_type: c_uint, data: *mut c_void, data_size: usize) -> Self {
        Param { key: key.as_ptr(), data_type, data, data_size, return_size: usize::MAX }
    }

    /// A number, to read or to be written.
    pub fn uint(key: &'static CStr, value: &mut c_uint) -> Self {
        Param::new(key, 2, ptr::from_mut(value).cast(), size_of::<c_uint>())
    }

    /// A signed number.
    pub fn int(key: &'static CStr, value: &mut c_int) -> Self {
        Param::new(key, 1, ptr::from_mut(value).cast(), size_of::<c_int>())
    }

    /// A size.
    pub fn size(key: &'static CStr, value: &mut usize) -> Self {
        Param::new(key, 2, ptr::from_mut(value).cast(), size_of::<usize>())
    }

    /// Bytes to read, or a place for them.
    pub fn octets(key: &'static CStr, value: &mut [u8]) -> Self {
        Param::new(key, 5, value.as_mut_ptr().cast(), value.len())
    }

    /// A number of any length, in the machine's order of bytes.
    pub fn number(key: &'static CStr, value: &mut [u8]) -> Self {
        Param::new(key, 2, value.as_mut_ptr().cast(), value.len())
    }

    /// A place for a pointer to bytes.
    pub fn octet_pointer(key: &'static CStr, value: &mut *const u8) -> Self {
        Param::new(key, 7, ptr::from_mut(value).cast(), 0)
    }

    /// A text.
    pub fn text(key: &'static CStr, value: &'static CStr) -> Self {
        Param::new(key, 4, value.as_ptr().cast_mut().cast(), value.count_bytes())
    }
}

/// Why something failed: library and reason of the first error in the queue, which is emptied.
#[derive(Clone, Debug)]
pub struct Refused {
    pub code: c_ulong,
    pub text: String,
    /// The detail of the error, in which providers may differ.
    pub detail: String,
}

impl PartialEq for Refused {
    fn eq(&self, other: &Self) -> bool {
        (self.code, &self.text) == (other.code, &other.text)
    }
}

/// The first error in the queue, which is emptied.
pub fn refused() -> Refused {
    let libcrypto = libcrypto();
    let (mut text, mut detail) = ([0; 256], ptr::null());
    // SAFETY: a place for the text, of the length given, and one for a pointer to a text that is there until the queue is emptied.
    unsafe {
        let nothing = ptr::null_mut();
        let code =
            (libcrypto.ERR_peek_error_all)(nothing, ptr::null_mut(), nothing, &mut detail, ptr::null_mut());
        let said = (!detail.is_null()).then(|| CStr::from_ptr(detail).to_string_lossy().into_owned());
        (libcrypto.ERR_clear_error)();
        (libcrypto.ERR_error_string_n)(code, text.as_mut_ptr(), text.len());
        let text = CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned();
        Refused { code, text, detail: said.unwrap_or_default() }
    }
}

/// Turns a call's return value, 1 for success, into a result.
pub fn done(returned: c_int) -> Result<(), Refused> {
    if returned == 1 { Ok(()) } else { Err(refused()) }
}

/// A library context with providers loaded.
pub struct Library {
    pub context: Object,
    pub providers: Vec<Object>,
}

// SAFETY: a library context may be used by several threads.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// With these providers; those of OpenSSL's own that are modules are looked for beside the libcrypto.
    pub fn with(providers: &[&CStr]) -> Self {
        // The first load makes objects known to libcrypto, and 3.0 has no lock against the threads that look for others meanwhile. So tests
        // begin when that has happened, as programs' threads do.
        static FIRST: Once = Once::new();
        FIRST.call_once(|| drop(Library::of(&[c"millstream"])));
        Library::of(providers)
    }

    fn of(providers: &[&CStr]) -> Self {
        let libcrypto = libcrypto();
        // SAFETY: see the top.
        let context = unsafe { (libcrypto.OSSL_LIB_CTX_new)() };
        assert!(!context.is_null());
        let mut library = Library { context, providers: Vec::new() };
        for name in providers {
            library.load(name);
        }
        library
    }

    fn load(&mut self, name: &CStr) {
        let libcrypto = libcrypto();
        let beside =
            libcrypto_path().parent().map(|folder| folder.join("ossl-modules")).filter(|at| at.exists());
        let folder = if name == c"millstream" { Some(modules().to_owned()) } else { beside };
        let folder = folder.map(|folder| CString::new(folder.into_os_string().into_encoded_bytes()).unwrap());
        let folder = folder.as_ref().map_or(ptr::null(), |folder| folder.as_ptr());
        // SAFETY: see the top.
        let provider = unsafe {
            assert_eq!((libcrypto.OSSL_PROVIDER_set_default_search_path)(self.context, folder), 1);
            (libcrypto.OSSL_PROVIDER_load)(self.context, name.as_ptr())
        };
        assert!(!provider.is_null(), "{name:?} can't be loaded: {}", refused().text);
        self.providers.push(provider);
    }

    /// Configures it as a program's is: with the providers and the properties that a file names.
    pub fn configure(&self, file: &Path) {
        let file = CString::new(file.as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: see the top.
        let configured = unsafe { (libcrypto().OSSL_LIB_CTX_load_config)(self.context, file.as_ptr()) };
        assert_eq!(configured, 1, "{file:?} is no configuration: {:?}", refused());
    }

    /// With Millstream alone.
    pub fn millstream() -> Self {
        Library::with(&[c"millstream"])
    }

    /// With OpenSSL's own: default and legacy.
    pub fn openssl() -> Self {
        Library::with(&[c"default", c"legacy"])
    }

    /// A cipher of that name.
    pub fn cipher(&self, name: &str) -> Option<Cipher> {
        self.cipher_with(name, c"")
    }

    /// A cipher of that name with those properties.
    pub fn cipher_with(&self, name: &str, properties: &CStr) -> Option<Cipher> {
        let name = CString::new(name).unwrap();
        let libcrypto = libcrypto();
        // SAFETY: see the top.
        unsafe {
            let cipher = (libcrypto.EVP_CIPHER_fetch)(self.context, name.as_ptr(), properties.as_ptr());
            (libcrypto.ERR_clear_error)();
            (!cipher.is_null()).then_some(Cipher(cipher))
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe {
            for provider in self.providers.drain(..) {
                (libcrypto().OSSL_PROVIDER_unload)(provider);
            }
            (libcrypto().OSSL_LIB_CTX_free)(self.context);
        }
    }
}

/// A fetched cipher.
pub struct Cipher(pub Object);

// SAFETY: it may be used by several threads.
unsafe impl Send for Cipher {}
// SAFETY: as above.
unsafe impl Sync for Cipher {}

impl Cipher {
    /// Bytes of key.
    pub fn key_len(&self) -> usize {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_CIPHER_get_key_length)(self.0) as usize }
    }

    /// Bytes of vector.
    pub fn iv_len(&self) -> usize {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_CIPHER_get_iv_length)(self.0) as usize }
    }

    /// Bytes in a block, 1 for a stream.
    pub fn block_len(&self) -> usize {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_CIPHER_get_block_size)(self.0) as usize }
    }

    /// Mode, flags.
    pub fn nature(&self) -> (c_int, c_ulong) {
        // SAFETY: see the top.
        unsafe { ((libcrypto().EVP_CIPHER_get_mode)(self.0), (libcrypto().EVP_CIPHER_get_flags)(self.0)) }
    }

    /// Tells whether the algorithm has that name.
    pub fn is_a(&self, name: &CStr) -> bool {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_CIPHER_is_a)(self.0, name.as_ptr()) == 1 }
    }

    /// A context that encrypts, or decrypts.
    pub fn context(&self, encrypt: bool, key: &[u8], iv: &[u8]) -> Result<CipherContext, Refused> {
        let mut context = CipherContext::new();
        context.init(Some(self), encrypt, Some(key), Some(iv).filter(|iv| !iv.is_empty()), &[])?;
        Ok(context)
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_CIPHER_free)(self.0) }
    }
}

/// An `EVP_CIPHER_CTX`.
pub struct CipherContext(pub Object);

// SAFETY: one thread at a time may use it.
unsafe impl Send for CipherContext {}

impl CipherContext {
    pub fn new() -> Self {
        // SAFETY: see the top.
        let context = unsafe { (libcrypto().EVP_CIPHER_CTX_new)() };
        assert!(!context.is_null());
        CipherContext(context)
    }

    /// Begins a message; `params` need no end.
    pub fn init(
        &mut self,
        cipher: Option<&Cipher>,
        encrypt: bool,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
        params: &[Param],
    ) -> Result<(), Refused> {
        let params = ended(params);
        let cipher = cipher.map_or(ptr::null_mut(), |cipher| cipher.0);
        let key = key.map_or(ptr::null(), <[u8]>::as_ptr);
        let iv = iv.map_or(ptr::null(), <[u8]>::as_ptr);
        let encrypt = c_int::from(encrypt);
        // SAFETY: see the top; keys and vectors in the tests are as long as the cipher says.
        done(unsafe { (libcrypto().EVP_CipherInit_ex2)(self.0, cipher, key, iv, encrypt, params.as_ptr()) })
    }

    /// The next piece; what it makes.
    pub fn update(&mut self, input: &[u8]) -> Result<Vec<u8>, Refused> {
        // Never empty, so that it has an address.
        let mut out = vec![0; input.len() + 64];
        let n = self.update_into(&mut out, input)?;
        out.truncate(n);
        Ok(out)
    }

    /// The next piece; writes what it makes to `out`.
    pub fn update_into(&mut self, out: &mut [u8], input: &[u8]) -> Result<usize, Refused> {
        // SAFETY: see the top.
        unsafe { self.update_raw(out.as_mut_ptr(), input.as_ptr(), input.len()) }
    }

    /// The next piece, wherever it lies.
    ///
    /// # Safety
    /// `len` bytes of input, and room for a block more than that, unless `out` is null.
    pub unsafe fn update_raw(&mut self, out: BytesMut, input: Bytes, len: usize) -> Result<usize, Refused> {
        let mut written = 0;
        // SAFETY: the caller's promise.
        done(unsafe { (libcrypto().EVP_CipherUpdate)(self.0, out, &mut written, input, len as c_int) })?;
        Ok(written as usize)
    }

    /// Associated data.
    pub fn associate(&mut self, data: &[u8]) -> Result<(), Refused> {
        // SAFETY: no output.
        unsafe { self.update_raw(ptr::null_mut(), data.as_ptr(), data.len()).map(|_| ()) }
    }

    /// Ends the message; what it makes.
    pub fn finish(&mut self) -> Result<Vec<u8>, Refused> {
        let (mut out, mut written) = (vec![0; 64], 0);
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_CipherFinal_ex)(self.0, out.as_mut_ptr(), &mut written) })?;
        out.truncate(written as usize);
        Ok(out)
    }

    /// One pass of `EVP_Cipher`; what it returned, and what it wrote.
    pub fn cipher(&mut self, input: &[u8]) -> (c_int, Vec<u8>) {
        let mut out = vec![0; input.len() + 64];
        // SAFETY: see the top.
        let n = unsafe {
            (libcrypto().EVP_Cipher)(self.0, out.as_mut_ptr(), input.as_ptr(), input.len() as c_uint)
        };
        out.truncate(n.max(0) as usize);
        (n, out)
    }

    /// A copy, with all that it has been told.
    pub fn copy(&self) -> Result<Self, Refused> {
        let copy = CipherContext::new();
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_CIPHER_CTX_copy)(copy.0, self.0) })?;
        Ok(copy)
    }

    /// Asks for parameters.
    pub fn get(&self, params: &[Param]) -> Result<Vec<Param>, Refused> {
        let mut params = ended(params);
        // SAFETY: see the top; the places are as long as they say.
        done(unsafe { (libcrypto().EVP_CIPHER_CTX_get_params)(self.0, params.as_mut_ptr()) })?;
        params.pop();
        Ok(params)
    }

    /// Sets parameters.
    pub fn set(&mut self, params: &[Param]) -> Result<(), Refused> {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_CIPHER_CTX_set_params)(self.0, ended(params).as_ptr()) })
    }

    /// A parameter that is bytes.
    pub fn octets(&self, key: &'static CStr, len: usize) -> Result<Vec<u8>, Refused> {
        let mut value = vec![0; len];
        let answer = self.get(&[Param::octets(key, &mut value)])?;
        assert_eq!(answer[0].return_size, len, "{key:?}");
        Ok(value)
    }

    /// A parameter that is a number.
    pub fn number(&self, key: &'static CStr) -> Result<usize, Refused> {
        let mut value = usize::MAX;
        self.get(&[Param::size(key, &mut value)])?;
        Ok(value)
    }

    /// Sets a parameter that is a number.
    pub fn set_number(&mut self, key: &'static CStr, value: u32) -> Result<(), Refused> {
        let mut value = value;
        self.set(&[Param::uint(key, &mut value)])
    }

    pub fn set_padding(&mut self, padding: bool) {
        // SAFETY: see the top.
        let returned = unsafe { (libcrypto().EVP_CIPHER_CTX_set_padding)(self.0, c_int::from(padding)) };
        done(returned).unwrap();
    }
}

impl Drop for CipherContext {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_CIPHER_CTX_free)(self.0) }
    }
}

/// The same parameters, and the end.
pub fn ended(params: &[Param]) -> Vec<Param> {
    let mut ended = params.to_vec();
    ended.push(Param::END);
    ended
}
