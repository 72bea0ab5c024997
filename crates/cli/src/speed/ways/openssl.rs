//! OpenSSL 3 in two manners: prefetched, with every algorithm fetched and every key set once, as a program
//! does that knows the library well; and one-shot, with all of that for each object, as most programs do.

use std::ffi::{CStr, CString, OsStr};
use std::path::Path;

use millstream_engines::hash::Hash;
use millstream_files::cipher::{Cipher, Family, Mode};

use crate::error::Error;
use crate::speed::algorithm::{AAD, Algorithm, Case};
use crate::speed::ffi::libcrypto::{CipherContext, DigestContext, LibCrypto, MacContext, c_name};
use crate::speed::objects::{Io, Objects};
use crate::speed::{Prepared, Way};

/// The library that is used when none is named.
pub const USUAL: &str = "libcrypto.so.3";

/// The lifetime of the setup.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// One context serves all objects.
    Prefetched,
    /// Each object has a new context.
    OneShot,
}

/// The library, called in one manner.
pub struct OpenSsl {
    library: LibCrypto,
    version: String,
    used: Use,
}

/// Loads the library at `path`, or the system's, for both manners of calling it.
///
/// # Errors
/// [`Error::Library`] when it can't be loaded or is not OpenSSL 3.
pub fn load(path: Option<&Path>) -> Result<[OpenSsl; 2], Error> {
    let name = path.map_or(OsStr::new(USUAL), Path::as_os_str);
    let library = LibCrypto::open(name).map_err(|why| Error::Library {
        path: Path::new(name).into(),
        why,
        remedy: "name a libcrypto.so.3 with --openssl, or leave OpenSSL out with --ways direct",
    })?;
    let version = format!("{} ({})", library.version(), name.display());
    Ok([Use::Prefetched, Use::OneShot].map(|used| OpenSsl { library, version: version.clone(), used }))
}

impl Way for OpenSsl {
    fn name(&self) -> &'static str {
        match self.used {
            Use::Prefetched => "openssl",
            Use::OneShot => "openssl-oneshot",
        }
    }

    fn about(&self) -> Option<String> {
        Some(self.version.clone())
    }

    fn prepare(&self, case: &Case, _: &mut Objects, _: usize) -> Result<Option<Prepared>, Error> {
        let library = self.library;
        Ok(match case.algorithm {
            Algorithm::Cipher(cipher) if cipher.is_aead() => self.aead(case, cipher),
            Algorithm::Cipher(cipher) => {
                let keyed = KeyedCipher::new(case, cipher);
                // Beginning the keystream anew takes the key again.
                let rekeys = cipher.family() == Family::Rc4;
                let make = make_cipher(library, cipher);
                self.each("EVP_Cipher", make, move |context, io, first| {
                    keyed.start(context, io.iv, first || rekeys) && context.pass(io.input, io.result)
                })
            }
            Algorithm::CipherMac(cipher, hash) => self.chained(case, cipher, hash),
            Algorithm::Digest(hash) => {
                let name = c_name(hash_name(hash));
                let make = move || DigestContext::new(library, &name);
                self.each("EVP_Digest", make, |context, io, _| context.digest(io.input, io.result))
            }
            Algorithm::Hmac(hash) => {
                self.mac(c"HMAC", KeyedMac::new(c"digest", hash_name(hash), case.algorithm.key()))
            }
            Algorithm::Cmac(bits) => {
                let on = format!("AES-{bits}-CBC");
                self.mac(c"CMAC", KeyedMac::new(c"cipher", on, case.algorithm.key()))
            }
            // There is nothing to set up for each object.
            Algorithm::Random if self.used == Use::Prefetched => {
                Some(Prepared::each("RAND_bytes", move |io| library.random(io.result)))
            }
            _ => None,
        })
    }
}

/// A cipher's key, which is set for the first object and, one-shot, for each.
struct KeyedCipher {
    key: Vec<u8>,
    encrypts: bool,
    pads: bool,
}

impl KeyedCipher {
    fn new(case: &Case, cipher: Cipher) -> KeyedCipher {
        let (encrypts, pads) = (!case.decrypts(), cipher.is_block_mode());
        KeyedCipher { key: case.algorithm.key(), encrypts, pads }
    }

    #[inline(always)]
    fn start(&self, context: &mut CipherContext, iv: &[u8; 16], first: bool) -> bool {
        match first {
            true => context.start_with_key(&self.key, iv, self.encrypts, self.pads),
            false => context.start(iv),
        }
    }
}

/// A MAC's key, and the primitive it is built on.
struct KeyedMac {
    what: &'static CStr,
    of: CString,
    key: Vec<u8>,
}

impl KeyedMac {
    fn new(what: &'static CStr, of: impl Into<Vec<u8>>, key: Vec<u8>) -> KeyedMac {
        KeyedMac { what, of: c_name(of), key }
    }

    #[inline(always)]
    fn mac(&self, context: &mut MacContext, input: &[u8], output: &mut [u8], first: bool) -> bool {
        let started = match first {
            true => context.start_with_key(&self.key, self.what, &self.of),
            false => context.start(),
        };
        started && context.mac(input, output)
    }
}

fn make_cipher(library: LibCrypto, cipher: Cipher) -> impl Fn() -> Option<CipherContext> {
    let name = cipher_name(cipher);
    move || CipherContext::new(library, &name)
}

impl OpenSsl {
    fn mac(&self, name: &'static CStr, keyed: KeyedMac) -> Option<Prepared> {
        let library = self.library;
        self.each(
            "EVP_MAC",
            move || MacContext::new(library, name),
            move |context, io, first| keyed.mac(context, io.input, io.result, first),
        )
    }

    fn aead(&self, case: &Case, cipher: Cipher) -> Option<Prepared> {
        let (make, keyed) = (make_cipher(self.library, cipher), KeyedCipher::new(case, cipher));
        if case.decrypts() {
            return self.each("EVP_Cipher", make, move |context, io, first| {
                let Some((data, tag)) = io.input.split_last_chunk() else { return false };
                keyed.start(context, io.iv, first)
                    && context.aad(&AAD)
                    && context.expect_tag(tag)
                    && context.pass(data, io.result)
            });
        }
        self.each("EVP_Cipher", make, move |context, io, first| {
            let Some((data, tag)) = io.result.split_last_chunk_mut() else { return false };
            keyed.start(context, io.iv, first)
                && context.aad(&AAD)
                && context.pass(io.input, data)
                && context.tag(tag)
        })
    }

    fn chained(&self, case: &Case, cipher: Cipher, hash: Hash) -> Option<Prepared> {
        let (library, make) = (self.library, make_cipher(self.library, cipher));
        let make = move || Some((make()?, MacContext::new(library, c"HMAC")?));
        let keyed = KeyedCipher::new(case, cipher);
        let keyed_mac = KeyedMac::new(c"digest", hash_name(hash), case.algorithm.mac_key());
        if case.decrypts() {
            return self.each("EVP_MAC EVP_Cipher", make, move |(cipher, mac), io, first| {
                let (data, tag) = io.input.split_at(io.result.len());
                let mut right = [0; 64];
                let right = &mut right[..tag.len()];
                keyed_mac.mac(mac, data, right, first)
                    && right == tag
                    && keyed.start(cipher, io.iv, first)
                    && cipher.pass(data, io.result)
            });
        }
        self.each("EVP_Cipher EVP_MAC", make, move |(cipher, mac), io, first| {
            let (data, tag) = io.result.split_at_mut(io.input.len());
            keyed.start(cipher, io.iv, first)
                && cipher.pass(io.input, data)
                && keyed_mac.mac(mac, data, tag, first)
        })
    }

    /// Runs with one context that `make` makes, or with a new one for each object. `run` is told whether the
    /// context is new.
    fn each<C: 'static>(
        &self,
        call: &str,
        make: impl Fn() -> Option<C> + 'static,
        run: impl Fn(&mut C, Io<'_>, bool) -> bool + 'static,
    ) -> Option<Prepared> {
        let (mut context, mut first) = (make()?, true);
        Some(match self.used {
            Use::Prefetched => {
                Prepared::each(call, move |io| run(&mut context, io, std::mem::replace(&mut first, false)))
            }
            Use::OneShot => Prepared::each(format!("fetch, {call}, free"), move |io| {
                make().is_some_and(|mut context| run(&mut context, io, true))
            }),
        })
    }
}

fn cipher_name(cipher: Cipher) -> CString {
    let bits = 8 * cipher.default_key_bytes();
    let family = match (cipher.family(), cipher.mode()) {
        (Family::Aes, Mode::Xts) => format!("AES-{}", bits / 2),
        (Family::Aes, _) => format!("AES-{bits}"),
        (Family::Camellia, _) => format!("CAMELLIA-{bits}"),
        (Family::Sm4, _) => "SM4".to_owned(),
        (Family::Des, _) => "DES".to_owned(),
        (Family::TripleDes, _) if bits == 128 => "DES-EDE".to_owned(),
        (Family::TripleDes, _) => "DES-EDE3".to_owned(),
        (Family::Rc4, _) => return c_name("RC4"),
        (Family::ChaCha20Poly1305, _) => return c_name("ChaCha20-Poly1305"),
    };
    let mode = match cipher.mode() {
        // The name without a mode is ECB.
        Mode::Ecb if family == "DES-EDE" => return c_name(family),
        Mode::Ecb => "ECB",
        Mode::Cbc => "CBC",
        Mode::Ctr => "CTR",
        Mode::Cfb => "CFB",
        Mode::Xts => "XTS",
        Mode::Gcm | Mode::Stream => "GCM",
    };
    c_name(format!("{family}-{mode}"))
}

fn hash_name(hash: Hash) -> &'static str {
    match hash {
        Hash::Md5 => "MD5",
        Hash::Sha1 => "SHA1",
        Hash::Sha224 => "SHA224",
        Hash::Sha256 => "SHA256",
        Hash::Sha384 => "SHA384",
        Hash::Sha512 => "SHA512",
        Hash::Sha512_256 => "SHA512-256",
        Hash::Sha3_224 => "SHA3-224",
        Hash::Sha3_256 => "SHA3-256",
        Hash::Sha3_384 => "SHA3-384",
        Hash::Sha3_512 => "SHA3-512",
    }
}
