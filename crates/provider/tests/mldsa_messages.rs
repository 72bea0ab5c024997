//! ML-DSA and SLH-DSA by the functions for messages, which OpenSSL has from version 3.4 on, beside the default provider's (from 3.5 on).
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use pkeys::{Context, Key, preferred, theirs};
use support::{Library, Object, Param, Refused, done, ended, libcrypto, optional, refused, version};

const SETS: [(&CStr, usize); 3] = [(c"ML-DSA-44", 2420), (c"ML-DSA-65", 3309), (c"ML-DSA-87", 4627)];

/// The functions, of which the older versions have none.
macro_rules! functions {
    ($($field:ident = $name:literal: $type:ty;)*) => {
        struct Functions {
            $($field: $type,)*
        }

        impl Functions {
            fn find() -> Option<Self> {
                Some(Functions {
                    // SAFETY: the function of that name has that type.
                    $($field: unsafe { std::mem::transmute::<Object, $type>(optional($name)?) },)*
                })
            }
        }
    };
}

functions! {
    fetch = "EVP_SIGNATURE_fetch": unsafe extern "C" fn(Object, *const c_char, *const c_char) -> Object;
    free = "EVP_SIGNATURE_free": unsafe extern "C" fn(Object);
    sign_init = "EVP_PKEY_sign_message_init": unsafe extern "C" fn(Object, Object, *const Param) -> c_int;
    sign_update = "EVP_PKEY_sign_message_update": unsafe extern "C" fn(Object, *const u8, usize) -> c_int;
    sign_final = "EVP_PKEY_sign_message_final": unsafe extern "C" fn(Object, *mut u8, *mut usize) -> c_int;
    verify_init = "EVP_PKEY_verify_message_init": unsafe extern "C" fn(Object, Object, *const Param) -> c_int;
    verify_update = "EVP_PKEY_verify_message_update": unsafe extern "C" fn(Object, *const u8, usize) -> c_int;
    verify_final = "EVP_PKEY_verify_message_final": unsafe extern "C" fn(Object) -> c_int;
    set_signature = "EVP_PKEY_CTX_set_signature": unsafe extern "C" fn(Object, *const u8, usize) -> c_int;
}

/// Returns the functions, or prints why the test does nothing.
fn functions() -> Option<Functions> {
    let found = Functions::find();
    if found.is_none() {
        println!("SKIPPED OpenSSL {:?} has no functions for messages, which 3.4 has", version());
    }
    found
}

/// The libraries of both sides: the default provider's is there where it has ML-DSA.
fn sides() -> Vec<Library> {
    if version() >= (3, 5) { vec![preferred(), theirs()] } else { vec![preferred()] }
}

/// A fetched algorithm.
struct Algorithm<'f>(&'f Functions, Object);

impl<'f> Algorithm<'f> {
    fn fetch(functions: &'f Functions, library: &Library, name: &CStr) -> Self {
        // SAFETY: a library context that lives, and C strings.
        let fetched = unsafe { (functions.fetch)(library.context, name.as_ptr(), ptr::null()) };
        assert!(!fetched.is_null(), "{name:?}: {:?}", refused());
        Algorithm(functions, fetched)
    }

    fn sign(
        &self,
        library: &Library,
        key: &Key,
        params: &[Param],
        pieces: &[&[u8]],
    ) -> Result<Vec<u8>, Refused> {
        let context = Context::of(library, key)?;
        let (mut signature, mut len) = (vec![0; 17_088], 0);
        // SAFETY: objects that live, and places as long as they say; OpenSSL asks for no room but what it has told of.
        unsafe {
            done((self.0.sign_init)(context.0, self.1, ended(params).as_ptr()))?;
            for piece in pieces {
                done((self.0.sign_update)(context.0, piece.as_ptr(), piece.len()))?;
            }
            done((self.0.sign_final)(context.0, ptr::null_mut(), &mut len))?;
            assert!(len <= signature.len());
            done((self.0.sign_final)(context.0, signature.as_mut_ptr(), &mut len))?;
        }
        signature.truncate(len);
        Ok(signature)
    }

    fn sign_whole(
        &self,
        library: &Library,
        key: &Key,
        params: &[Param],
        message: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let context = Context::of(library, key)?;
        let (mut signature, mut len) = (vec![0; 17_088], 17_088);
        // SAFETY: as above.
        unsafe {
            done((self.0.sign_init)(context.0, self.1, ended(params).as_ptr()))?;
            let (at, message_at) = (signature.as_mut_ptr(), message.as_ptr());
            done((libcrypto().EVP_PKEY_sign)(context.0, at, &mut len, message_at, message.len()))?;
        }
        signature.truncate(len);
        Ok(signature)
    }

    /// Verifies in one call, and in pieces: what both say.
    fn verify(&self, library: &Library, key: &Key, pieces: &[&[u8]], signature: &[u8]) -> [bool; 2] {
        let (whole, none) = (pieces.concat(), ptr::null());
        let context = Context::of(library, key).unwrap();
        let (at, len) = (signature.as_ptr(), signature.len());
        // SAFETY: as above.
        let at_once = unsafe {
            done((self.0.verify_init)(context.0, self.1, none)).unwrap();
            (libcrypto().EVP_PKEY_verify)(context.0, at, len, whole.as_ptr(), whole.len())
        };
        let context = Context::of(library, key).unwrap();
        // SAFETY: as above.
        let in_pieces = unsafe {
            done((self.0.verify_init)(context.0, self.1, none)).unwrap();
            done((self.0.set_signature)(context.0, at, len)).unwrap();
            for piece in pieces {
                done((self.0.verify_update)(context.0, piece.as_ptr(), piece.len())).unwrap();
            }
            (self.0.verify_final)(context.0)
        };
        refused();
        [at_once == 1, in_pieces == 1]
    }
}

impl Drop for Algorithm<'_> {
    fn drop(&mut self) {
        // SAFETY: an algorithm that was fetched, not used again.
        unsafe { (self.0.free)(self.1) };
    }
}

#[test]
fn each_side_verifies_what_the_other_signs() {
    let Some(functions) = functions() else { return };
    let sides = sides();
    for (name, signature_len) in SETS {
        for signer in &sides {
            let key = Key::generate(signer, name, &[]).unwrap();
            let algorithm = Algorithm::fetch(&functions, signer, name);
            let pieces: [&[u8]; 3] = [b"a message", b" that comes", b" in pieces"];
            let mut deterministic = 1;
            let params = [Param::int(c"deterministic", &mut deterministic)];
            let signature = algorithm.sign(signer, &key, &params, &pieces).unwrap();
            assert_eq!(signature.len(), signature_len);
            assert_eq!(algorithm.sign_whole(signer, &key, &params, &pieces.concat()).unwrap(), signature);
            assert_eq!(key.sign(signer, None, &params, &pieces.concat()).unwrap(), signature);
            for verifier in &sides {
                let public = Key::public(verifier, name, &key.octets(c"pub").unwrap()).unwrap();
                let algorithm = Algorithm::fetch(&functions, verifier, name);
                assert_eq!(algorithm.verify(verifier, &public, &pieces, &signature), [true; 2], "{name:?}");
                assert_eq!(algorithm.verify(verifier, &public, &pieces[1..], &signature), [false; 2]);
                let shorter = &signature[1..];
                assert_eq!(algorithm.verify(verifier, &public, &pieces, shorter), [false; 2]);
            }
        }
    }
}

/// Of SLH-DSA the default provider takes whole messages only.
#[test]
fn whole_messages_are_signed_with_slh_dsa() {
    let Some(functions) = functions() else { return };
    let sides = sides();
    let (name, pieces) = (c"SLH-DSA-SHAKE-128f", [&b"a message"[..], b" that comes"]);
    let mut deterministic = 1;
    let params = [Param::int(c"deterministic", &mut deterministic)];
    for signer in &sides {
        let key = Key::generate(signer, name, &[]).unwrap();
        let algorithm = Algorithm::fetch(&functions, signer, name);
        let signature = algorithm.sign_whole(signer, &key, &params, &pieces.concat()).unwrap();
        assert_eq!(signature.len(), 17_088);
        for verifier in &sides {
            let key = Key::private(verifier, name, &key.octets(c"priv").unwrap()).unwrap();
            let algorithm = Algorithm::fetch(&functions, verifier, name);
            let again = algorithm.sign_whole(verifier, &key, &params, &pieces.concat()).unwrap();
            assert!(again == signature, "the same key and message");
            let context = Context::of(verifier, &key).unwrap();
            let (at, len) = (signature.as_ptr(), signature.len());
            let whole = pieces.concat();
            // SAFETY: objects that live, and bytes as long as they say.
            let said = unsafe {
                done((functions.verify_init)(context.0, algorithm.1, ptr::null())).unwrap();
                (libcrypto().EVP_PKEY_verify)(context.0, at, len, whole.as_ptr(), whole.len())
            };
            assert_eq!(said, 1);
        }
    }
    let key = Key::generate(&sides[0], name, &[]).unwrap();
    let algorithm = Algorithm::fetch(&functions, &sides[0], name);
    let signature = algorithm.sign(&sides[0], &key, &params, &pieces).unwrap();
    assert_eq!(algorithm.verify(&sides[0], &key, &pieces, &signature), [true; 2]);
}

/// A key is for its own parameter set's signatures.
#[test]
fn other_sets_are_refused() {
    let Some(functions) = functions() else { return };
    for library in sides() {
        let key = Key::generate(&library, c"ML-DSA-44", &[]).unwrap();
        let algorithm = Algorithm::fetch(&functions, &library, c"ML-DSA-65");
        assert!(algorithm.sign_whole(&library, &key, &[], b"message").is_err());
        let context = Context::of(&library, &key).unwrap();
        // SAFETY: objects that live.
        assert_ne!(unsafe { (functions.verify_init)(context.0, algorithm.1, ptr::null()) }, 1);
        refused();
        // Signatures without a message's functions are of what a caller has hashed, which ML-DSA does itself.
        let context = Context::of(&library, &key).unwrap();
        // SAFETY: a context that lives.
        assert_ne!(unsafe { (libcrypto().EVP_PKEY_sign_init)(context.0) }, 1);
        refused();
    }
}

/// A key of the default provider is exported to sign here, and one of ours to sign there.
#[test]
fn keys_go_from_one_provider_to_the_other() {
    let Some(functions) = functions() else { return };
    if version() < (3, 5) {
        println!("SKIPPED OpenSSL {:?} has no ML-DSA of its own", version());
        return;
    }
    let library = Library::with(&[c"default", c"millstream"]);
    for (name, _) in SETS {
        for (maker, signer) in
            [(c"provider=default", c"provider=millstream"), (c"provider=millstream", c"provider=default")]
        {
            let prefer = |properties: &CStr| {
                // SAFETY: a context that lives, and a C string.
                let set =
                    unsafe { (libcrypto().EVP_set_default_properties)(library.context, properties.as_ptr()) };
                done(set).unwrap();
            };
            prefer(maker);
            let key = Key::generate(&library, name, &[]).unwrap();
            prefer(signer);
            let algorithm = Algorithm::fetch(&functions, &library, name);
            let signature = algorithm.sign_whole(&library, &key, &[], b"message").unwrap();
            assert!(key.verify(&library, None, &[], b"message", &signature).unwrap());
            prefer(maker);
            assert!(key.verify(&library, None, &[], b"message", &signature).unwrap(), "{name:?}");
        }
    }
}
