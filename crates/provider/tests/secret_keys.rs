//! Keys as objects (`EVP_SKEY`), which OpenSSL has from 3.5 on: beside the default provider's, and beside keys that are bytes.
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

mod support;

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::transmute;
use std::ptr;

use support::{CipherContext, Library, Object, Param, done, libcrypto, optional, version};

type Import = unsafe extern "C" fn(Object, *const c_char, *const u8, usize, *const c_char) -> Object;
type Raw = unsafe extern "C" fn(Object, *mut *const u8, *mut usize) -> c_int;
type Name = unsafe extern "C" fn(Object) -> *const c_char;
type InitCipher =
    unsafe extern "C" fn(Object, Object, Object, *const u8, usize, c_int, *const Param) -> c_int;
type InitMac = unsafe extern "C" fn(Object, Object, *const Param) -> c_int;
type Free = unsafe extern "C" fn(Object);

/// What only some versions of libcrypto have.
#[derive(Clone, Copy)]
struct Functions {
    import: Import,
    raw: Raw,
    provider: Name,
    init_cipher: InitCipher,
    init_mac: InitMac,
    free: Free,
}

fn functions() -> Option<Functions> {
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
            raw: transmute::<Object, Raw>(find("EVP_SKEY_get0_raw_key")),
            provider: transmute::<Object, Name>(find("EVP_SKEY_get0_provider_name")),
            init_cipher: transmute::<Object, InitCipher>(find("EVP_CipherInit_SKEY")),
            init_mac: transmute::<Object, InitMac>(find("EVP_MAC_init_SKEY")),
            free: transmute::<Object, Free>(find("EVP_SKEY_free")),
        }
    })
}

struct Key(Functions, Object);

impl Key {
    fn import(of: Functions, library: &Library, kind: &CStr, bytes: &[u8]) -> Option<Key> {
        // SAFETY: bytes of the length given, and C strings.
        let key =
            unsafe { (of.import)(library.context, kind.as_ptr(), bytes.as_ptr(), bytes.len(), c"".as_ptr()) };
        // SAFETY: empties the queue.
        unsafe { (libcrypto().ERR_clear_error)() };
        (!key.is_null()).then_some(Key(of, key))
    }

    fn bytes(&self) -> Vec<u8> {
        let (mut at, mut len) = (ptr::null(), 0);
        // SAFETY: places for both; the bytes live as long as the key.
        unsafe {
            assert_eq!((self.0.raw)(self.1, &mut at, &mut len), 1);
            std::slice::from_raw_parts(at, len).to_vec()
        }
    }

    fn provider(&self) -> String {
        // SAFETY: a C string that lives as long as the key.
        unsafe { CStr::from_ptr((self.0.provider)(self.1)).to_string_lossy().into_owned() }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: it was made here.
        unsafe { (self.0.free)(self.1) }
    }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 37 + 11) as u8).collect()
}

#[test]
fn ciphers_take_them_as_they_take_bytes() {
    let Some(of) = functions() else { return };
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let data = bytes(160);
    for (name, kind) in [
        ("AES-128-ECB", c"AES"),
        ("AES-128-CBC", c"AES"),
        ("AES-192-CTR", c"AES"),
        ("AES-256-CFB", c"AES"),
        ("AES-256-GCM", c"AES"),
        ("AES-128-XTS", c"AES"),
        ("AES-256-XTS", c"GENERIC-SECRET"),
        ("AES-128-CBC", c"GENERIC-SECRET"),
        ("ChaCha20-Poly1305", c"GENERIC-SECRET"),
        ("CAMELLIA-256-CBC", c"GENERIC-SECRET"),
        ("DES-EDE3-CBC", c"GENERIC-SECRET"),
    ] {
        let expected = theirs.cipher(name).unwrap();
        let (key, iv) = (bytes(expected.key_len()), bytes(expected.iv_len()));
        let mut expected = expected.context(true, &key, &iv).unwrap();
        let sealed = expected.update(&data).unwrap();
        let cipher = ours.cipher(name).unwrap();
        let secret = Key::import(of, &ours, kind, &key).unwrap();
        assert_eq!((secret.bytes(), secret.provider().as_str()), (key, "millstream"), "{name}");
        for (encrypt, from, to) in [(true, &data, &sealed), (false, &sealed, &data)] {
            let mut context = CipherContext::new();
            // SAFETY: a context, a cipher and a key that live, and a vector of the length given.
            let begun = unsafe {
                let (iv, len) = (if iv.is_empty() { ptr::null() } else { iv.as_ptr() }, iv.len());
                let encrypt = c_int::from(encrypt);
                (of.init_cipher)(context.0, cipher.0, secret.1, iv, len, encrypt, ptr::null())
            };
            done(begun).unwrap_or_else(|why| panic!("{name}: {why:?}"));
            // SAFETY: no padding, so that all comes with the update.
            unsafe { (libcrypto().EVP_CIPHER_CTX_set_padding)(context.0, 0) };
            assert_eq!(context.update(from).unwrap(), to[..from.len()], "{name}");
        }
    }
}

#[test]
fn what_is_no_key_is_refused() {
    let Some(of) = functions() else { return };
    for library in [Library::millstream(), Library::openssl()] {
        for len in [0, 1, 15, 17, 33, 64] {
            assert!(Key::import(of, &library, c"AES", &bytes(len)).is_none(), "{len} bytes");
        }
        // A key of another length than the cipher's.
        let (cipher, key) = (library.cipher("AES-128-CBC").unwrap(), bytes(32));
        let key = Key::import(of, &library, c"AES", &key).unwrap();
        let context = CipherContext::new();
        // SAFETY: as above.
        let begun =
            unsafe { (of.init_cipher)(context.0, cipher.0, key.1, bytes(16).as_ptr(), 16, 1, ptr::null()) };
        assert!(done(begun).is_err());
    }
}

#[test]
fn macs_take_them_as_they_take_bytes() {
    let Some(of) = functions() else { return };
    let library = Library::millstream();
    let libcrypto = libcrypto();
    for (name, key_len, what, value) in
        [(c"HMAC", 20, c"digest", c"SHA256"), (c"CMAC", 16, c"cipher", c"AES-128-CBC")]
    {
        let key = bytes(key_len);
        let secret = Key::import(of, &library, c"GENERIC-SECRET", &key).unwrap();
        let params = [Param::text(what, value), Param::END];
        // SAFETY: as above.
        let results: Vec<Vec<u8>> = unsafe {
            let mac = (libcrypto.EVP_MAC_fetch)(library.context, CString::from(name).as_ptr(), c"".as_ptr());
            let computed = [false, true].map(|with_object| {
                let context = (libcrypto.EVP_MAC_CTX_new)(mac);
                let begun = if with_object {
                    (of.init_mac)(context, secret.1, params.as_ptr())
                } else {
                    (libcrypto.EVP_MAC_init)(context, key.as_ptr(), key.len(), params.as_ptr())
                };
                done(begun).unwrap();
                let (mut out, mut len) = ([0; 64], 0);
                assert_eq!((libcrypto.EVP_MAC_update)(context, key.as_ptr(), key.len()), 1);
                assert_eq!((libcrypto.EVP_MAC_final)(context, out.as_mut_ptr(), &mut len, 64), 1);
                (libcrypto.EVP_MAC_CTX_free)(context);
                out[..len].to_vec()
            });
            (libcrypto.EVP_MAC_free)(mac);
            computed.to_vec()
        };
        assert!(!results[0].is_empty());
        assert_eq!(results[0], results[1], "{name:?}");
    }
}
