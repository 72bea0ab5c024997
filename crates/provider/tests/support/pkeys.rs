//! Keys of public-key algorithms (`EVP_PKEY`), and what is done with them.
//!
//! # Safety
//! As in [`support`](super::support).
#![allow(unsafe_code, dead_code)]

use std::ffi::{CStr, c_int, c_long};
use std::ptr;

use super::support::{Library, Object, Param, Refused, done, ended, libcrypto, refused};

/// Selects the public part, or both parts.
pub const PUBLIC: c_int = 0x86;
pub const PAIR: c_int = 0x87;

/// Room for the longest signature, that of SLH-DSA.
const SIGNATURE: usize = 49_856;

/// A library as programs have it: both providers, and ours preferred.
pub fn preferred() -> Library {
    let library = Library::with(&[c"default", c"millstream"]);
    let properties = c"?provider=millstream";
    // SAFETY: a context that lives, and a C string.
    done(unsafe { (libcrypto().EVP_set_default_properties)(library.context, properties.as_ptr()) }).unwrap();
    library
}

/// A library with the default provider alone.
pub fn theirs() -> Library {
    Library::with(&[c"default"])
}

/// Fails unless a key of the library `ours` and one of the default provider have the same parts and numbers, are equal, and are
/// written and read in the same bytes.
#[track_caller]
pub fn are_the_same(ours: &Library, mine: &Key, other: &Key, name: &CStr, parts: &[&'static CStr]) {
    for part in parts {
        assert_eq!(mine.octets(part), other.octets(part), "{name:?} {part:?}");
    }
    for of in [c"bits", c"security-bits", c"security-category", c"max-size"] {
        assert_eq!(mine.number(of).unwrap(), other.number(of).unwrap(), "{name:?} {of:?}");
    }
    // SAFETY: keys that live.
    unsafe { assert_eq!((libcrypto().EVP_PKEY_eq)(mine.0, other.0), 1) };
    // The default provider's encoders and decoders serve these keys.
    for private in [true, false] {
        let der = mine.encode(private).unwrap();
        assert_eq!(der, other.encode(private).unwrap(), "{name:?}");
        let read = Key::decode(ours, private, &der).unwrap();
        assert_eq!(read.octets(c"pub"), mine.octets(c"pub"));
    }
}

/// A key.
pub struct Key(pub Object);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_PKEY_free)(self.0) }
    }
}

/// An `EVP_PKEY_CTX`.
pub struct Context(pub Object);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_PKEY_CTX_free)(self.0) }
    }
}

impl Context {
    /// A context for new keys of a type.
    pub fn named(library: &Library, name: &CStr) -> Result<Self, Refused> {
        let context = Context(
            // SAFETY: see the top.
            unsafe { (libcrypto().EVP_PKEY_CTX_new_from_name)(library.context, name.as_ptr(), ptr::null()) },
        );
        if context.0.is_null() { Err(refused()) } else { Ok(context) }
    }

    /// A context for operations with a key.
    pub fn of(library: &Library, key: &Key) -> Result<Self, Refused> {
        let context = Context(
            // SAFETY: see the top.
            unsafe { (libcrypto().EVP_PKEY_CTX_new_from_pkey)(library.context, key.0, ptr::null()) },
        );
        if context.0.is_null() { Err(refused()) } else { Ok(context) }
    }
}

fn key(returned: c_int, key: Object) -> Result<Key, Refused> {
    let key = Key(key);
    done(returned).map(|()| key)
}

impl Key {
    /// Makes a key; `params` need no end.
    pub fn generate(library: &Library, name: &CStr, params: &[Param]) -> Result<Self, Refused> {
        let context = Context::named(library, name)?;
        let mut made = ptr::null_mut();
        // SAFETY: see the top.
        unsafe {
            done((libcrypto().EVP_PKEY_keygen_init)(context.0))?;
            done((libcrypto().EVP_PKEY_CTX_set_params)(context.0, ended(params).as_ptr()))?;
            key((libcrypto().EVP_PKEY_generate)(context.0, &mut made), made)
        }
    }

    /// Imports the selected parts from parameters.
    pub fn import(
        library: &Library,
        name: &CStr,
        selection: c_int,
        params: &[Param],
    ) -> Result<Self, Refused> {
        let context = Context::named(library, name)?;
        let mut made = ptr::null_mut();
        // SAFETY: see the top.
        unsafe {
            done((libcrypto().EVP_PKEY_fromdata_init)(context.0))?;
            let mut params = ended(params);
            key((libcrypto().EVP_PKEY_fromdata)(context.0, &mut made, selection, params.as_mut_ptr()), made)
        }
    }

    /// Imports a private part alone.
    pub fn private(library: &Library, name: &CStr, bytes: &[u8]) -> Result<Self, Refused> {
        Key::import(library, name, PAIR, &[Param::octets(c"priv", &mut bytes.to_vec())])
    }

    /// Imports a public part alone.
    pub fn public(library: &Library, name: &CStr, bytes: &[u8]) -> Result<Self, Refused> {
        Key::import(library, name, PUBLIC, &[Param::octets(c"pub", &mut bytes.to_vec())])
    }

    /// A parameter that is bytes.
    pub fn octets(&self, name: &'static CStr) -> Result<Vec<u8>, Refused> {
        let mut value = vec![0; 8192];
        let mut params = [Param::octets(name, &mut value), Param::END];
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_PKEY_get_params)(self.0, params.as_mut_ptr()) })?;
        value.truncate(if params[0].return_size == usize::MAX { 0 } else { params[0].return_size });
        Ok(value)
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &'static CStr) -> Result<c_int, Refused> {
        let mut value = -1;
        let mut params = [Param::int(name, &mut value), Param::END];
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_PKEY_get_params)(self.0, params.as_mut_ptr()) })?;
        Ok(value)
    }

    /// The name of the provider that holds the key.
    pub fn provider(&self) -> String {
        // SAFETY: see the top.
        unsafe {
            let provider = (libcrypto().EVP_PKEY_get0_provider)(self.0);
            CStr::from_ptr((libcrypto().OSSL_PROVIDER_get0_name)(provider)).to_string_lossy().into_owned()
        }
    }

    /// The key in DER: PKCS #8, or SubjectPublicKeyInfo.
    pub fn encode(&self, private: bool) -> Result<Vec<u8>, Refused> {
        let encode = if private { libcrypto().i2d_PrivateKey } else { libcrypto().i2d_PUBKEY };
        let mut out = vec![0; 16384];
        let mut at = out.as_mut_ptr();
        // SAFETY: no key in the tests is longer.
        let len = unsafe { encode(self.0, &mut at) };
        if len <= 0 {
            return Err(refused());
        }
        out.truncate(len as usize);
        Ok(out)
    }

    /// Reads a key in DER.
    pub fn decode(library: &Library, private: bool, der: &[u8]) -> Result<Self, Refused> {
        let mut at = der.as_ptr();
        let decode = if private { libcrypto().d2i_AutoPrivateKey_ex } else { libcrypto().d2i_PUBKEY_ex };
        let len = der.len() as c_long;
        // SAFETY: see the top.
        let key = Key(unsafe { decode(ptr::null_mut(), &mut at, len, library.context, ptr::null()) });
        if key.0.is_null() { Err(refused()) } else { Ok(key) }
    }

    /// Agrees with a peer on a secret.
    pub fn agree(&self, library: &Library, peer: &Key) -> Result<Vec<u8>, Refused> {
        self.agree_with(library, peer, &[], 256)
    }

    /// Does the same with parameters, into so many bytes.
    pub fn agree_with(
        &self,
        library: &Library,
        peer: &Key,
        params: &[Param],
        room: usize,
    ) -> Result<Vec<u8>, Refused> {
        let context = Context::of(library, self)?;
        let (mut secret, mut len) = (vec![0; room], room);
        // SAFETY: see the top.
        unsafe {
            done((libcrypto().EVP_PKEY_derive_init)(context.0))?;
            // Some agreements have no parameters at all.
            if !params.is_empty() {
                done((libcrypto().EVP_PKEY_CTX_set_params)(context.0, ended(params).as_ptr()))?;
            }
            done((libcrypto().EVP_PKEY_derive_set_peer)(context.0, peer.0))?;
            done((libcrypto().EVP_PKEY_derive)(context.0, secret.as_mut_ptr(), &mut len))?;
        }
        secret.truncate(len);
        Ok(secret)
    }

    /// Signs a message. A digest may be named, and parameters be given.
    pub fn sign(
        &self,
        library: &Library,
        digest: Option<&CStr>,
        params: &[Param],
        message: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let context = Digest::new();
        let digest = digest.map_or(ptr::null(), CStr::as_ptr);
        let (mut signature, mut len) = (vec![0; SIGNATURE], SIGNATURE);
        let nothing = ptr::null_mut();
        // SAFETY: see the top.
        unsafe {
            let params = ended(params);
            let begun = (libcrypto().EVP_DigestSignInit_ex)(
                context.0,
                nothing,
                digest,
                library.context,
                ptr::null(),
                self.0,
                params.as_ptr(),
            );
            done(begun)?;
            let (at, message_at) = (signature.as_mut_ptr(), message.as_ptr());
            done((libcrypto().EVP_DigestSign)(context.0, at, &mut len, message_at, message.len()))?;
        }
        signature.truncate(len);
        Ok(signature)
    }

    /// Verifies a signature: false where it does not.
    pub fn verify(
        &self,
        library: &Library,
        digest: Option<&CStr>,
        params: &[Param],
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, Refused> {
        let context = Digest::new();
        let digest = digest.map_or(ptr::null(), CStr::as_ptr);
        let nothing = ptr::null_mut();
        // SAFETY: see the top.
        let verified = unsafe {
            let params = ended(params);
            let begun = (libcrypto().EVP_DigestVerifyInit_ex)(
                context.0,
                nothing,
                digest,
                library.context,
                ptr::null(),
                self.0,
                params.as_ptr(),
            );
            done(begun)?;
            let (at, message_at) = (signature.as_ptr(), message.as_ptr());
            (libcrypto().EVP_DigestVerify)(context.0, at, signature.len(), message_at, message.len())
        };
        match verified {
            1 => Ok(true),
            0 => {
                refused();
                Ok(false)
            }
            _ => Err(refused()),
        }
    }
}

impl Key {
    /// A parameter that is a text.
    pub fn text(&self, name: &'static CStr) -> Result<String, Refused> {
        let mut value = vec![0u8; 256];
        let mut param = Param::octets(name, &mut value);
        param.data_type = 4;
        let mut params = [param, Param::END];
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_PKEY_get_params)(self.0, params.as_mut_ptr()) })?;
        value.truncate(if params[0].return_size == usize::MAX { 0 } else { params[0].return_size });
        Ok(String::from_utf8(value).unwrap())
    }

    /// A parameter that is a number of any length, big-endian.
    pub fn big(&self, name: &'static CStr, len: usize) -> Result<Vec<u8>, Refused> {
        let mut value = vec![0; len];
        let mut params = [Param::number(name, &mut value), Param::END];
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_PKEY_get_params)(self.0, params.as_mut_ptr()) })?;
        value.reverse();
        Ok(value)
    }

    /// Makes another key with the parameters of this one.
    pub fn generate_like(&self, library: &Library) -> Result<Self, Refused> {
        let context = Context::of(library, self)?;
        let mut made = ptr::null_mut();
        // SAFETY: see the top.
        unsafe {
            done((libcrypto().EVP_PKEY_keygen_init)(context.0))?;
            key((libcrypto().EVP_PKEY_generate)(context.0, &mut made), made)
        }
    }

    /// The verdicts of the four checks: of the pair, the public part, the private part, and the parameters.
    pub fn checks(&self, library: &Library) -> [c_int; 4] {
        let context = Context::of(library, self).unwrap();
        let libcrypto = libcrypto();
        let said = [
            libcrypto.EVP_PKEY_check,
            libcrypto.EVP_PKEY_public_check,
            libcrypto.EVP_PKEY_private_check,
            libcrypto.EVP_PKEY_param_check,
        ]
        // SAFETY: see the top.
        .map(|check| unsafe { check(context.0) });
        refused();
        said
    }

    /// Calls one of the operations that make something of an input.
    pub fn transform(
        &self,
        library: &Library,
        operation: Operation,
        params: &[Param],
        input: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let context = Context::of(library, self)?;
        let (init, run) = operation.functions();
        let (mut out, mut len, mut asked) = (vec![0; 4096], 4096, 0);
        let at = input.as_ptr();
        // SAFETY: see the top.
        unsafe {
            done(init(context.0))?;
            done((libcrypto().EVP_PKEY_CTX_set_params)(context.0, ended(params).as_ptr()))?;
            done(run(context.0, ptr::null_mut(), &mut asked, at, input.len()))?;
            let copy = Context((libcrypto().EVP_PKEY_CTX_dup)(context.0));
            drop(context);
            done(run(copy.0, out.as_mut_ptr(), &mut len, at, input.len()))?;
        }
        assert!(len <= asked, "{operation:?}: {len} bytes, announced {asked}");
        out.truncate(len);
        Ok(out)
    }

    /// Verifies what was signed as it is: what OpenSSL returned, and the first error.
    pub fn verify_directly(
        &self,
        library: &Library,
        params: &[Param],
        signed: &[u8],
        signature: &[u8],
    ) -> (c_int, Refused) {
        let context = Context::of(library, self).unwrap();
        // SAFETY: see the top.
        unsafe {
            let begun = (libcrypto().EVP_PKEY_verify_init)(context.0);
            let set = (libcrypto().EVP_PKEY_CTX_set_params)(context.0, ended(params).as_ptr());
            if (begun, set) != (1, 1) {
                return (-9, refused());
            }
            let (at, signed_at) = (signature.as_ptr(), signed.as_ptr());
            let said = (libcrypto().EVP_PKEY_verify)(context.0, at, signature.len(), signed_at, signed.len());
            (said, refused())
        }
    }

    /// Signs a message that comes in pieces, and goes on after a copy was signed: the signatures of the pieces up to `half`, and of all.
    pub fn sign_pieces<'a>(
        &self,
        library: &Library,
        digest: impl Into<Option<&'a CStr>>,
        params: &[Param],
        pieces: &[&[u8]],
        half: usize,
    ) -> Result<[Vec<u8>; 2], Refused> {
        let context = Digest::new();
        let nothing = ptr::null_mut();
        let finish = |context: &Digest| {
            let (mut signature, mut len) = (vec![0; SIGNATURE], SIGNATURE);
            // SAFETY: see the top.
            unsafe { done((libcrypto().EVP_DigestSignFinal)(context.0, signature.as_mut_ptr(), &mut len))? };
            signature.truncate(len);
            Ok(signature)
        };
        // SAFETY: see the top.
        unsafe {
            let digest = digest.into().map_or(ptr::null(), CStr::as_ptr);
            let (mut inner, properties) = (ptr::null_mut(), ptr::null());
            let at = &raw mut inner;
            done((libcrypto().EVP_DigestSignInit_ex)(
                context.0,
                at,
                digest,
                library.context,
                properties,
                self.0,
                ptr::null(),
            ))?;
            done((libcrypto().EVP_PKEY_CTX_set_params)(inner, ended(params).as_ptr()))?;
            let mut first = nothing;
            for (i, piece) in pieces.iter().enumerate() {
                if i == half {
                    first = (libcrypto().EVP_MD_CTX_new)();
                    done((libcrypto().EVP_MD_CTX_copy_ex)(first, context.0))?;
                }
                done((libcrypto().EVP_DigestSignUpdate)(context.0, piece.as_ptr(), piece.len()))?;
            }
            Ok([finish(&Digest(first))?, finish(&context)?])
        }
    }
}

/// The context of a signature of a message.
pub struct Signing(Digest, Object);

impl Signing {
    /// Begins to sign with that digest, or with an algorithm that hashes by itself.
    pub fn new<'a>(
        key: &Key,
        library: &Library,
        digest: impl Into<Option<&'a CStr>>,
    ) -> Result<Self, Refused> {
        let context = Digest::new();
        let mut inner = ptr::null_mut();
        let (digest, properties) = (digest.into().map_or(ptr::null(), CStr::as_ptr), ptr::null());
        // SAFETY: see the top.
        let begun = unsafe {
            (libcrypto().EVP_DigestSignInit_ex)(
                context.0,
                &mut inner,
                digest,
                library.context,
                properties,
                key.0,
                ptr::null(),
            )
        };
        done(begun).map(|()| Signing(context, inner))
    }

    /// Sets parameters.
    pub fn set(&self, params: &[Param]) -> Result<(), Refused> {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_PKEY_CTX_set_params)(self.1, ended(params).as_ptr()) })
    }

    /// Takes a piece of the message.
    pub fn update(&self, piece: &[u8]) -> Result<(), Refused> {
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_DigestSignUpdate)(self.0.0, piece.as_ptr(), piece.len()) })
    }

    /// Signs what came so far, into so many bytes.
    pub fn finish(&self, room: usize) -> Result<Vec<u8>, Refused> {
        let (mut signature, mut len) = (vec![0; room], room);
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_DigestSignFinal)(self.0.0, signature.as_mut_ptr(), &mut len) })?;
        signature.truncate(len);
        Ok(signature)
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &'static CStr) -> Result<c_int, Refused> {
        let mut value = -99;
        let mut params = [Param::int(name, &mut value), Param::END];
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_PKEY_CTX_get_params)(self.1, params.as_mut_ptr()) })?;
        Ok(value)
    }

    /// A parameter that is bytes.
    pub fn octets(&self, name: &'static CStr) -> Result<Vec<u8>, Refused> {
        let mut value = vec![0; 256];
        let mut params = [Param::octets(name, &mut value), Param::END];
        // SAFETY: see the top.
        done(unsafe { (libcrypto().EVP_PKEY_CTX_get_params)(self.1, params.as_mut_ptr()) })?;
        value.truncate(if params[0].return_size == usize::MAX { 0 } else { params[0].return_size });
        Ok(value)
    }
}

/// An operation that makes something of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Sign,
    Recover,
    Encrypt,
    Decrypt,
}

type Init = unsafe extern "C" fn(Object) -> c_int;
type Run = unsafe extern "C" fn(Object, *mut u8, *mut usize, *const u8, usize) -> c_int;

impl Operation {
    fn functions(self) -> (Init, Run) {
        let libcrypto = libcrypto();
        match self {
            Operation::Sign => (libcrypto.EVP_PKEY_sign_init, libcrypto.EVP_PKEY_sign),
            Operation::Recover => (libcrypto.EVP_PKEY_verify_recover_init, libcrypto.EVP_PKEY_verify_recover),
            Operation::Encrypt => (libcrypto.EVP_PKEY_encrypt_init, libcrypto.EVP_PKEY_encrypt),
            Operation::Decrypt => (libcrypto.EVP_PKEY_decrypt_init, libcrypto.EVP_PKEY_decrypt),
        }
    }
}

/// An `EVP_MD_CTX`.
struct Digest(Object);

impl Digest {
    fn new() -> Self {
        // SAFETY: see the top.
        Digest(unsafe { (libcrypto().EVP_MD_CTX_new)() })
    }
}

impl Drop for Digest {
    fn drop(&mut self) {
        // SAFETY: see the top.
        unsafe { (libcrypto().EVP_MD_CTX_free)(self.0) }
    }
}

/// Runs tests of this program once more, and returns what they have counted: operations by the name of the algorithm.
pub fn counted(tests: &[&str]) -> impl Fn(&str) -> u64 {
    use millstream::tally::Tally;

    let file = std::env::temp_dir().join(format!("millstream-tally.{}", std::process::id()));
    let tally = Tally::create(&file).unwrap();
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .arg("--exact")
        .args(tests)
        .env("MILLSTREAM_TALLY", &file)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let counts = tally.read();
    std::fs::remove_file(&file).unwrap();
    move |name| {
        counts.iter().filter(|counted| counted.algorithm == name).map(|counted| counted.operations).sum()
    }
}
