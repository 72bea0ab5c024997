//! Keys as objects (`EVP_SKEY`), which OpenSSL has from 3.5 on: beside the default provider's, and beside keys that are bytes.
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/objects.rs"]
mod objects;
mod support;

use objects::{Key, functions};
use support::{CipherContext, Library, Param, done, libcrypto};

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
        assert_eq!((secret.bytes().unwrap(), secret.provider().as_str()), (key, "millstream"), "{name}");
        for (encrypt, from, to) in [(true, &data, &sealed), (false, &sealed, &data)] {
            let mut context = CipherContext::new();
            let begun = secret.begin(&mut context, cipher.0, encrypt, &iv);
            begun.unwrap_or_else(|why| panic!("{name}: {why:?}"));
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
            assert!(Key::import(of, &library, c"AES", &bytes(len)).is_err(), "{len} bytes");
        }
        // A key of another length than the cipher's.
        let (cipher, key) = (library.cipher("AES-128-CBC").unwrap(), bytes(32));
        let key = Key::import(of, &library, c"AES", &key).unwrap();
        assert!(key.begin(&mut CipherContext::new(), cipher.0, true, &bytes(16)).is_err());
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
        let with_object = secret.mac(&library, (name, c""), Param::text(what, value), &key).unwrap();
        // SAFETY: objects that live; a terminated array.
        let with_bytes = unsafe {
            let mac = (libcrypto.EVP_MAC_fetch)(library.context, name.as_ptr(), c"".as_ptr());
            let context = (libcrypto.EVP_MAC_CTX_new)(mac);
            done((libcrypto.EVP_MAC_init)(context, key.as_ptr(), key.len(), params.as_ptr())).unwrap();
            let (mut out, mut len) = ([0; 64], 0);
            assert_eq!((libcrypto.EVP_MAC_update)(context, key.as_ptr(), key.len()), 1);
            assert_eq!((libcrypto.EVP_MAC_final)(context, out.as_mut_ptr(), &mut len, 64), 1);
            (libcrypto.EVP_MAC_CTX_free)(context);
            (libcrypto.EVP_MAC_free)(mac);
            out[..len].to_vec()
        };
        assert!(!with_bytes.is_empty());
        assert_eq!(with_object, with_bytes, "{name:?}");
    }
}

/// Without a service a key can be made here, and nowhere else.
#[test]
fn random_keys_are_made() {
    let Some(of) = functions() else { return };
    let library = Library::millstream();
    let mut seen = Vec::new();
    for mut len in [16_usize, 24, 32, 16] {
        let key = Key::generate(of, &library, c"AES", c"", &[Param::size(c"key-length", &mut len)]).unwrap();
        assert_eq!((key.bytes().unwrap().len(), key.id()), (len, String::new()));
        assert!(!seen.contains(&key.bytes().unwrap()));
        seen.push(key.bytes().unwrap());
    }
    for mut len in [0_usize, 17, 1 << 20] {
        assert!(Key::generate(of, &library, c"AES", c"", &[Param::size(c"key-length", &mut len)]).is_err());
    }
    let (mut len, algorithm) = (16, Param::text(c"millstream.algorithm", c"aes-gcm"));
    let params = [Param::size(c"key-length", &mut len), algorithm];
    let refused = Key::generate(of, &library, c"AES", c"", &params).err().unwrap();
    assert!(refused.detail.contains("millstream.isolated=yes"), "{refused:?}");
}
