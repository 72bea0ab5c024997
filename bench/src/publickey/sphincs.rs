//! SPHINCS+ by its authors, with AVX2: eight hashes side by side. `SPHINCSPLUS` names a folder with a shared library for each parameter set, compiled
//! from a checkout (BENCHMARKING.md); no distribution has it.
//!
//! # Safety
//! The types are those of the checkout's `api.h`. Each buffer has the length that FIPS 205 gives for the set.
#![allow(unsafe_code)]

use std::path::PathBuf;

use millstream::publickey::slhdsa::Set;

use super::Row;
use super::cases::{Algorithm, Case, MESSAGE, Material, Operation};
use crate::peers::dl::Library;

pub const NAME: &str = "sphincsplus";
const VARIABLE: &str = "SPHINCSPLUS";

/// Returns the bytes that are signed for a message without a context (FIPS 205 §10.2.1, step 8): this interface is that of the inner function.
fn encoded() -> Vec<u8> {
    [&[0, 0], MESSAGE].concat()
}

/// Returns the folder of the libraries.
///
/// # Errors
/// Says that there is none.
pub fn folder() -> Result<PathBuf, String> {
    std::env::var_os(VARIABLE)
        .map(PathBuf::from)
        .ok_or(format!("{NAME}: {VARIABLE} does not name a folder with its libraries (BENCHMARKING.md)"))
}

/// Returns the row of a case.
///
/// # Errors
/// Says why there is none.
pub fn row(case: &Case, material: &Material) -> Result<Row, String> {
    let Algorithm::SlhDsa(set) = case.algorithm else { return Err("no SLH-DSA".to_owned()) };
    let name = set.name().replace("slh-dsa", "sphincs");
    let file = folder()?.join(format!("{name}.so"));
    let library = Library::open(&file.display().to_string()).map_err(|why| format!("{NAME}: {why}"))?;
    Ok(if case.operation == Operation::Sign {
        sign(library, set, material.private.clone())?
    } else {
        verify(library, material.private[2 * set.node_len()..].to_vec(), material.signature.clone())?
    })
}

fn sign(library: Library, set: Set, private: Vec<u8>) -> Result<Row, String> {
    type Sign = unsafe extern "C" fn(*mut u8, *mut usize, *const u8, usize, *const u8) -> i32;
    let message = encoded();
    // SAFETY: the type is the header's.
    let sign: Sign = unsafe { library.symbol("crypto_sign_signature")? };
    Ok(Row::new(NAME, "crypto_sign_signature", 1, move |out| {
        let mut len = 0;
        out.resize(set.signature_len(), 0);
        // SAFETY: see the top.
        let status =
            unsafe { sign(out.as_mut_ptr(), &mut len, message.as_ptr(), message.len(), private.as_ptr()) };
        assert_eq!((status, len), (0, set.signature_len()), "{NAME}");
    }))
}

fn verify(library: Library, public: Vec<u8>, signature: Vec<u8>) -> Result<Row, String> {
    type Verify = unsafe extern "C" fn(*const u8, usize, *const u8, usize, *const u8) -> i32;
    let message = encoded();
    // SAFETY: the type is the header's.
    let verify: Verify = unsafe { library.symbol("crypto_sign_verify")? };
    Ok(Row::new(NAME, "crypto_sign_verify", 1, move |out| {
        // SAFETY: see the top.
        let status = unsafe {
            verify(signature.as_ptr(), signature.len(), message.as_ptr(), message.len(), public.as_ptr())
        };
        out.push(u8::from(status == 0));
    }))
}
