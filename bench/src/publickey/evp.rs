//! OpenSSL and AWS-LC, through the interface that both have: one harness over a table of function pointers.
//!
//! Keys and contexts are made once. Ed25519 has no form without a new beginning for each message, so that is part of its time.
//!
//! # Safety
//! Contexts and keys are made by the library and live as long as the program. [`Api`] states the types of `openssl/evp.h`, which are the same
//! in both.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_long, c_void};
use std::path::Path;
use std::ptr::null_mut;

use aws_lc_sys as lc;
use millstream::publickey::{mldsa, slhdsa};
use millstream_testkit::refuse_built_for_tests;

use super::Row;
use super::cases::{Algorithm, Case, MESSAGE, Material, Operation, encoded_signature};
use super::lattice::Calls;
use crate::peers::dl::Library;
use crate::peers::openssl::api;

type Ptr = *mut c_void;
type Bytes = *const u8;

api! {
    fn OpenSSL_version(what: c_int) -> *const c_char;
    fn d2i_AutoPrivateKey(key: *mut Ptr, bytes: *mut Bytes, len: c_long) -> Ptr;
    fn EVP_PKEY_CTX_new(key: Ptr, engine: Ptr) -> Ptr;
    fn EVP_PKEY_derive_init(ctx: Ptr) -> c_int;
    fn EVP_PKEY_derive_set_peer(ctx: Ptr, peer: Ptr) -> c_int;
    fn EVP_PKEY_derive(ctx: Ptr, out: *mut u8, len: *mut usize) -> c_int;
    fn EVP_PKEY_sign_init(ctx: Ptr) -> c_int;
    fn EVP_PKEY_sign(ctx: Ptr, out: *mut u8, len: *mut usize, digest: Bytes, digest_len: usize) -> c_int;
    fn EVP_PKEY_verify_init(ctx: Ptr) -> c_int;
    fn EVP_PKEY_verify(ctx: Ptr, signature: Bytes, len: usize, digest: Bytes, digest_len: usize) -> c_int;
    fn EVP_PKEY_CTX_set_signature_md(ctx: Ptr, digest: Ptr) -> c_int;
    fn EVP_sha256() -> Ptr;
    fn EVP_MD_CTX_new() -> Ptr;
    fn EVP_MD_CTX_free(ctx: Ptr) -> ();
    fn EVP_DigestSignInit(ctx: Ptr, key_ctx: *mut Ptr, digest: Ptr, engine: Ptr, key: Ptr) -> c_int;
    fn EVP_DigestSign(ctx: Ptr, out: *mut u8, len: *mut usize, message: Bytes, message_len: usize) -> c_int;
    fn EVP_DigestVerifyInit(ctx: Ptr, key_ctx: *mut Ptr, digest: Ptr, engine: Ptr, key: Ptr) -> c_int;
    fn EVP_DigestVerify(ctx: Ptr, signature: Bytes, len: usize, message: Bytes, message_len: usize) -> c_int;
}

/// The variable that names the file of one more OpenSSL.
const ANOTHER: &str = "LIBCRYPTO";

/// A library.
pub struct Evp {
    api: &'static Api,
    /// The calls for ML-KEM, and for making keys.
    more: Option<&'static Calls>,
    name: String,
}

/// Returns every library that is there, and a line for each that is missing.
pub fn libraries() -> (Vec<Evp>, Vec<String>) {
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    match Library::open("libcrypto.so.3").and_then(|library| Ok((Api::loaded(library)?, library))) {
        Ok((api, library)) => present.push(Evp::new(api, Calls::of(library), "openssl-system")),
        Err(why) => absent.push(format!("openssl (system): {why}")),
    }
    if let Ok(path) = std::env::var(ANOTHER) {
        let library = refuse_built_for_tests(Path::new(&path)).and_then(|()| Library::open(&path));
        match library.and_then(|library| Ok((Api::loaded(library)?, library))) {
            Ok((api, library)) => present.push(Evp::new(api, Calls::of(library), "openssl-another")),
            Err(why) => absent.push(format!("openssl ({ANOTHER}): {why}")),
        }
    }
    #[cfg(feature = "openssl-src")]
    present.push(Evp::new(Api::linked(), None, "openssl-3.6"));
    #[cfg(not(feature = "openssl-src"))]
    absent.push("openssl-3.6: not built in; build with --features openssl-src (four minutes)".to_owned());
    present.push(Evp::new(aws_lc(), Some(Calls::of_aws_lc()), "aws-lc"));
    (present, absent)
}

/// The functions of AWS-LC, whose names have a prefix.
#[allow(clippy::missing_transmute_annotations, reason = "each field says its type")]
fn aws_lc() -> Api {
    macro_rules! table {
        ($($name:ident),*) => {
            // SAFETY: pointers are as wide there as here, and the other types are the same.
            Api { $($name: unsafe { std::mem::transmute::<*const (), _>(lc::$name as *const ()) },)* }
        };
    }
    table!(
        OpenSSL_version,
        d2i_AutoPrivateKey,
        EVP_PKEY_CTX_new,
        EVP_PKEY_derive_init,
        EVP_PKEY_derive_set_peer,
        EVP_PKEY_derive,
        EVP_PKEY_sign_init,
        EVP_PKEY_sign,
        EVP_PKEY_verify_init,
        EVP_PKEY_verify,
        EVP_PKEY_CTX_set_signature_md,
        EVP_sha256,
        EVP_MD_CTX_new,
        EVP_MD_CTX_free,
        EVP_DigestSignInit,
        EVP_DigestSign,
        EVP_DigestVerifyInit,
        EVP_DigestVerify
    )
}

impl Evp {
    fn new(api: Api, more: Option<Calls>, name: &str) -> Evp {
        let more = more.map(|calls| &*Box::leak(Box::new(calls)));
        let mut library = Evp { api: Box::leak(Box::new(api)), more, name: name.to_owned() };
        if let Some(version) = library.version().strip_prefix("OpenSSL ")
            && let [major, minor, ..] = version.split(['.', ' ']).collect::<Vec<_>>()[..]
        {
            library.name = format!("openssl-{major}.{minor}");
        }
        library
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn version(&self) -> String {
        // SAFETY: returns a static C string.
        let text = unsafe { std::ffi::CStr::from_ptr((self.api.OpenSSL_version)(0)) };
        text.to_string_lossy().into_owned()
    }

    fn key(&self, encoded: &[u8]) -> Option<Ptr> {
        let mut at = encoded.as_ptr();
        // SAFETY: the bytes outlive the call.
        let key = unsafe { (self.api.d2i_AutoPrivateKey)(null_mut(), &mut at, encoded.len() as c_long) };
        (!key.is_null()).then_some(key)
    }

    /// Returns the row of a case; none if the library does not have the algorithm.
    pub fn row(&self, case: &Case, material: &Material) -> Option<Row> {
        let api = self.api;
        if case.operation == Operation::Generate {
            let (name, call) = self.more?.generate(case)?;
            return self.row_of(name, call);
        }
        let encoded = material.encoded(case.algorithm, &material.private);
        let key = self.key(&encoded).or_else(|| {
            self.more?.raw_key(millstream::features().ok()?, case.algorithm, &material.private)
        })?;
        match (case.algorithm, case.operation) {
            (Algorithm::MlKem(set), _) => {
                // SAFETY: see the top.
                let context = unsafe { (api.EVP_PKEY_CTX_new)(key, null_mut()) };
                let (name, call) = self.more?.encapsulation(set, case, context, material);
                self.row_of(name, call)
            }
            (Algorithm::Ed25519 | Algorithm::MlDsa(_) | Algorithm::SlhDsa(_), Operation::Sign) => {
                let is_long = matches!(case.algorithm, Algorithm::SlhDsa(_));
                let most = if is_long { slhdsa::MAX_SIGNATURE } else { mldsa::MAX_SIGNATURE };
                self.row_of("EVP_DigestSign", move |out| {
                    let mut len = most;
                    out.resize(len, 0);
                    // SAFETY: see the top; no signature is longer.
                    unsafe {
                        let ctx = (api.EVP_MD_CTX_new)();
                        ok((api.EVP_DigestSignInit)(ctx, null_mut(), null_mut(), null_mut(), key));
                        ok((api.EVP_DigestSign)(
                            ctx,
                            out.as_mut_ptr(),
                            &mut len,
                            MESSAGE.as_ptr(),
                            MESSAGE.len(),
                        ));
                        (api.EVP_MD_CTX_free)(ctx);
                    }
                    out.truncate(len);
                })
            }
            (Algorithm::Ed25519 | Algorithm::MlDsa(_) | Algorithm::SlhDsa(_), _) => {
                let signature = material.signature.clone();
                self.row_of("EVP_DigestVerify", move |out| {
                    let (at, len) = (signature.as_ptr(), signature.len());
                    // SAFETY: see the top.
                    let right = unsafe {
                        let ctx = (api.EVP_MD_CTX_new)();
                        ok((api.EVP_DigestVerifyInit)(ctx, null_mut(), null_mut(), null_mut(), key));
                        let right = (api.EVP_DigestVerify)(ctx, at, len, MESSAGE.as_ptr(), MESSAGE.len());
                        (api.EVP_MD_CTX_free)(ctx);
                        right
                    };
                    out.push(u8::from(right == 1));
                })
            }
            (algorithm, Operation::Agree) => {
                let peer = self.key(&material.encoded(algorithm, &material.peer))?;
                // SAFETY: see the top; both keys are of one curve.
                let ctx = unsafe {
                    let ctx = (api.EVP_PKEY_CTX_new)(key, null_mut());
                    ok((api.EVP_PKEY_derive_init)(ctx));
                    ok((api.EVP_PKEY_derive_set_peer)(ctx, peer));
                    ctx
                };
                self.row_of("EVP_PKEY_derive", move |out| {
                    let mut len = 66;
                    out.resize(len, 0);
                    // SAFETY: no secret is longer.
                    unsafe { ok((api.EVP_PKEY_derive)(ctx, out.as_mut_ptr(), &mut len)) };
                    out.truncate(len);
                })
            }
            (_, operation) => self.with_digest(operation, key, case, material),
        }
    }

    /// Signs or verifies a digest, with a context that stays. The digest is computed each time, as the others do.
    fn with_digest(&self, operation: Operation, key: Ptr, case: &Case, material: &Material) -> Option<Row> {
        let (api, features) = (self.api, millstream::features().ok()?);
        let hash = millstream::hash::HashKernel::best(features, millstream::hash::Hash::Sha256);
        // SAFETY: see the top.
        let ctx = unsafe {
            let ctx = (api.EVP_PKEY_CTX_new)(key, null_mut());
            let begin =
                if operation == Operation::Sign { api.EVP_PKEY_sign_init } else { api.EVP_PKEY_verify_init };
            ok(begin(ctx));
            ok((api.EVP_PKEY_CTX_set_signature_md)(ctx, (api.EVP_sha256)()));
            ctx
        };
        if operation == Operation::Sign {
            return self.row_of("EVP_PKEY_sign", move |out| {
                let (digest, mut len) = (hash.digest(MESSAGE), 512);
                out.resize(len, 0);
                // SAFETY: no signature is longer.
                unsafe {
                    ok((api.EVP_PKEY_sign)(ctx, out.as_mut_ptr(), &mut len, digest.as_ptr(), digest.len()));
                }
                out.truncate(len);
            });
        }
        let signature = match case.algorithm {
            Algorithm::Ec(_) => encoded_signature(&material.signature),
            _ => material.signature.clone(),
        };
        self.row_of("EVP_PKEY_verify", move |out| {
            let (digest, at, len) = (hash.digest(MESSAGE), signature.as_ptr(), signature.len());
            // SAFETY: see the top.
            let right = unsafe { (api.EVP_PKEY_verify)(ctx, at, len, digest.as_ptr(), digest.len()) };
            out.push(u8::from(right == 1));
        })
    }

    fn row_of(&self, call: &'static str, run: impl FnMut(&mut Vec<u8>) + 'static) -> Option<Row> {
        Some(Row::new(&self.name, call, 1, run))
    }
}

pub fn ok(result: c_int) {
    assert_eq!(result, 1, "the library refused what it is documented to take");
}
