//! ML-KEM and ML-DSA: our rows, and what OpenSSL from 3.5 on and AWS-LC need beside their other calls.
//!
//! Everybody's keys are objects that are made once. Ours keep the expanded matrix; so does OpenSSL's, and AWS-LC's expands it each time. The rows `…, new key` decode
//! and expand the public key each time, as a server does with the key of a client.
//!
//! # Safety
//! As in `evp.rs`: keys and contexts are the library's, and functions have the types of `openssl/evp.h`.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;

use aws_lc_sys as lc;
use millstream::Features;
use millstream::publickey::{Error, mldsa, mlkem, slhdsa};

use super::Row;
use super::cases::{Algorithm, Case, MESSAGE, Material, Operation};
use super::ours::{Counter, MANY, verdict};
use crate::peers::dl::Library;

type Ptr = *mut c_void;

/// The randomness of a message or a signature.
const RANDOMNESS: [u8; 32] = [0x5a; 32];

/// Returns our rows of ML-KEM.
pub fn kem_rows(
    features: Features,
    set: mlkem::Set,
    case: &Case,
    material: &Material,
) -> Result<Vec<Row>, Error> {
    let key = mlkem::PrivateKey::new(features, set, &material.private)?;
    let lanes = mlkem::Lanes::new(features);
    let (one, many) = (key.kernel().name, lanes.kernel().name);
    let (public, ciphertext) = (key.public_key().clone(), material.signature.clone());
    let encoded = public.as_bytes().to_vec();
    Ok(match case.operation {
        Operation::Generate => {
            let mut random = Counter(1);
            let seeds: [[u8; mlkem::SEED]; MANY] = std::array::from_fn(|i| [i as u8; mlkem::SEED]);
            vec![
                Row::new("millstream", one, 1, move |out| {
                    let key = mlkem::PrivateKey::generate(features, set, &mut random).expect("a key");
                    out.extend(key.public_key().as_bytes());
                }),
                Row::new("millstream", many, MANY, move |out| {
                    let mut jobs = seeds.each_ref().map(|seed| mlkem::KeyJob::new(set, seed));
                    lanes.keys(&mut jobs);
                    jobs.iter().for_each(|job| {
                        out.extend(job.key.as_ref().expect("it has run").public_key().as_bytes());
                    });
                }),
            ]
        }
        Operation::Encapsulate => {
            let mut random = Counter(1);
            let (kept, again) = (public.clone(), encoded.clone());
            let give = |out: &mut Vec<u8>, (ciphertext, secret): &(Vec<u8>, mlkem::SharedSecret)| {
                out.extend(ciphertext);
                out.extend(secret.as_bytes());
            };
            vec![
                Row::new("millstream", one, 1, move |out| {
                    give(out, &kept.encapsulate(&mut random).expect("a secret"));
                }),
                Row::new("millstream", many, MANY, move |out| {
                    let mut jobs: [_; MANY] =
                        std::array::from_fn(|_| mlkem::EncapsulateJob::new(&public, &RANDOMNESS));
                    lanes.encapsulate(&mut jobs);
                    jobs.iter().for_each(|job| give(out, job.result.as_ref().expect("it has run")));
                }),
                Row::new("millstream", &new_key(one), 1, move |out| {
                    let key = mlkem::PublicKey::new(features, set, &encoded).expect("a key");
                    give(out, &key.encapsulate_message(&RANDOMNESS));
                }),
                Row::new("millstream", &new_key(many), MANY, move |out| {
                    let mut keys: [_; MANY] = std::array::from_fn(|_| mlkem::PublicKeyJob::new(set, &again));
                    lanes.public_keys(&mut keys);
                    let keys = keys.map(|job| job.key.expect("it has run").expect("a key"));
                    let mut jobs = keys.each_ref().map(|key| mlkem::EncapsulateJob::new(key, &RANDOMNESS));
                    lanes.encapsulate(&mut jobs);
                    jobs.iter().for_each(|job| give(out, job.result.as_ref().expect("it has run")));
                }),
            ]
        }
        _ => {
            let (kept, again) =
                (mlkem::PrivateKey::new(features, set, &material.private)?, ciphertext.clone());
            vec![
                Row::new("millstream", one, 1, move |out| {
                    out.extend(kept.decapsulate(&again).expect("its length is right").as_bytes());
                }),
                Row::new("millstream", many, MANY, move |out| {
                    let mut jobs: [_; MANY] =
                        std::array::from_fn(|_| mlkem::DecapsulateJob::new(&key, &ciphertext));
                    lanes.decapsulate(&mut jobs);
                    for job in jobs {
                        let secret = job.secret.expect("it has run").expect("its length is right");
                        out.extend(secret.as_bytes());
                    }
                }),
            ]
        }
    })
}

/// Returns our rows of ML-DSA.
pub fn dsa_rows(
    features: Features,
    set: mldsa::Set,
    case: &Case,
    material: &Material,
) -> Result<Vec<Row>, Error> {
    let scheme = mldsa::Scheme::Pure(b"");
    let key = mldsa::PrivateKey::new(features, set, &material.private)?;
    let lanes = mldsa::Lanes::new(features);
    let (one, many) = (key.kernel().name, lanes.kernel().name);
    let (public, signature) = (key.public_key().clone(), material.signature.clone());
    let mut random = Counter(1);
    Ok(match case.operation {
        Operation::Generate => {
            let seeds: [[u8; mldsa::SEED]; MANY] = std::array::from_fn(|i| [i as u8; mldsa::SEED]);
            vec![
                Row::new("millstream", one, 1, move |out| {
                    let key = mldsa::PrivateKey::generate(features, set, &mut random).expect("a key");
                    out.extend(key.public_key().as_bytes());
                }),
                Row::new("millstream", many, MANY, move |out| {
                    let mut jobs = seeds.each_ref().map(|seed| mldsa::KeyJob::new(set, seed));
                    lanes.keys(&mut jobs);
                    jobs.iter().for_each(|job| {
                        out.extend(job.key.as_ref().expect("it has run").public_key().as_bytes());
                    });
                }),
            ]
        }
        Operation::Sign => {
            let again = mldsa::PrivateKey::new(features, set, &material.private)?;
            // Eight messages side by side have eight different numbers of candidates, as in use.
            let mut drawn = 0u64;
            vec![
                Row::new("millstream", one, 1, move |out| {
                    out.extend(key.sign(MESSAGE, &mut random).expect("a signature"));
                }),
                Row::new("millstream", many, MANY, move |out| {
                    let randomness: [[u8; mldsa::RANDOMNESS]; MANY] = std::array::from_fn(|_| {
                        drawn += 1;
                        let mut bytes = [0; mldsa::RANDOMNESS];
                        bytes[..8].copy_from_slice(&drawn.to_le_bytes());
                        bytes
                    });
                    let mut jobs = randomness
                        .each_ref()
                        .map(|randomness| mldsa::SignJob::new(&again, scheme, MESSAGE, randomness));
                    lanes.sign(&mut jobs);
                    for job in jobs {
                        out.extend(job.signature.expect("it has run").expect("a signature"));
                    }
                }),
            ]
        }
        _ => {
            let (kept, same, encoded) = (public.clone(), signature.clone(), public.as_bytes().to_vec());
            let third = signature.clone();
            vec![
                Row::new("millstream", one, 1, move |out| out.extend(verdict(&kept.verify(MESSAGE, &same)))),
                Row::new("millstream", many, MANY, move |out| {
                    let mut jobs: [_; MANY] =
                        std::array::from_fn(|_| mldsa::VerifyJob::new(&public, scheme, MESSAGE, &signature));
                    lanes.verify(&mut jobs);
                    jobs.iter()
                        .for_each(|job| out.extend(verdict(job.verdict.as_ref().expect("it has run"))));
                }),
                Row::new("millstream", &new_key(one), 1, move |out| {
                    let key = mldsa::PublicKey::new(features, set, &encoded).expect("a key");
                    out.extend(verdict(&key.verify(MESSAGE, &third)));
                }),
            ]
        }
    })
}

fn new_key(kernel: &str) -> String {
    format!("{kernel}, new key")
}

/// Returns true if `result` is what the operation makes with this key: any ciphertext with the secret in it, any signature that verifies, any
/// public key.
pub fn is_right(
    features: Features,
    case: &Case,
    material: &Material,
    result: &[u8],
    expected: &[u8],
) -> Result<bool, Error> {
    Ok(match (case.algorithm, case.operation) {
        (Algorithm::MlKem(set), Operation::Generate) => mlkem::PublicKey::new(features, set, result).is_ok(),
        (Algorithm::MlKem(set), Operation::Encapsulate) => {
            let (ciphertext, secret) = result.split_at(set.ciphertext_len().min(result.len()));
            let key = mlkem::PrivateKey::new(features, set, &material.private)?;
            key.decapsulate(ciphertext)?.as_bytes() == secret
        }
        (Algorithm::MlDsa(set), Operation::Generate) => mldsa::PublicKey::new(features, set, result).is_ok(),
        (Algorithm::MlDsa(set), Operation::Sign) => {
            let key = mldsa::PrivateKey::new(features, set, &material.private)?;
            key.public_key().verify(MESSAGE, result).is_ok()
        }
        (Algorithm::SlhDsa(set), Operation::Sign) => {
            let key = slhdsa::PrivateKey::new(features, set, &material.private)?;
            key.public_key().verify(MESSAGE, result).is_ok()
        }
        _ => result == expected,
    })
}

/// The calls of a library for key encapsulation and for keys by name.
pub struct Calls {
    new: New,
    begin: [Option<unsafe extern "C" fn(Ptr, *const c_void) -> c_int>; 2],
    encapsulate: unsafe extern "C" fn(Ptr, *mut u8, *mut usize, *mut u8, *mut usize) -> c_int,
    decapsulate: unsafe extern "C" fn(Ptr, *mut u8, *mut usize, *const u8, usize) -> c_int,
    keygen_init: unsafe extern "C" fn(Ptr) -> c_int,
    keygen: unsafe extern "C" fn(Ptr, *mut Ptr) -> c_int,
    raw_public: unsafe extern "C" fn(Ptr, *mut u8, *mut usize) -> c_int,
    free: unsafe extern "C" fn(Ptr),
}

/// The way to make a context for making keys.
enum New {
    /// OpenSSL takes the name of the algorithm.
    ByName(unsafe extern "C" fn(Ptr, *const c_char, *const c_char) -> Ptr),
    /// AWS-LC takes numbers of its own.
    AwsLc,
}

impl Calls {
    /// Returns the calls of OpenSSL; none of a version that has no encapsulation.
    pub fn of(library: Library) -> Option<Calls> {
        // SAFETY: the types are those of the headers.
        unsafe {
            let begin = |name| library.symbol(name).ok();
            Some(Calls {
                new: New::ByName(library.symbol("EVP_PKEY_CTX_new_from_name").ok()?),
                begin: [begin("EVP_PKEY_encapsulate_init"), begin("EVP_PKEY_decapsulate_init")],
                encapsulate: library.symbol("EVP_PKEY_encapsulate").ok()?,
                decapsulate: library.symbol("EVP_PKEY_decapsulate").ok()?,
                keygen_init: library.symbol("EVP_PKEY_keygen_init").ok()?,
                keygen: library.symbol("EVP_PKEY_keygen").ok()?,
                raw_public: library.symbol("EVP_PKEY_get_raw_public_key").ok()?,
                free: library.symbol("EVP_PKEY_free").ok()?,
            })
        }
    }

    /// Returns the calls of AWS-LC.
    #[allow(clippy::missing_transmute_annotations, reason = "each field says its type")]
    pub fn of_aws_lc() -> Calls {
        // SAFETY: pointers are as wide there as here, and the other types are the same.
        unsafe {
            Calls {
                new: New::AwsLc,
                begin: [None; 2],
                encapsulate: std::mem::transmute(lc::EVP_PKEY_encapsulate as *const ()),
                decapsulate: std::mem::transmute(lc::EVP_PKEY_decapsulate as *const ()),
                keygen_init: std::mem::transmute(lc::EVP_PKEY_keygen_init as *const ()),
                keygen: std::mem::transmute(lc::EVP_PKEY_keygen as *const ()),
                raw_public: std::mem::transmute(lc::EVP_PKEY_get_raw_public_key as *const ()),
                free: std::mem::transmute(lc::EVP_PKEY_free as *const ()),
            }
        }
    }

    /// Returns a context that makes keys; none if the library has no such algorithm.
    fn maker(&self, algorithm: Algorithm) -> Option<Ptr> {
        let name = CString::new(lattice_name(algorithm)?).ok()?;
        // SAFETY: see the top.
        unsafe {
            let context: Ptr = match &self.new {
                New::ByName(new) => new(null_mut(), name.as_ptr(), std::ptr::null()),
                New::AwsLc => {
                    let id = if matches!(algorithm, Algorithm::MlKem(_)) {
                        lc::EVP_PKEY_KEM
                    } else {
                        lc::EVP_PKEY_PQDSA
                    };
                    lc::EVP_PKEY_CTX_new_id(id, null_mut()).cast()
                }
            };
            if context.is_null() || (self.keygen_init)(context) != 1 {
                return None;
            }
            let set = match (&self.new, aws_lc_number(algorithm)?) {
                (New::ByName(_), _) => 1,
                (New::AwsLc, number) if matches!(algorithm, Algorithm::MlKem(_)) => {
                    lc::EVP_PKEY_CTX_kem_set_params(context.cast(), number)
                }
                (New::AwsLc, number) => lc::EVP_PKEY_CTX_pqdsa_set_params(context.cast(), number),
            };
            (set == 1).then_some(context)
        }
    }

    /// Returns the key of a private key's bytes where the library can't read its PKCS#8.
    pub fn raw_key(&self, features: Features, algorithm: Algorithm, private: &[u8]) -> Option<Ptr> {
        if matches!(self.new, New::ByName(_)) {
            return None;
        }
        let number = aws_lc_number(algorithm)?;
        let key: Ptr = match algorithm {
            Algorithm::MlKem(set) => {
                let key = mlkem::PrivateKey::new(features, set, private).ok()?;
                let (public, expanded) = (key.public_key().as_bytes().to_vec(), key.to_expanded());
                // SAFETY: both are as long as they say.
                unsafe {
                    let (public, secret) =
                        ((public.as_ptr(), public.len()), (expanded.as_ptr(), expanded.len()));
                    lc::EVP_PKEY_kem_new_raw_key(number, public.0, public.1, secret.0, secret.1).cast()
                }
            }
            // SAFETY: the seed is as long as it says.
            _ => unsafe {
                lc::EVP_PKEY_pqdsa_new_raw_private_key(number, private.as_ptr(), private.len()).cast()
            },
        };
        (!key.is_null()).then_some(key)
    }

    /// Returns a call that makes keys, with its name.
    pub fn generate(&'static self, case: &Case) -> Option<(&'static str, super::Call)> {
        let context = self.maker(case.algorithm)?;
        let most = 4096;
        Some((
            "EVP_PKEY_keygen",
            Box::new(move |out| {
                let (mut key, mut len) = (null_mut(), most);
                out.resize(most, 0);
                // SAFETY: see the top; no public key is longer.
                unsafe {
                    super::evp::ok((self.keygen)(context, &mut key));
                    super::evp::ok((self.raw_public)(key, out.as_mut_ptr(), &mut len));
                    (self.free)(key);
                }
                out.truncate(len);
            }),
        ))
    }

    /// Returns a call that encapsulates or decapsulates with a context, with its name.
    pub fn encapsulation(
        &'static self,
        set: mlkem::Set,
        case: &Case,
        context: Ptr,
        material: &Material,
    ) -> (&'static str, super::Call) {
        let encapsulates = case.operation == Operation::Encapsulate;
        if let Some(begin) = self.begin[usize::from(!encapsulates)] {
            // SAFETY: see the top; null is no parameters.
            super::evp::ok(unsafe { begin(context, std::ptr::null()) });
        }
        if encapsulates {
            let all = set.ciphertext_len() + mlkem::SECRET;
            return (
                "EVP_PKEY_encapsulate",
                Box::new(move |out| {
                    out.resize(all, 0);
                    let (ciphertext, secret) = out.split_at_mut(set.ciphertext_len());
                    let (mut len, mut secret_len) = (ciphertext.len(), secret.len());
                    // SAFETY: both places are as long as they say.
                    super::evp::ok(unsafe {
                        (self.encapsulate)(
                            context,
                            ciphertext.as_mut_ptr(),
                            &mut len,
                            secret.as_mut_ptr(),
                            &mut secret_len,
                        )
                    });
                }),
            );
        }
        let ciphertext = material.signature.clone();
        (
            "EVP_PKEY_decapsulate",
            Box::new(move |out| {
                let mut len = mlkem::SECRET;
                out.resize(len, 0);
                // SAFETY: both places are as long as they say.
                super::evp::ok(unsafe {
                    (self.decapsulate)(
                        context,
                        out.as_mut_ptr(),
                        &mut len,
                        ciphertext.as_ptr(),
                        ciphertext.len(),
                    )
                });
            }),
        )
    }
}

fn lattice_name(algorithm: Algorithm) -> Option<&'static str> {
    match algorithm {
        Algorithm::MlKem(set) => Some(set.name()),
        Algorithm::MlDsa(set) => Some(set.name()),
        _ => None,
    }
}

fn aws_lc_number(algorithm: Algorithm) -> Option<c_int> {
    Some(match algorithm {
        Algorithm::MlKem(mlkem::Set::MlKem512) => lc::NID_MLKEM512,
        Algorithm::MlKem(mlkem::Set::MlKem768) => lc::NID_MLKEM768,
        Algorithm::MlKem(mlkem::Set::MlKem1024) => lc::NID_MLKEM1024,
        Algorithm::MlDsa(mldsa::Set::MlDsa44) => lc::NID_MLDSA44,
        Algorithm::MlDsa(mldsa::Set::MlDsa65) => lc::NID_MLDSA65,
        Algorithm::MlDsa(mldsa::Set::MlDsa87) => lc::NID_MLDSA87,
        _ => return None,
    })
}
